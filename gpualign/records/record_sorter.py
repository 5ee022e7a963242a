"""An external sort of BAM records: in memory as far as it suffices, the rest in temporary files, and one merge. The
order may also be the input's.

Batches of records are sorted by the threads that make them (:meth:`RecordBatch.of`). When they fill three quarters of
the memory, the oldest quarter is written as a run of compressed blocks while the last one fills. In the end threads
merge ranges of keys, each from memory and from the blocks that overlap it. A range needs a block of every run: where
there would be more of them than it has room for, runs are merged to longer ones before.
"""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, Literal, NamedTuple, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import GpualignError
from gpualign.params import available_cores, available_memory
from gpualign.records.sort_runs import SIZE, Key, Run, places_in
from gpualign.records.turns import in_turns
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS
from gpualign.streaming.worker_pool import Task, WorkerPool
from gpualign.text import tuning
from gpualign.text.bgzf import CPU_CODEC, BgzfCodec, packed, unpacked
from gpualign.text.files import os_reason
from gpualign.text.streams import Damaged

#: as native code numbers them: "template": the records of a template follow each other; then three by name, as
#: samtools does, plainly by their bytes, or as Picard does; the last as samtools sort --template-coordinate
RecordOrder = Literal["input", "coordinate", "template", "natural", "lexicographic", "picard", "template-coordinate"]
RECORD_ORDERS: tuple[RecordOrder, ...] = get_args(RecordOrder)
#: what tells a batch's templates apart, as native code numbers it
TemplateNumbers = Literal["none", "flags", "names", "records"]
_TEMPLATE_NUMBERS: tuple[TemplateNumbers, ...] = ("none", "flags", "names", "records")
Records = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Value = TypeVar("Value")
_KEY_WORDS = 3
FIRST, BEYOND_LAST = (0, 0, b""), ((1 << 64) - 1, (1 << 64) - 1, b"")
#: maximum bytes of records in a block of a temporary file, and in parts of the memory: a range needs some of each run
_BLOCK_BYTES, _LEAST_BLOCK, _BLOCKS_IN_MEMORY = 1 << 18, 1 << 14, 512
#: maximum bytes of records in a range, or blocks of each run: those at its ends are inflated for the next one, too
_RANGE_BYTES, _LEAST_RANGE, _BLOCKS_OF_RUN = 1 << 23, 1 << 20, 6
#: runs that are merged to one; more where the largest range has more blocks
_LEAST_MERGED = 16
#: bytes of records in the output after which the space that they had in temporary files is given back: it is needed for
#: the output, and to free all of it in the end, some of it while it is being written, takes seconds
_RELEASED_BYTES = 1 << 29
#: one thread in two writes runs; the others map
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
            templates: how they are recognized, if they are; the records of each are adjacent. "records": they need
                not be, and each record is numbered instead.
            numbers: of the records in the input, if they come in another order.
            prefix: what most names begin with (``_native.shared_name_prefix``), in orders by name; the libraries of
                the header for template-coordinate.
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


class Buffers(threading.local):
    """A thread's buffer for a range."""

    def __init__(self) -> None:
        self.range = _native.RangeBuffer()


class RecordSorter:
    """Sorts records. Use it in a ``with`` block.

    Args:
        folder: for temporary files.
        memory: bytes of records held.
        order: of the records in the batches, and of the whole.
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
        self._runs: list[Run] = []
        self._merged_at_once = max(_LEAST_MERGED, self._range_bytes(memory) // self._block_bytes)
        self._spiller = WorkerPool(1, "gpualign-sort")
        self._spilling: Task[None] | None = None
        self._records = self._templates = 0
        self.content = 0
        self._buffers = Buffers()

    def _range_bytes(self, largest: int) -> int:
        return max(_LEAST_RANGE, min(largest, self._memory // (8 * self._threads)))

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
        ranges = self._ranges(batches, self._runs, tuning.DEVICE_CONTENT if waiting else _RANGE_BYTES)

        def formed(bounds: tuple[Key, Key], records: Records, before: int) -> tuple[Value, int, Key]:
            nbytes = len(records)
            return form(records, self._buffers.range.numbers, before), nbytes, bounds[1]

        merge, done = partial(self._merge_range, batches, marks, numbers), 0
        for value, nbytes, end in in_turns(ranges, merge, formed, self._threads + waiting):
            yield value
            done += nbytes
            if self._runs and done > _RELEASED_BYTES:
                self._spiller.submit(partial(_release, self._runs, end))
                done = 0

    @STEPS.at("merge")
    def _merge_range(
        self, batches: _native.SortedBatches, marks: Marks | None, numbers: bool, bounds: tuple[Key, Key]
    ) -> Records:
        stored = self._stored(self._runs, bounds)
        return batches.merge(self._buffers.range, *bounds, *stored, None if marks is None else marks.native, numbers)

    def _stored(self, runs: list[Run], bounds: tuple[Key, Key]) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        """The blocks of runs with records of a range, and the bytes of keys, and of all, of each."""
        found = [run.between(*bounds) for run in runs]
        try:
            blocks = unpacked([place for place, _ in found], self._codec)
        except (OSError, Damaged) as error:
            raise GpualignError(f"cannot read a temporary file in {self._folder}: {_reason(error)}") from error
        return blocks, np.concatenate([np.zeros((0, 2), np.uint64), *(of_run for _, of_run in found)]).reshape(-1)

    def _spill(self, batches: _native.SortedBatches) -> None:
        """Write the records of ``batches`` as a run, and merge the last runs if there are enough of one level."""
        try:
            if self._file is None:  # without a name, so that it ends with the process
                self._file = cast(BinaryIO, tempfile.TemporaryFile(dir=self._folder, buffering=0))
            self._runs.append(self._written_run(self._file, batches, []))
            while len(last := self._runs[-self._merged_at_once :]) == self._merged_at_once:
                if last[0].level != last[-1].level:
                    break
                none = _native.SortedBatches(self._order)
                self._runs[-len(last) :] = [self._written_run(self._file, none, last)]
        except OSError as error:
            raise GpualignError(f"cannot write a temporary file in {self._folder}: {os_reason(error)}") from error

    def _written_run(self, file: BinaryIO, batches: _native.SortedBatches, runs: list[Run]) -> Run:
        """Write the records of ``batches``, or of the runs of one level, whose space is given back, as a run."""
        level = 1 + runs[0].level if runs else 0
        written = Run(file, _native.SortSamples(self._order), self._by_name, file.tell(), level)
        ranges, pack = self._ranges(batches, runs, _RANGE_BYTES), partial(self._packed_range, batches, runs)
        for *blocks, end in run_ordered(ranges, pack, -(-self._threads // _PART_OF_THREADS) + self._codec.waiting):
            written.append(*blocks)
            _release(runs, end)
        return written

    @STEPS.at("sort")
    def _packed_range(
        self, batches: _native.SortedBatches, runs: list[Run], bounds: tuple[Key, Key]
    ) -> tuple[bytes | memoryview, NDArray[np.uint64], Any, Key]:
        """The blocks of a range, their table, their first keys, and the end of the range."""
        samples = _native.SortSamples(self._order)
        stored = self._stored(runs, bounds)
        content, words = batches.blocks(self._buffers.range, *bounds, *stored, self._block_bytes, samples)
        shapes = words.reshape(-1, 6)
        sizes = np.ascontiguousarray(shapes[:, SIZE])
        blocks = packed(content, sizes, self._codec)
        return blocks, np.concatenate([shapes, places_in(blocks, sizes)], axis=1), samples, bounds[1]

    def _ranges(self, batches: _native.SortedBatches, runs: list[Run], largest: int) -> Iterator[tuple[Key, Key]]:
        """Keys between which there are about ``largest`` bytes of records, fewer if the memory is small, and more if
        there are many runs; two by two, from the first to the last.
        """
        size = self._range_bytes(max(largest, _BLOCKS_OF_RUN * len(runs) * self._block_bytes))
        samples = _native.SortSamples(self._order)
        samples.add_all(batches.samples)
        for run in runs:
            samples.add_all(run.samples)
        low = FIRST
        for high in (*samples.cuts(size), BEYOND_LAST):
            yield low, high
            low = high

    def _await_run(self) -> None:
        spilling, self._spilling = self._spilling, None
        if spilling is not None:
            spilling.result()


def _release(runs: list[Run], low: Key) -> None:
    """Give back the space that records before ``low`` have in runs."""
    for run in runs:
        run.release(low)


def _reason(error: Exception) -> str:
    return os_reason(error) if isinstance(error, OSError) else str(error)
