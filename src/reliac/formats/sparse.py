"""Sparse matrices in files: what scipy.sparse.save_npz writes, and Matrix Market (.mtx), which holds plain ones too."""

from __future__ import annotations

import os
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..machine import check_memory
from .arrays import Archive, Unusable

#: The arrays that save_npz writes, by the form of the matrix.
_PARTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}

#: Bytes that an entry, and a row, take while a matrix is put together.
_PER_ENTRY, _PER_ROW = 48, 16

_MARKET = b"%%MatrixMarket"

#: By what the other half of a matrix follows from the one that is listed.
_SIGNS = {b"general": 1, b"symmetric": 1, b"skew-symmetric": -1}


def holds_sparse(archive: Archive) -> bool:
    """Tell whether an NPZ file was written by scipy.sparse.save_npz."""
    return all(name in archive for name in ("format", "shape", "data"))


def read_sparse(archive: Archive) -> Any:
    """Return the matrix that save_npz wrote, in CSR form."""
    from scipy import sparse

    for name in ("format", "shape"):
        if archive.declared(name).size > 100:
            raise Unusable(f"its part {name} is too long")
    form = archive.read("format").item()
    form = form.decode("ascii", "replace") if isinstance(form, bytes) else str(form)
    shape = archive.read("shape")
    missing = [name for name in _PARTS.get(form, ("a known form",)) if name not in archive]
    if missing or shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise Unusable(f"a sparse matrix of form {form!r:.40} lacks {', '.join(missing) or 'a shape'}")
    rows, columns = (int(length) for length in shape)
    entries = archive.declared("data").count
    check_memory(_PER_ENTRY * entries + _PER_ROW * (rows + 1), f"A sparse matrix of shape ({rows}, {columns})")
    data, parts = archive.read("data"), [archive.read(name) for name in _PARTS[form]]
    try:
        given = (data, tuple(parts)) if form == "coo" else (data, *parts)
        matrix = getattr(sparse, f"{form}_array")(given, shape=(rows, columns))
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)  # places outside the matrix would be read as they are
        return sparse.csr_array(matrix)
    except Exception as error:
        raise Unusable(f"its parts are no sparse matrix ({error})") from None


class _Market(NamedTuple):
    """What the first lines of a Matrix Market file declare."""

    rows: int
    columns: int
    entries: int
    listed: bool  # entries stand with their row and column
    pattern: bool  # entries have no value but 1
    symmetry: bytes


def read_market(stream: BinaryIO) -> Any:
    """Return the matrix of a Matrix Market file: a CSR matrix, or an array where the file holds all entries.

    SciPy's reader ends the whole process on some damaged files, so the lines are read here.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    market = _declared_market(stream, size)
    words = stream.read().split()
    width = (2 if market.pattern else 3) if market.listed else 1
    if len(words) != width * market.entries:
        raise Unusable(f"it declares {market.entries:,} entries, and has {len(words) / width:,g}")
    try:
        values = np.array(words, dtype=np.bytes_).astype(np.float64).reshape(-1, width)
    except ValueError:
        raise Unusable("its entries are not all numbers") from None
    return _sparse_of(market, values) if market.listed else _dense_of(market, values[:, 0])


def _declared_market(stream: BinaryIO, size: int) -> _Market:
    """Read the first lines, and compare what they declare with the file and the free memory."""
    words = stream.readline(200).lower().split()
    if len(words) != 5 or words[0] != _MARKET.lower() or words[2] not in (b"coordinate", b"array"):
        raise Unusable("it does not begin with %%MatrixMarket and four known words")
    _, _, form, field, symmetry = words
    if field not in (b"real", b"integer", b"double", b"pattern") or symmetry not in _SIGNS:
        raise Unusable(f"its entries are of the kind {b' '.join(words[3:]).decode('latin-1'):.40}")
    line = b"%"
    while line[:1] == b"%" or (line and not line.strip()):
        line = stream.readline(10_000)
    numbers, listed = line.split(), form == b"coordinate"
    if len(numbers) != (3 if listed else 2) or not all(word.isdigit() and len(word) < 19 for word in numbers):
        raise Unusable(f"its size line is {line[:60]!r}")
    rows, columns = int(numbers[0]), int(numbers[1])
    if symmetry != b"general" and rows != columns:
        raise Unusable("it is symmetric, and not square")
    half = rows * (rows + (1 if symmetry == b"symmetric" else -1)) // 2
    entries = int(numbers[2]) if listed else rows * columns if symmetry == b"general" else half
    if entries > size // (4 if listed else 2) + 1:
        raise Unusable(f"it declares {entries:,} entries, and has room for fewer")
    need = _PER_ENTRY * entries + (_PER_ROW * (rows + 1) if listed else 16 * rows * columns)
    check_memory(need, f"A matrix of shape ({rows}, {columns})")
    return _Market(rows, columns, entries, listed, field == b"pattern", symmetry)


def _sparse_of(market: _Market, values: NDArray[np.float64]) -> Any:
    from scipy import sparse

    shape = (market.rows, market.columns)
    row, column = values[:, 0] - 1, values[:, 1] - 1
    inside = (row >= 0) & (row < market.rows) & (column >= 0) & (column < market.columns)
    if not inside.all() or (values[:, :2] != np.floor(values[:, :2])).any():
        raise Unusable("some entries stand outside of the matrix")
    data = np.ones(len(values)) if market.pattern else values[:, 2]
    i, j = row.astype(np.int64), column.astype(np.int64)
    other = i != j
    if market.symmetry != b"general":
        sign = _SIGNS[market.symmetry]
        i, j, data = np.r_[i, j[other]], np.r_[j, i[other]], np.r_[data, sign * data[other]]
    return sparse.csr_array(sparse.coo_array((data, (i, j)), shape=shape))


def _dense_of(market: _Market, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fill an array column after column; of a symmetric one the file has the lower half."""
    if market.symmetry == b"general":
        return values.reshape((market.rows, market.columns), order="F")
    square = np.zeros((market.rows, market.columns))
    sign = _SIGNS[market.symmetry]
    column, row = np.triu_indices(market.rows, 0 if sign > 0 else 1)
    square[column, row] = sign * values
    square[row, column] = values
    return square
