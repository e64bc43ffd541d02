"""Block products: in one thread each, and how far rounding may lead them astray."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray


def times_transposed(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return left times right transposed; some libraries read beyond the ends of rows and raise flags of no meaning."""
    with np.errstate(invalid="ignore"):
        return np.asarray(left @ right.T)


def product_share(d: int, kind: Any) -> float:
    """Return how far |x|^2 + |y|^2 - 2 x y may be from |x - y|^2, as a share of |x|^2 + |y|^2: 2 |x| |y| is no more.

    A product of d terms is off by at most d eps |x| |y|, and the packed numbers by one eps each; 16 more are plenty.
    """
    return 2 * (d + 16) * float(np.finfo(kind).eps)


def product_floor(d: int, kind: Any) -> float:
    """Return how far it may be off besides, for each of the two rows: numbers so small that they lose their digits."""
    return (d + 16) * float(np.finfo(kind).tiny)


def product_error(norms: NDArray[np.float64], largest: float, d: int, kind: Any) -> NDArray[np.float64]:
    """Return, for rows x of these norms, how far |y|^2 - 2 x y + |x|^2 may be from |x - y|^2 for any y up to a norm."""
    return np.asarray(product_share(d, kind) / 2 * (norms + largest) ** 2)


def one_blas_thread() -> Any:
    """Limit BLAS to one thread: blocks run in our own pool of threads, and two pools would fight for the cores."""
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    """Look up the loaded BLAS libraries once: it takes milliseconds."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
