"""Certified lists from candidates: each measured once, the nearest first, cut where they are long."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..lists.engine import SEARCH_LENGTH
from ..lists.entries import LIST_LENGTH
from .device import torch
from .moments import DeviceMoments

#: Numbers of a row that are compared together, where the smallest are looked for.
GROUP = 128


class DeviceLists(NamedTuple):
    """Lists of m clusters: the nearest first; everything else is at least the radius away."""

    slots: Any  # (m, SEARCH_LENGTH), -1 where there are no more
    distances: Any  # (m, SEARCH_LENGTH), infinite where there are no more
    radius: Any  # (m,)


def make_lists(moments: DeviceMoments, rows: Any, slots: Any, radius: Any) -> DeviceLists:
    """Return the lists of rows (m,): of the slots (m, k) those inside the radius (m,), each once and not itself.

    -1 is no slot. Lists with more entries than there is room for are cut, and the radius is that of the first left out.
    """
    if moments.kernels:
        from .kernels import list_nearest

        return DeviceLists(*list_nearest(moments, rows, slots, radius, SEARCH_LENGTH, LIST_LENGTH))
    slots = torch().where(slots == rows[:, None], -1, slots).long().sort(1, descending=True).values
    slots[:, 1:] = torch().where(slots[:, 1:] == slots[:, :-1], -1, slots[:, 1:])
    distances = moments.table(rows, slots)
    distances, order = torch().where(distances < radius[:, None], distances, torch().inf).sort(1)
    slots, missing = slots.gather(1, order), SEARCH_LENGTH + 1 - slots.shape[1]
    if missing > 0:
        pad = torch().nn.functional.pad
        slots, distances = pad(slots, (0, missing), value=-1), pad(distances, (0, missing), value=torch().inf)
    radius = torch().where(distances[:, SEARCH_LENGTH] < torch().inf, distances[:, LIST_LENGTH], radius)
    slots, distances = slots[:, :SEARCH_LENGTH], distances[:, :SEARCH_LENGTH]
    distances = torch().where(distances < radius[:, None], distances, torch().inf)
    return DeviceLists(torch().where(distances < torch().inf, slots, -1), distances, radius)


def smallest(values: Any, count: int) -> tuple[Any, Any]:
    """Return the smallest numbers of each row (m, count), sorted, and where they are.

    Long rows are looked at in groups: those groups whose smallest numbers are the smallest hold what is asked for.
    """
    full = values.shape[1] // GROUP * GROUP
    if full <= 4 * count * GROUP:
        found = values.topk(count, dim=1, largest=False, sorted=True)
        return found.values, found.indices
    device = values.device
    groups = values[:, :full].unflatten(1, (-1, GROUP)).amin(2).topk(count, dim=1, largest=False, sorted=False).indices
    inside = (groups[:, :, None] * GROUP + torch().arange(GROUP, device=device)).flatten(1)
    others = torch().arange(full, values.shape[1], device=device).expand(len(values), -1)
    places = torch().cat((inside, others), 1)
    best, at = values.gather(1, places).topk(count, dim=1, largest=False, sorted=True)
    return best, places.gather(1, at)
