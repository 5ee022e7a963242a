"""Cuts files into chunks of whole records, from a source of text, a rule that finds record borders, and a chunk size,
which doubles until a longer record fits. :func:`read_chunks` does so with FASTA and FASTQ; :func:`cuts` serves other
text, too.

One reader cuts in order and inspects only the ends of chunks; workers parse. FASTA sequences may have any number of
lines. FASTQ has four lines per record; if the first records have more, the reader inspects every line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, cast, overload

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import shown_input
from gpualign.notices import notice
from gpualign.sequences.batch import SequenceBatch
from gpualign.text.fastx import Chunk, LongRecord, SequenceAlphabet, parse
from gpualign.text.fastx_format import FastxFormat, sniff
from gpualign.text.files import InputFile
from gpualign.text.text import RecordSource, Source, Streamed

#: bytes at the end of a chunk that are searched for the last border first, and their growth
_WINDOW, _WIDER = 1 << 16, 8

#: (text, whether it begins at a record) -> bytes of the whole records at its beginning; 0: none found
Border = Callable[[NDArray[np.uint8], bool], int]


@overload
def read_chunks(source: Source, chunk_bytes: int) -> Iterator[Chunk]: ...


@overload
def read_chunks(source: Source, chunk_bytes: int, long_records: Literal[True]) -> Iterator[Chunk | LongRecord]: ...


def read_chunks(
    source: Source, chunk_bytes: int, long_records: bool = False
) -> Iterator[Chunk] | Iterator[Chunk | LongRecord]:
    """FASTA or FASTQ in chunks of about ``chunk_bytes``.

    Args:
        long_records: yield a FASTA record that does not fit a chunk as a :class:`LongRecord`.

    Raises:
        InputError: damaged compression, or an unknown format.
    """
    head = _head(source, max(chunk_bytes, _WINDOW))
    if (kind := sniff(head.tobytes(), source.path)) is None:
        return
    if wrapped := kind == "fastq" and bool(_native.is_wrapped_fastq(head)):
        notice(f"{shown_input(source.path)}: FASTQ with wrapped lines is read more slowly than with four a record")
        source = source.streamed()
    for cut in cuts(source, _border(kind, wrapped), chunk_bytes, long_records and kind == "fasta"):
        if not cut:
            yield LongRecord(cast("RecordSource", source))
            continue
        blank, line = _is_blank(source, cut), source.line
        data = source.take(cut)
        if not blank:
            yield Chunk(data, kind, source.path, line, wrapped=wrapped)


def _head(source: Source, want: int) -> NDArray[np.uint8]:
    """The beginning of the source's text, with more than white space if there is any."""
    while True:
        size = source.hold(want)
        head = source.text(0, min(size, _WINDOW))
        if not head.tobytes().strip():
            head = source.text(0, size)
        if source.at_end or head.tobytes().strip():
            return head
        want *= 2


def cuts(source: Source, border: Border, chunk_bytes: int, long_records: bool = False) -> Iterator[int]:
    """Yield the size of each chunk; the caller takes it before it asks for the next one.

    Args:
        long_records: yield 0 if no record ends within a chunk, instead of a larger chunk.
    """
    want = chunk_bytes
    while size := source.hold(want):
        if cut := size if source.at_end else _last_border(source, border, size, long_records):
            want = chunk_bytes
            yield cut
        elif long_records:
            yield 0
        else:  # doubling keeps the time linear in the record's length
            want = 2 * max(want, size)


def _last_border(source: Source, border: Border, end: int, long_records: bool) -> int:
    """Border before the last record that begins in the first ``end`` bytes held; 0 if there is none."""
    window = _WINDOW
    while True:
        begin = max(0, end - window)
        if cut := border(source.text(begin, end), begin == 0):
            return begin + cut
        if begin == 0:
            return 0
        # a scan finds a long record sooner than ever larger windows
        if long_records and window == _WINDOW and not _native.record_cuts(source.text(0, end))[1]:
            return 0
        window *= _WIDER


def _is_blank(source: Source, size: int) -> bool:
    """Whether the first ``size`` bytes held are white space; looks at a few of them first."""
    return not any(source.text(0, end).tobytes().strip() for end in (min(size, 64), size))


def _border(kind: FastxFormat, wrapped: bool) -> Border:
    if wrapped:
        return lambda text, from_record: int(_native.wrapped_fastq_border(text)) if from_record else 0
    return lambda text, from_record: int(_native.last_record_border(text, kind == "fastq"))


def read_batches(
    path: str, chunk_bytes: int = 1 << 24, alphabet: SequenceAlphabet = "nucleotide", opened: Any = None
) -> Iterator[SequenceBatch]:
    """Parsed batches of one FASTA or FASTQ file ("-" is standard input). ``opened``: see :class:`InputFile`."""
    with InputFile(path, opened=opened) as file:
        for chunk in read_chunks(Streamed(file), chunk_bytes):
            yield parse(chunk, alphabet)
