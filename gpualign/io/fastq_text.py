"""FASTQ as text whose records are counted but not read: for devices, which find, check and pack them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.fastx import Chunk, parse
from gpualign.io.text import HeldText, between
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.clock import STEPS

_NEWLINE = ord("\n")
#: bytes of a text beyond which its records are parsed here: devices have 32 bits for them
_MAX_BYTES = 1 << 31
#: of the head of a chunk
_HEAD = 1 << 16


@dataclass(frozen=True)
class FastqText:
    """A chunk in which every four lines are a record, if it is FASTQ at all: no line is blank.

    Attributes:
        lines_before: uint32 (n,): newlines before each of the text's tiles of ``_native.FASTQ_TILE`` bytes, the last of
            which may hold nothing but the newline that the text lacks.
        records: how many there are.
    """

    chunk: Chunk
    lines_before: NDArray[np.uint32]
    records: int

    def __len__(self) -> int:
        return self.records

    @classmethod
    def of(cls, chunk: Chunk) -> FastqText | None:
        """Count the lines of a chunk; None of one that is to be parsed here.

        Raises:
            InputError: it cannot be read (any more).
        """
        size = len(chunk.data)
        if chunk.kind != "fastq" or chunk.wrapped or not 0 < size < _MAX_BYTES:
            return None
        lines_before = np.zeros(size // _native.FASTQ_TILE + 1, np.uint32)
        lines, blank = chunk.data.count_fastq_lines(chunk.path, lines_before)
        return cls(chunk, lines_before, lines // 4) if lines % 4 == 0 and not blank else None

    def tiles(self, start: int, count: int) -> range:
        """The tiles that hold ``count`` records from ``start`` on, and the end of the line before."""
        first = max(0, self._tiles_until(4 * start) - 1)
        return range(first, self._tiles_until(4 * (start + count)))

    def bytes_of(self, tiles: range) -> int:
        """Bytes of the text in these tiles, with a newline at the end."""
        end = min(tiles.stop * _native.FASTQ_TILE, len(self.chunk.data) + 1)
        return int(end - tiles.start * _native.FASTQ_TILE)

    @property
    def stored(self) -> bool:
        """Whether it is still in its file: :meth:`read_into` has it then, otherwise :meth:`pieces`."""
        return self.chunk.data.stored

    def read_into(self, memory: NDArray[np.uint8], tiles: range) -> None:
        """Write the text in these tiles; nobody else reads it on the host."""
        data, begin = self.chunk.data, tiles.start * _native.FASTQ_TILE
        size = min(len(memory), len(data) - begin)
        data.read_into(memory[:size], begin)
        memory[size:] = _NEWLINE

    def pieces(self, tiles: range) -> Iterator[NDArray[np.uint8]]:
        """The same as it lies in memory."""
        begin = tiles.start * _native.FASTQ_TILE
        end = begin + self.bytes_of(tiles)
        yield from between(self.chunk.data.pieces(self.chunk.path), begin, end)
        if end > len(self.chunk.data):
            yield np.array([_NEWLINE], np.uint8)

    def parsed(self, start: int, count: int) -> SequenceBatch:
        """Records read here.

        Raises:
            InputError: one is malformed.
        """
        try:
            return parse(self.part(start, count))
        except InputError:  # which the whole chunk has, and what is before it
            parse(self.chunk)
            raise

    def part(self, start: int, count: int) -> Chunk:
        """``count`` records from ``start`` on as a chunk of their own."""
        if start == 0 and count == self.records:
            return self.chunk
        chunk, begin, end = self.chunk, self._begin_of(start), self._begin_of(start + count)
        line = None if chunk.line is None else chunk.line + 4 * start
        offset = None if chunk.offset is None else chunk.offset + begin
        return replace(chunk, data=chunk.data.part(begin, end), line=line, offset=offset)

    def _tiles_until(self, line: int) -> int:
        """Tiles that begin before a line does."""
        return int(np.searchsorted(self.lines_before, np.uint32(line), "left"))

    def _begin_of(self, record: int) -> int:
        """Bytes of the text before a record."""
        if record == self.records:
            return len(self.chunk.data)
        tile = self._tiles_until(4 * record) - 1
        if tile < 0:
            return 0
        begin: int = tile * _native.FASTQ_TILE
        data = self.chunk.data.part(begin, min(begin + _native.FASTQ_TILE, len(self.chunk.data)))
        text = replace(self.chunk, data=data).text()
        return begin + int(_native.line_begin(text, 4 * record - int(self.lines_before[tile])))


def head_of(chunk: Chunk) -> Chunk:
    """The first records of a chunk, or all of them."""
    if chunk.wrapped or len(chunk.data) <= _HEAD:
        return chunk
    head = replace(chunk, data=chunk.data.part(0, _HEAD))
    text = head.text()
    cut = int(_native.last_record_border(text, chunk.kind == "fastq"))
    return replace(head, data=HeldText((text[:cut],))) if cut else chunk


def to_text(chunk: Chunk) -> FastqText | SequenceBatch:
    """A chunk's records counted, or parsed where that is not enough to cut it."""
    with STEPS.at("parse"):
        text = FastqText.of(chunk)
    return parse(chunk, comments=chunk.comments) if text is None else text
