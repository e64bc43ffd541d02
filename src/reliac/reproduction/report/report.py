"""A report: sections, and what was run, as Markdown, CSV files and one HTML page."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from reliac import __version__

from ...errors import explain
from ...files import delimited, write_atomically
from ..tables.protocols import PROTOCOLS, Cell, ExtendedRow
from ..tables.sections import in_words
from .page import to_html
from .parts import Section, Table

TITLE = "Reliable Agglomerative Clustering: the experiments again"


@dataclass(frozen=True)
class Report:
    """What :func:`reliac.reproduction.reproduce` found.

    Attributes
    ----------
    cells : every place of the tables, as published and as written
    extended : more criteria, alphas and cuts
    sections : all of it in words, tables and figures, the other claims included
    counts : protocol -> verdict -> number of places
    missing : data sets that were not at hand -> the reason
    facts : versions, machine, time and command
    stopped : whether Ctrl-C ended it early
    """

    cells: tuple[Cell, ...]
    extended: tuple[ExtendedRow, ...]
    sections: tuple[Section, ...] = field(repr=False)
    counts: Mapping[str, Mapping[str, int]]
    missing: Mapping[str, str]
    facts: tuple[tuple[str, str], ...] = field(repr=False)
    stopped: bool = False

    def to_markdown(self) -> str:
        """Return the report as Markdown; it refers to pictures in ``figures``."""
        lines = [f"# {TITLE}", "", *(f"- {name}: {value}" for name, value in self.facts), ""]
        for section in self.sections:
            lines += [f"## {section.title}", ""]
            for paragraph in section.paragraphs:
                lines += [paragraph, ""]
            for figure in section.figures:
                lines += [f"![{figure.alternative}](figures/{figure.name}.svg)", "", figure.caption, ""]
            for table in section.tables:
                lines += [f"**{table.caption}** ([CSV](tables/{table.name}.csv))", "", *_markdown_table(table), ""]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return the report as one page that needs nothing else."""
        return to_html(TITLE, self.facts, self.sections)

    def write(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write report.html, report.md, tables/*.csv and figures/*.svg, each whole or not at all.

        Tables and figures of an earlier report that this one does not have are removed.
        """
        root = Path(folder)
        contents = {"report.html": self.to_html(), "report.md": self.to_markdown()}
        for section in self.sections:
            for table in section.tables:
                rows = [[cell.replace("\n", "; ") for cell in row] for row in table.rows]
                contents[f"tables/{table.name}.csv"] = delimited(table.columns, rows, ",")
            contents |= {f"figures/{figure.name}.svg": figure.svg for figure in section.figures}
        for name, content in contents.items():
            make_folder((root / name).parent)
            write_atomically(root / name, content)
        for old in [*root.glob("tables/*.csv"), *root.glob("figures/*.svg")]:
            if old.relative_to(root).as_posix() not in contents:
                old.unlink()
        return [root / name for name in contents]

    def __str__(self) -> str:
        """Return the counts as one line."""
        return "; ".join(f"{protocol}: {in_words(self.counts[protocol])}" for protocol in PROTOCOLS)


def make_folder(folder: Path) -> None:
    """Make a folder, and say what stands in the way."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        given = f"The folder {folder} cannot be made ({error.strerror})"
        raise type(error)(explain(given, "a folder that you may write to", "choose another --out")) from None
    if not os.access(folder, os.W_OK):
        given = f"The folder {folder} cannot be written to"
        raise PermissionError(explain(given, "a folder that you may write to", "choose another --out"))


def facts(command: str, started: str, seconds: float) -> tuple[tuple[str, str], ...]:
    """Tell what was run, with what, where and when."""
    others = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn"))
    return (
        ("command", f"`{command}`"),
        ("versions", f"reliac {__version__}, {others}, Python {platform.python_version()}"),
        ("machine", f"{os.cpu_count()} cores, {platform.machine()}, {sys.platform}"),
        ("time", f"{started}, {seconds:.0f} s"),
    )


def _markdown_table(table: Table) -> list[str]:
    """Return the lines of a table; long ones are left to their CSV file."""
    if table.folded:
        return [f"{len(table.rows)} rows, in the CSV file and on the HTML page."]

    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", "<br>") for cell in cells) + " |"

    return [line(table.columns), "|" + "---|" * len(table.columns), *map(line, table.rows)]
