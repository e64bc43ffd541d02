"""A report as one HTML page that needs nothing else: no scripts, no fonts, no pictures from elsewhere.

The page is the template page.html with the styles of page.css, filled in by Jinja2, which escapes every text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import need
from .parts import Section
from .pictures import inline

#: What a cell begins with, or ends with on a line of its own, decides its colour; the words stay.
_COLOURS = (("reproduced", "good"), ("differs", "fair"), ("cannot be reproduced", "poor"), ("not run", "none"))

#: Cells up to the first number of characters are never broken into lines; from the second on they get more room.
SHORT, LONG = 24, 60
_NUMBER = re.compile(r"[-–]?[\d.,]*(?: ?[/%x×] ?[-–]?[\d.,]*)*")


class _Cell(NamedTuple):
    first: str
    more: list[str]  # further lines, in small letters
    classes: str


def to_html(title: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """Return the page."""
    jinja = need("jinja2", "report")
    pages = jinja.Environment(
        loader=jinja.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters |= {"words": _words, "cell": _cell, "inline": inline}
    page = pages.get_template("page.html")
    return str(page.render(title=title, facts=facts, sections=sections, colours=_COLOURS))


def _words(text: str) -> Any:
    """Escape a text; what stands between backticks is code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _cell(text: str) -> _Cell:
    """Colour a cell by its verdict, if it has one; a second line, and more, are small."""
    first, *more = text.split("\n")
    number = _NUMBER.fullmatch(first) is not None
    verdict = more[0] if number and more else first if not more else ""
    classes = [name for word, name in _COLOURS if re.match(rf"{word}\b", verdict)]
    classes += ["short"] if len(first) <= SHORT else ["long"] if len(first) >= LONG else []
    return _Cell(first, more, " ".join(classes))
