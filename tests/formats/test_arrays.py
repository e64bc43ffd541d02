"""Arrays in files: what a header declares is compared with what is there, before anything is allocated or unpacked."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

import reliac
from problems import blobs
from reliac.formats.arrays import Archive, Unusable, read_array
from reliac.tree.storage import to_bytes


def saved(save, *arrays, **named):
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


def npy(header, data=b"", version=1):
    text = header.encode("latin-1")
    width = "<H" if version == 1 else "<I"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(width, len(text)) + text + data


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


@pytest.fixture
def little_memory():
    """Check that no more than ten megabytes are taken."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 2**20


# --- what was written comes back ---


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(24, dtype=">i2").reshape(2, 3, 4),
        np.array(["a", "longer"]),
        np.array(7.5),
        np.empty((0, 3)),
        np.zeros(3, dtype=[("x", "<f8"), ("y", "<i8")]),
        np.array([True, False]),
        np.array(["2020-01-01"], dtype="M8[D]"),
    ],
    ids=lambda array: f"{array.dtype} {array.shape}",
)
def test_arrays_come_back_as_numpy_reads_them(array):
    for found in (
        read_array(io.BytesIO(saved(np.save, array))),
        Archive(saved(np.savez, X=array)).read("X"),
        Archive(saved(np.savez_compressed, X=array)).read("X"),
    ):
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)
        assert found.flags.f_contiguous or not array.flags.f_contiguous


def test_headers_of_python_2_and_of_later_versions_are_read():
    data = np.arange(3.0).tobytes()
    for version in (1, 2, 3):
        found = read_array(
            io.BytesIO(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3L,)}  \n", data, version))
        )
        assert found.tolist() == [0, 1, 2]


# --- damage ---


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000000000000)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f8', 'fortran_order': 1, 'shape': (3,)}",
        "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': ('<f8', (1000000000,)), 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': " + "(" * 3000,
        "'\\d'",
        "(((",
        "",
        "\x00" * 40,
    ],
    ids=lambda header: header[:60],
)
def test_a_header_that_cannot_be_is_refused_before_anything_is_allocated(header, little_memory):
    for version in (1, 2, 3):
        with pytest.raises(Unusable):
            read_array(io.BytesIO(npy(header, b"\0" * 16, version)))
        with pytest.raises(Unusable):
            Archive(zipped(X=npy(header, b"\0" * 16, version))).read("X")


def test_a_header_that_declares_a_long_header_is_refused():
    with pytest.raises(Unusable, match="declares 4294967295 bytes"):
        read_array(io.BytesIO(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}"))


def test_what_fills_more_than_the_free_memory_is_not_unpacked(monkeypatch, little_memory):
    bomb = zipped(X=npy("{'descr': '|u1', 'fortran_order': False, 'shape': (30000000,)}", bytes(3 * 10**7)))
    assert len(bomb) < 10**5
    tracemalloc.reset_peak()
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 2 * 10**7)
    with pytest.raises(MemoryError, match=r"shape \(30000000,\) needs about .* are free\.\nNext: "):
        Archive(bomb).read("X")


# --- trees ---


def with_parts(**parts):
    """A tree file with some of its members replaced."""
    content = {}
    with zipfile.ZipFile(io.BytesIO(to_bytes(reliac.cluster(blobs(2, n=12), "single")))) as archive:
        for name in archive.namelist():
            content[name.removesuffix(".npy")] = archive.read(name)
    for name, part in parts.items():
        if part is None:
            del content[name]
        else:
            content[name] = part if isinstance(part, bytes) else saved(np.save, part)
    return zipped(**content)


def header_with(**change):
    with zipfile.ZipFile(io.BytesIO(to_bytes(reliac.cluster(blobs(2, n=12), "single")))) as archive:
        header = json.loads(str(np.load(io.BytesIO(archive.read("header.npy")))))
    return np.array(json.dumps(header | change))


@pytest.mark.parametrize(
    "parts",
    [
        {"header": header_with(n_objects=10**12)},
        {"header": header_with(n_objects=10**30)},
        {"header": header_with(n_objects=3)},
        {"header": np.array("{" * 300_000)},
        {"header": np.array(["{}"] * 3)},
        {"header": header_with(n_objects=5 * 10**6), "objects": np.zeros(5 * 10**6, np.int64)},
        {"objects": np.zeros(5 * 10**6, np.int64)},
        {"names": np.zeros(5 * 10**6, "U8")},
        {"weights": np.zeros(5 * 10**6)},
        {"weights": np.zeros(12, "U3")},
        {"weights": None},
        {"links": np.zeros(5 * 10**6, "<f8")},
        {"links": None},
        {"object_pairs": np.zeros((5 * 10**6, 2), np.int64)},
    ],
    ids=lambda parts: " ".join(f"{name} {getattr(part, 'shape', part)}" for name, part in parts.items()),
)
def test_a_tree_file_whose_parts_are_not_those_of_its_header_is_refused_before_they_are_unpacked(
    tmp_path, parts, little_memory
):
    content = with_parts(**parts)
    tracemalloc.reset_peak()
    (tmp_path / "t.reliac").write_bytes(content)
    with pytest.raises(ValueError, match=r"not a usable tree file: .*Allowed: .*Next: "):
        reliac.load(tmp_path / "t.reliac")


def test_a_tree_that_does_not_fit_into_memory_is_refused_as_such(tmp_path, monkeypatch):
    reliac.cluster(blobs(2)).save(tmp_path / "t")
    (tmp_path / "t.json").write_text(reliac.cluster(blobs(2)).to_json())
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 500)
    for name in ("t", "t.json"):
        with pytest.raises(MemoryError, match=r"needs about .* are free\.\nNext: "):
            reliac.load(tmp_path / name)


def test_json_that_declares_billions_of_objects_is_refused_before_anything_of_that_size_is_made(little_memory):
    body = json.loads(reliac.cluster(blobs(2, n=12), "single").to_json())
    for n in (10**9, 10**12, 10**18):
        with pytest.raises(ValueError, match=r"not a usable tree file: .*Allowed: .*Next: "):
            reliac.ClusterTree.from_json(json.dumps(body | {"n_objects": n}))


def test_what_is_packed_by_bzip2_is_not_unpacked():
    """It would be unpacked as a whole before its header is seen."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr(
            "X.npy", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (30000000,)}", bytes(3 * 10**7))
        )
    for use in (Archive.declared, Archive.read):
        with pytest.raises(Unusable, match=r"packed by bzip2.*pack it by deflate"):
            use(Archive(buffer.getvalue()), "X")
