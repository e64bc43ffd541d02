"""Settings shared by all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

import reliac.engines.compiled.ready  # noqa: F401  (compiled code lies where the machine keeps it, not a test)
from devices import choose_device

os.environ.setdefault("MPLBACKEND", "Agg")
choose_device()

#: Who is started by a shell in the background ignores Ctrl-C, and so do all processes that it starts. Tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection() -> Generator[None, None, None]:
    """Leave all that is imported and collected out of every search for garbage.

    These are millions of objects that stay to the end. To go through them takes half a second, each time, and tests
    that measure memory do that again and again.
    """
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """Give it back, for what modules clear away at the end."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets that RELIAC_DATA names, or one beside the project; without, tests skip."""
    folder = Path(os.environ.get("RELIAC_DATA") or Path(__file__).parents[2] / "shared" / "datasets")
    if not folder.is_dir():
        pytest.skip("RELIAC_DATA does not name a folder of data sets")
    return folder


@pytest.fixture
def run(capsys):
    """Run a command line in this process, check its exit code, and return what it printed."""
    from reliac.cli import main

    def run_command(*args, status=0):
        assert main([str(arg) for arg in args]) == status
        return capsys.readouterr()

    return run_command


@pytest.fixture
def cores(monkeypatch):
    """A function that says how many cores this machine has, for what follows from their number."""

    def say(number):
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(number)), raising=False)

    return say


@pytest.fixture
def two_cores(cores):
    """Two cores, on every machine: what threads need counts in estimates, and in what is advised."""
    cores(2)


@pytest.fixture
def own_places(tmp_path, monkeypatch):
    """A cache of its own for every test, and nothing from the environment of the machine."""
    for name in ("RELIAC_DATA", "RELIAC_MIRROR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RELIAC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "scikit-learn"))
    monkeypatch.setenv("no_proxy", "*")
