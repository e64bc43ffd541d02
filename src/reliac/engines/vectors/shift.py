"""Moving all vectors together changes no distance, and small numbers lose fewer bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def exact_shift(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what can be taken off each column without rounding: its middle, where all lies far from zero.

    A column that spans less than its distance from zero loses no bit (Sterbenz); others are left alone, but for
    whole numbers, which a whole number shifts exactly.
    """
    low, high = vectors.min(axis=0), vectors.max(axis=0)
    middle = np.rint((low + high) / 2)
    whole = (np.rint(vectors[:1000]) == vectors[:1000]).all(axis=0) & (np.maximum(-low, high) < 2**51)
    for column in np.flatnonzero(whole & (low < high)):  # most are seen not to be, or to be constant, at once
        whole[column] = (np.rint(vectors[:, column]) == vectors[:, column]).all()
    far = np.minimum(np.abs(low), np.abs(high)) * 2 >= np.maximum(np.abs(low), np.abs(high))
    far &= np.sign(low) == np.sign(high)
    middle = np.where(far & ~whole, low, middle)
    return np.where(whole | far, middle, 0.0)
