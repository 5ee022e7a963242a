"""`mems` on a cluster: a worker takes a chunk of queries to text; of long queries, pieces."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from gpualign.engine.stage import HostedStage
from gpualign.io.fastx import Chunk
from gpualign.mems.cpu_run import ProcessorsRun
from gpualign.mems.device_unique import kernel_for
from gpualign.mems.queries import Batch
from gpualign.mems.search import Columns, Matches, Piece, Printed, Search, join_columns
from gpualign.sequences.batch import SequenceBatch

#: what a worker takes
Item = Chunk | SequenceBatch | Piece


class Found(NamedTuple):
    """All of an item's matches.

    Attributes:
        printed: as they go to the output; or, of a part of a query in which matches must be unique,
        columns: the matches.
        records, bases: of an item that is a batch of queries.
        other_letters: it has letters other than A, C, G and T.
    """

    printed: list[Printed]
    columns: list[Columns]
    records: int
    bases: int
    other_letters: bool


def search_item(search: Search, item: Item) -> Found:
    """On the CPU; a search that pauses goes on at once."""
    piece = _piece(search, item)
    found = []
    start = piece.start
    while True:
        found.append(search.match(Piece(piece.source, start, piece.stop)))
        start = found[-1].reached
        if start >= piece.stop:
            return _found(piece, found)


def stage_of(search: Search) -> HostedStage[Item, Found]:
    """The search of items on workers; those with devices parse and write beside them."""

    def before(item: Item) -> tuple[Piece, Piece]:
        piece = _piece(search, item)
        return piece, piece

    return HostedStage(
        cpu=partial(search_item, search),
        make_kernel=partial(kernel_for, search=search),
        before=before,
        cpu_kernel=search.find,
        after=partial(_report, search),
    )


def _piece(search: Search, item: Item) -> Piece:
    if isinstance(item, Piece):
        return item
    source = search.prepare(item)
    return Piece(source, 0, source.text.length)


def _report(search: Search, piece: Piece, matches: Matches) -> Found:
    """What a device found, as :func:`search_item` would give it."""
    if search.most_of_devices and not piece.whole:
        # whether a match is rare is for the CPU to say of a part, which needs what lies before it
        return search_item(search, piece)
    parts = [matches]
    while parts[-1].reached < piece.stop:
        parts.append(search.find(Piece(piece.source, parts[-1].reached, piece.stop)))
    columns = join_columns([part.columns for part in parts if part.columns is not None])
    if search.unique_in_query and not piece.whole:
        return _found(piece, [Matches(piece, piece.stop, columns=columns)])
    printed = search.report(piece, columns, search.most_of_devices)
    return _found(piece, [Matches(piece, piece.stop, printed=printed)])


def _found(piece: Piece, parts: list[Matches]) -> Found:
    source = piece.source
    return Found(
        [part.printed for part in parts if part.printed is not None],
        [part.columns for part in parts if part.columns is not None],
        source.records,
        source.bases,
        bool(source.text.other_letters),
    )


class ClusterRun(ProcessorsRun):
    """Workers of a cluster parse, search and format."""

    def printed(self, batches: Iterable[Batch]) -> Iterator[Printed]:
        under_way: deque[Item] = deque()
        held: list[Columns] = []

        def items() -> Iterator[Item]:
            for item in self.items(batches):
                under_way.append(item)
                yield item

        for found in self.backend.run(items(), stage_of(self.search)):
            item = under_way.popleft()
            written = 0
            for printed in self._whole_item(item, found, held):
                written += len(printed.text)
                yield printed
            positions = item.stop - item.start if isinstance(item, Piece) else found.bases
            self.observe(positions, written)
            if isinstance(item, Piece):
                self.counts.finished(item)
            else:
                self.counts.add(found.records, found.bases, found.other_letters)

    def _whole_item(self, item: Item, found: Found, held: list[Columns]) -> Iterator[Printed]:
        """An item's output; ``held`` keeps the matches of a long query's parts until its last."""
        yield from found.printed
        held += found.columns
        if isinstance(item, Piece):
            yield from self.of_kept(item, held)
