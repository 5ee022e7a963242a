"""What is around every run: refused paths, warnings, the report."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpualign.errors import UsageError
from gpualign.params import RunOptions
from gpualign.reads.reads import ReadSource
from gpualign.report import Progress
from gpualign.run.run_context import RunContext
from gpualign.streaming.timeline import STEPS
from gpualign.text.files import InputFile, share_read
from tests.helpers.files import write_bgzf
from tests.helpers.sequences import random_text


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


class Minutes:
    """A clock that each look moves on by a minute."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 60
        return self.now


@pytest.mark.parametrize(
    ("options", "total", "share", "line"),
    [
        ({}, 400, None, "verify: 100 reads (25 %), 1.67 a second, 3 min left"),
        ({}, None, 0.5, "verify: 100 reads (50 % of the input read), 1.67 a second, 60 s left"),
        ({}, None, None, "verify: 100 reads, 1.67 a second"),
        ({}, 100, None, "verify: 100 reads (100 %), 1.67 a second"),
        ({"quiet": True}, 400, None, None),
        ({"progress": False}, 400, None, None),
    ],
)
def test_a_long_run_says_each_minute_how_far_it_is(
    options: dict[str, bool],
    total: int | None,
    share: float | None,
    line: str | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = iter([None if share is None else 0.0, share])
    given = RunOptions(command_line="gpualign verify a b", **options)  # type: ignore[arg-type]
    monkeypatch.setattr("gpualign.report.time", Minutes())
    monkeypatch.setattr("gpualign.report.LINE_SECONDS", 100)
    with Progress(given, "read", total, share=lambda: next(shares)) as progress:
        progress.update(40)  # after one minute
        monkeypatch.setattr("gpualign.report.LINE_SECONDS", 60)
        monkeypatch.setattr("gpualign.report.time", SimpleNamespace(monotonic=lambda: 120.0))
        progress.update(60)
    assert capsys.readouterr().err == ("" if line is None else f"gpualign {line}\n")


def test_a_bar_whose_end_is_unknown_follows_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress(RunOptions(), "read", share=lambda: 0.2) as progress:
        progress.update(100)
        assert progress._bar is not None
        progress._bar.refresh()
    assert "20%" in terminal.getvalue()
    assert "100/500" in terminal.getvalue()


@pytest.mark.parametrize("form", ["plain", "gzip", "blocks", "one stream"])
def test_the_share_of_a_file_that_was_read(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpualign.text.tuning.LARGE_GZIP", 1 << 16 if form == "one stream" else 1 << 30)
    rng = random.Random(1)
    text = "".join(f"@r{i}\n{random_text(rng, 100)}\n+\n{random_text(rng, 100)}\n" for i in range(4_000)).encode()
    path, other = tmp_path / "reads.fq", tmp_path / "pipe"
    if form == "blocks":
        write_bgzf(path, text, 60_000)
    else:
        path.write_bytes(text if form == "plain" else gzip.compress(text, 1))
    assert share_read([str(path)]) == 0
    with ReadSource(str(path), threads=2) as source:
        chunks = source.chunks(1 << 12)
        next(chunks)
        begin = share_read([str(path)])
        assert begin is not None
        assert 0 < begin < (1 if form == "plain" else 1.1)  # others are read ahead
        InputFile(str(path)).close()  # another look at the same file
        now = share_read([str(path)])
        assert now is not None
        assert now >= begin
        assert sum(1 for _ in chunks) > 10
        assert share_read([str(path)]) == 1
    assert share_read([str(path)]) == 1
    os.mkfifo(other)
    assert share_read([str(path), str(other)]) is None
    assert share_read(["-"]) is None
