"""What an adversary tries: odd values, damaged files and odd command lines, drawn by a seed. Used by test_adversary.py.

Every outcome must be a result, or an error in three parts; ``python tests/adversary.py SECONDS`` tries for longer.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import signal
import sys
import time
import traceback
import warnings
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
from scipy import io as scipy_io
from scipy import sparse

import reliac
from reliac.cli import main
from reliac.errors import InvariantError, Message

POINTS = np.random.default_rng(0).normal(size=(12, 3))
TREE = reliac.cluster(POINTS, "single")
EARLY = reliac.cluster(POINTS, max_level=1)


class Foreign(AssertionError):
    """Something other than a result or an error in three parts came out."""


# --- values ---


class Hostile:
    """Answers nothing."""

    def __array__(self, *args, **options):
        raise RuntimeError("no")

    def __len__(self):
        return 3

    def __repr__(self):
        return "Hostile()"


ODD_VALUES = [
    *(None, True, False, 0, 1, -1, 2, 10**30, -(10**30), 0.5, -0.5, 1e308, -1e-320, float("nan"), float("inf"), 1j),
    *(
        "",
        "ward",
        "Ward",
        "average",
        "single",
        "auto",
        "literal",
        "precomputed",
        "cosine",
        "level",
        "distance",
        "\0",
        "é" * 300,
    ),
    *(
        b"",
        b"ward",
        [],
        [1],
        [1, 2, 3],
        ["a", "b"],
        (),
        {},
        {1: 2},
        set(),
        {1, 2},
        range(12),
        object(),
        Hostile(),
        type,
        len,
    ),
    *(
        np.array([]),
        np.array([1, 2]),
        np.array([[1, 2], [3, 4]]),
        np.array("ward"),
        np.array(1),
        np.float32(0.5),
        np.int8(2),
    ),
    *(
        np.array([np.array([1]), np.array([1, 2])], dtype=object),
        np.array([None, 1]),
        np.array(["a", "b"]),
        np.bool_(True),
    ),
    *(
        np.ma.masked,
        np.ma.array([1, 2], mask=[0, 1]),
        pd.NA,
        pd.NaT,
        pd.Series([1, 2]),
        pd.Timestamp(0),
        iter([1]),
        print,
    ),
    *(
        np.datetime64("2020-01-01"),
        np.str_("ward"),
        slice(3),
        Ellipsis,
        Exception("x"),
        lambda *a: 1 / 0,
        lambda *a: "x",
    ),
]

ODD_DATA = [
    POINTS,
    POINTS.tolist(),
    POINTS[:, :1],
    POINTS[:1],
    POINTS[:0],
    POINTS[:, :0],
    POINTS[:, 0],
    POINTS.T,
    POINTS[None],
    np.array(1.0),
    np.zeros((5, 2)),
    np.full((4, 2), 1e308),
    np.full((4, 2), np.nan),
    np.abs(POINTS[:, None] - POINTS).sum(axis=2),
    POINTS.astype(np.float16),
    POINTS.astype(np.longdouble),
    POINTS.astype(complex),
    POINTS.astype(object),
    POINTS.astype(str),
    (POINTS > 0),
    POINTS.astype("M8[s]"),
    POINTS.astype(">f4"),
    np.zeros(4, dtype=[("x", float), ("y", int)]),
    np.zeros(0, dtype=[("x", float)]),
    np.ma.array(np.zeros(4, dtype=[("x", float)]), mask=True),
    np.ma.array(POINTS, mask=POINTS > 1),
    np.array([[1, "a"], [None, {}]], dtype=object),
    np.array([[1, pd.NA], [2, 3]], dtype=object),
    np.array([np.zeros(2), np.zeros(3)], dtype=object),
    [[1, 2], [3]],
    [[10**400, 1], [1, 2]],
    [None, None],
    ["a", "b", "c"],
    [b"a", b"b"],
    [("a", "b", 1.0), ("b", "c", 2.0)],
    {"a": [1, 2]},
    {1, 2},
    "text",
    Hostile(),
    (row for row in POINTS),
    range(6),
    memoryview(b"abcd"),
    nx.path_graph(4),
    sparse.csr_array(POINTS),
    sparse.coo_array(POINTS).astype(complex),
    sparse.csr_array((4, 3)),
    sparse.eye_array(4),
    sparse.csr_array(np.where(POINTS > 1, np.nan, 0)),
    sparse.random_array((5, 5), density=0.5, rng=1),
    pd.DataFrame(POINTS),
    pd.DataFrame(POINTS, columns=["a", "a", "b"]),
    pd.DataFrame(POINTS, columns=[np.nan, np.nan, 1]),
    pd.DataFrame(POINTS, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])),
    pd.DataFrame(POINTS, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 1), ("b", 1)])),
    pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1.0, 2.0]}),
    pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}),
    pd.DataFrame({"a": pd.array(["x", None], dtype="string")}),
    pd.DataFrame({"a": [1, pd.NA]}, dtype=object),
    pd.DataFrame({"a": pd.Categorical(["x", "y"])}),
    pd.DataFrame({"a": pd.to_datetime(["2020-01-01", None])}),
    pd.DataFrame({"a": [1.0, 2.0]}).astype("double[pyarrow]"),
    pd.DataFrame({"a": pd.array([1, None], dtype="int64[pyarrow]")}),
    pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}),
    pd.DataFrame({"a": [[1], [2]]}),
    pd.DataFrame(),
    pd.DataFrame(index=range(3)),
    pd.DataFrame({"source": [1, 2], "target": [2, 3], "w": [1, 2]}),
    pd.Series([1.0, 2.0]),
    pl.DataFrame({"a": [1.0, None]}),
    pl.DataFrame({"a": [[1], [2]]}),
    pl.DataFrame({"a": ["x", "y"], "b": [1, 2]}),
    pl.DataFrame(),
    pl.LazyFrame({"a": [1.0]}),
    pl.Series([1.0, 2.0]),
]

OPTIONS = {
    "criterion": [],
    "metric": [],
    "alpha": [],
    "n_clusters": [],
    "max_level": [],
    "max_distance": [],
    "weights": [np.ones(12), np.full(12, 1e300), [np.ones(2)] * 12, pd.Series(np.ones(12))],
    "tie_tolerance": [],
    "names": [list("abcdefghijkl"), [np.zeros(2)] * 12, ["a"] * 12],
    "engine": [],
    "n_jobs": [],
    "progress": [],
    "checkpoint": ["/nowhere/at/all", "x" * 5000],
}


def odd_call(draw: random.Random):
    """Return a call of the library with odd arguments, as a text and a function."""
    X = draw.choice(ODD_DATA) if draw.random() < 0.5 else POINTS
    kind = draw.random()
    if kind < 0.5:
        names = draw.sample(list(OPTIONS), draw.choice([0, 1, 1, 2]))
        given = {name: draw.choice([*OPTIONS[name], *ODD_VALUES]) for name in names}
        if callable(given.get("progress")):  # what a function of the user raises is the user's
            del given["progress"]
        return f"cluster({_short(X)}, {_short(given)})", lambda: reliac.cluster(X, **given)
    if kind < 0.65:
        given = {
            name: draw.choice(ODD_VALUES)
            for name in draw.sample(["method", "metric", "optimal_ordering"], draw.choice([0, 1, 2]))
        }
        return f"linkage({_short(X)}, {_short(given)})", lambda: reliac.linkage(X, **given)
    value, tree = draw.choice([*ODD_VALUES, *ODD_DATA]), draw.choice([TREE, EARLY])
    calls = {
        "load(v)": lambda: reliac.load(value),
        "from_json(v)": lambda: reliac.ClusterTree.from_json(value),
        "tree.save(v)": lambda: tree.save(value),
        "tree.labels(v)": lambda: tree.labels(value),
        "tree.labels(level=v)": lambda: tree.labels(level=value),
        "tree.labels(distance=v)": lambda: tree.labels(distance=value),
        "tree.labels(2, by=v)": lambda: tree.labels(6, by=value),
        "tree.clusters(v)": lambda: tree.clusters(value),
        "tree.clusters(n_clusters=v)": lambda: tree.clusters(n_clusters=value),
        "tree.linkage_matrix(v)": lambda: tree.linkage_matrix(value),
        "tree.cophenetic(v)": lambda: tree.cophenetic(value),
        "tree.develop(v)": lambda: tree.develop(value),
        "tree.develop(X=v)": lambda: tree.develop(X=value),
        "tree.develop(metric=v)": lambda: tree.develop(metric=value),
        "tree.develop(max_level=v)": lambda: tree.develop(max_level=value),
        "tree.develop(n_clusters=v)": lambda: tree.develop(n_clusters=value),
        "tree.to_newick(v)": lambda: tree.to_newick(value),
    }
    name = draw.choice(list(calls))
    return f"{name}, v = {_short(value)}", calls[name]


def _short(value):
    return " ".join(repr(value).split())[:200]


# --- files ---


def _bytes(save, *arrays, **named):
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zip(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def whole_files():
    """Return files that are in order, by extension."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        TREE.save(path)
        tree = path.read_bytes()
        pd.DataFrame(POINTS, columns=list("xyz")).to_parquet(path)
        parquet = path.read_bytes()
    csv = b"name,x,y\n" + b"".join(b"row %d,%f,%f\n" % (place, *row[:2]) for place, row in enumerate(POINTS))
    phylip = b"3\nalpha 0 1 2\nbeta 1 0 3\ngamma 2 3 0\n"
    return {
        ".reliac": tree,
        ".json": TREE.to_json().encode(),
        ".npy": _bytes(np.save, POINTS),
        ".npz": _bytes(np.savez_compressed, X=POINTS, y=np.arange(12), names=np.array(list("abcdefghijkl"))),
        ".sparse.npz": _bytes(sparse.save_npz, sparse.csr_array(POINTS * (POINTS > 0))),
        ".csc.npz": _bytes(sparse.save_npz, sparse.csc_array(POINTS * (POINTS > 0))),
        ".coo.npz": _bytes(sparse.save_npz, sparse.coo_array(POINTS * (POINTS > 0))),
        ".parquet": parquet,
        ".csv": csv,
        ".csv.gz": gzip.compress(csv),
        ".phy": phylip,
        ".mtx": _bytes(scipy_io.mmwrite, sparse.coo_array(POINTS * (POINTS > 0))),
        ".dense.mtx": _bytes(scipy_io.mmwrite, POINTS),
    }


NUMBERS = [
    b"0",
    b"-1",
    b"999999999",
    b"1e999",
    b"99999999999999999999999",
    b"nan",
    b"None",
    b"[]",
    b"(",
    b'"',
    b"2147483648",
]


def damaged(draw: random.Random, content: bytes) -> bytes:
    """Return a content with one to three things changed."""
    if content[:2] == b"PK" and draw.random() < 0.5:  # damage inside the archive, with sums that are right
        members = _members(content)
        name = draw.choice(list(members))
        if draw.random() < 0.15:
            del members[name]
        elif draw.random() < 0.15:
            members[name] = members[draw.choice(list(members))]
        else:
            members[name] = damaged(draw, members[name])
        return _zip(members)
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 3])):
        place = draw.randrange(len(changed) + 1)
        kind = draw.randrange(8)
        if kind == 0:
            changed = changed[:place]
        elif kind == 1 and place < len(changed):
            changed[place] ^= 1 << draw.randrange(8)
        elif kind == 2:
            changed[place : place + draw.randrange(9)] = draw.randbytes(draw.randrange(9))
        elif kind == 3:
            changed[place : place + 4] = draw.choice([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"])
        elif kind == 4:
            stretch = changed[place : place + draw.randrange(60)]
            changed[place:place] = stretch * draw.choice([1, 2, 50])
        elif kind == 5:
            digits = [at for at, byte in enumerate(changed[:4000]) if 48 <= byte < 58]
            if digits:
                at = draw.choice(digits)
                changed[at : at + 1] = draw.choice(NUMBERS)
        elif kind == 6:
            changed[place:place] = draw.choice(
                [b"\n", b",", b"'", b'"', b"\r", b"\xef\xbb\xbf", b"(", b"{", b"\0", b"\t", b";"]
            )
        else:
            del changed[place : place + draw.randrange(40)]
    return bytes(changed)


FILES = whole_files()
COMMANDS = ["cluster", "levels", "outliers", "mst", "compare", "info"]
FLAGS = [
    ["--metric", "precomputed", "--criterion", "average"],
    ["--metric", "euclidean"],
    ["--standardize"],
    ["--no-header"],
    ["--header"],
    ["--name-column", "1"],
    ["--label-column", "-1"],
    ["--skip-column", "1"],
    ["--weights-column", "2"],
    *([f"--format={name}"] for name in ("csv", "tsv", "npy", "npz", "parquet", "phylip", "mtx", "xls")),
    *(["--to", name] for name in ("newick", "nexus", "json", "tree", "z", "labels", "csv", "tsv", "text")),
    ["--clusters", "2"],
    ["--clusters", "-2"],
    ["--level", "1"],
    ["--plain-names"],
    ["--comments"],
    ["--verbose"],
    ["--alpha", "0.5"],
    ["--alpha", "nan"],
    ["--max-level", "1"],
    ["--jobs", "1"],
    ["--top", "3"],
    ["--out", "-"],
    ["--out", "no/such/folder/x.csv"],
    ["--out", "\0"],
    ["--out", "y" * 5000 + ".csv"],
    ["--checkpoint", "no/such/folder/x"],
    ["--engine", "literal"],
    ["--engine", "abacus"],
]


def damaged_file(draw: random.Random, folder: Path):
    """Return a command on a damaged file, under its own or another extension, as a text and a function."""
    kind = draw.choice(list(FILES))
    content = FILES[kind] if draw.random() < 0.1 else damaged(draw, FILES[kind])
    suffix = kind if draw.random() < 0.7 else draw.choice([*FILES, "", ".txt", ".gz"])
    path = folder / f"file{suffix}"
    path.write_bytes(content)
    if kind in (".reliac", ".json") and draw.random() < 0.5:
        return f"load({content!r:.3000})", lambda: reliac.load(path)
    words = [draw.choice(COMMANDS), str(path), *draw.choice([[], [], *FLAGS[:2], draw.choice(FLAGS)])]
    return f"reliac {' '.join(words)} of {content!r:.3000}", lambda: command_line(words)


def odd_command(draw: random.Random, folder: Path):
    """Return an odd command line, as a text and a function."""
    path = folder / f"whole{draw.choice(list(FILES))}"
    path.write_bytes(FILES[path.name.removeprefix("whole")])
    words = [
        draw.choice([*COMMANDS, "clster", ""]),
        draw.choice([str(path)] * 8 + ["-", "", "\0", str(folder), "z" * 5000, "é"]),
    ]
    for _ in range(draw.randrange(4)):
        flag = draw.choice(FLAGS)
        words += [
            word if draw.random() < 0.9 else draw.choice(["", "-1", "é", "--", "0", "1e9", "\0", "nan"])
            for word in flag
        ]
    if draw.random() < 0.1:
        draw.shuffle(words)
    return f"reliac {' '.join(words)!r}", lambda: command_line(words)


#: What a command line that ended with 2 returns.
REFUSED = object()


def command_line(words):
    """Run a command line; it must end with 0, or with 2 and an error in three parts."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        kept, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(b"1,2\n3,4\n5,6\n"))
        try:
            status = main(words)
        except SystemExit as stop:
            status = stop.code
        finally:
            sys.stdin = kept
    said = err.getvalue()
    if status not in (0, 2) or "Traceback" in said:
        raise Foreign(f"exit code {status}: {said[-1500:]}")
    short_of_memory = "GiB are free" in said  # such a message has two lines: what it needs, and what to do
    if status == 2 and not ("Next: " in said and (". Allowed: " in said or short_of_memory)):
        raise Foreign(f"not in three parts: {said}")
    for line in said.splitlines():
        if line.startswith("reliac: warning: ") and ". Allowed: " not in line:
            raise Foreign(f"a warning that is not ours: {line}")
    return REFUSED if status == 2 else None


# --- outcomes ---

#: Seconds that no attempt may take.
PATIENCE = 20


@contextlib.contextmanager
def at_most(seconds):
    """Stop what takes too long, where the system can."""

    def stop(*args):
        raise Foreign(f"more than {seconds} seconds: {''.join(traceback.format_stack(limit=4)[:-1])}")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def outcome(call) -> str:
    """Run a call: 'result' or 'refused'; anything else is Foreign."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        try:
            with at_most(PATIENCE):
                told = "refused" if call() is REFUSED else "result"
        except Foreign:
            raise
        except (ValueError, TypeError, OSError, MemoryError, ImportError) as error:
            if not (error.args and isinstance(error.args[0], Message)):
                raise Foreign(f"{type(error).__name__}: {error}") from error
            told = "refused"
        except InvariantError as error:
            raise Foreign(f"a fault: {error}") from error
        except Exception as error:
            raise Foreign(f"{type(error).__name__}: {error}") from error
    for warning in noted:
        text = warning.message.args[0] if warning.message.args else ""
        if not isinstance(text, Message) and warning.category is not ResourceWarning:
            raise Foreign(f"a warning that is not ours: {warning.category.__name__}: {text}")
    return told


def attempt(seed: int, folder: Path):
    """Return one of the adversary's attempts, by its number: a text, and a function."""
    draw = random.Random(seed)
    kind = seed % 3
    if kind == 0:
        return odd_call(draw)
    return damaged_file(draw, folder) if kind == 1 else odd_command(draw, folder)


def try_for(seconds: float, first: int = 0, most: float = float("inf")) -> dict[str, int]:
    """Try one attempt after another; return how many ended how. Raises Foreign at the first that ends otherwise."""
    counts = {"result": 0, "refused": 0}
    begun, seed = time.monotonic(), first
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        while time.monotonic() - begun < seconds and seed - first < most:
            told, call = attempt(seed, Path(folder))
            try:
                counts[outcome(call)] += 1
            except Foreign as error:
                raise Foreign(f"attempt {seed}: {told}\n{error}") from error
            seed += 1
    return counts


if __name__ == "__main__":
    found: dict[str, str] = {}
    start, stop_at = int(sys.argv[2]) if len(sys.argv) > 2 else 0, time.monotonic() + float(sys.argv[1])
    done = 0
    with TemporaryDirectory() as place, contextlib.chdir(place):
        for number in range(start, start + 10**9):
            if time.monotonic() > stop_at:
                break
            text, tried = attempt(number, Path(place))
            begun_at = time.monotonic()
            try:
                outcome(tried)
            except Foreign as problem:
                where = traceback.extract_tb((problem.__cause__ or problem).__traceback__)[-1]
                found.setdefault(
                    f"{str(problem)[-300:]}|{where.name}", f"{number}: {text[:600]}\n    {problem}\n    {where}"
                )
            if time.monotonic() - begun_at > 5:
                print(f"slow, {time.monotonic() - begun_at:.0f} s: {number}: {text[:500]}")
            done += 1
    for problem in found.values():
        print(problem, "\n")
    print(f"{done} attempts, {len(found)} problems")
