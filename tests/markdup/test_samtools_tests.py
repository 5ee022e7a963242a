"""The tests of samtools markdup and fixmate, run through `gpualign markdup`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpualign.records.duplicates import DuplicateMarking
from tests.helpers.duplicate_cases import CONTIGS
from tests.helpers.record_files import records_of, write_sam
from tests.helpers.samtools_tests import CASES, FIXMATE, MARKDUP, sam_lines

Cli = Callable[..., tuple[int, bytes, str]]
HEAD = ["@HD\tVN:1.6\tSO:coordinate", *(f"@SQ\tSN:{name}\tLN:100000" for name in CONTIGS)]
Seen = dict[tuple[str, int], int]


def words(marking: DuplicateMarking) -> list[str]:
    barcodes = [f"--barcode-tag={','.join(marking.barcode_tags)}"] if marking.barcode_tags else []
    return [
        "--optical-distance",
        str(marking.optical_distance),
        *barcodes,
        *["--barcode-name"] * marking.barcode_in_name,
    ]


@pytest.mark.skipif(not MARKDUP.is_dir(), reason="samtools-test is not installed")
@pytest.mark.parametrize(("stem", "marking", "pattern", "name"), CASES)
def test_markdup(cli: Cli, tmp_path: Path, stem: str, marking: DuplicateMarking, pattern: str, name: str) -> None:
    """Every mapped record: its flag, and of which kind a duplicate is; unmapped ones are marked with their mates."""
    given, expected = (sam_lines(MARKDUP / f"{stem}{kind}.sam", pattern, name) for kind in ("", ".expected"))
    path = write_sam(tmp_path / "in.sam", ["\t".join(line) for line in given], HEAD)
    options = [*words(marking), *(["--remove-duplicates"] if stem == "6_remove_dups" else ["--tag-duplicates"])]
    assert cli("markdup", path, "-o", tmp_path / "out.sam", *options)[0] == 0

    def seen(lines: list[list[str]], optical: str) -> Seen:
        kind = {(line[0], int(line[1]) & ~0x400): bool(int(line[1]) & 0x400) + (optical in line) for line in lines}
        return {key: mark for key, mark in kind.items() if not key[1] & 4}

    found = [line.split("\t") for line in records_of(tmp_path / "out.sam")]
    assert seen(found, "DT:Z:SQ") == seen(expected, "dt:Z:SQ")
    if "SA:Z:" not in (MARKDUP / f"{stem}.sam").read_text():
        assert len(found) == len(given) if stem != "6_remove_dups" else len(found) < len(given)


@pytest.mark.skipif(not FIXMATE.is_dir(), reason="samtools-test is not installed")
@pytest.mark.parametrize(
    "stem", ["3_reverse_read_pp_lt", "4_reverse_read_pp_equal", "5_ct", "6_ct_replace", "7_two_read_mapped"]
)
def test_fixmate(cli: Cli, tmp_path: Path, stem: str) -> None:
    """MC and MQ of mapped mates. Other fields are those of the input here, reads that are not flagged as pairs are
    none, and a mate of an unmapped read gets no MC:Z:*. Tests 2 and 8 have positions that BAM does not hold.
    """
    assert cli("markdup", FIXMATE / f"{stem}.sam", "-o", tmp_path / "out.sam")[0] == 0

    def tags(lines: list[str]) -> dict[tuple[str, int], set[str]]:
        fields = [line.split("\t") for line in lines]
        of = {
            (name, int(flag) & 0xC0): {t for t in rest if t[:2] in ("MC", "MQ")} - {"MC:Z:*"}
            for name, flag, *rest in fields
        }
        return {key: found for key, found in of.items() if key[1]}

    expected = [line for line in (FIXMATE / f"{stem}.sam.expected").read_text().splitlines() if line[0] != "@"]
    assert tags(records_of(tmp_path / "out.sam")) == tags(expected)
    assert any(tags(expected).values())


@pytest.mark.skipif(not MARKDUP.is_dir(), reason="samtools-test is not installed")
@pytest.mark.parametrize("stem", ["1_name_sort", "2_bad_order", "3_missing_mc", "4_missing_ms"])
def test_what_samtools_refuses(cli: Cli, tmp_path: Path, stem: str) -> None:
    """Names in order, any order, missing tags: all of it can be marked."""
    lines = ["\t".join(line) for line in sam_lines(MARKDUP / f"{stem}.sam", "", "")]
    path = write_sam(tmp_path / "in.sam", lines, ["@HD\tVN:1.6\tSO:unknown", *HEAD[1:]])
    assert cli("markdup", path, "--sort", "-o", tmp_path / "out.sam")[0] == 0
    assert len(records_of(tmp_path / "out.sam")) == len(lines)
