"""Plain text with one sequence per line: log lines, signatures, anything other than FASTA."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import offsets_of
from gpualign.text.chunks import Border, cuts
from gpualign.text.fastx import Chunk
from gpualign.text.files import InputFile
from gpualign.text.text import Streamed, source_of

_NEWLINE, _RETURN = 10, 13


def after_last_line(text: NDArray[np.uint8], from_line: bool) -> int:
    """Bytes of the whole lines of a text (see :data:`gpualign.text.chunks.Border`)."""
    return text.tobytes().rfind(b"\n") + 1


def read_line_chunks(
    file: InputFile, chunk_bytes: int, head: bytes = b"", border: Border = after_last_line, numbered: bool = False
) -> Iterator[Chunk]:
    """Chunks of whole lines of about ``chunk_bytes`` (more when one line is longer).

    Args:
        head: bytes of the file that have been read.
        numbered: count the lines while the file is read, for names that have their numbers.
    """
    source = Streamed(file, head) if numbered else source_of(file, head)
    for cut in cuts(source, border, chunk_bytes):
        line = source.line
        yield Chunk(source.take(cut), "fasta", file.path, line)


def parse_lines(chunk: Chunk, prefix: str = "") -> SequenceBatch:
    """A chunk's lines as sequences, bytes unchanged, named by ``prefix`` and the 1-based line number."""
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
