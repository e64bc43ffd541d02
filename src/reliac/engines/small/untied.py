"""All levels of one small table at once, by the code in ``untied.c``, where the package was built with a C compiler."""

from __future__ import annotations

import ctypes
import logging
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...algorithm.contract import Batch
from ...algorithm.criteria import two_alike
from ...algorithm.links import Links
from ...input.problem import Problem
from .building import library_path

logger = logging.getLogger("reliac")

#: More objects than this are left to code that tells how far it is, and stops on Ctrl-C.
MOST_OBJECTS = 5000

_WHOLE, _FLAG, _FLOAT, _ARRAY = ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.c_void_p

#: What ``reliac_levels`` takes: n, the table, weights; three flags, factor and joint weight of a pair; whether only the
#: smallest link is taken; the stopping rules; and where levels, both ends and distances of the links are written.
_TAKES = (_WHOLE, _ARRAY, _ARRAY, *3 * (_FLAG,), _FLOAT, _FLOAT, _FLAG, _WHOLE, _FLOAT, _FLOAT, *4 * (_ARRAY,))


@cache
def library() -> Any:
    """Return the library; None where the package was built without a C compiler."""
    try:
        found = ctypes.CDLL(str(library_path()))
    except OSError as error:
        logger.debug("small tables are left to NumPy: %s", error)
        return None
    found.reliac_levels.argtypes, found.reliac_levels.restype = _TAKES, _WHOLE
    return found


def can_do(problem: Problem) -> bool:
    """Tell whether a problem is one for the library, and it is there; ties are found only on the way."""
    alike = not problem.criterion.equal_parts or problem.n_objects < 2 or bool((problem.weights == 1.0).all())
    whole = problem.alpha in (0.0, 1.0) and problem.tie_tolerance == 0.0
    return whole and alike and problem.n_objects <= MOST_OBJECTS and library() is not None


def untied_levels(problem: Problem, stored: NDArray[np.float64]) -> Batch | None:
    """Run all levels of a table of stored numbers, which is overwritten; None if something was tied."""
    row, n, stop = problem.criterion, problem.n_objects, problem.stop
    level, p, q = np.empty((3, n), np.int64)
    distance, weight = np.empty(n), np.ones(n) if row.equal_parts else problem.weights.copy()
    factor, joint = two_alike() if row.equal_parts else (1.0, 0.0)
    count = library().reliac_levels(
        n, stored.ctypes.data, weight.ctypes.data, row.reduction is np.add, row.offset, row.by_size, factor, joint,
        problem.alpha == 0.0, stop.n_clusters, stop.max_level, problem.longest,
        level.ctypes.data, p.ctypes.data, q.ctypes.data, distance.ctypes.data,
    )  # fmt: skip
    return None if count < 0 else Batch(level[:count], Links(p[:count], q[:count], distance[:count]), None)
