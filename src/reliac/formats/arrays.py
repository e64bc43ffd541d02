"""NPY and NPZ: arrays in files. Headers are read first; no array is allocated that the file cannot fill.

NumPy's own reader believes the header: a file of 100 bytes that declares billions of numbers makes it allocate them.
Here the declared size is compared with the bytes that are there and with the free memory.
"""

from __future__ import annotations

import ast
import io
import math
import os
import re
import sys
import warnings
import zipfile
from dataclasses import dataclass
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..machine import check_memory

#: The first bytes of an NPY file, and how many bytes tell the length of the header, by format version.
MAGIC = b"\x93NUMPY"
LENGTHS = {1: 2, 2: 4, 3: 4}

#: No header of an array of numbers or texts is longer than this.
LONGEST_HEADER = 10_000

#: Arrays are read in pieces of so many bytes.
PIECE = 2**20


class Unusable(ValueError):
    """Says in our own words what is wrong with a file; whoever knows its name makes the message of it."""


@dataclass(frozen=True)
class Declared:
    """What the header of an array says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool

    @property
    def count(self) -> int:
        """The number of items."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.count * self.dtype.itemsize


# --- one array ---


def declared(stream: IO[bytes], size: int | None = None) -> Declared:
    """Read the header of an array and leave the stream behind it; ``size`` bytes is all that the stream holds.

    Raises Unusable for what is no array of plain items, or is longer than the stream.
    """
    start = stream.read(8)
    if start[:6] != MAGIC:
        raise Unusable("it does not begin as an array does")
    width = LENGTHS.get(start[6]) if len(start) == 8 else None
    if width is None:
        raise Unusable("its array has a format version that is not known")
    length = int.from_bytes(stream.read(width), "little")
    if length > LONGEST_HEADER:
        raise Unusable(f"the header of its array declares {length} bytes")
    found = _parsed(stream.read(length).decode("utf-8" if start[6] == 3 else "latin-1", "replace"))
    if found.dtype.hasobject:
        raise Unusable("its array holds Python objects")
    if not found.dtype.itemsize and found.count:
        raise Unusable("the items of its array have no size")
    if size is not None and found.size > size - 8 - width - length:
        raise Unusable(f"its array declares {found.size:,} bytes, and fewer are there")
    return found


def _parsed(header: str) -> Declared:
    """Return what the text of a header says: a Python dict with three entries."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd texts and types, which are refused below or mean no harm
            try:
                content = ast.literal_eval(header.strip())
            except SyntaxError:  # Python 2 wrote long numbers as 10L
                content = ast.literal_eval(re.sub(r"(?<=\d)L\b", "", header.strip()))
            descr, by_columns, shape = (content[name] for name in ("descr", "fortran_order", "shape"))
            dtype = np.lib.format.descr_to_dtype(descr)
    except Exception:
        raise Unusable("the header of its array is damaged") from None
    whole = isinstance(shape, tuple) and all(type(length) is int and length >= 0 for length in shape)
    if not whole or not isinstance(by_columns, bool) or len(shape) > 32 or len(content) != 3:
        raise Unusable("the header of its array is damaged")
    return Declared(shape, dtype, by_columns)


def fill(stream: IO[bytes], found: Declared) -> NDArray[Any]:
    """Read the items of an array whose header was read, into memory that is known to be there."""
    check_memory(found.size, f"An array of shape {found.shape}")
    flat = np.empty(found.count, dtype=found.dtype)
    target = flat.view(np.uint8) if found.size else np.empty(0, np.uint8)
    place = 0
    while place < len(target):
        piece = stream.read(min(PIECE, len(target) - place))
        if not piece:
            raise Unusable(f"its array ends after {place:,} of {len(target):,} bytes")
        target[place : place + len(piece)] = np.frombuffer(piece, np.uint8)
        place += len(piece)
    _check_letters(flat)
    if len(found.shape) != 1:
        flat = flat.reshape(found.shape, order="F" if found.by_columns else "C")
    return flat


def _check_letters(flat: NDArray[Any]) -> None:
    """Refuse texts with numbers in place of letters that no letter has: Python would fail on them later."""
    if flat.dtype.kind == "U" and flat.dtype.itemsize:
        letters = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
        if letters.max(initial=0) > sys.maxunicode:
            raise Unusable("its texts hold letters that do not exist")


def read_array(stream: BinaryIO) -> NDArray[Any]:
    """Read an NPY file from a stream that can be rewound; what comes after the array is left alone, as NumPy does."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    return fill(stream, declared(stream, size))


# --- several arrays ---


class Archive:
    """The arrays of an NPZ file. Each is unpacked when it is asked for, after its header was checked."""

    def __init__(self, stream: BinaryIO | bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(stream) if isinstance(stream, bytes) else stream)
            members = [info for info in self._archive.infolist() if info.filename.endswith(".npy")]
        except Exception as error:  # zipfile has many words for damage
            raise Unusable(f"it is no whole zip archive ({error})") from None
        self._members = {info.filename.removesuffix(".npy"): info for info in members}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        """The names of the arrays."""
        return list(self._members)

    def declared(self, name: str) -> Declared:
        """Return what the header of an array says, checked against the size of its member of the archive."""
        found: Declared = self._opened(name, declared)
        return found

    def read(self, name: str) -> NDArray[Any]:
        """Return one array."""
        found: NDArray[Any] = self._opened(name, lambda stream, size: fill(stream, declared(stream, size)))
        return found

    def _opened(self, name: str, use: Any) -> Any:
        info = self._members[name]
        if info.compress_type == zipfile.ZIP_BZIP2:  # unpacked as a whole, whatever is asked for
            raise Unusable(f"its part {name} is packed by bzip2, which tells its size too late: pack it by deflate")
        try:
            with self._archive.open(info) as stream:
                return use(stream, info.file_size)
        except (Unusable, MemoryError):
            raise
        except Exception as error:  # zipfile, zlib and others, each in its own words
            raise Unusable(f"its part {name} cannot be unpacked ({error})") from None
