"""What a tree file keeps on request: the rows, or the distances, that the tree was made from; lists of searches.

The means of all clusters of all levels would take twice the room of the rows, and follow from these in one pass: so
rows are kept for every criterion. The arrays stand in a folder of their own in the archive, with a header and a
checksum of their own, so that whoever reads the tree alone need not read them.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..formats.arrays import Archive, Declared, Unusable
from ..input.condensed import length_of, to_condensed
from ..input.connectivity import Connected
from ..input.mixed import MixedRows
from ..input.numbers import first_not_finite, is_sparse
from ..input.objects import Distances, Objects, Vectors
from ..machine import check_memory

if TYPE_CHECKING:
    from .clustertree import ClusterTree

#: What the arrays mean; it changes when they do.
VERSION = 1

FOLDER = "data/"
HEADER = f"{FOLDER}header"

#: Where the lists of searches stand, and the kinds of numbers in them.
LISTS = "lists/"
LIST_ARRAYS = {"levels": "i", "clusters": "i", "counts": "i", "radius": "f", "entries": "i"}

#: The parts of a sparse table, as SciPy calls them.
_SPARSE = ("data", "indices", "indptr")

Arrays = dict[str, NDArray[Any]]


def digest_of(header: dict[str, Any], arrays: Arrays) -> str:
    """Return a checksum of a header and of arrays, by their names."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(array.view(np.uint8).data if array.size and array.dtype.itemsize else b"")
    return digest.hexdigest()


# --- writing ---


def held_objects(tree: ClusterTree) -> Objects | None:
    """Return what a tree holds of its data: the checked input, or what its file kept; None if it holds nothing."""
    return tree.kept if tree.problem is None else tree.problem.objects


def with_data(content: bytes | memoryview, tree: ClusterTree) -> bytes | memoryview:
    """Return what a tree file holds with the data of the tree behind it; they are stored as they are, uncompressed."""
    objects = _objects_to_keep(tree)
    header, arrays = _packed(objects)
    return _with_folder(content, FOLDER, header, arrays)


def with_lists(content: bytes | memoryview, lists: Mapping[str, NDArray[Any]]) -> bytes | memoryview:
    """Return what a tree file holds with the lists of searches behind it."""
    return _with_folder(content, LISTS, {"version": VERSION}, dict(lists))


def _with_folder(content: bytes | memoryview, folder: str, header: dict[str, Any], arrays: Arrays) -> memoryview:
    header["sha256"] = digest_of(header, arrays)
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_STORED) as archive:  # numbers hardly shrink
        for name, array in ({"header": np.array(json.dumps(header))} | arrays).items():
            with archive.open(f"{folder}{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getbuffer()


def _objects_to_keep(tree: ClusterTree) -> Vectors | Distances:
    objects = held_objects(tree)
    if objects is None:
        raise ValueError(
            explain(
                "This tree does not hold its data, so none can be saved with it",
                "data=True for a tree made in this process, or read from a file that keeps data",
                "make the tree again with reliac.cluster, or leave data out",
            )
        )
    plain = isinstance(objects, (Vectors, Distances)) and not isinstance(objects, Connected)
    if not plain or isinstance(getattr(objects, "rows", None), MixedRows):
        called = objects.called if not plain else "metric 'gower', whose codes of categories mean nothing by themselves"
        raise ValueError(
            explain(
                f"data=True for a tree of {called}",
                "data=True for trees of vectors, or of distances of all pairs",
                "leave data out, and keep the data in a file of their own",
            )
        )
    return objects  # type: ignore[return-value]


def _packed(objects: Vectors | Distances) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays that stand for objects."""
    header: dict[str, Any] = {"version": VERSION}
    if isinstance(objects, Distances):
        return {**header, "kind": "distances"}, {"distances": to_condensed(objects.matrix, objects.n)}
    more = {"columns": objects.columns, "scaling": objects.scaling}
    arrays = {name: array for name, array in more.items() if array is not None}
    if not objects.sparse:
        return {**header, "kind": "rows"}, {"rows": np.asarray(objects.rows), **arrays}
    rows = objects.rows.tocsr()
    rows.sum_duplicates()
    header |= {"kind": "sparse rows", "columns": int(rows.shape[1])}
    return header, {**{name: getattr(rows, name) for name in _SPARSE}, **arrays}


# --- reading ---


def read_data(archive: Archive, n: int, where: object) -> Objects | None:
    """Return the data that an archive keeps for a tree of n objects; None if it keeps none."""
    if HEADER not in archive:
        return None
    header = json.loads(str(archive.read(HEADER)))
    if not isinstance(header, dict) or header.get("version") != VERSION:
        raise Unusable("its data have a format version that this release does not read")
    names = [name.removeprefix(FOLDER) for name in archive.names if name.startswith(FOLDER) and name != HEADER]
    declared = {name: archive.declared(f"{FOLDER}{name}") for name in names}
    _check_declared(header, declared, n)
    check_memory(2 * sum(found.size for found in declared.values()), f"The data in {where}")
    arrays = {name: archive.read(f"{FOLDER}{name}") for name in declared}
    if header.pop("sha256", None) != digest_of(header, arrays):
        raise Unusable("its data do not match their checksum")
    return _unpacked(header, arrays, n)


def read_lists(archive: Archive, n: int, where: object) -> Arrays | None:
    """Return the lists that an archive keeps for a tree of n objects; None if it keeps none."""
    if f"{LISTS}header" not in archive:
        return None
    header = json.loads(str(archive.read(f"{LISTS}header")))
    if not isinstance(header, dict) or header.get("version") != VERSION:
        return None  # a later release keeps them in another way: the tree is made again without them
    present = [name for name in LIST_ARRAYS if f"{LISTS}{name}" in archive]
    declared = {name: archive.declared(f"{LISTS}{name}") for name in present}
    check_memory(2 * sum(found.size for found in declared.values()), f"The lists in {where}")
    arrays = {name: archive.read(f"{LISTS}{name}") for name in present}
    if header.pop("sha256", None) != digest_of(header, arrays) or not _are_lists(arrays, n):
        raise Unusable("its lists are damaged")
    return arrays


def _are_lists(arrays: Arrays, n: int) -> bool:
    """Tell whether arrays can be lists of n objects; none of them is fine too."""
    if not arrays:
        return True
    if arrays.keys() != LIST_ARRAYS.keys() or any(
        arrays[name].dtype.kind != kind for name, kind in LIST_ARRAYS.items()
    ):
        return False
    count = (len(arrays["counts"]),)
    if any(arrays[name].shape != (count if name != "entries" else (arrays["counts"].sum(),)) for name in arrays):
        return False
    inside = all(((arrays[name] >= 0) & (arrays[name] < n)).all() for name in ("clusters", "entries"))
    return bool(inside and all((arrays[name] >= 0).all() for name in ("levels", "counts", "radius")))


def _check_declared(header: dict[str, Any], declared: dict[str, Declared], n: int) -> None:
    """Refuse arrays that no data of n objects can have, before any of them is read."""
    needed = {"rows": {"rows"}, "sparse rows": {*_SPARSE}, "distances": {"distances"}}.get(str(header.get("kind")))
    if needed is None or not needed <= declared.keys() <= needed | {"columns", "scaling"}:
        raise Unusable("its data are incomplete")
    width = header.get("columns")
    if header["kind"] == "rows":
        shape = declared["rows"].shape
        width = shape[1] if len(shape) == 2 and shape[0] == n else None
    elif header["kind"] == "distances":
        width = 0 if declared["distances"].shape == (length_of(n),) else None
    elif declared["indptr"].shape != (n + 1,) or declared["indices"].shape != declared["data"].shape:
        width = None
    shapes = {"columns": (width,), "scaling": (2, width)}
    kinds = {"columns": "U", "scaling": "f", "indices": "i", "indptr": "i"}
    fits = all(
        found.shape == shapes.get(name, found.shape) and found.dtype.kind in kinds.get(name, "fiub")
        for name, found in declared.items()
    )
    if type(width) is not int or not fits:
        raise Unusable(f"its data have shapes or types that those of {n} objects cannot have")


def _unpacked(header: dict[str, Any], arrays: Arrays, n: int) -> Objects:
    """Return the objects that arrays stand for; the numbers have to be finite, and indices inside the table."""
    if header["kind"] == "distances":
        matrix = arrays["distances"]
        if first_not_finite(matrix) is not None or (matrix < 0).any():
            raise Unusable("its distances are not all numbers of at least 0")
        return Distances(matrix, float(matrix.max(initial=0.0)))
    rows: Any = arrays.get("rows")
    if rows is None:
        from scipy.sparse import csr_array

        rows = csr_array(tuple(arrays[name] for name in _SPARSE), shape=(n, header["columns"]))
        rows.check_format(full_check=True)
    if bool(np.isinf(rows.data if is_sparse(rows) else rows).any()):  # NaN is a gap, which some metrics allow
        raise Unusable("its rows hold infinity")
    return Vectors(rows, columns=arrays.get("columns"), scaling=arrays.get("scaling"))
