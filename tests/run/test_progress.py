"""The bar: nothing for quick work, true times for long work, and no trouble where nobody can see it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import reliac
import reliac.run.history
from reliac.run.progress import ProgressLine


def test_quick_work_shows_nothing_and_does_not_import_the_library_that_draws():
    code = """
import sys, reliac
reliac.cluster([[0.0], [1.0], [5.0]], progress=True)
sys.exit("tqdm" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_bar_tells_the_share_the_text_and_times_since_the_start_of_the_work(capsys):
    line = ProgressLine()
    line.show(0.25, "level 3, 75 clusters left", 20.0, done=False)
    told = capsys.readouterr().err
    assert " 25%|" in told
    assert "level 3, 75 clusters left [00:20<01:00]" in told
    line.show(1.0, "level 9, 1 clusters left", 80.0, done=True)
    line.close()
    told = capsys.readouterr().err
    assert "100%|" in told
    assert "level 9, 1 clusters left [" in told
    assert told.endswith("\n")
    line.close()
    assert capsys.readouterr().err == ""


def test_the_last_state_is_drawn_even_if_it_comes_at_once_after_another(capsys):
    line = ProgressLine()
    for state in range(50):
        line.show(state / 100, f"step {state}", 5.0, done=False)
    line.close()
    assert "step 49" in capsys.readouterr().err


def test_an_interrupted_run_ends_the_line_of_its_bar(capsys, monkeypatch):
    monkeypatch.setattr("reliac.run.progress.PATIENCE", 0.0)
    real = reliac.run.history.Progress
    seen = []

    def stop_at_level_2(level, *rest):
        seen.append(level)
        if level == 2:
            raise KeyboardInterrupt
        return real(level, *rest)

    monkeypatch.setattr("reliac.run.history.Progress", stop_at_level_2)
    with pytest.raises(reliac.Interrupted):
        reliac.cluster([[0.0], [1.0], [5.0], [6.0], [30.0]], progress=True)
    assert seen == [1, 2]
    told = capsys.readouterr().err
    assert "level 1, 3 clusters left" in told
    assert told.endswith("\n")


def test_without_standard_error_there_is_no_bar_and_no_error(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    line = ProgressLine()
    line.show(0.5, "half", 9.0, done=False)
    line.close()
