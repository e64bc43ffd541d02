"""The bar: nothing for quick work, true times for long work, and no trouble where nobody can see it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import reliac
import reliac.run.history
from problems import blobs
from reliac.algorithm.contract import Pace
from reliac.input.options import Stop
from reliac.run.history import Progress
from reliac.run.outlook import Outlook
from reliac.run.progress import JsonLines, ProgressLine


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

    monkeypatch.setattr("reliac.run.solve.Progress", stop_at_level_2)
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


# --- the first search, and what is left ---


def test_the_first_search_tells_its_share_and_no_share_ever_falls(monkeypatch):
    monkeypatch.setattr("reliac.run.solve.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr("reliac.engines.vectors.engine.ROWS", 50)
    seen = []
    reliac.cluster(blobs(3, n=1000, d=4), engine="vectors", progress=seen.append)
    searching = [state for state in seen if state.searched < 1.0]
    assert len({state.searched for state in searching}) >= 19  # 20 pieces
    assert all(state.level == 0 for state in searching)
    assert seen[-1].searched == seen[-1].share == 1.0
    for name in ("searched", "share", "seconds", "level"):
        assert np.all(np.diff([getattr(state, name) for state in seen]) >= 0), name


@pytest.mark.parametrize(("d", "wanted"), [(16, 5), (3, 5)])
def test_the_search_for_edges_tells_its_share_too(d, wanted, monkeypatch):
    monkeypatch.setattr("reliac.run.solve.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr("reliac.engines.spanning.edges.OBJECTS_FOR_A_TREE", 500)
    seen = []
    reliac.cluster(blobs(3, n=2500, d=d), "single", engine="spanning", progress=seen.append)
    shares = [state.searched for state in seen]
    assert len(set(shares)) > wanted
    assert np.all(np.diff(shares) >= 0)
    assert shares[-1] == 1.0


def test_the_bar_appears_in_the_first_search(capsys, monkeypatch):
    monkeypatch.setattr("reliac.run.solve.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr("reliac.run.progress.PATIENCE", 0.0)
    reliac.cluster(blobs(3, n=600, d=4), engine="vectors", progress=True)
    told = capsys.readouterr().err
    assert "first search of 600 objects" in told
    assert "1 clusters left" in told


def told_and_true(monkeypatch, after, curve):
    """Return (share of the run, estimate / truth) for a first search, and levels that take ``after`` times as long.

    ``curve``: how their work is spread over the joins, which is not as expected.
    """
    now, told, whole = [0.0], [], 100.0 * (1.0 + after)
    monkeypatch.setattr("reliac.run.outlook.time.monotonic", lambda: now[0])
    outlook, expected = Outlook(10_000, Stop()), Pace(0.0, after=0.55, rising=1.8, falling=2.0)
    joined = np.linspace(0.0, 1.0, 1001)
    work = 1.0 - (1.0 - joined ** curve[0]) ** curve[1]
    for step in range(1, 200):
        percent = step if step <= 100 else step - 100
        now[0] = float(step) if step <= 100 else 100.0 + after * percent
        searched = min(1.0, step / 100)
        done = 0.0 if step <= 100 else float(np.interp(percent / 100, work, joined))
        left = outlook.look(int(10_000 * (1.0 - done)), step // 100, expected._replace(searched=searched)).seconds_left
        told.append((now[0] / whole, left / (whole - now[0])))
    return told


@pytest.mark.parametrize("after", [0.2, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("curve", [(1.8, 2.0), (1.5, 1.6), (2.1, 2.2)])
def test_what_is_left_is_known_to_a_factor_of_two_from_a_tenth_of_the_run_on(after, curve, monkeypatch):
    told = [(share, ratio) for share, ratio in told_and_true(monkeypatch, after, curve) if 0.1 <= share <= 0.6]
    assert len(told) > 50
    assert [(share, ratio) for share, ratio in told if not 0.5 <= ratio <= 2.0] == []


def test_a_run_that_stops_after_some_levels_expects_no_more(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("reliac.run.outlook.time.monotonic", lambda: now[0])
    outlook = Outlook(1000, Stop(max_level=4))
    for level, clusters in enumerate((600, 360, 216), 1):
        now[0] += 1.0
        estimate = outlook.look(clusters, level)
    assert 0.2 < estimate.seconds_left < 2.0
    assert outlook.look(130, 4) == (1.0, 0.0)


def test_before_anything_is_known_nothing_is_promised():
    assert Outlook(100, Stop()).look(100, 0, Pace(0.0, after=1.0)).seconds_left == float("inf")


# --- lines of JSON ---


def test_lines_of_json_tell_the_same_for_logs(capsys, monkeypatch):
    monkeypatch.setattr("reliac.run.solve.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr("reliac.run.progress.SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr("reliac.run.progress.SHARE_BETWEEN", 0.0)
    reliac.cluster(blobs(3, n=600, d=4), engine="vectors", progress="json")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0]["searched"] == 0.0
    assert lines[0]["seconds_left"] is None
    assert any(0.0 < line["searched"] < 1.0 for line in lines)
    assert [line["done"] for line in lines] == [False] * (len(lines) - 1) + [True]
    assert (lines[-1]["share"], lines[-1]["clusters"], lines[-1]["objects"]) == (1.0, 1, 600)
    assert lines[-1]["time"].endswith("Z")


def test_a_quick_run_writes_its_last_line_and_a_long_one_about_one_a_second(capsys):
    lines = JsonLines()
    for tenth in range(1000):
        share, left = tenth / 1000, 100.0 - tenth / 10
        lines(Progress(tenth, 1000 - tenth, 1000, 1, tenth / 10, 1.0, share, left))
    assert 90 <= len(capsys.readouterr().err.splitlines()) <= 101
    lines.close()
    assert json.loads(capsys.readouterr().err)["done"]
    JsonLines().close()
    lines.close(complete=False)
    assert capsys.readouterr().err == ""


def test_other_words_for_progress_are_refused():
    with pytest.raises(TypeError, match=r"progress='yaml'.*'json'.*Next: "):
        reliac.cluster(blobs(2), progress="yaml")


def test_a_function_is_told_whatever_it_is_equal_to():
    class Zero(int):
        def __call__(self, progress):
            told.append(progress)

    told = []
    reliac.cluster(blobs(1, n=30), "ward", progress=Zero(0))
    assert told[-1].n_clusters == 1
