"""Scores of many cuts at once, against scikit-learn cut by cut; stability, suggestions and what is refused."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn import metrics

import reliac
from problems import CRITERIA, blobs, lattice, tied
from reliac.questions.scores import measured, score_table
from reliac.questions.suggestion import suggestion


def literal(X, labels, distances):
    """scikit-learn's scores of one cut, and sums of squares by their definition; X is centred, as it rounds best."""
    means = np.array([X[labels == label].mean(axis=0) for label in range(labels.max() + 1)])
    found = {
        "within": ((X - means[labels]) ** 2).sum(),
        "between": ((means[labels] - X.mean(axis=0)) ** 2).sum(),
        "calinski_harabasz": metrics.calinski_harabasz_score(X, labels),
        "davies_bouldin": davies_bouldin(X, labels, means),
        "silhouette": metrics.silhouette_score(distances, labels, metric="precomputed"),
    }
    to_means = cdist(X, means)
    own = to_means[np.arange(len(X)), labels].copy()
    to_means[np.arange(len(X)), labels] = np.inf
    nearest, lone = to_means.min(axis=1), np.bincount(labels)[labels] == 1
    with np.errstate(invalid="ignore"):
        simple = np.nan_to_num((nearest - own) / np.maximum(nearest, own))
    return found | {"simplified_silhouette": np.where(lone, 0.0, simple).mean()}


def davies_bouldin(X, labels, means):
    """The definition; scikit-learn's rounds the distance of a lone object to its mean, 0, to about 1e-8."""
    spread = np.array([np.linalg.norm(X[labels == k] - means[k], axis=1).mean() for k in range(len(means))])
    apart = cdist(means, means)
    apart[apart == 0] = np.inf
    found = ((spread[:, None] + spread) / apart).max(axis=1).mean()
    if pdist(means).min() > 1e-9:
        assert found == pytest.approx(metrics.davies_bouldin_score(X, labels), rel=1e-6, abs=1e-6)
    return found


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(weighted):
    for seed, criterion in enumerate(CRITERIA):
        X = [blobs(seed, n=60), np.random.default_rng(seed).normal(size=(50, 4)), lattice(seed, n=40)][seed % 3]
        weights = 1 + np.random.default_rng(seed).integers(0, 3, len(X)) if weighted else np.ones(len(X), dtype=int)
        tree = reliac.cluster(X, criterion, weights=weights)
        for by in ("distance", "level"):
            counts = [2, 3, 4, 7, 12, 20]
            table = score_table(tree, measured(tree), counts, by=by)
            repeated = np.repeat(X - X.mean(axis=0), weights, axis=0)
            distances = cdist(repeated, repeated)
            for place, count in enumerate(counts):
                labels = np.repeat(tree.labels(count, by=by), weights)
                wanted = literal(repeated, labels, distances)
                if pdist([repeated[labels == k].mean(axis=0) for k in range(count)]).min() < 1e-9:
                    del wanted["davies_bouldin"]  # equal rows in two clusters: rounding tells whether means are equal
                if wanted["within"] < 1e-9:
                    del wanted["calinski_harabasz"]
                if weighted:  # a lone row of weight 3 is three equal rows, which are not lone
                    del wanted["simplified_silhouette"]
                for name, value in wanted.items():
                    assert table.columns[name][place] == pytest.approx(value, rel=1e-9, abs=1e-12), (name, count, seed)


def test_data_far_from_zero_loses_no_digits():
    X = blobs(1)
    near, far = reliac.cluster(X), reliac.cluster(X + 2.0**20)
    a, b = (score_table(tree, measured(tree), range(2, 9)).columns for tree in (near, far))
    for name in ("within", "between", "calinski_harabasz", "davies_bouldin", "silhouette", "simplified_silhouette"):
        np.testing.assert_allclose(a[name], b[name], rtol=1e-7)


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "sqeuclidean", "correlation"])
def test_silhouettes_compare_as_the_tree_does_and_sums_of_squares_are_euclidean(metric):
    X = np.abs(blobs(2)) + 1.0
    tree = reliac.cluster(X, "average", metric=metric)
    found = tree.scores(n_clusters=range(2, 8))
    for count in range(2, 8):
        labels = tree.labels(count)
        assert found["silhouette"][count] == pytest.approx(metrics.silhouette_score(X, labels, metric=metric), rel=1e-9)
        assert found["calinski_harabasz"][count] == pytest.approx(metrics.calinski_harabasz_score(X, labels), rel=1e-9)
    other = tree.scores(n_clusters=3, metric="chebyshev")
    assert other["silhouette"][3] == pytest.approx(metrics.silhouette_score(X, tree.labels(3), metric="chebyshev"))


def test_sparse_rows_have_the_scores_of_dense_ones():
    X = np.where(np.random.default_rng(0).random((60, 8)) < 0.5, 0.0, blobs(1, d=8))
    dense, sparse = reliac.cluster(X, "average"), reliac.cluster(csr_array(X), "average")
    a, b = dense.scores(n_clusters=range(2, 9)), sparse.scores(n_clusters=range(2, 9))
    np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), rtol=1e-9)
    sampled = sparse.scores(n_clusters=[3], silhouette="sampled", sample=20)
    assert sampled["silhouette"][3] == pytest.approx(
        dense.scores(n_clusters=[3], silhouette="sampled", sample=20)["silhouette"][3]
    )


def test_given_distances_have_silhouettes_and_it_is_said_what_is_absent():
    X = blobs(3)
    for given in (pdist(X), squareform(pdist(X)), pdist(X).astype(np.float32)):
        tree = reliac.cluster(given, "average", metric="precomputed")
        found = tree.scores(n_clusters=[2, 4, 9])
        assert found.columns.tolist() == ["silhouette", "distance", "gap", "level_lifetime"]
        assert "need vectors, and not given distances" in found.attrs["absent"]
        square = given if given.ndim == 2 else squareform(given)
        for count in (2, 4, 9):
            wanted = metrics.silhouette_score(square.astype(float), tree.labels(count), metric="precomputed")
            assert found["silhouette"][count] == pytest.approx(wanted, rel=1e-9)
    loaded = pickle.loads(pickle.dumps(reliac.cluster(X, "average")))
    again = loaded.scores(squareform(pdist(X)), [2, 4], metric="precomputed")
    np.testing.assert_allclose(again["silhouette"], loaded.scores(X, [2, 4])["silhouette"], rtol=1e-9)


def test_graphs_and_gaps_have_what_they_can_have():
    pandas = pytest.importorskip("pandas")
    forest = reliac.cluster_edges(([0, 1, 3, 5], [1, 2, 4, 6], [1.0, 2.0, 2.0, 3.0]), "single")
    found = forest.scores(n_clusters=range(3, 7))
    assert found.columns.tolist() == ["distance", "gap", "level_lifetime"]
    assert "graph" in found.attrs["absent"]
    assert "graph" in found.attrs["silhouette"]
    X = blobs(1, n=20)
    X[3, 1] = np.nan
    tree = reliac.cluster(X, "average", metric="nan_euclidean")
    table = tree.scores(n_clusters=[2, 3])
    assert "missing values" in table.attrs["absent"]
    wanted = metrics.silhouette_score(metrics.pairwise.nan_euclidean_distances(X), tree.labels(3), metric="precomputed")
    assert table["silhouette"][3] == pytest.approx(wanted, rel=1e-9)
    mixed = pandas.DataFrame({"a": [1.0, 2.0, 8.0, 9.0], "b": ["x", "x", "y", "y"]})
    gower = reliac.cluster(mixed, "average", metric="gower").scores(n_clusters=[2])
    assert "categories" in gower.attrs["absent"]
    assert gower["silhouette"][2] > 0.5


def test_gaps_and_lifetimes_follow_their_definition():
    for seed, criterion in itertools.product(range(5), CRITERIA):
        tree = reliac.cluster(tied(seed), criterion, n_clusters=1 + seed % 2)
        n = tree.n_objects
        births = {frozenset([i]): 0 for i in range(n)}
        nodes = [frozenset([i]) for i in range(n)]
        ends = {}
        for left, right, _, level, _ in tree.links.tolist():
            nodes.append(nodes[left] | nodes[right])
            births[nodes[-1]] = level
            ends[nodes[left]] = ends[nodes[right]] = level
        for by in ("distance", "level"):
            counts = range(tree.n_clusters, n + 1)
            found = tree.scores(n_clusters=counts, by=by, silhouette="none")
            heights = sorted({0.0, *tree.monotone_distances.tolist()})
            for count in counts:
                labels = tree.labels(count, by=by)
                clusters = [frozenset(np.flatnonzero(labels == k).tolist()) for k in range(count)]
                lived = sum(len(c) * (ends.get(c, tree.n_levels + 1) - births[c]) for c in clusters) / n
                assert found["level_lifetime"][count] == pytest.approx(lived)
                if count > tree.n_clusters:
                    here = [t for t in heights if np.array_equal(tree.labels(distance=t), labels)]
                    above = [t for t in heights if here and t > here[-1]]
                    assert found["gap"][count] == pytest.approx((above[0] - here[0]) if here and above else 0.0)
                else:
                    assert np.isnan(found["gap"][count])


def test_sampled_silhouettes_are_the_exact_ones_of_the_sample():
    X = blobs(4)
    tree = reliac.cluster(X)
    found = tree.scores(n_clusters=range(2, 7), silhouette="sampled", sample=25, seed=3)
    places = np.sort(np.random.default_rng(3).choice(60, size=25, replace=False))
    rows = tree.leaf_order[places]
    for count in range(2, 7):
        values = metrics.silhouette_samples(X, tree.labels(count))[rows]
        assert found["silhouette"][count] == pytest.approx(values.mean(), rel=1e-9)
        assert found["silhouette_error"][count] == pytest.approx(values.std() / 5, rel=1e-6)
    assert found.attrs["silhouette"].startswith("sampled: the exact ones, by euclidean, of 25 of 60 objects (seed 3)")
    whole = tree.scores(n_clusters=3, silhouette="sampled", sample=60)
    assert whole.attrs["silhouette"] == "exact, by euclidean"
    assert "silhouette" not in tree.scores(n_clusters=3, silhouette="none")


def test_more_objects_than_are_exact_are_sampled_and_it_is_said(monkeypatch):
    monkeypatch.setattr("reliac.questions.scores.EXACT", 50)
    tree = reliac.cluster(blobs(4))
    assert "of 30 of 60 objects" in tree.scores(n_clusters=3, sample=30).attrs["silhouette"]
    assert tree.scores(n_clusters=3, silhouette="exact").attrs["silhouette"] == "exact, by euclidean"


def test_one_cluster_and_lone_objects_have_sums_of_squares_and_no_scores():
    tree = reliac.cluster(blobs(1, n=20))
    found = tree.scores(n_clusters=[1, 20, 5])
    assert found.index.tolist() == [1, 20, 5]
    assert found["between"][1] == found["within"][20] == 0.0
    assert found["within"][1] == pytest.approx(found["between"][20])
    undefined = ["calinski_harabasz", "davies_bouldin", "silhouette", "simplified_silhouette"]
    assert found.loc[[1, 20], undefined].isna().all(axis=None)
    assert not found.loc[5].isna().any()
    equal = reliac.cluster([[0.0], [0.0], [7.1], [7.1]]).scores(n_clusters=2)
    assert equal["calinski_harabasz"][2] == np.inf
    assert equal["silhouette"][2] == 1.0


def test_a_file_that_keeps_the_data_is_enough_for_all_questions(tmp_path):
    for tree in (reliac.cluster(blobs(1)), reliac.cluster(pdist(blobs(1)), "average", metric="precomputed")):
        tree.save(tmp_path / "tree.reliac", data=True)
        loaded = reliac.load(tmp_path / "tree.reliac")
        assert np.array_equal(loaded.scores().to_numpy(), tree.scores().to_numpy())
        assert repr(loaded.suggest(repeats=2)) == repr(tree.suggest(repeats=2))


# --- stability ---


def test_stability_is_the_agreement_with_trees_of_parts_of_the_objects():
    X = blobs(2)
    tree = reliac.cluster(X, "average")
    found = tree.stability(n_clusters=[2, 5], share=0.5, repeats=4, seed=9)
    random = np.random.default_rng(9)
    values = []
    for _ in range(4):
        some = np.sort(random.choice(60, size=30, replace=False))
        part = reliac.cluster(X[some], "average")
        values.append([metrics.adjusted_rand_score(tree.labels(k)[some], part.labels(k)) for k in (2, 5)])
    np.testing.assert_allclose(found["stability"], np.mean(values, axis=0))
    np.testing.assert_allclose(found["deviation"], np.std(values, axis=0))
    np.testing.assert_allclose(found["smallest"], np.min(values, axis=0))
    assert "4 trees of 30 of its 60 objects (seed 9)" in found.attrs["stability"]
    loaded = pickle.loads(pickle.dumps(tree))
    again = loaded.stability(X, [2, 5], share=0.5, repeats=4, seed=9)
    assert again["stability"].tolist() == found["stability"].tolist()
    with pytest.raises(ValueError, match="other values"):
        loaded.stability(X + 1, [2])


def test_progress_of_stability_counts_parts():
    told = []
    tree = reliac.cluster(blobs(2))
    tree.stability(n_clusters=2, repeats=3, progress=told.append)
    assert [round(one.share, 3) for one in told] == [0.333, 0.667, 1.0]
    assert [one.level for one in told] == [1, 2, 3]


def test_parts_without_such_a_cut_do_not_count():
    tree = reliac.cluster(blobs(2, n=12))
    found = tree.stability(n_clusters=[2, 11], share=0.5, repeats=3)
    assert np.isnan(found["stability"][11])
    assert not np.isnan(found["stability"][2])


# --- suggestions ---


def test_clear_clusters_are_suggested_by_all_scores():
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(size=(30, 2)) * 0.3 + centre for centre in ([0, 0], [9, 1], [4, 12], [13, 14])])
    for criterion in CRITERIA:
        found = reliac.cluster(X, criterion).suggest(repeats=3)
        assert found.n_clusters == 4
        assert set(found.votes.values()) == {4}
        assert found.reason.startswith("All 5 scores")
        assert found.doubts == ""
        assert found.runner_up != 4
    assert repr(found).splitlines()[0] == f"4 clusters (next best: {found.runner_up})"
    assert found.scores.index.tolist() == list(range(2, 21))


def table_of(**votes):
    """A table in which every score is best at one number."""
    from reliac.questions.scores import ScoreTable

    counts = [2, 3, 4, 5]
    columns = {name: [1.0 if count == best else 0.3 for count in counts] for name, best in votes.items()}
    if "davies_bouldin" in columns:
        columns["davies_bouldin"] = [-value for value in columns["davies_bouldin"]]
    gap = columns.pop("gap", [np.nan] * 4)
    return ScoreTable(counts, columns | {"distance": [1.0] * 4, "gap": gap})


def test_disagreement_is_told_in_words():
    found = suggestion(table_of(silhouette=3, calinski_harabasz=3, davies_bouldin=5, gap=2))
    assert found.n_clusters == 3
    assert found.reason == "silhouette and Calinski-Harabasz are best at 3, of 4 cuts into 2 to 5 clusters."
    assert found.doubts == "The scores disagree: distance gap for 2 and Davies-Bouldin for 5."
    assert found.runner_up in (2, 5)
    found = suggestion(table_of(silhouette=2, calinski_harabasz=3, davies_bouldin=4, gap=5))
    pairs = "silhouette for 2, Calinski-Harabasz for 3, Davies-Bouldin for 4 and distance gap for 5"
    assert f"No two scores agree ({pairs})" in found.doubts
    assert "take no number for granted" in found.doubts
    found = suggestion(table_of(gap=5))
    assert found.n_clusters == 5
    assert "no other score was computed" in found.reason
    assert "It is the largest number that was scored" in found.doubts
    assert suggestion(table_of()) is None
    only = reliac.cluster(blobs(1)).suggest(n_clusters=[3])
    assert (only.n_clusters, only.runner_up) == (3, None)
    assert only.reason == "No other number of clusters was scored."


def test_noise_is_called_clusters_that_overlap():
    found = reliac.cluster(np.random.default_rng(0).normal(size=(200, 10))).suggest()
    assert "overlap" in found.doubts


def test_a_suggestion_does_without_pandas(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    tree = reliac.cluster(blobs(1))
    assert "clusters (next best" in repr(tree.suggest())
    with pytest.raises(ImportError, match="needs pandas"):
        tree.scores()


def test_scores_are_drawn_with_their_best_numbers():
    pytest.importorskip("matplotlib").use("Agg")
    import matplotlib.pyplot as plt

    tree = reliac.cluster(blobs(1))
    panels = tree.plot_scores(n_clusters=range(2, 12))
    votes = tree.suggest(n_clusters=range(2, 12)).votes
    assert [panel.get_title().split("best at ")[1] for panel in panels] == [str(best) for best in votes.values()]
    given = reliac.cluster(pdist(blobs(1)), "average", metric="precomputed")
    assert len(given.plot_scores(axes=plt.subplots(1, 2)[1])) == 2
    with pytest.raises(ValueError, match=r"2 axes.*Allowed: one for each of 4 scores.*Next: "):
        tree.plot_scores(axes=plt.subplots(1, 2)[1])
    plt.close("all")


# --- mistakes ---


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda tree, X: tree.scores(X, range(2, 99)), "n_clusters=61"),
        (lambda tree, X: tree.scores(X, [0]), "n_clusters=0"),
        (lambda tree, X: tree.scores(X, []), "n_clusters is empty"),
        (lambda tree, X: tree.scores(X, "many"), "n_clusters='many' is no list"),
        (lambda tree, X: tree.scores(X, 2.5), "n_clusters=2.5 is no list"),
        (lambda tree, X: tree.scores(range(2, 5)), r"range\(2, 5\) in place of X"),
        (lambda tree, X: tree.scores(X[:9]), "X has 9 rows for a tree of 60 objects"),
        (lambda tree, X: tree.scores(np.where(X[7, 1] == X, np.nan, X)), "row 7"),
        (lambda tree, X: tree.scores(X, silhouette="quick"), "Unknown way of silhouettes 'quick'"),
        (lambda tree, X: tree.scores(X, sample=0), "sample=0"),
        (lambda tree, X: tree.scores(X, seed=-1), "seed=-1"),
        (lambda tree, X: tree.scores(X, by="size"), "Unknown order 'size'"),
        (lambda tree, X: pickle.loads(pickle.dumps(tree)).scores(), "does not hold its data"),
        (lambda tree, X: pickle.loads(pickle.dumps(tree)).suggest(), "does not hold its data"),
        (lambda tree, X: pickle.loads(pickle.dumps(tree)).stability(), "does not hold its data"),
        (lambda tree, X: tree.stability(share=1.5), "share=1.5"),
        (lambda tree, X: tree.stability(repeats=0), "repeats=0"),
        (lambda tree, X: tree.stability(n_clusters=[61]), "n_clusters=61"),
        (lambda tree, X: tree.suggest(n_clusters=[1]), "No score is defined"),
        (lambda tree, X: tree.suggest(repeats=-1), "repeats=-1"),
        (lambda tree, X: reliac.cluster([[0.0], [1.0]]).scores(), "No number of clusters"),
        (lambda tree, X: tree.scores([2, 3, 4]), r"\[2, 3, 4\] in place of X"),
        (lambda tree, X: tree.scores(metric="precomputed"), "metric='precomputed' for a tree that holds rows"),
        (lambda tree, X: of_distances(X).scores(metric="cosine"), "metric='cosine' for a tree that holds distances"),
        (lambda tree, X: of_distances(X).suggest(metric="cosine"), "metric='cosine' for a tree that holds distances"),
        (lambda tree, X: reliac.cluster(np.ones((9, 2))).suggest(), "or all of them have the same"),
        (lambda tree, X: tree.suggest(n_clusters=[1, 60]), "No score is defined"),
    ],
)
def test_mistakes_are_told_in_three_parts(ask, message):
    X = blobs(1)
    with pytest.raises((ValueError, TypeError), match=rf"{message}.*Allowed: .*Next: "):
        ask(reliac.cluster(X), X)


def of_distances(X):
    return reliac.cluster(pdist(X), "average", metric="precomputed")


def test_lone_objects_get_no_vote_for_the_gap_before_the_first_join():
    X = blobs(1)
    tree = reliac.cluster(X, "single")
    found = tree.suggest(n_clusters=range(2, 61))
    assert found.votes["relative_gap"] == tree.suggest(n_clusters=range(2, 60)).votes["relative_gap"] < 60
    assert of_distances(X).scores(metric="precomputed").equals(of_distances(X).scores())


def test_a_score_that_is_the_same_for_all_numbers_has_no_say():
    tree = reliac.cluster([[0.0], [0.0], [0.0], [5.0], [5.0], [5.0], [9.0], [9.0]], "single")
    found = tree.suggest(n_clusters=[3, 4, 5])
    assert found.n_clusters == 3
    assert "calinski_harabasz" not in found.votes  # infinite for all of them
    assert "Calinski" not in repr(found)


def test_more_numbers_are_asked_for_only_where_there_are_more():
    tree = reliac.cluster(np.arange(8.0)[:, None] ** 3, "single")
    fewer, all_of_them = (tree.suggest(n_clusters=range(2, stop)) for stop in (7, 8))
    assert (fewer.n_clusters, all_of_them.n_clusters) == (6, 7)
    assert "score more" in fewer.doubts
    assert "score more" not in all_of_them.doubts


def test_a_forest_has_scores_from_its_own_number_of_clusters_on():
    tree = reliac.cluster(blobs(1), n_clusters=5)
    assert tree.scores().index.tolist() == list(range(5, 21))
    with pytest.raises(ValueError, match=r"n_clusters=4.*from 5 to 60.*Next: .*develop"):
        tree.scores(n_clusters=[4, 6])
    assert tree.suggest().n_clusters >= 5
