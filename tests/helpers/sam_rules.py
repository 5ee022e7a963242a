"""The rules of SAM output as a judge that knows nothing of the program: the specification's, and ours.

:func:`broken_rules` reads SAM text and returns a sentence for each breach. Sources: SAM specification 1.6; the rules
that Picard's ValidateSamFile checks beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

from tests.helpers.sequences import reverse_complement
from tests.reference.alignment import replay

PAIRED, PROPER, UNMAPPED, MATE_UNMAPPED, REVERSE, MATE_REVERSE, FIRST, SECOND, SECONDARY = (1 << i for i in range(9))
SUPPLEMENTARY = 0x800

_FIELDS = [
    re.compile(pattern + r"\Z")
    for pattern in (
        r"[!-?A-~]{1,254}",
        r"[0-9]{1,5}",
        r"(\*|[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*)",
        r"[0-9]+",
        r"[0-9]{1,3}",
        r"(\*|([1-9][0-9]*[MIDNSHP=X])+)",
        r"(\*|=|[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*)",
        r"[0-9]+",
        r"-?[0-9]+",
        r"(\*|[A-Z]+)",
        r"[!-~]+",
    )
]
_TAG = re.compile(
    r"[A-Za-z][A-Za-z0-9]:(A:[!-~]|i:[-+]?[0-9]+|f:[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?|Z:[ -~]*|"
    r"H:([0-9A-F][0-9A-F])*|B:[cCsSiIf](,[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?)*)\Z"
)
_CIGAR = re.compile(r"(\d+)([MIDNSHP=X])")


@dataclass(frozen=True)
class Record:
    """One line, taken apart."""

    name: str
    flag: int
    contig: str
    position: int
    mapq: int
    cigar: str
    next_contig: str
    next_position: int
    length: int
    sequence: str
    quality: str
    tags: dict[str, str]

    @classmethod
    def of(cls, fields: list[str]) -> Record:
        numbers = [int(fields[i]) for i in (1, 3, 4, 7, 8)]
        tags = {field[:2]: field[5:] for field in fields[11:]}
        flag, position, mapq, next_position, length = numbers
        return cls(
            fields[0], flag, fields[2], position, mapq, fields[5], fields[6], next_position, length, *fields[9:11], tags
        )

    def has(self, flags: int) -> bool:
        return bool(self.flag & flags)

    @property
    def mapped(self) -> bool:
        return not self.has(UNMAPPED)

    @property
    def operations(self) -> list[tuple[int, str]]:
        return [(int(n), op) for n, op in _CIGAR.findall(self.cigar)]

    @property
    def end(self) -> int:
        """1-based, inclusive."""
        return self.position + sum(n for n, op in self.operations if op in "MDN=X") - 1

    @property
    def strand(self) -> str:
        return "-" if self.has(REVERSE) else "+"


def broken_rules(
    sam: str,
    genome: Mapping[str, str],
    reads: Mapping[tuple[str, int], tuple[str, str]] | None = None,
    by_coordinate: bool = False,
) -> list[str]:
    """A sentence for each breach.

    Args:
        sam: all text.
        genome: bases by contig, in order.
        reads: (name, end: 0 for a single read, 1, 2) -> bases and qualities as given; all must be there, once.
        by_coordinate: records should be in order of coordinates; otherwise in that of ``reads``.
    """
    lines = sam.splitlines()
    count = next((i for i, line in enumerate(lines) if not line.startswith("@")), len(lines))
    header, body = lines[:count], [line.split("\t") for line in lines[count:]]
    found = [f"header: {what}" for what in _header(header, genome, by_coordinate)]
    found += [f"{fields[0]}: {what}" for fields in body for what in _syntax(fields)]
    if found:
        return found
    groups = {line.split("ID:")[1].split("\t")[0] for line in header if line.startswith("@RG")}
    records = [Record.of(fields) for fields in body]
    for record in records:
        found += [f"{record.name} {record.flag}: {what}" for what in _record(record, genome, groups)]
    found += [f"order: {what}" for what in _order(records, list(genome), by_coordinate)]
    templates: dict[str, list[Record]] = {}
    for record in records:
        templates.setdefault(record.name, []).append(record)
    for name, template in templates.items():
        found += [f"{name}: {what}" for what in _template(template)]
    if reads is not None:
        found += _reads(records, reads, by_coordinate)
    return found


def _header(lines: list[str], genome: Mapping[str, str], by_coordinate: bool) -> Iterator[str]:
    order = "SO:coordinate" if by_coordinate else "SO:unsorted\tGO:query"
    if not lines or lines[0] != f"@HD\tVN:1.6\t{order}":
        yield f"begins with {lines[:1]}"
    named = [line.split("\t")[1:3] for line in lines if line.startswith("@SQ")]
    if named != [[f"SN:{name}", f"LN:{len(text)}"] for name, text in genome.items()]:
        yield "@SQ lines are not the reference's contigs in order"
    programs = [dict(f.split(":", 1) for f in line.split("\t")[1:]) for line in lines if line.startswith("@PG")]
    if not programs or programs[-1].get("PN") != "gpualign" or not {"ID", "VN", "CL"} <= set(programs[-1]):
        yield "no complete @PG line of ours at the end"
    for kind, values in (("@PG", [program.get("ID") for program in programs]), ("@RG", _identifiers(lines))):
        if len(set(values)) < len(values) or None in values:
            yield f"{kind} IDs missing or not unique"
    if any(program["PP"] not in [p.get("ID") for p in programs] for program in programs if "PP" in program):
        yield "PP names no program"
    if any(not re.fullmatch(r"[ -~\t]*", line) for line in lines if not line.startswith("@CO")):
        yield "characters that are not printable ASCII"


def _identifiers(lines: list[str]) -> list[str | None]:
    groups = [dict(f.split(":", 1) for f in line.split("\t")[1:]) for line in lines if line.startswith("@RG")]
    return [group.get("ID") for group in groups]


def _syntax(fields: list[str]) -> Iterator[str]:
    if len(fields) < 11:
        yield f"{len(fields)} fields"
        return
    for i, (pattern, field) in enumerate(zip(_FIELDS, fields, strict=False)):
        if not pattern.match(field):
            yield f"field {i + 1} is {field!r}"
    for field in fields[11:]:
        if not _TAG.match(field):
            yield f"optional field {field!r}"
    names = [field[:2] for field in fields[11:]]
    if len(set(names)) < len(names):
        yield "a tag twice"


def _record(record: Record, genome: Mapping[str, str], groups: set[str]) -> Iterator[str]:
    if groups and record.tags.get("RG") not in groups:
        yield "RG missing or not in the header"
    if record.sequence != "*" and record.quality != "*" and len(record.sequence) != len(record.quality):
        yield "SEQ and QUAL differ in length"
    if not record.has(PAIRED):
        if record.has(PROPER | MATE_UNMAPPED | MATE_REVERSE | FIRST | SECOND):
            yield "flags of pairs without 0x1"
        if (record.next_contig, record.next_position, record.length) != ("*", 0, 0):
            yield "mate fields without a mate"
    elif record.has(FIRST) == record.has(SECOND):
        yield "neither first nor second of a pair, or both"
    if record.has(SECONDARY) and record.has(SUPPLEMENTARY):
        yield "secondary and supplementary"
    yield from _mapped(record, genome) if record.mapped else _unmapped(record)


def _unmapped(record: Record) -> Iterator[str]:
    if record.cigar != "*" or record.mapq or {"NM", "MD", "AS", "SA"} & set(record.tags):
        yield "unmapped, with CIGAR, MAPQ or tags of an alignment"
    if record.has(PROPER | SECONDARY | SUPPLEMENTARY):
        yield "unmapped, and proper, secondary or supplementary"
    if not record.has(PAIRED) and (record.has(REVERSE) or (record.contig, record.position) != ("*", 0)):
        yield "unmapped, with a position"
    if record.has(REVERSE):
        yield "unmapped, with a strand"


def _mapped(record: Record, genome: Mapping[str, str]) -> Iterator[str]:
    if record.contig not in genome or record.cigar == "*" or record.position < 1:
        yield "mapped, without a position"
        return
    if record.end > len(genome[record.contig]):
        yield "ends beyond its contig"
        return
    if record.mapq > 60:
        yield f"MAPQ {record.mapq}"
    changed = "".join(op for _, op in record.operations)
    if not re.fullmatch(r"(H?S?|S?)[M=X]([MIDN=X]*[M=X])?(S?H?|S?)", changed):
        yield f"CIGAR {record.cigar}: clips inside it, or a gap at its end"
    if any(a == b for a, b in pairwise(changed)):
        yield f"CIGAR {record.cigar}: neighbours of one kind"
    if "H" in changed and not record.has(SUPPLEMENTARY | SECONDARY):
        yield "a hard clip in a primary record"
    missing = {"NM", "MD", "AS"} - set(record.tags)
    if missing:
        yield f"no {', '.join(sorted(missing))}"
    if record.sequence == "*":
        if not record.has(SECONDARY):
            yield "no SEQ in a record that is not secondary"
        return
    if sum(n for n, op in record.operations if op in "MIS=X") != len(record.sequence):
        yield "CIGAR and SEQ differ in length"
        return
    try:
        edits, md, _ = replay(record.sequence, genome[record.contig], record.position - 1, _without_hard(record.cigar))
    except AssertionError:
        yield f"CIGAR {record.cigar}: = and X are not where bases are equal and unequal"
        return
    if (record.tags.get("NM"), record.tags.get("MD")) != (str(edits), md):
        yield f"NM and MD are {record.tags.get('NM')} {record.tags.get('MD')}, not {edits} {md}"


def _without_hard(cigar: str) -> str:
    return re.sub(r"\d+H", "", cigar)


def _order(records: list[Record], contigs: list[str], by_coordinate: bool) -> Iterator[str]:
    if by_coordinate:
        coordinates = [(contigs.index(r.contig) if r.contig != "*" else len(contigs), r.position) for r in records]
        if coordinates != sorted(coordinates):
            yield "records are not in order of coordinates"
        return
    seen = [name for name, _ in groupby(record.name for record in records)]
    if len(set(seen)) < len(seen):
        yield "records of a template are not neighbours"
    ends = [(r.name, r.flag & (FIRST | SECOND)) for r in records]
    for _, group in groupby(range(len(records)), key=lambda i: ends[i]):
        if records[next(group)].has(SECONDARY | SUPPLEMENTARY):
            yield "a read's first record is not its primary one"


def _template(records: list[Record]) -> Iterator[str]:
    """What the records of one name must say of each other."""
    ends: dict[int, list[Record]] = {}
    for record in records:
        ends.setdefault(record.flag & (FIRST | SECOND), []).append(record)
    primary = {}
    for end, group in ends.items():
        chosen = [record for record in group if not record.has(SECONDARY | SUPPLEMENTARY)]
        if len(chosen) != 1:
            yield f"{len(chosen)} primary records"
            return
        primary[end] = chosen[0]
        yield from _parts(group)
    if 0 in ends:
        return
    if set(ends) != {FIRST, SECOND}:
        yield "an end of a pair is missing"
        return
    for end, other in ((FIRST, SECOND), (SECOND, FIRST)):
        for record in ends[end]:
            yield from _mate_fields(record, primary[end], primary[other])
    one, two = primary[FIRST], primary[SECOND]
    if one.flag & PROPER != two.flag & PROPER:
        yield "0x2 at one end alone"
    if one.length != -two.length:
        yield f"TLEN {one.length} and {two.length}"
    yield from _template_length(one, two)


def _mate_fields(record: Record, primary: Record, mate: Record) -> Iterator[str]:
    if record.has(MATE_UNMAPPED) == mate.mapped:
        yield "0x8 is not the mate's 0x4"
    if record.has(MATE_REVERSE) != mate.has(REVERSE):
        yield "0x20 is not the mate's 0x10"
    coordinate = (mate.contig, mate.position) if mate.contig != "*" else ("*", 0)
    shown = record.contig if record.next_contig == "=" else record.next_contig
    if (shown, record.next_position) != coordinate:
        yield f"RNEXT and PNEXT are {shown} {record.next_position}, the mate is at {coordinate}"
    if record.next_contig == record.contig != "*":
        yield "RNEXT is spelled out where = is meant"
    if not primary.mapped and mate.mapped and (record.contig, record.position) != coordinate:
        yield "an unmapped mate does not have the other's position"
    wanted = (mate.cigar, str(mate.mapq)) if mate.mapped else (None, None)
    if (record.tags.get("MC"), record.tags.get("MQ")) != wanted:
        yield f"MC and MQ are {record.tags.get('MC')} {record.tags.get('MQ')}, the mate has {wanted}"


def _template_length(one: Record, two: Record) -> Iterator[str]:
    together = one.mapped and two.mapped and one.contig == two.contig
    if not together:
        if one.length or one.has(PROPER):
            yield "TLEN or 0x2 where the ends are not both on one contig"
        return
    first, second = (end.end + 1 if end.has(REVERSE) else end.position for end in (one, two))
    if one.length != second - first:
        yield f"TLEN {one.length} where {second - first} leads from one first base to the other"


def _parts(group: list[Record]) -> Iterator[str]:
    """SA of each part of a read names all others: the primary one first."""
    parts = [record for record in group if not record.has(SECONDARY)]
    for record in group:
        others = [part for part in parts if part is not record]
        if record.has(SECONDARY) or len(parts) == 1:
            if "SA" in record.tags:
                yield "SA where the read has one part"
            continue
        named = [entry.split(",") for entry in record.tags.get("SA", "").rstrip(";").split(";")]
        wanted = [
            [o.contig, str(o.position), o.strand, o.cigar.replace("H", "S"), str(o.mapq), o.tags["NM"]] for o in others
        ]
        if named != wanted:
            yield f"SA is {named}, the other parts are {wanted}"


def _reads(
    records: list[Record], reads: Mapping[tuple[str, int], tuple[str, str]], by_coordinate: bool
) -> Iterator[str]:
    found = []
    for record in records:
        end = 1 if record.has(FIRST) else 2 if record.has(SECOND) else 0
        if (record.name, end) not in reads:
            yield f"{record.name} {end}: was not given"
            continue
        if not record.has(SECONDARY | SUPPLEMENTARY):
            found.append((record.name, end))
        yield from (f"{record.name} {end}: {what}" for what in _as_sequenced(record, *reads[record.name, end]))
    if sorted(found) != sorted(reads) or (not by_coordinate and found != list(reads)):
        yield "the reads are not all there once" + ("" if by_coordinate else ", or not in order")


def _as_sequenced(record: Record, bases: str, qualities: str) -> Iterator[str]:
    if record.sequence == "*" and (record.has(SECONDARY) or not bases):
        return
    if record.has(REVERSE):
        bases, qualities = reverse_complement(bases), qualities[::-1]
    front, back = (int(n or 0) for n in re.fullmatch(r"(?:(\d+)H)?.*?(?:(\d+)H)?", record.cigar).groups())  # type: ignore[union-attr]
    part = slice(front, len(bases) - back)
    if (record.sequence, record.quality) != (bases[part], qualities[part] if qualities else "*"):
        yield "SEQ or QUAL is not the read's"
