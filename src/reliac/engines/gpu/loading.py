"""The kernels of searches, loaded before the first of them is needed: Triton compiles what a machine does not have yet.

They are compiled for a number of columns rounded up. That takes seconds, once for a machine, so it is said; it is done
in a thread of its own, so that Ctrl-C is answered meanwhile.
"""

from __future__ import annotations

from typing import Any

from ...input.problem import Problem
from ..compiled.loading import Watch, load
from ..compiled.rules import make_rules
from ..lists.engine import SEARCH_LENGTH
from .columns import Columns, Skipping, make_frame, packed_width
from .device import current, is_gpu, the_device, torch
from .moments import KIND_OF_ROWS, DeviceMoments, has_kernels
from .ties import load_settling

#: The name under which the code of this room is loaded.
NAME = "gpu"

#: Numbers of columns, rounded up, that ``reliac warmup`` loads kernels for.
WIDTHS = (16, 32, 64, 128)

#: Rows that are searched to have all kernels loaded.
ROWS = 256


def load_kernels(d: int, device: Any) -> None:
    """Load the kernels for rows of d columns; the first time on a machine they are compiled."""
    if is_gpu(device) and has_kernels(device):
        width = packed_width(d)
        load(NAME, str(width), lambda: _load(width, device))


def load_all(problem: Problem) -> None:
    """Load what any problem may need: the kernels for the usual numbers of columns, and how ties are settled."""
    load_settling(make_rules(problem))
    for width in WIDTHS:
        load_kernels(width, the_device())


def _load(width: int, device: Any) -> None:
    """Say what is compiled if it takes longer than a moment."""
    watch = Watch(NAME)
    watch.on_start(None)
    try:
        with current(device):
            search_few(width, device)
    finally:
        watch.on_end(None)


def search_few(width: int, device: Any) -> None:
    """Search a few rows in all the ways there are: with weights and without, nearest ones and those of other groups."""
    from .sift import SiftSearch

    generator = torch().Generator(device).manual_seed(0)
    sums = torch().rand(ROWS, width, dtype=torch().float64, device=device, generator=generator)
    everyone = torch().arange(ROWS, device=device)
    weight = 1.0 + everyone.double() % 2
    for by_size in (False, True):
        kind = KIND_OF_ROWS._replace(by_size=by_size)
        moments = DeviceMoments(sums, weight, everyone, weight.new_zeros(1), kind)
        search = SiftSearch(Columns(moments, everyone, make_frame(moments, everyone)), Skipping())
        found = search.nearest(everyone, SEARCH_LENGTH)
        search.outside(everyone, everyone % 2, found.bound)
