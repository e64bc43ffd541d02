"""Going on from an early-stopped tree: with its own data only, with threads and progress, from a file too."""

from __future__ import annotations

import numpy as np
import pytest

import reliac
from problems import blobs


@pytest.fixture
def reloaded(tmp_path):
    def reload(tree):
        tree.save(tmp_path / "t")
        return reliac.load(tmp_path / "t")

    return reload


def test_other_data_than_the_trees_own_are_refused(reloaded):
    X = blobs(2)
    tree = reloaded(reliac.cluster(X, max_level=2))
    other = X.copy()
    other[17, 1] += 1e-9
    with pytest.raises(ValueError, match=r"other values than when the tree was made.*Next: "):
        tree.develop(X=other)
    full = reliac.cluster(X).links
    for form in (X, X.tolist(), np.asfortranarray(X), X[::-1][::-1]):  # the values count, not what holds them
        assert np.array_equal(tree.develop(X=form).links, full)


def test_distances_are_recognised_square_or_condensed(reloaded):
    from scipy.spatial.distance import pdist, squareform

    condensed = pdist(blobs(2))
    tree = reloaded(reliac.cluster(condensed, "average", metric="precomputed", max_level=2))
    assert np.array_equal(tree.develop(X=squareform(condensed)).links, tree.develop(X=condensed).links)
    with pytest.raises(ValueError, match="other values"):
        tree.develop(X=condensed * 2)


def test_data_changed_in_place_before_developing_are_noticed():
    X = blobs(2)
    tree = reliac.cluster(X, max_level=2)
    X[3] += 1
    with pytest.raises(ValueError, match="other values than when the tree was made"):
        tree.develop()


def test_large_data_are_recognised_by_evenly_spaced_rows(monkeypatch):
    monkeypatch.setattr("reliac.input.fingerprints.NUMBERS_HASHED", 30)
    X = blobs(2)
    tree = reliac.cluster(X, max_level=2)
    X[6] += 1  # one of the rows that count
    with pytest.raises(ValueError, match="other values"):
        tree.develop()


def test_developing_keeps_names_that_only_the_tree_has(reloaded):
    from dataclasses import replace

    X = blobs(2, n=20)
    names = np.array([f"row {i}" for i in range(20)])
    tree = replace(reliac.cluster(X, max_level=1), names=names)
    objects = np.flatnonzero(tree.labels() < 2)
    assert tree.develop([0, 1]).names.tolist() == names[objects].tolist()
    assert reloaded(tree).develop([0, 1], X=X).names.tolist() == names[objects].tolist()


def test_clusters_to_develop_come_in_any_container():
    tree = reliac.cluster(blobs(2), max_level=2)
    wanted = tree.develop([0, 2]).links
    for clusters in ((0, 2), {0, 2}, (label for label in (0, 2)), np.array([2, 0]), range(0, 3, 2), {0: "a", 2: "b"}):
        assert np.array_equal(tree.develop(clusters).links, wanted)
    assert tree.develop(np.array(1)).n_objects == tree.develop(1).n_objects
    for bad in ("02", 1.5, [None], object()):
        with pytest.raises(TypeError, match=r"Allowed: .*Next: give labels"):
            tree.develop(bad)


def test_a_tree_of_a_function_as_metric_is_developed_with_that_function(reloaded):
    def cosine(a, b):  # not the cosine that pdist knows
        return np.abs(a - b).sum()

    X = blobs(2, n=20)
    tree = reloaded(reliac.cluster(X, "average", metric=cosine, max_level=1))
    assert tree.parameters["metric"] == "callable cosine"
    with pytest.raises(ValueError, match=r"with a function as metric, cosine.*Next: pass the function"):
        tree.develop(X=X)
    with pytest.raises(ValueError, match=r"metric 'cityblock' for a tree of metric 'callable cosine'"):
        tree.develop(X=X, metric="cityblock")
    full = reliac.cluster(X, "average", metric=cosine)
    assert np.array_equal(tree.develop(X=X, metric=cosine).links, full.links)
    named = reloaded(reliac.cluster(X, "average", metric="l1", max_level=1))
    assert named.develop(X=X, metric="manhattan").n_clusters == 1
    with pytest.raises(ValueError, match="for a tree of metric 'cityblock'"):
        named.develop(X=X, metric=cosine)


def test_max_level_counts_the_levels_made_before():
    X = blobs(2)
    early = reliac.cluster(X, max_level=2)
    assert np.array_equal(early.develop(max_level=4).links, reliac.cluster(X, max_level=4).links)


def test_develop_needs_the_data_again_after_loading(tmp_path):
    X = blobs(2)
    reliac.cluster(X, max_level=2).save(tmp_path / "t")
    loaded = reliac.load(tmp_path / "t")
    with pytest.raises(ValueError, match="does not hold its data"):
        loaded.develop()
    with pytest.raises(ValueError, match="59 rows"):
        loaded.develop(X=X[1:])
    assert np.array_equal(loaded.develop(X=X).links, reliac.cluster(X).links)


def test_develop_stops_early_too_and_refuses_clusters_that_are_not_there():
    X = blobs(2)
    start = reliac.cluster(X, max_level=1)
    part = start.develop([0, 1, 2, 3], n_clusters=2)
    assert part.n_clusters == 2
    assert set(part.object_names) == {str(i) for i in np.flatnonzero(start.labels() < 4)}
    for bad in ([99], [], [-1]):
        with pytest.raises(ValueError, match="Allowed"):
            start.develop(bad)
    with pytest.raises(ValueError, match="to start from"):
        start.develop([0, 1], n_clusters=3)


def test_developing_tells_its_progress_and_takes_as_many_threads_as_asked_for(reloaded, monkeypatch):
    from reliac.engines.small.engine import SmallEngine

    asked, begin = [], SmallEngine.__init__

    def spied(self, problem, n_jobs=None):
        asked.append(n_jobs)
        begin(self, problem, n_jobs)

    monkeypatch.setattr(SmallEngine, "__init__", spied)
    X, seen = blobs(2), []
    early = reliac.cluster(X, max_level=2)
    for tree, data in ((early, None), (reloaded(early), X)):
        whole = tree.develop(X=data, n_jobs=3, progress=seen.append)
        assert [state.level for state in seen] == list(range(3, whole.n_levels + 1))
        assert (seen[-1].n_clusters, seen[-1].share) == (1, 1.0)
        seen.clear()
    assert asked == [None, 3, 3]


def test_developing_refuses_threads_and_progress_that_cannot_be():
    early = reliac.cluster(blobs(2), max_level=2)
    with pytest.raises(ValueError, match=r"n_jobs=0.*Allowed: .*Next: "):
        early.develop(n_jobs=0)
    with pytest.raises(TypeError, match=r"progress='bar'.*Allowed: .*Next: "):
        early.develop(progress="bar")


def test_developing_that_is_interrupted_keeps_what_it_has():
    def stop(state):
        raise KeyboardInterrupt

    X = blobs(2)
    with pytest.raises(reliac.Interrupted) as caught:
        reliac.cluster(X, max_level=2).develop(progress=stop)
    assert np.array_equal(caught.value.tree.links, reliac.cluster(X, max_level=3).links)
