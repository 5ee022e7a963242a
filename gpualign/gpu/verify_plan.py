"""How a batch of ``verify`` is laid out on a device: which kernel takes which pairs, in which order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpualign.gpu import tuning

if TYPE_CHECKING:
    from gpualign.backends.verify import VerifyPairs

#: threads of a block in cuda/verify.cu and cuda/verify_band.cu
THREADS = 128
_COLUMNS_PER_BLOCK = 16
_INFIX = 0


@dataclass(frozen=True)
class Group:
    """Tasks [first, first + count) of a plan: one launch.

    Attributes:
        shape: of its queries.
        band: words of the window where the band kernel takes the group, else 0.
        runs: its windows touch letters that are no bases.
        longest: most columns of a task.
        strips: most strips of a pattern.
    """

    shape: tuning.VerifyShape
    band: int
    runs: bool
    first: int
    count: int
    longest: int
    strips: int

    @property
    def grid(self) -> int:
        blocks = -(-self.count * self.shape.lanes // THREADS)
        return blocks if self.shape.lanes == 1 else min(blocks, tuning.VERIFY_MOST_BLOCKS)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block, as cuda/verify.cu lays it out."""
        load = {1: 1, 2: 2}.get(self.shape.words, 4)
        loads = -(-self.shape.words // load)
        return loads * load * (5 if self.runs else 4) * THREADS * 4

    @property
    def band_grid(self) -> int:
        return -(-self.count // THREADS)

    @property
    def band_shared_bytes(self) -> int:
        return 4 * self.band * THREADS * 4

    @property
    def boundary_words(self) -> int:
        """uint32 words that a group of lanes needs between strips."""
        return 0 if self.strips < 2 else -(-self.longest // _COLUMNS_PER_BLOCK)


@dataclass(frozen=True)
class Plan:
    """A batch in the order of its launches.

    Attributes:
        order: int64 (tasks,), pair of each task; pairs with an empty side are not among them.
        tasks: uint32 (tasks, 4): begin, columns, query * 2 + strand, limit.
        plane_offsets: uint32 (queries,), words of planes before each query's.
        tile_words, tiles: int32 (queries,), shape of each query's planes.
        plane_words: words of all planes.
        bands: uint8 (queries,), words of each query's band, 0 for none.
        band_offsets: uint32 (queries,), words of band profiles before each query's.
        band_words: words of all band profiles.
        groups: the launches.
        in_order: every pair is its own task's number.
    """

    order: NDArray[np.int64]
    tasks: NDArray[np.uint32]
    plane_offsets: NDArray[np.uint32]
    tile_words: NDArray[np.int32]
    tiles: NDArray[np.int32]
    plane_words: int
    bands: NDArray[np.uint8]
    band_offsets: NDArray[np.uint32]
    band_words: int
    groups: tuple[Group, ...]
    in_order: bool


@lru_cache(maxsize=65536)
def _shape_index(length: int) -> int:
    return tuning.VERIFY_SHAPES.index(tuning.verify_shape(length))


def plan(pairs: VerifyPairs) -> Plan:
    """Sort a batch's pairs into launches of one shape each."""
    lengths = np.diff(pairs.offsets)
    distinct, inverse = np.unique(lengths, return_inverse=True)
    shape_of = np.array([_shape_index(int(length)) for length in distinct], np.int64)[inverse]
    lanes = np.array([shape.lanes for shape in tuning.VERIFY_SHAPES], np.int32)[shape_of]
    words = np.array([shape.words for shape in tuning.VERIFY_SHAPES], np.int32)[shape_of]
    strips = -(-lengths // (32 * lanes.astype(np.int64) * words)).astype(np.int32)
    tiles = lanes * strips
    per_query = 2 * 3 * words.astype(np.int64) * tiles
    ends = np.cumsum(per_query)
    columns = pairs.end - pairs.begin
    order = np.flatnonzero((lengths[pairs.query] > 0) & (columns > 0))
    runs = _touches_run(pairs)
    needed = _band_rows(pairs, lengths, runs)
    bands = _query_bands(pairs, lengths, needed)
    in_band = (needed <= 32 * bands[pairs.query].astype(np.int64)) & (needed > 0)
    key = (shape_of[pairs.query] * 8 + in_band * bands[pairs.query]) * 2 + runs
    in_order = len(order) == len(pairs)
    if len(order) and (key[order] != key[order[0]]).any():
        order = order[np.argsort(key[order], kind="stable")]
        in_order = False
    tasks = np.empty((len(order), 4), np.uint32)
    query = pairs.query[order]
    tasks[:, 0] = pairs.begin[order]
    tasks[:, 1] = columns[order]
    tasks[:, 2] = query.astype(np.uint32) * 2 + pairs.strand[order]
    tasks[:, 3] = pairs.limits[query].view(np.uint32)
    groups = _groups(key[order], tasks[:, 1], lengths[query], strips[query])
    slides = (lengths - pairs.limits - 1) // tuning.VERIFY_BAND_COLUMNS
    band_words = np.where(bands > 0, 2 * 4 * bands.astype(np.int64) * (slides + 1), 0)
    band_ends = np.cumsum(band_words)
    return Plan(
        order,
        tasks,
        (ends - per_query).astype(np.uint32),
        words,
        tiles,
        int(ends[-1]) if len(ends) else 0,
        bands,
        (band_ends - band_words).astype(np.uint32),
        int(band_ends[-1]) if len(band_ends) else 0,
        groups,
        in_order,
    )


def _band_rows(pairs: VerifyPairs, lengths: NDArray[np.int64], runs: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64 (n,): rows of the window that each pair's band takes (BandPlan::fits), 0 where it has none."""
    columns = (pairs.end - pairs.begin).astype(np.int64)
    length, limit = lengths[pairs.query], pairs.limits.astype(np.int64)[pairs.query]
    rows = columns - length + 2 * limit + tuning.VERIFY_BAND_COLUMNS
    usable = (limit < length) & (columns >= length) & ~runs & (rows <= 32 * tuning.VERIFY_BANDS[-1])
    return np.where(usable & (pairs.mode == _INFIX), rows, 0)


def _query_bands(pairs: VerifyPairs, lengths: NDArray[np.int64], needed: NDArray[np.int64]) -> NDArray[np.uint8]:
    """uint8 (queries,): words of a window that holds all of a query's bands, 0 where none is worth it."""
    widest = np.zeros(len(lengths), np.int64)
    if needed.any():
        np.maximum.at(widest, pairs.query, needed)
    bands = np.zeros(len(lengths), np.uint8)
    for words in reversed(tuning.VERIFY_BANDS):
        bands[(widest > 0) & (widest <= 32 * words)] = words
    bands[bands > tuning.VERIFY_BAND_SHARE * (lengths / 32)] = 0
    return bands


def _groups(
    key: NDArray[np.int64], columns: NDArray[np.uint32], lengths: NDArray[np.int64], strips: NDArray[np.int32]
) -> tuple[Group, ...]:
    groups = []
    borders = [0, *(np.flatnonzero(np.diff(key)) + 1).tolist(), len(key)]
    for first, last in itertools.pairwise(borders):
        if first == last:
            continue
        number = int(key[first])
        shape, band, runs = tuning.VERIFY_SHAPES[number // 16], number // 2 % 8, bool(number % 2)
        cells = float(lengths[first:last].max()) * float(columns[first:last].max())
        most = max(1, int(tuning.VERIFY_LAUNCH_CELLS / cells))
        for at in range(first, last, most):
            stop = min(last, at + most)
            longest, most_strips = int(columns[at:stop].max()), int(strips[at:stop].max())
            groups.append(Group(shape, band, runs, at, stop - at, longest, most_strips))
    return tuple(groups)


def _touches_run(pairs: VerifyPairs) -> NDArray[np.bool_]:
    """Whether each window holds a letter that is no base."""
    starts, ends = pairs.reference.run_starts, pairs.reference.run_ends
    if len(starts) == 0:
        return np.zeros(len(pairs), np.bool_)
    first = np.searchsorted(ends, pairs.begin, side="right")
    found: NDArray[np.bool_] = (first < len(starts)) & (starts[np.minimum(first, len(starts) - 1)] < pairs.end)
    return found
