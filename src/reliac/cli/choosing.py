"""How many clusters, on the command line: which numbers are scored, and by what."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import explain
from ..input.options import check_count
from ..questions.scores import USUAL, Measured, measured, score_table
from ..questions.stability import stability_table
from ..questions.suggestion import Suggestion, suggestion, with_stability
from ..tree.clustertree import ClusterTree
from ..tree.keeping import held_objects
from .options import Asked
from .terminal import say


def check_options_of_choice(asked: Asked) -> None:
    """Refuse numbers that cannot be, before any work is done."""
    for name, low in (("fewest", 1), ("most", 1), ("repeats", 1), ("sample", 1), ("seed", 0)):
        if getattr(asked, name) is not None:
            check_count(name, getattr(asked, name), low, np.inf, f"see reliac {asked.command} --help")
    if (asked.fewest or USUAL[0]) > (asked.most or USUAL[-1]):
        given = f"--fewest {asked.fewest or USUAL[0]} and --most {asked.most or USUAL[-1]}"
        raise ValueError(explain(given, "a --most that is not below --fewest", "change one of the two"))


def choose_number(asked: Asked, tree: ClusterTree) -> Suggestion:
    """Score the numbers of clusters that are asked for, by the data if it is there and by the tree alone if not."""
    fewest, most = asked.fewest or max(USUAL[0], tree.n_clusters), asked.most or min(USUAL[-1], tree.n_objects - 1)
    for name in ("fewest", "most"):
        if getattr(asked, name) is not None:
            step = f"a tree of {tree.n_objects} objects has cuts into these numbers"
            check_count(name, getattr(asked, name), tree.n_clusters, tree.n_objects, step)
    numbers = list(range(fewest, most + 1)) or [fewest]
    how = {name: getattr(asked, name) for name in ("sample", "seed") if getattr(asked, name) is not None}
    if held_objects(tree) is None:
        say("a tree without its data: only what the tree itself tells is scored; start from the data for all scores")
        data = Measured(None, "euclidean", tree.weights)
    else:
        data = measured(tree)
    table = score_table(tree, data, numbers, **how)
    if asked.repeats:
        seed = {"seed": asked.seed} if asked.seed is not None else {}
        parts = stability_table(tree, (None, None), numbers, repeats=asked.repeats, n_jobs=asked.jobs, **seed)
        table = with_stability(table, parts)
    found = suggestion(table)
    if found is None:
        given = f"No score is defined for {fewest} to {most} clusters of {tree.n_objects} objects, or all have the same"
        raise ValueError(explain(given, f"2 to {tree.n_objects - 1} clusters", "change --fewest and --most"))
    return found


def plot_choice(found: Suggestion) -> Any:
    """Draw the scores; matplotlib is imported here."""
    from ..plots.scores import plot_suggestion

    return plot_suggestion(found)
