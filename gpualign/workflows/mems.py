"""`mems`: reference and index, queries through a backend, matches to the output."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.backends.base import Backend, Stage
from gpualign.backends.select import Opening
from gpualign.errors import InputError, UsageError, check_count
from gpualign.index.file import is_index, load_index, save_index
from gpualign.index.minimizers import MinimizerIndex, build_index
from gpualign.index.reference import read_reference
from gpualign.io.background import part_writer
from gpualign.io.fastx import Chunk, LongRecord
from gpualign.io.files import check_paths, is_regular, open_output
from gpualign.io.reads import ReadSource
from gpualign.params import RunOptions
from gpualign.plots.dotplot import DotPlot
from gpualign.plots.drawing import check_plot
from gpualign.report import Progress, Report, warn
from gpualign.sequences import SequenceBatch
from gpualign.stream.runner import run_ordered
from gpualign.workflows.mems_cluster import Item, stage_of, texts_of
from gpualign.workflows.mems_params import MemsParams, choose_index
from gpualign.workflows.mems_search import (
    NO_ENDS,
    Columns,
    Dots,
    Matches,
    Piece,
    Printed,
    QueryText,
    Search,
    join_columns,
)

if TYPE_CHECKING:
    from gpualign.gpu.device import Device
    from gpualign.gpu.kernels.mems import MemsKernel

_TABLE_HEADER = b"query\tqlen\tstrand\tqstart\tqend\tref\trstart\trend\tlength\n"
#: bytes of text that a piece of the CPU's should give, about, and its positions at most
_PIECE_BYTES, _PIECE_POSITIONS = 2 << 20, 1 << 20
_LINE_BYTES = 30
#: repeats may give so many bytes of text a position, before more is known
_FIRST_DENSITY = 200
#: read of a long record at a time
_PART_BYTES = 1 << 18
#: the same of a device's piece, in matches; its positions are a multiple of the step
_DEVICE_MATCHES, _DEVICE_POSITIONS, _DEVICE_STEP = 1 << 22, 1 << 24, 1 << 12
#: repeats may give so many matches a position, before more is known
_FIRST_MATCHES = 2
#: a device wants batches this much larger
_DEVICE_BATCH = 2
#: matches formatted at a time behind a device
_REPORTED = 1 << 16
#: texts that wait to be written
_WAITING_TEXTS = 2


def run_mems(reference: str, queries: tuple[str, ...], params: MemsParams, options: RunOptions) -> None:
    """Write the matches between a reference and queries.

    Args:
        reference: path of a FASTA, GenBank or EMBL file or of a saved index.
        queries: paths of FASTA, FASTQ or BAM files, "-" for standard input.

    Raises:
        InputError: a file that cannot be read or is invalid.
        UsageError: a saved index that was built for longer matches; two inputs from standard input; a picture that
            cannot be drawn.
        DeviceError: a GPU was asked for and cannot be used.
    """
    if (reference, *queries).count("-") > 1:
        raise UsageError("only one input can be standard input")
    if params.dotplot is not None:
        check_plot(params.dotplot)
        if options.cluster is not None:
            raise UsageError("--dotplot does not go with --cluster")
    check_paths((reference, params.index, *queries), (options.output, options.json, params.save_index, params.dotplot))
    report = Report("mems", options)
    with Opening(options, "mems") as opening:
        index = open_index(reference, params, options)
        search = Search(index, params, options.threads)
        backend = opening.backend()
        with open_output(options.output) as out, Progress(options, "bases") as progress:
            if params.table and params.header:
                out.write(_TABLE_HEADER)
            counts = Counts(search, progress)
            headers = 0

            def write(text: bytes | memoryview) -> None:
                nonlocal headers
                headers += _native.count_headers(np.frombuffer(text, np.uint8))
                out.write(text)

            with part_writer(write, _WAITING_TEXTS, beside=is_regular(options.output)) as writer:
                for text in texts_of_queries(search, backend, options, counts, queries):
                    writer.write(text.data)
            if not params.table:
                check_count("strands", counts.records * search.blocks_a_record, headers)
        report.fields |= backend.report()
    if counts.records == 0:
        warn("mems", "no query records")
    if counts.plot is not None and params.dotplot is not None:
        counts.plot.save(params.dotplot)
    report.fields |= {"queries": counts.records, "query_bases": counts.bases, "output_bytes": out.bytes_written}
    report.fields |= {"k": index.params.k, "w": index.params.w, "index_entries": len(index.entries)}
    report.finish(f"{counts.records} queries, {counts.bases} bases on {backend.name}")


def texts_of_queries(
    search: Search, backend: Backend, options: RunOptions, counts: Counts, queries: Iterable[str | SequenceBatch]
) -> Iterator[NDArray[np.uint8]]:
    """The output in order, uint8 each, whole lines.

    Args:
        queries: paths, or batches of records.
    """
    run = _ClusterRun if options.cluster is not None else _DeviceRun if backend.on_gpu else _CpuRun
    return run(search, backend, options, counts).texts(queries)


def open_index(reference: str, params: MemsParams, options: RunOptions) -> MinimizerIndex:
    """The reference's index: loaded, or built and perhaps saved."""
    if params.index is not None or is_index(reference):
        index = load_index(params.index or reference, options.threads)
        longest = index.params.w + index.params.k - 1
        if longest > params.min_length:
            raise UsageError(
                f"the index holds every match of {longest} bases or more, not of {params.min_length} "
                f"(use -l {longest}, or build one for shorter matches)"
            )
        if params.index is not None:
            _check_same_reference(index, reference)
    else:
        packed = read_reference(reference)
        index = build_index(packed, choose_index(params.min_length, packed.bases), options.threads)
    if params.save_index is not None:
        save_index(index, params.save_index)
    return index


def _check_same_reference(index: MinimizerIndex, reference: str) -> None:
    packed = load_index(reference).reference if is_index(reference) else read_reference(reference)
    same = packed.names == index.reference.names and all(
        np.array_equal(getattr(packed, name), getattr(index.reference, name))
        for name in ("contig_offsets", "words", "run_starts", "run_ends", "run_letters")
    )
    if not same:
        raise InputError("the saved index is of another reference (build it again)", reference)


class Counts:
    """What has been searched, for the report, the progress bar and the picture."""

    def __init__(self, search: Search, progress: Progress) -> None:
        self.records = self.bases = 0
        self._searched = 0  # positions of the batch under way
        params = search.params
        self.plot = DotPlot(search.index.reference, params.min_length) if params.dotplot is not None else None
        self._progress = progress
        self._quiet = params.only_acgt or len(search.index.reference.run_starts) == 0

    def finished(self, piece: Piece) -> None:
        """A piece is done, of a batch the one behind the last; the last one of a batch counts the batch."""
        source = piece.source
        check_count("positions", piece.start, self._searched)
        self._searched = piece.stop
        if piece.stop == source.text.length:
            self._searched = 0
            if self.plot is not None:
                self.plot.add_records(source)
            self.add(source.records, source.bases, source.text.other_letters)

    def draw(self, dots: Dots | None, bases_before: int) -> None:
        """Matches of a batch that has so many bases before it are to be seen in the picture."""
        if self.plot is not None and dots is not None:
            self.plot.add(dots, bases_before)

    def add(self, records: int, bases: int, other_letters: bool) -> None:
        """A batch is done."""
        self.records += records
        self.bases += bases
        self._progress.update(bases)
        if not self._quiet and other_letters:
            self._quiet = True
            warn("mems", "letters other than A, C, G and T match nothing, as with MUMmer's -n (-n silences this)")


@dataclass
class _Run:
    """Queries in, text out."""

    search: Search
    backend: Backend
    options: RunOptions
    counts: Counts

    def batches(
        self, queries: Iterable[str | SequenceBatch], bases: int
    ) -> Iterator[Chunk | SequenceBatch | QueryText]:
        """Batches of about ``bases``; a record larger than that is read and packed here, a FASTA record without ever
        being held as text.
        """
        for query in queries:
            if isinstance(query, SequenceBatch):
                yield query
                continue
            # threads here may still parse when a file is closed; what goes to a cluster is packed by then
            by_parser = self.options.cluster is not None and self.backend.sees(query)
            with ReadSource(query, by_parser=by_parser) as source:
                for item in source.items(bases, long_records=True):
                    if isinstance(item, LongRecord):
                        yield self.search.prepare_long(item, _PART_BYTES)
                    else:
                        yield item if _bases_of(item) <= 2 * bases else self.search.prepare(item)

    def make_kernel(self, device: Device) -> MemsKernel:
        from gpualign.gpu.kernels.mems import MemsKernel

        return MemsKernel(device, self.search)


def _bases_of(batch: Chunk | SequenceBatch) -> int:
    """About how many."""
    return len(batch.data) // 2 if isinstance(batch, Chunk) else len(batch.bases)


class _CpuRun(_Run):
    """Workers parse, search and format."""

    @cached_property
    def _density(self) -> float:
        """Bytes of text that a position gives: at first a careful guess, then as seen of late."""
        return self.search.matches_by_chance * _LINE_BYTES + _FIRST_DENSITY

    def _observe(self, positions: int, written: int) -> None:
        self._density = (self._density + written / max(positions, 1)) / 2

    @property
    def _most(self) -> int:
        """Positions of a piece."""
        return int(min(max(_PIECE_BYTES / (self._density + 1), 1 << 12), _PIECE_POSITIONS))

    def texts(self, queries: Iterable[str | SequenceBatch]) -> Iterator[NDArray[np.uint8]]:
        stage: Stage[Any, Matches] = Stage(cpu=self._work, make_kernel=self.make_kernel)
        held: list[Columns] = []
        for matches in self.backend.run(self._items(queries), stage):
            written = 0
            for text, dots in self._whole(matches, held):
                written += len(text)
                self.counts.draw(dots, self.counts.bases)
                yield text
            self._observe(matches.piece.stop - matches.piece.start, written)
            self.counts.finished(matches.piece)

    def _items(self, queries: Iterable[str | SequenceBatch]) -> Iterator[Chunk | SequenceBatch | Piece]:
        """Batches for the workers to parse; those that are long, or give much text, cut."""
        for batch in self.batches(queries, max(1 << 12, min(self.options.batch_size, _PIECE_POSITIONS // 2))):
            if not isinstance(batch, QueryText):
                if _bases_of(batch) <= self._most:
                    yield batch
                    continue
                batch = self.search.prepare(batch)
            start, length = 0, batch.text.length
            while start < length:
                stop = min(length, start + self._most)
                yield Piece(batch, start, stop)
                start = stop

    def _work(self, item: Chunk | SequenceBatch | Piece) -> Matches:
        if not isinstance(item, Piece):
            source = self.search.prepare(item)
            item = Piece(source, 0, source.text.length)
        return self.search.match(item)

    def _whole(self, matches: Matches, held: list[Columns]) -> Iterator[Printed]:
        """The text of a piece; a paused search goes on, and matches that are kept wait for their batch's last piece."""
        piece = matches.piece
        while True:
            if matches.text is not None:
                yield matches.text, matches.dots
            elif matches.columns is not None:
                held.append(matches.columns)
            if matches.reached >= piece.stop:
                break
            matches = self.search.match(Piece(piece.source, matches.reached, piece.stop))
        if held and piece.stop == piece.source.text.length:
            yield self.search.report(Piece(piece.source, 0, piece.stop), join_columns(held))
            held.clear()


class _ClusterRun(_CpuRun):
    """Workers of a cluster parse, search and format."""

    def texts(self, queries: Iterable[str | SequenceBatch]) -> Iterator[NDArray[np.uint8]]:
        under_way: deque[Item] = deque()
        held: list[Columns] = []

        def items() -> Iterator[Item]:
            for item in self._items(queries):
                under_way.append(item)
                yield item

        for found in self.backend.run(items(), stage_of(self.search)):
            item = under_way.popleft()
            written = 0
            for text in texts_of(self.search, item, found, held):
                written += len(text)
                yield text
            positions = item.stop - item.start if isinstance(item, Piece) else found.bases
            self._observe(positions, written)
            if isinstance(item, Piece):
                self.counts.finished(item)
            else:
                self.counts.add(found.records, found.bases, found.other_letters)


class _Report(NamedTuple):
    """What :meth:`Search.report` takes, and the bases of the queries before the batch."""

    piece: Piece
    columns: Columns
    most: int
    ends: NDArray[np.uint64]
    bases_before: int


class _DeviceRun(_Run):
    """Workers parse and pack, devices search, workers format."""

    @cached_property
    def _density(self) -> float:
        """Matches that a position gives: at first a careful guess, then as seen of late."""
        return self.search.matches_by_chance + _FIRST_MATCHES

    @property
    def _most(self) -> int:
        """Positions of a piece: whole tiles of any size."""
        return min(max(int(_DEVICE_MATCHES / (self._density + 0.01)) & -_DEVICE_STEP, _DEVICE_STEP), _DEVICE_POSITIONS)

    def texts(self, queries: Iterable[str | SequenceBatch]) -> Iterator[NDArray[np.uint8]]:
        stage = Stage(cpu=self.search.find, make_kernel=self.make_kernel)
        found = self.backend.run(self._items(queries), stage)
        for (text, dots), bases_before in run_ordered(self._reports(found), self._print, self.options.threads):
            self.counts.draw(dots, bases_before)
            yield text

    def _print(self, item: _Report) -> tuple[Printed, int]:
        return self.search.report(item.piece, item.columns, item.most, item.ends), item.bases_before

    def _items(self, queries: Iterable[str | SequenceBatch]) -> Iterator[Piece]:
        batches = self.batches(queries, self.options.batch_size * _DEVICE_BATCH)
        for source in run_ordered(batches, self._prepared, self.options.threads):
            start, length = 0, source.text.length
            while start < length:
                stop = min(length, start + self._most)
                yield Piece(source, start, stop)
                start = stop

    def _prepared(self, batch: Chunk | SequenceBatch | QueryText) -> QueryText:
        return batch if isinstance(batch, QueryText) else self.search.prepare(batch)

    def _reports(self, results: Iterator[Matches]) -> Iterator[_Report]:
        """What is to be formatted, in order, cut so that all workers have some."""
        most, ends = self.search.most_occurrences, NO_ENDS
        held: list[Columns] = []
        for matches in results:
            piece = matches.piece
            assert matches.columns is not None
            density = len(matches.columns.starts) / max(matches.reached - piece.start, 1)
            self._density = (self._density + density) / 2
            if piece.start == 0:
                ends = NO_ENDS
            for part, columns in self._parts(matches):
                if self.search.unique_in_query:
                    *rare, ends = _native.keep_rare(*columns, most, ends)
                    held.append(Columns(*rare))
                else:
                    yield _Report(part, columns, most, ends, self.counts.bases)
                    if most:
                        ends = columns.largest_ends(ends, most)
            if self.search.unique_in_query and piece.stop == piece.source.text.length:
                yield _Report(Piece(piece.source, 0, piece.stop), join_columns(held), 0, NO_ENDS, self.counts.bases)
                held.clear()
            self.counts.finished(piece)

    def _parts(self, matches: Matches) -> Iterator[tuple[Piece, Columns]]:
        """A piece's matches in parts; where a device held too many the CPU finds the rest, a little at a time."""
        piece, start = matches.piece, matches.piece.start
        while True:
            assert matches.columns is not None
            columns = matches.columns
            begin = 0
            while begin < len(columns.starts):
                end = min(begin + _REPORTED, len(columns.starts))
                # a start's matches stay together
                end = int(np.searchsorted(columns.starts, columns.starts[end - 1], "right"))
                stop = int(columns.starts[end - 1]) + 1
                yield Piece(piece.source, start, stop), columns.part(begin, end)
                begin, start = end, stop
            if start < matches.reached:
                yield Piece(piece.source, start, matches.reached), columns.part(0, 0)
                start = matches.reached
            if matches.reached >= piece.stop:
                return
            matches = self.search.find(Piece(piece.source, matches.reached, piece.stop))
