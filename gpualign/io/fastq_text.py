"""FASTQ as text whose records are counted but not read: for devices, which find, check and pack them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.fastx import Chunk, ChunkData, StoredText, parse
from gpualign.io.packed_text import PackedText
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS

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
        size = _size(chunk)
        if chunk.kind != "fastq" or chunk.wrapped or not 0 < size < _MAX_BYTES:
            return None
        lines_before = np.zeros(size // _native.FASTQ_TILE + 1, np.uint32)
        if isinstance(chunk.data, StoredText):
            lines, blank = chunk.data.file.count_fastq_lines(chunk.data.offset, size, lines_before)
        else:
            lines, blank = _native.count_fastq_lines(_pieces(chunk), lines_before)
        return cls(chunk, lines_before, lines // 4) if lines % 4 == 0 and not blank else None

    def tiles(self, start: int, count: int) -> range:
        """The tiles that hold ``count`` records from ``start`` on, and the end of the line before."""
        first = max(0, self._tiles_until(4 * start) - 1)
        return range(first, self._tiles_until(4 * (start + count)))

    def bytes_of(self, tiles: range) -> int:
        """Bytes of the text in these tiles, with a newline at the end."""
        end = min(tiles.stop * _native.FASTQ_TILE, _size(self.chunk) + 1)
        return int(end - tiles.start * _native.FASTQ_TILE)

    @property
    def stored(self) -> bool:
        """Whether it is still in its file: :meth:`read_into` has it then, otherwise :meth:`pieces`."""
        return isinstance(self.chunk.data, StoredText)

    def read_into(self, memory: NDArray[np.uint8], tiles: range) -> None:
        """Write the text in these tiles; nobody else reads it on the host."""
        data, begin = self.chunk.data, tiles.start * _native.FASTQ_TILE
        assert isinstance(data, StoredText)
        size = min(len(memory), len(data) - begin)
        data.file.read_into(memory[:size], data.offset + begin)
        memory[size:] = _NEWLINE

    def pieces(self, tiles: range) -> Iterator[NDArray[np.uint8]]:
        """The same as it lies in memory."""
        begin = tiles.start * _native.FASTQ_TILE
        end = begin + self.bytes_of(tiles)
        yield from _between(_pieces(self.chunk), begin, end)
        if end > _size(self.chunk):
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
        return replace(chunk, data=_part_of(chunk.data, begin, end), line=line, offset=offset)

    def _tiles_until(self, line: int) -> int:
        """Tiles that begin before a line does."""
        return int(np.searchsorted(self.lines_before, np.uint32(line), "left"))

    def _begin_of(self, record: int) -> int:
        """Bytes of the text before a record."""
        if record == self.records:
            return _size(self.chunk)
        tile = self._tiles_until(4 * record) - 1
        if tile < 0:
            return 0
        begin: int = tile * _native.FASTQ_TILE
        data = _part_of(self.chunk.data, begin, min(begin + _native.FASTQ_TILE, _size(self.chunk)))
        text = replace(self.chunk, data=data).text()
        return begin + _native.line_begin(text, 4 * record - int(self.lines_before[tile]))


def head_of(chunk: Chunk) -> Chunk:
    """The first records of a chunk, or all of them."""
    if chunk.wrapped or _size(chunk) <= _HEAD:
        return chunk
    head = replace(chunk, data=_part_of(chunk.data, 0, _HEAD))
    text = np.frombuffer(head.text(), np.uint8)
    cut = _native.last_record_border(text, chunk.kind == "fastq")
    return replace(head, data=text[:cut]) if cut else chunk


def _size(chunk: Chunk) -> int:
    return sum(map(len, chunk.data)) if isinstance(chunk.data, tuple) else len(chunk.data)


def _part_of(data: ChunkData, begin: int, end: int) -> ChunkData:
    """Bytes of a chunk."""
    if isinstance(data, StoredText):
        return replace(data, offset=data.offset + begin, size=end - begin)
    if isinstance(data, PackedText):
        return data.part(begin, end - begin)
    return tuple(_between(data, begin, end)) if isinstance(data, tuple) else data[begin:end]


def _pieces(chunk: Chunk) -> tuple[NDArray[np.uint8], ...]:
    """The text of a chunk that is not stored, as it lies in memory."""
    if isinstance(chunk.data, tuple):
        return chunk.data
    text = chunk.text()
    return (np.frombuffer(text, np.uint8) if isinstance(text, bytes) else text,)


def _between(pieces: tuple[NDArray[np.uint8], ...], begin: int, end: int) -> Iterator[NDArray[np.uint8]]:
    """What of pieces of a text lies between these bytes of it."""
    at = 0
    for piece in pieces:
        if begin < at + len(piece) and at < end:
            yield piece[max(0, begin - at) : end - at]
        at += len(piece)


def to_text(chunk: Chunk) -> FastqText | SequenceBatch:
    """A chunk's records counted, or parsed where that is not enough to cut it."""
    with STEPS.at("parse"):
        text = FastqText.of(chunk)
    return parse(chunk, comments=chunk.comments) if text is None else text
