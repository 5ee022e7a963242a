"""Every command's report says what its time went into."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpualign.cli import main
from tests.helpers.paths import AMPLICONS, GENOMES, READS

COMMANDS = {
    "map": (["map", GENOMES, READS], "map"),
    "pairwise": (["pairwise", AMPLICONS, "--mode", "local"], "compute"),
    "bounded gaps": (["pairwise", AMPLICONS, AMPLICONS, "--max-gaps", "1", "--score-only"], "compute"),
    "search": (["pairwise", AMPLICONS, AMPLICONS, "--top", "2"], "compute"),
    "lcs-filter": (["lcs-filter", "--multi-query", "-Q", AMPLICONS, AMPLICONS], "compute"),
    "mems": (["mems", "-maxmatch", "-l", "40", GENOMES, READS], "compute"),
    "verify": (["verify", AMPLICONS, AMPLICONS, "-e", "0.9"], "compute"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_computes_is_in_the_timeline(command: str, tmp_path: Path) -> None:
    words, step = COMMANDS[command]
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
