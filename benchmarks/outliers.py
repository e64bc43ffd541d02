"""Outlier scores on data that the default was not chosen on: a class, and ten objects of the other classes in it.

    RELIAC_DATA=folder python benchmarks/outliers.py

prints the mean area under the ROC curve over the first ten classes of letter, mnist-10k and perfume.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor

import reliac

SCORES = ("level", "distance", "distance of 5", "level of 10", "distance of 10", "distance of 20")
NORMAL, STRANGE, CLASSES = 400, 10, 10


def cases(name):
    """Give the objects of each class in turn with some of the others behind them."""
    data = reliac.datasets.load(name)
    X, rng = np.asarray(data.X, dtype=np.float64), np.random.default_rng(0)
    for value in list(data.class_counts)[:CLASSES]:
        normal = np.flatnonzero(data.y == value)[:NORMAL]
        strange = rng.choice(np.flatnonzero(data.y != value), STRANGE, replace=False)
        yield X[np.concatenate((normal, strange))], np.arange(len(normal) + STRANGE) >= len(normal)


def aucs(X, outlier, seed):
    """Return the area of every score."""
    tree = reliac.cluster(X, "single", metric="euclidean")
    scores = {by: tree.outlier_scores(by) for by in SCORES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # perfume has many equal rows
        scores["LOF"] = -LocalOutlierFactor(min(20, len(X) - 1)).fit(X).negative_outlier_factor_
    scores["isolation forest"] = -IsolationForest(random_state=seed).fit(X).score_samples(X)
    return {name: roc_auc_score(outlier, score) for name, score in scores.items()}


def main():
    for name in ("letter", "mnist-10k", "perfume"):
        found = [aucs(X, outlier, seed) for seed, (X, outlier) in enumerate(cases(name))]
        means = {method: np.mean([one[method] for one in found]) for method in found[0]}
        print(f"{name}: " + ", ".join(f"{method} {mean:.3f}" for method, mean in means.items()))


if __name__ == "__main__":
    main()
