"""Generated problems: lattices full of ties, duplicates, blobs, chains of shrinking gaps."""

from __future__ import annotations

import numpy as np

CRITERIA = ("single", "complete", "average", "weighted", "centroid", "median", "ward")
REDUCIBLE = ("single", "complete", "average", "weighted", "ward")
GEOMETRIC = ("centroid", "median", "ward")

#: Shares of links that every suite runs over: none but the smallest, all, and some whose product with a count rounds
#: up in floats (0.07 * 100 and 0.28 * 100 are a little more than 7 and 28).
ALPHAS = (0.0, 0.07, 0.1, 0.28, 0.3, 0.7, 1.0)


def lattice(seed: int, n: int = 24, d: int = 2, side: int = 4) -> np.ndarray:
    """Integer points in a small box: duplicates and ties everywhere."""
    return np.random.default_rng(seed).integers(0, side, size=(n, d)).astype(float)


def grid(side: int = 5) -> np.ndarray:
    """Every point of a square grid once: every nearest neighbour is a tie."""
    return np.argwhere(np.ones((side, side))).astype(float)


def blobs(seed: int, n: int = 60, d: int = 3) -> np.ndarray:
    """A Gaussian mixture of different densities, and some noise."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=8, size=(4, d))
    which = rng.integers(0, 4, size=n)
    spread = np.array([0.3, 1.0, 2.0, 6.0])[which]
    return centres[which] + rng.normal(size=(n, d)) * spread[:, None]


def shrinking_chain(n: int = 30) -> np.ndarray:
    """Points on a line whose gaps shrink: single links one pair a level."""
    return np.cumsum(np.linspace(2.0, 1.0, n) ** 2)[:, None]


def twins(seed: int, n: int = 20) -> np.ndarray:
    """Two far clusters of many duplicates."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.5, 0.0, 100.0)[:, None] + rng.integers(0, 2, size=(n, 2))


def tied(seed: int) -> np.ndarray:
    """One of the problems that are full of ties; all integers."""
    return [lattice(seed), lattice(seed, n=18, d=1, side=12), grid(4), twins(seed), lattice(seed, d=3, side=2)][
        seed % 5
    ]


def tie_free(seed: int) -> np.ndarray:
    """One of the problems without ties."""
    return [blobs(seed), shrinking_chain(), np.random.default_rng(seed).normal(size=(50, 5))][seed % 3]


def pairs(count: int = 100) -> np.ndarray:
    """So many pairs of points far from each other, all of different lengths: as many reliable links."""
    left = 1000.0 * np.arange(count)
    return np.sort(np.concatenate((left, left + np.arange(1.0, count + 1))))[:, None]
