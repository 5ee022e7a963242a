"""`mems` on processors: workers parse, search and format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from gpualign.engine.stage import Stage
from gpualign.io.fastx import Chunk
from gpualign.mems.base_run import Run
from gpualign.mems.queries import Batch, QueryText, bases_of
from gpualign.mems.search import Columns, Matches, Piece, Printed, join_columns
from gpualign.params import RunOptions
from gpualign.sequences.batch import SequenceBatch

#: bytes of text that a piece should give, about, and its positions at most
_PIECE_BYTES, _PIECE_POSITIONS = 2 << 20, 1 << 20
_LINE_BYTES = 30
#: repeats may give so many bytes of text a position, before more is known
_FIRST_DENSITY = 200


class ProcessorsRun(Run):
    """Pieces of text of about one size; a search that pauses goes on when its text has been handed on."""

    @staticmethod
    def batch_bases(options: RunOptions) -> int:
        return max(1 << 12, min(options.batch_size, _PIECE_POSITIONS // 2))

    @cached_property
    def _density(self) -> float:
        """Bytes of text that a position gives: at first a careful guess, then as seen of late."""
        return self.search.matches_by_chance * _LINE_BYTES + _FIRST_DENSITY

    def observe(self, positions: int, written: int) -> None:
        self._density = (self._density + written / max(positions, 1)) / 2

    @property
    def most_positions(self) -> int:
        return int(min(max(_PIECE_BYTES / (self._density + 1), 1 << 12), _PIECE_POSITIONS))

    def printed(self, batches: Iterable[Batch]) -> Iterator[Printed]:
        stage: Stage[Any, Matches] = Stage(cpu=self._work, make_kernel=self.make_kernel)
        held: list[Columns] = []
        for matches in self.backend.run(self.items(batches), stage):
            written = 0
            for printed in self._whole(matches, held):
                written += len(printed.text)
                self.counts.draw(printed.dots, self.counts.bases)
                yield printed
            self.observe(matches.piece.stop - matches.piece.start, written)
            self.counts.finished(matches.piece)

    def items(self, batches: Iterable[Batch]) -> Iterator[Chunk | SequenceBatch | Piece]:
        """Batches for the workers to parse; those that are long, or give much text, cut."""
        for batch in batches:
            if not isinstance(batch, QueryText):
                if bases_of(batch) <= self.most_positions:
                    yield batch
                    continue
                batch = self.search.prepare(batch)
            yield from self.pieces(batch)

    def _work(self, item: Chunk | SequenceBatch | Piece) -> Matches:
        if not isinstance(item, Piece):
            source = self.search.prepare(item)
            item = Piece(source, 0, source.text.length)
        return self.search.match(item)

    def _whole(self, matches: Matches, held: list[Columns]) -> Iterator[Printed]:
        """The text of a piece; a paused search goes on, and matches that are kept wait for their batch's last piece."""
        piece = matches.piece
        while True:
            if matches.printed is not None:
                yield matches.printed
            elif matches.columns is not None:
                held.append(matches.columns)
            if matches.reached >= piece.stop:
                break
            matches = self.search.match(Piece(piece.source, matches.reached, piece.stop))
        yield from self.of_kept(piece, held)

    def of_kept(self, piece: Piece, held: list[Columns]) -> Iterator[Printed]:
        """The text of matches that waited for their batch's last piece, where this is it."""
        if held and piece.stop == piece.source.text.length:
            yield self.search.report(Piece(piece.source, 0, piece.stop), join_columns(held))
            held.clear()
