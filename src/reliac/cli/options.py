"""The one table of options: how each is typed, what Python calls it, what it takes and what it is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .kinds import Argument, Option, Section, counts
from .outputs import FORMATS, PICTURES, TABLES

# --- the table ---

FILE = Argument("file", "FILE", "table with one row per object, or - for standard input")
TREE = Argument("file", "TREE", "a file that 'cluster --out tree.reliac' wrote, or - for standard input")
NEW = Argument("rows", "FILE", "table of new rows, or - for standard input")
DATA = Argument("rows", "[FILE]", "the rows that the tree was made from, if it keeps none", required=False)
SHELL = Argument("shell", "SHELL", "bash, zsh or fish", ("bash", "zsh", "fish"))

#: What --edges stands for where no columns follow.
AUTO = "auto"

CRITERION_HELP = "single, complete, average, weighted, centroid, median or ward"
METRIC_HELP = "euclidean (default), sqeuclidean, cosine, gower, ..., or precomputed: FILE holds distances"
PROGRESS_HELP = "show progress even if standard error is no terminal; json: lines of JSON, for logs"
OUT = Option("--out", "FILE", "where to write; - or nothing: standard output")

INPUT = Section(
    "input (columns by name, or by position: 1 the first, -1 the last)",
    (
        Option("--format", "F", "csv, tsv, parquet, npy, npz, mtx or phylip; default: by extension or content"),
        Option("--header/--no-header", "", "whether line 1 holds column names", bool),
        Option("--name-column", "C", "names of the rows; default: a first column of distinct words"),
        Option("--label-column", "C", "known classes, not clustered but compared with"),
        Option("--weights-column", "C", "how often each row counts"),
        Option("--skip-column", "C", "leave a column out; repeatable", repeatable=True),
        Option("--standardize", "", "scale every column to mean 0 and deviation 1", bool),
    ),
)
INPUT_OF_ROWS = Section(
    "input (columns by name, or by position: 1 the first, -1 the last)",
    tuple(option for option in INPUT.options if option.name != "weights_column"),
)
EDGES_HELP = "FILE lists pairs: two ends and a distance, columns a,b,distance or those that follow"
MISSING_HELP = "what a pair without an edge means; a number: its distance (docs/graphs.md)"
NEIGHBORS_HELP = "cluster on the graph of the K nearest neighbours of every row, by average unless another is named"
JOIN_HELP = "join what is left at the end: of --edges at the far distance, of --neighbors by the rows"
EDGES = Section(
    "graphs",
    (
        Option("--edges", "[A,B,D]", EDGES_HELP, alone=AUTO, looks_like=r"[^,]+,[^,]+,[^,]+"),
        Option(
            "--similarity",
            "",
            "the numbers are similarities: the distance is the largest minus each",
            bool,
            "similarity",
        ),
        Option("--missing", "far|ignore|M", MISSING_HELP, float, "missing", choices=("far", "ignore")),
        Option("--objects", "FILE", "all objects in their order, also those without an edge; with labels or weights"),
        Option(
            "--duplicates", "RULE", "two distances of a pair: error (default), min, max or mean", python="duplicates"
        ),
        Option("--neighbors", "K", NEIGHBORS_HELP, int, "neighbors"),
        Option("--join-components", "", JOIN_HELP, bool, "join_components"),
        Option(
            "--memory-limit", "SIZE", "with --engine sql: what DuckDB may use, such as 2GB, before it spills to disk"
        ),
    ),
)
CONSTRAINTS = Section(
    "constraints (FILE: two columns of names, or of row numbers from 0, without titles)",
    (
        Option("--must-link", "FILE", "pairs that are together from the beginning", python="must_link"),
        Option("--cannot-link", "FILE", "pairs that are never in one cluster", python="cannot_link"),
        Option("--max-size", "N", "no cluster has more objects than N", int, "max_size"),
    ),
)
RUN = Section(
    "run",
    (
        Option("--criterion", "C", f"{CRITERION_HELP} (default; with --edges average)", python="criterion"),
        Option("--metric", "M", METRIC_HELP, python="metric"),
        Option("--tie-tolerance", "T", "relative difference that counts as a tie", float, "tie_tolerance"),
        Option("--precision", "P", "float64 (default), or float32: half the memory for a matrix", python="precision"),
        Option("--engine", "E", "default: auto", python="engine"),
        Option("--jobs", "N", "threads; -1 for all cores", int, "n_jobs"),
        Option("--progress", "[bar|json]", PROGRESS_HELP, choices=("bar", "json"), alone="bar"),
    ),
)
RUN_BY_SINGLE = Section("run", RUN.options[1:])
RUN_FOR_OUTLIERS = Section(
    "run",
    (Option("--criterion", "C", f"{CRITERION_HELP}; default: single", python="criterion"), *RUN.options[1:]),
)
STOP = Section(
    "strategy, and stopping early, which saves work",
    (
        Option("--alpha", "A", "share of the reliable links; 1 (default) all, 0 one", float, "alpha"),
        Option("--stop-clusters", "K", "stop when K clusters are left", int, "n_clusters"),
        Option("--max-level", "L", "stop after L levels", int, "max_level"),
        Option("--max-distance", "T", "make no link longer than T", float, "max_distance"),
        Option("--verbose", "", "tell engine, reason and levels on standard error; of what does not fit, why", bool),
        Option("--checkpoint", "FILE", "keep what is done; the same command goes on from there", str, "checkpoint"),
    ),
)
WAYS = ("lifetime", "inconsistency")
CUTS = Section(
    "which clusters",
    (
        Option("--clusters", "K[,K...]", "exactly K: undo the K-1 largest joins; a column for each K", counts),
        Option("--level", "L", "those of level L", int),
        Option("--distance", "T", "joins up to distance T", float),
        Option("--branches", "WAY", "each branch by itself: lifetime or inconsistency", choices=WAYS),
    ),
    exclusive=True,
)
SIZES = Section(
    "how large they are",
    (
        Option("--split-above", "N", "take clusters of more than N objects apart, down the tree", int),
        Option("--min-size", "N", "clusters of fewer objects stay in their parent; with lifetime: default 5", int),
        Option("--small", "RULE", "or they are in no cluster, -1: drop; default: stay", choices=("stay", "drop")),
    ),
)
BRANCHES = Section(
    "--branches inconsistency",
    (
        Option("--threshold", "T", "the largest coefficient inside a cluster; default: 1", float),
        Option("--depth", "D", "levels of the tree that a join is compared with; default: 2", int),
    ),
)
ONE_CUT = Section(
    "which clusters",
    (Option("--clusters", "K", "exactly K: undo the K-1 largest joins", int), *CUTS.options[1:3]),
    exclusive=True,
)
PLACING = Section(
    "how they are placed",
    (
        Option("--max-distance", "T", "rows farther than T from all clusters belong to none, -1", float),
        Option("--jobs", "N", "threads; -1 for all cores", int),
    ),
)
EXTENDING = Section(
    "run, and where it stops, which a tree from a file does not say",
    (*STOP.options[1:4], *RUN.options[-2:]),
)
TREE_FILE = Section("output", (OUT,))
SUMMING = Section(
    "what is shown",
    (
        Option("--features", "N", "features that set each cluster apart; default: 3", int),
        Option("--exact", "", "medoids by the smallest sum of distances, with every metric", bool),
    ),
)
TREE_OUTPUT = Section(
    "output",
    (
        OUT,
        Option("--to", "|".join(FORMATS), "what to write", choices=[*FORMATS]),
        Option("--plain-names", "", "newick, nexus: names without quotes, odd characters as _", bool),
        Option("--comments", "", "newick, nexus: level, size and distance of every node", bool),
        Option("--keep-data", "", "tree: keep the rows too, for 'reliac predict', 'summary' and 'extend'", bool),
        Option("--keep-lists", "", "tree: keep what searches find, for 'reliac extend'", bool, "keep_lists"),
        Option("--plot", "FILE", f"draw the tree: {', '.join(PICTURES[:-1])} or {PICTURES[-1]}"),
    ),
)


def table_output(default: str) -> Section:
    """Return the options of a command that writes a table."""
    what = f"default: by the extension of --out, else {default}"
    return Section("output", (OUT, Option("--to", "|".join(TABLES), what, choices=[*TABLES])))


BY_HELP = "level, distance, level-of-M or distance-of-M; default: distance-of-10"
OUTLIERS = Section(
    "which objects",
    (Option("--by", "S", BY_HELP), Option("--top", "N", "those with the N highest scores only", int)),
)
ALPHA_HELP = "a strategy to compare, repeatable; default 0 (standard) and 1 (reliable)"
STRATEGIES = Section(
    "what is compared",
    (
        Option("--alpha", "A", ALPHA_HELP, float, "alphas", repeatable=True),
        Option("--clusters", "K", "compare K clusters; default: number of classes", int, "n_clusters"),
    ),
)
NUMBERS = Section(
    "which numbers of clusters, and by what",
    (
        Option("--fewest", "K", "default: 2", int),
        Option("--most", "K", "default: 20", int),
        Option("--repeats", "N", "cluster N random parts of the rows too: stability has a say", int),
        Option("--sample", "N", "silhouettes of N objects, where there are more than 10,000; default: 1000", int),
        Option("--seed", "S", "what samples and parts follow from; default: 0", int),
        Option("--plot", "FILE", f"draw the scores: {', '.join(PICTURES[:-1])} or {PICTURES[-1]}"),
    ),
)
DEMO = Section("output", (Option("--out", "DIR", "also write pictures, labels, tree and Newick text there"),))
WARMUP = Section(
    "options",
    (
        Option("--engine", "E", "one engine, repeatable; default: all", repeatable=True),
        Option("--jobs", "N", "1: no second process", int, "n_jobs"),
    ),
)
REPRODUCE = Section(
    "options",
    (
        Option(
            "--datasets", "NAME ...", "some of its ten public data sets; default: all", repeatable=True, takes_rest=True
        ),
        Option("--out", "DIR", "default: reliac-reproduction", default="reliac-reproduction"),
        Option("--folder", "DIR", "where data sets are; default: the folder of RELIAC_DATA"),
    ),
)

#: All options of cluster(); those that a saved tree has no use for; and those that make more than one cluster.
ALL = tuple(option for section in (RUN, CONSTRAINTS, STOP) for option in section.options if option.python)
OF_A_RUN = (*ALL, *INPUT.options, *EDGES.options)
OF_A_CUT = (
    *(*CUTS.options, *SIZES.options),
    *(option for option in ALL if option.python in ("n_clusters", "max_level", "max_distance")),
)


# --- what was asked for ---


class Asked:
    """What the user asked for: a command, and its options as attributes; those that were not given are None."""

    clusters: int | list[int] | None  # where classes are known, we add their number
    metric: str | None  # where the file says that it holds distances, we add it
    to: str | None  # where a command writes one format only, we add it

    def __init__(self, command: str, options: Sequence[Option], values: dict[str, Any]) -> None:
        self.command = command
        self.options = options
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:  # what was given is an attribute already
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    @property
    def along_graph(self) -> bool:
        """Whether the run goes along the edges of a graph, which may leave several trees."""
        return self.edges is not None or self.neighbors is not None

    @property
    def counts(self) -> list[int]:
        """The numbers of clusters that were asked for."""
        return (
            self.clusters if isinstance(self.clusters, list) else [self.clusters] if self.clusters is not None else []
        )

    def given(self, options: Iterable[Option]) -> list[Option]:
        """Return which of the options the user gave."""
        return [option for option in options if getattr(self, str(option.name)) is not None]

    def typed(self, option: Option) -> str:
        """Return an option in the form in which it was given."""
        return option.secondary_opts[0] if getattr(self, str(option.name)) is False else option.typed

    def arguments(self) -> dict[str, Any]:
        """Return what was given by the names that cluster() has for it."""
        return {option.python: getattr(self, str(option.name)) for option in self.given(self.options) if option.python}

    def spelled(self, name: str, value: object) -> str:
        """Write an option of cluster(), or one of our own, as it is typed."""
        for option in (*self.options, *ALL):  # --clusters is n_clusters where strategies are compared
            if name in (option.python, option.name):
                return option.typed if option.is_flag else f"{option.typed} {value}"
        return f"{name}={value!r}"
