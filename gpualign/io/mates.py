"""Read pairs as batches whose neighbours are mates: from two files, or from one with the mates in turn."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

from gpualign.errors import InputError, counted, shown_input
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
    pair_neighbours,
    warn_of_order,
)
from gpualign.io.reads import Reads, ReadSource, Records
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.streaming.ordered import run_ordered

#: pairs of the first item that is not parsed: those whose insert sizes are looked at
_FIRST_PAIRS = 5_000
#: how far one of two pipes may be read before the other, in batches: R1 and R2 differ in length
_AHEAD = 4


def paired_parts(
    first: ReadSource,
    second: ReadSource,
    batch_bases: int,
    check_names: bool = True,
    threads: int = 1,
    unparsed: bool = False,
) -> Iterator[Reads]:
    """Record i of one file with record i of the other; both files are parsed by ``threads`` threads.

    Args:
        unparsed: text that devices or other machines can parse comes as it is.

    Raises:
        InputError: the files differ in their number of records.
    """
    for source in (first, second):
        source.read_ahead(_AHEAD * batch_bases)
    with contextlib.ExitStack() as stack:  # the threads of both end here, whatever happens
        sides = tuple(
            stack.enter_context(contextlib.closing(_records(source, max(1, batch_bases // 2), threads, unparsed)))
            for source in (first, second)
        )
        at_first = _FIRST_PAIRS if unparsed else None
        common = Reads((), (first.path, second.path), check_names)
        pairs = _pairs(sides, common, at_first)
        yield from _named_alike(pairs, common.paths) if check_names else pairs


def _records(
    source: ReadSource, batch_bases: int, threads: int, unparsed: bool
) -> Generator[FastqText | SequenceBatch, None, None]:
    """A file's records, which can be cut; text that devices can parse as it is, if it is wanted ``unparsed``."""
    if unparsed and source.header is None:
        return run_ordered(source.chunks(batch_bases), to_text, threads)
    return run_ordered(source.reads(batch_bases), _columns, threads)


def _columns(records: Records) -> SequenceBatch:
    return records.columns()


def _named_alike(pairs: Iterator[Reads], paths: tuple[str, ...]) -> Iterator[Reads]:
    """The same, which know whether .1 and .2 are mates' numbers."""
    names, pairs = first_names(pairs, _names_of_pairs)
    all_dots = bool(names) and files_have_dots(names)
    warn_of_order(names[:1], all_dots, " and ".join(map(shown_input, paths)))
    yield from (replace(item, all_dots=True) for item in pairs) if all_dots else pairs


def _names_of_pairs(pairs: Reads, count: int) -> list[NamePair]:
    """Those of the first pairs."""
    sides: tuple[Any, ...] = pairs.sides  # which :func:`_pairs` has cut
    heads = (side.part(0, min(count, len(side))).columns() for side in sides)
    return list(zip(*(names_of(head, 0, count) for head in heads), strict=True))


def _pairs(
    batches: tuple[Iterator[FastqText | SequenceBatch], ...], common: Reads, at_first: int | None
) -> Iterator[Reads]:
    """As many of both as there are; ``at_first``: of the first item, at most.

    Args:
        common: what all pairs have in common.
    """
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
        sides = tuple(side.part(start, start + count) for side, start in zip((a, b), used, strict=True))
        yield replace(common, sides=sides)
        used = [start + count for start in used]
        pairs += count
    if held[0] is not None or held[1] is not None:
        rests = [
            itertools.chain(() if rest is None else (rest,), more) for rest, more in zip(held, batches, strict=True)
        ]
        counts = [pairs - used[side] + sum(len(part.columns()) for part in rests[side]) for side in (0, 1)]
        raise InputError(
            f"the files of a pair differ in length: {counted(counts[0], 'read')} here, "
            f"{counts[1]:,} in {shown_input(common.paths[1])}",
            common.paths[0],
        )


def single_items(source: ReadSource, batch_bases: int) -> Iterator[Reads]:
    """The reads of a file whose first one is not a mate of a pair."""
    return (Reads((records,), (source.path,), single=True) for records in source.reads(batch_bases))


def unparsed_items(source: ReadSource, batch_bases: int, threads: int = 1) -> Iterator[Reads]:
    """The reads of a FASTA or FASTQ file; text that devices can parse comes as it is."""
    return (Reads((records,), (source.path,)) for records in _records(source, batch_bases, threads, True))


def interleaved_items(
    source: ReadSource, batch_bases: int, threads: int = 1, with_pairs: bool = True
) -> Iterator[Reads]:
    """Neighbours of one name (but for /1 and /2) are pairs, all others single reads. Chunks whose pairs are whole come
    as they are, but for the first ones, at which this looks.

    Args:
        with_pairs: a file without a pair is an error.

    Raises:
        InputError: mates are not neighbours: a record says that it is one of a pair, and its mate is not next to
            it; or the first reads show that the file is not interleaved.
    """
    paths, beginning = (source.path,), Beginning(source.path, source.paired or not with_pairs)
    if source.header is not None:  # in SAM, BAM and CRAM each record says what it is
        yield from _interleaved_batches(source.reads(batch_bases), source.path, threads, beginning, False)
        return
    names, chunks = first_names(source.chunks(batch_bases), _names_at_head)
    all_dots = neighbours_have_dots(names)
    warn_of_order(list(itertools.pairwise(names[:2])), all_dots, shown_input(source.path))
    for chunk in chunks:
        if not chunk.paired:
            rest = itertools.chain((chunk,), chunks)
            yield from _interleaved_batches(rest, source.path, threads, beginning, all_dots)
            return
        reads = Reads((chunk,), paths, all_dots=all_dots, neighbours=True)
        if not beginning.seen:
            reads = reads.parsed()
            beginning.look_at(reads.columns())
        yield reads
    beginning.ended()


def _names_at_head(chunk: Chunk, count: int) -> list[bytes]:
    """Of the reads that a chunk begins with, which are parsed for that."""
    return names_of(head_of(chunk).columns(), 0, count)


def _interleaved_batches(
    items: Iterator[Records], path: str, threads: int, beginning: Beginning, all_dots: bool
) -> Iterator[Reads]:
    """A batch's last record is kept back for the next one: its mate may come first there."""
    rest: SequenceBatch | None = None
    for batch in run_ordered(items, _columns, threads):
        whole = batch if rest is None else join_batches([rest, batch])
        paired = pair_neighbours(whole, path, all_dots)
        assert paired.mates is not None
        rest = whole.part(len(whole) - 1, len(whole)) if len(whole) and paired.mates[-1] == 0 else None
        ready = paired if rest is None else pair_neighbours(whole.part(0, len(whole) - 1), path, all_dots)
        if len(ready):
            beginning.look_at(ready)
            yield Reads((first_ends_first(ready, path),), (path,))
    if rest is not None:
        last = pair_neighbours(rest, path, all_dots)
        beginning.look_at(last)
        yield Reads((first_ends_first(last, path),), (path,))
    beginning.ended()
