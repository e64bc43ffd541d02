"""Loading the C code. Its functions take arrays by their addresses; all of them let other threads run meanwhile."""

from __future__ import annotations

import ctypes
import logging
from functools import cache
from typing import Any

from numpy.typing import NDArray

from ..errors import InvariantError
from .building import open_library

logger = logging.getLogger("reliac")

_WHOLE, _FLAG, _FLOAT, _ARRAY = ctypes.c_int64, ctypes.c_int32, ctypes.c_double, ctypes.c_void_p
_BYTE: Any = ctypes.c_char

#: What every function takes; the C files say what it means. All return a number: below 0, what was asked is not done.
FUNCTIONS = {
    "reliac_levels": (
        *(_WHOLE, _ARRAY, _ARRAY, _FLAG, _FLAG, _FLAG, _FLOAT, _FLOAT),
        *(_FLAG, _FLAG, _WHOLE, _FLOAT, _FLOAT, _ARRAY, _ARRAY),
    ),
    "reliac_single": (_WHOLE, _ARRAY, _FLAG, _WHOLE, _FLOAT, _FLOAT, _ARRAY, _ARRAY),
    "reliac_unfold": (_WHOLE, _ARRAY, _ARRAY),
    "reliac_nodes": (_WHOLE, _WHOLE, _ARRAY, _ARRAY),
    "reliac_linkage": (_WHOLE, _WHOLE, _ARRAY, _FLAG, _FLAG, _ARRAY, _ARRAY),
    "reliac_tree": (_WHOLE, _WHOLE, _ARRAY, _FLAG, _ARRAY, _FLAG, _WHOLE, _ARRAY, _ARRAY, _ARRAY),
    "reliac_mixed": (_WHOLE, _WHOLE, _WHOLE, _ARRAY),
    "reliac_are_links": (_WHOLE, _WHOLE, _ARRAY, _ARRAY),
    "reliac_extremes": (_WHOLE, _ARRAY, _ARRAY),
    "reliac_look": (_WHOLE, _ARRAY, _WHOLE, _WHOLE, _ARRAY),
    "reliac_surely_points": (_WHOLE, _ARRAY, _WHOLE, _WHOLE, _ARRAY, _FLOAT),
    "reliac_folding_begin": (
        *(_WHOLE, _ARRAY, _FLAG, _FLAG, _WHOLE, _FLAG, _FLAG, _FLAG, _FLOAT, _FLOAT),
        *(_WHOLE, _FLOAT, _FLOAT, _FLOAT, _WHOLE, _WHOLE, _WHOLE, _WHOLE, _ARRAY, _ARRAY),
    ),
    "reliac_most_threads": (),
    "reliac_folding_start": (_ARRAY, _WHOLE),
    "reliac_folding_work": (_ARRAY, _WHOLE),
    "reliac_folding_count": (_ARRAY,),
    "reliac_folding_stop": (_ARRAY,),
    "reliac_folding_left": (_ARRAY, _ARRAY, _ARRAY, _ARRAY),
    "reliac_folding_end": (_ARRAY,),
}


@cache
def library() -> Any:
    """Return the library; None where the package was built without a C compiler."""
    try:
        found = open_library()
    except OSError as error:
        logger.debug("there is no C code; NumPy and other engines do its work: %s", error)
        return None
    for name, takes in FUNCTIONS.items():
        function = getattr(found, name)
        function.argtypes, function.restype = takes, _ARRAY if name == "reliac_folding_begin" else _WHOLE
    return found


def address(array: NDArray[Any]) -> int:
    """Return where the numbers of an array are, one after the other; it must live until the call is done."""
    if not is_plain(array):
        raise InvariantError("C code was given an array with gaps, or between two places: please report this")
    if array.flags.writeable and array.nbytes:  # an array's own ``ctypes`` takes a microsecond more
        return ctypes.addressof(_BYTE.from_buffer(array))
    return int(array.ctypes.data)


def is_plain(array: NDArray[Any]) -> bool:
    """Tell whether the numbers of an array lie one after the other, each in a place of its own."""
    return bool(array.flags.c_contiguous and array.flags.aligned)
