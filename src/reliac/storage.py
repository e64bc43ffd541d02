"""Trees as files: NumPy arrays in a zip archive with a JSON header, or JSON alone. No pickle."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import explain
from .files import write_atomically
from .views import LINK

if TYPE_CHECKING:
    from .tree import ClusterTree

FORMAT = "reliac-tree"
VERSION = 1
_ARRAYS = ("links", "names", "objects", "weights", "object_pairs")


def save(tree: ClusterTree, path: str | os.PathLike[str], **more: str) -> None:
    """Write a tree under a temporary name and rename it; ``more`` goes into the header."""
    write_atomically(path, to_bytes(tree, **more))


def to_bytes(tree: ClusterTree, **more: str) -> bytes:
    """Return what a tree file holds."""
    arrays = {name: getattr(tree, name) for name in _ARRAYS if getattr(tree, name) is not None}
    header = {**_header(tree), **more, "sha256": _digest(arrays)}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, header=np.array(json.dumps(header)), **arrays)
    return buffer.getvalue()


def load_fields(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a tree file; return the fields of a ClusterTree and the header."""
    data = Path(path).read_bytes()
    if data[:1] == b"{":
        return fields_from_json(data.decode("utf-8", "replace"), path), {}
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            header = json.loads(str(archive["header"]))
            arrays = {name: archive[name] for name in _ARRAYS if name in archive.files}
    except (
        ValueError,
        KeyError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
        json.JSONDecodeError,
        NotImplementedError,
    ) as error:
        raise ValueError(_not_a_tree(path, f"it cannot be read as one ({type(error).__name__})")) from None
    _check_header(header, path)
    if header.get("sha256") != _digest(arrays):
        raise ValueError(_not_a_tree(path, "its contents do not match their checksum"))
    return {**_header_fields(header), **arrays}, header


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


def fields_from_json(text: str, source: str | os.PathLike[str] = "JSON text") -> dict[str, Any]:
    """Read what :func:`to_json` wrote; return the fields of a ClusterTree."""
    try:
        body = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(_not_a_tree(source, f"it is not JSON ({error})")) from None
    _check_header(body, source)
    try:
        links = np.empty(len(body["links"]["left"]), dtype=LINK)
        for name in LINK.names or ():
            links[name] = body["links"][name]
        pairs = body["object_pairs"]
        return {
            **_header_fields(body),
            "links": links,
            "names": None if body["names"] is None else np.array(body["names"], dtype=np.str_),
            "objects": np.array(body["objects"], dtype=np.intp),
            "weights": np.array(body["weights"], dtype=np.float64),
            "object_pairs": None if pairs is None else np.array(pairs, dtype=np.intp).reshape(-1, 2),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(_not_a_tree(source, f"a part is missing or damaged ({error!r})")) from None


def _header(tree: ClusterTree) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "n_objects": tree.n_objects,
        "parameters": dict(tree.parameters),
        "engine": tree.engine,
        "reason": tree.reason,
    }


def _header_fields(header: dict[str, Any]) -> dict[str, Any]:
    return {name: header[name] for name in ("n_objects", "parameters", "engine", "reason")}


def _check_header(header: Any, source: object) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(_not_a_tree(source, "it is a file of another kind"))
    if header.get("version") != VERSION:
        raise ValueError(
            _not_a_tree(source, f"it has format version {header.get('version')}, this release reads {VERSION}")
        )
    if not {"n_objects", "parameters", "engine", "reason"} <= header.keys():
        raise ValueError(_not_a_tree(source, "its header is incomplete"))


def _digest(arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _not_a_tree(source: object, why: str) -> str:
    return explain(
        f"{os.fspath(source) if isinstance(source, os.PathLike) else source} is not a usable tree file: {why}",
        "files written by ClusterTree.save or ClusterTree.to_json",
        "make the tree again with reliac.cluster and save it",
    )
