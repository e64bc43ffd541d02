"""Data sets to try clustering on: ten of the paper, and two larger ones.

``load("iris")`` gives a :class:`Dataset`; ``names()`` lists what there is. Iris and Wine come with scikit-learn. The
others are read from a folder (``folder=``, or the environment variable RELIAC_DATA), or downloaded once from their
public homes and kept in a cache (RELIAC_CACHE, or ``reliac`` in the user's folder of caches). A content is used only
if its SHA-256 is right.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DatasetError, explain, unknown_name
from ..files import cache_folder
from ..input.numbers import MISSING, Names
from .downloads import Received, make_access
from .files import FILES, NEWS_FOLDER, content_of

__all__ = ["Dataset", "DatasetError", "Received", "Texts", "cache_folder", "load", "load_texts", "names"]

Columns = dict[str, NDArray[Any]]
Read = Callable[[str], bytes]

#: What :func:`load_texts` can take out of a post.
REMOVABLE = ("headers", "footers", "quotes")

#: Measures of a printed letter, by the names that their documentation gives them.
LETTER_FEATURES = (
    *("x-box", "y-box", "width", "high", "onpix", "x-bar", "y-bar", "x2bar"),
    *("y2bar", "xybar", "x2ybr", "xy2br", "x-ege", "xegvy", "y-ege", "yegvx"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Objects, their classes, and where they come from.

    ``columns`` holds every column of the original file under its name and in its order, ids and classes included.
    """

    name: str
    X: Any  # (n, d) array of floats, NaN where a value is missing; a sparse matrix for texts
    y: NDArray[Any]  # the class of every object, as its documentation names it
    feature_names: tuple[str, ...]
    row_names: Names | None
    columns: Columns
    description: str
    source: str

    @property
    def class_counts(self) -> dict[Any, int]:
        """The number of objects of every class."""
        return _counts(self.y)

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset {self.name!r}: {n} objects, {d} features, {len(self.class_counts)} classes"


@dataclass(frozen=True, eq=False, repr=False)
class Texts:
    """Documents and their groups."""

    name: str
    texts: list[str] = field(repr=False)
    y: Names
    row_names: Names

    @property
    def class_counts(self) -> dict[Any, int]:
        """The number of documents of every group."""
        return _counts(self.y)

    def __repr__(self) -> str:
        return f"Texts {self.name!r}: {len(self.texts)} documents, {len(self.class_counts)} groups"


class _Parts(NamedTuple):
    X: Any
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    columns: Columns
    row_names: Names | None = None


class _Entry(NamedTuple):
    description: str
    source: str
    make: Callable[[Read], _Parts] | None  # None: made from texts


def names() -> list[str]:
    """List the data sets."""
    return list(_ENTRIES)


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: Any = None,
    timeout: float = 20.0,
    attempts: int = 3,
    mirror: str | None = None,
    remove: Iterable[str] = (),
    **tfidf: Any,
) -> Dataset:
    """Return a data set by its name.

    Parameters
    ----------
    name : one of :func:`names`
    folder : where to look first; None for the folder that RELIAC_DATA names, if it is set. It has subfolders ``uci``,
        ``20news`` and ``vectors`` with the original files, packed with gzip or not
    download : whether to download what is neither there nor in the cache
    progress : True or False for a line on standard error or none, None for one if that is a terminal, or a function
        that gets a :class:`Received` with every piece
    timeout : seconds to wait for an answer
    attempts : how often to ask a server that is busy, slow or breaks off
    mirror : a server to ask instead of the public ones (or RELIAC_MIRROR), which has the files below their host
        names, as ``wget --mirror`` lays them out
    remove, tfidf : for the newsgroups: see :func:`load_texts`, and the settings of scikit-learn's ``TfidfVectorizer``,
        whose defaults hold

    Raises
    ------
    DatasetError : an OSError that says what was tried, and where to put the file by hand

    Examples
    --------
    >>> from reliac import datasets
    >>> iris = datasets.load("iris")
    >>> iris
    Dataset 'iris': 150 objects, 4 features, 3 classes
    >>> iris.class_counts
    {'setosa': 50, 'versicolor': 50, 'virginica': 50}
    """
    entry = _entry(name)
    remove = (remove,) if isinstance(remove, str) else tuple(remove)
    if entry.make is None:
        found = load_texts(
            name,
            folder,
            download=download,
            progress=progress,
            timeout=timeout,
            attempts=attempts,
            mirror=mirror,
            remove=remove,
        )
        parts = _vectors(found, tfidf)
    elif tfidf or remove:
        given = f"Data set {name!r} with {', '.join(['remove'] * bool(remove) + list(tfidf))}"
        allowed = "settings of TfidfVectorizer for the newsgroups only"
        raise TypeError(explain(given, allowed, f"leave them out, or load one of {', '.join(_groups())}"))
    else:
        access = make_access(folder, download, progress, timeout, attempts, mirror)
        parts = entry.make(lambda file: content_of(FILES[file], name, access))
    return Dataset(
        name, parts.X, parts.y, parts.feature_names, parts.row_names, parts.columns, entry.description, entry.source
    )


def load_texts(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    progress: Any = None,
    timeout: float = 20.0,
    attempts: int = 3,
    mirror: str | None = None,
    remove: Iterable[str] = (),
) -> Texts:
    """Return the posts of ``"news-comp"``, ``"news-rec"`` or ``"news-sci"`` as texts.

    They come by group and then by file name as a text. ``remove`` may name headers, footers and quotes, which then are
    taken out as scikit-learn's ``fetch_20newsgroups`` does. The other parameters are those of :func:`load`.
    """
    if _entry(name).make is not None:
        raise ValueError(unknown_name("data set of texts", name, _groups()))
    parts = (remove,) if isinstance(remove, str) else tuple(remove)
    for part in parts:
        if part not in REMOVABLE:
            raise ValueError(unknown_name("part of a post", part, REMOVABLE))
    access = make_access(folder, download, progress, timeout, attempts, mirror)
    content = content_of(FILES[f"{NEWS_FOLDER}.jsonl"], name, access)
    prefix = name.removeprefix("news-") + "."
    posts = [json.loads(line) for line in content.splitlines()]
    posts = [post for post in posts if post["group"].startswith(prefix)]
    texts = [post["text"] for post in posts]
    return Texts(
        name,
        [_stripped(text, parts) for text in texts] if parts else texts,
        np.array([post["group"] for post in posts]),
        np.array([f"{post['group']}/{post['id']}" for post in posts]),
    )


# --- names and counts ---


def _entry(name: str) -> _Entry:
    if not isinstance(name, str) or name not in _ENTRIES:
        raise ValueError(unknown_name("data set", name, _ENTRIES))
    return _ENTRIES[name]


def _groups() -> list[str]:
    return [name for name, entry in _ENTRIES.items() if entry.make is None]


def _counts(y: NDArray[Any]) -> dict[Any, int]:
    values, counts = np.unique(y, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


# --- texts ---


def _stripped(text: str, parts: tuple[str, ...]) -> str:
    """Take parts out of a post, in scikit-learn's order."""
    from sklearn.datasets import _twenty_newsgroups as rules

    if "headers" in parts:
        text = rules.strip_newsgroup_header(text)
    if "footers" in parts:
        text = rules.strip_newsgroup_footer(text)
    if "quotes" in parts:
        text = rules.strip_newsgroup_quoting(text)
    return text


def _vectors(found: Texts, settings: dict[str, Any]) -> _Parts:
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(**settings)
    X = vectorizer.fit_transform(found.texts)
    words = tuple(vectorizer.get_feature_names_out().tolist())
    ids = np.array([name.rpartition("/")[2] for name in found.row_names])
    return _Parts(X, found.y, words, {"id": ids, "group": found.y}, found.row_names)


# --- tables ---


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


def _parts(columns: Columns, features: Iterable[str], target: str, row_names: Names | None = None) -> _Parts:
    chosen = tuple(features)
    X = np.column_stack([columns[title] for title in chosen]).astype(np.float64)
    return _Parts(X, columns[target], chosen, columns, row_names)


def _ecoli(read: Read) -> _Parts:
    features = ("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2")
    columns = _table(_rows(read("ecoli.data"), None), ("name", *features, "class"), texts=("name", "class"))
    return _parts(columns, features, "class", columns["name"])


def _hayes_roth(read: Read) -> _Parts:
    features = ("hobby", "age", "education", "marital status")
    training, test = _rows(read("hayes-roth.data")), _rows(read("hayes-roth.test"))
    rows = [*training, *(["", *row] for row in test)]  # the test part has no column of names
    columns = _table(rows, ("name", *features, "class"), wholes=("class",))
    columns["part"] = np.repeat(["training", "test"], [len(training), len(test)])
    return _parts(columns, features, "class")


def _lung_cancer(read: Read) -> _Parts:
    features = [f"attribute {place}" for place in range(2, 58)]  # attribute 1 is the class
    columns = _table(_rows(read("lung-cancer.data")), ("class", *features), wholes=("class",))
    return _parts(columns, features, "class")


def _seeds(read: Read) -> _Parts:
    features = ("area", "perimeter", "compactness", "length", "width", "asymmetry", "groove length")
    columns = _table(_rows(read("seeds_dataset.txt"), None), (*features, "class"), wholes=("class",))
    return _parts(columns, features, "class")


def _letter(read: Read) -> _Parts:
    columns = _table(_rows(read("letter-recognition.data")), ("letter", *LETTER_FEATURES), texts=("letter",))
    return _parts(columns, LETTER_FEATURES, "letter")


def _perfume(read: Read) -> _Parts:
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


def _mnist(read: Read) -> _Parts:
    """Pixels as float32, which holds them exactly in half the memory."""
    pixels = np.frombuffer(read("mnist-t10k-images-idx3-ubyte"), np.uint8, offset=16)
    digits = np.frombuffer(read("mnist-t10k-labels-idx1-ubyte"), np.uint8, offset=8).astype(int)
    X = pixels.reshape(len(digits), -1).astype(np.float32)
    features = tuple(f"pixel {row},{column}" for row in range(28) for column in range(28))
    return _Parts(X, digits, features, {"digit": digits, **dict(zip(features, X.T, strict=True))})


def _iris(read: Read) -> _Parts:
    from sklearn.datasets import load_iris

    found = load_iris()
    columns = dict(zip(found.feature_names, found.data.T, strict=True))
    columns["species"] = found.target_names[found.target]
    return _parts(columns, found.feature_names, "species")


def _wine(read: Read) -> _Parts:
    from sklearn.datasets import load_wine

    found = load_wine()
    columns = {"class": found.target, **dict(zip(found.feature_names, found.data.T, strict=True))}
    return _parts(columns, found.feature_names, "class")


_UCI = "https://archive.ics.uci.edu/dataset"
_NEWS = "20 Newsgroups, test part of the version by date, groups {}.*, as tf-idf"
_NEWS_HOME = "http://qwone.com/~jason/20Newsgroups/"

_ENTRIES = {
    "ecoli": _Entry("Proteins of E. coli by the place they end up at", f"{_UCI}/39/ecoli", _ecoli),
    "hayes-roth": _Entry(
        "Made-up people; 132 for training and 28 for testing. Ties everywhere", f"{_UCI}/44/hayes+roth", _hayes_roth
    ),
    "iris": _Entry("Fisher's flowers", "scikit-learn; https://archive.ics.uci.edu/dataset/53/iris", _iris),
    "lung-cancer": _Entry(
        "Patients with three types of lung cancer; five values are missing", f"{_UCI}/62/lung+cancer", _lung_cancer
    ),
    "perfume": _Entry(
        "Twenty perfumes, one reading of an odour meter per second: code and strength",
        f"{_UCI}/303/perfume+data",
        _perfume,
    ),
    "seeds": _Entry("Kernels of three kinds of wheat", f"{_UCI}/236/seeds", _seeds),
    "wine": _Entry(
        "Wines of three growers; the scales of the features differ much",
        "scikit-learn; https://archive.ics.uci.edu/dataset/109/wine",
        _wine,
    ),
    "news-comp": _Entry(_NEWS.format("comp"), _NEWS_HOME, None),
    "news-rec": _Entry(_NEWS.format("rec"), _NEWS_HOME, None),
    "news-sci": _Entry(_NEWS.format("sci"), _NEWS_HOME, None),
    "letter": _Entry("Printed capital letters, sixteen measures each", f"{_UCI}/59/letter+recognition", _letter),
    "mnist-10k": _Entry(
        "Handwritten digits, the 10000 of the test part", "https://ossci-datasets.s3.amazonaws.com/mnist/", _mnist
    ),
}
