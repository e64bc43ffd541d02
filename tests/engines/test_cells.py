"""Columns in an order of cells: what is far is left out, and no tree changes by a bit."""

from __future__ import annotations

import numpy as np
import pytest

import reliac
from problems import blobs, lattice
from references import cluster_squares, problem_of_squares
from reliac.engines.compiled.products import times_transposed
from reliac.engines.vectors import cells, engine
from reliac.engines.vectors.moments import make_moments
from reliac.engines.vectors.packing import packed_means


@pytest.fixture
def ordered(monkeypatch):
    """Call a function while few rows are ordered already; the tiles that were made and columns chosen are told."""
    told = {"tiles": [], "chosen": 0}

    class Tiles(cells.Tiles):
        def __init__(self, *args):
            super().__init__(*args)
            told["tiles"].append(self)

        def _choose(self, *args):
            runs = super()._choose(*args)
            told["chosen"] += sum(not isinstance(run, slice) for run in runs)
            return runs

    def call(function, **sizes):
        with monkeypatch.context() as patch:
            for name, value in {
                "TILE": 8,
                "FIRST_TILES": 4,
                "ROWS_OF_CELL": 16,
                "BLOCKS_TO_TRY": 10**9,
                **sizes,
            }.items():
                patch.setattr(cells, name, value)
            for name, value in {"WORTH_ORDERING": 100, "WORTH_SKIPPING": 24, "ROWS": 16, "Tiles": Tiles}.items():
                patch.setattr(engine, name, value)
            return function()

    call.told = told
    return call


def clusters_and_noise(seed, n=700, d=16):
    """Tight clusters far apart, and a tenth of noise between them."""
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.1, 2, 12)
    which, noise = rng.integers(0, 12, n), rng.random(n) < 0.1
    X = rng.normal(scale=30, size=(12, d))[which] + rng.normal(size=(n, d)) * spread[which, None]
    X[noise] = rng.uniform(-60, 60, (noise.sum(), d))
    return X


DATA = {
    "clusters and noise": clusters_and_noise(0),
    "far from the origin": clusters_and_noise(1) + 1e6,
    "ties": lattice(2, n=400, d=3, side=7),
    "ties, far apart": np.r_[lattice(3, n=200, d=4, side=3), lattice(4, n=200, d=4, side=3) + 1000],
    "no clusters": np.random.default_rng(5).normal(size=(400, 8)),
    "float32": blobs(6, n=500, d=4).astype(np.float32),
}


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("criterion", ["ward", "average", "centroid", "median"])
@pytest.mark.parametrize("options", [{}, {"alpha": 0.28}, {"alpha": 0.0}, {"tie_tolerance": 0.1}, {"n_clusters": 9}])
def test_no_bit_of_a_tree_changes(ordered, data, criterion, options):
    def run():
        return cluster_squares(DATA[data], criterion, engine="vectors", n_jobs=1, **options)

    plain, tree = run(), ordered(run)
    assert ordered.told["tiles"]
    assert np.array_equal(tree.links, plain.links)


@pytest.mark.parametrize("criterion", ["ward", "average", "centroid"])
def test_weights_and_cosine_change_nothing_either(ordered, criterion):
    X, weights = DATA["clusters and noise"], np.random.default_rng(1).uniform(0.5, 9, 700)
    cases = [{"metric": "sqeuclidean", "weights": weights}]
    cases += [{"metric": "cosine"}] if criterion == "average" else []
    for options in cases:

        def run(options=options):
            return reliac.cluster(X, criterion, engine="vectors", n_jobs=2, **options)

        assert np.array_equal(run().links, ordered(run).links)


def test_far_tiles_are_left_out_and_columns_of_wide_ones_chosen(ordered):
    ordered(lambda: cluster_squares(DATA["clusters and noise"], "ward", engine="vectors", n_jobs=1))
    first = ordered.told["tiles"][0]
    assert first.looked_at < 0.5 * first.possible
    assert ordered.told["chosen"] > 0


def test_where_little_can_be_left_out_it_is_given_up(ordered):
    ordered(lambda: cluster_squares(DATA["no clusters"], "ward", engine="vectors", n_jobs=1), BLOCKS_TO_TRY=4)
    assert [tiles.blocks for tiles in ordered.told["tiles"]] == [4]


@pytest.mark.parametrize("by_size", [False, True])
@pytest.mark.parametrize("shift", [0.0, 0.9])
def test_nothing_in_a_ball_is_nearer_than_the_least_distance(monkeypatch, by_size, shift):
    monkeypatch.setattr(cells, "TILE", 8)
    rng = np.random.default_rng(7)
    for _ in range(20):
        width = 10.0 ** -rng.integers(0, 5)
        centres = np.repeat(rng.normal(size=(10, 5)) * 0.1, 8, axis=0)
        means = (rng.normal(size=(80, 5)) * width + centres + shift) / 4
        spread, weights = rng.random(80) * width**2, rng.integers(1, 9, 80).astype(float)
        packed = np.column_stack((means, (means**2).sum(1) + spread)).astype(np.float32)
        tiles = cells.Tiles(packed, weights, 1e30)
        least = cells.least_distances(tiles.balls, tiles.points, by_size)
        true = ((means[:, None] - means) ** 2).sum(2) + spread + spread[:, None]
        if by_size:
            true *= weights * weights[:, None] / (weights + weights[:, None])
        np.fill_diagonal(true, np.inf)
        nearest = true.reshape(80, 10, 8).min(2).T
        assert (least <= nearest).all()
        if width < 0.01:
            assert np.median(least / nearest) > 0.5  # not far below


@pytest.mark.parametrize("criterion", ["ward", "average", "centroid"])
def test_a_row_far_from_all_others_costs_no_float64_searches_of_the_others(criterion, monkeypatch):
    searched = []
    search = engine.VectorsEngine._search_by_products

    def note(self, slots, among, push):
        searched.append((among.means.dtype, len(slots)))
        return search(self, slots, among, push)

    X = np.random.default_rng(8).normal(size=(2500, 24))
    X[7] += 1e5
    monkeypatch.setattr(engine.VectorsEngine, "_search_by_products", note)
    found = reliac.cluster(X, criterion, metric="sqeuclidean", engine="vectors")
    assert sum(count for kind, count in searched if kind == np.float64) < 10
    given = reliac.cluster(X, criterion, metric="sqeuclidean", engine="matrix")
    assert np.array_equal(found.links["level"], given.links["level"])
    np.testing.assert_allclose(found.links["distance"], given.links["distance"], rtol=1e-9)


@pytest.mark.parametrize("criterion", ["ward", "average", "centroid"])
@pytest.mark.parametrize("far", [1e21, 3e21, 1e22])
def test_a_row_so_far_that_float32_loses_all_others_changes_no_link(criterion, far):
    X = np.random.default_rng(8).normal(size=(500, 24))
    X[7] += far
    found, expected = (
        reliac.cluster(X, criterion, metric="sqeuclidean", engine=name).links for name in ("vectors", "matrix")
    )
    assert np.array_equal(found["level"], expected["level"])


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-12, 1e-17, 1e-19, 1e-21, 1e-24])
def test_products_of_packed_rows_are_lower_bounds_at_every_scale(scale, monkeypatch):
    monkeypatch.setattr(cells, "TILE", 8)
    rng = np.random.default_rng(9)
    for d in (4, 24, 200):
        X = rng.normal(size=(80, d)) * scale
        X[40:] = X[:40] + rng.normal(size=(40, d)) * scale * 1e-3
        space = make_moments(problem_of_squares(X, "centroid"), X)
        packed = packed_means(space, np.arange(80), 1.0, np.float32, lambda fill, starts: [fill(at) for at in starts])
        left = packed * np.float32(-2)
        left[:, -1] = 1
        true = ((X[:, None] - X) ** 2).sum(2)
        np.fill_diagonal(true, np.inf)
        assert (times_transposed(left, packed) + packed[:, -1:] <= true).all()
        tiles = cells.Tiles(packed, np.ones(80), 1e30)
        least = cells.least_distances(tiles.balls, tiles.points, False)
        assert (least <= true.reshape(80, 10, 8).min(2).T).all()
