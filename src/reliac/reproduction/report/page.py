"""A report as one HTML page that needs nothing else: no scripts, no fonts, no pictures from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from .parts import Figure, Section, Table

#: What a cell begins with, or ends with on a line of its own, decides its colour; the words stay.
_COLOURS = (("reproduced", "good"), ("differs", "fair"), ("cannot be reproduced", "poor"), ("not run", "none"))

#: Cells up to the first number of characters are never broken into lines; from the second on they get more room.
SHORT, LONG = 24, 60
_NUMBER = re.compile(r"[-–]?[\d.,]*(?: ?[/%x×] ?[-–]?[\d.,]*)*")

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5b6169; --paper: #fff; --panel: #f5f6f8; --line: #d9dce1;
  --link: #0b5cad; --good: #dff3e4; --good-ink: #14532d; --fair: #fdf0d2; --fair-ink: #6b4300; --poor: #fae1e1;
  --poor-ink: #7a1616; --none: #e8eaee; --none-ink: #40464e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7e9ec; --soft: #a4abb5; --paper: #15171a; --panel: #1e2125;
  --line: #363b42; --link: #7fb8f5; --good: #173a25; --good-ink: #a9e5bd; --fair: #40310f; --fair-ink: #f4d792;
  --poor: #45201f; --poor-ink: #f5b9b6; --none: #2b2f35; --none-ink: #c3c8d0; } }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
a { color: var(--link); }
.page { display: grid; grid-template-columns: 15rem minmax(0, 1fr); gap: 2rem; max-width: 110rem; margin: 0 auto; }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto; padding: 1.5rem 0 1.5rem 1.25rem;
  font-size: 0.92rem; }
nav ol { list-style: none; margin: 0; padding: 0; }
nav li { margin: 0.35rem 0; }
nav a { text-decoration: none; }
nav a:hover, nav a:focus { text-decoration: underline; }
main { padding: 1.5rem 1.25rem 4rem; min-width: 0; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 0.5rem; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 0.5rem; padding-top: 0.75rem; border-top: 1px solid var(--line);
  scroll-margin-top: 3rem; }
p, dl { max-width: 46rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; font-size: 0.9rem;
  color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow: auto; border: 1px solid var(--line); border-radius: 6px;
  margin: 0.4rem 0 1.6rem; }
table { border-collapse: separate; border-spacing: 0; font-size: 0.86rem; font-variant-numeric: tabular-nums;
  min-width: 100%; }
.caption { font-weight: 600; margin: 1.2rem 0 0; }
th, td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { position: sticky; top: 0; background: var(--panel); z-index: 2; }
tbody th { position: sticky; left: 0; background: var(--panel); font-weight: 600; z-index: 1; white-space: nowrap; }
thead th:first-child { left: 0; z-index: 3; }
td { min-width: 3.5rem; }
td.long { min-width: 16rem; }
td.short { white-space: nowrap; }
td small { display: block; white-space: nowrap; font-size: 0.78rem; }
.good { background: var(--good); color: var(--good-ink); }
.fair { background: var(--fair); color: var(--fair-ink); }
.poor { background: var(--poor); color: var(--poor-ink); }
.none { background: var(--none); color: var(--none-ink); }
.key span { display: inline-block; padding: 0.05rem 0.5rem; border-radius: 4px; margin: 0 0.3rem 0.3rem 0;
  font-size: 0.9rem; }
details { margin: 0.8rem 0 1.4rem; }
details .scroll { max-height: 80vh; }
summary { cursor: pointer; font-weight: 600; }
code { font-family: ui-monospace, monospace; font-size: 0.92em; background: var(--panel); padding: 0 0.2em; }
figure { margin: 1.2rem 0 1.8rem; }
figure .picture { background: #fff; border: 1px solid var(--line); border-radius: 6px; padding: 0.5rem;
  overflow-x: auto; }
figure svg { max-width: 100%; height: auto; display: block; margin: 0 auto; }
figcaption { font-size: 0.9rem; color: var(--soft); margin-top: 0.4rem; max-width: 46rem; }
@media (max-width: 60rem) { .page { display: block; }
  nav { background: var(--paper); border-bottom: 1px solid var(--line); padding: 0.4rem 1rem; z-index: 5; }
  nav ol { display: flex; gap: 1rem; overflow-x: auto; white-space: nowrap; }
  nav strong { display: none; }
  main { padding: 1rem 1rem 3rem; }
  .facts { grid-template-columns: 1fr; } .facts dd { margin-bottom: 0.4rem; }
  tbody th { max-width: 9rem; white-space: normal; } }
@media print { nav { display: none; } .scroll { max-height: none; overflow: visible; } }
"""


def to_html(title: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    """Return the page."""
    links = "".join(f'<li><a href="#{escape(s.anchor)}">{escape(s.title)}</a></li>' for s in sections)
    told = "".join(f"<dt>{escape(name)}</dt><dd>{_words(value)}</dd>" for name, value in facts)
    key = "".join(f'<span class="{colour}">{word}</span>' for word, colour in _COLOURS)
    body = "\n".join(_section(section) for section in sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<div class="page">
<nav aria-label="Contents"><strong>Contents</strong><ol>{links}</ol></nav>
<main>
<h1>{escape(title)}</h1>
<dl class="facts">{told}</dl>
<p class="key">Verdicts: {key}</p>
{body}
</main>
</div>
</body>
</html>
"""


def _section(section: Section) -> str:
    words = "\n".join(f"<p>{_words(paragraph)}</p>" for paragraph in section.paragraphs)
    figures = "\n".join(map(_figure, section.figures))
    tables = "\n".join(map(_table, section.tables))
    anchor = escape(section.anchor)
    head = f'<h2 id="{anchor}">{escape(section.title)}</h2>'
    return f'<section aria-labelledby="{anchor}">\n{head}\n{words}\n{figures}\n{tables}\n</section>'


def _words(text: str) -> str:
    """Escape a text; what stands between backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _table(table: Table) -> str:
    name = escape(table.name)
    head = "".join(f'<th scope="col">{_words(column)}</th>' for column in table.columns)
    rows = "\n".join(_row(row) for row in table.rows)
    grid = (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.caption)}">'
        f'<table id="table-{name}"><thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>'
    )
    if table.folded:
        return f"<details><summary>{_words(table.caption)} ({len(table.rows)} rows)</summary>\n{grid}</details>"
    return f'<p class="caption">{_words(table.caption)}</p>\n{grid}'


def _row(row: Sequence[str]) -> str:
    first = f'<th scope="row">{_words(row[0])}</th>' if row else ""
    return f"<tr>{first}{''.join(map(_cell, row[1:]))}</tr>"


def _cell(text: str) -> str:
    """Colour a cell by its verdict, if it has one; a second line, and more, are small."""
    first, *more = text.split("\n")
    number = _NUMBER.fullmatch(first) is not None
    verdict = more[0] if number and more else first if not more else ""
    classes = [name for word, name in _COLOURS if re.match(rf"{word}\b", verdict)]
    classes += ["short"] if len(first) <= SHORT else ["long"] if len(first) >= LONG else []
    small = "".join(f"<small>{_words(line)}</small>" for line in more)
    kind = f' class="{" ".join(classes)}"' if classes else ""
    return f"<td{kind}>{_words(first)}{small}</td>"


def _figure(figure: Figure) -> str:
    """Put a picture on the page: without its prologue, and with names that no other picture has."""
    svg = figure.svg[figure.svg.index("<svg") :]
    name = re.sub(r"\W+", "-", figure.name)
    svg = re.sub(r'\bid="([^"]*)"', rf'id="{name}-\1"', svg)
    svg = re.sub(r'href="#([^"]*)"', rf'href="#{name}-\1"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", rf"url(#{name}-\1)", svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    label = escape(figure.alternative)
    picture = f'<div class="picture" role="img" aria-label="{label}">{svg}</div>'
    return f"<figure>{picture}<figcaption>{_words(figure.caption)}</figcaption></figure>"
