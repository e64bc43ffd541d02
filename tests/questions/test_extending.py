"""More rows, or fewer: always the tree of a fresh run, bit for bit, by kept lists or without."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import reliac
from problems import ALPHAS, CRITERIA, blobs, lattice
from reliac.algorithm.contract import EarlierLists
from reliac.engines.lists import reusing
from reliac.engines.lists.reusing import no_lists
from reliac.engines.vectors.engine import VectorsEngine
from reliac.input.condensed import to_condensed

FIELDS = ("n_objects", "engine", "fingerprint", "parameters")
ARRAYS = ("links", "objects", "weights", "names", "object_pairs")


def same(tree, wanted):
    """Whether all that a user can see is equal to the last bit, but for the reason."""
    assert [getattr(tree, name) for name in FIELDS] == [getattr(wanted, name) for name in FIELDS]
    for name in ARRAYS:
        ours, theirs = getattr(tree, name), getattr(wanted, name)
        assert (ours is None) == (theirs is None)
        assert ours is None or (ours.dtype == theirs.dtype and ours.tobytes() == theirs.tobytes()), name
    return True


@pytest.fixture
def helped(monkeypatch):
    """How many lists were made with the help of earlier ones."""
    count, search = [0], VectorsEngine._search_changed

    def counted(self, known, helper):
        failed = search(self, known, helper)
        count[0] += int((~failed).sum())
        return failed

    monkeypatch.setattr(VectorsEngine, "_search_changed", counted)
    monkeypatch.setattr(reusing, "FEWEST_LISTS", 1)  # small problems have few
    return count


def rows_of(rng, n):
    """Rows of one of several kinds: full of ties, without any, in clusters, far from zero, with equal rows."""
    d = int(rng.integers(1, 6))
    kind = rng.integers(0, 5)
    if kind == 0:
        return rng.integers(0, rng.integers(2, 12), size=(n, d)).astype(float)
    rows = rng.normal(size=(n, d))
    if kind == 1:
        return rows
    if kind == 2:
        return rows * 0.1 + rng.integers(0, 5, size=(n, 1))
    if kind == 3:
        return rows * 0.1 + rng.choice([1e3, 1e6]) * rng.integers(1, 3, size=(n, 1))
    return rows[rng.integers(0, n, size=n)].astype(np.float32)


def options_of(rng, n):
    """The options of a run: a criterion, a metric, ties, shares, rules that stop it."""
    ways = [("ward", "euclidean"), ("average", "sqeuclidean"), ("average", "cosine"), ("ward", "sqeuclidean")]
    criterion, metric = [*ways, ("centroid", "euclidean"), ("median", "euclidean")][rng.integers(0, 6)]
    rules = [{}, {}, {"n_clusters": int(rng.integers(1, n // 2))}, {"max_level": int(rng.integers(0, 6))}]
    return {
        "criterion": criterion,
        "metric": metric,
        "alpha": float(rng.choice([0.0, 0.3, 1.0, 1.0])),
        "tie_tolerance": float(rng.choice([0.0, 0.0, 1e-9, 0.05])),
        **[*rules, {"max_distance": float(rng.choice([0.0, 0.5, 2.0]))}][rng.integers(0, 5)],
    }


@pytest.mark.parametrize("seed", range(6))
def test_extending_and_shortening_by_lists_give_a_fresh_run_bit_for_bit(seed, helped):
    rng = np.random.default_rng(seed)
    for _ in range(12):
        n = int(rng.integers(40, 220))
        X, options = rows_of(rng, n), options_of(rng, 20)
        X = X + (options["metric"] == "cosine") * (~X.any(axis=1))[:, None]
        kinds = [np.ones(n), rng.integers(1, 4, size=n).astype(float), rng.random(n) + 0.1]
        weights = kinds[rng.choice([0, 0, 1, 2])]
        options["engine"] = "vectors" if X.shape[1] > 3 or rng.random() < 0.8 else "spatial"

        def fresh(rows, X=X, weights=weights, options=options):
            return reliac.cluster(X[rows], weights=weights[rows], **options)

        first, second = sorted(rng.integers(25, n, size=2))
        tree = reliac.cluster(X[:first], weights=weights[:first], keep_lists=True, **options)
        tree = tree.extend(X[first:second], weights=weights[first:second])
        assert same(tree, fresh(np.arange(second)))
        tree = tree.extend(X[second:], weights=weights[second:], n_jobs=2)
        assert same(tree, fresh(np.arange(n)))
        gone = np.flatnonzero(rng.random(n) < rng.choice([0.02, 0.1]))
        stays = np.setdiff1d(np.arange(n), gone)
        assert same(tree.without(gone), fresh(stays))
    assert helped[0] > 1000


def test_a_few_rows_more_are_hardly_searched(monkeypatch, helped):
    X = np.random.default_rng(0).normal(size=(1500, 12))
    tree = reliac.cluster(X[:1485], "ward", engine="vectors", keep_lists=True)
    searched, search = [0], VectorsEngine._search_columns

    def counted(self, slots, push):
        searched[0] += len(slots) * self.n_clusters
        search(self, slots, push)

    monkeypatch.setattr(VectorsEngine, "_search_columns", counted)
    fresh = reliac.cluster(X, "ward", engine="vectors")
    all_of_it, searched[0] = searched[0], 0
    assert same(tree.extend(X[1485:]), fresh)
    assert searched[0] < 0.2 * all_of_it
    assert helped[0] > 1485


@pytest.mark.parametrize("criterion", CRITERIA)
def test_without_lists_a_fresh_run_is_made_and_said(criterion):
    for seed, alpha in enumerate(ALPHAS):
        X = lattice(seed, n=30) if seed % 2 else blobs(seed, n=30)
        tree = reliac.cluster(X[:25], criterion, alpha=alpha)
        for made, wanted in ((tree.extend(X[25:]), X), (tree.without(3), np.delete(X[:25], 3, axis=0))):
            assert same(made, reliac.cluster(wanted, criterion, alpha=alpha))
            assert "a fresh run, since" in made.reason
            assert made.lists is None


def test_engines_without_lists_keep_none_and_say_so():
    X = blobs(1, n=60)
    tree = reliac.cluster(X[:50], "complete", keep_lists=True)
    assert tree.lists == {}
    more = tree.extend(X[50:])
    assert same(more, reliac.cluster(X, "complete"))
    assert more.lists == {}
    assert "share no lists" in more.reason


def test_equal_rows_that_fill_lists_are_told_from_others(helped):
    rng = np.random.default_rng(3)
    X = np.concatenate((np.zeros((60, 4)), rng.normal(size=(100, 4)), np.zeros((30, 4)), rng.normal(size=(10, 4))))
    for first in (60, 150, 195):
        tree = reliac.cluster(X[:first], "ward", engine="vectors", keep_lists=True)
        assert same(tree.extend(X[first:]), reliac.cluster(X, "ward", engine="vectors"))
        assert same(tree.without(range(45)), reliac.cluster(X[45:first], "ward", engine="vectors"))


def test_sparse_rows_and_names_go_along():
    import pandas as pd
    from scipy.sparse import csr_array

    X = lattice(5, n=80, d=6, side=3)
    sparse = reliac.cluster(csr_array(X[:70]), "ward", engine="vectors", keep_lists=True).extend(csr_array(X[70:]))
    assert same(sparse, reliac.cluster(csr_array(X), "ward", engine="vectors"))
    frame = pd.DataFrame(X, columns=list("abcdef"), index=[f"row {i}" for i in range(80)])
    tree = reliac.cluster(frame[:70], "average")
    assert same(tree.extend(frame[70:][list("fedcba")]), reliac.cluster(frame, "average"))
    assert same(tree.extend(X[70:], names=frame.index[70:]), reliac.cluster(frame, "average"))
    assert same(tree.without(["row 3", 5]), reliac.cluster(frame[:70].drop(index=["row 3", "row 5"]), "average"))
    assert same(tree.without(np.arange(70) < 9), reliac.cluster(frame[9:70], "average"))


def test_given_distances_are_extended_by_rows_of_distances_to_all():
    square = squareform(pdist(lattice(2, n=40, d=3)))
    for form in (square, square.astype(np.float32)):
        for old in (form[:33, :33], to_condensed(form[:33, :33], 33)):
            for criterion in ("single", "average", "ward"):
                tree = reliac.cluster(old, criterion, metric="precomputed")
                wanted = reliac.cluster(form, criterion, metric="precomputed")
                assert same(tree.extend(form[33:]), wanted)
                assert same(
                    wanted.without([0, 7]),
                    reliac.cluster(np.delete(np.delete(form, [0, 7], 0), [0, 7], 1), criterion, metric="precomputed"),
                )


def test_constraints_of_the_old_rows_stay():
    X = blobs(2, n=40)
    options = {"must_link": [(0, 5), (5, 9)], "cannot_link": [(1, 2)], "max_size": 20}
    tree = reliac.cluster(X[:30], "ward", **options)
    assert same(tree.extend(X[30:]), reliac.cluster(X, "ward", **options))
    left = {"must_link": [(0, 4)], "cannot_link": [(1, 2)], "max_size": 20}
    assert same(tree.without([3, 9]), reliac.cluster(np.delete(X[:30], [3, 9], 0), "ward", **left))


def test_lists_are_saved_with_the_tree_and_pickled(tmp_path, helped):
    X = np.random.default_rng(1).normal(size=(200, 6))
    tree = reliac.cluster(X[:190], "average", metric="sqeuclidean", engine="vectors", keep_lists=True)
    wanted = reliac.cluster(X, "average", metric="sqeuclidean", engine="vectors")
    tree.save(tmp_path / "plain.npz")
    tree.save(tmp_path / "data.npz", data=True)
    for read, data in (
        (reliac.load(tmp_path / "plain.npz"), {"X": X[:190]}),
        (reliac.load(tmp_path / "data.npz"), {}),
        (pickle.loads(pickle.dumps(tree)), {"X": X[:190]}),
    ):
        helped[0] = 0
        assert same(read.extend(X[190:], **data), wanted)
        assert helped[0] > 150
    reliac.cluster(X[:30], keep_lists=True).save(tmp_path / "none.npz")
    assert reliac.load(tmp_path / "none.npz").lists == {}


def test_lists_in_a_file_that_cannot_be_lists_are_refused(tmp_path):
    from dataclasses import replace

    X = np.random.default_rng(1).normal(size=(60, 6))
    tree = reliac.cluster(X, "ward", engine="vectors", keep_lists=True)
    for name, value in (("entries", 60), ("clusters", -1), ("counts", 5), ("radius", np.nan)):
        array = tree.lists[name].copy()
        array[0] = value
        replace(tree, lists={**tree.lists, name: array}).save(tmp_path / "tree.npz")
        with pytest.raises(ValueError, match="its lists are damaged"):
            reliac.load(tmp_path / "tree.npz")


def test_a_tree_from_a_file_that_stopped_early_is_told_the_rule_again(tmp_path):
    X = blobs(3, n=50)
    tree = reliac.cluster(X[:40], "ward", n_clusters=7)
    tree.save(tmp_path / "tree.npz", data=True)
    read = reliac.load(tmp_path / "tree.npz")
    with pytest.raises(ValueError, match=r"stopped early.*Allowed.*n_clusters, max_level"):
        read.extend(X[40:])
    wanted = reliac.cluster(X, "ward", n_clusters=7)
    assert same(read.extend(X[40:], n_clusters=7), wanted)
    assert same(tree.extend(X[40:]), wanted)
    assert same(tree.extend(X[40:], max_level=2), reliac.cluster(X, "ward", max_level=2))


def mistakes():
    X = blobs(4, n=30)
    tree = reliac.cluster(X[:25], "ward")
    named = reliac.cluster(X[:25], "ward", names=range(25))
    given = reliac.cluster(squareform(pdist(X[:25])), "average", metric="precomputed")
    graph = reliac.cluster(X, "average", neighbors=5)
    texts = reliac.cluster(["a", "bb", "ccc"], "average", metric=lambda a, b: abs(len(a) - len(b)))
    return [
        (lambda: tree.extend(X[25:, :2]), "New rows with 2 columns"),
        (lambda: tree.extend([["a", "b", "c"]]), "real numbers"),
        (lambda: tree.extend([[np.nan, 1.0, 2.0]]), "NaN"),
        (lambda: tree.extend(X[25:], metric="cityblock"), "metric 'cityblock' for a tree of metric 'euclidean'"),
        (lambda: tree.extend(X[25:], X=X[1:26]), "X holds other values"),
        (lambda: tree.extend(X[25:], X=X[:7]), "X has 7 rows"),
        (lambda: tree.extend(X[25:], weights=[1.0]), "weights of shape"),
        (lambda: tree.extend(X[25:], names=list("abcde")), "whose objects have none"),
        (lambda: tree.extend(X[25:], n_clusters=31), "n_clusters=31"),
        (lambda: tree.extend(__import__("scipy.sparse").sparse.csr_array(X[25:])), "New rows as a sparse matrix"),
        (lambda: named.extend(X[25:]), "New rows without names"),
        (lambda: pickle.loads(pickle.dumps(tree)).extend(X[25:]), r"extend\(X_new, X=...\)"),
        (lambda: given.extend(squareform(pdist(X))[25:, :25]), r"shape \(5, 25\) for a tree of 25 objects"),
        (lambda: given.extend(squareform(pdist(X))[25:] + np.arange(30)), "distance"),
        (lambda: graph.extend(X[25:]), "made along a graph"),
        (lambda: texts.extend(["dddd"]), "compared by a function"),
        (lambda: tree.subtree(0, 2).extend(X[25:]), "of some rows of its data only"),
        (lambda: tree.without(25), "object=25"),
        (lambda: tree.without("x"), "'x'"),
        (lambda: tree.without(range(25)), "all 25 rows"),
        (lambda: tree.without(1.5), "not a whole number"),
        (lambda: reliac.cluster(X, "ward", n_clusters=28).without(range(5)), "n_clusters=28"),
        (lambda: reliac.cluster(X, "ward", keep_lists="yes"), "keep_lists"),
    ]


@pytest.mark.parametrize("place", range(23))
def test_what_cannot_be_extended_gets_a_message_of_three_parts(place):
    call, words = mistakes()[place]
    with pytest.raises((ValueError, TypeError), match=words) as error:
        call()
    assert "Allowed:" in str(error.value)
    assert len(mistakes()) == 23


def traced(links, composed=True, pairs_only=True):
    """What becomes of five rows, four of which an earlier run joined as (0, 1), (2, 3) and ((0, 1), (2, 3))."""
    last = np.iinfo(np.int64).max
    rows = np.arange(5)
    earlier = EarlierLists(
        {**no_lists(5).found},
        n_rows=4,
        nodes=np.array([0, 1, 2, 3, -1]),
        first=np.array([0, 1, 2, 3, 0, 2, 0]),
        parent=np.array([4, 4, 5, 5, 6, 6, -1]),
        birth=np.array([0, 0, 0, 0, 1, 2, 3]),
        death=np.array([1, 1, 2, 2, 3, 3, last]),
    )
    helper = reusing.Helper(earlier, composed, pairs_only)
    p, q, level, distance = (np.array(values) for values in zip(*links, strict=True))
    reusing.trace(helper.traces, p, q, level, distance.astype(float), composed, pairs_only)
    assert (helper.traces.into[rows] <= rows).all()
    return helper.traces.node, list(zip(helper.traces.since.tolist(), helper.traces.until.tolist(), strict=True))


def test_clusters_stay_true_as_long_as_the_same_joins_make_them():
    last = np.iinfo(np.int64).max
    node, ranges = traced([(2, 3, 1, 1.0), (0, 1, 2, 1.0), (0, 2, 3, 2.0)])  # the levels may be others
    assert node[0] == 6
    assert ranges[0] == (0, last)
    node, ranges = traced([(0, 1, 1, 1.0), (0, 2, 2, 1.0)])  # a part of (2, 3), which was made at level 2
    assert node[0] == -1
    assert ranges[0] == (0, 2)
    node, ranges = traced([(0, 1, 1, 1.0), (2, 4, 2, 1.0)])
    assert (node[0], node[2]) == (4, -1)
    assert (ranges[0], ranges[2]) == ((0, 3), (0, 0))


def test_what_three_make_at_once_is_changed_where_only_pairs_come_no_nearer():
    three = [(0, 1, 1, 1.0), (1, 2, 1, 1.0)]
    assert traced(three)[1][0] == (0, 0)
    assert traced([(*link[:3], 0.0) for link in three])[1][0] == (0, 2)  # equal rows
    assert traced(three, pairs_only=False)[1][0] == (0, 2)  # an average comes no nearer than its parts


def test_where_joins_come_nearer_only_true_clusters_of_the_same_levels_are_unchanged():
    node, ranges = traced([(0, 1, 1, 1.0), (2, 3, 1, 1.0)], composed=False)
    assert node[[0, 2]].tolist() == [4, 5]
    assert (ranges[0], ranges[2]) == ((1, 3), (2, 3))
    assert traced([(0, 2, 1, 1.0)], composed=False)[1][0] == (0, 0)
