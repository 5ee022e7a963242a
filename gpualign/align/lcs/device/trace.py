"""Longest common subsequences on a GPU: a warp for each subject that won."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpualign.align.lcs.cpu import Winners, score_on_cpu
from gpualign.align.lcs.device.lengths import query_masks
from gpualign.align.lcs.query import common_subsequences, cut_subsequences, encode_query
from gpualign.run.gpu.buffers import Slot, aligned
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import offsets_of

_WARP = 32
_ALIGNMENT = 16
#: of cuda/algo/align/lcs/trace.hpp: query positions and symbols of a tile; bytes kept of one: a row and its carries
_TILE_COLUMNS, _TILE_SYMBOLS = 128, 32
_ROW_BYTES, _CARRY_BYTES = 16, 4


class LcsTraceKernel(DeviceKernel[Winners, list[bytes]]):
    """The subsequences of :class:`Winners`.

    Everything goes to the device in one copy and comes back in one: there is little of it, and each call costs more.
    """

    def launch(self, slot: Slot, item: Winners) -> None:
        count, query = len(item.subjects), item.query
        if not count:
            return
        tiles = _WARP * -(-len(query) // (_WARP * _TILE_COLUMNS))
        bases, offsets = join_bytes(item.subjects)
        blocks, ends = offsets_of(-(-np.diff(offsets) // _TILE_SYMBOLS)), offsets_of(item.lengths)
        masks, query_text = query_masks(query, _TILE_COLUMNS // 32 * tiles), np.frombuffer(query.text, np.uint8)
        sections = self._upload(slot, masks, query.table.astype(np.uint8), query_text, bases, offsets, blocks, ends)
        traced = int(slot.device_array("traced", 4 * count + int(ends[-1])))
        shared = _WARP * _ROW_BYTES * max(query.symbols + 1, _TILE_SYMBOLS)
        slot.launch(
            self.device.function("lcs_trace", "lcs_trace", shared=shared),
            count,
            _WARP,
            *sections,
            slot.device_array("codes", _TILE_SYMBOLS * int(blocks[-1])),
            slot.device_array("kept rows", _ROW_BYTES * tiles * int(blocks[-1])),
            slot.device_array("kept carries", _CARRY_BYTES * tiles * int(blocks[-1])),
            np.uint64(traced + 4 * count),
            np.uint64(traced),
            np.uint32(len(query)),
            np.uint32(query.symbols),
            np.uint32(tiles),
            shared=shared,
        )
        slot.download("traced", 4 * count + int(ends[-1]), np.uint8)

    def result(self, slot: Slot, item: Winners, launched: None) -> list[bytes]:
        count, total = len(item.subjects), sum(item.lengths)
        if not count:
            return []
        traced = slot.pinned("traced", 4 * count + total, np.uint8)
        return cut_subsequences(item.query, item.lengths, traced[: 4 * count].view(np.int32), traced[4 * count :])

    @staticmethod
    def _upload(slot: Slot, *arrays: NDArray[np.generic]) -> list[np.uint64]:
        """Copy arrays side by side; returns where each lies."""
        ends = offsets_of([aligned(array.nbytes, _ALIGNMENT) for array in arrays])
        staged = slot.pinned("winners", int(ends[-1]), np.uint8)
        for array, start in zip(arrays, ends, strict=False):
            staged[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
        base = int(slot.upload("winners", staged))
        return [np.uint64(base + start) for start in ends[:-1].tolist()]

    def split(self, item: Winners) -> list[Winners]:
        """Halves of the winners."""
        middle = len(item.subjects) // 2
        halves = ((item.subjects[:middle], item.lengths[:middle]), (item.subjects[middle:], item.lengths[middle:]))
        return [Winners(item.query, *half) for half in halves] if middle else [item]

    def join(self, results: Sequence[list[bytes]]) -> list[bytes]:
        """Join the subsequences of both halves of a batch."""
        return [text for result in results for text in result]


#: kernels of :func:`self_tests`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (("lcs_trace", {}),)


def self_tests() -> Iterator[SelfTest]:
    """A few subsequences."""
    rng = np.random.default_rng(0)
    query = encode_query("self-test", rng.integers(65, 69, 1500, dtype=np.uint8).tobytes(), "bytes")
    subjects = [rng.integers(65, 70, n, dtype=np.uint8).tobytes() for n in range(0, 2000, 97)]
    bases, offsets = join_bytes(subjects)
    batch = SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets)
    winners = Winners(query, subjects, score_on_cpu([query], batch).lengths[0].tolist())

    yield SelfTest(
        "common subsequences",
        partial(run_alone, make_kernel=LcsTraceKernel, item=winners),
        partial(common_subsequences, query, subjects, winners.lengths),
    )
