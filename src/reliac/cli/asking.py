"""Commands that ask a saved tree: where new rows belong, its tree with them, and what its clusters are like."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ..algorithm.criteria import get_criterion
from ..errors import explain, unknown_name
from ..input.metrics import allows_gaps
from ..input.objects import Vectors
from ..questions.newrows import Titled
from ..questions.summary import summary_columns
from ..tree.clustertree import ClusterTree
from ..tree.storage import read_tree
from .columns import Choices, Table
from .cutting import check_cut
from .making import run_options
from .options import Asked
from .outputs import FORMATS, asked_format, asked_table, score_line, show_rows, suffix_of, write_output
from .reading import called, opened, read_table
from .scaling import in_scale, titles_of
from .terminal import is_terminal, say, shortened


def run_predict(asked: Asked) -> int:
    """Write for every new row the cluster that it is nearest to, and its distance."""
    form = asked_table(asked, default="csv")
    tree = _read_tree(asked)
    _check_placing(asked, tree)
    table = _read_rows(asked, tree)
    labels, distances = tree.predict(
        Titled(table.numbers, titles_of(table)),
        asked.clusters,  # type: ignore[arg-type]
        level=asked.level,
        distance=asked.distance,
        return_distance=True,
        max_distance=asked.max_distance,
        n_jobs=asked.jobs,
        progress=is_terminal(sys.stderr),
    )
    names = np.arange(len(labels)) if table.names is None else table.names
    rows = list(zip(*(column.tolist() for column in (names, labels, distances)), strict=True))
    status = show_rows(asked, form, ("name", "cluster", "distance"), rows)
    if table.labels is not None:
        say(score_line(table.labels, labels))
    return status


def run_extend(asked: Asked) -> int:
    """Write the tree of the rows of a tree and new ones."""
    form = FORMATS["tree"]
    if suffix_of(asked) not in ("", *form.extensions):
        raise ValueError(unknown_name("extension of --out", suffix_of(asked), form.extensions))
    asked.to = form.name
    asked_format(asked, cut=False)
    tree = _load(asked)
    _check_placing(asked, tree)
    table = _read_rows(asked, tree)
    if tree.names is not None and table.names is None:
        given = f"{called(asked.rows)} without names, for a tree whose objects have names"
        raise ValueError(explain(given, "a first column of distinct words, or --name-column C", "name the new rows"))
    if tree.names is None and table.names is not None:
        say("the names of new rows are left out, since the objects of the tree have none")
    distances = tree.parameters.get("metric") == "precomputed"
    more = tree.extend(
        table.numbers if distances else Titled(table.numbers, titles_of(table)),
        weights=table.weights,
        names=None if tree.names is None else table.names,
        **run_options(asked),
    )
    write_output(form.render(more, None, "", keep_data=True), asked.out)
    say(f"{more.n_objects} objects, engine {more.engine}: {more.reason}")
    return 0


def run_summary(asked: Asked) -> int:
    """Show one row for every cluster."""
    form = asked_table(asked)
    tree = _read_tree(asked)
    table = None if asked.rows is None else _read_rows(asked, tree)
    if table is None and (asked.label_column or (asked.exact and tree.kept is None)):
        given = f"{'--label-column' if asked.label_column else '--exact'} with {called(asked.file)} alone"
        raise ValueError(explain(given, "it together with the rows", "name the file of the rows, too"))
    labels = tree.labels(asked.clusters, level=asked.level, distance=asked.distance)
    how: dict[str, Any] = {} if asked.features is None else {"features": asked.features}
    if table is not None:
        how |= {"X": _training(tree, table), "classes": table.labels}
    columns = {"cluster": np.arange(labels.max() + 1)} | summary_columns(tree, labels, exact=bool(asked.exact), **how)
    if "medoid" not in columns:
        say(
            "a tree without its rows: name their file too for medoids, spreads and features, or use cluster --keep-data"
        )
    rows = list(zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True))
    return show_rows(asked, form, tuple(columns), rows)


def told_data(tree: ClusterTree) -> str:
    """Say which data a file keeps with its tree."""
    kept = tree.kept
    if kept is None:
        return "none kept"
    if not isinstance(kept, Vectors):
        return f"distances of {kept.n} objects"
    titles = "" if kept.columns is None else f": {shortened(kept.columns.tolist())}"
    return (
        f"{kept.n} rows of {kept.rows.shape[1]} columns{titles}{', standardized' if kept.scaling is not None else ''}"
    )


# --- reading ---


def _load(asked: Asked) -> ClusterTree:
    """Read the tree."""
    if "-" == asked.file == asked.rows:
        raise ValueError(explain("- twice", "one of the two from standard input", "name the file of the other"))
    with opened(asked.file) as stream:
        return read_tree(stream.read(), called(asked.file)).tree


def _read_tree(asked: Asked) -> ClusterTree:
    """Read the tree, and refuse a cut that it does not have."""
    tree = _load(asked)
    check_cut(asked, tree.n_objects, tree.n_clusters, tree.n_levels)
    if not (asked.counts or asked.level is not None or asked.distance is not None or tree.n_clusters > 1):
        raise ValueError(
            explain(
                "The whole tree: all objects in one cluster",
                "--clusters K, --level L or --distance T",
                f"look at the levels first: reliac levels {asked.file}",
            )
        )
    return tree


def _check_placing(asked: Asked, tree: ClusterTree) -> None:
    """Refuse a tree that new rows cannot be compared with, and scaling that the tree does itself."""
    if asked.standardize:
        step = "leave --standardize out: new rows are scaled as those of the tree were"
        raise ValueError(explain("--standardize for new rows", "cluster --standardize --keep-data", step))
    distances = tree.parameters.get("metric") == "precomputed"
    with_rows = asked.command == "extend" or get_criterion(tree.parameters.get("criterion")).geometric
    if tree.kept is None and (not distances or with_rows):
        raise ValueError(
            explain(
                f"{called(asked.file)} does not keep the rows that its tree was made from",
                "trees that 'reliac cluster --keep-data --out tree.reliac' wrote",
                "make the tree again with --keep-data",
            )
        )


def _read_rows(asked: Asked, tree: ClusterTree) -> Table:
    """Read the table of rows, new or old."""
    metric = tree.parameters.get("metric")
    choices = Choices(
        header=asked.header,
        name_column=asked.name_column,
        label_column=asked.label_column,
        weights_column=asked.weights_column,
        skip_columns=asked.skip_column or (),
        distances=asked.command == "summary" and metric == "precomputed",
        gaps=allows_gaps(metric),
        mixed=asked.command == "summary" and metric == "gower",
    )
    table = read_table(asked.rows, asked.format, choices)
    return in_scale(table) if asked.standardize else table


def _training(tree: ClusterTree, table: Table) -> Any:
    """Return the rows of a tree as it takes them again, with the titles of their columns."""
    if tree.parameters.get("metric") in ("precomputed", "gower"):
        return table.numbers
    return Vectors(table.numbers, columns=titles_of(table))
