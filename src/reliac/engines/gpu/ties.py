"""Links that tie are settled on the host, by the compiled step that all engines share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.links import Links
from ..compiled.loading import compiled, load
from ..compiled.rules import Rules
from ..compiled.step import choose_links, groups_of


@compiled
def settle(links, object_of, rules, leader, most):
    """Choose the links that a level takes, and the groups they form: parts, and where groups begin and end."""
    links = choose_links(links, object_of, rules, leader, most)
    parts, bounds = groups_of(links, object_of, leader)
    return links, parts, bounds


def load_settling(rules: Rules) -> None:
    """Load the compiled code, once a process."""

    def run_few() -> None:
        few = Links(np.array([0, 0]), np.array([1, 2]), np.zeros(2))
        settle(few, np.arange(3), rules, np.zeros(3, np.int64), 2)

    load("gpu", "", run_few)


def settle_links(
    links: Links, object_of: NDArray[np.int64], rules: Rules, most: int
) -> tuple[Links, NDArray[np.int64], NDArray[np.int64]]:
    """Settle the links of a level."""
    load_settling(rules)
    settled: Any = settle(links, object_of, rules, np.zeros(len(object_of), np.int64), most)
    return settled[0], settled[1], settled[2]
