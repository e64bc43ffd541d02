"""What a command writes, and where: told apart and checked before any work is done."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from ..errors import explain, need, unknown_name
from ..files import check_target
from .writers import KINDS

PICTURES = (".png", ".pdf", ".svg")

#: What the extension of --out says about the form of a table; linkage matrices and labels come as arrays too.
TABLES = {".csv": "csv", ".tsv": "tsv", ".txt": "text"}
_ARRAYS = (*TABLES, ".npy", "")


def kind_of_output(args: Namespace, cut: bool) -> str:
    """Return what ``cluster`` writes: as --to says, or the extension of --out, or labels if some cut is asked for."""
    _check_targets(args)
    suffix = _suffix(args)
    kind = args.to or KINDS.get(suffix) or ("labels" if cut else "summary")
    if args.to in ("labels", "z"):
        if suffix not in _ARRAYS:
            raise ValueError(unknown_name(f"extension of --out for {kind}", suffix, filter(None, _ARRAYS)))
    elif args.to:
        _check_agreement(args, suffix, KINDS)
    elif suffix and suffix not in KINDS:
        raise ValueError(
            explain(
                f"--out {args.out} does not say what to write",
                f"the extensions {', '.join(KINDS)}",
                "pass --to labels, tree, newick, z or json",
            )
        )
    if kind == "labels" and not cut:
        raise ValueError(
            explain(
                "Labels of the whole tree: all objects in one cluster",
                "--clusters K, --level L, --distance T, or a rule that stops early",
                f"look at the levels first: reliac levels {args.file}",
            )
        )
    return str(kind)


def form_of_table(args: Namespace, default: str = "text") -> str:
    """Return how the other commands write their table: text, csv or tsv."""
    _check_targets(args)
    suffix = _suffix(args)
    if args.to:
        _check_agreement(args, suffix, KINDS | TABLES)
    elif suffix and suffix not in TABLES:
        raise ValueError(unknown_name("extension of --out", suffix, TABLES))
    return str(args.to or TABLES.get(suffix, default))


def _suffix(args: Namespace) -> str:
    return "" if args.out in (None, "-") else Path(args.out).suffix.lower()


def _check_agreement(args: Namespace, suffix: str, meanings: dict[str, str]) -> None:
    """Refuse an extension that says one thing where --to says another; one that says nothing will do."""
    if meanings.get(suffix, args.to) != args.to:
        fitting = ", ".join(known for known, meaning in meanings.items() if meaning == args.to)
        raise ValueError(
            explain(
                f"--to {args.to} contradicts --out {args.out}", f"the extensions {fitting}", "change one of the two"
            )
        )


def _check_targets(args: Namespace) -> None:
    """Find out that what is asked for can be written."""
    for option in ("out", "plot", "checkpoint"):
        target = getattr(args, option, None)
        if target not in (None, "-"):
            check_target(target, f"--{option} ")
    if getattr(args, "plot", None):
        if Path(args.plot).suffix.lower() not in PICTURES:
            raise ValueError(unknown_name("kind of picture", Path(args.plot).suffix, PICTURES))
        need("matplotlib", "plot")
