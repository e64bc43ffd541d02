"""Tree files: what was written comes back, what is damaged is refused, always in the same way."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import stat

import numpy as np
import pytest

import reliac
from problems import blobs
from reliac import ClusterTree
from reliac.errors import InvariantError
from reliac.files import write_atomically

NO_TREE = r"not a usable tree file: .*Allowed: .*Next: "


@pytest.fixture
def body():
    return json.loads(reliac.cluster(blobs(2, n=12), "single").to_json())


def same(a, b):
    arrays = ("links", "names", "objects", "weights", "object_pairs")
    texts = ("n_objects", "parameters", "engine", "reason", "fingerprint")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays) and all(
        getattr(a, name) == getattr(b, name) for name in texts
    )


# --- damage ---


@pytest.mark.parametrize("offset", range(7))
def test_a_file_with_any_one_byte_flipped_loads_equal_or_is_refused(tmp_path, offset):
    path = tmp_path / "tree.reliac"
    tree = reliac.cluster(blobs(2, n=12), "single")
    tree.save(path)
    whole = path.read_bytes()
    refused = loaded = 0
    for place in range(offset, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF if place % 2 else 0x01
        path.write_bytes(damaged)
        try:
            found = reliac.load(path)
        except ValueError as error:
            refused += "not a usable tree file" in str(error)
        else:
            assert same(found, tree), place
            loaded += 1
    assert refused + loaded == len(range(offset, len(whole), 7))
    assert refused > loaded


@pytest.mark.parametrize("cut", [1, 3, 10, 100, 500])
def test_a_file_cut_short_is_refused(tmp_path, cut):
    reliac.cluster(blobs(2)).save(tmp_path / "t")
    (tmp_path / "t").write_bytes((tmp_path / "t").read_bytes()[:-cut])
    with pytest.raises(ValueError, match=NO_TREE):
        reliac.load(tmp_path / "t")


@pytest.mark.parametrize("save", [np.save, np.savez])
def test_an_array_file_is_no_tree(tmp_path, save):
    with open(tmp_path / "t", "wb") as file:
        save(file, np.arange(3))
    with pytest.raises(ValueError, match=NO_TREE):
        reliac.load(tmp_path / "t")


@pytest.mark.parametrize(
    "change",
    [
        {"n_objects": "x"},
        {"n_objects": None},
        {"n_objects": 12.5},
        {"n_objects": True},
        {"n_objects": 13},
        {"n_objects": -1},
        {"n_objects": 10**30},
        {"parameters": None},
        {"parameters": [1]},
        {"engine": None},
        {"links": None},
        {"links": {"left": [0]}},
        {"names": [1] * 12},
        {"names": 5},
        {"weights": [None] * 12},
        {"weights": "heavy"},
        {"weights": [1.0] * 11},
        {"objects": [0.5] * 12},
        {"object_pairs": [[0, 99]] * 11},
        {"object_pairs": [[0, -1]] * 11},
        {"object_pairs": [0, 1]},
        {"object_pairs": [[0.5, 1.5]] * 11},
    ],
    ids=repr,
)
def test_json_with_a_part_that_cannot_be_is_refused(tmp_path, body, change):
    text = json.dumps(body | change)
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(ValueError, match=NO_TREE):
        reliac.load(tmp_path / "t.json")
    with pytest.raises(ValueError, match=rf"The JSON text is {NO_TREE}"):
        ClusterTree.from_json(text)


@pytest.mark.parametrize(
    ("column", "value"), [("level", 10**30), ("left", 0.5), ("distance", "far"), ("size", None), ("level", True)]
)
def test_json_links_with_a_value_that_cannot_be_are_refused(body, column, value):
    body["links"][column][3] = value
    with pytest.raises(ValueError, match=NO_TREE):
        ClusterTree.from_json(json.dumps(body))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": ' * 100_000, "\udc80{}", "", "null"])
def test_text_that_is_no_json_of_ours_is_refused(text):
    with pytest.raises(ValueError, match=NO_TREE):
        ClusterTree.from_json(text)


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b" \n\t", b"\xef\xbb\xbf\r\n "])
def test_a_byte_order_mark_and_blanks_before_json_do_no_harm(tmp_path, before):
    tree = reliac.cluster(blobs(2))
    (tmp_path / "t").write_bytes(before + tree.to_json().encode() + b"\n\n")
    assert same(reliac.load(tmp_path / "t"), tree)


def test_a_damaged_checkpoint_is_refused_like_any_damaged_tree(tmp_path):
    (tmp_path / "c").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(ValueError, match=r"not a usable checkpoint: .*Allowed: .*Next: "):
        reliac.cluster(blobs(2), checkpoint=tmp_path / "c")


def test_pairs_of_a_spanning_tree_must_be_objects():
    tree = reliac.cluster(blobs(2, n=5), "single")
    for pair in ([0, 5], [-1, 0]):
        pairs = tree.object_pairs.copy()
        pairs[1] = pair
        with pytest.raises(InvariantError, match="invariant 5"):
            ClusterTree(5, tree.links, tree.objects, tree.weights, object_pairs=pairs)


# --- files ---


def test_a_missing_file_and_a_folder_are_told_in_three_parts(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*Allowed: .*Next: "):
        reliac.load(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError, match=r"is a folder.*Allowed: .*Next: "):
        reliac.load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*Allowed: .*Next: "):
        reliac.cluster(blobs(2)).save(tmp_path / "no" / "t")
    with pytest.raises(IsADirectoryError, match=r"is a folder.*Allowed: .*Next: "):
        reliac.cluster(blobs(2)).save(tmp_path)


def test_writing_keeps_the_mode_of_a_file_that_is_there(tmp_path):
    path = tmp_path / "t"
    write_atomically(path, "old")
    os.chmod(path, 0o640)
    write_atomically(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_text() == "new"


# --- copies ---


def test_copies_can_be_developed_as_their_original():
    tree = reliac.cluster(blobs(2), max_level=2)
    for other in (copy.copy(tree), copy.deepcopy(tree)):
        assert same(other, tree)
        assert np.array_equal(other.develop().links, tree.develop().links)
    copy.deepcopy(tree).parameters["alpha"] = 7
    assert tree.parameters["alpha"] == 1.0


def test_a_tree_from_a_pickle_cannot_be_changed_either():
    tree = pickle.loads(pickle.dumps(reliac.cluster(blobs(2), "single")))
    for array in (tree.links, tree.weights, tree.objects, tree.object_pairs):
        assert not array.flags.writeable


def test_a_saved_tree_has_no_pickle_inside():
    buffer = io.BytesIO()
    from reliac.tree.storage import to_bytes

    buffer.write(to_bytes(reliac.cluster(blobs(2))))
    buffer.seek(0)
    with np.load(buffer, allow_pickle=False) as archive:
        assert {archive[name].dtype.kind for name in archive.files} <= set("Uifv V".replace(" ", ""))
