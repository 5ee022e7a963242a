"""The bad-input table: what is done to a good input, which inputs each command has, and what must come of it.

A row is a kind of bad (or merely unusual) input, a role is one input of one command. The test runs every cell, by file
and by standard input (of roles with the same parser, all cells of one and a few of the others, if not ``make soak``);
benchmarks/bad_input.py runs all cells, and other programs on the same files, for the docs.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import zstandard

from tests.helpers.bad_bytes import (
    bam,
    blocks,
    cut_frame,
    damaged,
    with_empty_member,
    wrong_checksum,
    wrong_zstd,
    zstd_frames,
)
from tests.helpers.command_lines import GOOD
from tests.helpers.files import Record, fasta, fastq
from tests.helpers.good_input import MATRIX, PAIRS, PLACES, READS, REFERENCE, renamed

WAYS = ("file", "stdin")

#: what may be expected of a cell
SAME = "same"  # exit 0 and the very bytes that the good input gives
ALL = "all"  # exit 0, and the report counts every record of the file
NONE = "none"  # exit 0, a warning, and no record
INVALID = 3  # exit 3, one sentence that names the file, and no output file
USAGE = 2  # exit 2, one sentence


@dataclass(frozen=True)
class Role:
    """One input of one command.

    Attributes:
        name: as the matrix's columns are headed.
        kind: "reads" (FASTA or FASTQ), "query" (one such record), "reference" (FASTA), "table" (lines of fields)
            or, for programs that read no FASTQ, "FASTA reads".
        arguments: of the command, with "{input}" for this input and "{folder}" for where the good inputs are.
        content: of a table, when it is good.
        ways: how the input can be given.
        counted: field of the JSON report that counts this input's records, or None.
    """

    name: str
    kind: str
    arguments: str
    counted: str | None = None
    content: bytes = b""
    ways: tuple[str, ...] = WAYS

    @property
    def command(self) -> str:
        return self.arguments.split()[0]

    @property
    def records(self) -> list[Record]:
        return {"reads": READS, "query": READS[:1], "reference": REFERENCE, "FASTA reads": READS}[self.kind]

    def write(self, records: list[Record]) -> bytes:
        return fasta(records, 60) if self.kind in ("reference", "FASTA reads") else fastq(records)

    @property
    def good(self) -> bytes:
        return self.content or self.write(self.records)


ROLES = [
    Role("map reads", "reads", "map {folder}/ref.fa {input}", "reads"),
    Role("map reference", "reference", "map {input} {folder}/reads.fq"),
    Role("index reference", "reference", "index {input}"),
    Role("mems queries", "reads", "mems {folder}/ref.fa {input}", "queries"),
    Role("mems reference", "reference", "mems {input} {folder}/reads.fq"),
    Role("align query", "reads", "align -l 12 -c 12 {folder}/ref.fa {input}", "queries"),
    Role("align reference", "reference", "align -l 12 -c 12 {input} {folder}/reads.fq"),
    Role("verify queries", "reads", "verify {folder}/reads.fq {input}", "candidates"),
    Role("verify targets", "reads", "verify {input} {folder}/reads.fq", "candidates"),
    Role("verify reference", "reference", "verify {input} {folder}/reads.fq --candidates {folder}/places.tsv"),
    Role(
        "verify candidates",
        "table",
        "verify {folder}/ref.fa {folder}/reads.fq --candidates {input}",
        "candidates",
        PLACES,
    ),
    Role("pairwise", "reads", "pairwise {input}", "sequences"),
    Role("pairwise list", "table", "pairwise {folder}/reads.fq --pairs {input}", "pairs", PAIRS),
    Role("pairwise matrix", "table", "pairwise {folder}/reads.fq --matrix {input}", None, MATRIX, ("file",)),
    Role("pairwise --max-gaps", "reads", "pairwise --max-gaps 2 {input} {folder}/one.fq", "pairs"),
    Role("pairwise --top", "reads", "pairwise --top 3 {folder}/one.fq {input}", "pairs"),
    Role("cluster", "reads", "cluster --id 0.9 {input}", "sequences"),
    Role("derep", "reads", "derep {input}", "sequences"),
    Role("sintax", "reads", "sintax --db {folder}/ref.fa {input}", "sequences"),
    Role("chimeras", "reads", "chimeras --denovo {input}", "sequences"),
    Role("lcs-filter subjects", "reads", "lcs-filter -n 0 -Q {folder}/one.fq {input}", "subjects"),
    Role("lcs-filter query", "query", "lcs-filter -n 0 -Q {input} {folder}/reads.fq", "queries"),
    Role("search targets", "reads", "search {folder}/one.fq {input} -k 2", "targets"),
    Role("search patterns", "reads", "search {input} {folder}/ref.fa -k 2", "patterns"),
]


@dataclass(frozen=True)
class Row:
    """A kind of input.

    Attributes:
        name: as the matrix's rows are headed.
        make: role -> its content (None: there is no such file), or raises NotImplementedError where it has no sense.
        expected: kind of role, or its name, which goes first, -> what must happen; "" -> of all others.
        sentence: what an error or a warning must say.
        file_only: the row is about the file, not its content.
    """

    name: str
    make: Callable[[Role], bytes | None]
    expected: dict[str, Any]
    sentence: str = ""
    file_only: bool = False

    def expects(self, role: Role) -> Any:
        return next(self.expected[key] for key in (role.name, role.kind, "") if key in self.expected)


def _bytes(change: Callable[[bytes], bytes | None]) -> Callable[[Role], bytes | None]:
    return lambda role: change(role.good)


def _records(change: Callable[[list[Record]], list[Record]]) -> Callable[[Role], bytes | None]:
    def make(role: Role) -> bytes:
        if role.kind == "table":
            raise NotImplementedError
        return role.write(change(role.records))

    return make


def _fastq(change: Callable[[bytes], bytes]) -> Callable[[Role], bytes | None]:
    def make(role: Role) -> bytes:
        if role.kind not in ("reads", "query"):
            raise NotImplementedError
        return change(role.good)

    return make


def _last(change: Callable[[Record], Record]) -> Callable[[Role], bytes | None]:
    """The last record changed, so that good ones stand before it."""
    return _records(lambda records: [*records[:-1], change(records[-1])])


def _with_symbols(symbols: str) -> Callable[[Role], bytes | None]:
    return _last(lambda record: (record[0], record[1][:50] + symbols + record[1][50 + len(symbols) :], record[2]))


def _bam(role: Role) -> bytes:
    """The reads as an unaligned BAM file."""
    if role.kind not in ("reads", "query"):
        raise NotImplementedError
    return bam(role.records)


def _bam_without_end(role: Role) -> bytes:
    """Cut between two blocks: the last one, which is empty, is what tells."""
    return _bam(role)[:-28]


_EMPTY = {"": NONE, "reference": INVALID, "query": INVALID, "pairwise matrix": INVALID, "search patterns": INVALID} | {
    # the other side has 21 records
    "verify queries": INVALID,
    "verify targets": INVALID,
}

ROWS = [
    Row("missing file", lambda role: None, {"": INVALID, "pairwise matrix": USAGE}, "file", file_only=True),
    Row("empty", _bytes(lambda data: b""), _EMPTY),
    Row("empty .gz", _bytes(lambda data: gzip.compress(b"")), _EMPTY),
    Row("blank lines only", _bytes(lambda data: b"\n\r\n\n"), _EMPTY),
    Row("other text", _bytes(lambda data: b"hello\nworld\n"), {"": INVALID}, ":1: "),
    Row("HTML page", _bytes(lambda data: b"<!DOCTYPE html>\n<html>\n"), {"": INVALID}, ":1: "),
    Row("other bytes", _bytes(lambda data: bytes(range(256)) * 4), {"": INVALID}),
    Row(
        "BAM",
        _bam,
        {
            "": INVALID,
            "map reads": SAME,
            "mems queries": SAME,
            "align query": SAME,
            "verify queries": SAME,
            "search targets": SAME,
        },
        "neither FASTA nor FASTQ",
    ),
    Row("BAM without its end", _bam_without_end, {"": INVALID}),
    Row("UTF-16", _bytes(lambda data: data.decode().encode("utf-16")), {"": INVALID}),
    Row("FASTQ cut in a record", _fastq(lambda data: data[:-60]), {"": INVALID}, "cut short"),
    Row(
        "FASTQ cut between lines",
        _fastq(lambda data: data[: -len(data.split(b"\n")[-2]) - 1]),
        {"": INVALID},
        "cut short",
    ),
    Row(".gz", _bytes(gzip.compress), {"": SAME}),
    Row("truncated .gz", _bytes(lambda data: gzip.compress(data)[:-20]), {"": INVALID}, "ended early"),
    Row("wrong CRC in .gz", _bytes(wrong_checksum), {"": INVALID}, "damaged"),
    Row("damaged block in .gz", _bytes(damaged), {"": INVALID}, ""),
    Row("garbage behind .gz", _bytes(lambda data: gzip.compress(data) + b"garbage" * 9), {"": INVALID}, "other bytes"),
    Row(
        "cut .gz behind a whole one",
        _bytes(lambda data: gzip.compress(data) + b"\x1f\x8b"),
        {"": INVALID},
        "ended early",
    ),
    Row("zeros behind .gz", _bytes(lambda data: gzip.compress(data) + bytes(512)), {"": SAME}),
    Row("empty .gz member inside", _bytes(with_empty_member), {"": SAME}),
    Row("truncated .xz", _bytes(lambda data: lzma.compress(data)[:-20]), {"": INVALID}, "ended early"),
    Row("truncated .bz2", _bytes(lambda data: bz2.compress(data)[:-9]), {"": INVALID}, "ended early"),
    Row("several .gz members", _bytes(lambda data: gzip.compress(data[:70]) + gzip.compress(data[70:])), {"": SAME}),
    Row("bgzf, end-of-file block inside", _bytes(blocks), {"": SAME}),
    Row(".bz2", _bytes(bz2.compress), {"": SAME}),
    Row(".xz", _bytes(lzma.compress), {"": SAME}),
    Row(".zst", _bytes(zstandard.compress), {"": SAME}),
    Row("several .zst frames", _bytes(zstd_frames), {"": SAME}),
    Row("truncated .zst", _bytes(lambda data: zstandard.compress(data)[:-9]), {"": INVALID}, "ended early"),
    Row("cut .zst behind a whole one", _bytes(cut_frame), {"": INVALID}, "ended early"),
    Row("wrong checksum in .zst", _bytes(wrong_zstd), {"": INVALID}, "data is damaged"),
    Row(
        "garbage behind .zst",
        _bytes(lambda data: zstandard.compress(data) + b"garbage" * 9),
        {"": INVALID},
        "other bytes",
    ),
    Row("too few qualities", _fastq(lambda data: data[:-2] + b"\n"), {"": INVALID}),
    Row("too many qualities", _fastq(lambda data: data[:-1] + b"I\n"), {"": INVALID}, "qualities"),
    Row("a quality beyond '~'", _fastq(lambda data: data[:-2] + b"\xff\n"), {"": INVALID}, "not a printable character"),
    Row("CR LF", _bytes(lambda data: data.replace(b"\n", b"\r\n")), {"": SAME}),
    Row("no final newline", _bytes(lambda data: data[:-1]), {"": SAME}),
    Row("lower case", _records(lambda records: [(n, s.lower(), q) for n, s, q in records]), {"": SAME}),
    Row("U for T", _records(lambda records: [(n, s.replace("T", "U"), q) for n, s, q in records]), {"": SAME}),
    Row("spaces in the sequence", _last(lambda r: (r[0], r[1][:30] + " " + r[1][30:], r[2])), {"": SAME}),
    Row("N", _with_symbols("NNN"), {"": ALL}),
    Row("IUPAC codes", _with_symbols("RYSWKMBDHV"), {"": ALL}),
    Row("'-' in the sequence", _with_symbols("-"), {"": INVALID}, "'-'"),
    Row("'*' in the sequence", _with_symbols("*"), {"": INVALID}, "'*'"),
    Row("digit in the sequence", _with_symbols("1"), {"": INVALID}, "'1'"),
    Row(
        "zero-length record",
        _last(lambda r: (r[0], "", "")),
        {"": ALL, "reference": INVALID, "search patterns": INVALID},
        "has no sequence",
    ),
    Row("a name of 300 letters", _fastq(lambda data: data.replace(b"@", b"@" + b"n" * 295, 1)), {"": ALL}),
    Row("duplicate names", _records(renamed), {"": ALL, "reference": INVALID}, "two records are named 'chrA'"),
]


@dataclass(frozen=True)
class Situation:
    """Trouble that is not in one file's content.

    Attributes:
        arguments: as in :class:`Role`.
        code: the exit code it must give.
        sentence: what the message must say.
    """

    name: str
    arguments: str
    code: int
    sentence: str = ""

    @property
    def command(self) -> str:
        return self.arguments.split()[0]


def _every(name: str, more: str, code: int, sentence: str, but: tuple[str, ...] = ()) -> list[Situation]:
    return [
        Situation(name, f"{arguments} {more}", code, sentence)
        for command, arguments in GOOD.items()
        if command not in but
    ]


SITUATIONS = [
    Situation("fewer second ends", "map {folder}/ref.fa {folder}/reads.fq {folder}/one.fq", 3, "21 reads here, 1 in"),
    Situation("fewer second ends", "map {folder}/ref.fa {folder}/one.fq {folder}/reads.fq", 3, "1 read here, 21 in"),
    Situation("fewer targets", "verify {folder}/one.fq {folder}/reads.fq", 3, "21 queries but 1 target in"),
    Situation("fewer targets", "pairwise --one-to-one {folder}/reads.fq {folder}/one.fq", 3, "21 sequences but 1"),
    Situation("fewer targets", "pairwise --max-gaps 1 --one-to-one {folder}/reads.fq {folder}/one.fq", 3, "21 sequ"),
    Situation(
        "fewer second ends in a lane",
        "map {folder}/ref.fa {folder}/reads.fq,{folder}/reads.fq {folder}/mates.fq,{folder}/one.fq",
        3,
        "reads.fq: the files of a pair differ in length: 21 reads here, 1 in",
    ),
    Situation(
        "fewer lanes of second ends", "map {folder}/ref.fa -1 {folder}/one.fq,{folder}/one.fq -2 {folder}/one.fq", 2
    ),
    Situation(
        "a name beyond BAM's 254 characters", "map --bam {folder}/ref.fa {folder}/longname.fq", 3, "has 255 characters"
    ),
    Situation("the same, sorted", "map --sort {folder}/ref.fa {folder}/longname.fq", 3, "has 255 characters"),
    Situation("the same as text", "map {folder}/ref.fa {folder}/longname.fq", 0),
    Situation(
        "unknown compression",
        "map --un {folder}/un.bz2 {folder}/ref.fa {folder}/reads.fq",
        2,
        "this compression is not written",
    ),
    Situation("names of two ends differ", "map {folder}/ref.fa {folder}/reads.fq {folder}/renamed.fq", 3, "'read20'"),
    Situation("the same, allowed", "map --no-check-names {folder}/ref.fa {folder}/reads.fq {folder}/renamed.fq", 0),
    Situation("several queries", "lcs-filter -Q {folder}/reads.fq {folder}/reads.fq", 3, "21 queries"),
    Situation(
        "candidate of an unknown query",
        "verify {folder}/ref.fa {folder}/one.fq --candidates {folder}/places.tsv",
        3,
        ":2: no query is named 'read1'",
    ),
    Situation(
        "candidate on an unknown target",
        "verify {folder}/one.fa {folder}/reads.fq --candidates {folder}/places.tsv",
        3,
        ":2: no target is named 'chrB'",
    ),
    Situation(
        "pair of unknown names",
        "pairwise {folder}/one.fq --pairs {folder}/pairs.tsv",
        3,
        ":1: no sequence is named 'read1'",
    ),
    Situation(
        "duplicate queries go by name",
        "verify {folder}/ref.fa {folder}/twice.fq --candidates {folder}/places.tsv",
        3,
        "two queries are named 'read0'",
    ),
    Situation("missing index", "map {folder}/none.gpi {folder}/reads.fq", 3, "No such file"),
    Situation("missing index", "mems -i {folder}/none.gpi {folder}/ref.fa {folder}/reads.fq", 3, "No such file"),
    Situation("index of another format version", "map {folder}/old.gpi {folder}/reads.fq", 3, "format version 0"),
    Situation("index of another format version", "mems {folder}/old.gpi {folder}/reads.fq", 3, "format version 0"),
    Situation("index cut short", "map {folder}/cut.gpi {folder}/reads.fq", 3, "damaged"),
    Situation("index cut short", "mems {folder}/cut.gpi {folder}/reads.fq", 3, "damaged"),
    Situation("index with a changed bit", "map {folder}/changed.gpi {folder}/reads.fq", 3, "damaged: checksum of the"),
    Situation("index with a changed bit", "mems {folder}/changed.gpi {folder}/reads.fq", 3, "damaged: checksum of the"),
    Situation(
        "two bytes after an index", "map {folder}/longer.gpi {folder}/reads.fq", 3, "after the header instead of"
    ),
    Situation(
        "two bytes after an index", "mems {folder}/longer.gpi {folder}/reads.fq", 3, "after the header instead of"
    ),
    Situation(
        "index with other parameters", "map -k 13 {folder}/ref.gpi {folder}/reads.fq", 3, "built with k = 11, not 13"
    ),
    Situation("index for longer matches", "mems -l 5 {folder}/ref.gpi {folder}/reads.fq", 2, "not of 5"),
    Situation(
        "index of another reference",
        "mems -i {folder}/ref.gpi {folder}/one.fa {folder}/reads.fq",
        3,
        "another reference",
    ),
    *(
        Situation(f"database {what}", f"pairwise --top 3 {{folder}}/one.fq {{folder}}/{name}.gpdb", 3, sentence)
        for what, name, sentence in (
            ("cut short", "cut", "damaged"),
            ("of another format version", "old", "format version 0"),
            ("with a changed bit", "changed", "damaged: checksum of the"),
            ("with two bytes after it", "longer", "after the header instead of"),
        )
    ),
    Situation("malformed read group", "map -R RG {folder}/ref.fa {folder}/reads.fq", 2, "must start with '@RG'"),
    Situation(
        "read group with two IDs",
        r"map -R @RG\tID:a\tID:b {folder}/ref.fa {folder}/reads.fq",
        2,
        "read group has ID twice",
    ),
    Situation("two orientations", "map --fr --rf {folder}/ref.fa {folder}/reads.fq", 2, "are mutually exclusive"),
    Situation(
        "a number beyond all bounds", "mems -l 1000000000000 {folder}/ref.fa {folder}/reads.fq", 2, "2,147,483,647"
    ),
    Situation("proteins as nucleotides", "pairwise {folder}/protein.fa", 3, "(proteins need --matrix"),
    Situation(
        "proteins as nucleotides", "lcs-filter -Q {folder}/one.fq {folder}/protein.fa", 3, "need --alphabet protein"
    ),
    Situation("share above 1", "pairwise --id 97 {folder}/reads.fq", 2, "0.97"),
    Situation("unknown column", "pairwise --userfields nonsense {folder}/reads.fq", 2, "nonsense"),
    *_every("unknown option", "--no-such-option", 2, "--no-such-option"),
    *_every("device that is not there", "--device cuda:99", 4, "", but=("index", "derep")),
]


#: a role for each parser: of reads, references, candidates, pairs and matrices
PARSERS = ("map reads", "index reference", "verify candidates", "pairwise list", "pairwise matrix")
#: rows for every role: what it makes of no record, that it reads as all do, and that its errors go the same way
FOR_ALL = ("empty", ".gz", "truncated .gz")


def for_every_run(row: Row, role: Role, way: str) -> bool:
    """Whether a cell tells something of its own: the parser's row, or a role's place among options and messages."""
    return role.name in PARSERS or row.name in FOR_ALL or role.name in row.expected


def cells() -> list[tuple[Row, Role, str]]:
    """All cells that make sense."""
    found = []
    for row in ROWS:
        for role in ROLES:
            try:
                row.make(role)
            except NotImplementedError:
                continue
            found += [(row, role, way) for way in role.ways if way == "file" or not row.file_only]
    return found
