"""What `make sanitize-gpu` maps, and how it reads what compute-sanitizer says; that itself needs a GPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.sam import records
from tests.helpers.sanitize_gpu import verdict, write_inputs

Cli = Callable[..., tuple[int, bytes, str]]


def test_inputs_are_of_all_kinds(cli: Cli, tmp_path: Path) -> None:
    rows = {}
    for name, words in write_inputs(tmp_path, 1).items():
        code, out, error = cli("map", *words)
        assert code == 0, error
        rows[name] = records(out)
    plain = [row[5] for row in rows["plain"] if not int(row[1]) & 4]
    assert "150M" in plain
    assert any("I" in cigar or "D" in cigar for cigar in plain)
    assert any(int(row[1]) & 4 for row in rows["plain"])
    assert sum("S" in row[5] for row in rows["clipped"]) > 20
    assert sum(int(row[1]) & 0x800 > 0 for row in rows["split"]) > 20
    assert sum(bool(re.fullmatch(r"(\d+S)?\d+M(\d+S)?", row[5])) and "S" in row[5] for row in rows["split"]) > 40
    assert sum(len(row[9]) > 2000 and row[5] != "*" for row in rows["long"]) > 3
    assert sum(map(len, rows.values())) < 1000  # seconds under racecheck


@pytest.mark.parametrize(
    ("code", "output", "expected"),
    [
        (0, "========= ERROR SUMMARY: 0 errors\n", ""),
        (9, "========= ERROR SUMMARY: 1 error\n", "1 found"),
        (9, "========= RACECHECK SUMMARY: 3 hazards displayed (1 error, 2 warnings)\n", "3 found"),
        (0, "========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)\n", "2 found"),
        (0, "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", ""),
        (3, "========= ERROR SUMMARY: 0 errors\n", "exit code 3"),
        (1, "compute-sanitizer: no device\n", "no summary, exit code 1"),
    ],
)
def test_verdicts(code: int, output: str, expected: str) -> None:
    assert verdict(code, output) == expected
