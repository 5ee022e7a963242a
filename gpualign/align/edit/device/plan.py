"""Layout of a batch of ``verify`` on a device: assigns pairs to kernels and sorts them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.edit import tuning
from gpualign.align.edit.cpu import MODES, VerifyPairs
from gpualign.run.gpu.buffers import aligned
from gpualign.sequences.offsets import offsets_of

#: threads of a block in cuda/verify.cu and cuda/verify_band.cu
THREADS = 128
_COLUMNS_PER_BLOCK = 16


@dataclass(frozen=True)
class TaskGroup:
    """Tasks [first, first + count) of a plan: one launch.

    Attributes:
        shape: of its queries.
        band: words of the window where the band kernel takes the group, else 0.
        runs: its windows touch bases other than A, C, G and T.
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
        return blocks if self.shape.lanes == 1 else min(blocks, tuning.VERIFY_MAX_BLOCKS)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block, as cuda/verify.cu lays it out."""
        load = {1: 1, 2: 2}.get(self.shape.words, 4)
        loads = -(-self.shape.words // load)
        return loads * load * (5 if self.runs else 4) * THREADS * 4

    @property
    def band_defines(self) -> dict[str, str]:
        return {"WORDS": str(self.band)}

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
class EditPlan:
    """A batch in the order of its launches.

    Attributes:
        order: int64 (tasks,), pair of each task; pairs with an empty side are not among them.
        tasks: uint32 (tasks, 4): begin, columns, query * 2 + strand, limit.
        plane_words, band_words: words of all queries' planes, and of their band profiles.
        groups: the launches.
        in_order: every pair is its own task's number.
        queries: how many.
        query_arrays, at: uint8, what the kernels want to know of the queries, in one array, and where in it each is:
            ``offsets``, ``lengths`` and ``limits``; ``plane_offsets`` and ``band_offsets`` (uint32), words of planes
            and of band profiles before each query's; ``tile_words`` and ``tiles`` (int32), the shape of its planes;
            and ``band N`` (uint8), which have a band of N words.
    """

    order: NDArray[np.int64]
    tasks: NDArray[np.uint32]
    plane_words: int
    band_words: int
    groups: tuple[TaskGroup, ...]
    in_order: bool
    queries: int
    query_arrays: NDArray[np.uint8]
    at: dict[str, int]


@lru_cache(maxsize=65536)
def _shape_index(length: int) -> int:
    return tuning.VERIFY_SHAPES.index(tuning.verify_shape(length))


def plan(pairs: VerifyPairs) -> EditPlan:
    """Sort a batch's pairs into launches of one shape each."""
    lengths = np.diff(pairs.offsets).astype(np.int32)
    distinct, inverse = np.unique(lengths, return_inverse=True)
    shape_of = np.array([_shape_index(int(length)) for length in distinct], np.uint8)[inverse]
    lanes = np.array([shape.lanes for shape in tuning.VERIFY_SHAPES], np.int32)[shape_of]
    words = np.array([shape.words for shape in tuning.VERIFY_SHAPES], np.int32)[shape_of]
    strips = -(-lengths // (32 * lanes * words))
    tiles = lanes * strips
    per_query = 2 * 3 * words.astype(np.int64) * tiles
    starts = offsets_of(per_query)
    order, flat, bands, keys, firsts = _native.sort_verify_tasks(
        reference=pairs.reference.native,
        query=pairs.query,
        begin=pairs.begin,
        end=pairs.end,
        strand=pairs.strand,
        limits=pairs.limits,
        lengths=lengths,
        shapes=shape_of,
        infix=pairs.mode == MODES["infix"],
        band_words=np.array(tuning.VERIFY_BANDS, np.int32),
        band_columns=tuning.VERIFY_BAND_COLUMNS,
        band_share=tuning.VERIFY_BAND_SHARE,
    )
    tasks = flat.reshape(-1, 4)
    groups = tuple(
        group
        for key, span in zip(keys.tolist(), itertools.pairwise(firsts.tolist()), strict=True)
        for group in _groups(key, span, tasks[:, 1], lengths[shape_of == key // 16], strips[shape_of == key // 16])
    )
    slides = (lengths.astype(np.int64) - pairs.limits - 1) // tuning.VERIFY_BAND_COLUMNS
    band_words = np.where(bands > 0, 2 * 4 * bands.astype(np.int64) * (slides + 1), 0)
    band_starts = offsets_of(band_words)
    query_arrays, at = joined(
        {
            "offsets": pairs.offsets,
            "plane_offsets": starts[:-1].astype(np.uint32),
            "tile_words": words,
            "tiles": tiles,
            "lengths": lengths,
            "limits": pairs.limits,
            "band_offsets": band_starts[:-1].astype(np.uint32),
            **{f"band {size}": (bands == size).astype(np.uint8) for size in tuning.VERIFY_BANDS if size in bands},
        }
    )
    return EditPlan(
        order,
        tasks,
        plane_words=int(starts[-1]),
        band_words=int(band_starts[-1]),
        groups=groups,
        in_order=len(order) == len(pairs) and len(keys) < 2,
        queries=len(lengths),
        query_arrays=query_arrays,
        at=at,
    )


def joined(arrays: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.uint8], dict[str, int]]:
    """Arrays as the bytes of one, which is one copy to a device instead of many, and where in it each begins."""
    sizes = [aligned(array.nbytes) for array in arrays.values()]
    starts = offsets_of(sizes)
    block = np.empty(int(starts[-1]), np.uint8)
    for array, start in zip(arrays.values(), starts.tolist(), strict=False):
        block[start : start + array.nbytes] = np.ascontiguousarray(array).view(np.uint8)
    return block, dict(zip(arrays, starts.tolist(), strict=False))


def _groups(
    key: int, span: tuple[int, int], columns: NDArray[np.uint32], lengths: NDArray[np.int32], strips: NDArray[np.int32]
) -> Iterator[TaskGroup]:
    """The launches of the tasks of one key; ``lengths`` and ``strips``: of all queries of their shape."""
    first, last = span
    shape, band, runs = tuning.VERIFY_SHAPES[key // 16], key // 2 % 8, bool(key % 2)
    cells = float(lengths.max()) * float(columns[first:last].max())
    maximum = max(1, int(tuning.VERIFY_LAUNCH_CELLS / cells))
    for at in range(first, last, maximum):
        stop = min(last, at + maximum)
        yield TaskGroup(shape, band, runs, at, stop - at, int(columns[at:stop].max()), int(strips.max()))
