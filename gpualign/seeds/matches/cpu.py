"""`mems` on the CPU: pieces of queries, their matches, and the matches as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.run.abi import filled
from gpualign.seeds.matches.index import MemsIndex
from gpualign.seeds.matches.params import MemsParams
from gpualign.seeds.matches.queries import Batch, QueryText, pack_batch
from gpualign.seeds.matches.suffix_array import SuffixArray
from gpualign.sequences.offsets import offsets_of
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS

#: matches after which a piece's search pauses until they are taken
_PAUSE_MATCHES = 1 << 18


class MemColumns(NamedTuple):
    """Matches, uint32 each, in order of start and reference position.

    Attributes:
        starts: positions in the query text.
        references: positions in the concatenated reference.
        lengths: bases.
    """

    starts: NDArray[np.uint32]
    references: NDArray[np.uint32]
    lengths: NDArray[np.uint32]

    def part(self, begin: int, end: int) -> MemColumns:
        return MemColumns(self.starts[begin:end], self.references[begin:end], self.lengths[begin:end])


class Dots(NamedTuple):
    """Matches for a picture.

    Attributes:
        queries: int64, the left end on the query's forward strand, in a batch's records laid end to end.
        references: uint32, positions in the concatenated reference.
        lengths: uint32, bases.
        reverse: bool, where the query's reverse strand matches.
    """

    queries: NDArray[np.int64]
    references: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    reverse: NDArray[np.bool_]


class Printed(NamedTuple):
    """Text as it goes to the output.

    Attributes:
        text: uint8, whole lines.
        headers: lines in it that begin a strand of a record.
        dots: its matches, where a picture is wanted.
    """

    text: NDArray[np.uint8]
    headers: int
    dots: Dots | None


def join_columns(parts: list[MemColumns]) -> MemColumns:
    """Parts one after the other."""
    if not parts:
        return MemColumns(*(np.empty(0, np.uint32) for _ in range(3)))
    return MemColumns(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def sort_columns(columns: MemColumns) -> None:
    """Sort matches in place."""
    _native.sort_mems(columns, np.array([0, len(columns.starts)], np.int64))


def sort_tiles(columns: MemColumns, offsets: NDArray[np.int64], threads: int) -> None:
    """Sort the matches of each tile in place, on ``threads`` threads; tile i begins at ``offsets[i]``."""
    shares = np.linspace(0, offsets[-1], 4 * threads + 1)
    edges = np.unique(np.searchsorted(offsets, shares)).tolist()
    parts = [offsets[first : last + 1] for first, last in pairwise(edges)]
    for _ in run_ordered(parts, lambda bounds: _native.sort_mems(columns, bounds), threads):
        pass


@dataclass(frozen=True, eq=False)
class Piece:
    """Text positions [start, stop) of a batch: a unit of work. It yields the matches that start there."""

    source: QueryText
    start: int
    stop: int

    @property
    def last(self) -> bool:
        """The text's batch."""
        return bool(self.stop == self.source.text.length)

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.last

    def rest(self, start: int) -> Piece:
        return Piece(self.source, start, self.stop)


class Matches(NamedTuple):
    """Matches of a piece up to where its search paused.

    Attributes:
        piece: the piece.
        reached: the first position that was not searched; ``piece.stop`` at the end.
        printed: as they go to the output; or None, and
        columns: the matches.
    """

    piece: Piece
    reached: int
    printed: Printed | None = None
    columns: MemColumns | None = None


class Search:
    """An index and what is looked for in it; every method may run in any thread."""

    #: matches of a piece that a device's result holds; the CPU goes on from there
    max_matches = 1 << 26
    #: matches that a device writes at a time
    slice_matches = 1 << 23

    def __init__(self, index: MemsIndex, params: MemsParams, threads: int = 1) -> None:
        self.index, self.params, self.threads = index, params, threads
        self.max_occurrences = params.max_occurrences
        # matches that come from a device are still to be reduced to those that occur so often; 0: they are not
        self.max_occurrences_left = 0 if isinstance(index, SuffixArray) else self.max_occurrences
        self.unique_in_query = params.kind == "mum"
        self.strands = params.strand_bits
        self.blocks_a_record = 2 if params.strands == "both" else 1  # of output, each under a header
        self.style = filled(
            "MemStyle",
            four_columns=params.four_columns or len(index.reference.names) > 1,
            lengths=params.lengths,
            strings=params.strings,
            forward_coordinates=params.forward_coordinates,
            table=params.table,
        )
        # a device prints what it finds where that is all there is to do
        self.printed_on_device = not (
            self.unique_in_query or self.max_occurrences_left or params.dotplot is not None or params.strings
        )
        self.native = self.native_of(index)

    def __reduce__(self) -> tuple[Any, ...]:
        return Search, (self.index, self.params, self.threads)

    @staticmethod
    def native_of(index: MemsIndex) -> _native.MemIndex:
        """The native view of an index."""
        if isinstance(index, SuffixArray):
            return _native.MemIndex(
                index.reference.native, index.offsets, index.positions, index.k, index.reference.shown_names
            )
        return _native.MemIndex(*index.native, index.reference.shown_names)

    def prepare(self, batch: Batch, deferred: bool = False) -> QueryText:
        """Pack a batch that is read from a file, like :func:`pack_batch`."""
        return pack_batch(batch, self.strands, deferred)

    @STEPS.at("compute")
    def find(self, piece: Piece, maximum: int = 0, limit: int = _PAUSE_MATCHES) -> Matches:
        """Search a piece on the CPU; it pauses when its result grows large. ``maximum``: only for matches whose string
        occurs at most so often in the reference; with a suffix array always only unique ones.
        """
        columns, reached = _native.find_mems(
            self.native,
            piece.source.text,
            piece.start,
            piece.stop,
            min_length=self.params.min_length,
            maximum=maximum,
            limit=limit,
        )
        return Matches(piece, reached, columns=MemColumns(*columns))

    @STEPS.at("format")
    def report(self, piece: Piece, columns: MemColumns) -> Printed:
        """The text of the matches that start in a piece."""
        source = piece.source
        names, style = (source.names, source.name_offsets), self.style.tobytes()
        text, headers = _native.report_mems(self.native, style, source.text, names, piece.start, piece.stop, columns)
        if self.params.dotplot is None:
            return Printed(text, headers, None)
        record, reverse, left = self.located(source, columns)
        before = offsets_of(source.text.lengths())[record]
        return Printed(text, headers, Dots(before + left, columns.references, columns.lengths, reverse))

    def located(
        self, source: QueryText, columns: MemColumns
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
        """(n,): the record of each match, whether its reverse strand matches, and the left end on the forward one."""
        strands = self.blocks_a_record
        sizes = np.repeat(source.text.lengths().astype(np.int64), strands)  # of strand sequences, each after a break
        begins = np.cumsum(sizes + 1) - sizes
        starts, lengths = columns.starts.astype(np.int64), columns.lengths.astype(np.int64)
        block = np.searchsorted(begins, starts, "right") - 1
        reverse = block % 2 == 1 if strands == 2 else np.full(len(block), self.params.strands == "reverse")
        left = starts - begins[block]
        return block // strands, reverse, np.where(reverse, sizes[block] - left - lengths, left)

    @cached_property
    def matches_by_chance(self) -> float:
        """Matches a text position gives where the sequences have nothing in common."""
        chance = float(self.index.reference.bases * 0.25**self.params.min_length)
        return min(chance, 1.0) if isinstance(self.index, SuffixArray) else chance

    @staticmethod
    def all_of(matches: Matches, search: Callable[[Piece], Matches]) -> Iterator[Matches]:
        """A piece's matches part by part: ``search`` goes on where it paused."""
        yield matches
        while matches.reached < matches.piece.stop:
            matches = search(matches.piece.rest(matches.reached))
            yield matches

    def reduced(self, piece: Piece, columns: MemColumns, maximum: int, unique: bool) -> MemColumns:
        """All matches that start in a piece but those whose string occurs more often than ``maximum`` in the reference
        (0: none); ``unique``: only those that are unique in the query, whose matches these are.
        """
        if maximum:
            columns = self.keep_rare(piece, columns, maximum)
        return self.keep_unique(piece.source, columns) if unique else columns

    def keep_rare(self, piece: Piece, columns: MemColumns, maximum: int) -> MemColumns:
        """Filter all matches that start in a piece by the number of occurrences of their string."""
        return MemColumns(
            *_native.keep_rare(
                self.native,
                piece.source.text,
                piece.start,
                min_length=self.params.min_length,
                columns=columns,
                maximum=maximum,
            )
        )

    def keep_unique(self, source: QueryText, columns: MemColumns, threads: int = 1) -> MemColumns:
        """Filter matches that are unique in the reference to those that are unique in their strand of their record."""
        return MemColumns(*_native.keep_unique(source.text, columns, threads=threads))
