"""Candidate regions: TSV, BED6, PAF, or the positions of alignments in SAM, BAM or CRAM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign._native import NameIndex
from gpualign.errors import InputError
from gpualign.records.record_input import RECORD_MAGICS, RecordChunk, RecordInput
from gpualign.sequences.columns import Columns
from gpualign.text.fastx import Chunk
from gpualign.text.fastx_format import SAM_WITHOUT_HEADER, is_sam_line
from gpualign.text.files import InputFile
from gpualign.text.lines import after_last_line, read_line_chunks

TextKind = Literal["tsv", "bed", "paf"]
#: the column that names the query
_QUERY_COLUMN = {"tsv": 0, "paf": 0, "bed": 3}


@dataclass(frozen=True)
class CandidateBatch(Columns):
    """``n`` candidate regions, on the forward strand.

    Attributes:
        query, target: int32 (n,), numbers of the query and the target.
        begin, end: int64 (n,), half-open intervals on the target, not yet clipped to it.
    """

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


@dataclass(frozen=True)
class LineCandidates:
    """Whole lines of one kind, unparsed."""

    lines: Chunk
    kind: TextKind

    def windows(self, queries: NameIndex, targets: NameIndex, *how: Any) -> Any:
        """What native ``windows_of`` makes of them.

        Raises:
            InputError: a line is malformed, or a name is not known; with the line's number.
        """
        try:
            return _native.windows_of_lines(self.lines.text(), self.kind[0], queries, targets, *how)
        except ValueError as error:
            offset, what = error.args[0].split("\t", 1)
            raise self.lines.error(what, int(offset)) from None


@dataclass(frozen=True)
class RecordCandidates:
    """Where records of SAM, BAM or CRAM are aligned. ``contigs``: their names, joined, and offsets."""

    records: RecordChunk
    contigs: tuple[NDArray[Any], NDArray[Any]]
    path: str

    def windows(self, queries: NameIndex, targets: NameIndex, *how: Any) -> Any:
        """What native ``windows_of`` makes of them.

        Raises:
            InputError: a record is damaged, or a name is not known.
        """
        try:
            return _native.windows_of_records(self.records.records(), *self.contigs, queries, targets, *how)
        except ValueError as error:
            raise InputError(str(error), self.path) from None


def read_candidates(path: str, chunk_bytes: int, grouped: bool) -> Iterator[LineCandidates | RecordCandidates]:
    """Candidates in file order.

    Args:
        grouped: keep runs of candidates with the same query in one chunk.

    Raises:
        InputError: the file is in none of the formats.
    """
    with InputFile(path) as file:
        if file.magic.startswith(RECORD_MAGICS):
            with RecordInput(file, all_tags=False) as records:
                names = records.contigs.shown_name_bytes
                for chunk in records.chunks(chunk_bytes, templates=grouped, gathered=True):
                    yield RecordCandidates(chunk, names, path)
            return
        head = file.read(1 << 16)
        kind = sniff(head, path)
        if kind is not None:
            yield from _read_lines(file, head, kind, chunk_bytes, grouped)


def sniff(head: bytes, path: str) -> TextKind | None:
    """The kind of a text by its first data line; None when there is none.

    Raises:
        InputError: the line is none of the known kinds.
    """
    for number, raw in enumerate(head.split(b"\n"), start=1):
        line = raw.rstrip(b"\r")
        if not line or line.startswith((b"#", b"query\ttarget\t")):
            continue
        fields = line.split(b"\t")
        if is_sam_line(line):
            raise InputError(f"is {SAM_WITHOUT_HEADER}", path, number)
        if len(fields) >= 12 and fields[4] in (b"+", b"-") and all(f.isdigit() for f in (*fields[1:4], *fields[6:9])):
            return "paf"
        if len(fields) >= 6 and fields[1].isdigit() and fields[2].isdigit() and fields[5] in (b"+", b"-", b"."):
            return "bed"
        if len(fields) >= 4 and fields[2].isdigit() and fields[3].isdigit():
            return "tsv"
        raise InputError(
            "neither TSV (query, target, start, end, strand), BED6, PAF nor SAM/BAM (columns are set apart by tabs)",
            path,
            number,
        )
    return None


def _read_lines(
    file: InputFile, head: bytes, kind: TextKind, chunk_bytes: int, grouped: bool
) -> Iterator[LineCandidates]:
    def before_last_group(text: NDArray[np.uint8], from_line: bool) -> int:
        begin = 0 if from_line else text.tobytes().find(b"\n") + 1
        border = int(_native.last_group_border(text[begin:], _QUERY_COLUMN[kind]))
        return border and begin + border

    for chunk in read_line_chunks(file, chunk_bytes, head, before_last_group if grouped else after_last_line):
        yield LineCandidates(chunk, kind)
