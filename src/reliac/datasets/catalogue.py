"""What each data set is: its words, its source, and how its files become objects, features and classes."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import unknown_name
from ..input.numbers import MISSING, Names

Columns = dict[str, NDArray[Any]]
Read = Callable[[str], bytes]

#: Measures of a printed letter, by the names that their documentation gives them.
LETTER_FEATURES = (
    *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar"),
    *("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
)


class Parts(NamedTuple):
    """What a data set is made of: :class:`reliac.datasets.Dataset` without its words."""

    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    columns: Columns
    row_names: Names | None = None


class Entry(NamedTuple):
    """One data set of the catalogue."""

    description: str
    source: str
    make: Callable[[Read], Parts] | None  # None: made from texts


def entry_of(name: str) -> Entry:
    """Return what the catalogue says about a data set."""
    if not isinstance(name, str) or name not in ENTRIES:
        raise ValueError(unknown_name("data set", name, ENTRIES))
    return ENTRIES[name]


def newsgroups() -> list[str]:
    """List the data sets that are made from texts."""
    return [name for name, entry in ENTRIES.items() if entry.make is None]


def class_counts(y: NDArray[Any]) -> dict[Any, int]:
    """Count the objects of every class."""
    values, counts = np.unique(y, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


# --- from the cells of a file to columns ---


def _rows(content: bytes, delimiter: str | None = ",") -> list[list[str]]:
    """Split lines into cells, without delimiter at runs of blanks; empty lines do not count."""
    lines = content.decode("utf-8").splitlines()
    return [line.split(delimiter) for line in lines if line.strip()]


def _numbers(cells: Iterable[str]) -> NDArray[np.float64]:
    return np.array([np.nan if cell.strip().lower() in MISSING else float(cell) for cell in cells])


def _table(
    rows: list[list[str]], titles: Iterable[str], texts: Iterable[str] = (), wholes: Iterable[str] = ()
) -> Columns:
    """Name the columns; numbers are floats but for those in ``texts`` and, as whole numbers, in ``wholes``."""
    columns: Columns = {}
    for title, cells in zip(titles, zip(*rows, strict=True), strict=True):
        if title in texts:
            columns[title] = np.array(cells)
        else:
            columns[title] = _numbers(cells).astype(int) if title in wholes else _numbers(cells)
    return columns


def _parts(columns: Columns, features: Iterable[str], target: str, row_names: Names | None = None) -> Parts:
    chosen = tuple(features)
    X = np.column_stack([columns[title] for title in chosen]).astype(np.float64)
    return Parts(X, columns[target], chosen, columns, row_names)


# --- one function for each data set ---


def _ecoli(read: Read) -> Parts:
    features = ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")
    columns = _table(_rows(read("ecoli.data"), None), ("name", *features, "class"), texts=("name", "class"))
    return _parts(columns, features, "class", columns["name"])


def _hayes_roth(read: Read) -> Parts:
    features = ("hobby", "age", "education", "marital status")
    training, test = _rows(read("hayes-roth.data")), _rows(read("hayes-roth.test"))
    rows = [*training, *(["", *row] for row in test)]  # the test part has no column of names
    columns = _table(rows, ("name", *features, "class"), wholes=("class",))
    columns["part"] = np.repeat(["training", "test"], [len(training), len(test)])
    return _parts(columns, features, "class")


def _lung_cancer(read: Read) -> Parts:
    features = [f"attribute {place}" for place in range(2, 58)]  # attribute 1 is the class
    columns = _table(_rows(read("lung-cancer.data")), ("class", *features), wholes=("class",))
    return _parts(columns, features, "class")


def _seeds(read: Read) -> Parts:
    features = ("area", "perimeter", "compactness", "length", "width", "asymmetry", "groove length")
    columns = _table(_rows(read("seeds_dataset.txt"), None), (*features, "class"), wholes=("class",))
    return _parts(columns, features, "class")


def _letter(read: Read) -> Parts:
    columns = _table(_rows(read("letter-recognition.data")), ("letter", *LETTER_FEATURES), texts=("letter",))
    return _parts(columns, LETTER_FEATURES, "letter")


def _perfume(read: Read) -> Parts:
    """One object per reading. Its first two digits are the code of the odour, the last three its strength."""
    rows = list(csv.reader(read("perfume_data.csv").decode("utf-8").splitlines()))
    readings = np.array([[int(cell) for cell in row[1:]] for row in rows])
    columns: Columns = {
        "perfume": np.repeat([row[0] for row in rows], readings.shape[1]),
        "second": np.tile(np.arange(1, readings.shape[1] + 1), len(rows)),
        "reading": readings.ravel(),
        "code": readings.ravel() // 1000,
        "strength": readings.ravel() % 1000,
    }
    return _parts(columns, ("code", "strength"), "perfume")


def _mnist(read: Read) -> Parts:
    """Pixels as float32, which holds them exactly in half the memory."""
    pixels = np.frombuffer(read("mnist-t10k-images-idx3-ubyte"), np.uint8, offset=16)
    digits = np.frombuffer(read("mnist-t10k-labels-idx1-ubyte"), np.uint8, offset=8).astype(int)
    X = pixels.reshape(len(digits), -1).astype(np.float32)
    features = tuple(f"pixel {row},{column}" for row in range(28) for column in range(28))
    return Parts(X, digits, features, {"digit": digits, **dict(zip(features, X.T, strict=True))})


def _iris(read: Read) -> Parts:
    from sklearn.datasets import load_iris

    found = load_iris()
    columns = dict(zip(found.feature_names, found.data.T, strict=True))
    columns["species"] = found.target_names[found.target]
    return _parts(columns, found.feature_names, "species")


def _wine(read: Read) -> Parts:
    from sklearn.datasets import load_wine

    found = load_wine()
    columns = {"class": found.target, **dict(zip(found.feature_names, found.data.T, strict=True))}
    return _parts(columns, found.feature_names, "class")


_UCI = "https://archive.ics.uci.edu/dataset"
_NEWS = "20 Newsgroups, test part of the version by date, groups {}.*, as tf-idf"
_NEWS_HOME = "http://qwone.com/~jason/20Newsgroups/"

ENTRIES = {
    "ecoli": Entry("Proteins of E. coli by the place they end up at", f"{_UCI}/39/ecoli", _ecoli),
    "hayes-roth": Entry(
        "Made-up people; 132 for training and 28 for testing. Ties everywhere", f"{_UCI}/44/hayes+roth", _hayes_roth
    ),
    "iris": Entry("Fisher's flowers", "scikit-learn; https://archive.ics.uci.edu/dataset/53/iris", _iris),
    "lung-cancer": Entry(
        "Patients with three types of lung cancer; five values are missing", f"{_UCI}/62/lung+cancer", _lung_cancer
    ),
    "perfume": Entry(
        "Twenty perfumes, one reading of an odour meter per second: code and strength",
        f"{_UCI}/303/perfume+data",
        _perfume,
    ),
    "seeds": Entry("Kernels of three kinds of wheat", f"{_UCI}/236/seeds", _seeds),
    "wine": Entry(
        "Wines of three growers; the scales of the features differ much",
        "scikit-learn; https://archive.ics.uci.edu/dataset/109/wine",
        _wine,
    ),
    "news-comp": Entry(_NEWS.format("comp"), _NEWS_HOME, None),
    "news-rec": Entry(_NEWS.format("rec"), _NEWS_HOME, None),
    "news-sci": Entry(_NEWS.format("sci"), _NEWS_HOME, None),
    "letter": Entry("Printed capital letters, sixteen measures each", f"{_UCI}/59/letter+recognition", _letter),
    "mnist-10k": Entry(
        "Handwritten digits, the 10000 of the test part", "https://ossci-datasets.s3.amazonaws.com/mnist/", _mnist
    ),
}
