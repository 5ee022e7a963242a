"""The dynamic programs of chaining as a device's lanes run them, without a device, against the recurrence row by
row."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.helpers.paths import TESTS


@pytest.mark.slow
def test_bands_on_many_lanes(tmp_path: Path) -> None:
    """On parts of a warp, a warp and more, ends pinned or free; a narrower band that is shown to do has the same."""
    program, cases = tmp_path / "lanes", 250
    compiled = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I", str(TESTS.parent / "cuda")]
    subprocess.run([*compiled, "-o", str(program), str(TESTS / "native" / "band_lanes.cpp")], check=True)
    run = subprocess.run([program, "1", str(cases)], capture_output=True, check=True, timeout=240, text=True)
    *differences, summary = run.stdout.splitlines()
    assert differences == []
    alike, of, paired, shown, spliced = (int(word) for word in summary.replace(",", "").split() if word.isdigit())
    assert alike == of > 6 * cases
    assert paired > cases
    assert shown > cases // 5
    assert spliced > cases // 10
