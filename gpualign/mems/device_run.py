"""`mems` on devices: workers parse and pack, devices search, workers format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.stage import Backend, Stage
from gpualign.index.sorted_positions import SortedPositions
from gpualign.mems.base_run import Counts, Run
from gpualign.mems.queries import Batch, QueryText, pack_batch
from gpualign.mems.search import NO_ENDS, Columns, Matches, Piece, Printed, Search, join_columns
from gpualign.params import RunOptions
from gpualign.streaming.ordered import run_ordered

#: matches that a piece should give, about, and its positions, a multiple of the step; fewer until more is known of them
_DEVICE_MATCHES, _DEVICE_POSITIONS, _FIRST_POSITIONS, _DEVICE_STEP = 1 << 21, 1 << 24, 1 << 18, 1 << 12
#: a piece whose starts each have room for a match
_MATCHED_POSITIONS = 1 << 22
#: repeats may give so many matches a position, before more is known
_FIRST_MATCHES = 2
#: a device wants batches this much larger
_DEVICE_BATCH = 2
#: matches formatted at a time: workers that begin and end small parts wait for the interpreter's lock
_REPORTED = 1 << 17


class _Report(NamedTuple):
    """What :meth:`Search.report` takes, and the bases of the queries before the batch."""

    piece: Piece
    columns: Columns
    most: int
    ends: NDArray[np.uint64]
    bases_before: int


class DevicesRun(Run):
    """Pieces of about so many matches for the devices; their results are cut so that all workers have some to print."""

    def __init__(self, search: Search, backend: Backend, options: RunOptions, counts: Counts) -> None:
        super().__init__(search, backend, options, counts)
        # matches that a position gives: at first a careful guess, then as seen of late
        self._density = self.search.matches_by_chance + _FIRST_MATCHES
        self._limit = _FIRST_POSITIONS

    @staticmethod
    def batch_bases(options: RunOptions) -> int:
        return options.batch_size * _DEVICE_BATCH

    @property
    def most_positions(self) -> int:
        """Whole tiles of any size."""
        by_matches = int(_DEVICE_MATCHES / (self._density + 0.01)) & -_DEVICE_STEP
        return min(max(by_matches, _DEVICE_STEP), self._limit)

    def printed(self, batches: Iterable[Batch]) -> Iterator[Printed]:
        stage = Stage(cpu=self.search.find, make_kernel=self.make_kernel)
        found = self.backend.run(self._items(batches), stage)
        for printed, bases_before in run_ordered(self._reports(found), self._print, self.options.threads):
            self.counts.draw(printed.dots, bases_before)
            yield printed

    def _print(self, item: _Report) -> tuple[Printed, int]:
        return self.search.report(item.piece, item.columns, item.most, item.ends), item.bases_before

    def _items(self, batches: Iterable[Batch]) -> Iterator[Piece]:
        for source in run_ordered(batches, self._packed, self.options.threads):
            yield from self.pieces(source)

    def _packed(self, batch: Batch) -> QueryText:
        return pack_batch(batch, self.search.strands)

    def _reports(self, results: Iterator[Matches]) -> Iterator[_Report]:
        """What is to be formatted, in order, cut so that all workers have some."""
        most, ends = self.search.most_of_devices, NO_ENDS
        sorted_positions = isinstance(self.search.index, SortedPositions)
        held: list[Columns] = []
        for matches in results:
            piece = matches.piece
            assert matches.columns is not None
            density = len(matches.columns.starts) / max(matches.reached - piece.start, 1)
            self._density = (self._density + density) / 2
            self._limit = _MATCHED_POSITIONS if sorted_positions else _DEVICE_POSITIONS
            if piece.start == 0:
                ends = NO_ENDS
            for part, columns in self._parts(matches):
                if self.search.unique_in_query:
                    if most:
                        *rare, ends = _native.keep_rare(*columns, most, ends)
                        columns = Columns(*rare)
                    held.append(columns)
                else:
                    yield _Report(part, columns, most, ends, self.counts.bases)
                    if most:
                        ends = _native.largest_ends(columns.starts, columns.lengths, most, ends)
            if self.search.unique_in_query and piece.stop == piece.source.text.length:
                for part, columns in self._unique_in_query(piece.source, join_columns(held)):
                    yield _Report(part, columns, 0, NO_ENDS, self.counts.bases)
                held.clear()
            self.counts.finished(piece)

    def _unique_in_query(self, source: QueryText, columns: Columns) -> Iterator[tuple[Piece, Columns]]:
        """A batch's matches in parts, which are reduced to the unique ones as they are printed; of a record that is a
        batch by itself that is done before, by all threads.
        """
        whole = Piece(source, 0, source.text.length)
        if source.records > 1:
            return iter([(whole, columns)])
        return self._parts(Matches(whole, whole.stop, columns=self.search.keep_unique(source, columns)))

    def _parts(self, matches: Matches) -> Iterator[tuple[Piece, Columns]]:
        """A piece's matches in parts; where a device held too many the CPU finds the rest, a little at a time."""
        piece, start = matches.piece, matches.piece.start
        while True:
            assert matches.columns is not None
            columns = matches.columns
            begin = 0
            for end, stop in _cuts(columns.starts):
                yield Piece(piece.source, start, stop), columns.part(begin, end)
                begin, start = end, stop
            if start < matches.reached:
                yield Piece(piece.source, start, matches.reached), columns.part(0, 0)
                start = matches.reached
            if matches.reached >= piece.stop:
                return
            matches = self.search.find(Piece(piece.source, matches.reached, piece.stop))


def _cuts(starts: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    """Where parts of the matches end, and behind which start: a start's matches stay together."""
    last = np.append(starts[_REPORTED - 1 : -1 : _REPORTED], starts[-1:])
    ends = np.unique(np.searchsorted(starts, last, "right"))
    return zip(ends.tolist(), (starts[ends - 1].astype(np.int64) + 1).tolist(), strict=True)
