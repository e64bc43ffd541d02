"""Sparse matrices in files: what scipy.sparse.save_npz writes, and Matrix Market (.mtx), which holds plain ones too."""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

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


def read_market(stream: BinaryIO) -> Any:
    """Return the matrix of a Matrix Market file: a CSR matrix, or an array where the file lists all entries."""
    from scipy import io, sparse

    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    _check_market(stream, size)
    stream.seek(0)
    try:
        matrix = io.mmread(stream)
        return sparse.csr_array(matrix) if sparse.issparse(matrix) else np.asarray(matrix)
    except Exception as error:  # the reader of SciPy, in many kinds of errors
        raise Unusable(f"its lines are no matrix ({error})") from None


def _check_market(stream: BinaryIO, size: int) -> None:
    """Compare what the first lines declare with the file and the free memory."""
    words = stream.readline(200).split()
    if len(words) < 5 or words[0] != _MARKET:
        raise Unusable("it does not begin with %%MatrixMarket and four words")
    line = b"%"
    while line[:1] == b"%" or (line and not line.strip()):
        line = stream.readline(10_000)
    numbers = line.split()
    listed = words[2].lower() == b"coordinate"
    if len(numbers) != (3 if listed else 2) or not all(word.isdigit() and len(word) < 19 for word in numbers):
        raise Unusable(f"its size line is {line[:60]!r}")
    rows, columns = int(numbers[0]), int(numbers[1])
    entries = int(numbers[2]) if listed else rows * columns // (1 if words[4].lower() == b"general" else 2)
    if entries > size // (4 if listed else 2) + 1:
        raise Unusable(f"it declares {entries:,} entries, and has room for fewer")
    what = f"A matrix of shape ({rows}, {columns})"
    check_memory(_PER_ENTRY * entries + _PER_ROW * (rows + columns) if listed else 32 * rows * columns, what)
