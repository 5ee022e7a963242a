"""Reads of any accepted format, recognized by content: text or columns, parsed on demand.

A :class:`ReadSource` is a file's reads. FASTA and FASTQ come as chunks of text (``gpualign/text/chunks.py``), SAM, BAM
and CRAM as records (``gpualign/records/record_input.py``). What is mapped at once are :class:`Reads`, of one file or of
two (``gpualign/reads/lanes.py`` makes them).
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, check_count, shown_input
from gpualign.reads.fastq_text import FastqText
from gpualign.records.header_text import checked_lines, in_utf8
from gpualign.records.record_input import RECORD_MAGICS, RecordChunk, RecordInput
from gpualign.records.sam_header import dropped_tags
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.pinned import Allocate, no_pinned
from gpualign.streaming.timeline import STEPS
from gpualign.text import tuning
from gpualign.text.chunks import read_chunks
from gpualign.text.fastx import Chunk, LongRecord, SequenceAlphabet
from gpualign.text.files import InputFile
from gpualign.text.streams import TextOfPieces
from gpualign.text.text import InPieces, Streamed, source_of

#: about how many bytes of FASTQ text, or of records, a base has; batch sizes are in bases
_BYTES_PER_BASE = 2
#: limit of a chunk of records, as a caller may ask for a whole file
_MAX_BYTES = 1 << 30
#: SAM's flag
_PAIRED = 0x1

#: "RG" and "PG" -> the fields of each such line of a header
HeaderLines = dict[str, list[dict[str, str]]]


class ReadSource:
    """The reads of one file.

    Args:
        reference_path: FASTA for CRAM.
        keep_read_groups: see :func:`dropped_tags`.
        comments: keep what follows the names of FASTA and FASTQ records.
        threads: threads that inflate BGZF or decode CRAM.
        opened: see :class:`InputFile`.

    Attributes:
        file: the open file.
        inflaters: threads that inflate one gzip stream. Several take three times as much CPU time as one thread, so
            they pay only if the run waits for the text. May be set until the first chunk is asked for, as the next two.
        allocate: allocates memory for text that is neither stored nor in blocks.
        alphabet: of FASTA and FASTQ sequences.
        header: the @RG and @PG lines of a SAM, BAM or CRAM input, or None.
        paired: a SAM, BAM or CRAM input says that its first read is one of a pair.

    Raises:
        InputError: the file cannot be opened or is in no known format.
    """

    def __init__(
        self,
        path: str,
        reference_path: str | None = None,
        keep_read_groups: bool = True,
        comments: bool = False,
        threads: int = 1,
        opened: Any = None,
    ) -> None:
        self.path, self._comments = path, comments
        self.inflaters = 1
        self.allocate: Allocate = no_pinned
        self.alphabet: SequenceAlphabet = "nucleotide"
        self.header: HeaderLines | None = None
        self.paired = False
        self._alignments: RecordInput | None = None
        self._dropped = dropped_tags(keep_read_groups)
        self.file = InputFile(path, threads, opened)
        self._opened = contextlib.ExitStack()
        self._opened.callback(self.file.close)
        if self.file.magic.startswith(RECORD_MAGICS):
            records = RecordInput(self.file, reference_path, threads, all_tags=False)
            self._alignments = self._opened.enter_context(records)
            self.paired = bool(records.first_flag & _PAIRED)
            try:
                self.header = {kind: checked_lines(records.header, f"@{kind}", ("ID",), path) for kind in ("RG", "PG")}
            except InputError:
                self.close()
                raise

    def chunks(self, batch_bases: int) -> Iterator[Chunk]:
        """The chunks of a FASTA or FASTQ file."""
        for chunk in read_file(self.file, batch_bases * _BYTES_PER_BASE, self.inflaters, self.allocate):
            yield replace(chunk, comments=self._comments, alphabet=self.alphabet)

    def records(self, batch_bases: int) -> Iterator[Records]:
        """The records of a file in input order, most of them unparsed."""
        if self._alignments is None:
            yield from self.chunks(batch_bases)
            return
        for chunk in self._alignments.chunks(min(batch_bases * _BYTES_PER_BASE, _MAX_BYTES), gathered=True):
            yield RecordReads(chunk, self.path, self._dropped)

    def items(self, batch_bases: int) -> Iterator[Chunk | SequenceBatch | LongRecord]:
        """The records of a file in input order, as chunks if it is FASTA or FASTQ. A FASTA record that does not fit a
        batch is a :class:`LongRecord`.
        """
        size = batch_bases * _BYTES_PER_BASE
        if self._alignments is not None:
            yield from (records.columns() for records in self.records(batch_bases))
            return
        yield from read_chunks(source_of(self.file), size, long_records=True)

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> ReadSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def joined_header(sources: Sequence[ReadSource], keep_read_groups: bool = True) -> HeaderLines | None:
    """The joint header of several files: the first one's, with the read groups and programs that it lacks; None for
    FASTA and FASTQ.

    Args:
        keep_read_groups: see :class:`ReadSource`.

    Raises:
        InputError: some files have a header and some have none, or their read groups contradict each other.
    """
    first, *others = sources
    header = None if first.header is None else dict(first.header)
    for source in others:
        if (source.header is None) != (header is None):
            raise InputError(f"not in the format of {shown_input(first.path)}: FASTA and FASTQ, or BAM", source.path)
        if header is None or source.header is None:
            continue
        groups = {group["ID"]: group for group in header.get("RG", [])}
        for group in source.header.get("RG", []) if keep_read_groups else []:
            if groups.setdefault(group["ID"], group) != group:
                raise InputError(
                    f"its read group '{in_utf8(group['ID'])}' differs from the one before (give -R)", source.path
                )
        programs = {program["ID"]: program for program in (*source.header.get("PG", []), *header.get("PG", []))}
        header |= {"RG": list(groups.values()), "PG": list(programs.values())}
    return header


def read_file(file: InputFile, chunk_bytes: int, inflaters: int = 1, allocate: Allocate = no_pinned) -> Iterator[Chunk]:
    """The chunks of a FASTA or FASTQ file; arguments: see :class:`ReadSource`."""
    if file.regular and not (file.plain or file.bgzf):
        return _prefetched_chunks(file, chunk_bytes, inflaters, allocate)
    return read_chunks(InPieces(file) if file.in_pieces else source_of(file, allocate=allocate), chunk_bytes)


def _prefetched_chunks(file: InputFile, chunk_bytes: int, inflaters: int, allocate: Allocate) -> Iterator[Chunk]:
    """The chunks of a compressed file, inflated by one thread or several and cut by another, ahead of the reader. So
    both files of pairs are read in parallel.
    """
    several = inflaters > 1 and file.one_stream
    inflated = file.inflated(inflaters) if several else _parts(file, min(tuning.PART_BYTES, chunk_bytes))
    parts = file.ahead(inflated, tuning.PARTS_AHEAD)
    chunks = read_chunks(Streamed(TextOfPieces(file.path, parts), allocate=allocate), chunk_bytes)
    return file.ahead(chunks, tuning.CHUNKS_AHEAD)


def _parts(file: InputFile, size: int) -> Iterator[NDArray[np.uint8]]:
    """A file's text in parts of ``size`` bytes, in a ring of buffers with one for the reader and one for each part
    ahead of it.
    """
    for memory in itertools.cycle(np.empty((1 + tuning.PARTS_AHEAD, size), np.uint8)):
        if not (count := file.readinto(memory.data)):
            return
        yield memory[:count]


class Records(Protocol):
    """Records of one file: a chunk, or parsed columns."""

    def columns(self) -> SequenceBatch:
        """
        Raises:
            InputError: one is malformed.
        """


@dataclass(frozen=True)
class RecordReads:
    """The reads of records of SAM, BAM or CRAM.

    Attributes:
        path: the file's path, for messages.
        dropped: tags to drop (:func:`dropped_tags`).
    """

    chunk: RecordChunk
    path: str
    dropped: str

    def columns(self) -> SequenceBatch:
        records = self.chunk.records()
        with STEPS.at("parse"):
            try:
                fields = _native.bam_reads(records, self.dropped)
            except ValueError as error:
                why = f"is damaged: {error}" if str(error).startswith("a ") else str(error)
                raise InputError(why, self.path) from None
        return SequenceBatch(*fields[:-1], flags=fields[-1])


@dataclass(frozen=True)
class Reads:
    """Reads of one file, or the mates of as many pairs in two files: text, or columns.

    Attributes:
        sides: the records of each file.
        paths: of the files, for messages.
        check_names: the mates of a pair must have one name (but for /1 and /2).
        all_dots: all names end in .1 or .2, the mates' numbers.
        single: no read of the one file may be one of a pair.
        read_group: ID of their own read group, if any.
    """

    sides: tuple[Records, ...]
    paths: tuple[str, ...] = ()
    check_names: bool = True
    all_dots: bool = False
    single: bool = False
    read_group: str | None = None

    @property
    def paired(self) -> bool:
        """Whether they come from two files."""
        return len(self.sides) == 2

    @property
    def texts(self) -> tuple[FastqText, ...]:
        """The sides if devices can parse all of them, else none."""
        texts = tuple(side for side in self.sides if isinstance(side, FastqText))
        return texts if len(texts) == len(self.sides) else ()

    def columns(self) -> SequenceBatch:
        """The reads, mates as neighbours.

        Raises:
            InputError: a record is malformed, names differ, or one is of a pair where there should be none.
        """
        batches = [side.columns() for side in self.sides]
        if self.paired:
            return self._joined(*batches)
        (batch,) = batches
        if self.single and batch.flags is not None and (batch.flags & _PAIRED).any():
            name = batch.name(int(np.argmax(batch.flags & _PAIRED)))
            raise InputError(f"'{name}' is one of a pair, and the first read is not (give -p)", self.paths[0])
        return batch

    def parsed(self) -> Reads:
        """The reads as columns."""
        return Reads((self.columns(),), self.paths, read_group=self.read_group)

    def as_texts(self) -> Reads:
        """The reads with chunks made :attr:`texts`, if devices can parse all of them; else unchanged."""
        with STEPS.at("parse"):
            found = (FastqText.of(side) for side in self.sides if isinstance(side, Chunk))
            texts = tuple(text for text in found if text is not None)
        return replace(self, sides=texts) if len(texts) == len(self.sides) else self

    def _joined(self, first: SequenceBatch, second: SequenceBatch) -> SequenceBatch:
        try:
            arrays = _native.join_pairs(first.native, second.native, self.check_names, self.all_dots)
        except ValueError as error:
            raise InputError(str(error), " and ".join(map(shown_input, self.paths))) from None
        joined = SequenceBatch(*arrays)
        check_count("reads of pairs", 2 * len(first), len(joined))
        if first.flags is None or second.flags is None:
            return joined
        return replace(joined, flags=np.stack((first.flags, second.flags), axis=1).reshape(-1))
