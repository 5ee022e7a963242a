"""Read pairs as batches whose neighbours are mates: from two files, or from one with the mates in turn."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.errors import InputError, check_count, counted, shown_input
from gpualign.io.bam_reads import BamChunk
from gpualign.io.fastq_text import FastqText, head_of, to_text
from gpualign.io.fastx import Chunk
from gpualign.io.mate_names import (
    Beginning,
    NamePair,
    files_have_dots,
    first_ends_first,
    first_names,
    names_of,
    neighbours_have_dots,
    warn_of_order,
)
from gpualign.io.packed_text import PackedText
from gpualign.io.reads import ReadSource, to_batch
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.streaming.clock import STEPS
from gpualign.streaming.ordered import run_ordered

#: SAM's flag
_PAIRED = 0x1
#: pairs of the first item that is not parsed: those whose insert sizes are looked at
_FIRST_PAIRS = 5_000
#: how far one of two pipes may be read before the other, in batches: R1 and R2 differ in length
_AHEAD = 4


@dataclass(frozen=True)
class PairedParts:
    """As many records of each of two files, still to be joined: whoever maps them does that, not the one reader.

    Attributes:
        first, second: hold them; chunks are still to be parsed, too.
        starts: the number of the first of them in each.
        pairs: how many they are.
        check_names: the two mates of a pair must have one name (but for /1 and /2).
        paths: of the files, for messages.
        all_dots: all names end in .1 or .2, which are mates' numbers.
    """

    first: SequenceBatch | Chunk
    second: SequenceBatch | Chunk
    starts: tuple[int, int]
    pairs: int
    check_names: bool
    paths: tuple[str, str]
    all_dots: bool = False

    def joined(self) -> SequenceBatch:
        """The two mates of each pair as neighbours.

        Raises:
            InputError: a record is malformed, or names differ.
        """
        first, second = to_batch(self.first), to_batch(self.second)
        try:
            ends = (first.native, second.native)
            arrays = _native.join_pairs(*ends, *self.starts, self.pairs, self.check_names, self.all_dots)
        except ValueError as error:
            raise InputError(str(error), " and ".join(shown_input(path) for path in self.paths)) from None
        joined = SequenceBatch(*arrays)
        check_count("reads of pairs", 2 * self.pairs, len(joined))
        sides = zip((first.flags, second.flags), self.starts, strict=True)
        flags = [flags[start : start + self.pairs] for flags, start in sides if flags is not None]
        return replace(joined, flags=np.stack(flags, axis=1).reshape(-1)) if len(flags) == 2 else joined

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process goes what is joined alone."""
        first, second = (
            reads if isinstance(reads, Chunk) else reads.part(start, start + self.pairs)
            for reads, start in zip((self.first, self.second), self.starts, strict=True)
        )
        return PairedParts, (first, second, (0, 0), self.pairs, self.check_names, self.paths, self.all_dots)

    def names(self, count: int) -> list[NamePair]:
        """Those of the first pairs."""
        ends = (self.first, self.second)
        batches = (to_batch(end) if isinstance(end, Chunk) else end for end in ends)
        first, second = (names_of(batch, start, count) for batch, start in zip(batches, self.starts, strict=True))
        return list(zip(first, second, strict=False))


@dataclass(frozen=True)
class UnparsedReads:
    """Reads as text, of one file or the mates of pairs in two, for devices that parse and join them.

    Attributes:
        texts: one or two.
        starts: the number of the first record in each.
        count: how many they are in each.
        check_names, paths, all_dots: as for :class:`PairedParts`.
    """

    texts: tuple[FastqText, ...]
    starts: tuple[int, ...]
    count: int
    check_names: bool = True
    paths: tuple[str, ...] = ()
    all_dots: bool = False

    def __len__(self) -> int:
        return len(self.texts) * self.count

    @property
    def paired(self) -> bool:
        return len(self.texts) == 2

    def parsed(self) -> SequenceBatch:
        """Parsed and joined here.

        Raises:
            InputError: a record is malformed, or names differ.
        """
        return self._parsed(self.count).joined() if self.paired else self.texts[0].parsed(self.starts[0], self.count)

    def _parsed(self, count: int) -> PairedParts:
        """The first pairs, parsed here."""
        first, second = (text.parsed(start, count) for text, start in zip(self.texts, self.starts, strict=True))
        paths = (self.paths[0], self.paths[1])
        return PairedParts(first, second, (0, 0), count, self.check_names, paths, self.all_dots)

    def names(self, count: int) -> list[NamePair]:
        """Those of the first pairs."""
        return self._parsed(min(count, self.count)).names(count)


LaneItem = Chunk | BamChunk | PairedParts | UnparsedReads | SequenceBatch


@dataclass(frozen=True)
class LaneReads:
    """Reads of a lane that has a read group of its own.

    Attributes:
        read_group: its ID.
    """

    reads: LaneItem
    read_group: str


Reads = LaneItem | LaneReads


def to_reads(item: Reads) -> SequenceBatch:
    """Parse a chunk, join two parts; a batch stays as it is."""
    if isinstance(item, LaneReads):
        item = item.reads
    if isinstance(item, Chunk) and item.paired:
        return _pair(to_batch(item), item.path, item.all_dots)
    if isinstance(item, UnparsedReads):
        return item.parsed()
    return item.joined() if isinstance(item, PairedParts) else to_batch(item)


def to_device_text(item: Reads) -> Reads:
    """Chunks that came as they are stored as text for a device here, where that can parse it."""
    if isinstance(item, LaneReads):
        return replace(item, reads=_device_text(item.reads))
    return _device_text(item)


def _device_text(item: LaneItem) -> LaneItem:
    chunks = (item.first, item.second) if isinstance(item, PairedParts) else (item,)
    found = tuple(_inflated_text(chunk) for chunk in chunks if isinstance(chunk, Chunk) and not chunk.paired)
    texts = tuple(text for text in found if text is not None)
    if len(texts) < len(chunks):
        return item
    if isinstance(item, PairedParts):
        return UnparsedReads(texts, item.starts, item.pairs, item.check_names, item.paths, item.all_dots)
    return UnparsedReads(texts, (0,), len(texts[0]))


@STEPS.at("parse")
def _inflated_text(chunk: Chunk) -> FastqText | None:
    if isinstance(chunk.data, PackedText):
        chunk = replace(chunk, data=replace(chunk.data, content=chunk.text()))
    return FastqText.of(chunk)


def parsed(item: Reads) -> SequenceBatch | LaneReads:
    """The same with its reads as a batch."""
    return replace(item, reads=to_reads(item)) if isinstance(item, LaneReads) else to_reads(item)


def _for_device(item: Chunk | BamChunk | SequenceBatch) -> FastqText | SequenceBatch:
    """Devices know no comments."""
    return to_text(item) if isinstance(item, Chunk) and not item.comments else to_batch(item)


def _to_travel(item: Chunk | BamChunk | SequenceBatch) -> FastqText | SequenceBatch:
    return to_text(item) if isinstance(item, Chunk) else to_batch(item)


def _batch_of(item: FastqText | SequenceBatch) -> SequenceBatch:
    return item.parsed(0, len(item)) if isinstance(item, FastqText) else item


def paired_parts(
    first: ReadSource,
    second: ReadSource,
    batch_bases: int,
    check_names: bool = True,
    threads: int = 1,
    unparsed: bool = False,
    far: bool = False,
) -> Iterator[PairedParts | UnparsedReads]:
    """Record i of one file with record i of the other; both files are parsed by ``threads`` threads.

    Args:
        unparsed: text that devices can parse comes as it is.
        far: and so does text for other machines, as it is stored.

    Raises:
        InputError: the files differ in their number of records.
    """
    work = _to_travel if far else _for_device if unparsed else to_batch
    for source in (first, second):
        source.read_ahead(_AHEAD * batch_bases)
    with contextlib.ExitStack() as stack:  # the threads of both end here, whatever happens
        first_batches, second_batches = (
            stack.enter_context(contextlib.closing(run_ordered(source.reads(max(1, batch_bases // 2)), work, threads)))
            for source in (first, second)
        )
        at_first = _FIRST_PAIRS if unparsed or far else None
        paths = (first.path, second.path)
        pairs = _pairs((first_batches, second_batches), paths, check_names, at_first, far)
        yield from _named_alike(pairs, paths) if check_names else pairs


def _named_alike(
    pairs: Iterator[PairedParts | UnparsedReads], paths: tuple[str, str]
) -> Iterator[PairedParts | UnparsedReads]:
    """The same, which know whether .1 and .2 are mates' numbers."""
    names, pairs = first_names(pairs, lambda item, count: item.names(count))
    all_dots = bool(names) and files_have_dots(names)
    warn_of_order(names[:1], all_dots, " and ".join(map(shown_input, paths)))
    yield from (replace(item, all_dots=True) for item in pairs) if all_dots else pairs


def _pairs(
    batches: tuple[Iterator[FastqText | SequenceBatch], Iterator[FastqText | SequenceBatch]],
    paths: tuple[str, str],
    check_names: bool,
    at_first: int | None,
    far: bool,
) -> Iterator[PairedParts | UnparsedReads]:
    """As many of both as there are; ``at_first``: of the first item, at most."""
    held: list[FastqText | SequenceBatch | None] = [None, None]
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
        if at_first is not None and pairs == 0:
            count = min(count, at_first)
        starts = (used[0], used[1])
        if far and isinstance(a, FastqText) and isinstance(b, FastqText):
            chunks = a.part(starts[0], count), b.part(starts[1], count)
            yield PairedParts(*chunks, (0, 0), count, check_names, paths)
        elif isinstance(a, FastqText) and isinstance(b, FastqText):
            yield UnparsedReads((a, b), starts, count, check_names, paths)
        else:
            parts = _batch_of(a), _batch_of(b)
            held = [*parts]
            yield PairedParts(*parts, starts, count, check_names, paths)
        used = [start + count for start in used]
        pairs += count
    if held[0] is not None or held[1] is not None:
        rests = [
            itertools.chain(() if rest is None else (rest,), more) for rest, more in zip(held, batches, strict=True)
        ]
        counts = [pairs - used[side] + sum(len(_batch_of(part)) for part in rests[side]) for side in (0, 1)]
        raise InputError(
            f"the files of a pair differ in length: {counted(counts[0], 'read')} here, "
            f"{counts[1]:,} in {shown_input(paths[1])}",
            paths[0],
        )


def single_items(source: ReadSource, batch_bases: int) -> Iterator[Chunk | BamChunk | SequenceBatch]:
    """The reads of a file whose first one is not a mate of a pair.

    Raises:
        InputError: a later one is.
    """
    for item in source.reads(batch_bases):
        if isinstance(item, BamChunk):
            yield replace(item, single=True)
            continue
        if isinstance(item, SequenceBatch) and item.flags is not None and (item.flags & _PAIRED).any():
            name = item.name(int(np.argmax(item.flags & _PAIRED)))
            raise InputError(f"'{name}' is one of a pair, and the first read is not (give -p)", source.path)
        yield item


def unparsed_items(source: ReadSource, batch_bases: int, threads: int = 1) -> Iterator[UnparsedReads | SequenceBatch]:
    """The reads of a FASTA or FASTQ file; text that devices can parse comes as it is."""
    for item in run_ordered(source.items(batch_bases), _for_device, threads):
        yield UnparsedReads((item,), (0,), len(item)) if isinstance(item, FastqText) else item


def interleaved_items(
    source: ReadSource, batch_bases: int, threads: int = 1, with_pairs: bool = True
) -> Iterator[Chunk | SequenceBatch]:
    """Neighbours of one name (but for /1 and /2) are pairs, all others single reads. Chunks whose pairs are whole come
    as they are, but for the first ones, at which this looks.

    Args:
        with_pairs: a file without a pair is an error.

    Raises:
        InputError: mates are not neighbours: a record says that it is one of a pair, and its mate is not next to
            it; or the first reads show that the file is not interleaved.
    """
    flagged = source.header is not None  # in SAM, BAM and CRAM each record says what it is
    beginning = Beginning(source.path, source.paired or not with_pairs)
    all_dots, items = False, source.reads(batch_bases)
    if not flagged:
        names, items = first_names(items, _names_at_head)
        all_dots = neighbours_have_dots(names)
        warn_of_order(list(itertools.pairwise(names[:2])), all_dots, shown_input(source.path))
    for item in items:
        if not (isinstance(item, Chunk) and item.paired):
            rest = itertools.chain((item,), items)
            yield from _interleaved_batches(rest, source.path, threads, beginning, all_dots)
            continue
        item = replace(item, all_dots=all_dots)
        if beginning.seen:
            yield item
        else:
            batch = to_reads(item)
            beginning.look_at(batch)
            yield batch
    beginning.ended()


def _names_at_head(item: Chunk | BamChunk | SequenceBatch, count: int) -> list[bytes]:
    """Of the reads that an item begins with, which are parsed for that."""
    return names_of(to_batch(head_of(item) if isinstance(item, Chunk) else item), 0, count)


def _interleaved_batches(
    items: Iterator[Chunk | BamChunk | SequenceBatch], path: str, threads: int, beginning: Beginning, all_dots: bool
) -> Iterator[SequenceBatch]:
    """A batch's last record is kept back for the next one: its mate may come first there."""
    rest: SequenceBatch | None = None
    for batch in run_ordered(items, to_batch, threads):
        whole = batch if rest is None else join_batches([rest, batch])
        paired = _pair(whole, path, all_dots)
        assert paired.mates is not None
        rest = whole.part(len(whole) - 1, len(whole)) if len(whole) and paired.mates[-1] == 0 else None
        ready = paired if rest is None else _pair(whole.part(0, len(whole) - 1), path, all_dots)
        if len(ready):
            beginning.look_at(ready)
            yield first_ends_first(ready, path)
    if rest is not None:
        last = _pair(rest, path, all_dots)
        beginning.look_at(last)
        yield first_ends_first(last, path)


def _pair(batch: SequenceBatch, path: str, all_dots: bool) -> SequenceBatch:
    """Neighbours of one name as pairs; where there are flags, these say which mate a read is."""
    try:
        arrays = _native.pair_neighbours(batch.native, all_dots, batch.flags is None)
    except ValueError as error:
        raise InputError(str(error), path) from None
    return replace(SequenceBatch(*arrays), flags=batch.flags)
