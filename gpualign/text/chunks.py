"""Cuts files into chunks of whole records, from a source of text, a rule that finds record borders, and a chunk size,
which doubles until a longer record fits. :func:`read_chunks` does so with FASTA and FASTQ; :func:`cuts` serves other
text, too.

One reader cuts in order and inspects only the ends of chunks; workers parse. FASTA sequences may have any number of
lines. FASTQ has four lines per record; if the first records have more, the reader inspects every line.
"""

from __future__ import annotations

import contextlib
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
from gpualign.text.mate_names import names_of
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
    with contextlib.ExitStack() as stack:
        source, head = _head(source, max(chunk_bytes, _WINDOW), stack)
        if (kind := sniff(head.tobytes(), source.path)) is None:
            return
        if wrapped := kind == "fastq" and bool(_native.is_wrapped_fastq(head)):
            notice(f"{shown_input(source.path)}: FASTQ with wrapped lines is read more slowly than with four a record")
            source = source.streamed(stack)
        while True:
            border = _pair_border(kind) if source.paired else _border(kind, wrapped)
            for cut in cuts(source, border, chunk_bytes, long_records and kind == "fasta"):
                if not cut:
                    yield LongRecord(cast("RecordSource", source))
                    continue
                blank, line = _is_blank(source, cut), source.line
                data = source.take(cut)
                if not blank:
                    yield Chunk(data, kind, source.path, line, paired=source.paired, wrapped=wrapped)
            if not source.broken:
                return
            source = source.streamed(stack)


def _head(source: Source, want: int, stack: contextlib.ExitStack) -> tuple[Source, NDArray[np.uint8]]:
    """The source, or a stream if it is broken, and the beginning of its text with more than white space."""
    while True:
        size = source.hold(want)
        if source.broken:
            source = source.streamed(stack)
            continue
        head = source.text(0, min(size, _WINDOW))
        if not head.tobytes().strip():
            head = source.text(0, size)
        if source.at_end or head.tobytes().strip():
            return source, head
        want *= 2


def cuts(source: Source, border: Border, chunk_bytes: int, long_records: bool = False) -> Iterator[int]:
    """Yield the size of each chunk; the caller takes it before it asks for the next one.

    Args:
        long_records: yield 0 if no record ends within a chunk, instead of a larger chunk.
    """
    want = chunk_bytes
    while not source.broken and (size := source.hold(want)) and not source.broken:
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
        # a scan tells of a long record sooner than ever larger windows
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


def _pair_border(kind: FastxFormat) -> Border:
    """The rule for interleaved pairs: :func:`_border`, or the one before it if the last record is the first of its
    name. Of neighbours with one name the first two are a pair, then the next two."""
    border = _border(kind, wrapped=False)

    def found(text: NDArray[np.uint8], from_pair: bool) -> int:
        borders = [border(text, from_pair)]  # from the end backwards
        of_one_name = 0  # records before the last one that have its name
        while borders[-1]:
            borders.append(border(text[: borders[-1] - 1], from_pair))
            if borders[-1] == 0 and not from_pair:
                return 0
            if len(borders) > 2 and not _of_one_name(text[borders[-1] : borders[-3]], kind):
                break
            of_one_name += 1
        return borders[of_one_name % 2]

    return found


def _of_one_name(two_records: NDArray[np.uint8], kind: FastxFormat) -> bool:
    """Whether two records may be mates. Malformed ones are reported when they are parsed."""
    try:
        batch = SequenceBatch(*_native.parse_fastx(two_records, kind == "fastq", False, False))
    except ValueError:
        return False
    first, second = names_of(batch, 0, 2)
    return bool(_native.compare_names(first, second, True) != "two templates")


def read_batches(
    path: str, chunk_bytes: int = 1 << 24, alphabet: SequenceAlphabet = "nucleotide", opened: Any = None
) -> Iterator[SequenceBatch]:
    """Parsed batches of one FASTA or FASTQ file ("-" is standard input). ``opened``: see :class:`InputFile`."""
    with InputFile(path, opened=opened) as file:
        for chunk in read_chunks(Streamed(file), chunk_bytes):
            yield parse(chunk, alphabet)
