"""What a report is made of: sections of words, tables and figures, that know nothing of Markdown or HTML."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Table:
    """Rows of text under column names; ``name`` is that of its CSV file."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    folded: bool = False  # long: the page shows it on demand


@dataclass(frozen=True)
class Figure:
    """A picture as SVG, with words for those who do not see it."""

    name: str
    caption: str
    svg: str
    alternative: str


@dataclass(frozen=True)
class Section:
    """One part of a report: what was asked, what came out, and the tables and figures that show it."""

    title: str
    anchor: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...] = field(default=())
    figures: tuple[Figure, ...] = field(default=())
