"""Reads from SAM through htslib, and the headers of our own SAM and BAM."""

from __future__ import annotations

import contextlib
import re
import struct
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from gpualign.errors import InputError, UsageError, counted
from gpualign.io.contigs import Contigs
from gpualign.io.files import InputFile
from gpualign.io.htslib_input import HtslibInput
from gpualign.io.sam_lines import BASES_AS_EQUAL, what_is_wrong
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.reference import Reference
from gpualign.version import __version__

if TYPE_CHECKING:
    import pysam

_REVERSE = 0x10
_SECONDARY_OR_SUPPLEMENTARY = 0x900
#: tags that describe an alignment, from the programs' documentation; they are dropped from the input. With a type where
#: another program uses the name for a property of the read.
_ALIGNMENT_TAGS = (
    "NM MD AS SA MC MQ UQ AM BQ CC CG CM CP H0 H1 H2 HI IH NH OA OC OP PG PQ SM TS "  # SAM's
    "XS XA XB XR HN pa:f X0 X1 XE:i XF:i XG:i XM:i XN:i XO:i XT:A "  # bwa
    "YF:Z YS:i YT:Z ZS:i Zs:Z "  # Bowtie 2, HISAT2
    "tp cm s1 s2 ms nn ts:A cg cs dv de rl zd "  # minimap2
    "jI jM nM "  # STAR
    "ct dc do dt mc ZQ DI:i DS:i DT "  # samtools, biobambam, Picard
    "ed"
)
#: tags of modified bases, which count from a read's first base, in the form of :func:`dropped_tags`
_MODIFICATION_TAGS = frozenset({"MM*", "ML*", "MN*", "Mm*", "Ml*"})
_COMPLEMENT = str.maketrans("ACGTRYSWKMBDHVN", "TGCAYRSWMKVHDBN")
_HEADER_LINE = re.compile(r"@(CO\t.*|[A-Za-z][A-Za-z](\t[A-Za-z][A-Za-z0-9]:[^\t]*)+)")
#: contig names by the SAM specification, section 1.2.1, and with bytes beyond ASCII, which htslib passes on
_CONTIG_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~\x80-\xff-][0-9A-Za-z!#$%&*+./:;=?@^_|~\x80-\xff-]*")
#: name, bases, qualities, tags, flags
_Row = tuple[bytes, bytes, bytes | None, bytes, int]


def dropped_tags(keep_read_groups: bool) -> str:
    """The tags to drop from an input, three characters each: name and type, ``*`` for any type."""
    tags = _ALIGNMENT_TAGS if keep_read_groups else _ALIGNMENT_TAGS + " RG"
    return "".join(tag[:2] + (tag[3:] or "*") for tag in tags.split())


class AlignmentReads:
    """The original reads of a SAM file (or another format of htslib): without secondary and supplementary records, in
    the sequencer's orientation, with tags and flags.

    Args:
        file: the input; htslib opens a file again, and gets standard input through a pipe.
        keep_read_groups: keep RG tags and @RG lines (False where the user names a read group).

    Attributes:
        header: pysam's dictionary.
        paired: the first read is one of a pair.

    Raises:
        InputError: not readable by htslib.
    """

    def __init__(self, file: InputFile, keep_read_groups: bool = True) -> None:
        self.path = file.path
        dropped = dropped_tags(keep_read_groups)
        self._dropped = {dropped[i : i + 3] for i in range(0, len(dropped), 3)}
        import pysam  # slow to import

        pysam.set_verbosity(0)  # its messages would mix with ours
        try:
            self._input = HtslibInput(file)
            with contextlib.closing(self._input):
                self._file = pysam.AlignmentFile(self._input.source, "r", check_sq=False)
            # pysam may refuse what htslib accepts, and text that is not UTF-8
            self.header: dict[str, Any] = self._file.header.to_dict()
        except (OSError, ValueError, AssertionError) as error:
            raise InputError(f"cannot be read as SAM, BAM or CRAM: {error}", file.path) from error
        self._records: Iterator[Any] = self._file.fetch(until_eof=True)
        self._regular = file.regular
        try:
            first = next(self._records, None)
        except (OSError, ValueError) as error:
            raise self._malformed(0, 0, error) from error
        self.paired = first is not None and first.is_paired
        if first is not None:
            self._records = chain([first], self._records)

    def items(self, bases_per_batch: int) -> Iterator[SequenceBatch]:
        """Batches of about ``bases_per_batch`` bases.

        Raises:
            InputError: a truncated or damaged file.
        """
        rows: list[_Row] = []
        bases = 0
        count = before = 0
        try:
            for record in self._records:
                before += 1
                if record.flag & _SECONDARY_OR_SUPPLEMENTARY:
                    continue
                count += 1
                row = self._row(record)
                rows.append(row)
                bases += len(row[1]) + 1
                if bases >= bases_per_batch:
                    yield _batch(rows)
                    rows, bases = [], 0
            self._input.check_end()
        except (OSError, ValueError) as error:
            raise self._malformed(before, count, error) from error
        if rows:
            yield _batch(rows)

    def _malformed(self, records: int, reads: int, error: Exception) -> InputError:
        """The error of the line after ``records`` records, ``reads`` of them primary."""
        line = sum(map(bool, str(self._file.header).split("\n"))) + records + 1
        what = what_is_wrong(self.path, line, self._file.references) if self._regular else None
        if what is not None:
            return InputError(what, self.path, line)
        what = f"truncated or damaged after {counted(reads, 'read')}: {error}"
        return InputError(what, self.path, None if self._regular else line)

    def _row(self, record: pysam.AlignedSegment) -> _Row:
        fields = record.to_string().split("\t")
        sequence, quality = fields[9].upper(), fields[10]
        if sequence == "*":
            sequence, quality = "", ""
        if "=" in sequence:
            raise InputError(f"record '{fields[0]}' {BASES_AS_EQUAL}", self.path)
        dropped = self._dropped | _MODIFICATION_TAGS if "H" in fields[5] else self._dropped
        tags = "\t".join(tag for tag in fields[11:] if not {tag[:2] + "*", tag[:2] + tag[3]} & dropped)
        if record.flag & _REVERSE:
            sequence, quality = sequence.translate(_COMPLEMENT)[::-1], quality[::-1] if quality != "*" else quality
        # htslib prints a missing quality string as "*"; a one-base read may have that as its quality
        missing = quality == "*" and record.query_qualities is None
        strings = sequence.encode(), None if missing else quality.encode()
        return fields[0].encode(), *strings, tags.encode(), record.flag

    def close(self) -> None:
        self._file.close()


def _batch(rows: list[_Row]) -> SequenceBatch:
    names, name_offsets = join_bytes([row[0] for row in rows])
    bases, base_offsets = join_bytes([row[1] for row in rows])
    qualities = None
    if any(row[2] is not None for row in rows):
        # a batch has qualities for all reads or none; tools write '!' (0) for reads without
        qualities, _ = join_bytes([b"!" * len(row[1]) if row[2] is None else row[2] for row in rows])
    tags, tag_offsets = join_bytes([row[3] for row in rows])
    flags = np.array([row[4] for row in rows], np.uint16)
    return SequenceBatch(names, name_offsets, bases, base_offsets, qualities, tags, tag_offsets, flags=flags)


def parse_read_group(text: str) -> tuple[str, str]:
    r"""``@RG\tID:x\tSM:y`` (with ``\t`` or real tabs) to (header line, ID).

    Raises:
        UsageError: it does not start with @RG, has no ID, or has a malformed field.
    """
    line = text.replace("\\t", "\t").strip("\r\n")
    fields = line.split("\t")
    if fields[0] != "@RG":
        raise UsageError(f"read group must start with '@RG', not {fields[0][:20]!r}")
    for field in fields[1:]:
        if len(field) < 4 or field[2] != ":" or not all(" " <= character <= "~" for character in field):
            raise UsageError(f"read group field {field!r} is not TAG:VALUE in printable ASCII")
    tags = [field[:2] for field in fields[1:]]
    if twice := [tag for tag in tags if tags.count(tag) > 1]:
        raise UsageError(f"read group has {twice[0]} twice")
    identifier = next((field[3:] for field in fields[1:] if field.startswith("ID:")), "")
    if not identifier:
        raise UsageError("read group has no ID (write '@RG\\tID:name\\tSM:sample')")
    return line, identifier


def sam_header(
    reference: Reference,
    command_line: str,
    read_group: str | None = None,
    source: dict[str, Any] | None = None,
    by_coordinate: bool = False,
    sequence_tags: list[str] | None = None,
    path: str | None = None,
) -> bytes:
    """The header of our output.

    Args:
        command_line: for @PG CL; characters other than printable ASCII become spaces.
        read_group: an @RG line, or None to keep those of ``source``.
        source: header of the input file (pysam's dictionary), whose @PG lines are kept and chained.
        by_coordinate: records are sorted by coordinate; False: in the order of the reads.
        sequence_tags: further fields of each @SQ line.
        path: the reference's path, for messages.

    Raises:
        InputError: SAM does not allow a contig's name.
    """
    if bad := next((name for name in reference.names if not _CONTIG_NAME.fullmatch(name)), None):
        raise InputError(
            f"SAM does not allow the contig name {bad!r} (rename it: no * or = at its beginning, and no comma, "
            "bracket, quotation mark or backslash; PAF and tables can have it)",
            path,
        )
    lines = ["@HD\tVN:1.6\tSO:" + ("coordinate" if by_coordinate else "unsorted\tGO:query")]
    tags = sequence_tags or [""] * len(reference.names)
    lines += [
        f"@SQ\tSN:{name}\tLN:{length}{more}"
        for name, length, more in zip(reference.shown_names, reference.lengths.tolist(), tags, strict=True)
    ]
    source = source or {}
    if read_group is not None:
        lines.append(read_group)
    else:
        lines += [_header_line("@RG", group) for group in source.get("RG", [])]
    programs: list[dict[str, str]] = source.get("PG", [])
    lines += [_header_line("@PG", program) for program in programs]
    lines.append(program_line(programs, command_line))
    return ("\n".join(lines) + "\n").encode()


def in_ascii(text: str) -> str:
    """``text`` with a space for each character other than printable ASCII."""
    return "".join(character if " " <= character <= "~" else " " for character in text)


def with_lines(header: bytes, lines: Sequence[str]) -> bytes:
    """A header with the user's lines before @PG; the user's @HD and @SQ replace ours.

    Raises:
        UsageError: a line is malformed, or @SQ lines name other contigs.
    """
    if not lines:
        return header
    ours = header.decode().splitlines()
    if bad := next((line for line in lines if not _HEADER_LINE.fullmatch(line)), None):
        raise UsageError(f"not a line of a SAM header: {bad[:60]!r}")
    theirs = {kind: [line for line in lines if line.startswith(kind)] for kind in ("@HD", "@SQ")}
    if theirs["@SQ"] and [_contig(line) for line in theirs["@SQ"]] != [
        _contig(line) for line in ours if line.startswith("@SQ")
    ]:
        raise UsageError("the @SQ lines that are given are not those of the reference's contigs")
    others = [line for line in lines if not line.startswith(("@HD", "@SQ"))]
    kept = {kind: theirs[kind] or [line for line in ours if line.startswith(kind)] for kind in theirs}
    rest = [line for line in ours if not line.startswith(("@HD", "@SQ"))]
    programs = next(i for i, line in enumerate(rest) if line.startswith("@PG"))
    whole = [*kept["@HD"], *kept["@SQ"], *rest[:programs], *others, *rest[programs:]]
    return ("\n".join(whole) + "\n").encode()


def header_fields(line: str) -> dict[str, str]:
    """Fields of a line of a SAM header; what is no field is left out."""
    return dict(field.split(":", 1) for field in line.rstrip("\n").split("\t")[1:] if ":" in field)


def _contig(line: str) -> tuple[str | None, str | None]:
    fields = {field[:3]: field[3:] for field in line.split("\t")[1:]}
    return fields.get("SN:"), fields.get("LN:")


def bam_header(text: bytes, contigs: Contigs) -> bytes:
    """A SAM header as a BAM file begins (SAM specification, section 4.2)."""
    parts = [b"BAM\1", struct.pack("<i", len(text)), text, struct.pack("<i", len(contigs.shown_names))]
    for name, length in zip(contigs.shown_names, contigs.lengths.tolist(), strict=True):
        ended = name.encode() + b"\0"
        parts += [struct.pack("<i", len(ended)), ended, struct.pack("<i", length)]
    return b"".join(parts)


def _header_line(kind: str, fields: dict[str, str]) -> str:
    return "\t".join([kind, *(f"{key}:{value}" for key, value in fields.items())])


def program_line(programs: list[dict[str, str]], command_line: str) -> str:
    """Our @PG line, after those of ``programs``."""
    previous = f"\tPP:{_last_of_chain(programs)}" if programs else ""
    return f"@PG\tID:{_unused_program(programs)}\tPN:gpualign\tVN:{__version__}\tCL:{in_ascii(command_line)}{previous}"


def _unused_program(programs: list[dict[str, str]]) -> str:
    """An ID for our @PG line that none of these has."""
    taken = {program.get("ID") for program in programs}
    return next(name for n in range(len(taken) + 1) if (name := f"gpualign.{n}" if n else "gpualign") not in taken)


def _last_of_chain(programs: list[dict[str, str]]) -> str:
    """The program that no other names as its predecessor, the last such one; of a circle, the last."""
    previous = {program.get("PP") for program in programs}
    ends = [program["ID"] for program in programs if program["ID"] not in previous]
    return ends[-1] if ends else programs[-1]["ID"]
