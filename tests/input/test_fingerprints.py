"""Fingerprints: checkpoints of different functions and data never meet."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import reliac
from problems import blobs
from reliac.input.fingerprints import function_fingerprint, vectors_fingerprint


def power(p):
    def metric(a, b):
        return (np.abs(a - b) ** p).sum()

    return metric


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, a, b):
        return self.factor * np.abs(a - b).sum()

    def measure(self, a, b):
        return self.factor * np.abs(a - b).sum()


def default_three(a, b, p=3):
    return p


def recursive():
    def metric(a, b):
        return metric if a is b else 0.0

    return metric


DIFFERENT = [
    lambda a, b: np.abs(a - b).sum(),
    lambda a, b: np.abs(a - b).max(),
    lambda a, b: 2 * np.abs(a - b).sum(),
    lambda a, b: 3 * np.abs(a - b).sum(),
    power(1),
    power(2),
    functools.partial(default_three, p=1),
    functools.partial(default_three, p=2),
    default_three,
    Scaled(1.0),
    Scaled(2.0),
    Scaled(np.arange(2000.0)),
    Scaled(np.arange(2000.0) + (np.arange(2000) == 1000)),
    Scaled(1.0).measure,
    Scaled(2.0).measure,
    recursive(),
    max,
    min,
]


def test_different_functions_have_different_fingerprints():
    assert len({function_fingerprint(function) for function in DIFFERENT}) == len(DIFFERENT)


def test_a_function_made_again_has_the_same_fingerprint():
    assert function_fingerprint(power(2)) == function_fingerprint(power(2))
    assert function_fingerprint(Scaled(2.0)) == function_fingerprint(Scaled(2.0))
    assert function_fingerprint(recursive()) == function_fingerprint(recursive())


def test_checkpoints_of_different_functions_do_not_collide(tmp_path):
    X = blobs(2, n=20)

    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(reliac.Interrupted):
        reliac.cluster(X, "average", metric=power(1), checkpoint=tmp_path / "c", progress=interrupt)
    for other in (power(2), lambda a, b: 0.0, "cityblock"):
        with pytest.raises(ValueError, match="other data or options"):
            reliac.cluster(X, "average", metric=other, checkpoint=tmp_path / "c")
    tree = reliac.cluster(X, "average", metric=power(1), checkpoint=tmp_path / "c")
    assert np.array_equal(tree.links, reliac.cluster(X, "average", metric=power(1)).links)


def test_the_fingerprint_of_data_follows_the_values_and_the_shape():
    from scipy import sparse

    X = np.arange(12.0).reshape(4, 3)
    assert vectors_fingerprint(X) == vectors_fingerprint(X.astype(np.int8)) == vectors_fingerprint(X * 1.0 - 0.0)
    rows = sparse.csr_array(X)
    assert vectors_fingerprint(rows) == vectors_fingerprint(sparse.csr_array(rows.tocoo()))
    assert len({vectors_fingerprint(data) for data in (X, X.reshape(3, 4), X + 1, X[:3], rows, rows * 2)}) == 6
