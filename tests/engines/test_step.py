"""One meaning of a step: links.py on arrays and its compiled twin give the same on generated links."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from constrained import some_constraints
from problems import ALPHAS
from reliac.algorithm import limits
from reliac.algorithm import links as plain
from reliac.algorithm.limits import make_limits
from reliac.algorithm.links import Links
from reliac.engines.compiled import step
from reliac.input.constraints import make_constraints
from reliac.input.objects import Vectors

#: Ties, and what counts as one: exact, a little, much.
TIE_FACTORS = (1.0, 1.0 + 1e-9, 1.3)


def face(function):
    """Give a compiled part a face to Python: it has none of its own."""

    @numba.njit
    def call(*args):
        return function(*args)

    return call


reliable_links, smallest_share, within, level_out, joining_links, groups_of, share_count, allowed_links = map(
    face,
    (
        step.reliable_links,
        step.smallest_share,
        step.within,
        step.level_out,
        step.joining_links,
        step.groups_of,
        step.share_count,
        step.allowed_links,
    ),
)


def patterns():
    """Symmetric distances with few ties, many, near ones, only ties, and groups apart."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 40))
        kinds = (
            rng.random((n, n)),
            rng.integers(1, 4, size=(n, n)).astype(float),
            rng.integers(1, 60, size=(n, n)).astype(float),
            rng.integers(1, 4, size=(n, n)) + 1e-10 * rng.random((n, n)),
            np.ones((n, n)),
            np.abs(np.subtract.outer(*[np.cumsum(rng.integers(1, 4, size=n)).astype(float)] * 2)),
        )
        for values in kinds:
            D = np.triu(values, 1)
            D = D + D.T
            np.fill_diagonal(D, np.inf)
            yield D


def nearest_links(D, tie_factor):
    """For every cluster p all clusters at its smallest distance, as the literal engine gives them."""
    p, q = np.nonzero(D.min(axis=1)[:, None] * tie_factor >= D)
    return Links(p, q, D[p, q])


def both_sides(nearest):
    """The same links as the compiled twin takes them: the smaller number first, some twice."""
    return Links(np.minimum(nearest.p, nearest.q), np.maximum(nearest.p, nearest.q), nearest.distance)


def same(ours, theirs):
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("tie_factor", TIE_FACTORS)
def test_every_verb_of_a_step_gives_the_same_links_as_its_twin(tie_factor):
    for D in patterns():
        n, leader = len(D), np.empty(len(D), np.int64)
        nearest = nearest_links(D, tie_factor)
        theirs = plain.reliable_links(nearest, n)
        ours = reliable_links(both_sides(nearest), np.arange(n), tie_factor)
        assert same(ours, plain.smallest_share(theirs, 1.0, tie_factor))  # which sorts
        for alpha in ALPHAS:
            share = plain.smallest_share(theirs, alpha, tie_factor)
            count = smallest_share(ours.distance, alpha, tie_factor)
            taken = Links(*(column[:count] for column in ours))
            assert same(taken, share)
            assert within(taken.distance, 2.0) == (share.distance <= 2.0).sum()
            if tie_factor > 1.0:
                taken, share = level_out(taken, np.arange(n), leader), plain.level_out(share, n)
                assert same(taken, share)
            joining = joining_links(taken, leader)
            assert same((column[joining] for column in taken), plain.joining_links(share, n))
            given = make_constraints(Vectors(D), **some_constraints(n, n))
            ours_left, theirs_left = make_limits(given, n), make_limits(given, n)
            allowed = allowed_links(taken, np.arange(n), ours_left)
            assert same((column[allowed] for column in taken), limits.allowed_links(share, theirs_left))
            assert same(ours_left[1:5], theirs_left[1:5])
            parts, bounds = groups_of(taken, np.arange(n), leader)
            groups = plain.groups_of(share, n)
            assert same((parts, bounds), (groups.parts, np.append(groups.starts, len(groups.parts))))


def test_the_share_of_any_number_of_links_is_the_same():
    for alpha in (*ALPHAS[1:], 0.05, 0.15, 0.35, 0.55, 0.99, 1e-9):
        for count in range(1, 400):
            assert share_count(alpha, count) == plain.share_count(alpha, count)


def test_slots_in_another_order_give_the_links_of_the_same_objects():
    for D in patterns():
        n = len(D)
        order = np.random.default_rng(n).permutation(n)  # slot -> object
        nearest = nearest_links(D, 1.0)
        slot_of = np.argsort(order)
        smaller = both_sides(nearest)
        ours = reliable_links(Links(slot_of[smaller.p], slot_of[smaller.q], smaller.distance), order, 1.0)
        theirs = plain.smallest_share(plain.reliable_links(nearest, n), 1.0, 1.0)
        assert same((order[ours.p], order[ours.q], ours.distance), theirs)
