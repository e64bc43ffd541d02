"""What each command of the command line does: read, cluster, write. No algorithm."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..api import warmup
from ..engines.compiled.ready import obstacle
from ..errors import Interrupted, explain
from ..evaluate import compare_strategies
from ..input.options import check_count
from ..questions.scores import rows_of_table
from ..tree.levels import level_rows
from ..tree.outliers import BEST, BEST_CRITERION, read_score
from ..tree.storage import read_tree
from .asking import run_extend, run_predict, run_summary, told_data
from .choosing import check_options_of_choice, choose_number, plot_choice
from .cutting import check_cut, check_options_of_cut, cut_labels
from .making import make_tree, read_asked, run_options
from .options import CONSTRAINTS, OF_A_CUT, Asked
from .outputs import (
    FORMATS,
    OUTLIER_COLUMNS,
    Format,
    asked_format,
    asked_table,
    how_to_write,
    outlier_rows,
    picture,
    score_line,
    show_rows,
    suffix_of,
    tie_at_cut,
    write_output,
)
from .reading import called, opened
from .terminal import say, shortened

# --- commands ---


def run_cluster(asked: Asked) -> int:
    """Cluster a file, write what was asked for, and tell the scores where classes are known."""
    check_options_of_cut(asked)
    # Components of a graph, and what constraints keep apart, are clusters, whatever else is asked for.
    parts = asked.along_graph or bool(asked.given(CONSTRAINTS.options))
    form = asked_format(asked, bool(asked.label_column or asked.given(OF_A_CUT)), parts)
    how: dict[str, Any] = {**how_to_write(asked, form)}
    if form is FORMATS["labels"] and len(asked.counts) > 1:
        how["titles"] = [f"clusters_{count}" for count in asked.counts]
    try:
        tree, classes = make_tree(asked)
    except Interrupted as stopped:
        return _save_partial(stopped, asked, form)
    if asked.clusters is None and classes is not None and not asked.given(OF_A_CUT):
        asked.clusters = len(np.unique(classes))
    check_cut(asked, tree.n_objects, tree.n_clusters, tree.n_levels)
    if form and form.needs_root and tree.n_clusters > 1:
        given = f"A forest of {tree.n_clusters} trees, and a linkage matrix has room for one tree only"
        step = (
            "stop later"
            + (", join the rest with --join-components" if asked.edges is not None else "")
            + ", or write --to tree"
        )
        raise ValueError(explain(given, "trees that end with one cluster", step))
    labels = cut_labels(asked, tree)
    if form is None:
        write_output(f"{tree!r}\n", asked.out)
        say("--clusters K gives K clusters, --out FILE.reliac keeps the tree; see reliac cluster --help")
    else:
        write_output(form.render(tree, labels, suffix_of(asked), **how), asked.out)
    if asked.plot:
        one = asked.clusters if isinstance(asked.clusters, int) else None
        shown = one if one and one <= min(60, tree.n_objects) else None
        write_output(picture(lambda: tree.plot(color_clusters=shown), asked.plot), asked.plot)
    for column in np.atleast_2d(labels.T) if classes is not None else ():
        say(score_line(classes, column))
    return 0


def run_levels(asked: Asked) -> int:
    """Show every level."""
    form = asked_table(asked)
    rows = [["" if cell is None else cell for cell in row] for row in level_rows(make_tree(asked).tree)]
    return show_rows(asked, form, ("level", "clusters", "joins", "smallest distance", "largest distance"), rows)


def run_outliers(asked: Asked) -> int:
    """Show the objects by their outlier score, with the level, distance and partner of their first join."""
    form = asked_table(asked)
    if asked.top is not None:
        check_count("top", asked.top, 1, math.inf, "leave it out for all objects")
    by = BEST if asked.by is None else asked.by
    score = read_score(by)  # a mistake is told before the work begins
    default = {} if asked.criterion else {"criterion": BEST_CRITERION}
    tree = make_tree(asked, **default).tree
    rows = outlier_rows(tree, by)
    say(f"{score.of_tree(tree.n_objects).in_words()}; level, distance and partner are those of its first join")
    tie = tie_at_cut(rows, asked.top)
    if tie:
        say(tie)
    return show_rows(asked, form, OUTLIER_COLUMNS, rows[: asked.top])


def run_mst(asked: Asked) -> int:
    """Write the edges of a minimum spanning tree."""
    form = asked_table(asked, default="csv")
    tree = make_tree(asked, criterion="single").tree
    edges = tree.spanning_tree()
    ends = tree.object_names[edges.pairs]
    columns = (ends[:, 0], ends[:, 1], edges.weights, edges.levels)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    return show_rows(asked, form, ("i", "j", "weight", "level"), rows)


def run_compare(asked: Asked) -> int:
    """Compare the standard strategy, the reliable one and any between."""
    form = asked_table(asked)
    with opened(asked.file) as stream:
        table = read_asked(asked, stream)
    rows = compare_strategies(
        table.numbers,
        table.labels,
        weights=table.weights,
        **run_options(asked),
    )
    columns = ["strategy", "levels", "seconds"]
    cells: list[list[Any]] = [[row.name, row.n_levels, round(row.seconds, 3)] for row in rows]
    if table.labels is not None:
        columns += ["AMI", "ARI", "V"]
        cells = [[*line, *map(_rounded, (row.ami, row.ari, row.v))] for line, row in zip(cells, rows, strict=True)]
    if rows[0].sizes:
        columns += ["silhouette", "CH", "DB", "agreement", "cluster sizes"]
        for line, row in zip(cells, rows, strict=True):
            line += map(_rounded, (row.silhouette, row.calinski_harabasz, row.davies_bouldin, row.agreement))
            line.append(shortened(row.sizes))
    else:
        say("--clusters K, or --label-column C, also compares the clusters")
    return show_rows(asked, form, columns, cells)


def run_choose(asked: Asked) -> int:
    """Show the scores of many numbers of clusters, and tell which one they speak for."""
    form = asked_table(asked)
    check_options_of_choice(asked)
    found = choose_number(asked, make_tree(asked).tree)
    if asked.plot:
        write_output(picture(lambda: plot_choice(found), asked.plot), asked.plot)
    status = show_rows(asked, form, *rows_of_table(found.table))
    for name, note in found.table.notes.items():
        say(f"{name}: {note}")
    say(repr(found), prefix="")
    return status


def run_info(asked: Asked) -> int:
    """Show a saved tree and facts of its file."""
    with opened(asked.file) as stream:
        data = stream.read()
    tree, header = read_tree(data, called(asked.file))
    form = f"tree file, format version {header['version']}, checksum correct" if header else "JSON text"
    facts = [
        ("file", f"{called(asked.file)}: {len(data):,} bytes, {form}"),
        ("names", "none, rows are numbered from 0" if tree.names is None else shortened(tree.names.tolist())),
        ("weights", "all 1" if (tree.weights == 1).all() else f"{tree.weights.min():g} to {tree.weights.max():g}"),
        ("spanning tree", "no" if tree.object_pairs is None else f"{len(tree.object_pairs)} edges"),
        ("data", told_data(tree)),
    ]
    write_output("\n".join([repr(tree), *(f"  {name}: {fact}" for name, fact in facts)]) + "\n", None)
    return 0


def run_demo(asked: Asked) -> int:
    """Take the tour."""
    from .demo import tour

    return tour(asked.out)


def run_reproduce(asked: Asked) -> int:
    """Run the paper's experiments and write the report; on Ctrl-C, what was done."""
    from ..reproduction import Stopped, reproduce

    command = shlex.join(
        [
            *("reliac", "reproduce"),
            *(["--datasets", *asked.datasets] if asked.datasets else []),
            *("--out", asked.out),
            *(["--folder", asked.folder] if asked.folder else []),
        ]
    )
    try:
        report = reproduce(asked.datasets, asked.out, asked.folder, say, command=command)
    except Stopped as stopped:
        done = any(cell.ours is not None for cell in stopped.report.cells)
        where = f"what was done is in {Path(asked.out) / 'report.html'}" if done else "nothing was done yet"
        say(f"stopped by Ctrl-C; {where}")
        say(str(stopped.report))
        return 130
    say(f"the report is in {Path(asked.out) / 'report.html'} ({dict(report.facts)['time'].split(', ')[-1]})")
    write_output(f"{report}\n", None)
    return 0


def run_warmup(asked: Asked) -> int:
    """Compile what is not compiled yet, and tell what was done."""
    done = warmup(asked.engine, **asked.arguments())
    write_output(f"{done}\n", None)
    if done.folder is not None:
        return 0
    raise PermissionError(
        explain(
            f"Nothing of this was kept: {obstacle()[0]}",
            "a folder that you may write",
            "set RELIAC_CACHE to one, here and where reliac runs later",
        )
    )


def run_completion(asked: Asked) -> int:
    """Print what a shell has to read to complete commands, options and names."""
    from .parser import completion_script

    write_output(completion_script(asked.shell), None)
    return 0


COMMANDS: dict[str, Callable[[Asked], int]] = {
    "cluster": run_cluster,
    "levels": run_levels,
    "outliers": run_outliers,
    "mst": run_mst,
    "compare": run_compare,
    "choose": run_choose,
    "predict": run_predict,
    "extend": run_extend,
    "summary": run_summary,
    "info": run_info,
    "demo": run_demo,
    "reproduce": run_reproduce,
    "warmup": run_warmup,
    "completion": run_completion,
}


# --- from a tree to a file ---


def _save_partial(stopped: Interrupted, asked: Asked, form: Format | None) -> int:
    """Keep the levels done before Ctrl-C: in the file asked for if it is to hold a tree, else beside it."""
    tree = stopped.tree
    told = f"stopped by Ctrl-C at level {tree.n_levels} with {tree.n_clusters} clusters left"
    told += f"; {stopped.note}" if stopped.note else ""
    if asked.out in (None, "-"):
        kept = asked.checkpoint is not None and Path(asked.checkpoint).exists()
        say(f"{told}; nothing {'else ' * kept}saved (--out FILE would have kept the levels done)")
        return 130
    same = form is not None and form.loadable
    target = asked.out if same else f"{asked.out}.partial.reliac"
    write_output((form if form and same else FORMATS["tree"]).render(tree, None, ""), target)
    say(f"{told}; the levels done are in {target}")
    return 130


# --- text ---


def _rounded(value: float | None) -> float | str:
    return "" if value is None else round(value, 4)
