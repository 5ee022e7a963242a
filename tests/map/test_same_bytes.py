"""benchmarks/map_same_bytes.py finds what it looks for."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

HEADER = b"@HD\tVN:1.6\n@SQ\tSN:chr\tLN:100\n@PG\tID:gpualign\tCL:%s\n"
ONE = b"one\t0\tchr\t11\t60\t4M\t*\t0\t0\tACGT\tFFFF\n"
LESS = ONE.replace(b"60", b"59")
TWO = b"two\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tFFFF\n"


@pytest.mark.parametrize(
    ("records", "expected"),
    [([ONE, TWO], None), ([LESS, TWO], (ONE, LESS)), ([ONE, TWO, ONE], (None, ONE)), ([ONE], (TWO, None))],
)
def test_the_first_difference_but_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, records: list[bytes], expected: tuple[bytes | None, ...] | None
) -> None:
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("no benchmarks here")
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    difference = importlib.import_module("map_same_bytes").difference
    first, second = tmp_path / "first.sam", tmp_path / "second.sam"
    first.write_bytes(HEADER % b"map -t 1" + ONE + TWO)
    second.write_bytes(HEADER % b"map -t 2" + b"".join(records))
    assert difference(first, second) == expected
