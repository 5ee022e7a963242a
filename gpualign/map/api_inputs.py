"""Inputs of :class:`gpualign.Mapper` as items of a stage: files, batches, and reads as Python objects, which are text,
(name, sequence, quality), or records of Biopython, pysam or dnaio."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.errors import InputError, UsageError, counted
from gpualign.map.tuning import KERNELS
from gpualign.reads.in_memory import (
    as_batch,
    bytes_of,
    checked_nucleotides,
    checked_reads,
    is_bytes,
    is_path,
    is_text,
    not_text,
    parts_of,
    path_of,
    symbols_in,
)
from gpualign.reads.lanes import Lanes
from gpualign.reads.reads import Reads
from gpualign.run.select import Work
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.text.mate_names import SAMPLED_NAMES, files_have_dots, names_of
from gpualign.text.paths import are_same

_NUCLEOTIDES = re.compile("[ACGTUNRYSWKMBDHVacgtunryswkmbdhv]*")  # also matches a read without bases
#: longer texts of nucleotide codes are not file names
_LONGEST_NAME = 64


def is_sequence(reads: object) -> bool:
    """Whether the argument is one read, not a path or several reads."""
    if is_bytes(reads):
        return True
    if not isinstance(reads, str) or not _NUCLEOTIDES.fullmatch(reads):
        return False
    return len(reads) > _LONGEST_NAME or not os.path.exists(reads)


def is_file_or_batch(reads: object) -> bool:
    """Whether the argument is a file or a batch, not an iterable of reads."""
    return is_path(reads) or isinstance(reads, SequenceBatch)


def work_of_reads(*reads: Any) -> Work:
    """The estimated work of mapping these reads."""
    sizes: list[float | None] = []
    for some in reads:
        if isinstance(some, list | tuple):
            sizes.append(bases_of_reads(some))
        elif some is not None:
            sizes.append(symbols_in(some))
    return Work.of(KERNELS, None if None in sizes else sum(each for each in sizes if each is not None))


@dataclass(frozen=True)
class MapperInput:
    """Reads, and their mates or None.

    Attributes:
        originals: collects the original objects of each batch, unless reads are files.
        unnamed: leave reads that are not files unnamed.
    """

    reads: Any
    mates: Any
    originals: deque[list[Any]] | None = None
    unnamed: bool = True

    def items(self, bases: int, stack: ExitStack) -> tuple[Iterator[Reads], bool]:
        """Batches of about ``bases``, and whether neighbours are mates; files stay open as long as ``stack``."""
        if self.mates is not None:
            return self._paired(bases, stack), True
        if is_path(self.reads):
            lanes = Lanes([path_of(self.reads)], [], stack)
            return lanes.reads(bases), lanes.paired
        if isinstance(self.reads, SequenceBatch):
            return map(_reads, parts_of(self.reads, bases)), False
        return self._batches(bases), False

    def _batches(self, bases: int) -> Iterator[Reads]:
        first = 0
        for some in batched(self.reads, bases):
            self._collect(some)
            yield _reads(batch_of(some, first, self.unnamed))
            first += len(some)

    def _paired(self, bases: int, stack: ExitStack) -> Iterator[Reads]:
        reads, mates = self.reads, self.mates
        if is_path(reads) and is_path(mates):
            paths = [path_of(path) for path in (reads, mates)]
            if are_same(*paths):
                raise UsageError(f"reads and mates are one file: {paths[0]}")
            return Lanes(paths[:1], paths[1:], stack).reads(bases)
        if is_file_or_batch(reads) or is_file_or_batch(mates):
            sides = as_batch(reads), as_batch(mates)
            _check_mates(*map(len, sides))
            return iter([_reads(_joined(*sides))])
        return self._pair_batches(bases // 2)

    def _pair_batches(self, bases: int) -> Iterator[Reads]:
        if hasattr(self.reads, "__len__") and hasattr(self.mates, "__len__"):
            _check_mates(len(self.reads), len(self.mates))
        first, mates = 0, checked_reads(self.mates)
        for some in batched(self.reads, bases):
            second = list(islice(mates, len(some)))
            _check_mates(first + len(some), first + len(second))
            self._collect(list(zip(some, second, strict=True)))
            yield _reads(_joined(*(batch_of(side, first, self.unnamed) for side in (some, second))))
            first += len(some)
        _check_mates(first, first + len(list(islice(mates, 1))))

    def _collect(self, reads: list[Any]) -> None:
        if self.originals is not None:
            self.originals.append(reads)


def _reads(batch: SequenceBatch) -> Reads:
    return Reads((batch,))


def _check_mates(first: int, second: int) -> None:
    if first != second:
        raise UsageError(f"{counted(first, 'read')} but {counted(second, 'mate')}")


def _joined(first: SequenceBatch, second: SequenceBatch) -> SequenceBatch:
    """The two mates of each pair as neighbours."""
    if first.qualities is None or second.qualities is None:
        first, second = replace(first, qualities=None), replace(second, qualities=None)
    all_dots = files_have_dots(list(zip(*(names_of(side, 0, SAMPLED_NAMES) for side in (first, second)), strict=True)))
    return SequenceBatch(*_native.join_pairs(first.native, second.native, False, all_dots))


#: text, or (name, sequence) or (name, sequence, quality), or an object of a known library
Read = Any
#: reads of the first batch, few for a quick first result; later batches double up to a limit of bases
_FIRST_READS = 64
#: name, sequence and quality of objects: Biopython's SeqRecord, pysam's AlignedSegment and FastxRecord, dnaio's
_ATTRIBUTES = (
    ("id", "seq", ""),
    ("query_name", "query_sequence", "qual"),
    ("name", "sequence", "quality"),
    ("name", "sequence", "qualities"),
)


def batched(reads: Iterable[Read], bases: int) -> Iterator[list[Read]]:
    """Reads in lists, short at first, later of about ``bases`` bases; nothing is read ahead.

    Raises:
        UsageError: the input is not reads.
    """
    remaining, count = checked_reads(reads), _FIRST_READS
    while some := list(islice(remaining, count)):
        yield some
        count = max(1, min(2 * count, int(bases * len(some) / (bases_of_reads(some) + 1))))


def bases_of_reads(reads: Sequence[Read]) -> float:
    """Estimated number of bases."""
    some = reads[:16]
    return sum(len(fields_of(read, i)[1]) for i, read in enumerate(some)) * len(reads) / max(1, len(some))


def batch_of(reads: Sequence[Read], first: int = 0, unnamed: bool = False) -> SequenceBatch:
    """Reads as a batch; unnamed ones are named by number, counted from ``first``.

    Args:
        unnamed: leave all names empty if no read has one.

    Raises:
        UsageError: an object is not a read.
        InputError: a character that is not a nucleotide code, or a quality of another length than its sequence.
    """
    names: Sequence[Any] | None = None
    qualities: Sequence[Any] | None = None
    kinds = set(map(type, reads))
    if kinds == {str} or not reads:
        texts: Sequence[Any] = reads
    elif kinds == {tuple} and set(map(len, reads)) == {3}:
        texts = list(map(itemgetter(1), reads))
        names, _, qualities = zip(*reads, strict=True)
    else:
        fields = (fields_of(read, first + i) for i, read in enumerate(reads))
        names, texts, qualities = zip(*fields, strict=True)
    symbols, offsets = _joined_texts(texts, first)
    bases = checked_nucleotides(symbols, offsets, first)
    if unnamed and (names is None or not any(name is not None for name in names)):
        of_names: tuple[Any, Any] = np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    else:
        of_names = _names(names, len(texts), first)
    return SequenceBatch(*of_names, bases, offsets, _qualities(qualities, offsets, first))


def fields_of(read: Read, number: int) -> tuple[Any, Any, Any]:
    """Name, sequence and quality (FASTQ characters) of a read; None for missing ones."""
    if is_text(read):
        return None, read, None
    if isinstance(read, tuple) and len(read) in (2, 3):
        if not hasattr(read[1], "__len__"):
            raise not_text(read[1], number)
        return read[0], read[1], read[2] if len(read) == 3 else None
    for name, sequence, quality in _ATTRIBUTES:
        if hasattr(read, name) and (symbols := getattr(read, sequence, None)) is not None:
            return _of_object(read, getattr(read, name), symbols, quality)
    what = "str or bytes, (name, sequence, quality) or a record"
    raise UsageError(f"sequence {number} is {type(read).__name__}, not {what}")


def _of_object(read: Read, name: Any, symbols: Any, quality: str) -> tuple[Any, Any, Any]:
    if quality == "qual" and hasattr(read, "get_forward_sequence"):  # pysam's, as the sequencer gave it
        phred = None if read.query_qualities is None else read.get_forward_qualities()
        return name, read.get_forward_sequence(), None if phred is None else bytes(value + 33 for value in phred)
    if not quality:
        phred = getattr(read, "letter_annotations", {}).get("phred_quality")
        return name, str(symbols), None if phred is None else bytes(value + 33 for value in phred)
    return name, symbols, getattr(read, quality, None)


def _names(names: Sequence[Any] | None, count: int, first: int) -> tuple[Any, Any]:
    """Names up to the first white space, as in files."""
    if names is None:
        return join_bytes([str(number).encode() for number in range(first, first + count)])
    parts = [str(first + i).encode() if name is None else bytes_of(name) for i, name in enumerate(names)]
    if any(space in b"".join(parts) for space in b" \t\n\r"):
        parts = [(part.split(None, 1) or [b""])[0] for part in parts]
    return join_bytes(parts)


def _joined_texts(texts: Sequence[Any], first: int) -> tuple[Any, Any]:
    try:
        whole = "".join(texts)
    except TypeError:
        whole = "\N{NO-BREAK SPACE}"
    if not whole.isascii():  # refused later, with the number of the read
        for number, text in enumerate(texts):
            if not is_text(text):
                raise not_text(text, first + number)
        return join_bytes([bytes_of(text) for text in texts])
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
    return np.frombuffer(whole.encode(), np.uint8), offsets


def _qualities(qualities: Sequence[Any] | None, offsets: Any, first: int) -> Any:
    if qualities is None or None in qualities:
        return None
    joined, ends = join_bytes([bytes_of(quality) for quality in qualities])
    wrong = np.flatnonzero(np.diff(ends) != np.diff(offsets))
    if wrong.size:
        raise InputError(f"sequence {first + int(wrong[0])}: quality and sequence differ in length")
    return joined
