"""Ties without number: levels are those of the definition, and neither links nor levels cost more than they should."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.spatial.distance import squareform

import reliac
from problems import ALPHAS, CRITERIA
from references import cluster_squares, literal_tree, problem_of_squares
from reliac.engines import choice
from reliac.engines.lists import engine as lists

ALL_PAIRS = [criterion for criterion in CRITERIA if criterion != "single"]


def few_values(seed, n=90):
    """Distances of which 1 to 4 are different: all equal, or every object has many nearest neighbours."""
    D = np.triu(np.random.default_rng(seed).integers(4, 5 + seed % 4, size=(n, n)), 1).astype(float)
    if seed % 2:
        D[:30, 30:] = 9.0  # two parts, of different lengths inside
        D[:30, :30] = np.triu(np.full((30, 30), 3.5), 1)
    return D + D.T


@pytest.mark.parametrize("options", [{}, {"tie_tolerance": 0.3}, {"max_distance": 4.5}, {"n_clusters": 37}], ids=str)
@pytest.mark.parametrize("criterion", ALL_PAIRS)
@pytest.mark.parametrize("seed", range(4))
def test_links_chosen_from_rows_are_those_chosen_from_a_list_of_all(criterion, seed, options):
    D = few_values(seed)
    for alpha in ALPHAS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
            options = {**options, "metric": "precomputed", "alpha": alpha}
            dense = cluster_squares(D, criterion, engine="dense", **options)
            assert np.array_equal(dense.links, literal_tree(D, criterion, **options).links)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("criterion", ["average", "ward", "complete"])
def test_equal_given_distances_need_one_matrix_and_no_list_of_their_ties(criterion, alpha):
    n = 2500
    D = np.ones(n * (n - 1) // 2, np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", reliac.NotEuclideanWarning)
        reliac.cluster(D[: 60 * 59 // 2], criterion, metric="precomputed", alpha=alpha, engine="dense")
        reliac.cluster(D[: 60 * 59 // 2], criterion, metric="precomputed", alpha=alpha, engine="matrix")
        tracemalloc.start()
        tree = reliac.cluster(D, criterion, metric="precomputed", alpha=alpha, n_jobs=1)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert tree.n_levels == 1
    assert tree.engine == "dense"
    assert most < 8 * n**2 + 4000 * n + 2**24  # a list of all links takes three numbers for each of n^2 / 2 pairs


def test_a_run_on_given_distances_that_ties_overwhelm_goes_on_with_a_matrix_for_every_share():
    for alpha in ALPHAS:
        problem = problem_of_squares(squareform(np.ones(190)), "average", metric="precomputed", alpha=alpha)
        assert choice.relief(problem).engine.name == "dense"


@pytest.mark.parametrize("criterion", ["average", "ward"])
def test_a_level_that_takes_a_share_costs_what_changed_and_not_all_clusters(criterion, monkeypatch):
    n, patience, statuses = 3000, 1000, []
    advance = lists.advance

    def counted(*arguments):
        statuses.append(advance(*arguments))
        return statuses[-1]

    monkeypatch.setattr(lists, "advance", counted)
    monkeypatch.setattr(lists, "CLUSTERS_BEFORE_PAUSE", patience)
    X = np.cumsum(1 + np.arange(n) * 1e-3)[:, None]  # gaps grow: about one link a level
    engine = choice.get_engine("vectors")(problem_of_squares(X, criterion, alpha=0.5))
    levels = max(int(batch.level[-1]) for batch in engine.levels(0))
    assert levels > n / 3
    assert statuses.count(lists.PAUSE) < 10 * n / patience  # clusters looked at: 10 n at most, not n for each level
