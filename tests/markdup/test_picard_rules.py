"""Picard's rules for duplicates as a table of records: what MarkDuplicates marks of each, on reads grouped by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.duplicate_cases import CONTIGS, record
from tests.helpers.record_files import records_of, write_sam

Cli = Callable[..., tuple[int, bytes, str]]
GROUPS = ("@RG\tID:g1\tLB:x\tSM:s", "@RG\tID:g2\tLB:y\tSM:s", "@RG\tID:g3\tLB:x\tSM:s")
HEAD = ["@HD\tVN:1.6\tSO:unsorted\tGO:query", *(f"@SQ\tSN:{name}\tLN:1000" for name in CONTIGS), *GROUPS]
#: name, flag, contig, position, CIGAR, quality of all bases, tags, whether it is a duplicate
Row = tuple[str, int, str, int, str, str, str, bool]


def single(name: str, at: int, quality: str, duplicate: bool, flag: int = 0, cigar: str = "10M", tags: str = "") -> Row:
    return name, flag, "c1", at, cigar, quality, tags, duplicate


def pair(
    name: str, left: int, right: int, quality: str, duplicate: bool, more: int = 0, tags: str = "", reads: int = 0x40
) -> tuple[Row, Row]:
    """Facing; ``reads``: the flag of the left one."""
    first = name, 0x1 | 0x20 | reads | more, "c1", left, "10M", quality, tags, duplicate
    second = name, 0x1 | 0x10 | (0xC0 ^ reads) | more, "c1", right, "10M", quality, tags, duplicate
    return first, second


def unmapped(name: str, duplicate: bool, mate: int = 0) -> Row:
    return name, 0x4 | mate, "c1" if mate else "*", 100 if mate else 0, "*", "I", "", duplicate


RULES: dict[str, list[Row]] = {
    "one read": [single("a", 100, "I", False)],
    "single reads that begin together": [single("a", 100, "5", True), single("b", 100, "I", False)],
    "of equally good ones the first stays": [single("a", 100, "I", False), single("b", 100, "I", True)],
    "other strands": [single("a", 100, "I", False), single("b", 100, "5", False, 0x10)],
    "reverse reads begin at their last base": [
        single("a", 100, "5", True, 0x10), single("b", 95, "I", False, 0x10, "10M5D"),
        single("c", 100, "5", False, 0x10, "9M"),
    ],
    "clipped bases count, soft and hard": [
        single("a", 100, "I", False), single("b", 103, "5", True, 0, "3S7M"), single("c", 104, "5", True, 0, "4H6M"),
        single("d", 104, "5", True, 0, "1H3S6M"), single("e", 103, "5", False, 0, "4S6M"),
    ],
    "clips at the other end do not": [single("a", 100, "I", False), single("b", 100, "5", True, 0, "7M3S")],
    "clips of reverse reads": [single("a", 100, "I", False, 0x10), single("b", 100, "5", True, 0x10, "7M3S")],
    "insertions do not, deletions do": [
        single("a", 100, "I", False, 0x10), single("b", 102, "5", True, 0x10, "4M2I4M"),
        single("c", 98, "5", True, 0x10, "5M2D5M"),
    ],
    "bases of less than 15 do not count": [single("a", 100, "/", True), single("b", 100, "0", False)],
    "pairs": [*pair("a", 100, 200, "I", False), *pair("b", 100, 200, "5", True)],
    "R1 and R2 exchanged": [*pair("a", 100, 200, "I", False), *pair("b", 100, 200, "5", True, reads=0x80)],
    "other second ends": [*pair("a", 100, 200, "I", False), *pair("b", 100, 201, "5", False)],
    "both mates' qualities": [
        *pair("a", 100, 200, "5", False)[:1], *pair("a", 100, 200, "I", False)[1:],
        *pair("b", 100, 200, "4", True)[:1],
        *pair("b", 100, 200, "I", True)[1:],
    ],
    "pairs before single reads": [
        *pair("a", 100, 200, "0", False), single("b", 100, "I", True), single("c", 100, "I", True),
    ],
    "also at their second end": [*pair("a", 100, 200, "0", False), single("b", 200, "I", True, 0x10)],
    "a mate that is unmapped makes a single read": [
        ("a", 0x49, "c1", 100, "10M", "5", "", True), unmapped("a", True, 0x81), single("b", 100, "I", False),
    ],
    "which pairs go before, too": [
        ("a", 0x49, "c1", 100, "10M", "I", "", True), unmapped("a", True, 0x81), *pair("b", 100, 200, "5", False),
    ],
    "unmapped reads are none": [unmapped("a", False), unmapped("b", False)],
    "failed reads come last": [single("a", 100, "I", True, 0x200), single("b", 100, "0", False)],
    "among themselves the best": [single("a", 100, "5", True, 0x200), single("b", 100, "I", False, 0x200)],
    "one failed mate is enough": [
        *pair("a", 100, 200, "I", True, 0x200)[:1],
        *pair("a", 100, 200, "I", True)[1:],
        *pair("b", 100, 200, "0", False),
    ],
    "secondary and supplementary records follow": [
        *pair("a", 100, 200, "I", False), *pair("b", 100, 200, "5", True),
        ("b", 0x941, "c2", 300, "10M", "5", "", True), ("b", 0x881, "c2", 400, "10M", "5", "", True),
    ],
    "and have no influence": [
        single("a", 100, "I", False), ("b", 0x800, "c1", 100, "10M", "5", "", False), single("b", 300, "5", False),
        ("c", 0x100, "c1", 100, "10M", "5", "", False), single("c", 350, "5", False),
    ],
    "mates on two contigs": [
        ("a", 0x41, "c1", 100, "10M", "I", "", False), ("a", 0x81, "c2", 200, "10M", "I", "", False),
        ("b", 0x41, "c1", 100, "10M", "5", "", True), ("b", 0x81, "c2", 200, "10M", "5", "", True),
        ("c", 0x41, "c2", 200, "10M", "0", "", True), ("c", 0x81, "c1", 100, "10M", "0", "", True),
    ],
    "mates on one strand": [
        ("a", 0x41, "c1", 100, "10M", "I", "", False), ("a", 0x81, "c1", 200, "10M", "I", "", False),
        ("b", 0x41, "c1", 200, "10M", "5", "", True), ("b", 0x81, "c1", 100, "10M", "5", "", True),
    ],
    "mates that face away": [
        ("a", 0x51, "c1", 100, "10M", "I", "", False), ("a", 0x81, "c1", 200, "10M", "I", "", False),
        *pair("b", 109, 191, "5", False),
    ],
    "libraries": [
        single("a", 100, "I", False, tags="RG:Z:g1"), single("b", 100, "5", False, tags="RG:Z:g2"),
        single("c", 100, "5", True, tags="RG:Z:g3"), single("d", 100, "5", False),
    ],
    "marks of an earlier run go": [single("a", 100, "I", False, 0x400), single("b", 300, "5", False, 0x400)],
    "the whole contig": [single("a", 1, "I", False, 0, "2S8M"), single("b", 3, "5", True, 0, "4S6M")],
    "three pairs": [*pair("a", 100, 200, "5", True), *pair("b", 100, 200, "I", False), *pair("c", 100, 200, "6", True)],
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("in_order", [False, True], ids=["grouped", "sorted"])
def test_rule(cli: Cli, tmp_path: Path, rule: str, in_order: bool) -> None:
    rows = RULES[rule]
    head = HEAD
    if in_order:
        rows = sorted(rows, key=lambda row: (row[2] == "*", row[2], row[3], row[1] & 0x10))
        head = ["@HD\tVN:1.6\tSO:coordinate", *HEAD[1:]]
    lines = [record(name, flag, *where, tags=tags) for name, flag, *where, tags, _ in rows]
    path = write_sam(tmp_path / "in.sam", lines, head)
    assert cli("markdup", path, "-o", tmp_path / "out.sam")[0] == 0
    found = [(line.split("\t")[0], int(line.split("\t")[1])) for line in records_of(tmp_path / "out.sam")]
    assert found == [(row[0], row[1] & ~0x400 | 0x400 * row[-1]) for row in rows]
