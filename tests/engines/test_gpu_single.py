"""The gpu engine for single: the links of the spanning engine, bit for bit, however its rounds find the edges.

torch runs on the CPU here. Constants are changed so that few objects already take the ways of many.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import reliac
from devices import HAS_TORCH, WHY_SKIPPED
from problems import blobs, grid, lattice, shrinking_chain, tied, twins
from references import problem_of_squares
from reliac.algorithm.contract import NoRoom, TooManyTies
from reliac.engines.choice import choose, get_engine

pytestmark = pytest.mark.skipif(not HAS_TORCH, reason=WHY_SKIPPED)

SPREAD = np.random.default_rng(5)


def islands(n, d, count, width, seed=0):
    """Groups of points far apart: lists of neighbours do not lead from one to another."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, d))[rng.integers(0, count, n)] * 10 + rng.normal(size=(n, d)) * width


#: Data that few searches are like another on.
DATA = {
    "islands": islands(300, 6, 7, 0.3),
    "islands on a lattice": np.rint(islands(300, 3, 6, 1.5)),
    "islands of float32": islands(300, 20, 5, 0.5).astype(np.float32),
    "blobs": blobs(0, n=250, d=5),
    "noise": SPREAD.normal(size=(260, 20)),
    "lattice": lattice(0, n=220, d=4, side=5),
    "wide lattice": lattice(1, n=220, d=3, side=30),
    "grid": grid(12),
    "far from zero": islands(200, 6, 4, 0.2) + 1e6,
    "repeated": np.repeat(islands(60, 6, 3, 0.3), 4, axis=0)[SPREAD.permutation(240)],
    "two places": twins(3, n=60),
    "a knot": np.concatenate([SPREAD.normal(size=(130, 6)), SPREAD.normal(size=(130, 6)) * 1e-7 + 3]),
    "one dimension": SPREAD.normal(size=(200, 1)),
    "a chain": shrinking_chain(120),
    "many dimensions": islands(120, 300, 3, 0.5).astype(np.float32),
    "all equally far": np.eye(40),
    "a row far away": np.concatenate([islands(200, 6, 4, 0.2), np.full((1, 6), 1e21)]),
}

OPTIONS = [{}, {"alpha": 0.0}, {"alpha": 0.3}, {"n_clusters": 7}, {"max_level": 2}, {"max_distance": 1.5}]


@pytest.fixture
def on_device(monkeypatch):
    """Let few objects take the ways of many; return how often products searched, and how many rows float64 did."""
    from reliac.engines.gpu import outside, rounds, search, spanning

    monkeypatch.setattr(spanning, "FEW", 1)
    monkeypatch.setattr(rounds, "FEW_PAIRS", 0)
    monkeypatch.setattr(search, "FEW_COLUMNS", 32)
    monkeypatch.setattr(search, "FEW_PRODUCTS", 0)
    counts = {"minima": 0, "within": 0}
    for name in counts:
        method = getattr(outside.OutsideSearch, name)

        def counted(self, rows, *arguments, method=method, name=name):
            counts[name] += len(rows)
            return method(self, rows, *arguments)

        monkeypatch.setattr(outside.OutsideSearch, name, counted)
    return counts


def same_trees(X, **options):
    found, expected = (reliac.cluster(X, "single", engine=name, **options) for name in ("gpu", "spanning"))
    assert found.engine == "gpu"
    same_links = all(np.array_equal(found.links[field], expected.links[field]) for field in expected.links.dtype.names)
    return same_links and np.array_equal(found.object_pairs, expected.object_pairs)


@pytest.mark.parametrize("name", DATA)
def test_it_gives_the_links_of_the_spanning_engine_bit_for_bit(on_device, name):
    X = DATA[name]
    for metric in ("sqeuclidean", "euclidean", "cosine"):
        rows = X + 0.5 if metric == "cosine" else X  # no row of zeros
        for options in OPTIONS if metric == "sqeuclidean" else ({}, {"alpha": 0.3}):
            assert same_trees(rows, metric=metric, **options), (metric, options)


def test_generated_problems_full_of_ties_agree(on_device):
    for seed in range(40):
        X = tied(seed) if seed % 2 else np.rint(islands(90, 2, 4, 2.0, seed))
        assert same_trees(X, alpha=(1.0, 0.3, 0.0)[seed % 3]), seed


def test_components_that_lists_cannot_prove_are_searched(on_device):
    X = islands(400, 8, 8, 0.2, seed=1)
    assert same_trees(X)
    assert on_device["minima"] > 300  # all islands but the largest
    assert on_device["within"] < 50  # and of each a few rows


def test_many_lists_full_of_ties_are_looked_at_by_float64(on_device):
    X = np.concatenate([np.eye(30), np.eye(30) + 4.0])  # every row has 29 equally near ones: more than a list holds
    assert same_trees(X)
    assert on_device["within"] >= 59


def test_kernels_bound_what_is_outside_as_plain_torch_does():
    """In Triton's interpreter, in a process of its own: it has to be asked for before Triton is imported."""
    pytest.importorskip("triton")
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", IN_INTERPRETER], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


IN_INTERPRETER = """
import numpy as np, torch
from reliac.engines.gpu.columns import Columns, Skipping, make_frame
from reliac.engines.gpu.plain import PlainSearch
from reliac.engines.gpu.points import place_points
from reliac.engines.gpu.sift import SiftSearch

generator = np.random.default_rng(0)
group = np.repeat([3, 1, 0], [250, 150, 60])
rows = generator.normal(size=(4, 12))[group] * 3 + generator.normal(size=(460, 12)) * 0.3
points, row_of = place_points(torch.from_numpy(rows))
everyone, group = torch.arange(460), torch.from_numpy(group)[row_of]
frame = make_frame(points, everyone)
columns = Columns(points, everyone, frame)
gaps = torch.cdist(points.sums, points.sums, compute_mode="donot_use_mm_for_euclid_dist") ** 2 / frame.unit**2
gaps[group[:, None] == group[None, :]] = np.inf
nearest = gaps.amin(1)
least = torch.full((4,), np.inf, dtype=torch.float64).scatter_reduce(0, group, nearest, "amin")[group]
for limit in (torch.full((460,), np.inf), (least * 1.01).float()):
    for kind in (SiftSearch, PlainSearch):
        search = kind(columns, Skipping()) if kind is SiftSearch else kind(columns)
        low = search.outside(everyone, group, limit).double()
        known = nearest if kind is PlainSearch else torch.minimum(nearest, limit.double())
        assert (low <= nearest).all() and (low >= 0.99 * known).all(), kind
"""


def test_a_device_without_room_leaves_the_work_to_the_spanning_engine(on_device, monkeypatch):
    from reliac.engines.gpu import spanning

    def no_room(vectors, tell):
        raise NoRoom("spanning", "the device ran out of memory")

    monkeypatch.setattr(spanning, "edges_on_device", no_room)
    X = DATA["islands"]
    tree = reliac.cluster(X, "single", engine="gpu")
    assert np.array_equal(tree.links, reliac.cluster(X, "single", engine="spanning").links)


def test_too_many_ties_are_left_to_another_engine(on_device, monkeypatch):
    from reliac.engines.spanning import forest

    monkeypatch.setattr(forest, "most_edges", lambda n: 50)
    engine = get_engine("gpu")(problem_of_squares(np.eye(60), "single"), 1)
    with pytest.raises(TooManyTies):
        list(engine.levels(0))


def test_it_says_what_it_cannot_take():
    X = DATA["islands"]
    with pytest.raises(ValueError, match="dense vectors"):
        reliac.cluster(X, "single", metric="cityblock", engine="gpu")
    with pytest.raises(ValueError, match="tie tolerance"):
        reliac.cluster(X, "single", tie_tolerance=0.1, engine="gpu")


def test_auto_leaves_few_dimensions_and_little_work_to_the_cpu(monkeypatch):
    from reliac.engines.gpu import spanning

    asked = []
    monkeypatch.setattr(spanning, "worth_starting", lambda squares: asked.append(squares) or squares > 1e6)
    flat = problem_of_squares(SPREAD.normal(size=(6000, 2)), "single")
    assert choose(flat).engine.name == "spanning"
    assert not asked
    assert get_engine("gpu").suits(problem_of_squares(SPREAD.normal(size=(300, 30)), "single"))
    assert not get_engine("gpu").suits(problem_of_squares(SPREAD.normal(size=(100, 30)), "single"))
