"""Settings shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets that RELIAC_DATA names; tests that want it skip where there is none."""
    folder = os.environ.get("RELIAC_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("RELIAC_DATA does not name a folder of data sets")
    return Path(folder)


@pytest.fixture
def run(capsys):
    """Run a command line in this process, check its exit code, and return what it printed."""
    from reliac.cli import main

    def run_command(*args, status=0):
        assert main([str(arg) for arg in args]) == status
        return capsys.readouterr()

    return run_command
