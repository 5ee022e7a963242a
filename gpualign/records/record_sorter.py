"""An external sort of BAM records: in memory as far as it suffices, the rest in temporary files, and one merge. The
order may also be that of the input.

Batches of records are sorted by the threads that make them (:meth:`RecordBatch.of`). When they fill three quarters of
the memory, the oldest quarter is written as a run of compressed blocks while the last one fills. In the end threads
merge ranges of keys, each from memory and from the blocks that overlap it.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from queue import SimpleQueue
from typing import Any, BinaryIO, Literal, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import GpualignError
from gpualign.params import available_cores, available_memory
from gpualign.sequences.offsets import offsets_of
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS
from gpualign.streaming.worker_pool import Task, WorkerPool
from gpualign.text import tuning
from gpualign.text.bgzf import CPU_CODEC, BgzfCodec, packed, unpacked
from gpualign.text.files import os_reason
from gpualign.text.streams import Damaged

#: where a record stands in an order: its key of two numbers and, in orders by name, the record
#: (gpualign/native/records/sorted_batches.hpp)
Key = tuple[int, int, bytes]
#: as native code numbers them: "template": those of a template next to each other; the last three by name, as samtools
#: does, plainly by their bytes, or as Picard does
RecordOrder = Literal["input", "coordinate", "template", "natural", "lexicographic", "picard"]
RECORD_ORDERS: tuple[RecordOrder, ...] = ("input", "coordinate", "template", "natural", "lexicographic", "picard")
#: what tells a batch's templates apart, as native code numbers it
TemplateNumbers = Literal["none", "flags", "names", "records"]
_TEMPLATE_NUMBERS: tuple[TemplateNumbers, ...] = ("none", "flags", "names", "records")
Records = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Value = TypeVar("Value")
_KEY_WORDS = 3
_FIRST, _BEYOND_LAST = (0, 0, b""), ((1 << 64) - 1, (1 << 64) - 1, b"")
#: maximum bytes of records in a block of a temporary file, and in parts of the memory: a range needs some of each run
_BLOCK_BYTES, _LEAST_BLOCK, _BLOCKS_IN_MEMORY = 1 << 18, 1 << 12, 512
#: maximum bytes of records in a range, or blocks of each run: those at its ends are inflated for the next one, too
_RANGE_BYTES, _BLOCKS_OF_RUN = 1 << 23, 6
#: bytes of records in the output after which the space that they had in temporary files is given back: it is needed for
#: the output, and to free all of it in the end, some of it while it is being written, takes seconds
_RELEASED_BYTES = 1 << 29
#: one in so many threads writes runs; the others map
_PART_OF_THREADS = 2
#: bytes of memory for each thread: three quarters of it are records, as many as samtools sort holds; and the part of
#: what is free that all cores may have
_MEMORY_OF_THREAD, _PART_OF_FREE, _MIN_MEMORY = 1 << 30, 4, 1 << 28


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
        marking: what is to be known of them to find duplicates; None: nothing.
        numbered: the keys have the records' numbers in the whole input, not in the batch.
    """

    records: Records
    keys: Keys
    templates: int
    marking: Any = None
    numbered: bool = False

    @classmethod
    @STEPS.at("sort")
    def of(
        cls,
        records: Records,
        order: RecordOrder,
        marking: Any = None,
        templates: TemplateNumbers = "flags",
        numbers: NDArray[np.uint64] | None = None,
        prefix: bytes = b"",
        keep: bool = False,
    ) -> RecordBatch:
        """Sort a batch's records.

        Args:
            templates: what tells them apart, if anything does; the records of each are adjacent. "records": they need
                not be, and each record is numbered instead.
            numbers: of the records in the input, if they come in another order.
            prefix: what most names begin with (``_native.shared_name_prefix``), in orders by name.
            keep: the array is nobody else's, and may be kept where it is in order already.
        """
        how = RECORD_ORDERS.index(order), _TEMPLATE_NUMBERS.index(templates), numbers, prefix, keep
        in_order, keys, count = _native.sort_bam_records(records, *how)
        return cls(records if in_order is None else in_order, keys, count, marking, numbers is not None)

    @property
    def size(self) -> int:
        """Records."""
        return len(self.keys) // _KEY_WORDS


@dataclass(frozen=True)
class Marks:
    """Marks of all templates.

    Attributes:
        of_templates: uint8, 1 for duplicates and 2 for optical ones.
        remove: leave duplicates out.
        tag: tag them with their kind, DT.
        counts: uint32, of the templates that are kept, for the tag dc; None: there is none.
        molecules: uint32, for the tag MI; None: there is none.
        strands: uint8, "A" or "B" after the number of the molecule; None: nothing.
    """

    of_templates: NDArray[np.uint8]
    remove: bool = False
    tag: bool = True
    counts: NDArray[np.uint32] | None = None
    molecules: NDArray[np.uint32] | None = None
    strands: NDArray[np.uint8] | None = None

    @property
    def native(self) -> tuple[Any, ...]:
        return self.of_templates, self.remove, self.tag, self.counts, self.molecules, self.strands


#: columns of a table of blocks: keys of the first record and of the last; bytes of keys, and of all;
#: where the block's first BGZF block begins and its last one ends, and bytes of content before and after it in these
_FIRST_KEY, _LAST_KEY, _SIZES = slice(0, 2), slice(2, 4), slice(4, 6)
_SIZE, _BEGIN, _END, _BEFORE, _AFTER = range(5, 10)


@dataclass
class _Run:
    """A run of the external sort: a part of the temporary file, blocks of keys and records, in order, as BGZF
    (``gpualign/native/records/sorted_batches.hpp``).
    """

    file: BinaryIO
    samples: Any
    by_name: bool
    begin: int
    _tables: list[NDArray[np.uint64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.end = self._released = self.begin

    def append(self, data: bytes | memoryview, table: NDArray[np.uint64], samples: Any) -> None:
        """Append blocks with their table, uint64 (n, 10), in which they begin and end as in ``data``."""
        self.samples.add_all(samples)
        rest = memoryview(data)
        while rest:
            rest = rest[self.file.write(rest) :]
        table[:, [_BEGIN, _END]] += np.uint64(self.end)
        self._tables.append(table)
        self.end += len(data)

    # -- once it is complete

    @cached_property
    def table(self) -> NDArray[np.uint64]:
        return np.concatenate(self._tables)

    @cached_property
    def _bounds(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The first and the last key of each block."""
        firsts, lasts = (list(map(tuple, self.table[:, key].tolist())) for key in (_FIRST_KEY, _LAST_KEY))
        return firsts, lasts

    def between(self, low: Key, high: Key) -> tuple[tuple[int, int, int], NDArray[np.uint64]]:
        """The blocks with records from ``low`` up to ``high``: (descriptor, offset, bytes) of all of them together, and
        (bytes of keys, bytes) of each. Other content in between is given as blocks without keys.
        """
        firsts, lasts = self._bounds
        begin = bisect_left(lasts, low[:2])
        end_of = bisect_right if self.by_name else bisect_left  # records of one key may be on both sides
        found = self.table[begin : end_of(firsts, high[:2])]
        if not len(found):
            return (self.file.fileno(), 0, 0), np.zeros((0, 2), np.uint64)
        offset = int(found[0, _BEGIN])
        others = np.array([(0, found[0, _BEFORE]), (0, found[-1, _AFTER])], np.uint64)
        place = self.file.fileno(), offset, int(found[-1, _END]) - offset
        return place, np.concatenate([others[:1], found[:, _SIZES], others[1:]])

    def release(self, low: Key) -> None:
        """Give back the space of all before the blocks with records from ``low`` on."""
        _, lasts = self._bounds
        begin = bisect_left(lasts, low[:2])
        end = int(self.table[begin, _BEGIN]) if begin < len(lasts) else self.end
        _native.release_file(self.file.fileno(), self._released, end - self._released)
        self._released = end


#: holds a number once it is known; None: it never will be
_Bytes = SimpleQueue["int | None"]


class _Turn(NamedTuple):
    """A range of the merge, with the output bytes before it and up to its end."""

    bounds: tuple[Key, Key]
    before: _Bytes
    after: _Bytes


class _Buffers(threading.local):
    """A thread's buffer for a range."""

    def __init__(self) -> None:
        self.range = _native.RangeBuffer()


class RecordSorter:
    """Sorts records. Use it in a ``with`` block.

    Args:
        folder: for temporary files.
        memory: bytes of records held.
        order: that of the batches, and of the whole.
        codec: of temporary files.

    Attributes:
        content: bytes of all records so far.
    """

    def __init__(
        self,
        folder: str,
        memory: int,
        threads: int,
        order: RecordOrder = "coordinate",
        codec: BgzfCodec = CPU_CODEC,
    ) -> None:
        self._folder, self._memory, self._threads, self._codec = folder, memory, threads, codec
        self._order, self._by_name = RECORD_ORDERS.index(order), order in RECORD_ORDERS[3:]
        self._block_bytes = max(_LEAST_BLOCK, min(_BLOCK_BYTES, memory // _BLOCKS_IN_MEMORY))
        self._held: deque[Any] = deque()
        self._file: BinaryIO | None = None  # of all runs: there may be more of them than files that may be open
        self._runs: list[_Run] = []
        self._spiller = WorkerPool(1, "gpualign-sort")
        self._spilling: Task[None] | None = None
        self._records = self._templates = 0
        self.content = 0
        self._buffers = _Buffers()

    def _range_bytes(self, largest: int = _RANGE_BYTES) -> int:
        return max(_BLOCK_BYTES, min(largest, self._memory // (8 * self._threads)))

    def __enter__(self) -> RecordSorter:
        return self

    def __exit__(self, *_: object) -> None:
        self._spiller.close()
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    def add(self, batch: RecordBatch) -> None:
        """Add the next batch, in input order.

        Raises:
            GpualignError: a temporary file cannot be written.
        """
        quarter = self._memory // 4
        if not self._held or self._held[-1].nbytes > quarter:
            self._held.append(_native.SortedBatches(self._order))
        first = 0 if batch.numbered else self._records
        self._held[-1].add(batch.records, batch.keys, first, self._templates)
        self._records += batch.size
        self.content += len(batch.records)
        self._templates += batch.templates
        if sum(batches.nbytes for batches in self._held) > 3 * quarter:
            self._await_run()
            self._spilling = self._spiller.submit(partial(self._spill, self._held.popleft()))

    def merged(self, form: Callable[[Records, int], Value], marks: Marks | None = None) -> Iterator[Value]:
        """Yield ``form(records, bytes before them)`` for arrays of all records in order. ``form`` runs in other
        threads; the arrays' memory is reused afterwards.

        Raises:
            GpualignError: a temporary file cannot be read.
        """
        yield from self._each_range(lambda records, _, before: form(records, before), marks, False)

    def collated(self, form: Callable[[Records, NDArray[np.uint64]], Value]) -> Iterator[Value]:
        """Yield ``form(records, their numbers in the input)``, as :meth:`merged` does."""
        yield from self._each_range(lambda records, numbers, _: form(records, numbers), None, True)

    def _each_range(
        self, form: Callable[[Records, NDArray[np.uint64], int], Value], marks: Marks | None, numbers: bool
    ) -> Iterator[Value]:
        self._await_run()
        batches, waiting = _native.SortedBatches(self._order), self._codec.waiting
        for part in self._held:
            batches.add_all(part)
        of_runs = _BLOCKS_OF_RUN * len(self._runs) * self._block_bytes
        size = self._range_bytes(max(tuning.DEVICE_CONTENT if waiting else _RANGE_BYTES, of_runs))
        turns = _turns(self._ranges(batches, self._runs, size))

        def formed(turn: _Turn) -> tuple[Value, int, Key]:
            after = None
            try:
                records = self._merge_range(batches, marks, turn.bounds, numbers)
                if (before := turn.before.get()) is None:
                    raise GpualignError("a range of the sort before this one failed")  # the caller gets its error
                after = before + len(records)
            finally:
                turn.after.put(after)
            nbytes = len(records)
            return form(records, self._buffers.range.numbers, before), nbytes, turn.bounds[1]

        done = 0
        for value, nbytes, end in run_ordered(turns, formed, self._threads + waiting):
            yield value
            done += nbytes
            if self._runs and done > _RELEASED_BYTES:
                self._spiller.submit(partial(self._release, end))
                done = 0

    def _release(self, low: Key) -> None:
        for run in self._runs:
            run.release(low)

    @STEPS.at("merge")
    def _merge_range(
        self, batches: _native.SortedBatches, marks: Marks | None, bounds: tuple[Key, Key], numbers: bool
    ) -> Records:
        found = [run.between(*bounds) for run in self._runs]
        try:
            blocks = unpacked([place for place, _ in found], self._codec)
        except (OSError, Damaged) as error:
            raise GpualignError(f"cannot read a temporary file in {self._folder}: {_reason(error)}") from error
        sizes = np.concatenate([np.zeros((0, 2), np.uint64), *(of_run for _, of_run in found)]).reshape(-1)
        return batches.merge(
            self._buffers.range, *bounds, blocks, sizes, None if marks is None else marks.native, numbers
        )

    def _spill(self, batches: _native.SortedBatches) -> None:
        """Write the records of ``batches`` as a run."""
        try:
            if self._file is None:  # without a name, so that it ends with the process
                self._file = cast(BinaryIO, tempfile.TemporaryFile(dir=self._folder, buffering=0))
            begin = self._runs[-1].end if self._runs else 0
            run = _Run(self._file, _native.SortSamples(self._order), self._by_name, begin)
            self._runs.append(run)
            ranges = self._ranges(batches, [], self._range_bytes())
            workers = -(-self._threads // _PART_OF_THREADS) + self._codec.waiting
            for blocks in run_ordered(ranges, partial(self._packed_range, batches), workers):
                run.append(*blocks)
        except OSError as error:
            raise GpualignError(f"cannot write a temporary file in {self._folder}: {os_reason(error)}") from error

    @STEPS.at("sort")
    def _packed_range(
        self, batches: _native.SortedBatches, bounds: tuple[Key, Key]
    ) -> tuple[bytes | memoryview, NDArray[np.uint64], Any]:
        """The blocks of a range, their table, and their first keys."""
        samples = _native.SortSamples(self._order)
        content, words = batches.blocks(self._buffers.range, *bounds, self._block_bytes, samples)
        shapes = words.reshape(-1, 6)
        sizes = np.ascontiguousarray(shapes[:, _SIZE])
        blocks = packed(content, sizes, self._codec)
        return blocks, np.concatenate([shapes, places_in(blocks, sizes)], axis=1), samples

    def _ranges(self, batches: _native.SortedBatches, runs: list[_Run], size: int) -> Iterator[tuple[Key, Key]]:
        """Keys between which there are about ``size`` bytes of records, two by two, from the first to the last."""
        samples = _native.SortSamples(self._order)
        samples.add_all(batches.samples)
        for run in runs:
            samples.add_all(run.samples)
        low = _FIRST
        for high in (*samples.cuts(size), _BEYOND_LAST):
            yield low, high
            low = high

    def _await_run(self) -> None:
        spilling, self._spilling = self._spilling, None
        if spilling is not None:
            spilling.result()


def places_in(blocks: bytes | memoryview, sizes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Where pieces of these sizes are, which BGZF blocks hold one after the other, uint64 (n, 4): where the first block
    of each begins and its last one ends, bytes of content before and after it in these.
    """
    ends, text_ends = map(offsets_of, _native.bgzf_block_sizes(np.frombuffer(blocks, np.uint8)))
    pieces = offsets_of(sizes.astype(np.int64))
    first = np.searchsorted(text_ends, pieces[:-1], "right") - 1
    after = np.searchsorted(text_ends, pieces[1:], "left")
    places = [ends[first], ends[after], pieces[:-1] - text_ends[first], text_ends[after] - pieces[1:]]
    return np.stack(places, axis=1).astype(np.uint64)


def _turns(ranges: Iterator[tuple[Key, Key]]) -> Iterator[_Turn]:
    before: _Bytes = SimpleQueue()
    before.put(0)
    for bounds in ranges:
        after: _Bytes = SimpleQueue()
        yield _Turn(bounds, before, after)
        before = after


def _reason(error: Exception) -> str:
    return os_reason(error) if isinstance(error, OSError) else str(error)
