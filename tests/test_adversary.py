"""A quick share of what the adversary tries; ``python tests/adversary.py SECONDS`` goes on for longer."""

from __future__ import annotations

import math

import pytest

import adversary


@pytest.mark.parametrize("part", range(3), ids=["odd calls", "damaged files", "odd command lines"])
def test_whatever_is_tried_ends_in_a_result_or_an_error_in_three_parts(part):
    counts = {"result": 0, "refused": 0}
    for number in range(part, 1200, 3):
        for told, count in adversary.try_for(math.inf, number, most=1).items():
            counts[told] += count
    assert min(counts.values()) > 10  # both happen, so the attempts are neither too wild nor too tame
