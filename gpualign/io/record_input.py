"""The records of SAM, BAM and CRAM as they are, cut where records or templates end and parsed by whoever takes them."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, counted
from gpualign.io.bam_reads import read_bam_header
from gpualign.io.bgzf import BgzfCodec
from gpualign.io.contigs import HeaderContigs
from gpualign.io.files import InputFile
from gpualign.io.sam_lines import what_is_wrong
from gpualign.streaming.timeline import STEPS

#: bytes that are read at a time where no threads inflate them
_PIECE_BYTES = 1 << 20
_BAM_MAGIC, _CRAM_MAGIC = b"BAM\x01", b"CRAM"
_SAM_COLUMNS = 11

Piece = NDArray[np.uint8]


class RecordChunk(Protocol):
    """Whole records, unparsed."""

    def records(self) -> NDArray[np.uint8]:
        """As BAM.

        Raises:
            InputError: one is malformed.
        """


@dataclass(frozen=True)
class BamPieces:
    """Of BAM. ``before``: records before them in the file."""

    parts: tuple[Piece, ...]
    path: str
    before: int

    def records(self) -> NDArray[np.uint8]:
        with STEPS.at("copy"):
            return np.concatenate(self.parts)  # the parts may be in memory that others want again


@dataclass(frozen=True)
class SamLines:
    """Of SAM. ``line``: number of the first line."""

    text: Piece
    path: str
    line: int
    contigs: HeaderContigs
    regular: bool

    @STEPS.at("parse")
    def records(self) -> NDArray[np.uint8]:
        try:
            records, _ = _native.bam_records(self.text, *self.contigs.shown_name_bytes)
        except ValueError as error:
            raise self._malformed(str(error)) from None
        return records

    def _malformed(self, why: str) -> InputError:
        """Says which line it is."""
        for number, line in enumerate(self.text.tobytes().splitlines(keepends=True), self.line):
            try:
                _native.bam_records(np.frombuffer(line, np.uint8), *self.contigs.shown_name_bytes)
            except ValueError as error:
                found = what_is_wrong(self.path, number, self.contigs.shown_names) if self.regular else None
                return InputError(found or str(error), self.path, number)
        return InputError(why, self.path)


class RecordInput:
    """One file of records, or standard input ("-").

    Args:
        fasta: the reference of CRAM; None: htslib finds it.
        threads: that inflate or decode.

    Attributes:
        header: its lines.
        contigs: those of the header.

    Raises:
        InputError: it cannot be opened, or is none of the three.
    """

    def __init__(self, path: str, fasta: str | None = None, threads: int = 1) -> None:
        self.path, self._stack = path, contextlib.ExitStack()
        self._file = self._stack.enter_context(InputFile(path, threads))
        try:
            magic = self._file.magic
            self._sam = not magic.startswith((_BAM_MAGIC, _CRAM_MAGIC))
            self._stream: InputFile | _Decoded = self._file
            if magic.startswith(_CRAM_MAGIC):
                from gpualign.io.cram_input import CramInput  # and what runs samtools

                self._stream = self._stack.enter_context(contextlib.closing(CramInput(self._file, fasta, threads)))
            self._pieces = _Pieces(self._texts())
            self.header, self.contigs = self._sam_header() if self._sam else self._bam_header()
            self.contigs = HeaderContigs(self.contigs.shown_names, self.contigs.lengths, fasta)
        except BaseException:
            self.close()
            raise

    def inflate_by(self, codec: BgzfCodec) -> None:
        """As :meth:`InputFile.inflate_by`."""
        self._file.inflate_by(codec)

    def chunks(self, chunk_bytes: int, templates: bool) -> Iterator[RecordChunk]:
        """All records in order, about so many bytes of them at a time.

        Args:
            templates: records of one name that follow each other stay together.

        Raises:
            InputError: a truncated or damaged file.
        """
        return self._sam_chunks(chunk_bytes, templates) if self._sam else self._bam_chunks(chunk_bytes, templates)

    def _bam_chunks(self, chunk_bytes: int, templates: bool) -> Iterator[RecordChunk]:
        borders, begin, before = _native.RecordBorders(templates), 0, 0
        held = _Pieces(self._pieces.rest())
        try:
            for piece in held.followed():
                try:
                    borders.feed(piece)
                except ValueError as error:
                    raise self._damaged(borders.records, str(error)) from None
                if (size := borders.border - begin) >= chunk_bytes:
                    yield BamPieces(held.take_parts(size), self.path, before)
                    begin, before = borders.border, borders.records_before
        except InputError as error:
            raise self._damaged(borders.records, error.what) from None
        if borders.inside:
            raise self._damaged(borders.records, "a BAM record is cut short")
        if not self._stream.marked_end():
            raise self._damaged(borders.records, "no end-of-file marker; it may be truncated")
        if held.size:
            yield BamPieces(held.take_parts(held.size), self.path, before)

    def _damaged(self, records: int, why: str) -> InputError:
        if why.startswith("truncated or damaged"):
            return InputError(why, self.path)
        return InputError(f"truncated or damaged after {counted(records, 'record')}: {why}", self.path)

    def _sam_chunks(self, chunk_bytes: int, templates: bool) -> Iterator[RecordChunk]:
        line = self._header_lines + 1
        held: list[Piece] = []
        size = 0

        def chunk(text: Piece) -> SamLines:
            nonlocal line
            made = SamLines(text, self.path, line, self.contigs, self._file.regular)
            line += int(_native.count_newlines(text))
            return made

        want = chunk_bytes
        for piece in self._pieces.rest():
            held.append(piece)
            size += len(piece)
            if size < want:
                continue
            text = np.concatenate(held)
            cut = _native.sam_border(text, templates)
            if cut:
                yield chunk(text[:cut])
            held, size = [text[cut:]], len(text) - cut
            want = max(chunk_bytes, 2 * size)
        text = np.concatenate([np.zeros(0, np.uint8), *held])
        if len(text):
            yield chunk(text if text[-1] == ord("\n") else np.append(text, np.uint8(ord("\n"))))

    def _texts(self) -> Iterator[Piece]:
        if isinstance(self._stream, InputFile) and self._stream.in_pieces:
            yield from (inflated.text for inflated in self._stream.pieces())
            return
        while True:
            piece = np.empty(_PIECE_BYTES, np.uint8)
            if count := self._stream.readinto(piece.data):
                yield piece[:count]
            if count < len(piece):
                return

    def _bam_header(self) -> tuple[list[str], HeaderContigs]:
        try:
            text, contigs = read_bam_header(self._pieces.take)
            lines, names = text.decode().splitlines(), [name.decode() for name, _ in contigs]
        except (ValueError, struct.error, EOFError) as error:
            raise InputError(f"cannot be read as BAM or CRAM: its header is damaged: {error}", self.path) from error
        return lines, HeaderContigs(names, np.array([length for _, length in contigs], np.int64))

    def _sam_header(self) -> tuple[list[str], HeaderContigs]:
        lines = []
        while (line := self._pieces.line()).startswith(b"@"):
            lines.append(line.rstrip(b"\r\n"))
        self._header_lines = len(lines)
        self._pieces.put_back(line)
        if not lines and len(line.split(b"\t")) < _SAM_COLUMNS:
            raise InputError("is not SAM, BAM or CRAM" if line else "is empty, without even a header", self.path)
        try:
            text = [line.decode() for line in lines]
            found = [dict(part.split(":", 1) for part in line.split("\t")[1:]) for line in text if line[:4] == "@SQ\t"]
            names, lengths = [contig["SN"] for contig in found], [int(contig["LN"]) for contig in found]
        except (ValueError, KeyError) as error:
            raise InputError(f"cannot be read as SAM: an @SQ line is malformed ({error})", self.path) from error
        if len(set(names)) < len(names):
            twice = next(name for i, name in enumerate(names) if name in names[:i])
            raise InputError(f"the header has the contig {twice!r} twice", self.path)
        return text, HeaderContigs(names, np.array(lengths, np.int64))

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> RecordInput:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Decoded(Protocol):
    """CRAM as BAM (:class:`gpualign.io.cram_input.CramInput`)."""

    def readinto(self, view: memoryview, /) -> int: ...

    def marked_end(self) -> bool: ...


class _Pieces:
    """A stream that comes in pieces, some of which are held.

    Attributes:
        size: bytes that are held.
    """

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._more, self._held, self.size = pieces, list[Piece](), 0

    def _hold(self, piece: Piece) -> None:
        self._held.append(piece)
        self.size += len(piece)

    def followed(self) -> Iterator[Piece]:
        """The pieces that come, each of which is held before it is given."""
        for piece in self._more:
            self._hold(piece)
            yield piece

    def rest(self) -> Iterator[Piece]:
        """All that is held, and what comes."""
        yield from self._held
        yield from self._more

    def take_parts(self, size: int) -> tuple[Piece, ...]:
        """The first bytes of what is held."""
        taken = []
        self.size -= size
        while size:
            piece = self._held.pop(0)
            if len(piece) > size:
                self._held.insert(0, piece[size:])
                piece = piece[:size]
            taken.append(piece)
            size -= len(piece)
        return tuple(taken)

    def take(self, size: int) -> bytes:
        """The next bytes.

        Raises:
            EOFError: there are fewer.
        """
        if size < 0:
            raise ValueError("a negative length")
        while self.size < size:
            if (piece := next(self._more, None)) is None:
                raise EOFError("it is cut short")
            self._hold(piece)
        return b"".join(part.tobytes() for part in self.take_parts(size))

    def line(self) -> bytes:
        """The next line, with its end."""
        line = b""
        while not line.endswith(b"\n"):
            if not self._held:
                if (piece := next(self._more, None)) is None:
                    return line
                self._hold(piece)
            first = self._held[0]
            ends = np.flatnonzero(first[: 1 << 16] == ord("\n"))
            line += b"".join(
                part.tobytes() for part in self.take_parts(int(ends[0]) + 1 if len(ends) else min(len(first), 1 << 16))
            )
        return line

    def put_back(self, data: bytes) -> None:
        """Before all that is held."""
        if data:
            self._held.insert(0, np.frombuffer(data, np.uint8))
            self.size += len(data)
