"""Read pairs as batches whose neighbours are the two ends: from two files, or from one with the ends in turn."""

from __future__ import annotations

from collections.abc import Iterator

from gpualign import _native
from gpualign.errors import InputError, check_count, shown_input
from gpualign.io.fastx import Chunk
from gpualign.io.reads import ReadSource, to_batch
from gpualign.sequences import SequenceBatch, join_batches


def paired_batches(
    first: ReadSource, second: ReadSource, batch_bases: int, check_names: bool = True
) -> Iterator[SequenceBatch]:
    """Record i of one file with record i of the other.

    Raises:
        InputError: the files differ in their number of records, or the names of two ends differ.
    """
    sources = (first, second)
    items = [source.items(max(1, batch_bases // 2)) for source in sources]
    batches: list[SequenceBatch | None] = [None, None]
    used = [0, 0]
    pairs = 0
    while True:
        for side in (0, 1):
            while (batch := batches[side]) is None or used[side] == len(batch):
                item = next(items[side], None)
                if item is None:
                    batches[side] = None
                    break
                batches[side], used[side] = to_batch(item), 0
        a, b = batches
        if a is None or b is None:
            break
        count = min(len(a) - used[0], len(b) - used[1])
        yield _join(a, b, used, count, check_names, sources)
        used = [used[0] + count, used[1] + count]
        pairs += count
    if batches[0] is not None or batches[1] is not None:
        counts = [pairs + _rest(items[side], batches[side], used[side]) for side in (0, 1)]
        raise InputError(
            f"the files of a pair differ in length: {counts[0]:,} reads here, "
            f"{counts[1]:,} in {shown_input(second.path)}",
            first.path,
        )


def _join(
    a: SequenceBatch,
    b: SequenceBatch,
    used: list[int],
    count: int,
    check_names: bool,
    sources: tuple[ReadSource, ReadSource],
) -> SequenceBatch:
    try:
        joined = SequenceBatch(*_native.join_pairs(a.native, b.native, used[0], used[1], count, check_names))
    except ValueError as error:
        raise InputError(str(error), " and ".join(shown_input(source.path) for source in sources)) from None
    check_count("ends of pairs", 2 * count, len(joined))
    return joined


def _rest(items: Iterator[Chunk | SequenceBatch], batch: SequenceBatch | None, used: int) -> int:
    """Records not yet taken of one side, by reading it to its end."""
    count = 0 if batch is None else len(batch) - used
    return count + sum(len(to_batch(item)) for item in items)


def interleaved_batches(source: ReadSource, batch_bases: int) -> Iterator[SequenceBatch]:
    """Neighbours of one name (but for /1 and /2) are pairs, all others single reads.

    A batch's last record is kept back for the next one: its mate may come first there.
    """
    rest: SequenceBatch | None = None
    for item in source.items(batch_bases):
        batch = to_batch(item)
        whole = batch if rest is None else join_batches([rest, batch])
        paired = _pair(whole)
        assert paired.mates is not None
        rest = whole.part(len(whole) - 1, len(whole)) if len(whole) and paired.mates[-1] == 0 else None
        ready = paired if rest is None else _pair(whole.part(0, len(whole) - 1))
        if len(ready):
            yield ready
    if rest is not None:
        yield _pair(rest)


def _pair(batch: SequenceBatch) -> SequenceBatch:
    return SequenceBatch(*_native.pair_neighbours(batch.native))
