"""Options: numbers, counts, and the rules that stop a run early."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import explain, option, unknown_name

#: The types that a computed matrix may have.
PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class Stop:
    """Where a run stops early; the defaults stop nothing."""

    n_clusters: int = 1
    max_level: float = math.inf
    max_distance: float = math.inf


def check_number(name: str, value: Any, low: float, high: float, next_step: str) -> float:
    """Return a number between ``low`` and ``high`` as float."""
    allowed = f"a number from {low:g} to {high:g}" if math.isfinite(high) else f"a number of at least {low:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(explain(f"{option(name, value)} is not a number", allowed, next_step))
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all floats
        number = -math.inf if str(value).startswith("-") else math.inf
    if not low <= number <= high:
        raise ValueError(explain(option(name, value), allowed, next_step))
    return number


def check_count(name: str, value: Any, low: int, high: float, next_step: str) -> int:
    """Return a whole number between ``low`` and ``high`` as int."""
    allowed = f"a whole number from {low} to {high:.0f}" if math.isfinite(high) else f"a whole number of at least {low}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(explain(f"{option(name, value)} is not a whole number", allowed, next_step))
    if not low <= int(value) <= high:
        raise ValueError(explain(option(name, value), allowed, next_step))
    return int(value)


def check_switch(name: str, value: Any) -> bool:
    """Return True or False; an array is neither."""
    if not isinstance(value, (bool, np.bool_, numbers.Integral)) or value not in (0, 1):
        raise TypeError(explain(option(name, value), "True or False", f"pass {option(name, True)} or leave it out"))
    return bool(value)


def check_precision(precision: Any) -> np.dtype[Any]:
    """Return the type of numbers that a precision stands for."""
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise ValueError(unknown_name("precision", precision, PRECISIONS))
    return np.dtype(precision)


def check_stop(n: int, n_clusters: Any, max_level: Any, max_distance: Any) -> Stop:
    """Return where to stop; ``n_clusters`` promises exactly K clusters, so it excludes the other two rules."""
    if n_clusters is not None and (max_level is not None or max_distance is not None):
        other, value = ("max_level", max_level) if max_level is not None else ("max_distance", max_distance)
        raise ValueError(
            explain(
                f"{option('n_clusters', n_clusters)} and {option(other, value)} contradict: the first promises exactly "
                "that many clusters, the second may stop before",
                "the first alone, or a level and a distance",
                "drop one of the two",
            )
        )
    if n_clusters is not None:
        n_clusters = check_count("n_clusters", n_clusters, 1, n, f"ask for no more clusters than the {n} objects")
    if max_level is not None:
        max_level = check_count("max_level", max_level, 0, math.inf, "give the number of steps to make")
    if max_distance is not None:
        step = "give the longest distance that a link may have"
        max_distance = check_number("max_distance", max_distance, 0.0, math.inf, step)
    return Stop(
        1 if n_clusters is None else n_clusters,
        math.inf if max_level is None else max_level,
        math.inf if max_distance is None else max_distance,
    )
