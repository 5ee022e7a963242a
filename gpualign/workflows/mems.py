"""`mems`: reference and index, queries through a backend, matches to the output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.backends.select import parse_device
from gpualign.errors import InputError, UsageError
from gpualign.index.file import is_index, load_index, save_index
from gpualign.index.minimizers import MinimizerIndex, build_index
from gpualign.index.reference import read_reference
from gpualign.io.fastx import Chunk, parse, read_chunks
from gpualign.io.files import InputFile, OutputFile, open_output
from gpualign.params import RunOptions
from gpualign.report import Progress, Report, warn
from gpualign.sequences import SequenceBatch
from gpualign.stream.runner import run_ordered
from gpualign.workflows.mems_params import STRANDS, MemsParams, choose_index

_TABLE_HEADER = b"query\tqlen\tstrand\tqstart\tqend\tref\trstart\trend\tlength\n"
#: bytes of text, and matches, after which a piece's search pauses until they are written
_PAUSE_BYTES = 16 << 20
_PAUSE_MATCHES = 1 << 20
#: longest query record: both strands of it are one text, whose positions are 32-bit
_LONGEST_QUERY = 2**31 - 64


@dataclass(frozen=True, eq=False)
class QueryText:
    """A batch of query records and the packed text of their strands.

    Attributes:
        batch: the records.
        text: native packed text; its positions number the strands one behind the other.
    """

    batch: SequenceBatch
    text: Any


@dataclass(frozen=True, eq=False)
class Piece:
    """Text positions [start, stop) of a batch: a unit of work."""

    source: QueryText
    start: int
    stop: int

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.stop == self.source.text.length


@dataclass(frozen=True, eq=False)
class Matches:
    """Matches of a piece up to where its search paused.

    Attributes:
        piece: the piece.
        reached: the first position that was not searched; ``piece.stop`` at the end.
        text: uint8, as it goes to the output; or None, and
        columns: starts, reference positions and lengths, uint32 each, in order of start.
    """

    piece: Piece
    reached: int
    text: NDArray[np.uint8] | None = None
    columns: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]] | None = None


class Search:
    """An index and what is looked for in it; every method may run in any thread."""

    def __init__(self, index: MinimizerIndex, params: MemsParams) -> None:
        self.index, self.params = index, params
        self.kind = {"maxmatch": 0, "mumreference": 1, "mum": 2}[params.kind]
        self.strands = STRANDS.index(params.strands) + 1
        self.style = params.style(len(index.reference.names))

    @cached_property
    def native(self) -> Any:
        return _native.MemIndex(*self.index.native, self.index.reference.names)

    def prepare(self, chunk: Chunk | SequenceBatch) -> QueryText:
        """Parse and pack.

        Raises:
            InputError: a malformed record, or one too long.
        """
        batch = parse(chunk) if isinstance(chunk, Chunk) else chunk
        longest = int(batch.lengths.max(initial=0))
        if longest > _LONGEST_QUERY:
            raise InputError(f"a query record has {longest} bases, more than {_LONGEST_QUERY} (cut it)")
        return QueryText(batch, _native.pack_mem_text(batch.bases, batch.base_offsets, self.strands))

    def match(self, piece: Piece) -> Matches:
        """Search a piece on the CPU; it pauses when its result grows large."""
        source = piece.source
        if self.kind == 2 and not piece.whole:
            return self.find(piece, 1)
        text, reached = _native.match_mems(
            self.native,
            source.text,
            source.batch.names,
            source.batch.name_offsets,
            piece.start,
            piece.stop,
            self.params.min_length,
            self.kind,
            self.style,
            # uniqueness in the query needs all of a record's matches, of which there are at most one a base
            _PAUSE_BYTES if self.kind < 2 else 2**62,
        )
        return Matches(piece, reached, text=text)

    def find(self, piece: Piece, kind: int, limit: int = _PAUSE_MATCHES) -> Matches:
        """As :meth:`match`, but the matches themselves."""
        *columns, reached = _native.find_mems(
            self.native, piece.source.text, piece.start, piece.stop, self.params.min_length, kind, limit
        )
        return Matches(piece, reached, columns=(columns[0], columns[1], columns[2]))

    def report(
        self, piece: Piece, columns: tuple[Any, Any, Any], unique_in_reference: bool, furthest: int
    ) -> tuple[NDArray[np.uint8], int]:
        """Matches that start in a piece as text, and the furthest end of a match so far."""
        text, furthest = _native.report_mems(
            self.native,
            piece.source.text,
            piece.source.batch.names,
            piece.source.batch.name_offsets,
            piece.start,
            piece.stop,
            *columns,
            unique_in_reference,
            self.kind == 2,
            furthest,
            self.style,
        )
        return text, furthest

    @cached_property
    def piece_positions(self) -> int:
        """Text positions a piece may have: so many that by chance alone it gives a few megabytes of text."""
        by_chance = self.index.reference.bases * 0.25**self.params.min_length * 30
        return int(min(max((4 << 20) / (by_chance + 1), 1 << 12), 1 << 20))


def run_mems(reference: str, queries: tuple[str, ...], params: MemsParams, options: RunOptions) -> None:
    """Write the matches between a reference and queries.

    Args:
        reference: path of a FASTA, GenBank or EMBL file or of a saved index.
        queries: paths of FASTA, FASTQ or BAM files, "-" for standard input.

    Raises:
        InputError: a file that cannot be read or is invalid.
        UsageError: a saved index that was built for longer matches.
    """
    report = Report("mems", options)
    parse_device(options.device)
    index = open_index(reference, params, options)
    search = Search(index, params)
    with open_output(options.output, (reference, *queries)) as out, Progress(options, "bases") as progress:
        if params.table and params.header:
            out.write(_TABLE_HEADER)
        counts = _run_on_cpu(search, queries, options, out, progress)
    if counts.records == 0:
        warn("mems", "no query records")
    report["queries"], report["query_bases"] = counts.records, counts.bases
    report["k"], report["w"] = index.params.k, index.params.w
    report.finish(f"{counts.records} queries, {counts.bases} bases")


def open_index(reference: str, params: MemsParams, options: RunOptions) -> MinimizerIndex:
    """The reference's index: loaded, or built and perhaps saved."""
    if params.index is not None or is_index(reference):
        index = load_index(params.index or reference)
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
        save_index(index, params.save_index, (reference,))
    return index


def _check_same_reference(index: MinimizerIndex, reference: str) -> None:
    packed = load_index(reference).reference if is_index(reference) else read_reference(reference)
    same = packed.names == index.reference.names and all(
        np.array_equal(getattr(packed, name), getattr(index.reference, name))
        for name in ("contig_offsets", "words", "run_starts", "run_ends", "run_letters")
    )
    if not same:
        raise InputError("the saved index is of another reference (build it again)", reference)


@dataclass
class _Counts:
    records: int = 0
    bases: int = 0
    warned: bool = False


def _run_on_cpu(
    search: Search, queries: tuple[str, ...], options: RunOptions, out: OutputFile, progress: Progress
) -> _Counts:
    counts = _Counts()
    writer = _Writer(search, out)

    def work(item: Chunk | Piece) -> Matches:
        if isinstance(item, Chunk):
            source = search.prepare(item)
            item = Piece(source, 0, source.text.length)
        return search.match(item)

    items = _pieces(search, queries, options)
    for matches in run_ordered(items, work, options.threads):
        writer.write(matches)
        _count(matches.piece, counts, search, progress)
    return counts


def _count(piece: Piece, counts: _Counts, search: Search, progress: Progress) -> None:
    if piece.stop < piece.source.text.length:
        return
    counts.records += len(piece.source.batch)
    counts.bases += len(piece.source.batch.bases)
    progress.update(len(piece.source.batch.bases))
    other = piece.source.text.other_letters > 0 and len(search.index.reference.run_starts) > 0
    if other and not (counts.warned or search.params.only_acgt):
        counts.warned = True
        warn("mems", "letters other than A, C, G and T match nothing, as with MUMmer's -n (give -n to silence this)")


def _pieces(search: Search, queries: tuple[str, ...], options: RunOptions) -> Iterator[Chunk | Piece]:
    """Small records in chunks that the workers parse; long ones parsed here and cut."""
    most = search.piece_positions
    chunk_bytes = max(1 << 12, min(options.batch_size, most // 2))
    for path in queries:
        with InputFile(path) as file:
            for chunk in read_chunks(file, chunk_bytes):
                if len(chunk.data) <= 2 * chunk_bytes:
                    yield chunk
                    continue
                source = search.prepare(chunk)
                length = source.text.length
                for start in range(0, length, most):
                    yield Piece(source, start, min(length, start + most))


class _Writer:
    """Writes matches in order; goes on with paused searches; joins the pieces of a record where all are needed."""

    def __init__(self, search: Search, out: OutputFile) -> None:
        self._search, self._out = search, out
        self._held: list[tuple[Any, Any, Any]] = []

    def write(self, matches: Matches) -> None:
        while True:
            if matches.text is not None:
                self._out.write(matches.text.data)
            else:
                assert matches.columns is not None
                self._held.append(matches.columns)
            piece = matches.piece
            if matches.reached >= piece.stop:
                break
            matches = self._search.match(Piece(piece.source, matches.reached, piece.stop))
        if self._held and piece.stop == piece.source.text.length:
            columns = tuple(np.concatenate(parts) for parts in zip(*self._held, strict=True))
            self._held.clear()
            whole = Piece(piece.source, 0, piece.stop)
            text, _ = self._search.report(whole, (columns[0], columns[1], columns[2]), False, 0)
            self._out.write(text.data)
