"""Data sets to try clustering on: ten of the paper, and two larger ones.

``load("iris")`` gives a :class:`Dataset`; ``names()`` lists what there is. Iris and Wine come with scikit-learn. The
others are read from a folder (``folder=``, or the environment variable RELIAC_DATA), or downloaded once from their
public homes and kept in a cache (RELIAC_CACHE, or ``reliac`` in the user's folder of caches). A content is used only
if its SHA-256 is right.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..calls import explain_calls
from ..errors import DatasetError, explain
from ..files import cache_folder
from ..input.numbers import Names
from .catalogue import ENTRIES, Columns, class_counts, entry_of, newsgroups
from .downloads import Received, make_access
from .files import FILES, content_of
from .texts import Texts, as_parts, read_texts, to_vectors

__all__ = ["Dataset", "DatasetError", "Received", "Texts", "cache_folder", "load", "load_texts", "names"]


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
        return class_counts(self.y)

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset {self.name!r}: {n} objects, {d} features, {len(self.class_counts)} classes"


def names() -> list[str]:
    """List the data sets."""
    return list(ENTRIES)


@explain_calls()
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
    progress : True or False for a bar on standard error or none, None for one if that is a terminal, or a function
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
    entry, unwanted = entry_of(name), as_parts(remove)
    access = make_access(folder, download, progress, timeout, attempts, mirror)
    if entry.make is None:
        parts = to_vectors(read_texts(name, unwanted, access), tfidf)
    elif tfidf or unwanted:
        given = f"Data set {name!r} with {', '.join(['remove'] * bool(unwanted) + list(tfidf))}"
        allowed = "settings of TfidfVectorizer for the newsgroups only"
        raise TypeError(explain(given, allowed, f"leave them out, or load one of {', '.join(newsgroups())}"))
    else:
        parts = entry.make(lambda file: content_of(FILES[file], name, access))
    return Dataset(
        name, parts.X, parts.y, parts.feature_names, parts.row_names, parts.columns, entry.description, entry.source
    )


@explain_calls()
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
    return read_texts(name, remove, make_access(folder, download, progress, timeout, attempts, mirror))
