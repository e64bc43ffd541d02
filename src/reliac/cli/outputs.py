"""What commands write, and where: the table of formats, what --to and --out say together, and the writing itself.

What cannot be written is refused before any work is done. NumPy is imported where it is written.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import explain, unknown_name
from ..files import check_target, delimited, explained, write_atomically
from .terminal import ROWS_DRAWN, aligned, is_terminal, show_table

if TYPE_CHECKING:
    from ..tree.clustertree import ClusterTree
    from .options import Asked

PICTURES = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Format:
    """One thing that ``cluster`` can write; ``render`` takes the tree, the labels, and the extension of the file."""

    name: str
    extensions: tuple[str, ...]  # of --out that mean this format
    render: Callable[..., bytes | str]
    binary: bool = False  # bytes that no terminal can show
    needs_cut: bool = False  # is of no use for the one cluster of a whole tree
    needs_root: bool = False  # has no room for a forest
    named: bool = False  # takes --plain-names and --comments
    loadable: bool = False  # holds all of the tree, and can be read again
    takes: tuple[str, ...] = ()  # extensions that it can be written with; none named: all that mean no other format


def _newick(tree: ClusterTree, labels: Any, suffix: str, **how: bool) -> str:
    from ..tree.exports import newick  # names that occur twice were told when they were read

    return newick(tree, True, **how)


def _nexus(tree: ClusterTree, labels: Any, suffix: str, **how: bool) -> str:
    from ..tree.exports import nexus

    return nexus(tree, True, **how)


def _tree(tree: ClusterTree, labels: Any, suffix: str, keep_data: bool = False) -> bytes:
    from ..tree.storage import file_content

    return bytes(file_content(tree, keep_data))


def _labels(tree: ClusterTree, labels: Any, suffix: str, titles: Sequence[str] = ("cluster",)) -> bytes | str:
    if suffix == ".npy":
        return _array(labels)
    columns = [tree.object_names.tolist(), *labels.reshape(tree.n_objects, -1).T.tolist()]
    return delimited(("name", *titles), zip(*columns, strict=True), _delimiter(suffix))


def _linkage_matrix(tree: ClusterTree, labels: Any, suffix: str) -> bytes | str:
    matrix = tree.linkage_matrix()
    if suffix == ".npy":
        return _array(matrix)
    steps = ((int(left), int(right), distance, int(size)) for left, right, distance, size in matrix.tolist())
    return delimited(("left", "right", "distance", "size"), steps, _delimiter(suffix))


def _array(numbers: Any) -> bytes:
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, numbers, allow_pickle=False)
    return buffer.getvalue()


def _delimiter(suffix: str) -> str:
    return "\t" if suffix == ".tsv" else ","


_ARRAYS = (".csv", ".tsv", ".txt", ".npy")

#: What ``cluster --to`` can name.
FORMATS = {
    form.name: form
    for form in (
        Format("labels", (".csv", ".tsv", ".npy"), _labels, needs_cut=True, takes=_ARRAYS),
        Format("tree", (".reliac",), _tree, binary=True, loadable=True),
        Format("newick", (".nwk", ".newick"), _newick, named=True),
        Format("nexus", (".nex", ".nexus"), _nexus, named=True),
        Format("z", (), _linkage_matrix, needs_root=True, takes=_ARRAYS),
        Format("json", (".json",), lambda tree, labels, suffix: tree.to_json() + "\n", loadable=True),
    )
}
_FORMAT_OF = {extension: form.name for form in FORMATS.values() for extension in form.extensions}

#: What ``--to`` can name where a command writes a table, and the extension that means it.
TABLES = {"text": ".txt", "csv": ".csv", "tsv": ".tsv"}
_TABLE_OF = {extension: name for name, extension in TABLES.items()}


# --- what was asked for ---


def asked_format(asked: Asked, cut: bool, parts: bool = False) -> Format | None:
    """Return what ``cluster`` writes: as --to says, or the extension of --out, or labels if some cut is asked for.

    ``parts``: there may be several clusters without a cut. None stands for the summary that is shown where nothing of
    this is said.
    """
    _check_targets(asked)
    suffix = suffix_of(asked)
    name = asked.to or _FORMAT_OF.get(suffix) or ("labels" if cut else None)
    if asked.to and FORMATS[asked.to].takes:
        if suffix and suffix not in FORMATS[asked.to].takes:
            raise ValueError(unknown_name(f"extension of --out for {asked.to}", suffix, FORMATS[asked.to].takes))
    elif asked.to:
        _check_agreement(asked, suffix, _FORMAT_OF)
    elif suffix and suffix not in _FORMAT_OF:
        *first, last = FORMATS
        raise ValueError(
            explain(
                f"--out {asked.out} does not say what to write",
                f"the extensions {', '.join(_FORMAT_OF)}",
                f"pass --to {', '.join(first)} or {last}",
            )
        )
    if name is None:
        return None
    _check_use(asked, FORMATS[name], cut or parts)
    return FORMATS[name]


def how_to_write(asked: Asked, form: Format | None) -> dict[str, bool]:
    """Return what --plain-names, --comments, --keep-data and --keep-lists say; refuse what nothing can follow."""
    if asked.keep_data or asked.keep_lists:
        return _how_to_keep(asked, form)
    how = {name: True for name in ("plain_names", "comments") if getattr(asked, name)}
    if how and not (form and form.named):
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in how)
        named = ", ".join(f"--to {known.name}" for known in FORMATS.values() if known.named)
        raise ValueError(explain(f"{flags} without a format that has names and comments", named, "add one of these"))
    return how


def _how_to_keep(asked: Asked, form: Format | None) -> dict[str, bool]:
    """Return whether the data are kept; refuse to keep what cannot be, before any work is done."""
    flag = "--keep-data" if asked.keep_data else "--keep-lists"
    given = f"{flag} " + ("without a tree file" if form is not FORMATS["tree"] else "")
    if asked.along_graph or asked.metric == "gower":
        given += "with a graph" if asked.along_graph else "with --metric gower"
    elif form is FORMATS["tree"]:
        return {"keep_data": bool(asked.keep_data)}
    allowed = "a tree of rows, or of distances of all pairs, that is written with --out FILE.reliac or --to tree"
    raise ValueError(explain(given.rstrip(), allowed, f"change the output, or leave {flag} out"))


def _check_use(asked: Asked, form: Format, cut: bool) -> None:
    """Refuse what nobody can use: labels of one cluster, and bytes on a screen."""
    if form.needs_cut and not cut:
        raise ValueError(
            explain(
                "Labels of the whole tree: all objects in one cluster",
                "--clusters K, --level L, --distance T, --branches WAY, sizes, or a rule that stops early",
                f"look at the levels first: reliac levels {asked.file}",
            )
        )
    if form.binary and asked.out in (None, "-") and is_terminal(sys.stdout):
        raise ValueError(
            explain(
                f"--to {form.name} writes bytes, and standard output is a terminal",
                "a file or a pipe",
                f"add --out FILE{form.extensions[0]}, or | and another command",
            )
        )


def asked_table(asked: Asked, default: str = "text") -> str:
    """Return how the other commands write their table: text, csv or tsv."""
    _check_targets(asked)
    suffix = suffix_of(asked)
    if asked.to:
        _check_agreement(asked, suffix, _FORMAT_OF | _TABLE_OF)
    elif suffix and suffix not in _TABLE_OF:
        raise ValueError(unknown_name("extension of --out", suffix, _TABLE_OF))
    return str(asked.to or _TABLE_OF.get(suffix, default))


def suffix_of(asked: Asked) -> str:
    """Return the extension of --out, or nothing for standard output."""
    return "" if asked.out in (None, "-") else Path(asked.out).suffix.lower()


def _check_agreement(asked: Asked, suffix: str, meanings: dict[str, str]) -> None:
    """Refuse an extension that says one thing where --to says another; one that says nothing will do."""
    if meanings.get(suffix, asked.to) != asked.to:
        fitting = ", ".join(known for known, meaning in meanings.items() if meaning == asked.to)
        raise ValueError(
            explain(
                f"--to {asked.to} contradicts --out {asked.out}", f"the extensions {fitting}", "change one of the two"
            )
        )


def _check_targets(asked: Asked) -> None:
    """Find out that what is asked for can be written."""
    for option in ("out", "plot", "checkpoint"):
        target = getattr(asked, option)
        if target not in (None, "-"):
            check_target(target, f"--{option} ")
            _refuse_source(target, option, asked.file)
    if asked.plot:
        from ..errors import need

        if Path(asked.plot).suffix.lower() not in PICTURES:
            raise ValueError(unknown_name("kind of picture", Path(asked.plot).suffix, PICTURES))
        need("matplotlib", "plot")


def _refuse_source(target: str, option: str, source: str) -> None:
    """Refuse to write over the file that is read."""
    if os.path.isfile(target) and os.path.isfile(source) and os.path.samefile(target, source):
        raise ValueError(
            explain(f"--{option} {target} is the file that is read", "another file", "choose another name")
        )


# --- writing ---


def write_output(content: bytes | str, target: str | None) -> None:
    """Write to standard output (None or ``-``), or to a file: whole or not at all."""
    if target not in (None, "-"):
        write_atomically(str(target), content)
    elif sys.stdout is None:  # the shell closed it: nobody wants to read this
        return
    else:
        with explained("Standard output cannot be written"):
            if isinstance(content, str):
                sys.stdout.write(content)
            else:
                sys.stdout.flush()
                sys.stdout.buffer.write(content)
            sys.stdout.flush()


def show_rows(asked: Asked, form: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Write a table as text, csv or tsv; as text on a terminal it is drawn."""
    if form == "text" and asked.out in (None, "-") and is_terminal(sys.stdout) and len(rows) <= ROWS_DRAWN:
        show_table(columns, rows)
        return 0
    table = aligned(columns, rows) if form == "text" else delimited(columns, rows, "\t" if form == "tsv" else ",")
    write_output(table, asked.out)
    return 0


def picture(draw: Callable[[], Any], target: str) -> bytes:
    """Return what ``draw`` puts on its axes as the bytes of a picture; the extension tells the format."""
    from ..errors import need

    need("matplotlib", "plot").use("Agg")  # no window, no display needed
    drawn = draw()
    figure = (drawn if hasattr(drawn, "figure") else drawn[0]).figure  # one pair of axes, or several
    buffer = io.BytesIO()
    figure.savefig(buffer, format=Path(target).suffix[1:].lower(), dpi=150)
    need("matplotlib.pyplot", "plot").close(figure)
    return buffer.getvalue()


# --- what several commands tell ---


OUTLIER_COLUMNS = ("name", "score", "level", "distance", "partner")


def outlier_rows(tree: ClusterTree, by: str) -> list[tuple[str, float, int, float | str, str]]:
    """Return of every object its name, its score, and level, distance and partner of its first join.

    The highest score comes first; of equal ones the farthest first join, then the order of the rows. A cluster as
    partner is named by one object.
    """
    import numpy as np

    from ..tree.outliers import join_sizes

    scores, names = tree.outlier_scores(by), tree.object_names.tolist()
    columns = (scores, tree.join_levels, tree.join_distances, tree.join_partners, join_sizes(tree) - 2)
    order = np.lexsort((-tree.join_distances, -scores))
    facts = zip(*(column[order].tolist() for column in columns), strict=True)
    rows = []
    for place, (score, level, distance, partner, more) in zip(order.tolist(), facts, strict=True):
        company = "" if partner < 0 else names[partner] + (f" and {more} more" if more else "")
        rows.append((names[place], score, level, distance if company else "", company))
    return rows


def tie_at_cut(rows: Sequence[tuple[Any, ...]], shown: int | None) -> str | None:
    """Say that a list of outliers ends inside a tie, and so shows only some of the objects with an equal score."""
    if shown is None or shown >= len(rows) or rows[shown - 1][1] != rows[shown][1]:
        return None
    score = rows[shown][1]
    equal = sum(row[1] == score for row in rows)
    inside = sum(row[1] == score for row in rows[:shown])
    return f"the cut is inside a tie: {equal} objects have the score {score:.6g}, and {inside} of them are shown"


def score_line(classes: Any, labels: Any) -> str:
    """Return the three scores of clusters against classes as a line."""
    from ..evaluate import scores

    found = {name: round(score, 3) + 0.0 for name, score in scores(classes, labels).items()}  # no -0.000
    sizes = f"{len(set(labels.tolist()))} clusters against {len(set(classes.tolist()))} classes"
    return f"AMI {found['ami']:.3f}  ARI {found['ari']:.3f}  V {found['v']:.3f}  ({sizes})"
