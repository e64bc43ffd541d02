"""What the user sees: drawn by Rich on a terminal, plain and stable text in a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TextIO

from ..errors import Message

#: Rich measures every cell before it draws a table; longer tables are written as plain text.
ROWS_DRAWN = 1000


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether somebody looks at what is written; a stream that the shell closed is None."""
    return stream is not None and stream.isatty()


def _console(stream: TextIO) -> Any:
    from rich.console import Console

    return Console(file=stream, highlight=False, soft_wrap=True)


# --- messages ---


def say(message: str, prefix: str = "reliac: ") -> None:
    """Tell something on standard error, so that standard output holds results only."""
    if sys.stderr is not None:
        print(f"{prefix}{message}", file=sys.stderr)


def complain(kind: str, message: str) -> None:
    """Tell an error or a warning: in one line, or with its three parts one below the other on a terminal."""
    if not is_terminal(sys.stderr):
        say(f"{kind}: {message}")
        return
    from rich.table import Table
    from rich.text import Text

    given, *rest = message.parts if isinstance(message, Message) else (message,)
    colour = "bold red" if kind == "error" else "bold yellow"
    console = _console(sys.stderr)
    console.print(Text.assemble("reliac: ", (f"{kind}: ", colour), given))
    parts = Table.grid(padding=(0, 1))
    for label, part in zip(("  Allowed:", "  Next:"), rest, strict=False):
        if part:
            parts.add_row(Text(label, "bold"), Text(part))
    if rest:
        console.print(parts, soft_wrap=False)


# --- tables ---


def show_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Draw a table on the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title, is_text in zip(columns, _text_columns(columns, rows), strict=True):
        table.add_column(Text(title), justify="left" if is_text else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell_text(cell)) for cell in row))
    _console(sys.stdout).print(table, soft_wrap=False)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as plain text: numbers to the right with six digits at most, text to the left."""
    lines = [list(columns), *([cell_text(cell) for cell in row] for row in rows)]
    text = _text_columns(columns, rows)
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    return "".join(
        "  ".join(
            cell.ljust(width) if is_text else cell.rjust(width)
            for cell, width, is_text in zip(line, widths, text, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def cell_text(cell: Any) -> str:
    """Return a cell as text, numbers with six digits at most."""
    return f"{cell:.6g}" if isinstance(cell, float) else str(cell)


def _text_columns(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[bool]:
    """Tell which columns hold text and not numbers alone."""
    return [any(isinstance(row[place], str) and row[place] for row in rows) for place in range(len(columns))]


def shortened(values: Sequence[Any], shown: int = 8) -> str:
    """Return the first few of many values as text."""
    more = f" ... ({len(values)} in all)" if len(values) > shown else ""
    return ", ".join(str(value) for value in values[:shown]) + more


def show_parts(parts: Sequence[str]) -> None:
    """Show texts with a blank line between them; on a terminal the first line of each, its title, is bold."""
    from rich.text import Text

    console = _console(sys.stdout)
    for part in parts:
        title, _, body = part.partition("\n")
        console.print(Text.assemble((title, "bold"), "\n" if body else "", body, "\n"))
