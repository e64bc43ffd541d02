"""From the options of a cut to labels: what cannot be is refused as soon as that is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import explain
from ..input.options import check_count, check_number
from .options import BRANCHES, CONSTRAINTS, SIZES, Asked

if TYPE_CHECKING:
    from ..tree.clustertree import ClusterTree


def check_cut(asked: Asked, n: int, fewest: int, levels: int) -> None:
    """Refuse a cut that cannot be, as soon as that is known, by the name it was typed with."""
    for count in asked.counts:
        step = f"ask for no more clusters than the {n} objects"
        if asked.along_graph and count < fewest:
            step = f"the edges leave {fewest} clusters apart: ask for more, or add --join-components"
        elif asked.given(CONSTRAINTS.options) and count < fewest:
            step = f"the constraints leave {fewest} clusters: ask for more, or drop constraints"
        check_count("clusters", count, min(fewest, n), n, step)
    if asked.level is not None:
        check_count("level", asked.level, 0, levels, f"look at the levels first: reliac levels {asked.file}")
    if asked.distance is not None:
        check_number("distance", asked.distance, 0.0, math.inf, f"look at the levels first: reliac levels {asked.file}")


def check_options_of_cut(asked: Asked) -> None:
    """Refuse options that say nothing together, before any work is done."""
    if asked.branches is None:
        useless, needed = asked.given(BRANCHES.options), "--branches lifetime or --branches inconsistency"
    else:
        useless = [one for one in asked.given(SIZES.options) if one.name != "min_size"]
        needed = "--clusters, --level or --distance, or no cut"
    if useless:
        given = " and ".join(option.typed for option in useless)
        raise ValueError(
            explain(f"{given} without the cut that has it", needed, f"leave {given} out, or change the cut")
        )
    for name in ("split_above", "min_size"):
        if getattr(asked, name) is not None:
            check_count(name, getattr(asked, name), 1, math.inf, "give a number of objects")
    if (asked.min_size or 1) > (asked.split_above or math.inf):
        given = f"--min-size {asked.min_size} and --split-above {asked.split_above} contradict"
        raise ValueError(explain(given, f"a --min-size from 1 to {asked.split_above}", "change one of the two"))
    if asked.small is not None and asked.min_size is None:
        raise ValueError(explain("--small without --min-size", "--min-size N --small drop", "add --min-size"))


def cut_labels(asked: Asked, tree: ClusterTree) -> Any:
    """Return the labels that the options ask for: one array, or a column for each number of --clusters."""
    if asked.branches is not None:
        return tree.branches(asked.branches, min_size=asked.min_size, threshold=asked.threshold, depth=asked.depth)
    sizes = {"max_size": asked.split_above, "min_size": asked.min_size, "small": asked.small or "stay"}
    return tree.labels(asked.clusters, level=asked.level, distance=asked.distance, **sizes)
