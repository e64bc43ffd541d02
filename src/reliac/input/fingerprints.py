"""Hashes that tell whether data, or a function, is still the same."""

from __future__ import annotations

import functools
import hashlib
import re
from types import CodeType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native.library import address, is_plain, library
from .condensed import later_distances
from .numbers import is_sparse

#: Of data above this many numbers only evenly spaced rows are hashed, about as many numbers in all ...
NUMBERS_HASHED = 2**21

#: ... and of distances one in 256 of that: a row tells of all objects, and hashing takes longer than searching.
SHARE_OF_DISTANCES = 256


#: What bits are mixed with: large odd numbers without a pattern, and half the length of a word.
PLACE, MIX, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93), np.uint64(32)


def vectors_fingerprint(rows: Any) -> str:
    """Return a hash of a table of vectors, whatever type holds the numbers.

    Cheap beside any run: of large data only evenly spaced rows count, so a change elsewhere goes unnoticed.
    """
    n, width = rows.shape
    if is_sparse(rows):
        step = _step(n, rows.nnz // max(n, 1))
        some = rows[::step].tocsr(copy=True)
        some.sum_duplicates()
        some.eliminate_zeros()
        return _named(_vectors(n, width, rows), *map(_mixed, (some.indptr, some.indices, some.data)))
    return _named(_vectors(n, width, rows), _mixed(rows[:: _step(n, width)]))


def distances_fingerprint(matrix: NDArray[Any], n: int) -> str:
    """Return a hash of the distances of n objects, the same for both forms of matrix; cheap in the same way."""
    step, native = plain_step(n, 0), library()
    if matrix.ndim == 1 and matrix.dtype == np.float64 and is_plain(matrix) and native is not None:
        return plain_fingerprint(n, 0, int(native.reliac_mixed(n, 0, step, address(matrix))))
    if matrix.ndim == 1 and step == 1:
        return _named(_distances(n), _mixed(matrix))
    rows = [later_distances(matrix, n, row) for row in range(0, n - 1, step)]
    return _named(_distances(n), *([_mixed(np.concatenate(rows))] if rows else []))


def plain_fingerprint(n: int, columns: int, mixed: int) -> str:
    """Return the hash of n plain vectors of so many columns, or of distances, of which C code has mixed the numbers."""
    return _named(_vectors(n, columns) if columns else _distances(n), mixed.to_bytes(8, "little", signed=True))


def plain_step(n: int, columns: int) -> int:
    """Return how far apart the rows that are hashed are: of so many columns, or, with none, of distances."""
    return _step(n, columns or SHARE_OF_DISTANCES * (n // 2))


def _step(n: int, width: int) -> int:
    return max(1, -(-n * width // NUMBERS_HASHED))


def _vectors(n: int, width: int, rows: Any = None) -> str:
    return f"vectors {n} {width}{_features(rows)}"


def _distances(n: int) -> str:
    return f"distances {n}"


def _named(kind: str, *mixed: bytes) -> str:
    """Return a hash of what data are, and of their numbers."""
    return hashlib.sha256(b"".join((kind.encode(), *mixed))).hexdigest()


def _features(rows: Any) -> str:
    """Tell how columns of a mixed table are compared: codes of categories look like numbers."""
    return "" if getattr(rows, "features", None) is None else str([part.tolist() for part in rows.features[:3]])


def _mixed(values: NDArray[Any]) -> bytes:
    """Return eight bytes that depend on all numbers and their places: a sum of their bits, well mixed.

    A hash that is safe against forgery takes ten times as long, as much as the levels of a hundred objects do, and
    nobody forges here. ``native/mixing.c`` has a twin.
    """
    numbers = np.ascontiguousarray(values, dtype=np.float64)
    if (native := library()) is not None and is_plain(numbers):
        return int(native.reliac_mixed(1, numbers.size, 1, address(numbers))).to_bytes(8, "little", signed=True)
    words = (numbers.ravel() + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    words = words + np.arange(1, len(words) + 1, dtype=np.uint64) * PLACE
    words = (words ^ (words >> SHIFT)) * MIX
    words = (words ^ (words >> SHIFT)) * MIX
    return int(words.sum(dtype=np.uint64)).to_bytes(8, "little")


def exact_fingerprint(options: object, *arrays: Any) -> str:
    """Return a hash of options and of every byte of some arrays."""
    digest = hashlib.sha256(repr(options).encode())
    for data in arrays:
        for array in (data.data, data.indices, data.indptr) if is_sparse(data) else (data,):
            digest.update(f"{array.dtype}{array.shape}{_features(array)}".encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def function_fingerprint(function: Any) -> str:
    """Return a hash of what a function does: its code and constants, its defaults and the values it closes over.

    Global names that it reads, and what compiled functions do, are beyond it.
    """
    return hashlib.sha256("\n".join(_parts_of(function)).encode()).hexdigest()


def _parts_of(value: Any, inside: tuple[int, ...] = ()) -> list[str]:
    """Describe a value so that equal descriptions mean equal behaviour, as far as Python tells."""
    if id(value) in inside:  # a function that closes over itself
        return ["itself"]
    inside = (*inside, id(value))
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return [exact_fingerprint("array", value)]
    if isinstance(value, CodeType):
        return [value.co_code.hex(), repr(value.co_names), *_parts_of(value.co_consts, inside)]
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *(part for item in value for part in _parts_of(item, inside))]
    if isinstance(value, (set, frozenset)):
        return [type(value).__name__, *sorted(map(repr, value))]
    if isinstance(value, dict):
        return [part for key, item in value.items() for part in (repr(key), *_parts_of(item, inside))]
    value = getattr(value, "py_func", value)  # a function that Numba compiles
    function = getattr(value, "__func__", value)  # of a method, which also has the object it belongs to
    parts = [f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(value).__qualname__)}"]
    if isinstance(value, functools.partial):
        held: Any = (value.func, value.args, value.keywords)
    elif hasattr(function, "__code__"):
        closure = [cell.cell_contents for cell in function.__closure__ or ()]
        own = () if function is value else (value.__self__,)
        held = (function.__code__, function.__defaults__, function.__kwdefaults__, closure, *own)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, ModuleType)):
        held = (getattr(type(value).__call__, "__code__", None) if callable(value) else None, vars(value))
    else:
        return [*parts, re.sub(r" at 0x[0-9a-f]+", "", repr(value))]
    return [*parts, *_parts_of(held, inside)]
