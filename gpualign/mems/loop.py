"""The loop of `mems` for threads, devices and a cluster: queries in pieces, their matches in order, counts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import check_count
from gpualign.mems.dotplot import DotPlot
from gpualign.mems.worker import Item, worker_stage
from gpualign.params import RunOptions
from gpualign.report import Progress, warn
from gpualign.run.cuda import pinned_allocator
from gpualign.run.stage import Backend, Stage
from gpualign.seeds.matches.cpu import Matches, MemColumns, Piece, Printed, Search, join_columns
from gpualign.seeds.matches.device_unique import kernel_for
from gpualign.seeds.matches.queries import Batch, BatchSize, QueryText, bases_of
from gpualign.seeds.matches.suffix_array import SuffixArray
from gpualign.streaming.ordered import run_ordered


class PieceSize(NamedTuple):
    """Sizes of pieces.

    Attributes:
        matches: that a piece should give, about.
        first, maximum: positions, until more is known of the matches, and after that.
        guess: matches a position in repeats, before more is known.
    """

    matches: int
    first: int
    maximum: int
    guess: float


#: for threads, which write text of about 2 MB
CPU_PIECES = PieceSize(70_000, 1 << 20, 1 << 20, 7)
#: of devices, to which a batch's text goes for each of its pieces: both strands of one are a piece, but of sorted
#: positions, each with space for a match; positions are a multiple of the step: whole tiles
DEVICE_PIECES = PieceSize(1 << 21, 1 << 18, 1 << 26, 2)
SUFFIX_PIECES = DEVICE_PIECES._replace(maximum=1 << 22)
_STEP = 1 << 12
#: a device wants batches this much larger: its thread has as much to do for each, whatever their size
_DEVICE_BATCH = 4
#: threads that copy texts to pinned memory; there are twice as many such texts, as pinned memory is slow to allocate
_STAGERS = 2
#: bytes of a match's line, about
_LINE_BYTES = 30
#: matches printed at a time: many small tasks would wait for the GIL
_REPORTED = 1 << 17


def batch_bases(options: RunOptions, on_gpu: bool) -> int:
    """Bases of a batch of queries, about."""
    if on_gpu:
        return options.batch_size * _DEVICE_BATCH
    return max(1 << 12, min(options.batch_size, CPU_PIECES.maximum // 2))


class Counts:
    """Totals of the search, for the report, the progress bar and the picture."""

    def __init__(self, search: Search, progress: Progress, quiet: bool = False) -> None:
        self.records = self.bases = 0
        self._searched = 0  # positions of the present batch
        params = search.params
        self.plot = DotPlot(search.index.reference, params.min_length) if params.dotplot is not None else None
        self._progress = progress
        self._quiet = quiet or params.only_acgt or len(search.index.reference.run_starts) == 0

    def finished(self, piece: Piece | None, size: BatchSize) -> None:
        """A piece is done (None: a batch), the next one of its batch; the last one counts the batch."""
        if piece is not None:
            check_count("positions", piece.start, self._searched)
            self._searched = 0 if piece.last else piece.stop
            if not piece.last:
                return
            if self.plot is not None:
                self.plot.add_records(piece.source)
        self.records += size.records
        self.bases += size.bases
        self._progress.update(size.bases)
        if not self._quiet and size.non_acgt:
            self._quiet = True
            warn("mems", "bases other than A, C, G and T match nothing, as with MUMmer's -n (-n silences this)")


class Job(NamedTuple):
    """Matches that are reduced, then printed (:class:`Search`); and the records and bases before their batch."""

    piece: Piece
    columns: MemColumns
    maximum: int
    unique: bool
    records_before: int
    bases_before: int


class MemsRun:
    """Queries in, matches out, in order of the queries.

    Devices print what they find where they can; else a search gives columns of matches, which are cut so that all
    threads have some to print. A cluster's workers take batches to text, or pieces of long ones. Where matches must be
    unique in the query, the matches of its pieces wait for the last piece.

    Args:
        finish: makes something else of the matches than text.
    """

    def __init__(
        self,
        search: Search,
        backend: Backend,
        options: RunOptions,
        counts: Counts,
        finish: Callable[[Job], Any] | None = None,
    ) -> None:
        self.search, self.backend, self.counts = search, backend, counts
        self._finish = finish or self._print
        self._printing = backend.on_gpu and finish is None and search.printed_on_device
        self._threads = options.threads
        self._sizes = CPU_PIECES
        if backend.on_gpu:
            self._sizes = SUFFIX_PIECES if isinstance(search.index, SuffixArray) else DEVICE_PIECES
        self._limit = self._sizes.first
        self._density = search.matches_by_chance + self._sizes.guess  # matches a position, as seen of late
        self._max = search.max_occurrences_left if backend.on_gpu else 0  # for matches that are returned as columns

    def printed(self, batches: Iterable[Batch]) -> Iterator[Printed]:
        """The output in order."""
        for printed, bases_before in self.finished(batches):
            if self.counts.plot is not None and printed.dots is not None:
                self.counts.plot.add(printed.dots, bases_before)
            yield printed

    def finished(self, batches: Iterable[Batch]) -> Iterator[tuple[Any, int]]:
        """The output of the matches, in order, and the bases of the queries before their batches."""

        def work(job: Job | tuple[Printed, int]) -> tuple[Any, int]:
            if not isinstance(job, Job):
                return job
            columns = self.search.reduced(*job[:4])
            return self._finish(job._replace(columns=columns)), job.bases_before

        return run_ordered(self._jobs(batches), work, self._threads)

    def _print(self, job: Job) -> Printed:
        return self.search.report(job.piece, job.columns)

    def _jobs(self, batches: Iterable[Batch]) -> Iterator[Job | tuple[Printed, int]]:
        held: list[MemColumns] = []
        for piece, size, parts in self._results(batches):
            found = 0
            for part in parts:
                if isinstance(part, Printed):
                    found += len(part.text) // _LINE_BYTES
                    yield part, self.counts.bases
                elif isinstance(part, MemColumns):
                    found += len(part.starts)
                    held.append(part)
                else:
                    found += len(part.columns.starts)
                    yield part
            if held and piece is not None and piece.last:
                yield from self._unique_in_query(piece.source, join_columns(held))
                held.clear()
            self._observe(size.bases if piece is None else piece.stop - piece.start, found)
            self.counts.finished(piece, size)

    def _results(
        self, batches: Iterable[Batch]
    ) -> Iterator[tuple[Piece | None, BatchSize, Iterable[Printed | MemColumns | Job]]]:
        """Piece, or None for a batch; the size of its batch; what was found in it."""
        search = self.search
        if self.backend.local:
            texts = run_ordered(batches, partial(search.prepare, deferred=self.backend.on_gpu), self._threads)
            sources = run_ordered(texts, self._staged, _STAGERS) if self.backend.on_gpu else texts
            stage: Stage[Any, Matches] = Stage(self._find, partial(kernel_for, search=search, printing=self._printing))
            for matches in self.backend.run(self._items(sources), stage):
                yield matches.piece, matches.piece.source.size, self._parts(matches)
            return
        in_flight: deque[Item] = deque()

        def items() -> Iterator[Item]:
            for item in self._items(batches):
                in_flight.append(item)
                yield item

        for found in self.backend.run(items(), worker_stage(search)):
            item = in_flight.popleft()
            yield item if isinstance(item, Piece) else None, found.size, [found.part]

    def _staged(self, text: QueryText) -> QueryText:
        return text.staged(pinned_allocator(self.backend.devices), self._printing)

    def _items(self, batches: Iterable[Batch]) -> Iterator[Item]:
        """Batches, for the workers to parse; those that are packed, are long, or give many matches, cut."""
        for batch in batches:
            if not isinstance(batch, QueryText) and bases_of(batch) <= self._max_positions:
                yield batch
                continue
            source = self.search.prepare(batch, deferred=self.backend.on_gpu)
            start, length = 0, source.text.length
            while start < length:
                stop = min(length, start + self._max_positions)
                yield Piece(source, start, stop)
                start = stop

    @property
    def _max_positions(self) -> int:
        """The next piece."""
        by_matches = int(self._sizes.matches / (self._density + 0.01)) & -_STEP
        return min(max(by_matches, _STEP), self._limit)

    def _observe(self, positions: int, matches: int) -> None:
        self._density = (self._density + matches / max(positions, 1)) / 2
        self._limit = self._sizes.maximum

    def _find(self, piece: Piece) -> Matches:
        """On the CPU; columns as devices give them, or already those that are rare enough."""
        return self.search.find(piece, 0 if self.backend.on_gpu else self.search.max_occurrences)

    def _parts(self, matches: Matches) -> Iterator[Printed | MemColumns | Job]:
        """The matches found in a piece; if the search paused, it continues on the CPU."""
        start = matches.piece.start
        for some in self.search.all_of(matches, self._find):
            piece = Piece(matches.piece.source, start, some.reached)
            start = some.reached
            if some.printed is not None:
                yield some.printed
                continue
            assert some.columns is not None
            if not self.search.unique_in_query:
                yield from self._cut(piece, some.columns, self._max)
            elif self._max:
                yield self.search.keep_rare(piece, some.columns, self._max)
            else:
                yield some.columns

    def _unique_in_query(self, source: QueryText, columns: MemColumns) -> Iterator[Job]:
        """A batch's matches, which are reduced to the unique ones as they are printed; of a record that is a batch by
        itself that is done before, by all threads.
        """
        whole = Piece(source, 0, source.text.length)
        if source.records > 1:
            return iter([self._job(whole, columns, unique=True)])
        return self._cut(whole, self.search.keep_unique(source, columns, self.search.threads), 0)

    def _cut(self, piece: Piece, columns: MemColumns, maximum: int) -> Iterator[Job]:
        """A piece's matches so that all threads have some to print."""
        begin, start = 0, piece.start
        for end, stop in _cuts(columns.starts):
            yield self._job(Piece(piece.source, start, stop), columns.part(begin, end), maximum)
            begin, start = end, stop
        if start < piece.stop:
            yield self._job(piece.rest(start), columns.part(0, 0), maximum)

    def _job(self, piece: Piece, columns: MemColumns, maximum: int = 0, unique: bool = False) -> Job:
        return Job(piece, columns, maximum, unique, self.counts.records, self.counts.bases)


def _cuts(starts: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    """Where parts of the matches end, and after which start: a start's matches stay together."""
    last = np.append(starts[_REPORTED - 1 : -1 : _REPORTED], starts[-1:])
    # each once, as they ascend; the first np.unique of a process imports all of numpy.ma
    ends = np.array(list(dict.fromkeys(np.searchsorted(starts, last, "right").tolist())), np.int64)
    return zip(ends.tolist(), (starts[ends - 1].astype(np.int64) + 1).tolist(), strict=True)
