"""Plain text, one sequence a line: log lines, signatures, anything that is no FASTA."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.io.blocks import MIN_READ, Blocks, after_last_line
from gpualign.io.fastx import Chunk
from gpualign.io.files import InputFile
from gpualign.io.text import HeldText, StoredText
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import offsets_of

_NEWLINE, _RETURN = 10, 13


#: bytes of whole lines that a text begins with: all of them, or as many as the caller wants to be cut off
Border = Callable[[NDArray[np.uint8]], int]


def read_line_chunks(
    file: InputFile, chunk_bytes: int, head: bytes = b"", border: Border = after_last_line
) -> Iterator[Chunk]:
    """Cut a stream into chunks of whole lines of about ``chunk_bytes`` (more when one line is longer). Those of a plain
    file stay there until they are parsed.

    Args:
        head: what has been read of the file.
    """
    if file.size > MIN_READ:
        yield from _stored_line_chunks(file, chunk_bytes, border)
        return
    blocks, line = Blocks(file, head), 1
    offset = 0 if file.plain else None
    while not blocks.at_end:
        # a line that is longer is read in growing steps, to stay linear
        data = blocks.read(max(chunk_bytes, 2 * len(blocks.rest)))
        cut = len(data) if blocks.at_end else border(data)
        if cut:
            chunk = blocks.take(cut)
            yield Chunk(HeldText((chunk,)), "fasta", file.path, line, offset=offset)
            offset = None if offset is None else offset + len(chunk)
            line += _native.count_newlines(chunk)


def _stored_line_chunks(file: InputFile, chunk_bytes: int, border: Border) -> Iterator[Chunk]:
    stored = file.stored()
    begin, want = 0, chunk_bytes
    while begin < file.size:
        end = min(begin + want, file.size)
        if end < file.size:
            cut = _last_border(file, begin, end, border)
            if cut == begin:  # a line, or lines that belong together, are longer: grow geometrically
                want *= 2
                continue
            end = cut
        want = chunk_bytes
        yield Chunk(StoredText(stored, begin, end - begin), "fasta", file.path, None, offset=begin)
        begin = end


def _last_border(file: InputFile, begin: int, end: int, border: Border) -> int:
    """Between ``begin`` and ``end``, looked for from the end; ``begin`` where there is none."""
    window = MIN_READ
    while True:
        start = max(begin, end - window)
        text = file.part(start, end - start)
        if start > begin:  # from the first whole line on
            whole = text.tobytes().find(b"\n") + 1
            start, text = start + whole, text[whole:]
        if cut := border(text):
            return start + cut
        if end - window <= begin:
            return begin
        window *= 8


def parse_lines(chunk: Chunk, prefix: str = "") -> SequenceBatch:
    """A chunk's lines without their line ends, bytes as they are; a name is ``prefix`` and the 1-based line number."""
    text = chunk.text()
    ends = np.flatnonzero(text == _NEWLINE)
    if len(text) and text[-1] != _NEWLINE:
        ends = np.append(ends, len(text))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    has_return = (ends > starts) & (text[np.maximum(ends - 1, 0)] == _RETURN)
    lengths = ends - starts - has_return
    inside = np.ones(len(text), bool)
    inside[text == _NEWLINE] = False
    inside[(ends - 1)[has_return]] = False
    first = chunk.first_line()
    names, name_offsets = join_bytes([f"{prefix}{first + i}".encode() for i in range(len(ends))])
    return SequenceBatch(names, name_offsets, text[inside], offsets_of(lengths))
