"""docs/files.md lists the formats of the code."""

from __future__ import annotations

import re
from pathlib import Path

from reliac.cli import outputs, reading

PAGE = (Path(__file__).parents[2] / "docs" / "files.md").read_text(encoding="utf-8")

MEANINGS = {
    "labels": "the cluster of every object",
    "tree": "the whole tree, which `reliac` reads again",
    "newick": "the tree as Newick text, ties as nodes with many parts",
    "nexus": "names and tree as a NEXUS file",
    "z": "the linkage matrix of SciPy",
    "json": "the whole tree as JSON, which `reliac` reads again",
}


def table(titles, rows):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (titles, ["---"] * len(titles), *rows))


def shown(mark):
    return re.search(rf"<!-- {mark}: [^\n]*-->\n(.*?)\n<!-- end -->", PAGE, flags=re.DOTALL)[1]


def named(extensions):
    return ", ".join(f"`{extension}`" for extension in extensions)


def read_table():
    rows = [(f"`{name}`", named(extensions), meaning) for name, (extensions, meaning) in reading.FORMATS.items()]
    return table(("`--format`", "extensions", "what it holds"), rows)


def written_table():
    forms = outputs.FORMATS.values()
    rows = [(f"`{form.name}`", named(form.extensions) or "-", MEANINGS[form.name]) for form in forms]
    return table(("`--to`", "extensions of `--out`", "what it is"), rows)


def test_the_page_lists_every_format_that_is_read():
    assert shown("read") == read_table()


def test_the_page_lists_every_format_that_is_written():
    assert shown("written") == written_table()


def test_the_readme_names_the_page():
    assert "docs/files.md" in (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
