"""FASTQ text whose records are counted but not parsed, for devices, which find, check and pack them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS
from gpualign.text.fastx import Chunk
from gpualign.text.text import between

_NEWLINE = ord("\n")
#: texts beyond this size are parsed on the host: kernels index them with 32 bits
_MAX_BYTES = 1 << 31
#: bytes of a chunk's head
_HEAD = 1 << 16


@dataclass(frozen=True)
class FastqText:
    """Some records of a chunk with four lines per record and no blank line. Whether it is FASTQ is not checked here.

    Attributes:
        lines_before: uint32 (n,): newlines before each tile of ``_native.FASTQ_TILE`` bytes of the chunk; the last tile
            may hold only the newline that the text lacks.
        chunk_records: number of records in the chunk.
        records: indices of these records.
    """

    chunk: Chunk
    lines_before: NDArray[np.uint32]
    chunk_records: int
    records: range

    def __len__(self) -> int:
        return len(self.records)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only these records, as a chunk."""
        return replace, (self._alone(),)

    @classmethod
    def of(cls, chunk: Chunk) -> FastqText | None:
        """Count the lines of a chunk; None if it must be parsed on the host.

        Raises:
            InputError: it cannot be read (any more).
        """
        size = len(chunk.data)
        if chunk.kind != "fastq" or chunk.wrapped or not 0 < size < _MAX_BYTES:
            return None
        lines_before = np.zeros(size // _native.FASTQ_TILE + 1, np.uint32)
        lines, blank = chunk.data.count_fastq_lines(chunk.path, lines_before)
        return None if lines % 4 or blank else cls(chunk, lines_before, lines // 4, range(lines // 4))

    def part(self, start: int, end: int) -> FastqText:
        """Some of the records."""
        return replace(self, records=self.records[start:end])

    @cached_property
    def tiles(self) -> range:
        """The tiles that hold the records and the end of the line before them."""
        first = max(0, self._tiles_until(4 * self.records.start) - 1)
        return range(first, self._tiles_until(4 * self.records.stop))

    @property
    def nbytes(self) -> int:
        """Bytes of these tiles, with a newline at the end."""
        end = min(self.tiles.stop * _native.FASTQ_TILE, len(self.chunk.data) + 1)
        return int(end - self.tiles.start * _native.FASTQ_TILE)

    def read_into(self, memory: NDArray[np.uint8]) -> None:
        """Read the tiles' text from its file."""
        begin = self.tiles.start * _native.FASTQ_TILE
        size = min(len(memory), len(self.chunk.data) - begin)
        self.chunk.data.read_into(memory[:size], begin)
        memory[size:] = _NEWLINE

    def pieces(self) -> Iterator[NDArray[np.uint8]]:
        """The tiles' text, in pieces in memory."""
        begin = self.tiles.start * _native.FASTQ_TILE
        end = begin + self.nbytes
        yield from between(self.chunk.data.pieces(self.chunk.path), begin, end)
        if end > len(self.chunk.data):
            yield np.array([_NEWLINE], np.uint8)

    def columns(self) -> SequenceBatch:
        """The records, parsed on the host.

        Raises:
            InputError: one is malformed.
        """
        try:
            return self._alone().columns()
        except InputError:  # report the first error of the whole chunk
            self.chunk.columns()
            raise

    def _alone(self) -> Chunk:
        """The records as a chunk of their own."""
        if len(self) == self.chunk_records:
            return self.chunk
        chunk, begin, end = self.chunk, self._begin_of(self.records.start), self._begin_of(self.records.stop)
        line = None if chunk.line is None else chunk.line + 4 * self.records.start
        return replace(chunk, data=chunk.data.part(begin, end), line=line)

    def _tiles_until(self, line: int) -> int:
        """Number of tiles that begin before a line."""
        return int(np.searchsorted(self.lines_before, np.uint32(line), "left"))

    def _begin_of(self, record: int) -> int:
        """Bytes of the chunk before a record."""
        if record == self.chunk_records:
            return len(self.chunk.data)
        tile = self._tiles_until(4 * record) - 1
        if tile < 0:
            return 0
        begin: int = tile * _native.FASTQ_TILE
        text = self.chunk.data.part(begin, min(begin + _native.FASTQ_TILE, len(self.chunk.data)))
        newlines = np.flatnonzero(text.joined(self.chunk.path) == _NEWLINE)
        return begin + int(newlines[4 * record - int(self.lines_before[tile]) - 1]) + 1


def head_of(chunk: Chunk) -> Chunk:
    """The first records of a chunk, or all of them."""
    if chunk.wrapped or len(chunk.data) <= _HEAD:
        return chunk
    text = chunk.data.part(0, _HEAD).joined(chunk.path)
    cut = _native.last_record_border(text, chunk.kind == "fastq")
    return replace(chunk, data=chunk.data.part(0, int(cut))) if cut else chunk


def to_text(chunk: Chunk) -> FastqText | SequenceBatch:
    """A chunk as text with counted records, or parsed if it must be."""
    with STEPS.at("parse"):
        text = FastqText.of(chunk)
    return chunk.columns() if text is None else text
