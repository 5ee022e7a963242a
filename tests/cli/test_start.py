"""What a process of the command line begins before it imports the rest."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import gpualign.__main__ as start
from gpualign.run.gpu import early
from tests.helpers.commands import program


def imported_by(*arguments: str) -> set[str]:
    """Modules of a process that ran a command line."""
    program = "import sys; from gpualign.__main__ import main\ntry: main()\nexcept SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_a_command_finds_numpy_imported_or_on_its_way(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[Any] = []
    monkeypatch.setattr(start.importlib, "import_module", names.append)
    start._import_ahead(["verify", "ref.fa", "reads.fa"])
    for thread in threading.enumerate():
        if thread.name == "gpualign-import":
            thread.join(timeout=60)
    assert names == ["numpy"]


@pytest.mark.parametrize("arguments", [[], ["--version"], ["map", "--help"], ["help", "map"], ["verify"]])
def test_what_computes_nothing_does_without(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start.threading, "Thread", lambda **_: pytest.fail("a thread was begun"))
    start._import_ahead(arguments)


def test_devices_are_begun_with_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    monkeypatch.setattr(early, "begin", seen.append)
    monkeypatch.setattr(sys, "argv", ["gpualign", "--version"])
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert ended.value.code == 0
    assert seen == [["--version"]]
    assert gc.get_freeze_count() > 0  # what is left is not searched for cycles at the end
    gc.unfreeze()


def test_the_version_needs_no_numpy() -> None:
    assert "numpy" not in imported_by("--version")


@pytest.mark.parametrize("words", [["verify"], ["lcs-filter", "-Q"], ["mems", "-l", "4"]])
def test_a_run_without_a_gpu_needs_no_compiler_and_no_samtools(words: list[str], tmp_path: Any) -> None:
    """What few runs need is imported by those."""
    text = tmp_path / "r.fa"
    text.write_text(">r\nACGTACGTAC\n")
    modules = imported_by(*words, *[str(text)] * 2, "--device", "cpu", "-q", "-o", str(tmp_path / "out"))
    assert "numpy" in modules
    assert not {"subprocess", "tempfile", "_hashlib", "gpualign.records.samtools", "pysam", "numpy.ma"} & modules


def test_the_end_waits_for_an_import_in_a_thread(tmp_path: Path) -> None:
    """Python may crash if it ends while a thread imports native code."""
    lines = ("import pathlib, time", "time.sleep(0.5)", f"pathlib.Path({str(tmp_path / 'imported')!r}).touch()")
    (tmp_path / "numpy.py").write_text("\n".join(lines))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(program("nonsense", "x"), env=environment, capture_output=True)
    assert done.returncode == 2
    assert (tmp_path / "imported").exists()


@pytest.mark.parametrize("command", ["map", "verify", "mems"])
def test_the_environment_stays_as_it_is_once_the_driver_reads_it(command: str, tmp_path: Path) -> None:
    """The driver reads it in a thread, and the C library crashes if it grows meanwhile."""
    text = tmp_path / "r.fa"
    text.write_text(">r\n" + "ACGTTGCATGCCATAGACCATTGAGCATCAGT" * 4 + "\n")
    lines = [
        "import sys; from gpualign import __main__ as start; begun, written = [], []",
        "start.early.begin = begun.append",
        "sys.addaudithook(lambda event, _: written.append(event) if event == 'os.putenv' and begun else None)",
        "try: start.main()",
        "except SystemExit as ended: print(ended.code, len(begun), len(written))",
    ]
    words = [command, str(text), str(text), "--device", "cpu", "-q", "-o", str(tmp_path / "out")]
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    run = [sys.executable, "-c", "\n".join(lines), *words]
    done = subprocess.run(run, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["0", "1", "0"], done.stderr
