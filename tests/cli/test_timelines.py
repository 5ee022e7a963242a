"""Every command's report says what its time went into."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpualign.cli import main
from tests.helpers.command_lines import TIMELINES
from tests.helpers.paths import READS


@pytest.mark.parametrize("command", TIMELINES)
def test_what_computes_is_in_the_timeline(command: str, tmp_path: Path) -> None:
    words, step = TIMELINES[command]
    report = tmp_path / "report.json"
    options = ["-q", "--device", "cpu", "-t", "2", "--json", report, "-o", tmp_path / "out"]
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in (*words, *options)])
    assert ended.value.code == 0
    timeline = json.loads(report.read_text())["timeline"]
    assert timeline["devices"] == {}
    assert {"read", "inflate", "parse", "copy", "format", "deflate", "write"} < set(timeline["host"])
    assert timeline["host"][step]["seconds"] > 0
    assert 0 < timeline["host"][step]["busy"] <= 1.01
    if READS in words:  # which are compressed
        assert timeline["host"]["read"]["seconds"] > 0
        assert timeline["host"]["inflate"]["seconds"] > 0
