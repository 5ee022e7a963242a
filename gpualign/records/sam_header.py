"""Headers of SAM and BAM that gpualign writes, and the tags that it drops from the reads of such files."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.errors import InputError, UsageError
from gpualign.records.contigs import Contigs
from gpualign.records.header_text import bytes_of, text_of
from gpualign.sequences.reference import Reference
from gpualign.version import __version__

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
_HEADER_LINE = re.compile(r"@(CO\t.*|[A-Za-z][A-Za-z](\t[A-Za-z][A-Za-z0-9]:[^\t]*)+)")
#: contig names by the SAM specification, section 1.2.1, and with bytes beyond ASCII, which htslib passes on
_CONTIG_NAME = re.compile(r"[0-9A-Za-z!#$%&+./:;?@^_|~\x80-\xff-][0-9A-Za-z!#$%&*+./:;=?@^_|~\x80-\xff-]*")


def dropped_tags(keep_read_groups: bool) -> str:
    """The tags to drop from an input, three characters each: name and type, ``*`` for any type."""
    tags = _ALIGNMENT_TAGS if keep_read_groups else _ALIGNMENT_TAGS + " RG"
    return "".join(tag[:2] + (tag[3:] or "*") for tag in tags.split())


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
        read_group: an @RG line, or None to keep the lines of ``source``.
        source: @RG and @PG lines of the input file, as :attr:`ReadSource.header`; the latter are kept and chained.
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
    return bytes_of("\n".join(lines) + "\n")


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
    ours = text_of(header).removesuffix("\n").split("\n")
    if bad := next((line for line in lines if not _HEADER_LINE.fullmatch(line)), None):
        raise UsageError(f"not a line of a SAM header: {bad[:60]!r}")
    theirs = {kind: [line for line in lines if line.startswith(kind)] for kind in ("@HD", "@SQ")}
    if theirs["@SQ"] and [_contig(line) for line in theirs["@SQ"]] != [
        _contig(line) for line in ours if line.startswith("@SQ")
    ]:
        raise UsageError("the given @SQ lines are not of the reference's contigs")
    others = [line for line in lines if not line.startswith(("@HD", "@SQ"))]
    kept = {kind: theirs[kind] or [line for line in ours if line.startswith(kind)] for kind in theirs}
    rest = [line for line in ours if not line.startswith(("@HD", "@SQ"))]
    programs = next(i for i, line in enumerate(rest) if line.startswith("@PG"))
    whole = [*kept["@HD"], *kept["@SQ"], *rest[:programs], *others, *rest[programs:]]
    return bytes_of("\n".join(whole) + "\n")


def _contig(line: str) -> tuple[str | None, str | None]:
    fields = {field[:3]: field[3:] for field in line.split("\t")[1:]}
    return fields.get("SN:"), fields.get("LN:")


def bam_header(text: bytes, contigs: Contigs) -> bytes:
    """A SAM header as a BAM file begins (SAM specification, section 4.2)."""
    table = _native.bam_contig_table(*contigs.shown_name_bytes, contigs.lengths.astype(np.int64))
    return b"".join((b"BAM\1", struct.pack("<i", len(text)), text, table.data))


def _header_line(kind: str, fields: dict[str, str]) -> str:
    return "\t".join([kind, *(f"{key}:{value}" for key, value in fields.items())])


def program_line(programs: list[dict[str, str]], command_line: str) -> str:
    """Our @PG line, after the lines of ``programs``."""
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
