"""The tests of samtools markdup and fixmate, of Debian's package samtools-test."""

from __future__ import annotations

import re
from pathlib import Path

from gpualign.records.duplicates import DuplicateMarking
from tests.helpers.duplicate_cases import CONTIGS

SAMTOOLS_TESTS = Path("/usr/share/samtools/test")
MARKDUP, FIXMATE = SAMTOOLS_TESTS / "markdup", SAMTOOLS_TESTS / "fixmate"
_BARCODE, _NAMED = r"^([!-9;-?A-~]+):", r"m:1:f:1:1:\2:\3:\1"

#: file, how duplicates are found, and where names are taken apart by regular expressions, what puts the parts in
#: Illumina's order. Tests 1 to 4 are of input that samtools refuses.
CASES: list[tuple[str, DuplicateMarking, str, str]] = [
    ("5_markdup", DuplicateMarking(optical_distance=0), "", ""),
    ("6_remove_dups", DuplicateMarking(optical_distance=0), "", ""),
    ("7_mark_supp_dup", DuplicateMarking(optical_distance=0), "", ""),
    ("8_optical_dup", DuplicateMarking(), "", ""),
    ("9_optical_dup_qcfail", DuplicateMarking(optical_distance=2500), "", ""),
    ("10_optical_chain", DuplicateMarking(optical_distance=2500), "", ""),
    ("10_optical_chain", DuplicateMarking(optical_distance=2500), r"^(.*):(\d+):(\d+):(\d+)$", r"m:1:\2:\3:\4"),
    ("11_optical_dup_regex", DuplicateMarking(), r"^(\d+):(\d+):(.+)", r"m:1:f:\3:\1:\2"),
    ("11_optical_dup_regex", DuplicateMarking(), r"^(\d+):(\d+)(.+)", r"m:1:1:\1:\2"),
    (
        "12_optical_chain_regex",
        DuplicateMarking(optical_distance=2500),
        r"^.*:(\d+):(\d+):(\d+)$",
        r"m:1:1:\2:\3#\1",
    ),
    ("13_optical_barcode_tag", DuplicateMarking(barcode_tags=("BX",)), "", ""),
    ("14_optical_barcode_name", DuplicateMarking(barcode_in_name=True), "", ""),
    ("15_optical_barcode_rgx_name", DuplicateMarking(barcode_in_name=True), _BARCODE + r"(\d+):(\d+).*", _NAMED),
    (
        "16_optical_barcode_rgx_name_test_2",
        DuplicateMarking(barcode_in_name=True),
        _BARCODE + r"(\d{4})(\d{4}).*",
        _NAMED,
    ),
]


def sam_lines(path: Path, pattern: str, name: str) -> list[list[str]]:
    """The records, all on our first contig, names rewritten, and positions that fit BAM."""
    lines = []
    for text in path.read_text().splitlines():
        if not text.startswith("@"):
            line = re.sub(r"\t100000(\d{5})", r"\t\1", text).split("\t")
            contig = CONTIGS[line[2].endswith(("8", "r2"))]
            lines.append(
                [re.sub(pattern, name, line[0]) if pattern else line[0], line[1], contig, *line[3:6], "*", *line[7:]]
            )
    return lines
