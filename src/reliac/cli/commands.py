"""What each command of the command line does: read, cluster, write. No algorithm."""

from __future__ import annotations

import math
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..api import cluster
from ..errors import Interrupted, explain
from ..evaluate import compare_strategies
from ..input.numbers import Names
from ..input.options import check_count, check_number
from ..tree.clustertree import ClusterTree
from ..tree.storage import holds_tree, read
from ..tree.views import level_rows
from .columns import Choices, Table
from .reading import called, extension, opened, read_stream
from .targets import form_of_table, kind_of_output
from .writers import (
    aligned,
    delimited,
    outlier_rows,
    picture,
    rendered,
    score_line,
    shortened,
    with_names,
    write_output,
)

SAVED_TREES = (".reliac", ".json")

#: Options of the command line by the names that cluster() has for them.
_RUN_OPTIONS = {
    "criterion": "criterion",
    "metric": "metric",
    "alpha": "alpha",
    "tie_tolerance": "tie_tolerance",
    "engine": "engine",
    "jobs": "n_jobs",
    "checkpoint": "checkpoint",
    "stop_clusters": "n_clusters",
    "max_level": "max_level",
    "max_distance": "max_distance",
}
#: Options that make labels of more than one cluster.
_CUTS = ("clusters", "level", "distance", "stop_clusters", "max_level", "max_distance")
_INPUT_OPTIONS = (
    "format",
    "header",
    "name_column",
    "label_column",
    "weights_column",
    "skip_column",
    "standardize",
)


class Result(NamedTuple):
    """A tree, and the known classes of its objects where the file has them."""

    tree: ClusterTree
    classes: Names | None


# --- commands ---


def run_cluster(args: Namespace) -> int:
    """Cluster a file, write what was asked for, and tell the scores where classes are known."""
    kind = kind_of_output(args, cut=bool(_given(args, (*_CUTS, "label_column"))))
    try:
        tree, classes = _make_tree(args)
    except Interrupted as stopped:
        return _save_partial(stopped, args, kind)
    if args.clusters is None and classes is not None and not _given(args, _CUTS):
        args.clusters = len(np.unique(classes))
    _check_cut(args, tree.n_objects, tree.n_clusters, tree.n_levels)
    if kind == "z" and tree.n_clusters > 1:
        given = f"The run stopped with {tree.n_clusters} clusters, and a linkage matrix has room for one tree only"
        raise ValueError(explain(given, "trees that end with one cluster", "stop later, or write --to tree"))
    labels = tree.labels(args.clusters, level=args.level, distance=args.distance)
    if kind == "summary":
        write_output(f"{tree!r}\n", args.out)
        _say("--clusters K gives K clusters, --out FILE.reliac keeps the tree; see reliac cluster --help")
    else:
        suffix = Path(args.out or "-").suffix.lower()
        write_output(rendered(kind, tree, labels, suffix), args.out)
    if args.plot:
        shown = args.clusters if args.clusters and args.clusters <= min(60, tree.n_objects) else None
        write_output(picture(lambda: tree.plot(color_clusters=shown), args.plot), args.plot)
    if classes is not None:
        _say(score_line(classes, labels))
    return 0


def run_levels(args: Namespace) -> int:
    """Show every level."""
    form = form_of_table(args)
    rows = [["" if cell is None else cell for cell in row] for row in level_rows(_make_tree(args).tree)]
    return _show(args, form, ("level", "clusters", "joins", "smallest distance", "largest distance"), rows)


def run_outliers(args: Namespace) -> int:
    """Show the objects by the level at which they join, the last first."""
    form = form_of_table(args)
    if args.top is not None:
        check_count("--top", args.top, 1, math.inf, "leave it out for all objects")
    rows = outlier_rows(_make_tree(args).tree)
    return _show(args, form, ("name", "level", "score"), rows[: args.top])


def run_mst(args: Namespace) -> int:
    """Write the edges of a minimum spanning tree."""
    form = form_of_table(args, default="csv")
    tree = _make_tree(args, criterion="single").tree
    edges = tree.spanning_tree()
    ends = tree.object_names[edges.pairs]
    columns = (ends[:, 0], ends[:, 1], edges.weights, edges.levels)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return _show(args, form, ("i", "j", "weight", "level"), rows)


def run_compare(args: Namespace) -> int:
    """Compare the standard strategy, the reliable one and any between."""
    form = form_of_table(args)
    with opened(args.file) as stream:
        table = _read(args, stream)
    rows = compare_strategies(
        table.numbers,
        table.labels,
        alphas=args.alphas or [0.0, 1.0],
        n_clusters=args.clusters,
        weights=table.weights,
        **_run_options(args),
    )
    columns = ["strategy", "levels", "seconds"]
    cells: list[list[Any]] = [[row.name, row.n_levels, round(row.seconds, 3)] for row in rows]
    if table.labels is not None:
        columns += ["AMI", "ARI", "V"]
        cells = [[*line, *map(_rounded, (row.ami, row.ari, row.v))] for line, row in zip(cells, rows, strict=True)]
    if rows[0].sizes:
        columns += ["agreement", "cluster sizes"]
        cells = [[*c, _rounded(r.agreement), shortened(r.sizes)] for c, r in zip(cells, rows, strict=True)]
    else:
        _say("--clusters K, or --label-column C, also compares the clusters")
    return _show(args, form, columns, cells)


def run_info(args: Namespace) -> int:
    """Show a saved tree and facts of its file."""
    with opened(args.file) as stream:
        data = stream.read()
    tree, header = read(ClusterTree, data, called(args.file))
    form = f"tree file, format version {header['version']}, checksum correct" if header else "JSON text"
    facts = [
        ("file", f"{called(args.file)}: {len(data):,} bytes, {form}"),
        ("names", "none, rows are numbered from 0" if tree.names is None else shortened(tree.names.tolist())),
        ("weights", "all 1" if (tree.weights == 1).all() else f"{tree.weights.min():g} to {tree.weights.max():g}"),
        ("spanning tree", "no" if tree.object_pairs is None else f"{len(tree.object_pairs)} edges"),
    ]
    write_output("\n".join([repr(tree), *(f"  {name}: {fact}" for name, fact in facts)]) + "\n", None)
    return 0


def run_demo(args: Namespace) -> int:
    """Take the tour."""
    from .demo import tour

    return tour(args.out)


def run_reproduce(args: Namespace) -> int:
    """Run the paper's experiments and write the report; on Ctrl-C, what was done."""
    from ..reproduction import Stopped, reproduce

    command = shlex.join(
        [
            *("reliac", "reproduce"),
            *(["--datasets", *args.datasets] if args.datasets else []),
            *("--out", args.out),
            *(["--folder", args.folder] if args.folder else []),
        ]
    )
    try:
        report = reproduce(args.datasets, args.out, args.folder, _say, command=command)
    except Stopped as stopped:
        done = any(cell.ours is not None for cell in stopped.report.cells)
        where = f"what was done is in {Path(args.out) / 'report.html'}" if done else "nothing was done yet"
        _say(f"stopped by Ctrl-C; {where}")
        _say(str(stopped.report))
        return 130
    _say(f"the report is in {Path(args.out) / 'report.html'} ({dict(report.facts)['time'].split(', ')[-1]})")
    write_output(f"{report}\n", None)
    return 0


COMMANDS: dict[str, Callable[[Namespace], int]] = {
    "cluster": run_cluster,
    "levels": run_levels,
    "outliers": run_outliers,
    "mst": run_mst,
    "compare": run_compare,
    "info": run_info,
    "demo": run_demo,
    "reproduce": run_reproduce,
}


# --- from a file to a tree ---


def _make_tree(args: Namespace, **fixed: Any) -> Result:
    """Read FILE and cluster it, or load the tree that it holds."""
    with opened(args.file) as stream:
        if extension(args.file) in SAVED_TREES or (args.format is None and holds_tree(stream)):
            _check_no_run(args)
            result = Result(read(ClusterTree, stream.read(), called(args.file)).tree, None)
            table = None
        else:
            table = _read(args, stream)
    if table is not None:
        n = len(table.numbers) if table.numbers.ndim == 2 else (1 + math.isqrt(1 + 8 * table.numbers.size)) // 2
        _check_cut(args, n, getattr(args, "stop_clusters", None) or 1, max(n - 1, 0))
        try:
            tree = cluster(table.numbers, weights=table.weights, **_run_options(args) | fixed)
        except Interrupted as stopped:
            raise Interrupted(with_names(stopped.tree, table.names), stopped.note) from None
        result = Result(with_names(tree, table.names), table.labels)
    if args.verbose:
        _say(repr(result.tree), prefix="")
    return result


def _check_no_run(args: Namespace) -> None:
    """Refuse options of a run where there is a tree already."""
    useless = [option.replace("_", "-") for option in _given(args, (*_RUN_OPTIONS, *_INPUT_OPTIONS))]
    if useless:
        raise ValueError(
            explain(
                f"--{', --'.join(useless)} with the saved tree {called(args.file)}",
                "options that cut or write the tree",
                "leave them out, or start from the data again",
            )
        )


def _check_cut(args: Namespace, n: int, fewest: int, levels: int) -> None:
    """Refuse a cut that cannot be, as soon as that is known, by the name it was typed with."""
    if getattr(args, "clusters", None) is not None:
        check_count("--clusters", args.clusters, min(fewest, n), n, f"ask for no more clusters than the {n} objects")
    if getattr(args, "level", None) is not None:
        check_count("--level", args.level, 0, levels, f"look at the levels first: reliac levels {args.file}")
    if getattr(args, "distance", None) is not None:
        check_number("--distance", args.distance, 0.0, math.inf, f"look at the levels first: reliac levels {args.file}")


def _read(args: Namespace, stream: BinaryIO) -> Table:
    """Read the table that the user speaks of."""
    distances = str(args.metric).lower() == "precomputed"
    if args.standardize and distances:
        raise ValueError(
            explain("--standardize with distances", "--standardize with vectors", "leave out one of the two")
        )
    choices = Choices(
        header=args.header,
        name_column=args.name_column,
        label_column=args.label_column,
        weights_column=args.weights_column,
        skip_columns=args.skip_column or (),
        distances=distances,
    )
    table = read_stream(stream, args.file, args.format, choices)
    return replace(table, numbers=standardized(table.numbers)) if args.standardize else table


def standardized(numbers: Any) -> Any:
    """Scale every column to mean 0 and standard deviation 1; a constant column becomes 0."""
    centred = numbers - numbers.mean(axis=0)
    deviation = centred.std(axis=0)
    return centred / np.where(deviation > 0, deviation, 1.0)


def _run_options(args: Namespace) -> dict[str, Any]:
    """Return what the user asked for, by the names that cluster() has for it."""
    options = {name: getattr(args, option, None) for option, name in _RUN_OPTIONS.items()}
    options["progress"] = True if args.progress or sys.stderr.isatty() else None
    return {name: value for name, value in options.items() if value is not None}


def _given(args: Namespace, options: Iterable[str]) -> list[str]:
    """Return which of the options the user gave."""
    values = {name: getattr(args, name, None) for name in options}
    return [name for name, value in values.items() if value is not None and value is not False]


# --- from a tree to a file ---


def _save_partial(stopped: Interrupted, args: Namespace, kind: str) -> int:
    """Keep the levels done before Ctrl-C: in the file asked for if it is to hold a tree, else beside it."""
    tree = stopped.tree
    told = f"stopped by Ctrl-C at level {tree.n_levels} with {tree.n_clusters} clusters left"
    told += f"; {stopped.note}" if stopped.note else ""
    if args.out in (None, "-"):
        _say(f"{told}; nothing saved (--out FILE would have kept the levels done)")
        return 130
    target = args.out if kind in ("tree", "json") else f"{args.out}.partial.reliac"
    write_output(rendered("json" if kind == "json" else "tree", tree), target)
    _say(f"{told}; the levels done are in {target}")
    return 130


# --- text ---


def _say(message: str, prefix: str = "reliac: ") -> None:
    print(f"{prefix}{message}", file=sys.stderr)


def _show(args: Namespace, form: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Write a table as text, csv or tsv."""
    table = aligned(columns, rows) if form == "text" else delimited(columns, rows, "\t" if form == "tsv" else ",")
    write_output(table, args.out)
    return 0


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)
