"""The stage of `mems`: items for threads and a cluster's workers, and their results."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from gpualign.engine.stage import Run, Stage
from gpualign.io.fastx import Chunk
from gpualign.mems.cpu import Columns, Matches, Piece, Printed, Search, join_columns
from gpualign.mems.device_unique import kernel_for
from gpualign.mems.queries import BatchSize
from gpualign.sequences.batch import SequenceBatch

#: item of a thread or a worker
Item = Chunk | SequenceBatch | Piece


class Found(NamedTuple):
    """All that a worker finds in an item.

    Attributes:
        parts: text in order; or, of a part of a query in which matches must be unique, the matches.
        size: of the item's batch.
    """

    parts: list[Printed | Columns]
    size: BatchSize


def piece_of(search: Search, item: Item, deferred: bool = False) -> Piece:
    """An item as a piece of queries; batches are parsed and packed."""
    if isinstance(item, Piece):
        return item
    source = search.prepare(item, deferred)
    return Piece(source, 0, source.text.length)


def match_item(search: Search, item: Item) -> Matches:
    """On the CPU; large results pause (:meth:`Search.match`)."""
    return search.match(piece_of(search, item))


def worker_stage(search: Search) -> Stage[Item, Found]:
    """Items on a cluster's workers; those with devices parse and print meanwhile."""

    def on_device(item: Item, run: Run) -> Found:
        piece = piece_of(search, item, deferred=True)
        return _print_all(search, piece, run(lambda _: piece))

    make_kernel = partial(kernel_for, search=search, printing=search.printed_on_device)
    return Stage(partial(_match_all, search), make_kernel, on_device)


def _match_all(search: Search, item: Item) -> Found:
    """On the CPU; a search that pauses goes on at once."""
    piece = piece_of(search, item)
    parts = [part.printed or part.columns for part in search.all_of(search.match(piece), search.match)]
    return Found([part for part in parts if part is not None], piece.source.size)


def _print_all(search: Search, piece: Piece, matches: Matches) -> Found:
    """The matches that a device found, as :func:`_match_all` returns them."""
    if matches.printed is not None:
        return Found([matches.printed], piece.source.size)
    parts = search.all_of(matches, search.find)
    columns = join_columns([part.columns for part in parts if part.columns is not None])
    unique = search.unique_in_query
    columns = search.reduced(piece, columns, search.max_occurrences_left, unique and piece.whole)
    return Found([columns if unique and not piece.whole else search.report(piece, columns)], piece.source.size)
