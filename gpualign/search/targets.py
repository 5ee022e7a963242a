"""Targets as they are read: whole records, parts of long ones, parts of a reference; and what the search takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.patterns.cpu import TargetText
from gpualign.reads.in_memory import checked_nucleotides, packed_pieces
from gpualign.reads.reads import ReadSource, Records
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.seeds.index.file import is_index, load_reference
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import offsets_of, positions_of
from gpualign.sequences.reference import Reference
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS
from gpualign.text.fastx import Chunk, LongRecord, parse

#: symbols of runs, in any case
_AMBIGUITY_CODES = frozenset(b"NRYSWKMBDHVnryswkmbdhv")
#: threads that parse a long record, and the most bytes that each takes at a time
_PARSERS, _PARSED = 4, 1 << 22
#: symbols in several arrays
Pieces = tuple[NDArray[np.uint8], ...]


@dataclass(frozen=True, eq=False)
class RecordPart:
    """A part of a record.

    Attributes:
        name: of the record.
        text: uint8 symbols of the part with its context, in pieces, or the reference that has it.
        first: position of the part in the record; in a reference the part begins at ``contig_at``.
        begin, end: the hits that count begin there, in the record.
        last_of_text: position in the record after the part's last symbol.
        length: of the record; -1: not known yet.
        last: no part comes after it.
    """

    name: str
    text: Pieces | Reference
    first: int
    begin: int
    end: int
    last_of_text: int
    length: int
    last: bool
    contig_at: int = 0


#: what a batch of targets is made of
Item = Records | RecordPart


@dataclass(frozen=True, eq=False)
class TargetBatch:
    """A batch of targets.

    Attributes:
        names, name_offsets: as in :class:`SequenceBatch`.
        lengths: int64 (n,), of whole targets; -1: not known.
        text: what is searched.
        target: int32 (m,), which target each sequence of the text is of.
        origin: int64 (m,), where that begins in it.
        symbols: int, of the text that counts.
        part: None for whole targets, else which part of one.
        records: the targets themselves, where they are to be written.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    text: TargetText
    target: NDArray[np.int32]
    origin: NDArray[np.int64]
    symbols: int
    part: RecordPart | None = None
    records: SequenceBatch | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def pieces(self, context: int) -> list[TargetBatch]:
        """The same in sixteen batches, or fewer where one position would be divided.

        Args:
            context: as :attr:`Patterns.context` says.
        """
        pieces = [self]
        for _ in range(4):
            pieces = [half for piece in pieces for half in piece._halves(context)]
        return pieces

    def _halves(self, context: int) -> list[TargetBatch]:
        """Two batches of targets, or of the hits that begin in either half of a target."""
        if (middle := len(self) // 2) > 0:
            return [self._some(0, middle), self._some(middle, len(self))]
        whole = RecordPart("", (), 0, 0, 0, 0, int(self.lengths[0]), last=True)
        part, after = self.part or whole, len(self.text) // 2
        if after:
            at = int(self.origin[after])
            cut = [(self.text.some(0, after), self.origin[:after]), (self.text.some(after, 2), self.origin[after:])]
        else:
            begin, end = int(self.text.begin[0]), int(self.text.end[0])
            middle = (begin + end) // 2
            if middle == begin:
                return [self]
            at = int(self.origin[0]) + middle
            windows = [self.text.window(*interval, context) for interval in ((begin, middle), (middle, end))]
            cut = [(text, self.origin + first) for text, first in windows]
        parts = (replace(part, end=at, last=False), replace(part, begin=at))
        symbols = (self.symbols // 2, self.symbols - self.symbols // 2)
        return [
            replace(self, text=text, target=self.target[: len(origin)], origin=origin, symbols=some, part=half)
            for (text, origin), half, some in zip(cut, parts, symbols, strict=True)
        ]

    def _some(self, first: int, after: int) -> TargetBatch:
        begin, end = np.searchsorted(self.target, [first, after]).tolist()
        lengths = self.lengths[first:after]
        names = self.names[self.name_offsets[first] : self.name_offsets[after]]
        return TargetBatch(
            names,
            self.name_offsets[first : after + 1] - self.name_offsets[first],
            lengths,
            self.text.some(begin, end),
            self.target[begin:end] - np.int32(first),
            self.origin[begin:end],
            int(lengths.sum()),
            records=None if self.records is None else self.records.part(first, after),
        )

    def sequence(self) -> NDArray[np.uint8]:
        """uint8, the symbols of the text."""
        if isinstance(self.text.text, Reference):
            return np.frombuffer(self.text.text.sequence(0, int(self.text.offsets[-1])).upper(), np.uint8)
        return self.text.text


def read_items(params: SearchParams, files: SearchFiles, bases: int, context: int, threads: int) -> Iterator[Item]:
    """The targets of all files in order.

    Args:
        bases: of an item, about.
        context: as :attr:`Patterns.context` says.
    """
    for path in files.targets:
        if params.alphabet == "dna" and is_index(path):
            yield from reference_parts(load_reference(path, threads), max(bases, 4 * context), context)
            continue
        with ReadSource(path, files.reference, comments=files.split is not None, threads=threads) as source:
            source.alphabet = "nucleotide" if params.alphabet == "dna" else "any"
            if files.split is not None or params.best_per_target or params.within is not None:  # of whole records
                yield from source.records(bases)
                continue
            for item in source.items(bases):
                if isinstance(item, LongRecord):
                    yield from _parts_of(item, source.alphabet, max(bases, 4 * context), context)
                else:
                    yield replace(item, alphabet=source.alphabet) if isinstance(item, Chunk) else item


def _parts_of(record: LongRecord, alphabet: str, bases: int, context: int) -> Iterator[RecordPart]:
    """Parts with their context on both sides, as the record is read."""
    chunks = record.chunks(min(bases // 4, _PARSED))
    pieces: list[NDArray[np.uint8]] = []
    first = begin = total = 0
    name = ""
    for batch in run_ordered(chunks, partial(parse, alphabet=alphabet), _PARSERS):  # type: ignore[arg-type]
        name = name or batch.name(0)
        pieces.append(batch.bases)
        total += len(batch.bases)
        end = total - context
        if end - begin < bases:
            continue
        yield RecordPart(name, tuple(pieces), first, begin, end, total, -1, last=False)
        begin, first = end, max(first, end - context)
        pieces = [_last(pieces, total - first)]
    yield RecordPart(name, tuple(pieces), first, begin, total + 1, total, total, last=True)


def _last(pieces: list[NDArray[np.uint8]], count: int) -> NDArray[np.uint8]:
    """A copy of the last symbols."""
    taken: list[NDArray[np.uint8]] = []
    while count > 0:
        taken.append(pieces[len(pieces) - 1 - len(taken)][-count:])
        count -= len(taken[-1])
    return np.concatenate(taken[::-1])


def reference_parts(reference: Reference, bases: int, context: int) -> Iterator[RecordPart]:
    """The contigs of a packed reference, in parts."""
    for number, name in enumerate(reference.names):
        at = int(reference.contig_offsets[number])

        def cut(first: int, after: int, at: int = at) -> tuple[Reference, int]:
            return reference.part(at + first, at + after), (at + first) % 32  # at whole words

        yield from _parts(name, int(reference.lengths[number]), bases, context, cut)


def parts_in_memory(batches: Iterable[SequenceBatch], bases: int, context: int) -> Iterator[Item]:
    """Batches, in which long sequences are cut into parts."""
    for batch in batches:
        first = 0
        for long in np.flatnonzero(batch.lengths > 2 * bases).tolist():
            if long > first:
                yield batch.part(first, long)
            text = batch.bases[batch.base_offsets[long] : batch.base_offsets[long + 1]]

            def cut(first: int, after: int, text: NDArray[np.uint8] = text) -> tuple[Pieces, int]:
                return (text[first:after],), 0

            yield from _parts(batch.name(long), len(text), bases, context, cut)
            first = long + 1
        if first < len(batch):
            yield batch.part(first, len(batch))


def _parts(
    name: str,
    length: int,
    bases: int,
    context: int,
    cut: Callable[[int, int], tuple[Pieces | Reference, int]],
) -> Iterator[RecordPart]:
    """A record in parts of ``bases`` bases. ``cut``: (first, after) -> the symbols between them, and ``contig_at``."""
    for begin in range(0, max(length, 1), bases):
        end = min(length, begin + bases)
        first, after, last = max(0, begin - context), min(length, end + context), end == length
        text, contig_at = cut(first, after)
        yield RecordPart(name, text, first, begin, end + last, after, length, last, contig_at)


@STEPS.at("parse")
def prepare(params: SearchParams, keep: bool, item: Item | TargetBatch) -> TargetBatch:
    """An item, parsed and packed, unless it is already.

    Args:
        keep: the records are to be written.

    Raises:
        InputError: a malformed record.
    """
    if isinstance(item, TargetBatch):
        return item
    if isinstance(item, RecordPart):
        return _of_part(params, item)
    packed = None
    if not keep and isinstance(item, Chunk) and params.alphabet == "dna":
        packed = item.packed(_native.pack_target_text, params.within or 0)
    if packed is not None:
        names, name_offsets, lengths, arrays = packed
        target, first, size = _windows(lengths, params.within)
        offsets = offsets_of(size)
        text: Reference | NDArray[np.uint8] = Reference([""], offsets[[0, -1]], *arrays)
        return _whole(names, name_offsets, lengths, text, offsets, target, first)
    batch = item.columns()
    lengths, bases, offsets = batch.lengths, batch.bases, batch.base_offsets
    target, first, size = _windows(lengths, params.within)
    if params.within is not None and len(batch):
        bases, offsets = bases[positions_of(batch.base_offsets[target] + first, size)], offsets_of(size)
    text = _text_of(params, (bases,), offsets)
    targets = _whole(batch.names, batch.name_offsets, lengths, text, offsets, target, first)
    return replace(targets, records=batch) if keep else targets


def _whole(
    names: NDArray[np.uint8],
    name_offsets: NDArray[np.int64],
    lengths: NDArray[np.int64],
    text: Reference | NDArray[np.uint8],
    offsets: NDArray[np.int64],
    target: NDArray[np.int32],
    first: NDArray[np.int64],
) -> TargetBatch:
    size = np.diff(offsets)
    searched = TargetText(text, offsets, np.zeros(len(size), np.int64), size + 1, np.zeros(len(size), np.uint8))
    return TargetBatch(names, name_offsets, lengths, searched, target, first, int(lengths.sum()))


def _windows(
    lengths: NDArray[np.int64], within: int | None
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """What is searched of each target, all or both ends: its number, where they begin, and their lengths."""
    if within is None:
        return np.arange(len(lengths), dtype=np.int32), np.zeros(len(lengths), np.int64), lengths
    short = lengths <= 2 * within
    count = np.where(short, 1, 2)
    target = np.repeat(np.arange(len(lengths), dtype=np.int32), count)
    second = np.zeros(len(target), bool)
    second[offsets_of(count)[1:-1] - 1] |= ~short[:-1]
    if len(lengths):
        second[-1] |= not short[-1]
    first = np.where(second, lengths[target] - within, 0)
    return target, first, np.where(short[target], lengths[target], within)


def _text_of(params: SearchParams, pieces: Pieces, offsets: NDArray[np.int64]) -> Reference | NDArray[np.uint8]:
    """The text to search. Whether an API's sequences are nucleotides is known only once they are packed: all other
    symbols are in runs.
    """
    if params.alphabet != "dna":
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    if len(offsets) > 1:
        whole = packed_pieces([""], offsets[[0, -1]], pieces)
        if not _AMBIGUITY_CODES.issuperset(whole.run_bases.tobytes()):
            checked_nucleotides(np.concatenate(pieces), offsets)  # which says what is wrong
        return whole
    return Reference(
        [""], np.zeros(2, np.int64), np.zeros(2, np.uint64), *(np.zeros(0, kind) for kind in ("u4", "u4", "u1"))
    )


def _of_part(params: SearchParams, part: RecordPart) -> TargetBatch:
    names, name_offsets = join_bytes([part.name.encode("latin-1")])
    size = part.last_of_text - part.first
    opened = np.array([(part.first > 0) + 2 * (not part.last)], np.uint8)
    at = part.contig_at
    offsets = np.array([at, at + size], np.int64)
    text = part.text if isinstance(part.text, Reference) else _text_of(params, part.text, offsets)
    begin, end = (np.array([value - part.first], np.int64) for value in (part.begin, part.end))
    searched = TargetText(text, offsets, begin, end, opened)
    return TargetBatch(
        names, name_offsets, np.array([part.length], np.int64), searched, np.zeros(1, np.int32),
        np.array([part.first], np.int64), max(0, min(part.end, part.last_of_text) - part.begin), part,
    )  # fmt: skip
