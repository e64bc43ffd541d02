"""Kernels in Triton: where it is installed, searches take them instead of plain torch. Same results.

Only this file imports Triton. Sizes that change from call to call are not specialised on, so each kernel is compiled
once for a number of columns rounded up.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

#: Rows of a block, columns of a tile, tiles of a chunk (whose columns share a centre).
BLOCK, TILE, CHUNK = 128, 128, 16

#: Classes of columns: a tile has this many, a column is in that of its number modulo this.
CLASSES, CLASSES_OF_SAMPLE = 16, 32


# --- exact distances ---


@triton.jit
def _numerator(sums, weight, p, q, width, IN_ORDER: tl.constexpr):
    """Return sum_k (w_q s_pk - w_p s_qk)^2 of pairs: column after column, or as four sums, as the CPU adds it up."""
    wp = tl.load(weight + p)
    wq = tl.load(weight + q)
    if IN_ORDER:
        total = wp * 0.0
        for k in range(width):
            gap = wq * tl.load(sums + p * width + k) - wp * tl.load(sums + q * width + k)
            total = total + gap * gap
    else:
        four = tl.zeros((p.shape[0], 4), tl.float64)
        for first in range(0, width, 4):
            k = first + tl.arange(0, 4)
            a = tl.load(sums + p[:, None] * width + k[None, :])
            b = tl.load(sums + q[:, None] * width + k[None, :])
            gap = wq[:, None] * a - wp[:, None] * b
            four = four + gap * gap
        even, odd = tl.split(tl.reshape(four, (p.shape[0], 2, 2)))
        low, high = tl.split(even + odd)
        total = low + high
    return total


@triton.jit
def _distance(
    sums, weight, row, spread, p, q, width, scale, IN_ORDER: tl.constexpr, SPREAD: tl.constexpr, BY_SIZE: tl.constexpr
):  # fmt: skip
    """Return the distances of pairs of clusters, as :func:`reliac.engines.vectors.moments` has them.

    ``scale`` comes as float32: it is 1 or a half, which is exact.
    """
    wp = tl.load(weight + p)
    wq = tl.load(weight + q)
    total = _numerator(sums, weight, p, q, width, IN_ORDER)
    if SPREAD:
        total = total + (wq * wq * tl.load(spread + p) + wp * wp * tl.load(spread + q))
    product = wp * wq
    found = scale * (total / (product * (wp + wq) if BY_SIZE else product * product))
    return tl.where(tl.load(row + p) == tl.load(row + q), 0.0, found)


@triton.jit(do_not_specialize=["m", "width"])
def _of_pairs(
    sums, weight, row, spread, left, right, out, m, width, scale,
    IN_ORDER: tl.constexpr, SPREAD: tl.constexpr, BY_SIZE: tl.constexpr, WHOLE: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip
    """Write the distances of pairs; their numerators only, if not WHOLE."""
    at = tl.program_id(0).to(tl.int64) * PAIRS + tl.arange(0, PAIRS)
    there = at < m
    p = tl.load(left + at, mask=there, other=0)
    q = tl.load(right + at, mask=there, other=0)
    if WHOLE:
        found = _distance(sums, weight, row, spread, p, q, width, scale, IN_ORDER, SPREAD, BY_SIZE)
    else:
        found = _numerator(sums, weight, p, q, width, IN_ORDER)
    tl.store(out + at, found, mask=there)


def of_pairs(moments: Any, p: Any, q: Any, whole: bool) -> Any:
    """Return distances of pairs; if not ``whole``, numerators added up column after column, as joins need them.

    No operations are fused: the CPU's bits.
    """
    out = torch.empty(len(p), dtype=torch.float64, device=moments.device)
    if len(p):
        _of_pairs[(triton.cdiv(len(p), 128),)](
            moments.sums, moments.weight, moments.row, moments.spread, p.contiguous(), q.contiguous(), out, len(p),
            moments.sums.shape[1], moments.scale, IN_ORDER=moments.in_order or not whole, SPREAD=moments.with_spread,
            BY_SIZE=moments.by_size, WHOLE=whole, PAIRS=128, num_warps=4, enable_fp_fusion=False,
        )  # fmt: skip
    return out


@triton.jit(do_not_specialize=["given", "width"])
def _list_nearest(
    sums, weight, row, spread, rows, slots, radius, out_slots, out_distances, out_radius, given, width, scale,
    IN_ORDER: tl.constexpr, SPREAD: tl.constexpr, BY_SIZE: tl.constexpr,
    LENGTH: tl.constexpr, CUT: tl.constexpr, PLACES: tl.constexpr,
):  # fmt: skip
    """Make one list: measure its candidates, each once, and put each at the place that the number of nearer ones is."""
    i = tl.program_id(0).to(tl.int64)
    me = tl.load(rows + i)
    limit = tl.load(radius + i)
    at = tl.arange(0, PLACES)
    q = tl.load(slots + i * given + at, mask=at < given, other=-1).to(tl.int64)
    earlier = at[None, :] < at[:, None]
    twice = tl.max(((q[:, None] == q[None, :]) & earlier).to(tl.int32), axis=1)
    there = (q >= 0) & (q != me) & (twice == 0)
    p = me + tl.zeros((PLACES,), tl.int64)
    distance = _distance(
        sums, weight, row, spread, p, tl.where(there, q, me), width, scale, IN_ORDER, SPREAD, BY_SIZE
    )  # fmt: skip
    distance = tl.where(there & (distance < limit), distance, float("inf"))
    mine, theirs = distance[:, None], distance[None, :]
    place = tl.sum(((theirs < mine) | ((theirs == mine) & earlier)).to(tl.int32), axis=1)
    count = tl.sum((distance < float("inf")).to(tl.int32), axis=0)
    cut = tl.min(tl.where(place == CUT, distance, float("inf")), axis=0)
    limit = tl.where(count > LENGTH, cut, limit)
    distance = tl.where(distance < limit, distance, float("inf"))
    kept = place < LENGTH
    tl.store(out_slots + i * LENGTH + place, tl.where(distance < float("inf"), q, -1), mask=kept)
    tl.store(out_distances + i * LENGTH + place, distance, mask=kept)
    tl.store(out_radius + i, limit)


def list_nearest(moments: Any, rows: Any, slots: Any, radius: Any, length: int, cut: int) -> tuple[Any, Any, Any]:
    """Return the lists of rows: slots (m, length), distances (m, length) and radii (m,)."""
    (m, given), device = slots.shape, moments.device
    out = torch.empty(m, length, dtype=torch.int64, device=device)
    distances = torch.empty(m, length, dtype=torch.float64, device=device)
    limits = torch.empty(m, dtype=torch.float64, device=device)
    if m:
        _list_nearest[(m,)](
            moments.sums, moments.weight, moments.row, moments.spread, rows.contiguous(), slots.contiguous(),
            radius.contiguous(), out, distances, limits, given, moments.sums.shape[1], moments.scale,
            IN_ORDER=moments.in_order, SPREAD=moments.with_spread, BY_SIZE=moments.by_size,
            LENGTH=length, CUT=cut, PLACES=triton.next_power_of_2(max(32, given, length)),
            num_warps=2, enable_fp_fusion=False,
        )  # fmt: skip
    return out, distances, limits


# --- products that select ---


@triton.jit
def _centred(rows_x, centres, rows, chunk, k, WIDTH: tl.constexpr):
    """Return some columns k of rows, seen from the centre of a chunk."""
    return tl.load(rows_x + rows[:, None] * WIDTH + k[None, :]) - tl.load(centres + chunk * WIDTH + k)[None, :]


@triton.jit
def products_of_halves(a, rows_x, centres, halves, rows, chunk, columns, k, WIDTH: tl.constexpr, STEP: tl.constexpr):
    """Return -2 x y of rows and columns, both centred: products of halves, summed in float32."""
    if STEP == WIDTH:  # then ``a`` has the rows
        v = tl.dot(a, tl.trans(tl.load(halves + columns[:, None] * WIDTH + k[None, :])))
    else:
        v = tl.zeros((rows.shape[0], columns.shape[0]), tl.float32)
        for first in range(0, WIDTH, STEP):
            x = _centred(rows_x, centres, rows, chunk, first + k, WIDTH)
            b = tl.trans(tl.load(halves + columns[:, None] * WIDTH + (first + k)[None, :]))
            v = tl.dot((x * -2.0).to(tl.float16), b, v)
    return v


@triton.jit(do_not_specialize=["room"])
def sift(
    rows_x, centres, extra, inverse, tau, halves, square, inverse_y, group, group_y, item_block, item_chunk, start,
    tiles, count, out, room, keep, constant,
    WIDTH: tl.constexpr, STEP: tl.constexpr, WEIGHTED: tl.constexpr, SMALLEST: tl.constexpr, GROUPED: tl.constexpr,
    BLOCK: tl.constexpr, TILE: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip
    """Compare one block of rows with some tiles of one chunk of columns, both centred at the chunk.

    v = keep |y|^2 + extra_y - 2 x y [- tau / w_y]. Classes of columns with a v below the row's limit are noted in
    ``out`` (rows, room), their numbers counted in ``count``. SMALLEST: the smallest value of each class over all tiles
    of the chunk is written instead; GROUPED: the smallest value of all columns of the chunk that are in another group
    than the row. Cost: a product of halves, and a comparison for each number.
    """
    item = tl.program_id(0)
    chunk = tl.load(item_chunk + item)
    rows = tl.load(item_block + item).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, STEP)
    x = _centred(rows_x, centres, rows, chunk, k, WIDTH)
    own = tl.sum(x * x, axis=1)
    a = (x * -2.0).to(tl.float16)
    for first in range(STEP, WIDTH, STEP):
        x = _centred(rows_x, centres, rows, chunk, first + k, WIDTH)
        own += tl.sum(x * x, axis=1)
    own = own * keep + tl.load(extra + rows)
    reach = tl.load(tau + rows)
    mine = tl.load(inverse + rows)
    limit = (reach * mine if WEIGHTED else reach) - own + constant
    if GROUPED:
        own_group = tl.load(group + rows)
    classes = tl.arange(0, CLASSES)
    best = tl.full((BLOCK, CLASSES), float("inf"), tl.float32)
    for i in range(tl.load(start + item), tl.load(start + item + 1)):
        tile = tl.load(tiles + i)
        columns = tile * TILE + tl.arange(0, TILE).to(tl.int64)
        v = products_of_halves(a, rows_x, centres, halves, rows, chunk, columns, k, WIDTH, STEP)
        v = v + tl.load(square + columns)[None, :]
        if WEIGHTED:
            theirs = tl.load(inverse_y + columns)
            if SMALLEST:
                v = (v + own[:, None]) / (mine[:, None] + theirs[None, :])
            else:
                v = v - reach[:, None] * theirs[None, :]
        elif SMALLEST:
            v = v + own[:, None]
        if GROUPED:
            v = tl.where(own_group[:, None] == tl.load(group_y + columns)[None, :], float("inf"), v)
        least = tl.min(tl.reshape(v, (BLOCK, TILE // CLASSES, CLASSES)), axis=1)
        if SMALLEST:
            best = tl.minimum(best, least)
        else:
            hit = least < limit[:, None]
            counter = count + rows[:, None] + tl.zeros((1, CLASSES), tl.int64)
            at = tl.atomic_add(counter, tl.full((BLOCK, CLASSES), 1, tl.int32), mask=hit, sem="relaxed")
            code = (tile * CLASSES + classes)[None, :] + tl.zeros((BLOCK, 1), tl.int32)
            tl.store(out + rows[:, None] * room + at, code, mask=hit & (at < room))
    if GROUPED:
        tl.store(out + rows * room + chunk, tl.min(best, axis=1))
    elif SMALLEST:
        at = chunk * CLASSES + classes
        tl.store(out + rows[:, None] * room + at[None, :], best)


@triton.jit(do_not_specialize=["n_tiles"])
def mark_tiles(
    rows_x, square, extra, inverse, tau, ball, ball_square, ball_radius, ball_extra, ball_inverse, out, n_tiles,
    relative, absolute,
    WIDTH: tl.constexpr, STEP: tl.constexpr, WEIGHTED: tl.constexpr, BLOCK: tl.constexpr, SOME: tl.constexpr,
):  # fmt: skip
    """Mark the tiles that some row of a block may need: the ball around their columns reaches inside its threshold."""
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tiles = tl.program_id(1) * SOME + tl.arange(0, SOME)
    there = tiles < n_tiles
    product = tl.zeros((BLOCK, SOME), tl.float32)
    for first in range(0, WIDTH, STEP):
        k = first + tl.arange(0, STEP)
        x = tl.load(rows_x + rows[:, None] * WIDTH + k[None, :])
        c = tl.load(ball + tiles.to(tl.int64)[:, None] * WIDTH + k[None, :], mask=there[:, None], other=0.0)
        product = tl.dot(x, tl.trans(c), product, input_precision="tf32x3")
    both = tl.load(square + rows)[:, None] + tl.load(ball_square + tiles, mask=there, other=0.0)[None, :]
    low = tl.sqrt(tl.maximum(both - 2.0 * product - relative * both, 0.0))
    low = tl.maximum(low - (tl.load(ball_radius + tiles, mask=there, other=0.0) + absolute)[None, :], 0.0)
    low = low * low + tl.load(extra + rows)[:, None] + tl.load(ball_extra + tiles, mask=there, other=0.0)[None, :]
    limit = tl.load(tau + rows)[:, None]
    if WEIGHTED:
        inverses = tl.load(inverse + rows)[:, None] + tl.load(ball_inverse + tiles, mask=there, other=0.0)[None, :]
        limit = limit * inverses
    needed = tl.max((low * (1 - 1e-5) < limit).to(tl.int32), axis=0)
    tl.store(out + tl.program_id(0).to(tl.int64) * n_tiles + tiles, needed.to(tl.int8), mask=there)


@triton.jit(do_not_specialize=["n_columns", "room", "room_kept", "rounding", "absolute"])
def refine(
    rows_x, columns_y, extra, extra_y, inverse, inverse_y, own, tau, count, codes, count_kept, values, places,
    n_columns, room, room_kept, rounding, absolute,
    WIDTH: tl.constexpr, STEP: tl.constexpr, WEIGHTED: tl.constexpr,
    TILE: tl.constexpr, CLASSES: tl.constexpr, TOGETHER: tl.constexpr,
):  # fmt: skip
    """Measure one row against all columns of the classes noted, in float32 differences, and keep those below tau.

    A difference has no cancellation. The value kept is a lower bound: what rounding may have added is taken off.
    """
    r = tl.program_id(0).to(tl.int64)
    PER: tl.constexpr = TILE // CLASSES
    MANY: tl.constexpr = TOGETHER * PER
    noted = tl.minimum(tl.load(count + r), room)
    me = tl.load(own + r)
    reach = tl.load(tau + r)
    extra_x = tl.load(extra + r)
    mine = tl.load(inverse + r)
    kept = 0
    for g in range(0, noted, TOGETHER):
        which = g + tl.arange(0, TOGETHER)
        code = tl.load(codes + r * room + which, mask=which < noted, other=-1)
        base = tl.where(code >= 0, (code // CLASSES) * TILE + code % CLASSES, n_columns)
        columns = tl.reshape(base[:, None] + (tl.arange(0, PER) * CLASSES)[None, :], (MANY,)).to(tl.int64)
        there = columns < n_columns
        total = tl.zeros((MANY,), tl.float32)
        for first in range(0, WIDTH, STEP):
            k = first + tl.arange(0, STEP)
            x = tl.load(rows_x + r * WIDTH + k)
            y = tl.load(columns_y + columns[:, None] * WIDTH + k[None, :], mask=there[:, None], other=0.0)
            gap = y - x[None, :]
            total += tl.sum(gap * gap, axis=1)
        low = tl.maximum(tl.sqrt(total) * (1 - rounding) - absolute, 0.0)
        spread = extra_x + tl.load(extra_y + columns, mask=there, other=0.0)
        value = low * low + spread * (1 - rounding)
        if WEIGHTED:
            value = value / (mine + tl.load(inverse_y + columns, mask=there, other=1.0))
        keep = there & (columns != me) & (value < reach)
        at = kept + tl.cumsum(keep.to(tl.int32), 0) - 1
        tl.store(values + r * room_kept + at, value, mask=keep & (at < room_kept))
        tl.store(places + r * room_kept + at, columns.to(tl.int32), mask=keep & (at < room_kept))
        kept += tl.sum(keep.to(tl.int32), 0)
    tl.store(count_kept + r, kept)
