"""Trees as files: NumPy arrays in a zip archive with a JSON header, or JSON alone. No pickle."""

from __future__ import annotations

import io
import json
import os
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import explain
from ..files import write_atomically
from ..formats.arrays import Archive, Declared, Unusable
from ..input.options import check_switch
from ..machine import check_memory
from .building import LINK
from .clustertree import ClusterTree
from .keeping import digest_of, read_data, read_lists, with_data, with_lists

FORMAT = "reliac-tree"
VERSION = 1
_ARRAYS = ("links", "names", "objects", "weights", "object_pairs")
_TEXTS = ("engine", "reason", "fingerprint")

#: What may stand before the first brace of JSON: a byte order mark, and blanks.
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"

#: No header is longer than so many bytes: it holds a few options and texts.
LONGEST_HEADER = 2**20

#: How much memory checking a tree takes, in units of its arrays, and reading JSON, in units of its text.
CHECKING, PARSING = 3, 24


class Stored(NamedTuple):
    """A tree that was read, and what else its header says; JSON text has no further header."""

    tree: ClusterTree
    header: dict[str, Any]


# --- writing ---


def save(tree: ClusterTree, path: str | os.PathLike[str], data: bool = False, **more: str) -> None:
    """Write a tree under a temporary name and rename it, with its data if asked for; ``more`` goes into the header."""
    write_atomically(path, file_content(tree, check_switch("data", data), **more))


def file_content(tree: ClusterTree, data: bool, **more: str) -> bytes | memoryview:
    """Return what a tree file holds with the lists that the tree keeps, and with its data if asked for."""
    content: bytes | memoryview = to_bytes(tree, **more)
    if tree.lists is not None:
        content = with_lists(content, tree.lists)
    return with_data(content, tree) if data else content


def to_bytes(tree: ClusterTree, **more: str) -> bytes:
    """Return what a tree file holds."""
    arrays = {name: getattr(tree, name) for name in _ARRAYS if getattr(tree, name) is not None}
    header = {**_header(tree), **more}
    header["sha256"] = digest_of(header, arrays)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=np.array(json.dumps(header)), **arrays)
    return buffer.getvalue()


def to_json(tree: ClusterTree) -> str:
    """Write a tree as one flat JSON object, as deep for a chain as for a bush."""
    body = _header(tree) | {
        "links": {name: tree.links[name].tolist() for name in LINK.names or ()},
        "names": None if tree.names is None else tree.names.tolist(),
        "objects": tree.objects.tolist(),
        "weights": tree.weights.tolist(),
        "object_pairs": None if tree.object_pairs is None else tree.object_pairs.tolist(),
    }
    return json.dumps(body)


def _header(tree: ClusterTree) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_objects": tree.n_objects,
        "parameters": dict(tree.parameters),
        **{name: getattr(tree, name) for name in _TEXTS},
    }


# --- reading ---


def holds_tree(stream: BinaryIO) -> bool:
    """Tell from its content whether a file is meant to be a tree, damaged or not; tables are not."""
    start = stream.read(4096)
    try:
        if start[:2] != b"PK":
            return start.lstrip(_BEFORE_JSON)[:1] == b"{"
        archive = Archive(stream)
        return "header" in archive and "links" in archive
    except Unusable:
        return False
    finally:
        stream.seek(0)


def read_tree(
    data: bytes | str,
    source: object,
    kind: str = "tree file",
    allowed: str = "files that ClusterTree.save, ClusterTree.to_json or 'reliac cluster --out' wrote",
    next_step: str = "make the tree again and save it",
) -> Stored:
    """Read what :func:`to_bytes` or :func:`to_json` wrote; whatever is wrong with it becomes one kind of ValueError.

    ``source`` is what messages call it; ``kind``, ``allowed`` and ``next_step`` are their other words. Damaged bytes
    make json and NumPy raise errors of many kinds, and arrays that are no tree break an invariant, so all of it is
    caught. What does not fit into memory is a MemoryError.
    """
    where = os.fspath(source) if isinstance(source, os.PathLike) else source
    try:
        content = data.encode() if isinstance(data, str) else data
        is_json = content.lstrip(_BEFORE_JSON)[:1] == b"{"
        header, parts = _read_json(content, where) if is_json else _read_archive(content, where)
        fields = {name: header[name] for name in ("n_objects", "parameters", *_TEXTS)}
        return Stored(ClusterTree(**fields, **parts), {} if is_json else header)
    except MemoryError:
        raise
    except Exception as error:
        why = str(error) if isinstance(error, Unusable) else f"it cannot be read as one ({error!r:.200})"
        raise ValueError(explain(f"{where} is not a usable {kind}: {why}", allowed, next_step)) from None


def _read_archive(data: bytes, where: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header, the arrays and the data of a tree file; an array is unpacked only where it can be true."""
    if data[:2] != b"PK":
        raise Unusable("it is a file of another kind")
    archive = Archive(data)
    if "header" not in archive:
        raise Unusable("it is a file of another kind")
    if archive.declared("header").size > LONGEST_HEADER:
        raise Unusable("its header is too long")
    header = json.loads(str(archive.read("header")))
    _check_header(header)
    present = {name: archive.declared(name) for name in _ARRAYS if name in archive}
    _check_declared(header["n_objects"], present)
    check_memory(CHECKING * sum(found.size for found in present.values()), f"The tree in {where}")
    arrays = {name: archive.read(name) for name in present}
    if header.pop("sha256", None) != digest_of(header, arrays):
        raise Unusable("its contents do not match their checksum")
    n = header["n_objects"]
    return header, {**arrays, "kept": read_data(archive, n, where), "lists": read_lists(archive, n, where)}


def _check_declared(n: int, present: dict[str, Declared]) -> None:
    """Refuse arrays whose shapes or types are not those of a tree of n objects."""
    missing = {"links", "objects", "weights"} - present.keys()
    if missing:
        raise Unusable(f"a part is missing: {', '.join(sorted(missing))}")
    joins = present["links"].shape
    shapes = {"links": joins, "object_pairs": (*joins, 2)}
    kinds = {"links": "V", "names": "U", "weights": "f"}
    for name, found in present.items():
        if found.shape != shapes.get(name, (n,)) or found.dtype.kind != kinds.get(name, "i"):
            raise Unusable(f"{name} has shape {found.shape} and type {found.dtype} in a tree of {n} objects")
    if present["links"].dtype != LINK or len(joins) != 1 or not joins[0] < n:
        raise Unusable(f"it has {joins} links of type {present['links'].dtype} for {n} objects")


def _read_json(data: bytes, where: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of JSON text."""
    check_memory(PARSING * len(data), f"The tree in {where}")
    try:
        body = json.loads(data.decode("utf-8-sig").strip())
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Unusable(f"it is not JSON ({error})") from None
    _check_header(body)
    missing = {*_ARRAYS} - body.keys()
    if missing:
        raise Unusable(f"a part is missing: {', '.join(sorted(missing))}")
    columns = {name: _column(body["links"][name], name, LINK[name]) for name in LINK.names or ()}
    links = np.empty(len(columns["left"]), dtype=LINK)
    for name, column in columns.items():
        if column.shape != links.shape:
            raise Unusable(f"the links have {len(links)} entries, but {name} has shape {column.shape}")
        links[name] = column
    names, pairs = body["names"], body["object_pairs"]
    if names is not None and not all(isinstance(name, str) for name in names):
        raise Unusable("the names are not all texts")
    return body, {
        "links": links,
        "names": None if names is None else np.array(names, dtype=np.str_),
        "objects": _column(body["objects"], "objects", np.dtype(np.intp)),
        "weights": _column(body["weights"], "weights", np.dtype(np.float64)),
        "object_pairs": None if pairs is None else _column(pairs, "object_pairs", np.dtype(np.intp)).reshape(-1, 2),
    }


def _column(values: Any, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers from JSON as an array; whole numbers have to be whole."""
    array = np.array(values)
    if not isinstance(values, list) or (array.size and array.dtype.kind not in ("i" if dtype.kind == "i" else "if")):
        raise Unusable(f"{name} holds other things than {'whole ' if dtype.kind == 'i' else ''}numbers")
    return array.astype(dtype)


def _check_header(header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise Unusable("it is a file of another kind")
    if header.get("version") != VERSION:
        raise Unusable(f"it has format version {header.get('version')}, this release reads {VERSION}")
    n, parameters = header.get("n_objects"), header.get("parameters")
    if not isinstance(n, int) or isinstance(n, bool):
        raise Unusable(f"its number of objects is {n!r}")
    if not isinstance(parameters, dict) or not all(isinstance(header.get(name), str) for name in _TEXTS):
        raise Unusable("its header is incomplete")
