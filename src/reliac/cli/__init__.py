"""The command line: what can be typed, and how mistakes are told. The work is in commands.py."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, TextIO

from reliac import __version__

from ..errors import Interrupted, explain, unknown_name

OK, UNEXPECTED, MISTAKE, INTERRUPTED = 0, 1, 2, 130

_ABOUT = """Reliable agglomerative clustering: merge, at every step, all pairs of clusters that are each
other's nearest neighbour.

FILE is a CSV, TSV, Parquet, NPY or NPZ table with one row per object, gzipped or not, a tree that 'cluster' wrote,
or - for standard input."""

_EXAMPLES = """examples:
  reliac demo                                          a short tour with the Iris data
  reliac cluster data.csv                              the levels at a glance
  reliac cluster data.csv --clusters 5 --out labels.csv
  reliac outliers data.csv --top 10
  reliac compare data.csv --label-column species

'reliac COMMAND --help' tells more. Exit codes: 0 done, 2 a mistake in what was asked, 1 a fault of reliac,
130 stopped by Ctrl-C."""

_CLUSTER = """examples:
  reliac cluster data.csv --clusters 5                       name,cluster lines on standard output
  reliac cluster data.csv --clusters 5 --out labels.tsv --plot tree.png
  reliac cluster iris.csv --label-column species             as many clusters as classes; scores on standard error
  reliac cluster data.parquet --criterion average --metric cosine --out tree.reliac
  reliac cluster tree.reliac --clusters 8                    cut a saved tree again
  reliac cluster data.csv --to tree | reliac cluster - --clusters 8
  reliac cluster big.npy --stop-clusters 100 --out labels.npy
  reliac cluster distances.csv --metric precomputed --criterion complete --to newick
  curl https://example.org/data.csv.gz | reliac cluster - --standardize --clusters 3 | sort -t, -k2

What is written follows from --to, or from the extension of --out: .csv .tsv .npy labels, .reliac tree, .nwk
.newick newick, .json json. Rows without names are numbered from 0. On Ctrl-C the levels done so far are saved."""

_LEVELS = """examples:
  reliac levels data.csv
  reliac levels tree.reliac --to csv
  reliac levels data.csv --criterion average --max-level 5"""

_OUTLIERS = """The later an object first joins another, the more it is an outlier: score = join level / levels.

examples:
  reliac outliers data.csv --top 10
  reliac outliers data.csv --name-column id --criterion average --out outliers.csv"""

_MST = """examples:
  reliac mst data.csv --metric euclidean --out edges.csv
  reliac mst distances.csv --metric precomputed | head

Weights are squared Euclidean distances unless --metric says otherwise."""

_COMPARE = """examples:
  reliac compare iris.csv --label-column species
  reliac compare data.csv --clusters 5 --alpha 0 --alpha 0.5 --alpha 1 --criterion centroid

agreement is the adjusted Rand index between a strategy's clusters and those of the standard strategy."""

_INFO = """examples:
  reliac info tree.reliac
  reliac cluster data.csv --to tree | reliac info -"""

_DEMO = """examples:
  reliac demo
  reliac demo --out demo-output        also writes pictures, labels, the tree and Newick text"""

_REPRODUCE = """Runs the tables as published (slips included), as written and extended, and small experiments for the
other claims; writes report.html, report.md, and the tables as CSV. Data sets come from --folder, RELIAC_DATA, the
cache, or a download; those that cannot be had are named in the report and left out.

examples:
  reliac reproduce
  reliac reproduce --datasets iris hayes-roth --out two-sets
  reliac reproduce --folder ~/datasets"""


#: What Python calls the options; n_clusters is --clusters where strategies are compared.
_SHELL_NAMES = {
    "criterion": "--criterion",
    "metric": "--metric",
    "alpha": "--alpha",
    "tie_tolerance": "--tie-tolerance",
    "engine": "--engine",
    "n_jobs": "--jobs",
    "n_clusters": "--stop-clusters",
    "max_level": "--max-level",
    "max_distance": "--max-distance",
}

#: What argparse says about a mistake, and what we say: given, allowed, next step.
_MISTAKES = (
    (r"argument (\S+): invalid int value: '(.*)'", "{0} {1} is not a whole number", "a whole number", "write {0} 3"),
    (r"argument (\S+): invalid float value: '(.*)'", "{0} {1} is not a number", "a number", "write {0} 0.5"),
    (r"argument (\S+): expected .*", "{0} stands without its value", "{0} and a value", "write the value after {0}"),
    (r"argument (\S+): not allowed with argument (\S+)", "{1} and {0} together", "one of them", "leave one out"),
    (r"the following arguments are required: (.*)", "{0} is missing", "{prog} {0}", "see {prog} --help"),
)


class Parser(argparse.ArgumentParser):
    """A parser whose complaints have three parts and offer the nearest names."""

    commands: Any = None  # the parsers of the commands, by name

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse all words, and complain of those that mean nothing to the command."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = self.commands.choices.get(found.command, self)
            word = next((word for word in unknown if word.startswith("-")), None)
            if word is None:
                takes_file = hasattr(found, "file")
                allowed = "one FILE" if takes_file else f"options: {', '.join(parser.option_names())}"
                step = "quote names that have blanks" if takes_file else f"see reliac {found.command} --help"
                self._stop(explain(f"{unknown[0]!r} is one word too many", allowed, step))
            self._stop(unknown_name("option", word.partition("=")[0], parser.option_names()))
        return found

    def option_names(self) -> list[str]:
        """Return the options in their long form."""
        return [name for action in self._actions for name in action.option_strings if name.startswith("--")]

    def error(self, message: str) -> NoReturn:
        """Say in three parts what argparse has to complain about."""
        choice = re.fullmatch(r"argument (\S+): invalid choice: '?(.*?)'? \(choose from (.*)\)", message)
        if choice:
            kind = "command" if choice[1] == "COMMAND" else f"value of {choice[1]}"
            self._stop(unknown_name(kind, choice[2], re.findall(r"[\w.-]+", choice[3])))
        for pattern, *parts in _MISTAKES:
            found = re.fullmatch(pattern, message)
            if found:
                given, allowed, step = (part.format(*found.groups(), prog=self.prog) for part in parts)
                self._stop(explain(given, allowed, step))
        self._stop(explain(message, f"what {self.prog} --help shows", f"see {self.prog} --help"))

    def _stop(self, message: str) -> NoReturn:
        self.exit(MISTAKE, f"reliac: error: {message}\n")


def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="reliac",
        description=_ABOUT,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"reliac {__version__}")
    parser.commands = commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_cluster(commands)
    compared = [_input_options(), _run_options(), _table_options("text")]
    table = [*compared, _stop_options()]
    _add(commands, "levels", "table of the levels: clusters, joins, distances", _LEVELS, table)
    outliers = _add(commands, "outliers", "objects by the level at which they join", _OUTLIERS, table)
    outliers.add_argument("--top", type=int, metavar="N", help="the first N only")
    edges = [_input_options(), _run_options(criterion=False), _stop_options(), _table_options("csv")]
    _add(commands, "mst", "edges of a minimum spanning tree, with their levels", _MST, edges)
    compare = _add(commands, "compare", "the standard strategy against the reliable one", _COMPARE, compared)
    compare.add_argument(
        "--alpha",
        type=float,
        action="append",
        metavar="A",
        dest="alphas",
        help="a strategy to compare, repeatable; default 0 (standard) and 1 (reliable)",
    )
    compare.add_argument("--clusters", type=int, metavar="K", help="compare K clusters; default: number of classes")
    info = _add(commands, "info", "what a saved tree holds", _INFO, [])
    info.add_argument(
        "file", metavar="TREE", help="a file that 'cluster --out tree.reliac' wrote, or - for standard input"
    )
    demo = _add(commands, "demo", "a short tour with the Iris data", _DEMO, [])
    demo.add_argument("--out", metavar="DIR", help="also write pictures, labels, tree and Newick text there")
    again = _add(commands, "reproduce", "the paper's experiments, and a report that compares them", _REPRODUCE, [])
    again.add_argument("--datasets", nargs="+", metavar="NAME", help="some of its ten public data sets; default: all")
    again.add_argument("--out", metavar="DIR", default="reliac-reproduction", help="default: reliac-reproduction")
    again.add_argument("--folder", metavar="DIR", help="where data sets are; default: the folder of RELIAC_DATA")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; no mistake of the user shows a traceback."""
    args = build_parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            commands: Any = import_module("reliac.cli.commands")
            status: int = commands.COMMANDS[args.command](args)
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
        except BrokenPipeError:  # the reader of our output, `head` for example, has seen enough
            _forget_output()
            return OK
        except KeyboardInterrupt as error:
            where = f" at level {error.tree.n_levels}" if isinstance(error, Interrupted) else ""
            where += f"; {error.note}" if isinstance(error, Interrupted) and error.note else ""
            return _tell(f"stopped by Ctrl-C{where}", INTERRUPTED)
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            return _tell(f"error: {_in_shell_words(str(error), args.command) or type(error).__name__}", MISTAKE)
        except Exception:
            traceback.print_exc()
            return _tell("unexpected error, a fault of reliac: please report the lines above", UNEXPECTED)


def _in_shell_words(message: str, command: str) -> str:
    """Write Python's ``metric='cosine'`` as ``--metric cosine``."""
    names = _SHELL_NAMES | ({"n_clusters": "--clusters"} if command == "compare" else {})
    pattern = rf"\b({'|'.join(names)})=(?:'([^']*)'|([-+\w]+(?:\.[-+\w]+)*))"
    return re.sub(pattern, lambda found: f"{names[found[1]]} {found[2] or found[3]}", message)


def _tell(message: str, status: int) -> int:
    print(f"reliac: {message}", file=sys.stderr)
    return status


def _show_warning(message: Warning | str, category: type[Warning], filename: str, *_: Any, **__: Any) -> None:
    """Print a warning as one line, without the place in the code."""
    del category, filename
    print(f"reliac: warning: {_in_shell_words(str(message), '')}", file=sys.stderr)


def _forget_output() -> None:
    """Let Python's last flush of standard output go nowhere."""
    stream: TextIO = sys.stdout
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# --- options ---


def _add(commands: Any, name: str, purpose: str, epilog: str, parents: list[argparse.ArgumentParser]) -> Any:
    return commands.add_parser(
        name,
        help=purpose,
        description=purpose[0].upper() + purpose[1:] + ".",
        epilog=epilog,
        parents=parents,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_cluster(commands: Any) -> None:
    parents = [_input_options(), _run_options(), _stop_options()]
    parser = _add(commands, "cluster", "cluster the rows of a file", _CLUSTER, parents)
    cuts = parser.add_argument_group("which clusters").add_mutually_exclusive_group()
    cuts.add_argument("--clusters", type=int, metavar="K", help="exactly K: undo the K-1 largest joins")
    cuts.add_argument("--level", type=int, metavar="L", help="those of level L")
    cuts.add_argument("--distance", type=float, metavar="T", help="joins up to distance T")
    output = parser.add_argument_group("output")
    output.add_argument("--out", metavar="FILE", help="where to write; - or nothing: standard output")
    output.add_argument("--to", choices=("labels", "tree", "newick", "z", "json"), help="what to write")
    output.add_argument("--plot", metavar="FILE", help="draw the tree: .png, .pdf or .svg")


def _input_options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("file", metavar="FILE", help="table with one row per object, or - for standard input")
    group = parser.add_argument_group("input (columns by name, or by position: 1 the first, -1 the last)")
    group.add_argument("--format", metavar="F", help="csv, tsv, parquet, npy or npz; default: by extension or content")
    group.add_argument("--header", action=argparse.BooleanOptionalAction, help="whether line 1 holds column names")
    group.add_argument(
        "--name-column", metavar="C", help="names of the rows; default: a first column of distinct words"
    )
    group.add_argument("--label-column", metavar="C", help="known classes, not clustered but compared with")
    group.add_argument("--weights-column", metavar="C", help="how often each row counts")
    group.add_argument("--skip-column", metavar="C", action="append", help="leave a column out; repeatable")
    group.add_argument("--standardize", action="store_true", help="scale every column to mean 0 and deviation 1")
    return parser


def _run_options(criterion: bool = True) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("run")
    if criterion:
        help_text = "single, complete, average, weighted, centroid, median or ward (default)"
        group.add_argument("--criterion", metavar="C", help=help_text)
    metrics = "sqeuclidean (default), euclidean, cosine, cityblock, ..., or precomputed: FILE holds distances"
    group.add_argument("--metric", metavar="M", help=metrics)
    group.add_argument("--tie-tolerance", type=float, metavar="T", help="relative difference that counts as a tie")
    group.add_argument("--engine", metavar="E", help="default: auto")
    group.add_argument("--jobs", type=int, metavar="N", help="threads; -1 for all cores")
    group.add_argument("--progress", action="store_true", help="show progress even if standard error is no terminal")
    return parser


def _table_options(default: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("output")
    group.add_argument("--out", metavar="FILE", help="where to write; - or nothing: standard output")
    what = f"default: by the extension of --out, else {default}"
    group.add_argument("--to", choices=("text", "csv", "tsv"), help=what)
    return parser


def _stop_options() -> argparse.ArgumentParser:
    """Return the options of a single run: alpha, and where it stops."""
    parser = argparse.ArgumentParser(add_help=False)
    group = parser.add_argument_group("strategy, and stopping early, which saves work")
    group.add_argument("--alpha", type=float, metavar="A", help="share of the reliable links; 1 (default) all, 0 one")
    group.add_argument("--stop-clusters", type=int, metavar="K", help="stop when K clusters are left")
    group.add_argument("--max-level", type=int, metavar="L", help="stop after L levels")
    group.add_argument("--max-distance", type=float, metavar="T", help="make no link longer than T")
    group.add_argument("--verbose", action="store_true", help="tell engine, reason and levels on standard error")
    group.add_argument("--checkpoint", metavar="FILE", help="keep the levels done; the same command goes on from there")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
