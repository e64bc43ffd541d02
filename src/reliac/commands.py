"""What each command of the command line does: read, cluster, write. No algorithm."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .api import cluster, load
from .errors import Interrupted, explain, unknown_name
from .evaluate import compare_strategies
from .exports import need
from .readers import read_table
from .sheets import Choices, Table
from .storage import load_fields
from .tables import Names
from .tree import ClusterTree
from .writers import (
    KINDS,
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
TABLE_EXTENSIONS = ("", ".csv", ".tsv", ".txt", ".npy")
PICTURES = (".png", ".pdf", ".svg")

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
    kind = _kind_of_output(args)
    try:
        tree, classes = _make_tree(args)
    except Interrupted as stopped:
        return _save_partial(stopped.tree, args, kind)
    if args.clusters is None and classes is not None and not _given(args, _CUTS):
        args.clusters = len(np.unique(classes))
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
    return _show(args, ("level", "clusters", "joins", "smallest distance", "largest distance"), _levels(args))


def _levels(args: Namespace) -> list[tuple[Any, ...]]:
    tree = _make_tree(args).tree
    first = np.searchsorted(tree.links["level"], np.arange(1, tree.n_levels + 2))
    distance = tree.links["distance"].tolist()
    rows: list[tuple[Any, ...]] = [(0, tree.n_objects, 0, "", "")]
    for level, (start, end) in enumerate(zip(first[:-1].tolist(), first[1:].tolist(), strict=True), 1):
        rows.append((level, int(tree.cluster_counts[level]), end - start, distance[start], distance[end - 1]))
    return rows


def run_outliers(args: Namespace) -> int:
    """Show the objects by the level at which they join, the last first."""
    if args.top is not None and args.top < 1:
        raise ValueError(explain(f"--top {args.top}", "a whole number of at least 1", "leave it out for all objects"))
    rows = outlier_rows(_make_tree(args).tree)
    return _show(args, ("name", "level", "score"), rows[: args.top])


def run_mst(args: Namespace) -> int:
    """Write the edges of a minimum spanning tree."""
    tree = _make_tree(args, criterion="single").tree
    edges = tree.spanning_tree()
    ends = tree.object_names[edges.pairs]
    columns = (ends[:, 0], ends[:, 1], edges.weights, edges.levels)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return _show(args, ("i", "j", "weight", "level"), rows, default="csv")


def run_compare(args: Namespace) -> int:
    """Compare the standard strategy, the reliable one and any between."""
    _check_targets(args)
    table = _read(args)
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
    return _show(args, columns, cells)


def run_info(args: Namespace) -> int:
    """Show a saved tree and facts of its file."""
    tree = load(args.file)
    header = load_fields(args.file)[1]
    form = f"tree file, format version {header['version']}, checksum correct" if header else "JSON text"
    facts = [
        ("file", f"{args.file}: {os.path.getsize(args.file):,} bytes, {form}"),
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


COMMANDS: dict[str, Callable[[Namespace], int]] = {
    "cluster": run_cluster,
    "levels": run_levels,
    "outliers": run_outliers,
    "mst": run_mst,
    "compare": run_compare,
    "info": run_info,
    "demo": run_demo,
}


# --- from a file to a tree ---


def _make_tree(args: Namespace, **fixed: Any) -> Result:
    """Read FILE and cluster it, or load the tree that it holds."""
    _check_targets(args)
    if Path(args.file).suffix.lower() in SAVED_TREES:
        useless = [option.replace("_", "-") for option in _given(args, (*_RUN_OPTIONS, *_INPUT_OPTIONS))]
        if useless:
            raise ValueError(
                explain(
                    f"--{', --'.join(useless)} with the saved tree {args.file}",
                    "options that cut or write the tree",
                    "leave them out, or start from the data again",
                )
            )
        tree, classes = load(args.file), None
    else:
        table = _read(args)
        options = _run_options(args) | fixed
        try:
            tree = with_names(cluster(table.numbers, weights=table.weights, **options), table.names)
        except Interrupted as stopped:
            raise Interrupted(with_names(stopped.tree, table.names)) from None
        classes = table.labels
    if args.verbose:
        _say(repr(tree), prefix="")
    return Result(tree, classes)


def _read(args: Namespace) -> Table:
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
    table = read_table(args.file, args.format, choices)
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


def _kind_of_output(args: Namespace) -> str:
    """Return what to write: as --to says, or the extension of --out, or labels if some cut is asked for."""
    cut = bool(_given(args, (*_CUTS, "label_column")))
    to_file = args.out not in (None, "-")
    suffix = Path(args.out or "-").suffix.lower()
    if args.to:
        kind = str(args.to)
        if kind in ("labels", "z") and suffix not in TABLE_EXTENSIONS:
            raise ValueError(unknown_name(f"extension of --out for {kind}", suffix, filter(None, TABLE_EXTENSIONS)))
    elif to_file and suffix and suffix not in KINDS:
        raise ValueError(
            explain(
                f"--out {args.out} does not say what to write",
                f"the extensions {', '.join(KINDS)}",
                "pass --to labels, tree, newick, z or json",
            )
        )
    else:
        kind = KINDS.get(suffix) or ("labels" if cut else "summary")
    if kind == "labels" and not cut:
        raise ValueError(
            explain(
                "Labels of the whole tree: all objects in one cluster",
                "--clusters K, --level L, --distance T, or a rule that stops early",
                f"look at the levels first: reliac levels {args.file}",
            )
        )
    return kind


def _check_targets(args: Namespace) -> None:
    """Find out before the work that its result can be written."""
    for option in ("out", "plot", "checkpoint"):
        target = getattr(args, option, None)
        if target in (None, "-"):
            continue
        if not Path(target).parent.is_dir():
            raise FileNotFoundError(
                explain(
                    f"--{option} {target}: there is no such folder", "a file in an existing folder", "make it first"
                )
            )
        if Path(target).is_dir():
            raise IsADirectoryError(explain(f"--{option} {target} is a folder", "a file", "add a file name"))
    if getattr(args, "plot", None):
        if Path(args.plot).suffix.lower() not in PICTURES:
            raise ValueError(unknown_name("kind of picture", Path(args.plot).suffix, PICTURES))
        need("matplotlib", "plot")


def _save_partial(tree: ClusterTree, args: Namespace, kind: str) -> int:
    """Keep the levels done before Ctrl-C: in the file asked for if it is to hold a tree, else beside it."""
    told = f"stopped by Ctrl-C at level {tree.n_levels} with {tree.n_clusters} clusters left"
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


def _show(args: Namespace, columns: Sequence[str], rows: Sequence[Sequence[Any]], default: str = "text") -> int:
    """Write a table as --to says, or the extension of --out."""
    by_extension = {".csv": "csv", ".tsv": "tsv", ".txt": "text"}
    kind = args.to or by_extension.get(Path(args.out or "-").suffix.lower(), default)
    if kind == "text":
        write_output(aligned(columns, rows), args.out)
    else:
        write_output(delimited(columns, rows, "\t" if kind == "tsv" else ","), args.out)
    return 0


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)
