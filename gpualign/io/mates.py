"""Read pairs as batches whose neighbours are the two ends: from two files, or from one with the ends in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpualign import _native
from gpualign.errors import InputError, check_count, counted, shown_input
from gpualign.io.fastx import Chunk
from gpualign.io.reads import ReadSource, to_batch
from gpualign.sequences import SequenceBatch, join_batches
from gpualign.stream.runner import run_ordered


@dataclass(frozen=True)
class PairedParts:
    """As many records of each of two files, still to be joined: whoever maps them does that, not the one reader.

    Attributes:
        first, second: hold them.
        starts: the number of the first of them in each.
        pairs: how many they are.
        check_names: the two ends of a pair must have one name (but for /1 and /2).
        paths: of the files, for messages.
    """

    first: SequenceBatch
    second: SequenceBatch
    starts: tuple[int, int]
    pairs: int
    check_names: bool
    paths: tuple[str, str]

    def joined(self) -> SequenceBatch:
        """The two ends of each pair as neighbours.

        Raises:
            InputError: names differ.
        """
        ends = (self.first.native, self.second.native)
        try:
            joined = SequenceBatch(*_native.join_pairs(*ends, *self.starts, self.pairs, self.check_names))
        except ValueError as error:
            raise InputError(str(error), " and ".join(shown_input(path) for path in self.paths)) from None
        check_count("ends of pairs", 2 * self.pairs, len(joined))
        return joined

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process goes what is joined alone."""
        first, second = (
            batch.part(start, start + self.pairs)
            for batch, start in zip((self.first, self.second), self.starts, strict=True)
        )
        return PairedParts, (first, second, (0, 0), self.pairs, self.check_names, self.paths)


def to_reads(item: Chunk | PairedParts | SequenceBatch) -> SequenceBatch:
    """Parse a chunk, join two parts; a batch stays as it is."""
    return item.joined() if isinstance(item, PairedParts) else to_batch(item)


def paired_parts(
    first: ReadSource, second: ReadSource, batch_bases: int, check_names: bool = True, threads: int = 1
) -> Iterator[PairedParts]:
    """Record i of one file with record i of the other; both files are parsed by ``threads`` threads.

    Raises:
        InputError: the files differ in their number of records.
    """
    paths = (first.path, second.path)
    batches = [run_ordered(source.items(max(1, batch_bases // 2)), to_batch, threads) for source in (first, second)]
    held: list[SequenceBatch | None] = [None, None]
    used = [0, 0]  # of what is held
    pairs = 0
    while True:
        for side in (0, 1):
            while (batch := held[side]) is None or len(batch) == used[side]:
                held[side], used[side] = next(batches[side], None), 0
                if held[side] is None:
                    break
        a, b = held
        if a is None or b is None:
            break
        count = min(len(a) - used[0], len(b) - used[1])
        yield PairedParts(a, b, (used[0], used[1]), count, check_names, paths)
        used = [start + count for start in used]
        pairs += count
    if held[0] is not None or held[1] is not None:
        counts = [pairs + len(held[side] or ()) - used[side] + sum(map(len, batches[side])) for side in (0, 1)]
        raise InputError(
            f"the files of a pair differ in length: {counted(counts[0], 'read')} here, "
            f"{counts[1]:,} in {shown_input(second.path)}",
            first.path,
        )


def interleaved_batches(source: ReadSource, batch_bases: int, threads: int = 1) -> Iterator[SequenceBatch]:
    """Neighbours of one name (but for /1 and /2) are pairs, all others single reads.

    A batch's last record is kept back for the next one: its mate may come first there.
    """
    rest: SequenceBatch | None = None
    for batch in run_ordered(source.items(batch_bases), to_batch, threads):
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
