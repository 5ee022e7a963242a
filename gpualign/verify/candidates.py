"""Candidate regions: TSV, BED6, PAF, or the positions of alignments in SAM, BAM or CRAM."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign._native import NameIndex
from gpualign.errors import InputError
from gpualign.io.fastx import Chunk
from gpualign.io.fastx_format import SAM_WITHOUT_HEADER, is_sam_line
from gpualign.io.files import InputFile
from gpualign.io.lines import after_last_line, read_line_chunks

TextKind = Literal["tsv", "bed", "paf"]
#: alignments in one batch
_ALIGNMENTS = 1 << 16
_HEADER_TAGS = (b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t", b"@CO\t")
#: the column that names the query
_QUERY_COLUMN = {"tsv": 0, "paf": 0, "bed": 3}


@dataclass(frozen=True)
class Candidates:
    """``n`` candidate regions.

    Attributes:
        query, target: int32 (n,), numbers of the query and the target.
        begin, end: int64 (n,), half-open intervals on the target, not yet clipped to it.
        before, after: int32 (n,), query bases on either side of the aligned part, in the target's direction (PAF, SAM).
        strand: uint8 (n,), 0 forward, 1 reverse, 2 not said.
        widen: the regions are those of alignments, to be widened by what may have been missed.
    """

    query: NDArray[np.int32]
    target: NDArray[np.int32]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    strand: NDArray[np.uint8]
    widen: bool

    @classmethod
    def of_regions(
        cls,
        query: NDArray[np.int32],
        target: NDArray[np.int32],
        begin: NDArray[np.int64],
        end: NDArray[np.int64],
    ) -> Candidates:
        """Regions as they are, on the forward strand."""
        nothing = np.zeros(len(query), np.int32)
        return cls(query, target, begin, end, nothing, nothing, np.zeros(len(query), np.uint8), widen=False)

    def slice(self, first: int, last: int) -> Candidates:
        """Candidates [first, last)."""
        columns = ("query", "target", "begin", "end", "before", "after", "strand")
        return replace(self, **{name: getattr(self, name)[first:last] for name in columns})

    def __len__(self) -> int:
        return len(self.query)


@dataclass(frozen=True)
class CandidateChunk:
    """Whole lines of one kind, unparsed."""

    lines: Chunk
    kind: TextKind


@contextlib.contextmanager
def lines_named(chunk: CandidateChunk) -> Iterator[None]:
    """Convert the native parser's error about a line to an :class:`InputError` with its number in the file."""
    try:
        yield
    except ValueError as error:
        offset, what = error.args[0].split("\t", 1)
        raise chunk.lines.error(what, int(offset)) from None


def read_candidates(
    path: str, chunk_bytes: int, grouped: bool, queries: NameIndex, targets: NameIndex, remote: bool = False
) -> Iterator[CandidateChunk | Candidates]:
    """Chunks of a candidate file in order, lines unparsed and alignments parsed.

    Args:
        grouped: keep the lines of a query that stand together in one chunk.
        remote: lines are parsed on other machines.

    Raises:
        InputError: an unknown format, damaged input, a name that is not among the queries or targets.
    """
    with InputFile(path) as file:
        if file.magic.startswith((b"BAM\x01", b"CRAM", *_HEADER_TAGS)):
            yield from _read_alignments(file, grouped, queries, targets)
            return
        head = file.read(1 << 16)
        kind = sniff(head, path)
        if kind is not None:
            yield from _read_lines(file, head, kind, chunk_bytes, grouped, remote)


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
    file: InputFile, head: bytes, kind: TextKind, chunk_bytes: int, grouped: bool, remote: bool
) -> Iterator[CandidateChunk]:
    def before_last_group(text: NDArray[np.uint8], from_line: bool) -> int:
        begin = 0 if from_line else text.tobytes().find(b"\n") + 1
        border = int(_native.last_group_border(text[begin:], _QUERY_COLUMN[kind]))
        return border and begin + border

    for chunk in read_line_chunks(file, chunk_bytes, head, before_last_group if grouped else after_last_line, remote):
        yield CandidateChunk(chunk, kind)


def _read_alignments(file: InputFile, grouped: bool, queries: NameIndex, targets: NameIndex) -> Iterator[Candidates]:
    import pysam

    from gpualign.io.htslib_input import HtslibInput

    path = file.path
    rows: list[tuple[int, int, int, int, int, int, int]] = []
    try:
        # the message about a missing index or EOF block goes to standard error otherwise
        verbosity = pysam.set_verbosity(0)
        source = HtslibInput(file)
        with contextlib.closing(source), pysam.AlignmentFile(source.source, check_sq=False) as alignments:
            numbers = {contig: targets.find(contig) for contig in alignments.references}
            last = None
            for record in alignments:
                if record.is_unmapped or record.cigartuples is None:
                    continue
                if len(rows) >= _ALIGNMENTS and not (grouped and record.query_name == last):
                    yield _as_candidates(rows)
                    rows = []
                last = record.query_name
                rows.append(_row(record, numbers, queries, path))
            source.check_end()
        pysam.set_verbosity(verbosity)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as SAM, BAM or CRAM: {error}", path) from error
    if rows:
        yield _as_candidates(rows)


def _row(record: Any, numbers: dict[str, int], queries: Any, path: str) -> tuple[int, int, int, int, int, int, int]:
    target = numbers[record.reference_name]
    if target < 0:
        raise InputError(f"no target is named '{record.reference_name}'", path)
    query = queries.find(record.query_name)
    if query < 0:
        mates = (1, 2) if not record.is_paired else (2,) if record.is_read2 else (1,)  # names lose them in single reads
        found = [number for number in (queries.find(f"{record.query_name}/{mate}") for mate in mates) if number >= 0]
        if len(found) != 1:
            what = "two queries are" if found else "no query is"
            raise InputError(
                f"{what} named '{record.query_name}', '{record.query_name}/1' or '{record.query_name}/2'", path
            )
        query = found[0]
    clips = [0, 0]
    for side, operations in ((0, record.cigartuples), (1, reversed(record.cigartuples))):
        for operation, length in operations:
            if operation not in (4, 5):  # soft and hard clips
                break
            clips[side] += length
    return query, target, record.reference_start, record.reference_end, clips[0], clips[1], int(record.is_reverse)


def _as_candidates(rows: list[tuple[int, int, int, int, int, int, int]]) -> Candidates:
    columns = np.array(rows, np.int64).T
    return Candidates(
        columns[0].astype(np.int32),
        columns[1].astype(np.int32),
        np.ascontiguousarray(columns[2]),
        np.ascontiguousarray(columns[3]),
        columns[4].astype(np.int32),
        columns[5].astype(np.int32),
        columns[6].astype(np.uint8),
        widen=True,
    )
