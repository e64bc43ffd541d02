"""What docs/after.md shows is executed."""

from __future__ import annotations

import doctest
from pathlib import Path


def test_the_examples_of_the_page_about_trees_hold():
    page = Path(__file__).parents[2] / "docs" / "after.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried
    assert not failed
