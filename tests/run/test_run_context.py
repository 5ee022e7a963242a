"""What is around every run: refused paths, warnings, the report."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from gpualign.errors import UsageError
from gpualign.params import RunOptions
from gpualign.run.run_context import RunContext
from gpualign.streaming.timeline import STEPS


def test_a_run_from_its_paths_to_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report, output = tmp_path / "r.json", tmp_path / "out"
    options = RunOptions(device="cpu", threads=3, output=str(output), json=str(report))
    run = RunContext("verify", options, (None, "-"))
    with run.opening(None) as opening, run.output() as out:
        assert opening.backend().name == "cpu"
        out.write(b"text\n")
    run.warn("so it is")
    fields = run.finish("done", pairs=7)
    assert run.device == "cpu"
    assert output.read_bytes() == b"text\n"
    assert (fields["command"], fields["pairs"], fields["threads"], fields["device"]) == ("verify", 7, 3, "cpu")
    assert json.loads(report.read_text()) == fields
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "gpualign verify: warning: so it is"
    assert lines[1].startswith("gpualign verify: done; ")


def test_the_timeline_has_each_steps_share_of_the_threads(tmp_path: Path) -> None:
    run = RunContext("verify", RunOptions(device="cpu", threads=2, output=str(tmp_path / "out"), quiet=True), ())
    with run.opening(None), run.output() as out:
        with STEPS.at("parse"):
            time.sleep(0.02)
        out.write(b"text\n")
    timeline = run.finish("done")["timeline"]
    assert timeline["devices"] == {}
    host = timeline["host"]
    assert list(host) == ["read", "inflate", "parse", "copy", "compute", "format", "deflate", "write"]
    assert host["parse"]["seconds"] >= 0.02
    assert 0 < host["parse"]["busy"] <= 0.5  # one of two threads
    assert host["compute"] == {"seconds": 0.0, "busy": 0.0}


def test_a_quiet_run_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    run = RunContext("verify", RunOptions(quiet=True), ())
    run.warn("so it is")
    run.finish("done")
    assert capsys.readouterr().err == ""


def test_outputs_are_no_inputs(tmp_path: Path) -> None:
    path = str(tmp_path / "a")
    with pytest.raises(UsageError, match="also an input"):
        RunContext("map", RunOptions(), (path,), (path,))
