"""What the command line writes: trees, labels, tables and pictures, to files or to standard output."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import need
from ..evaluate import scores
from ..files import write_atomically
from ..input.numbers import Names
from ..tree.clustertree import ClusterTree
from ..tree.storage import to_bytes

#: What the extension of --out says about the kind of output.
KINDS = {
    ".csv": "labels",
    ".tsv": "labels",
    ".npy": "labels",
    ".reliac": "tree",
    ".nwk": "newick",
    ".newick": "newick",
    ".json": "json",
}


def rendered(kind: str, tree: ClusterTree, labels: Any = None, suffix: str = "") -> bytes | str:
    """Return a tree, or its labels, in the form asked for."""
    if kind == "tree":
        return to_bytes(tree)
    if kind == "newick":
        return tree.to_newick()
    if kind == "json":
        return tree.to_json() + "\n"
    matrix = labels if kind == "labels" else tree.linkage_matrix()
    if suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, matrix, allow_pickle=False)
        return buffer.getvalue()
    delimiter = "\t" if suffix == ".tsv" else ","
    if kind == "labels":
        rows = zip(tree.object_names.tolist(), labels.tolist(), strict=True)
        return delimited(("name", "cluster"), rows, delimiter)
    steps = ((int(left), int(right), distance, int(size)) for left, right, distance, size in matrix.tolist())
    return delimited(("left", "right", "distance", "size"), steps, delimiter)


def write_output(content: bytes | str, target: str | None) -> None:
    """Write to standard output (None or ``-``), or to a file: whole or not at all."""
    if target in (None, "-"):
        if sys.stdout is None:  # the shell closed it: nobody wants to read this
            return
        if isinstance(content, str):
            sys.stdout.write(content)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(content)
        return
    write_atomically(str(target), content)


def picture(draw: Callable[[], Any], target: str) -> bytes:
    """Return what ``draw`` puts on its axes as the bytes of a picture; the extension tells the format."""
    need("matplotlib", "plot").use("Agg")  # no window, no display needed
    drawn = draw()
    figure = (drawn[0] if isinstance(drawn, (tuple, list, np.ndarray)) else drawn).figure
    buffer = io.BytesIO()
    figure.savefig(buffer, format=Path(target).suffix[1:].lower(), dpi=150)
    need("matplotlib.pyplot", "plot").close(figure)
    return buffer.getvalue()


def delimited(columns: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str) -> str:
    """Return a table as CSV or TSV, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def aligned(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table for the eye: numbers to the right with six digits at most, text to the left."""
    lines = [
        list(columns),
        *([f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows),
    ]
    text = [any(isinstance(row[place], str) and row[place] for row in rows) for place in range(len(columns))]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    return "".join(
        "  ".join(
            cell.ljust(width) if is_text else cell.rjust(width)
            for cell, width, is_text in zip(line, widths, text, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def shortened(values: Sequence[Any], shown: int = 8) -> str:
    """Return the first few of many values as text."""
    more = f" ... ({len(values)} in all)" if len(values) > shown else ""
    return ", ".join(str(value) for value in values[:shown]) + more


def outlier_rows(tree: ClusterTree) -> list[tuple[str, int, float]]:
    """Return name, join level and score of every object, the last to join first."""
    order = np.argsort(-tree.join_levels, kind="stable")
    columns = (tree.object_names[order], tree.join_levels[order], tree.outlier_scores()[order])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def with_names(tree: ClusterTree, names: Names | None) -> ClusterTree:
    """Return the tree with names for its objects."""
    return tree if names is None else replace(tree, names=names)


def score_line(classes: Any, labels: Any) -> str:
    """Return the three scores of clusters against classes as a line."""
    found = {name: round(score, 3) + 0.0 for name, score in scores(classes, labels).items()}  # no -0.000
    sizes = f"{len(np.unique(labels))} clusters against {len(np.unique(classes))} classes"
    return f"AMI {found['ami']:.3f}  ARI {found['ari']:.3f}  V {found['v']:.3f}  ({sizes})"
