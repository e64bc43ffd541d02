"""Files: whatever the system has to say about one is told in three parts."""

from __future__ import annotations

import errno
import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import reliac
from problems import blobs
from reliac.errors import Message
from reliac.files import read_all, write_atomically

TREE = reliac.cluster(blobs(2, n=12))
CALLS = {
    "load": reliac.load,
    "save": TREE.save,
    "checkpoint": lambda path: reliac.cluster(blobs(2, n=12), checkpoint=path),
}


@pytest.fixture(params=CALLS)
def refused(request):
    """Use a path in one of the ways there are, and return the error."""

    def use(path):
        with pytest.raises((OSError, ValueError, TypeError)) as caught:
            CALLS[request.param](path)
        assert isinstance(caught.value.args[0], Message), caught.value
        return caught.value

    return use


@pytest.mark.parametrize("path", [5, 2.5, None, ["a"], np.arange(3), True], ids=repr)
def test_what_is_no_path_is_told_by_its_type(refused, path, request):
    if path is None and "checkpoint" in request.node.callspec.params.values():
        return  # no checkpoint
    assert f"is of type {type(path).__name__}" in str(refused(path))


def test_a_null_character_is_told(refused, tmp_path):
    assert "holds a null character" in str(refused(f"{tmp_path}/a\0b"))


def test_what_no_file_system_can_write_is_told(refused):
    assert "holds what is no character of a file name" in str(refused("\udce4\ud800"))


def test_a_checkpoint_may_be_given_as_bytes(tmp_path):
    path = os.fsencode(tmp_path / "run.part")
    assert np.array_equal(reliac.cluster(blobs(2, n=12), checkpoint=path).links, TREE.links)


@pytest.mark.parametrize("folder", [5, "a" * 5000])
def test_a_folder_of_data_sets_that_is_none_is_told(folder):
    with pytest.raises((TypeError, reliac.errors.DatasetError), match=r"folder=.*Allowed: .*Next: "):
        reliac.datasets.load("ecoli", folder=folder)


def test_a_name_that_is_too_long_is_told(refused, tmp_path):
    told = str(refused(tmp_path / ("x" * 3000)))
    assert "There is no file" in told or "file name too long" in told
    assert len(told) < 1000


def test_links_that_lead_in_a_circle_are_told(refused, tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    refused(tmp_path / "a")


def test_bytes_are_a_path_too(tmp_path):
    TREE.save(os.fsencode(tmp_path / "t"))
    assert reliac.load(os.fsencode(tmp_path / "t")).n_objects == 12


def test_a_full_disk_is_told_and_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("reliac.files.os.fsync", full)
    with pytest.raises(
        OSError, match=r"t cannot be written: no space left.*Allowed: .*Next: free some space"
    ) as caught:
        write_atomically(tmp_path / "t", b"content")
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "command", ["reliac levels t --to csv", "reliac cluster t --to json", "reliac cluster t --to tree"]
)
def test_a_full_standard_output_is_told(tmp_path, command):
    TREE.save(tmp_path / "t")
    words = command.split()[1:]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "reliac", *words], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    told = done.stderr.decode()
    assert told.startswith("reliac: error: Standard output cannot be written: no space left")
    assert told.count("\n") == 1


def test_a_stream_without_end_is_refused_at_half_of_the_free_memory(monkeypatch):
    class Endless:
        def read(self, size):
            return bytes(size)

    monkeypatch.setattr("reliac.files.free_memory", lambda: 10**7)
    with pytest.raises(MemoryError, match=r"It holds more than .*Allowed: .*Next: "):
        read_all(Endless(), "It")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_without_end_is_refused(monkeypatch, run):
    monkeypatch.setattr("reliac.files.free_memory", lambda: 10**7)
    with pytest.raises(MemoryError):
        reliac.load("/dev/zero")
    assert "holds more than" in run("cluster", "/dev/zero", status=2).err


def test_a_gzip_file_that_unpacks_to_more_than_fits_is_refused(monkeypatch, run, tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 10**6))
    monkeypatch.setattr("reliac.machine.free_memory", lambda: 10**6)
    assert "needs about" in run("cluster", tmp_path / "t.csv.gz", status=2).err
    monkeypatch.undo()
    content = bytearray((tmp_path / "t.csv.gz").read_bytes())
    content[-4:] = bytes(4)  # it says that it holds nothing
    (tmp_path / "t.csv.gz").write_bytes(content)
    monkeypatch.setattr("reliac.files.free_memory", lambda: 10**6)
    assert "holds more than" in run("cluster", tmp_path / "t.csv.gz", status=2).err


def test_a_file_larger_than_memory_is_refused_unread(run, tmp_path):
    with open(tmp_path / "huge.reliac", "wb") as file:
        file.truncate(2**40)  # takes no space on most disks
    with pytest.raises(MemoryError, match=r"huge.reliac needs about 1024.0 GiB.* are free\.\nNext: "):
        reliac.load(tmp_path / "huge.reliac")
    for command in ("info", "cluster"):
        assert "needs about 1024.0 GiB" in run(command, tmp_path / "huge.reliac", status=2).err


def test_a_closed_standard_input_is_told(monkeypatch, run):
    monkeypatch.setattr(sys, "stdin", None)
    assert "Standard input is closed" in run("cluster", "-", status=2).err
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert "Standard input is empty" in run("cluster", "-", status=2).err
