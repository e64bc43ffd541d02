"""One default metric for every face, "euclidean": the trees are SciPy's. Squares are compared where they will do."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.cluster import hierarchy
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score

import reliac
from problems import ALPHAS, CRITERIA, GEOMETRIC, REDUCIBLE, blobs, lattice, tie_free, tied
from references import takers_of_each
from reliac.engines.choice import choose
from reliac.evaluate import compare_strategies
from reliac.input.problem import make_problem

SQUARES_WILL_DO = ("single", "complete", *GEOMETRIC)

#: Public data that ship with scikit-learn, and for how many clusters they are cut.
SHIPPED = {"iris": 3, "wine": 3, "breast_cancer": 2, "diabetes": 5, "linnerud": 4}


def shipped(name):
    return np.asarray(getattr(datasets, f"load_{name}")().data, dtype=np.float64)


FACES = (
    reliac.cluster,
    reliac.linkage,
    make_problem,
    compare_strategies,
    reliac.ReliableAgglomerativeClustering,
    reliac.ReliableOutlierDetector,
)


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__name__)
def test_every_face_takes_euclidean_distances_by_default(face):
    assert inspect.signature(face).parameters["metric"].default == "euclidean"


@pytest.mark.parametrize("criterion", CRITERIA)
def test_all_faces_give_the_same_tree_by_default(criterion):
    X = blobs(5, n=70)
    tree = reliac.cluster(X, criterion)
    assert tree.parameters["metric"] == "euclidean"
    model = reliac.ReliableAgglomerativeClustering(n_clusters=4, linkage=criterion).fit(X)
    assert np.array_equal(model.tree_.links, tree.links)
    assert np.array_equal(reliac.ReliableOutlierDetector(criterion).fit(X).tree_.links, tree.links)
    assert compare_strategies(X, criterion=criterion, n_clusters=4, alphas=[1.0])[0].n_levels == tree.n_levels


# --- SciPy's trees ---


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(6))
def test_generated_data_give_the_tree_of_scipy(criterion, seed):
    X = tie_free(seed)
    theirs = hierarchy.linkage(X, criterion)
    ours = reliac.cluster(X, criterion, alpha=1.0 if criterion in REDUCIBLE else 0.0)
    matrix = ours.linkage_matrix("distance" if criterion in REDUCIBLE else "level")
    assert np.array_equal(matrix[:, [0, 1, 3]], theirs[:, [0, 1, 3]])
    np.testing.assert_allclose(matrix[:, 2], theirs[:, 2], rtol=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", SHIPPED)
def test_public_data_give_the_tree_of_scipy(criterion, name):
    """Ties of the data are broken for both by the same hair: SciPy would break them by the order of the rows."""
    X = shipped(name)
    X = X + 1e-6 * X.std(axis=0) * np.random.default_rng(0).normal(size=X.shape)
    theirs = hierarchy.linkage(X, criterion)
    np.testing.assert_allclose(reliac.linkage(X, criterion), theirs, rtol=1e-7)
    if criterion in REDUCIBLE:
        K = SHIPPED[name]
        cut = hierarchy.fcluster(theirs, K, "maxclust")
        assert adjusted_rand_score(cut, reliac.cluster(X, criterion).labels(K)) == 1.0


@pytest.mark.parametrize("criterion", REDUCIBLE)
@pytest.mark.parametrize("name", ["wine", "breast_cancer", "diabetes"])
def test_public_data_as_they_are_give_the_clusters_of_scipy(criterion, name):
    X, K = shipped(name), SHIPPED[name]
    cut = hierarchy.fcluster(hierarchy.linkage(X, criterion), K, "maxclust")
    assert adjusted_rand_score(cut, reliac.cluster(X, criterion).labels(K)) == 1.0


# --- squares where they tell as much ---


@pytest.mark.parametrize(("engine", "criterion"), takers_of_each(SQUARES_WILL_DO, blobs(0, n=8), metric="euclidean"))
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(5))
def test_the_squared_and_the_plain_tree_are_one_bit_for_bit(engine, criterion, alpha, seed):
    X = tied(seed)
    plain = reliac.cluster(X, criterion, alpha=alpha, engine=engine)
    squared = reliac.cluster(X, criterion, metric="sqeuclidean", alpha=alpha, engine="literal")
    for column in ("left", "right", "level"):
        assert np.array_equal(plain.links[column], squared.links[column])
    factor = 2.0 if criterion == "ward" else 1.0
    assert np.array_equal(plain.links["distance"], np.sqrt(factor * squared.links["distance"]))


@pytest.mark.parametrize(("engine", "criterion"), takers_of_each(SQUARES_WILL_DO, blobs(0, n=8), metric="euclidean"))
def test_ties_are_decided_on_squares_not_on_their_rounded_roots(engine, criterion):
    far = 2.0**26 + 1
    assert np.sqrt(far**2) == np.sqrt(far**2 + 1)
    tree = reliac.cluster([[0.0, 0.0], [far, 0.0], [-far, 1.0]], criterion, engine=engine)
    assert tree.cluster_counts.tolist() == [3, 2, 1]
    assert tree.labels(level=1).tolist() == [0, 0, 1]


@pytest.mark.parametrize(("engine", "criterion"), takers_of_each(["complete"], blobs(0, n=8), metric="euclidean"))
@pytest.mark.parametrize("options", [{"tie_tolerance": 0.25}, {"max_distance": 2.0}, {"max_distance": np.sqrt(2.0)}])
def test_tolerances_and_limits_speak_of_plain_distances(engine, criterion, options):
    X = lattice(4, n=60, side=7)
    tree = reliac.cluster(X, criterion, engine=engine, **options)
    assert np.array_equal(tree.links, reliac.cluster(X, criterion, engine="literal", **options).links)
    assert tree.links["distance"].max() <= options.get("max_distance", np.inf)
    if "max_distance" in options:
        full = reliac.cluster(X, criterion).links["distance"]
        assert len(tree.links) == (full <= options["max_distance"]).sum()


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n", [400, 3000])
def test_where_squares_will_do_the_same_engine_is_chosen_for_both(criterion, n):
    X = np.random.default_rng(0).normal(size=(n, 5))
    plain, squared = (choose(make_problem(X, criterion, metric=name)).engine for name in ("euclidean", "sqeuclidean"))
    assert plain is squared or (criterion == "average" and plain.name == "matrix")
