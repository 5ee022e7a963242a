"""The reads of a run: single ones, pairs of two files, and pairs of an interleaved file, lane by lane.

:class:`Lanes` opens the files, each a :class:`gpualign.reads.reads.ReadSource`; what it yields are
:class:`gpualign.reads.reads.Reads`, most of them unparsed.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gpualign.errors import InputError, counted, shown_input
from gpualign.params import available_cores
from gpualign.reads.fastq_text import FastqText, head_of, to_text
from gpualign.reads.reads import Reads, ReadSource, Records, joined_header
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.pinned import Allocate, no_pinned
from gpualign.text import tuning
from gpualign.text.bgzf import BgzfCodec
from gpualign.text.files import open_together
from gpualign.text.mate_names import (
    NamePair,
    files_have_dots,
    first_names,
    names_of,
    neighbours_have_dots,
    not_adjacent,
    pair_neighbours,
    r1_first,
    warn_of_order,
)

#: pairs in the first item of text: those from which `map` estimates insert sizes
_FIRST_PAIRS = 5_000
#: reads without a pair after which a file is not interleaved
_CHECKED_READS = 10_000


class Lanes:
    """The reads of one file or of two, or of several such lanes, one after the other; open as long as ``stack``.

    Args:
        reads: paths of the reads, or of R1, one for each lane.
        mates: paths of R2, as many; none: no pairs in two files.
        interleaved: neighbours of one name are pairs; always so for BAM whose first read is paired.
        check_names: mates must have one name (but for /1 and /2), and an interleaved file must have pairs.
        threads: limit of the threads that inflate each file, and of the threads that parse it.
        groups: ID of each lane's read group, if it has one of its own.
        reference_path, keep_read_groups, comments: see :class:`ReadSource`.

    Attributes:
        header: the joint header of SAM, BAM or CRAM files (:attr:`ReadSource.header`), or None.
        paired: there are pairs.

    Raises:
        InputError: a file cannot be opened or is in no known format, or the files' headers contradict each other.
    """

    def __init__(
        self,
        reads: Sequence[str],
        mates: Sequence[str],
        stack: contextlib.ExitStack,
        *,
        interleaved: bool = False,
        check_names: bool = True,
        threads: int = 1,
        groups: Sequence[str] = (),
        reference_path: str | None = None,
        keep_read_groups: bool = True,
        comments: bool = False,
    ) -> None:
        self.first: list[ReadSource] = []
        self.second: list[ReadSource] = []
        self._stack, self._check_names, self._groups, self._threads = stack, check_names, groups, threads
        how = (reference_path, keep_read_groups, comments, threads)
        for paths in itertools.zip_longest(reads, mates):
            opened = open_together([path for path in paths if path is not None], stack)
            for sources, path, raw in zip((self.first, self.second), paths, opened, strict=False):
                sources.append(stack.enter_context(ReadSource(path, *how, opened=raw)))
        self.header = joined_header(self.first, keep_read_groups)
        self.paired = bool(self.second) or interleaved or any(source.paired for source in self.first)

    def inflate_by(self, codec: BgzfCodec) -> None:
        """See :meth:`InputFile.inflate_by`."""
        for source in (*self.first, *self.second):
            source.file.inflate_by(codec)

    def reads(self, batch_bases: int, unparsed: bool = False, allocate: Allocate = no_pinned) -> Iterator[Reads]:
        """All reads in order. The generator is closed with ``stack``, as its end waits for threads that parse; left to
        the garbage collector, it would end in any thread.

        Args:
            unparsed: leave FASTQ text that devices can parse unparsed.
            allocate: allocates memory for that text.
        """
        if unparsed:
            inflaters = self._inflaters()
            for source in (*self.first, *self.second):
                source.inflaters, source.allocate = inflaters, allocate
        as_text = unparsed and self.header is None
        return self._stack.enter_context(contextlib.closing(self._all_reads(batch_bases, as_text)))

    def _inflaters(self) -> int:
        """Threads that inflate each gzip stream, for devices that wait for the text."""
        threads = min(self._threads, available_cores())  # with more threads than cores one per file is faster
        inflaters = min(threads // (2 if self.second else 1), tuning.MAX_INFLATERS)
        return inflaters if inflaters >= tuning.MIN_INFLATERS else 1

    def _all_reads(self, batch_bases: int, as_text: bool) -> Generator[Reads, None, None]:
        parsers = min(self._threads, tuning.PARSERS)
        for first, second, group in itertools.zip_longest(self.first, self.second, self._groups):
            if second is not None:
                reads = paired_reads(first, second, batch_bases, self._check_names, parsers, as_text)
            elif self.paired:
                reads = interleaved_reads(first, batch_bases, parsers, self._check_names)
            else:
                records = _records(first, batch_bases, parsers, True) if as_text else first.records(batch_bases)
                reads = (Reads((some,), (first.path,), single=not as_text) for some in records)
            yield from reads if group is None else (replace(item, read_group=group) for item in reads)


def paired_reads(
    first: ReadSource,
    second: ReadSource,
    batch_bases: int,
    check_names: bool = True,
    threads: int = 1,
    as_text: bool = False,
) -> Iterator[Reads]:
    """Pair the records of two files by their order; ``threads`` threads parse each file.

    Args:
        as_text: yield text that devices can parse as :class:`FastqText`.

    Raises:
        InputError: the files differ in their number of records.
    """
    for source in (first, second):
        source.file.read_ahead(tuning.PAIRS_AHEAD * batch_bases)
    with contextlib.ExitStack() as stack:  # ends the threads of both files
        sides = tuple(
            stack.enter_context(contextlib.closing(_records(source, max(1, batch_bases // 2), threads, as_text)))
            for source in (first, second)
        )
        at_first = _FIRST_PAIRS if as_text else None
        common = Reads((), (first.path, second.path), check_names)
        pairs = _pairs(sides, common, at_first)
        yield from _named_alike(pairs, common.paths) if check_names else pairs


def _records(
    source: ReadSource, batch_bases: int, threads: int, as_text: bool
) -> Generator[FastqText | SequenceBatch, None, None]:
    """A file's records in items that can be cut; ``as_text``: as text that devices can parse."""
    if as_text and source.header is None:
        return run_ordered(source.chunks(batch_bases), to_text, threads)
    return run_ordered(source.records(batch_bases), lambda records: records.columns(), threads)


def _named_alike(pairs: Iterator[Reads], paths: tuple[str, ...]) -> Iterator[Reads]:
    """Set ``all_dots`` of all items, by the names of the first pairs."""

    def names_of_pairs(item: Reads, count: int) -> list[NamePair]:
        sides: tuple[Any, ...] = item.sides  # from :func:`_pairs`, so they can be cut
        heads = (side.part(0, min(count, len(side))).columns() for side in sides)
        return list(zip(*(names_of(head, 0, count) for head in heads), strict=True))

    names, pairs = first_names(pairs, names_of_pairs)
    all_dots = bool(names) and files_have_dots(names)
    warn_of_order(names[:1], all_dots, " and ".join(map(shown_input, paths)))
    yield from (replace(item, all_dots=True) for item in pairs) if all_dots else pairs


def _pairs(
    batches: tuple[Iterator[FastqText | SequenceBatch], ...], common: Reads, at_first: int | None
) -> Iterator[Reads]:
    """Cut both files' items at common records.

    Args:
        common: the fields that all items share.
        at_first: limit of the pairs in the first item.
    """
    held: list[FastqText | SequenceBatch | None] = [None, None]
    used = [0, 0]  # records of the held items that are used
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


def interleaved_reads(
    source: ReadSource, batch_bases: int, threads: int = 1, with_pairs: bool = True
) -> Iterator[Reads]:
    """Neighbours of one name (but for /1 and /2) are pairs, all others single reads.

    Args:
        with_pairs: a file without pairs is an error.

    Raises:
        InputError: mates are not neighbours: a record says that it is one of a pair, and its mate is not next to
            it; or the first reads show that the file is not interleaved.
    """
    check = InterleavingCheck(source.path, source.paired or not with_pairs)
    if source.header is not None:  # SAM, BAM and CRAM have flags
        yield from _interleaved_batches(source.records(batch_bases), source.path, threads, check, False)
        return
    names, chunks = first_names(
        source.chunks(batch_bases), lambda chunk, count: names_of(head_of(chunk).columns(), 0, count)
    )
    all_dots = neighbours_have_dots(names)
    warn_of_order(list(itertools.pairwise(names[:2])), all_dots, shown_input(source.path))
    yield from _interleaved_batches(chunks, source.path, threads, check, all_dots)


def _interleaved_batches(
    items: Iterator[Records], path: str, threads: int, check: InterleavingCheck, all_dots: bool
) -> Iterator[Reads]:
    """Pair parsed batches. A batch's last single record is carried over, as its mate may begin the next batch."""
    rest: SequenceBatch | None = None
    for batch in run_ordered(items, lambda records: records.columns(), threads):
        whole = batch if rest is None else join_batches([rest, batch])
        paired = pair_neighbours(whole, path, all_dots)
        assert paired.mates is not None
        rest = whole.part(len(whole) - 1, len(whole)) if len(whole) and paired.mates[-1] == 0 else None
        ready = paired if rest is None else pair_neighbours(whole.part(0, len(whole) - 1), path, all_dots)
        if len(ready):
            check.add(ready)
            yield Reads((r1_first(ready, path),), (path,))
    if rest is not None:
        last = pair_neighbours(rest, path, all_dots)
        check.add(last)
        yield Reads((r1_first(last, path),), (path,))
    check.finish()


class InterleavingCheck:
    """Checks that the first :data:`_CHECKED_READS` reads of a file are interleaved.

    Args:
        trusted: skip the check.
    """

    def __init__(self, path: str, trusted: bool) -> None:
        self._path, self._seen, self._pairs = path, 0, 0
        self._trusted = trusted
        self._singles: set[str] = set()

    @property
    def done(self) -> bool:
        """Whether the check is complete."""
        return self._trusted or self._seen >= _CHECKED_READS

    def add(self, batch: SequenceBatch) -> None:
        """Raise InputError if two reads of one template are not neighbours, or there are no pairs."""
        if self.done:
            return
        assert batch.mates is not None
        mates = batch.mates[: _CHECKED_READS - self._seen]
        self._seen += len(mates)
        self._pairs += int(np.count_nonzero(mates == 1))
        for i in np.flatnonzero(mates == 0).tolist():
            name = batch.name(i)
            if name.endswith(("/1", "/2")):
                if name[:-1] + ("2" if name.endswith("1") else "1") in self._singles:
                    raise not_adjacent(name, self._path)
                self._singles.add(name)
        if self._seen >= _CHECKED_READS:
            self.finish()

    def finish(self) -> None:
        if not self._trusted and self._seen > 1 and not self._pairs:
            raise InputError(
                f"it is not interleaved: of the first {self._seen:,} reads no two neighbours have one name "
                "(leave out -p, or give R2 as a second file)",
                self._path,
            )
