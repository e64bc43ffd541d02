"""The search by kernels: guess a threshold for each row, then find all columns within it, and no others.

1. A sample of the columns gives a threshold within which a few times as many columns lie as are asked for. Any
   threshold is valid: what is not found is at least so far away, so the threshold is a radius.
2. Products of halves find the classes of columns that may hold one within the threshold. Rows and columns are centred
   at their chunk, neighbouring columns, so that products are as small as distances are and halves can tell them apart.
   Tiles of columns whose ball is too far from all rows of a block are skipped.
3. These are measured by differences in float32; those within the threshold are kept, and the nearest of them returned.

Rows with more candidates than there is room for are searched again within the threshold that was found.
"""

from __future__ import annotations

from typing import Any

from .columns import STRETCH, Candidates, Columns, Skipping, packed_width
from .device import torch
from .kernels import BLOCK, CHUNK, CLASSES, CLASSES_OF_SAMPLE, TILE, mark_tiles, refine, sift

#: Columns that should lie within a threshold for each neighbour asked for; the sample is one column in SHARE.
WANTED, SHARE = 3, 16

#: Room for the classes and the columns found, for each one wanted; and for those of a second and a third try.
ROOM, ROOM_KEPT, MORE_ROOM = 3, 4, (16, 32)

#: Rows that are searched at a time, at most and at least; rows times tiles, and times columns wanted, of a batch;
#: numbers of a sample that are written at a time.
ROWS, FEW_ROWS, MARKS, PLACES, SAMPLED = 2**17, 2**13, 2**33, 2**23, 2**28


class _Packed:
    """Columns as the kernels read them: halves centred chunk by chunk."""

    def __init__(self, rows: Any, extra: Any, inverse: Any) -> None:
        """``rows`` (N, width) float32; ``extra``, ``inverse`` (N,)."""
        n, self.width = rows.shape
        padding = -n % (TILE * CHUNK)
        pad = torch().nn.functional.pad
        self.rows = torch().cat((rows, rows[-1:].expand(padding, -1))) if padding else rows
        self.chunks, self.tiles = len(self.rows) // (TILE * CHUNK), -(-n // TILE)
        by_chunk = self.rows.view(self.chunks, -1, self.width)
        self.centres = by_chunk.mean(1)
        centred = by_chunk - self.centres[:, None, :]
        square = (centred * centred).sum(2).view(-1)
        self.halves = centred.half().view(self.rows.shape)
        # halves are off by 2^-11 of each factor; sums in tensor cores by far less than is allowed here: docs/gpu.md
        self.delta = 2.0**-10 * 1.01 + (self.width + 16) * 2.0**-21 + 2.0**-20
        self.extra, self.inverse = pad(extra, (0, padding)), pad(inverse, (0, padding))
        self.low, self.middle = square * (1 - self.delta) + self.extra, square + self.extra
        self.low[n:] = self.middle[n:] = torch().inf

    def all_items(self, blocks: int) -> tuple[Any, Any, Any, Any]:
        """Return the work of all blocks of rows against all tiles: block, chunk, where its tiles begin, tiles."""
        device = self.rows.device
        size = (self.tiles - torch().arange(self.chunks, device=device) * CHUNK).clamp(max=CHUNK)
        chunk = torch().arange(self.chunks, device=device).repeat_interleave(blocks)
        start = torch().nn.functional.pad(size[chunk].cumsum(0), (1, 0))
        tile = torch().arange(CHUNK, device=device)
        tiles = (chunk[:, None] * CHUNK + tile)[tile < size[chunk, None]]
        block = torch().arange(blocks, device=device).repeat(self.chunks)
        return block.int(), chunk.int(), start.int(), tiles.int()

    def make_balls(self) -> None:
        """Put a ball around the columns of every tile, and note what spreads and weights may do at most."""
        columns = self.tiles * TILE
        tile = self.rows[:columns].view(self.tiles, TILE, self.width)
        self.ball = tile.mean(1)
        gap = tile - self.ball[:, None, :]
        self.ball_radius = (gap * gap).sum(2).amax(1).sqrt() * (1 + 1e-5)
        self.ball_square = (self.ball * self.ball).sum(1)
        self.ball_extra = self.extra[:columns].view(self.tiles, TILE).amin(1)
        self.ball_inverse = self.inverse[:columns].view(self.tiles, TILE).amax(1)

    def needed_items(self, marks: Any) -> tuple[Any, Any, Any, Any]:
        """Return the work that is left by marks (blocks, tiles) of the tiles that blocks need."""
        blocks = len(marks)
        marks = torch().nn.functional.pad(marks, (0, self.chunks * CHUNK - self.tiles))
        marks = marks.bool().view(blocks, self.chunks, CHUNK).permute(1, 0, 2).contiguous()
        size = marks.sum(2)
        chunk, block = size.nonzero(as_tuple=True)
        start = torch().nn.functional.pad(size[chunk, block].cumsum(0), (1, 0))
        of_chunk, _, tile = marks.nonzero(as_tuple=True)
        return block.int(), chunk.int(), start.int(), (of_chunk * CHUNK + tile).int()


class SiftSearch:
    """Columns packed for the kernels; near ones should be close together."""

    def __init__(self, columns: Columns, skipping: Skipping) -> None:
        n, d = columns.rows.shape
        self.columns, self.n, self.skipping = columns, n, skipping
        self.width = packed_width(d)
        self.step = min(self.width, 128) if d <= 128 else 64
        rows = torch().nn.functional.pad(columns.rows, (0, self.width - d)) if self.width > d else columns.rows
        self.all = _Packed(rows, columns.extra, columns.inverse)
        self.all.make_balls()
        self.every = max(1, min(SHARE, n // 4096))
        sampled = slice(None, None, self.every)
        self.sample = _Packed(rows[sampled].contiguous(), columns.extra[sampled], columns.inverse[sampled])
        self.rounding = (self.width + 8) * 2.0**-24

    def nearest(self, own: Any, k: int, least: int = 0) -> Candidates:
        """Return for some columns those that may be their k nearest, and how far all others are at least.

        At least ``least`` of them, where thresholds that were guessed too small can be helped.
        """
        wanted = WANTED * (k + 1)
        parts = [self._nearest(some, k, least, wanted) for some in own.split(self._batch(wanted))]
        return Candidates(*(torch().cat(part) for part in zip(*parts, strict=True)))

    def _nearest(self, own: Any, k: int, least: int, wanted: int) -> Candidates:
        part, tau = self._within(own, self._thresholds(own, wanted), k, ROOM * wanted, ROOM_KEPT * wanted)

        def search_again(some: Any, thresholds: Any, room: int) -> None:
            more, new = self._within(own[some], thresholds, k, room, room)
            for kept, found in zip(part, more, strict=True):
                kept[some] = found
            tau[some] = new

        for times in (2, 4) if least else ():
            short = (part.sure & (part.places[:, least - 1] < 0)).nonzero()[:, 0]
            if len(short):
                search_again(short, self._thresholds(own[short], times * wanted), times * ROOM_KEPT * wanted)
        for factor, room in zip((1 + 1e-4, 1 - 1e-3), MORE_ROOM, strict=True):
            over = (~part.sure).nonzero()[:, 0]
            if len(over):
                search_again(over, tau[over] * factor, room * wanted)
        return part

    def outside(self, own: Any, group: Any, tau: Any) -> Any:
        """Return for some columns how far, at least, all columns of other groups are; no more than about ``tau``.

        ``group`` (N,), of all columns; rows of one group should be close together in ``own``.
        """
        every, parts = self.all, []
        theirs = torch().nn.functional.pad(group.int(), (0, len(every.rows) - self.n), value=-1)
        batch = self._batch(-(-every.chunks // 8))
        for some, limit in zip(own.split(batch), tau.split(batch), strict=True):
            rows = self._rows(some)
            reach = torch().nn.functional.pad(limit, (0, len(rows[0]) - len(some)), value=1e-30) * (1 + STRETCH)
            groups = theirs[rows[0]], theirs
            items = self._items(rows, reach, groups)
            out = torch().full((len(rows[0]), every.chunks), torch().inf, device=own.device)
            self._run(every, items, rows, reach, out, out, True, 0.0, groups)
            least = ((out[: len(some)].amin(1) - self._constant) * (1 - STRETCH)).clamp(min=0)
            parts.append(torch().minimum(least, limit * (1 - 1e-5)))
        return torch().cat(parts) * (self.columns.factor * (1 - 1e-6))

    def _batch(self, places: int) -> int:
        """Return how many rows are searched at a time, given how many places each of them needs."""
        return max(FEW_ROWS, min(ROWS, MARKS // self.all.tiles, PLACES // places))

    @property
    def _constant(self) -> float:
        """What products of halves may add to a squared distance besides a share of it."""
        return float(self.columns.slack + self.width * 2.0**-28 + 1e-7)

    def _rows(self, own: Any) -> tuple[Any, Any, Any, Any]:
        """Return some columns as rows, padded to whole blocks: who they are, rows, extra and inverse weights."""
        padding = -len(own) % BLOCK
        padded = torch().cat((own, own[-1:].expand(padding))) if padding else own
        return padded, self.all.rows[padded], self.all.extra[padded], self.all.inverse[padded]

    def _run(
        self,
        packed: _Packed,
        items: Any,
        rows: Any,
        tau: Any,
        count: Any,
        out: Any,
        smallest: bool,
        constant: float,
        groups: tuple[Any, Any] | None = None,
    ) -> None:
        _, x, extra, inverse = rows
        guess = smallest and groups is None
        if len(items[0]):
            sift[(len(items[0]),)](
                x, packed.centres, extra, inverse, tau, packed.halves, packed.middle if guess else packed.low,
                packed.inverse, *(groups or (count, count)), *items, count, out, out.shape[1],
                1.0 if guess else 1 - packed.delta, constant,
                WIDTH=self.width, STEP=self.step, WEIGHTED=self.columns.weighted, SMALLEST=smallest,
                GROUPED=groups is not None, BLOCK=BLOCK, TILE=TILE, CLASSES=CLASSES_OF_SAMPLE if guess else CLASSES,
                num_warps=4, num_stages=2,
            )  # fmt: skip

    def _thresholds(self, own: Any, wanted: int) -> Any:
        """Guess for every row a distance within which about so many columns lie."""
        some = max(FEW_ROWS, SAMPLED // (self.sample.chunks * CLASSES_OF_SAMPLE))
        return torch().cat([self._guess(part, wanted) for part in own.split(some)])

    def _guess(self, own: Any, wanted: int) -> Any:
        rows, sample = self._rows(own), self.sample
        out = torch().empty(len(rows[0]), sample.chunks * CLASSES_OF_SAMPLE, device=own.device)
        self._run(sample, sample.all_items(len(rows[0]) // BLOCK), rows, rows[3], out, out, True, 0.0)
        count = min(max(4, round(wanted / self.every)) + 1, out.shape[1])
        best = out[: len(own)].topk(count, dim=1, largest=False, sorted=True).values
        itself = own % self.every == 0  # is in the sample, at distance 0
        tau = torch().where(itself, best[:, count - 1], best[:, max(count - 2, 0)])
        tau = torch().where(torch().isfinite(tau), tau, best[:, 0])
        return tau.clamp(min=1e-30) * (1 + 1e-4)

    def _within(self, own: Any, tau: Any, k: int, room: int, room_kept: int) -> tuple[Candidates, Any]:
        """Search within thresholds; returned besides: thresholds for those that found too many."""
        columns, every, m = self.columns, self.all, len(own)
        rows = self._rows(own)
        padded, x, extra, inverse = rows
        device = own.device
        reach = torch().nn.functional.pad(tau, (0, len(padded) - m), value=1e-30) * (1 + STRETCH)
        items = self._items(rows, reach)
        count = torch().zeros(len(padded), dtype=torch().int32, device=device)
        codes = torch().empty(len(padded), room, dtype=torch().int32, device=device)
        self._run(every, items, rows, reach, count, codes, False, self._constant)
        values = torch().full((m, room_kept), torch().inf, device=device)
        places = torch().full((m, room_kept), -1, dtype=torch().int32, device=device)
        kept = torch().empty(m, dtype=torch().int32, device=device)
        refine[(m,)](
            x, every.rows, extra, every.extra, inverse, every.inverse, own, tau, count, codes, kept, values, places,
            self.n, room, room_kept, self.rounding, columns.absolute, WIDTH=self.width, STEP=self.step,
            WEIGHTED=columns.weighted, TILE=TILE, CLASSES=CLASSES, TOGETHER=max(1, 64 * CLASSES // TILE), num_warps=4,
        )  # fmt: skip
        best, at = values.topk(k + 1, dim=1, largest=False, sorted=True)
        left = torch().minimum(best[:, k], tau * (1 - 1e-5))
        sure = (count[:m] <= room) & (kept <= room_kept)
        chosen = places.gather(1, at[:, :k]).long()
        return Candidates(chosen, left * (columns.factor * (1 - 1e-6)), sure), left

    def _items(self, rows: Any, reach: Any, groups: tuple[Any, Any] | None = None) -> tuple[Any, Any, Any, Any]:
        """Return the work of rows: against all tiles, or what is left without those that are too far."""
        if self.skipping.worth_it:
            return self._needed(rows, reach, groups)
        return self.all.all_items(len(rows[0]) // BLOCK)

    def _needed(self, rows: Any, reach: Any, groups: tuple[Any, Any] | None = None) -> tuple[Any, Any, Any, Any]:
        """Return the work that is left when tiles too far away are skipped; look whether that is worth it.

        ``groups``: of rows and columns; tiles of the one group that all rows of a block are in are skipped, too.
        """
        padded, x, extra, inverse = rows
        every, blocks = self.all, len(padded) // BLOCK
        marks = torch().empty(blocks, every.tiles, dtype=torch().int8, device=x.device)
        mark_tiles[(blocks, -(-every.tiles // 64))](
            x, self.columns.square[padded], extra, inverse, reach, every.ball, every.ball_square, every.ball_radius,
            every.ball_extra, every.ball_inverse, marks, every.tiles, (self.width + 16) * 2.0**-20,
            self.columns.absolute, WIDTH=self.width, STEP=min(32, self.width), WEIGHTED=self.columns.weighted,
            BLOCK=BLOCK, SOME=64, num_warps=8, num_stages=2,
        )  # fmt: skip
        if groups is not None:
            marks &= (_common(groups[0], -2)[:, None] != _common(groups[1][: every.tiles * TILE], -1)[None, :]).to(
                torch().int8
            )
        items = every.needed_items(marks)
        self.skipping.note(len(items[3]), blocks * every.tiles)
        return items


def _common(group: Any, several: int) -> Any:
    """Return for every block of rows, or tile of columns, the group that all are in; if there are several, that."""
    each = group.view(-1, BLOCK)
    return torch().where(each.amin(1) == each.amax(1), each[:, 0], several)
