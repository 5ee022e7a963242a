"""`gpualign markdup` of BAM files in the order of the output: records are read twice, and not held."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pysam
import pytest

from gpualign.markdup import run
from gpualign.markdup.run import records_of as opened_records
from gpualign.records.record_sorter import RecordSorter
from tests.helpers.duplicate_cases import CONTIGS, HEADER, joined, random_lines
from tests.helpers.record_files import records_of, write_sam

Cli = Callable[..., tuple[int, bytes, str]]
HEAD = [*(f"@SQ\tSN:{name}\tLN:1000" for name in CONTIGS), *HEADER[1:]]
GROUPED, SORTED = "@HD\tVN:1.6\tSO:unsorted\tGO:query", "@HD\tVN:1.6\tSO:coordinate"


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records of each batch that is held."""
    seen = []
    add = RecordSorter.add

    def noted(self: RecordSorter, batch: Any) -> None:
        seen.append(batch.size)
        add(self, batch)

    monkeypatch.setattr(RecordSorter, "add", noted)
    return seen


def as_bam(path: Path, lines: list[str], head: str) -> Path:
    sam = write_sam(path.with_suffix(".sam"), lines, [head, *HEAD])
    pysam.samtools.view("-b", "-o", str(path), str(sam), catch_stdout=False)
    return path


@pytest.fixture
def templates(seed: int) -> list[list[str]]:
    return random_lines(random.Random(seed), 400, ties=False)


@pytest.mark.parametrize("head", [GROUPED, SORTED])
@pytest.mark.parametrize("options", [[], ["--remove-duplicates", "--duplicate-count", "--tag-duplicates"]])
def test_same_output_as_of_held_records(
    cli: Cli, tmp_path: Path, templates: list[list[str]], held: list[int], head: str, options: list[str]
) -> None:
    path = as_bam(tmp_path / "in.bam", joined(templates), head)
    if head == SORTED:
        pysam.samtools.sort("-o", str(tmp_path / "in.bam"), str(tmp_path / "in.sam"), catch_stdout=False)
    small = ("--batch-size", "2K", "-t", 3, *options)
    assert cli("markdup", path, "-o", tmp_path / "again.bam", *small)[0] == 0
    assert held == []
    whole = tmp_path / "whole.sam"  # SAM is read once
    pysam.samtools.view("-h", "-o", str(whole), str(path), catch_stdout=False)
    assert cli("markdup", whole, "-o", tmp_path / "held.bam", *small)[0] == 0
    assert sum(held) == len(records_of(path))
    assert records_of(tmp_path / "again.bam") == records_of(tmp_path / "held.bam") != []


def test_files_that_are_not_sorted_as_they_say(
    cli: Cli, tmp_path: Path, templates: list[list[str]], held: list[int]
) -> None:
    lines = joined(templates)
    path = as_bam(tmp_path / "in.bam", lines, SORTED)
    assert cli("markdup", path, "-o", tmp_path / "found.bam", "--batch-size", "2K", "-t", 2)[0] == 0
    assert sum(held) == len(lines)
    pysam.samtools.sort("-o", str(tmp_path / "sorted.bam"), str(path), catch_stdout=False)
    assert cli("markdup", tmp_path / "sorted.bam", "-o", tmp_path / "expected.bam")[0] == 0
    assert sum(held) == len(lines)
    places = [[line.split("\t")[2:4] for line in records_of(tmp_path / name)] for name in ("found.bam", "expected.bam")]
    assert places[0] == places[1]
    assert sorted(records_of(tmp_path / "found.bam")) == sorted(records_of(tmp_path / "expected.bam"))


def test_files_that_change_meanwhile(
    cli: Cli, tmp_path: Path, templates: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, calls = as_bam(tmp_path / "in.bam", joined(templates), GROUPED), iter(range(2))

    def opened(*arguments: Any) -> Any:
        if next(calls) == 1:
            as_bam(path, joined(templates[:-3]), GROUPED)
        return opened_records(*arguments)

    monkeypatch.setattr(run, "records_of", opened)
    code, _, error = cli("markdup", path, "-o", tmp_path / "out.bam")
    assert (code, (tmp_path / "out.bam").exists()) == (3, False)
    assert f"{path}: was changed while it was read" in error
