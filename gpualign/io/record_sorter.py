"""External sort of BAM records, by coordinate or in input order: runs in memory and temporary files, and one merge.

Batches of records are sorted by the threads that make them (:meth:`RecordBatch.of`). When they fill three quarters of
the memory, the oldest quarter is written as a run of compressed blocks while the last one fills. In the end threads
merge ranges of keys, each from memory and from the blocks that overlap it.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
import zlib
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign._native import RecordPile
from gpualign.errors import GpualignError
from gpualign.io import tuning
from gpualign.io.bgzf import CPU_CODEC, BgzfCodec, packed, unpacked
from gpualign.io.files import os_reason
from gpualign.params import available_cores, available_memory
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS

#: coordinate and template of a record (gpualign/native/bam/pile.hpp)
Key = tuple[int, int]
Records = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Value = TypeVar("Value")
_FIRST, _BEYOND_LAST = (0, 0), ((1 << 64) - 1, 0)
#: limits of a block of a temporary file: bytes, minimum, and blocks per memory, as a range needs some of each run
_BLOCK_BYTES, _MIN_BLOCK, _BLOCKS_IN_MEMORY = 1 << 18, 1 << 12, 512
#: limit of a range: bytes, or blocks of each run, as those at its ends are inflated for the next range, too
_RANGE_BYTES, _BLOCKS_OF_RUN = 1 << 23, 6
#: one in so many threads writes runs; the others map
_PART_OF_THREADS = 2
#: bytes of memory for each thread, as samtools sort has, and the part of what is free that all cores may have
_MEMORY_OF_THREAD, _PART_OF_FREE, _MIN_MEMORY = 768 << 20, 4, 1 << 28


def usual_memory(threads: int) -> int:
    """Default of the bytes of records to hold."""
    of_free = available_memory() // _PART_OF_FREE * threads // max(threads, available_cores())
    return max(_MIN_MEMORY, min(threads * _MEMORY_OF_THREAD, of_free))


class RecordBatch(NamedTuple):
    """The records of a batch.

    Attributes:
        records: uint8, BAM records, sorted.
        keys: uint64 (3 n,), of each record.
        templates: how many there are.
        marking: what :class:`Observer` needs of them to find duplicates, or None.
    """

    records: Records
    keys: Keys
    templates: int
    marking: Any = None

    @classmethod
    @STEPS.at("sort")
    def of(cls, records: Records, by_coordinate: bool, marking: Any = None) -> RecordBatch:
        """Sort a batch's records; those of a template must be adjacent."""
        in_order, keys, templates = _native.sort_bam_records(records, by_coordinate)
        return cls(in_order, keys, templates, marking)


@dataclass(frozen=True)
class Marks:
    """Marks of all templates.

    Attributes:
        of_templates: uint8, 1 for duplicates and 2 for optical ones.
        remove: leave duplicates out.
    """

    of_templates: NDArray[np.uint8]
    remove: bool = False


#: columns of a table of blocks: coordinate and template of the first record and of the last; bytes of keys, and of all;
#: where the block's first BGZF block begins and its last one ends, and bytes of content before and after it in these
_FIRST_KEY, _LAST_KEY, _SIZES = slice(0, 2), slice(2, 4), slice(4, 6)
_SIZE, _BEGIN, _END, _BEFORE, _AFTER = range(5, 10)


@dataclass
class _Run:
    """A temporary file of blocks of keys and records (``gpualign/native/bam/pile.hpp``), in order, as BGZF; it has no
    name, so that it ends with the process.
    """

    file: BinaryIO
    size: int = 0
    _tables: list[NDArray[np.uint64]] = field(default_factory=list)

    def append(self, data: bytes | memoryview, table: NDArray[np.uint64]) -> None:
        """Append blocks with their table, uint64 (n, 10), in which they begin and end as in ``data``."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.file.write(rest) :]
        table[:, [_BEGIN, _END]] += np.uint64(self.size)
        self._tables.append(table)
        self.size += len(data)

    # -- once it is complete

    @cached_property
    def table(self) -> NDArray[np.uint64]:
        return np.concatenate(self._tables)

    @cached_property
    def _bounds(self) -> tuple[list[Key], list[Key]]:
        """First and last key of each block."""
        firsts, lasts = (list(map(tuple, self.table[:, key].tolist())) for key in (_FIRST_KEY, _LAST_KEY))
        return firsts, lasts

    def between(self, low: Key, high: Key) -> tuple[tuple[int, int, int], NDArray[np.uint64]]:
        """The blocks with records from ``low`` up to ``high``: (descriptor, offset, bytes) of all of them together, and
        (bytes of keys, bytes) of each. Other content in between is given as blocks without keys.
        """
        firsts, lasts = self._bounds
        begin = bisect_left(lasts, low)
        found = self.table[begin : bisect_left(firsts, high)]
        if not len(found):
            return (self.file.fileno(), 0, 0), np.zeros((0, 2), np.uint64)
        offset = int(found[0, _BEGIN])
        others = np.array([(0, found[0, _BEFORE]), (0, found[-1, _AFTER])], np.uint64)
        place = self.file.fileno(), offset, int(found[-1, _END]) - offset
        return place, np.concatenate([others[:1], found[:, _SIZES], others[1:]])


class _Turn(NamedTuple):
    """A range of the merge, with futures of the output bytes before it and up to its end."""

    bounds: tuple[Key, Key]
    before: Future[int]
    after: Future[int]


class _Buffers(threading.local):
    """A thread's buffer for a range."""

    def __init__(self) -> None:
        self.range = _native.RangeBuffer()


class RecordSorter:
    """Sorts records. Use it in a ``with`` block.

    Args:
        folder: folder of temporary files.
        memory: bytes of records to hold.
        codec: compresses temporary files.
    """

    def __init__(self, folder: str, memory: int, threads: int, codec: BgzfCodec = CPU_CODEC) -> None:
        self._folder, self._memory, self._threads, self._codec = folder, memory, threads, codec
        self._block_bytes = max(_MIN_BLOCK, min(_BLOCK_BYTES, memory // _BLOCKS_IN_MEMORY))
        self._piles: deque[Any] = deque()
        self._runs: list[_Run] = []
        self._spiller = ThreadPoolExecutor(1, thread_name_prefix="gpualign-sort")
        self._spilling: Future[None] | None = None
        self._templates = 0
        self._buffers = _Buffers()

    def _range_bytes(self, largest: int = _RANGE_BYTES) -> int:
        return max(_BLOCK_BYTES, min(largest, self._memory // (8 * self._threads)))

    def __enter__(self) -> RecordSorter:
        return self

    def __exit__(self, *_: object) -> None:
        self._spiller.shutdown(wait=True, cancel_futures=True)
        for run in self._runs:
            with contextlib.suppress(OSError):
                run.file.close()

    def add(self, batch: RecordBatch) -> None:
        """Add the next batch, in input order.

        Raises:
            GpualignError: a temporary file cannot be written.
        """
        quarter = self._memory // 4
        if not self._piles or self._piles[-1].nbytes > quarter:
            self._piles.append(RecordPile())
        self._piles[-1].add(batch.records, batch.keys, self._templates)
        self._templates += batch.templates
        if sum(pile.nbytes for pile in self._piles) > 3 * quarter:
            self._await_run()
            self._spilling = self._spiller.submit(self._spill, self._piles.popleft())

    def merged(self, form: Callable[[Records, int], Value], marks: Marks | None = None) -> Iterator[Value]:
        """Yield ``form(records, bytes before them)`` for arrays of all records in order. ``form`` runs in other
        threads; the arrays' memory is reused afterwards.

        Raises:
            GpualignError: a temporary file cannot be read.
        """
        self._await_run()
        pile, waiting = _native.RecordPile(), self._codec.waiting
        for part in self._piles:
            pile.add_all(part)
        of_runs = _BLOCKS_OF_RUN * len(self._runs) * self._block_bytes
        size = self._range_bytes(max(tuning.DEVICE_CONTENT if waiting else _RANGE_BYTES, of_runs))
        turns = _turns(_ranges(pile, self._runs, size))
        yield from run_ordered(turns, lambda turn: self._formed(form, pile, marks, turn), self._threads + waiting)

    def _formed(
        self, form: Callable[[Records, int], Value], pile: RecordPile, marks: Marks | None, turn: _Turn
    ) -> Value:
        try:
            records = self._merge_range(pile, marks, turn.bounds)
            before = turn.before.result()
            turn.after.set_result(before + len(records))
        except BaseException as error:
            turn.after.set_exception(error)
            raise
        return form(records, before)

    @STEPS.at("merge")
    def _merge_range(self, pile: RecordPile, marks: Marks | None, bounds: tuple[Key, Key]) -> Records:
        found = [run.between(*bounds) for run in self._runs]
        try:
            blocks = unpacked([place for place, _ in found], self._codec)
        except (OSError, zlib.error) as error:
            raise GpualignError(f"cannot read a temporary file in {self._folder}: {_reason(error)}") from error
        of_templates, remove = (None, False) if marks is None else (marks.of_templates, marks.remove)
        sizes = np.concatenate([np.zeros((0, 2), np.uint64), *(of_run for _, of_run in found)]).reshape(-1)
        return pile.merge(self._buffers.range, *bounds, blocks, sizes, of_templates, remove)

    def _spill(self, pile: RecordPile) -> None:
        """Write the records of ``pile`` as a run."""
        try:
            run = _Run(cast(BinaryIO, tempfile.TemporaryFile(dir=self._folder, buffering=0)))
            self._runs.append(run)
            ranges = _ranges(pile, [], self._range_bytes())
            workers = -(-self._threads // _PART_OF_THREADS) + self._codec.waiting
            for blocks in run_ordered(ranges, partial(self._packed_range, pile), workers):
                run.append(*blocks)
        except OSError as error:
            raise GpualignError(f"cannot write a temporary file in {self._folder}: {os_reason(error)}") from error

    @STEPS.at("sort")
    def _packed_range(self, pile: RecordPile, bounds: tuple[Key, Key]) -> tuple[bytes | memoryview, NDArray[np.uint64]]:
        """The blocks of a range, and their table."""
        content, words = pile.blocks(self._buffers.range, *bounds, self._block_bytes)
        shapes = words.reshape(-1, 6)
        sizes = np.ascontiguousarray(shapes[:, _SIZE])
        blocks = packed(content, sizes, self._codec)
        places = _native.bgzf_pieces(np.frombuffer(blocks, np.uint8), sizes).reshape(-1, 4)
        return blocks, np.concatenate([shapes, places], axis=1)

    def _await_run(self) -> None:
        if self._spilling is not None:
            self._spilling.result()
            self._spilling = None


def _turns(ranges: Iterator[tuple[Key, Key]]) -> Iterator[_Turn]:
    before: Future[int] = Future()
    before.set_result(0)
    for bounds in ranges:
        after: Future[int] = Future()
        yield _Turn(bounds, before, after)
        before = after


def _ranges(pile: RecordPile, runs: list[_Run], size: int) -> Iterator[tuple[Key, Key]]:
    """Consecutive key ranges of about ``size`` bytes of records each."""
    samples = [pile.samples().reshape(-1, 3)]
    samples += [np.column_stack([run.table[:, _FIRST_KEY], run.table[:, _SIZE]]) for run in runs]
    coordinates, templates, sizes = np.concatenate(samples).T
    order = np.lexsort((templates, coordinates))
    before = np.cumsum(sizes[order]) - sizes[order]
    cuts = order[np.flatnonzero(np.diff(before // size)) + 1]
    low = _FIRST
    for high in (*dict.fromkeys(zip(coordinates[cuts].tolist(), templates[cuts].tolist(), strict=True)), _BEYOND_LAST):
        yield low, high
        low = high


def _reason(error: Exception) -> str:
    return os_reason(error) if isinstance(error, OSError) else str(error)
