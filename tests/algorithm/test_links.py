"""One step on arrays: the tie rule, the share, the groups."""

from __future__ import annotations

import numpy as np
import pytest

from reliac.algorithm.links import (
    Links,
    groups_of,
    joining_links,
    level_out,
    reliable_links,
    share_count,
    smallest_share,
)


def links(*rows):
    p, q, d = zip(*rows, strict=True)
    return Links(np.array(p), np.array(q), np.array(d, dtype=float))


def as_set(found):
    return set(zip(found.p.tolist(), found.q.tolist(), found.distance.tolist(), strict=True))


def test_a_link_is_reliable_only_if_both_clusters_name_each_other():
    nearest = links((0, 1, 1), (1, 0, 1), (2, 1, 3), (3, 4, 2), (4, 3, 2))
    assert as_set(reliable_links(nearest, 5)) == {(0, 1, 1.0), (3, 4, 2.0)}


def test_indices_near_the_largest_product_do_not_overflow():
    n = 2_000_000_000
    nearest = links((n - 2, n - 1, 1), (n - 1, n - 2, 1))
    assert as_set(reliable_links(nearest, n)) == {(n - 2, n - 1, 1.0)}


@pytest.mark.parametrize(("alpha", "kept"), [(0.0, 1), (0.2, 1), (0.21, 3), (0.5, 3), (0.6, 3), (0.61, 4), (1.0, 5)])
def test_alpha_keeps_the_smallest_share_and_what_ties_with_its_last(alpha, kept):
    five = links((6, 7, 3), (0, 1, 1), (4, 5, 2), (2, 3, 2), (8, 9, 4))
    assert len(smallest_share(five, alpha, 1.0).p) == kept


@pytest.mark.parametrize(
    ("alpha", "count"), [(0.07, 7), (0.1, 10), (0.28, 28), (0.3, 30), (0.7, 70), (1.0, 100), (1e-9, 1)]
)
def test_a_share_of_100_links_is_not_rounded_up_by_the_product(alpha, count):
    assert share_count(alpha, 100) == count


def test_alpha_zero_breaks_ties_by_the_smallest_pair_of_indices():
    tied = links((3, 4, 1), (1, 9, 1), (1, 2, 1), (5, 6, 2))
    assert as_set(smallest_share(tied, 0.0, 1.0)) == {(1, 2, 1.0)}


def test_joining_links_are_kruskals_choice_in_order():
    triangle = links((0, 1, 1), (0, 2, 1), (1, 2, 1), (5, 6, 2))
    found = joining_links(triangle, 7)
    assert list(zip(found.p.tolist(), found.q.tolist(), strict=True)) == [(0, 1), (0, 2), (5, 6)]


def test_groups_are_the_connected_components_and_keep_the_smallest_index():
    groups = groups_of(links((4, 7, 1), (2, 4, 1), (0, 3, 2)), 8)
    assert [part.tolist() for part in np.split(groups.parts, groups.starts[1:])] == [[0, 3], [2, 4, 7]]
    assert groups.heads.tolist() == [0, 2]


def test_with_a_tolerance_a_group_takes_its_smallest_distance():
    found = level_out(links((0, 1, 1.0), (1, 2, 1.1), (3, 4, 1.05)), 5)
    assert as_set(found) == {(0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.05)}
    assert found.distance.tolist() == sorted(found.distance)
