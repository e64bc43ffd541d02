"""Objects that are no rows of numbers, such as texts or sets, where a function compares them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .numbers import Names, index_names, is_frame, is_sparse, to_numbers

#: Texts of at most so many characters are good names for themselves.
LONGEST_NAME = 100


class Things(NamedTuple):
    """The objects as the function gets them, and their names if they have any."""

    items: Sequence[Any]
    names: Names | None


def things_of(X: Any) -> Things | None:
    """Return what X holds as objects of any kind; None if it is a table of numbers, or nothing that can be counted.

    An array and a frame give their rows, a list what is in it. Short distinct texts are their own names.
    """
    if is_sparse(X) or isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__") or not _is_ordered(X):
        return None
    if _are_numbers(X):
        return None
    if is_frame(X):
        return Things(list(X.to_numpy()), index_names(X))
    items = list(X)
    texts = bool(items) and all(isinstance(item, str) and 0 < len(item) <= LONGEST_NAME for item in items)
    own = texts and len(set(items)) == len(items)
    return Things(items, np.array(items, dtype=np.str_) if own else None)


def _is_ordered(X: Any) -> bool:
    return hasattr(X, "__getitem__") and not isinstance(X, (set, frozenset))


def _are_numbers(X: Any) -> bool:
    """Tell whether X is a table of numbers, or nearly one: then it is read as one, and what is wrong is said."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiubc":
        return True
    try:
        to_numbers(X, finite=False)
    except (TypeError, ValueError):
        return False
    return True
