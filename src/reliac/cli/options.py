"""The one table of options: how each is typed, what Python calls it, what it takes and what it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .outputs import FORMATS, PICTURES, TABLES


@dataclass(frozen=True)
class Option:
    """One option of the command line."""

    flag: str  # as it is typed; a switch may have a second form: --header/--no-header
    help: str
    value: str = ""  # what the help calls its value; nothing for a switch
    kind: type = str  # of the value
    python: str = ""  # what cluster() calls it; nothing where only the command line knows it
    choices: tuple[str, ...] = ()
    offers: str | Callable[[], Iterable[str]] = ""  # to complete: "file", "dir", or a function that knows all values
    repeatable: bool = False
    many: bool = False  # takes all words up to the next option
    default: str | None = None

    @property
    def typed(self) -> str:
        """The option as messages show it: the first form of a switch."""
        return self.flag.partition("/")[0]

    @property
    def name(self) -> str:
        """The attribute of what was asked for that holds its value."""
        return self.typed.removeprefix("--").replace("-", "_")


@dataclass(frozen=True)
class Section:
    """Options that stand together in the help."""

    title: str
    options: tuple[Option, ...]
    exclusive: bool = False  # at most one of them may be given


class Asked:
    """What the user asked for: a command, and its options as attributes; those that were not given are None."""

    def __init__(self, command: str, options: Sequence[Option], values: dict[str, Any]) -> None:
        self.command = command
        self.options = options
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:  # what was given is an attribute already
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def plus(self, **values: Any) -> Asked:
        """Return the same with something added that the user left to us."""
        return Asked(self.command, self.options, {**self.__dict__, **values})

    def given(self, options: Iterable[Option]) -> list[Option]:
        """Return which of the options the user gave."""
        return [option for option in options if getattr(self, option.name) is not None]

    def arguments(self) -> dict[str, Any]:
        """Return what was given by the names that cluster() has for it."""
        return {option.python: getattr(self, option.name) for option in self.given(self.options) if option.python}

    def spelled(self, name: str, value: object) -> str:
        """Write an option of cluster(), or one of our own, as it is typed."""
        for options in (self.options, ALL):  # --clusters is n_clusters where strategies are compared
            for option in options:
                if name in (option.python, option.name):
                    return f"{option.typed} {value}"
        return f"{name}={value!r}"


def _criteria() -> Iterable[str]:
    from ..algorithm.criteria import CRITERIA

    return CRITERIA


def _metrics() -> Iterable[str]:
    from ..input.metrics import METRICS

    return [*METRICS, "precomputed"]


def _engines() -> Iterable[str]:
    from ..engines.choice import ENGINES

    return [*ENGINES, "auto"]


def _datasets() -> Iterable[str]:
    from ..reproduction import names

    return names()


OUT = Option("--out", "where to write; - or nothing: standard output", "FILE", offers="file")
CRITERION = Option(
    "--criterion",
    "single, complete, average, weighted, centroid, median or ward (default)",
    "C",
    python="criterion",
    offers=_criteria,
)

INPUT = Section(
    "input (columns by name, or by position: 1 the first, -1 the last)",
    (
        Option(
            "--format",
            "csv, tsv, parquet, npy or npz; default: by extension or content",
            "F",
            offers=lambda: ("csv", "tsv", "parquet", "npy", "npz"),
        ),
        Option("--header/--no-header", "whether line 1 holds column names", kind=bool),
        Option("--name-column", "names of the rows; default: a first column of distinct words", "C"),
        Option("--label-column", "known classes, not clustered but compared with", "C"),
        Option("--weights-column", "how often each row counts", "C"),
        Option("--skip-column", "leave a column out; repeatable", "C", repeatable=True),
        Option("--standardize", "scale every column to mean 0 and deviation 1", kind=bool),
    ),
)
RUN_BY_SINGLE = Section(
    "run",
    (
        Option(
            "--metric",
            "sqeuclidean (default), euclidean, cosine, cityblock, ..., or precomputed: FILE holds distances",
            "M",
            python="metric",
            offers=_metrics,
        ),
        Option("--tie-tolerance", "relative difference that counts as a tie", "T", float, python="tie_tolerance"),
        Option("--engine", "default: auto", "E", python="engine", offers=_engines),
        Option("--jobs", "threads; -1 for all cores", "N", int, python="n_jobs"),
        Option("--progress", "show progress even if standard error is no terminal", kind=bool),
    ),
)
RUN = Section("run", (CRITERION, *RUN_BY_SINGLE.options))
STOP = Section(
    "strategy, and stopping early, which saves work",
    (
        Option("--alpha", "share of the reliable links; 1 (default) all, 0 one", "A", float, python="alpha"),
        Option("--stop-clusters", "stop when K clusters are left", "K", int, python="n_clusters"),
        Option("--max-level", "stop after L levels", "L", int, python="max_level"),
        Option("--max-distance", "make no link longer than T", "T", float, python="max_distance"),
        Option("--verbose", "tell engine, reason and levels on standard error", kind=bool),
        Option(
            "--checkpoint",
            "keep the levels done; the same command goes on from there",
            "FILE",
            python="checkpoint",
            offers="file",
        ),
    ),
)
CUTS = Section(
    "which clusters",
    (
        Option("--clusters", "exactly K: undo the K-1 largest joins", "K", int),
        Option("--level", "those of level L", "L", int),
        Option("--distance", "joins up to distance T", "T", float),
    ),
    exclusive=True,
)
TREE_OUTPUT = Section(
    "output",
    (
        OUT,
        Option("--to", "what to write", "|".join(FORMATS), choices=tuple(FORMATS)),
        Option("--plot", f"draw the tree: {', '.join(PICTURES[:-1])} or {PICTURES[-1]}", "FILE", offers="file"),
    ),
)


def table_output(default: str) -> Section:
    """Return the options of a command that writes a table."""
    what = f"default: by the extension of --out, else {default}"
    return Section("output", (OUT, Option("--to", what, "|".join(TABLES), choices=tuple(TABLES))))


TOP = Section("which objects", (Option("--top", "the first N only", "N", int),))
STRATEGIES = Section(
    "what is compared",
    (
        Option(
            "--alpha",
            "a strategy to compare, repeatable; default 0 (standard) and 1 (reliable)",
            "A",
            float,
            python="alphas",
            repeatable=True,
        ),
        Option("--clusters", "compare K clusters; default: number of classes", "K", int, python="n_clusters"),
    ),
)
DEMO = Section(
    "output", (Option("--out", "also write pictures, labels, tree and Newick text there", "DIR", offers="dir"),)
)
REPRODUCE = Section(
    "options",
    (
        Option(
            "--datasets",
            "some of its ten public data sets; default: all",
            "NAME ...",
            offers=_datasets,
            many=True,
            repeatable=True,
        ),
        Option("--out", "default: reliac-reproduction", "DIR", offers="dir", default="reliac-reproduction"),
        Option("--folder", "where data sets are; default: the folder of RELIAC_DATA", "DIR", offers="dir"),
    ),
)

#: Options of a run, where a saved tree needs none.
OF_A_RUN = (*(option for section in (RUN, STOP) for option in section.options if option.python), *INPUT.options)

#: Options that make labels of more than one cluster.
OF_A_CUT = (
    *CUTS.options,
    *(option for option in STOP.options if option.python in ("n_clusters", "max_level", "max_distance")),
)

#: All options that have a name in Python.
ALL = (*RUN.options, *STOP.options)
