"""From the words of a command to a tree: what a file holds is read and clustered, or loaded."""

from __future__ import annotations

import sys
from typing import Any, BinaryIO, NamedTuple

from ..api import cluster
from ..errors import explain
from ..input.condensed import count_objects
from ..input.metrics import allows_gaps
from ..input.numbers import Names
from ..run.progress import JSON
from ..tree.clustertree import ClusterTree
from ..tree.exports import warn_if_repeated
from ..tree.storage import holds_tree, read_tree
from .columns import Choices, Table
from .cutting import check_cut
from .graphs import check_edges, cluster_asked_edges, cluster_in_database, in_database
from .options import OF_A_RUN, Asked
from .reading import called, extension, opened, read_stream, read_table
from .scaling import in_scale, with_titles
from .terminal import is_terminal, say

SAVED_TREES = (".reliac", ".json")


class Result(NamedTuple):
    """A tree, and the known classes of its objects where the file has them."""

    tree: ClusterTree
    classes: Names | None


def make_tree(asked: Asked, **fixed: Any) -> Result:
    """Read FILE and cluster it, or load the tree that it holds."""
    check_edges(asked)
    options = run_options(asked) | fixed
    if in_database(asked):
        result = Result(cluster_in_database(asked, options), None)
    else:
        result = _read_and_cluster(asked, options)
    if asked.verbose:
        say(repr(result.tree), prefix="")
    return result


def _read_and_cluster(asked: Asked, options: dict[str, Any]) -> Result:
    table = None
    with opened(asked.file) as stream:
        if extension(asked.file) in SAVED_TREES or (asked.format is None and holds_tree(stream)):
            _check_no_run(asked)
            result = Result(read_tree(stream.read(), called(asked.file)).tree, None)
        elif asked.edges is not None:
            tree, listed = cluster_asked_edges(asked, stream, options)
            result = Result(tree, None if listed is None else listed.labels)
        else:
            table = read_asked(asked, stream)
    if table is not None:
        n = table.numbers.shape[0] if table.numbers.ndim == 2 else count_objects(table.numbers.size) or 0
        check_cut(asked, n, asked.stop_clusters or 1, max(n - 1, 0))
        usual = {"criterion": "average"} if asked.neighbors is not None else {}
        read = {"metric": asked.metric} if asked.metric else {}  # the file may have said what it holds
        tree = cluster(table.numbers, weights=table.weights, names=table.names, **usual | options | read)
        result = Result(with_titles(tree, table) if asked.keep_data else tree, table.labels)
    return result


def _check_no_run(asked: Asked) -> None:
    """Refuse options of a run where there is a tree already."""
    useless = [asked.typed(option) for option in asked.given(OF_A_RUN)]
    if useless:
        raise ValueError(
            explain(
                f"{', '.join(useless)} with the saved tree {called(asked.file)}",
                "options that cut or write the tree",
                "leave them out, or start from the data again",
            )
        )


def read_asked(asked: Asked, stream: BinaryIO) -> Table:
    """Read the table that the user speaks of."""
    metric = str(asked.metric).lower()
    distances = metric == "precomputed"
    if asked.standardize and (distances or allows_gaps(metric)):
        given = "--standardize with " + ("distances" if distances else f"--metric {metric}")
        raise ValueError(explain(given, "--standardize with vectors", "leave out one of the two"))
    choices = Choices(
        header=asked.header,
        name_column=asked.name_column,
        label_column=asked.label_column,
        weights_column=asked.weights_column,
        skip_columns=asked.skip_column or (),
        distances=distances,
        gaps=allows_gaps(metric),
        mixed=metric == "gower",
    )
    table = read_stream(stream, asked.file, asked.format, choices)
    if table.are_distances and not distances:
        _take_as_distances(asked)
    warn_if_repeated(table.names)
    return in_scale(table) if asked.standardize else table


def _take_as_distances(asked: Asked) -> None:
    """Set the metric where the format of the file says that it holds distances."""
    if asked.metric or asked.standardize:
        said = f"--metric {asked.metric}" if asked.metric else "--standardize"
        given = f"{said} with {called(asked.file)}, which holds distances"
        raise ValueError(explain(given, "--metric precomputed, or nothing", "leave it out"))
    asked.metric = "precomputed"


def run_options(asked: Asked) -> dict[str, Any]:
    """Return what the user asked for, by the names that cluster() has for it."""
    shown: dict[str, Any] = {"progress": True} if asked.progress or is_terminal(sys.stderr) else {}
    if asked.progress == JSON:
        shown = {"progress": JSON}
    arguments = asked.arguments()
    for name in ("must_link", "cannot_link"):
        if name in arguments:
            arguments[name] = read_table(arguments[name], None, Choices(form="pairs", header=False)).numbers
    return arguments | shown
