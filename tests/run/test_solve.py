"""One run: progress, Ctrl-C, checkpoints, the engine that finishes, and where a run may end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

import reliac
from problems import CRITERIA, blobs, lattice
from reliac.algorithm.contract import TooManyTies
from reliac.engines.choice import Choice
from reliac.engines.literal import LiteralEngine
from reliac.errors import InvariantError
from reliac.input.objects import Distances
from reliac.input.problem import Problem, make_problem
from reliac.run.solve import cluster_problem


def test_progress_is_told_after_every_level_and_counts_down():
    seen = []
    tree = reliac.cluster(blobs(2), progress=seen.append)
    assert [state.level for state in seen] == list(range(1, tree.n_levels + 1))
    assert [state.n_clusters for state in seen] == tree.cluster_counts[1:].tolist()
    assert seen[-1].share == 1.0
    assert seen[-1].seconds_left == 0.0


def test_the_progress_line_stays_silent_for_quick_work_and_speaks_for_long(capsys, monkeypatch):
    reliac.cluster(blobs(2), progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("reliac.run.progress.PATIENCE", 0.0)
    reliac.cluster(blobs(2), progress=True)
    assert "1 clusters left" in capsys.readouterr().err


def test_an_interrupted_run_keeps_what_it_has():
    def stop(state):
        if state.level == 3:
            raise KeyboardInterrupt

    X = blobs(2)
    with pytest.raises(reliac.Interrupted, match="level 3") as caught:
        reliac.cluster(X, progress=stop)
    assert np.array_equal(caught.value.tree.links, reliac.cluster(X, max_level=3).links)
    assert np.array_equal(caught.value.tree.develop().links, reliac.cluster(X).links)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_run_goes_on_from_its_checkpoint(tmp_path, criterion, monkeypatch):
    monkeypatch.setattr("reliac.run.checkpoint.INTERVAL", 0.0)
    path, X = tmp_path / "run.part", lattice(2, n=50)

    def crash(state):
        if state.level == 2:
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        reliac.cluster(X, criterion, checkpoint=path, progress=crash)
    seen = []
    tree = reliac.cluster(X, criterion, checkpoint=path, progress=seen.append)
    assert seen[0].level == 2
    assert np.array_equal(tree.links, reliac.cluster(X, criterion).links)
    assert not path.exists()


def test_a_checkpoint_of_other_data_or_options_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("reliac.run.checkpoint.INTERVAL", 0.0)
    path, X = tmp_path / "run.part", blobs(2)

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted):
        reliac.cluster(X, checkpoint=path, progress=interrupt)
    for other, options in [(X + 1, {}), (X, {"alpha": 0.5}), (X, {"criterion": "average"}), (X.astype(np.float32), {})]:
        with pytest.raises(ValueError, match="other data or options"):
            reliac.cluster(other, checkpoint=path, **options)
    assert reliac.cluster(X, checkpoint=path).n_clusters == 1


# --- who finishes ---


class Overwhelmed(LiteralEngine):
    """Makes two levels, and then finds no room for its ties."""

    name = "overwhelmed"

    def levels(self, level):
        for count, batch in enumerate(super().levels(level)):
            if count == 2:
                raise TooManyTies("no room in this test")
            yield batch


class Relief(LiteralEngine):
    """Remembers how many threads it may use."""

    asked: object = None

    def __init__(self, problem, n_jobs=None):
        super().__init__(problem, n_jobs)
        Relief.asked = n_jobs


def test_an_engine_that_ties_overwhelm_is_relieved_by_one_with_as_many_threads(monkeypatch):
    monkeypatch.setattr("reliac.run.solve.choose", lambda problem, engine: Choice(Overwhelmed, "asked for"))
    monkeypatch.setattr("reliac.run.solve.relief", lambda problem: Choice(Relief, "asked for"))
    X, seen = blobs(2), []
    tree = cluster_problem(make_problem(X), n_jobs=3, progress=seen.append)
    assert Relief.asked == 3
    assert (tree.engine, tree.reason) == ("literal", "ties left the overwhelmed engine no room")
    assert np.array_equal(tree.links, reliac.cluster(X, engine="literal").links)
    assert [state.level for state in seen] == list(range(1, tree.n_levels + 1))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_heights_are_computed_once_a_level(criterion, monkeypatch):
    problem, heights, calls = make_problem(blobs(2), criterion, metric="euclidean"), Problem.heights, []

    def counted(self, distances):
        calls.append(len(distances))
        return heights(self, distances)

    monkeypatch.setattr(Problem, "heights", counted)
    tree = cluster_problem(problem, "literal")
    assert calls == (-np.diff(tree.cluster_counts)).tolist()


# --- where a run ends ---


@dataclass(frozen=True, eq=False)
class PartlyLinked(Distances):
    """Distances of which some are infinite: these pairs are not linked."""

    may_end_in_forest = True


def two_islands(kind):
    """A problem of two sets of points without a link from one to the other."""
    X = np.concatenate((blobs(1, n=12), blobs(2, n=9)))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    problem = make_problem(D, "single", metric="precomputed")
    D[:12, 12:] = D[12:, :12] = np.inf
    return replace(problem, objects=kind(D, D[:12, :12].max()))


def test_a_forest_is_a_normal_end_where_the_kind_of_input_allows_it():
    tree = cluster_problem(two_islands(PartlyLinked), "literal")
    assert tree.labels().tolist() == [0] * 12 + [1] * 9
    assert tree.develop().n_clusters == 2
    assert tree.develop(1).n_objects == 9
    assert tree.spanning_tree().weights.max() < np.inf


def test_a_run_that_finds_no_link_is_a_fault_of_ours_for_other_kinds_of_input():
    with pytest.raises(InvariantError, match="no reliable link among 2 clusters: please report"):
        cluster_problem(two_islands(Distances), "literal")
    stopped = replace(two_islands(Distances), stop=reliac.cluster([[0.0]], n_clusters=1).problem.stop)
    assert cluster_problem(replace(stopped, stop=replace(stopped.stop, n_clusters=2)), "literal").n_clusters == 2


@pytest.mark.parametrize("longest", [1e150, 1e200, 1e308])
@pytest.mark.parametrize("criterion", ["ward", "centroid", "single"])
def test_a_limit_whose_square_is_no_number_stops_nothing_and_takes_no_time(criterion, longest):
    points = [[0.0], [1.0], [5.0], [7.0]]
    tree = reliac.cluster(points, criterion, metric="euclidean", max_distance=longest)
    assert np.array_equal(tree.links, reliac.cluster(points, criterion, metric="euclidean").links)
