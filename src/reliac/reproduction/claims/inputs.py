"""Data sets as the experiments of this package use them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ...datasets import Dataset


def features(dataset: Dataset) -> NDArray[np.float64]:
    """Return the features; a missing value counts as the median of its column."""
    X = np.array(dataset.X, dtype=np.float64)
    missing = np.isnan(X)
    return np.where(missing, np.nanmedian(X, axis=0), X) if missing.any() else X


def left_out(wanted: Iterable[str], datasets: Mapping[str, Dataset]) -> tuple[str, ...]:
    """Return a sentence that names the data sets that were not there, if any."""
    missing = [name for name in wanted if name not in datasets]
    return (f"Left out, because the data are not at hand: {', '.join(missing)}.",) if missing else ()
