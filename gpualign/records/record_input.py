"""The records of SAM, BAM and CRAM as they are, cut where records or templates end and parsed by whoever takes them."""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, counted
from gpualign.records.contigs import HeaderContigs
from gpualign.records.cram_errors import CramReferenceError
from gpualign.records.header_text import checked_lines, in_utf8, lines_of, text_of
from gpualign.records.sam_lines import what_is_wrong
from gpualign.streaming.prefetch import Prefetch
from gpualign.streaming.timeline import STEPS
from gpualign.text import tuning
from gpualign.text.bgzf import BAM_MAGIC, HEADROOM, BgzfCodec, Inflated
from gpualign.text.chunks import cuts
from gpualign.text.files import InputFile
from gpualign.text.text import InPieces, Source, Streamed, Text

if TYPE_CHECKING:
    from gpualign.records.cram_input import CramInput

#: bytes of a header of SAM that are read first
_HEADER_BYTES = 1 << 16
_HEADER_LINES = re.compile(rb"(?:@[^\n]*\n)*")
_CRAM_MAGIC = b"CRAM"
#: what a file of records begins with, once it is inflated
RECORD_MAGICS = (BAM_MAGIC, _CRAM_MAGIC, b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t", b"@CO\t")
_SAM_COLUMNS = 11
_LONGEST_CONTIG = (1 << 31) - 1
_FLAG = struct.Struct("<18xH")
_FLAG_TEXT = re.compile(rb"[0-9]{1,5}")
_LENGTH_TEXT, _LENGTH_SHOWN = re.compile(r"-?[0-9]{1,40}"), 40
_INTEGER = struct.Struct("<i")
#: bytes of a piece of those that are gathered, at least: a record is known to be whole when the next one has begun
_GATHERED_PIECE = 1 << 16


@dataclass(frozen=True)
class BamChunk:
    """Records of BAM, in pieces. ``owned``: a single one, in memory that is nobody else's."""

    pieces: tuple[NDArray[np.uint8], ...]
    owned: bool = False

    def records(self) -> NDArray[np.uint8]:
        """The records as BAM."""
        if self.owned:
            return self.pieces[0]
        with STEPS.at("copy"):
            return np.concatenate(self.pieces)


@dataclass(frozen=True)
class SamChunk:
    """Records of SAM. ``line``: number of the first line."""

    text: Text
    path: str
    line: int
    contigs: HeaderContigs

    @STEPS.at("parse")
    def records(self) -> NDArray[np.uint8]:
        """The records as BAM.

        Raises:
            InputError: one is malformed.
        """
        given = text = self.text.joined(self.path)
        if text[-1] != ord("\n"):
            text = np.append(text, np.uint8(ord("\n")))
        try:
            records, _ = _native.bam_records(text, *self.contigs.shown_name_bytes)
        except ValueError as error:
            raise self._malformed(given.tobytes(), str(error)) from None
        return records

    def _malformed(self, text: bytes, why: str) -> InputError:
        """Says which line it is."""
        lines = text.split(b"\n")
        for number, line in enumerate(lines):
            try:
                _native.bam_records(line + b"\n", *self.contigs.shown_name_bytes)
            except ValueError as error:
                shown = in_utf8(text_of(line.rstrip(b"\r")))
                found = what_is_wrong(shown, number + 1 < len(lines), self.contigs.shown_names) if shown else None
                return InputError(found or str(error), self.path, self.line + number)
        return InputError(why, self.path)


#: whole records, unparsed
RecordChunk = BamChunk | SamChunk


class RecordInput:
    """One file of records, or standard input ("-").

    Args:
        file: closed with this.
        fasta: the reference of CRAM; None: htslib finds it.
        threads: that decode CRAM.
        all_tags: with MD and NM of CRAM, which are computed.

    Attributes:
        header: its lines (:func:`lines_of`).
        contigs: of the header.
        first_flag: of the first record; 0 where there is none.

    Raises:
        InputError: it is none of the three.
    """

    def __init__(self, file: InputFile, fasta: str | None = None, threads: int = 1, all_tags: bool = True) -> None:
        self.path, self._stack, self.first_flag = file.path, contextlib.ExitStack(), 0
        self._file = self._stack.enter_context(file)
        try:
            magic = self._file.magic
            self._sam = not magic.startswith((BAM_MAGIC, _CRAM_MAGIC))
            self._stream: InputFile | CramInput = self._file
            if magic.startswith(_CRAM_MAGIC):
                from gpualign.records.cram_input import CramInput  # and what runs samtools

                self._stream = self._stack.enter_context(
                    contextlib.closing(CramInput(self._file, fasta, threads, all_tags))
                )
            if self._sam:
                self._source: Source = InPieces(self._file) if self._file.in_pieces else Streamed(self._stream)
                self.header, self.contigs = self._sam_header()
            else:
                self._begin, self._pieces = np.zeros(0, np.uint8), self._bam_pieces()
                self.header, self.contigs = self._bam_header()
                if self._held(_FLAG.size):
                    (self.first_flag,) = _FLAG.unpack(self._begin[: _FLAG.size].tobytes())
            named = any(lines.startswith("@SQ") and ("\tM5:" in lines or "\tUR:" in lines) for lines in self.header)
            self.contigs = replace(self.contigs, fasta=fasta, named=named)
        except BaseException:
            self.close()
            raise

    def _bam_pieces(self) -> Iterator[Inflated]:
        """The file, read by another thread than the one that looks at each record."""
        if not self._file.in_pieces:
            return self._streamed()
        return self._stack.enter_context(Prefetch(self._file.pieces(), tuning.PIECES_AHEAD))

    def _streamed(self) -> Iterator[Inflated]:
        count = -1
        while count:
            memory = np.empty(HEADROOM + tuning.PIECE_BYTES, np.uint8)
            count = self._stream.readinto(memory[HEADROOM:].data)
            yield Inflated(memory[HEADROOM : HEADROOM + count], 0, memory)

    @property
    def stored_bam(self) -> bool:
        """Whether it is a BAM file on disk, which can be read again without much work."""
        return not self._sam and self._stream is self._file and self._file.regular

    def inflate_by(self, codec: BgzfCodec) -> None:
        """Let ``codec`` inflate the rest of the file, if it is BGZF."""
        self._file.inflate_by(codec)

    def chunks(self, chunk_bytes: int, templates: bool = False, gathered: bool = False) -> Iterator[RecordChunk]:
        """All records in order, about ``chunk_bytes`` of them at a time.

        Args:
            templates: records of one name that follow each other stay together.
            gathered: chunks of BAM have that size; else they may be pieces as they were inflated.

        Raises:
            InputError: a truncated or damaged file.
        """
        if self._sam:
            chunks = self._sam_chunks(chunk_bytes, templates)
        else:
            chunks = self._bam_chunks(chunk_bytes, templates, gathered)
        # in a thread of its own, as it looks at each record; the thread ends before what decodes CRAM
        return self._stack.enter_context(Prefetch(chunks, tuning.RECORDS_AHEAD))

    def _bam_chunks(self, chunk_bytes: int, templates: bool, gathered: bool) -> Iterator[RecordChunk]:
        """Not by :func:`cuts`: the borders of BAM records are found from the first one on alone.

        A piece with headroom is a chunk without a copy: the record that it continues is moved before it. Other pieces,
        in memory that a device uses again, are gathered and copied.
        """
        borders = _native.RecordBorders(templates, len(self.contigs.lengths))
        held, size, taken = list[NDArray[np.uint8]](), 0, 0
        try:
            for piece in self._parts(chunk_bytes, gathered):
                try:
                    borders.feed(piece.text)
                except ValueError as error:
                    raise self._damaged(borders.records, str(error)) from None
                cut = borders.border - taken - size  # in the piece
                if cut <= 0 or (piece.memory is None and size + cut < chunk_bytes):
                    held.append(piece.text)
                    size += len(piece.text)
                    continue
                rest = piece.text[cut:]
                if piece.memory is not None and size <= HEADROOM:
                    yield BamChunk((piece.after(held)[: size + cut],), owned=True)
                else:
                    yield BamChunk((*held, piece.text[:cut]))
                taken += size + cut
                held, size = [rest.copy() if len(rest) <= HEADROOM else rest], len(rest)
        except CramReferenceError:
            raise
        except InputError as error:
            raise self._damaged(borders.records, error.what) from error
        if borders.inside:
            raise self._damaged(borders.records, "a BAM record is cut short")
        if not self._stream.marked_end():
            raise self._damaged(borders.records, "no end-of-file marker; it may be truncated")
        if size:
            yield BamChunk(tuple(held))

    def _parts(self, most: int, gathered: bool) -> Iterator[Inflated]:
        """The text after the header, in pieces of limited size; without headroom if they are ``gathered``."""
        most = max(most, _GATHERED_PIECE) if gathered else most
        for piece in chain([Inflated(self._begin, 0)], self._pieces):
            if len(piece.text) <= most and not gathered:
                yield piece
            else:
                for at in range(0, len(piece.text), most):
                    part = piece.text[at : at + most]
                    # a device inflates to pinned memory, of which there is too little for all that is gathered
                    yield Inflated(part.copy() if gathered and piece.memory is None else part, 0)

    def _damaged(self, records: int, why: str) -> InputError:
        if why.startswith("truncated or damaged"):
            return InputError(why, self.path)
        return InputError(f"truncated or damaged after {counted(records, 'record')}: {why}", self.path)

    def _sam_chunks(self, chunk_bytes: int, templates: bool) -> Iterator[RecordChunk]:
        def border(text: NDArray[np.uint8], from_line: bool) -> int:
            return int(_native.sam_border(text, from_line, templates))

        for cut in cuts(self._source, border, chunk_bytes):
            line = self._source.line or 0
            yield SamChunk(self._source.take(cut), self.path, line, self.contigs)
        if not self._file.marked_end():
            raise InputError("no end-of-file marker; it may be truncated", self.path)

    def _held(self, size: int) -> bool:
        """Whether ``size`` bytes of BAM follow, which are held then."""
        try:
            while len(self._begin) < size and (piece := next(self._pieces, None)) is not None:
                self._begin = np.concatenate((self._begin, piece.text))
        except CramReferenceError:
            raise
        except InputError as error:
            raise self._damaged(0, error.what) from error
        return len(self._begin) >= size

    def _take(self, size: int) -> bytes:
        """The next bytes of BAM.

        Raises:
            EOFError: there are fewer.
        """
        if size < 0:
            raise ValueError("a negative length")
        if not self._held(size):
            raise EOFError("it is cut short")
        taken, self._begin = self._begin[:size].tobytes(), self._begin[size:]
        return taken

    def _taken_integer(self) -> int:
        return int(_INTEGER.unpack(self._take(4))[0])

    def _taken_contigs(self, count: int) -> HeaderContigs:
        """Names and lengths, which BAM has in its own form, of as many contigs."""
        want = 1
        while (found := _native.bam_contigs(self._begin, count)) is None:
            want = max(2 * want, 2 * len(self._begin))
            if not self._held(want) and _native.bam_contigs(self._begin, count) is None:
                raise EOFError("it is cut short")
        names, offsets, lengths, size = found
        self._begin = self._begin[size:].copy()
        contigs = HeaderContigs((names, offsets), lengths)
        if (negative := next(iter(np.flatnonzero(lengths < 0)), None)) is not None:
            raise self._length_error(contigs.names[negative], int(lengths[negative]))
        return self._checked_contigs(contigs)

    def _bam_header(self) -> tuple[list[str], HeaderContigs]:
        try:
            self._take(4)  # the magic
            lines = lines_of(self._take(self._taken_integer()).rstrip(b"\0"))
            contigs = self._taken_contigs(self._taken_integer())
        except (ValueError, EOFError) as error:  # of self._take and self._taken_contigs
            raise InputError(f"cannot be read as BAM or CRAM: its header is damaged: {error}", self.path) from error
        return lines, contigs

    def _sam_header(self) -> tuple[list[str], HeaderContigs]:
        want = _HEADER_BYTES
        while True:
            begin = self._source.text(0, self._source.hold(want)).tobytes()
            end = _HEADER_LINES.match(begin).end()  # type: ignore[union-attr]
            record, ended, rest = begin[end:].partition(b"\n")
            if self._source.at_end or (ended and not record.startswith(b"@")):
                break
            want *= 2
        if record.startswith(b"@"):  # the last line, which has no end
            end, record = len(begin), b""
        fields = record.split(b"\t")
        if len(fields) >= _SAM_COLUMNS and _FLAG_TEXT.fullmatch(fields[1]):  # else an error of its chunk
            self.first_flag = int(fields[1])
        if len(fields) < _SAM_COLUMNS and (not end or rest.startswith(b"+")):  # the latter is FASTQ
            raise InputError("is not SAM, BAM or CRAM" if begin else "is empty, without even a header", self.path)
        lines = lines_of(self._source.take(end).joined(self.path).tobytes())
        contigs = checked_lines(lines, "@SQ", ("SN", "LN"), self.path)
        for contig in contigs:
            if not _LENGTH_TEXT.fullmatch(contig["LN"]):
                what = f"LN of the contig '{contig['SN']}' is {contig['LN'][:_LENGTH_SHOWN]!r}, which is not a length"
                raise InputError(in_utf8(what), self.path)
        names, lengths = [contig["SN"] for contig in contigs], [int(contig["LN"]) for contig in contigs]
        if (
            bad := next((i for i, length in enumerate(lengths) if not 0 <= length <= _LONGEST_CONTIG), None)
        ) is not None:
            raise self._length_error(names[bad], lengths[bad])
        return lines, self._checked_contigs(HeaderContigs.of(names, lengths))

    def _checked_contigs(self, contigs: HeaderContigs) -> HeaderContigs:
        if (twice := _native.first_repeated(*contigs.shown_name_bytes)) is not None:
            raise InputError(f"the header has the contig {contigs.shown_names[twice]!r} twice", self.path)
        return contigs

    def _length_error(self, name: str, length: int) -> InputError:
        what = f"the header says that the contig {in_utf8(name)!r} has {length:,} bases; SAM allows up to "
        return InputError(f"{what}{_LONGEST_CONTIG:,}", self.path)

    def close(self) -> None:
        self._stack.close()

    def __enter__(self) -> RecordInput:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
