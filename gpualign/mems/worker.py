"""The stage of `mems`: items for threads and a cluster's workers, and their results."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from gpualign.run.stage import Run, Stage
from gpualign.seeds.matches.cpu import Matches, MemColumns, Piece, Printed, Search, join_columns
from gpualign.seeds.matches.device_unique import kernel_for
from gpualign.seeds.matches.queries import BatchSize
from gpualign.sequences.batch import SequenceBatch
from gpualign.text.fastx import Chunk

#: item of a thread or a worker
Item = Chunk | SequenceBatch | Piece


class FoundMatches(NamedTuple):
    """All that a worker finds in an item.

    Attributes:
        part: as text; or, of a part of a query in which matches must be unique, the matches.
        size: of the item's batch.
    """

    part: Printed | MemColumns
    size: BatchSize


def piece_of(search: Search, item: Item, deferred: bool = False) -> Piece:
    """An item as a piece of queries; batches are parsed and packed."""
    if isinstance(item, Piece):
        return item
    source = search.prepare(item, deferred)
    return Piece(source, 0, source.text.length)


def worker_stage(search: Search) -> Stage[Item, FoundMatches]:
    """Items on a cluster's workers; those with devices parse and print meanwhile."""
    find = partial(search.find, maximum=search.max_occurrences)

    def on_cpu(item: Item) -> FoundMatches:
        piece = piece_of(search, item)
        return _found(search, piece, search.all_of(find(piece), find), 0)

    def on_device(item: Item, run: Run) -> FoundMatches:
        piece = piece_of(search, item, deferred=True)
        matches = run(lambda _: piece)
        if matches.printed is not None:
            return FoundMatches(matches.printed, piece.source.size)
        return _found(search, piece, search.all_of(matches, search.find), search.max_occurrences_left)

    return Stage(on_cpu, partial(kernel_for, search=search, printing=search.printed_on_device), on_device)


def _found(search: Search, piece: Piece, parts: Iterator[Matches], maximum: int) -> FoundMatches:
    """``maximum``: as :meth:`Search.reduced` takes it."""
    columns = join_columns([part.columns for part in parts if part.columns is not None])
    unique = search.unique_in_query
    columns = search.reduced(piece, columns, maximum, unique and piece.whole)
    return FoundMatches(columns if unique and not piece.whole else search.report(piece, columns), piece.source.size)
