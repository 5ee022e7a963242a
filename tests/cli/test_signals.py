"""A signal ends every command within a second, whatever it computes, and leaves no file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.commands import program
from tests.helpers.soak import some_of

#: for a machine that is busy with other things; each command would go on for much longer
DEADLINE = 8.0
#: of processor time: starting and reading take half of it
WORKING_S = 1.2
DEADLINE_TO_WORK_S = 30.0


def _random_bases(seed: int, count: int) -> bytes:
    rng = np.random.default_rng(seed)
    return np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, count)].tobytes()


def _fasta(path: Path, *sequences: bytes) -> Path:
    path.write_bytes(b"".join(b">s%d\n%b\n" % (i, bases) for i, bases in enumerate(sequences)))
    return path


def _verify(folder: Path, *options: str) -> list[Any]:
    one, other = _fasta(folder / "a.fa", _random_bases(1, 600_000)), _fasta(folder / "b.fa", _random_bases(2, 600_000))
    (folder / "c.tsv").write_text("query\ttarget\tstart\tend\tstrand\ns0\ts0\t1\t600000\t+\n")
    return ["verify", one, other, "-c", folder / "c.tsv", "-k", "-1", *options]


def _pairwise(folder: Path, *options: str) -> list[Any]:
    sequences = [_random_bases(i, 400_000) for i in range(2)]
    return ["pairwise", _fasta(folder / "a.fa", *sequences), *options]


def _lcs(folder: Path, *options: str) -> list[Any]:
    query = _fasta(folder / "q.fa", _random_bases(1, 3_000_000))
    subject = _fasta(folder / "s.fa", _random_bases(2, 3_000_000))
    return ["lcs-filter", "-Q", query, subject, *options]


def _mems(folder: Path, *options: str) -> list[Any]:
    repeats = b"A" * 300_000
    return ["mems", *options, "-l", "20", _fasta(folder / "r.fa", repeats), _fasta(folder / "q.fa", repeats)]


def _search(folder: Path, *options: str) -> list[Any]:
    target = _random_bases(1, 4_000_000)
    return [
        "search",
        *options,
        _fasta(folder / "p.fa", *(target[i : i + 300] for i in range(400))),
        _fasta(folder / "t.fa", target),
    ]


def _map(folder: Path, *options: str) -> list[Any]:
    genome = _random_bases(1, 50_000) * 20 + b"AC" * 500_000
    reads = [b"AC" * 2000] * 2000
    return ["map", _fasta(folder / "g.fa", genome), _fasta(folder / "r.fa", *reads), *options]


WORK = {
    "verify": (_verify, ()),
    "verify with paths": (_verify, ("-p",)),
    "pairwise": (_pairwise, ()),
    "local": (_pairwise, ("--mode", "local")),
    "max-gaps": (_pairwise, ("--max-gaps", "3")),
    "lcs-filter": (_lcs, ()),
    "mems": (_mems, ("-maxmatch",)),
    "mum": (_mems, ("-mum",)),
    "search": (_search, ("-k", "150")),
    "search in bytes": (_search, ("-k", "150", "--alphabet", "bytes")),
    "search with bulges": (_search, ("-k", "100", "--max-bulges", "2")),
    "search for all ends": (_search, ("-k", "300", "--hits", "all")),
    "map": (_map, ("--sensitivity", "full", "-e", "0.2", "-a", "--end-to-end")),
    "long reads": (_map, ("-x", "ont", "--max-hits", "1000000")),
}


#: a loop of each kind; the others of the same commands in make soak
AT_EACH_PUSH = ("verify", "pairwise", "max-gaps", "lcs-filter", "mems", "search", "long reads")


def wait_until_it_works(process: subprocess.Popen[bytes]) -> None:
    """A time that goes with the load of the machine, unlike a sleep."""
    stat = Path(f"/proc/{process.pid}/stat")
    start = time.monotonic()
    if not stat.exists():
        time.sleep(2)
    while stat.exists() and process.poll() is None and time.monotonic() - start < DEADLINE_TO_WORK_S:
        used = sum(map(int, stat.read_text().rpartition(")")[2].split()[11:13]))  # user and system time in ticks
        if used > WORKING_S * os.sysconf("SC_CLK_TCK"):
            return
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "work"),  # what both signals do is the same but for the words at the end
    some_of(
        product((signal.SIGINT, signal.SIGTERM), WORK),
        lambda number, work: work == "map" or (number == signal.SIGINT and work in AT_EACH_PUSH),
    ),
)
def test_a_signal_ends_any_work(tmp_path: Path, number: signal.Signals, work: str) -> None:
    make, options = WORK[work]
    out = tmp_path / "out"
    out.mkdir()
    (arguments := make(tmp_path, *options)).extend(["-o", out / "result", "-t", "2", "--quiet"])
    with subprocess.Popen(program(*arguments), stderr=subprocess.PIPE) as process:
        wait_until_it_works(process)
        if process.poll() is not None:
            pytest.fail(f"it had nothing to do: {process.stderr.read().decode() if process.stderr else ''}")
        process.send_signal(number)
        start = time.monotonic()
        _, error = process.communicate(timeout=60)
        assert time.monotonic() - start < DEADLINE
    assert process.returncode == 128 + number
    why = b"interrupted" if number == signal.SIGINT else b"terminated"
    assert error == b"gpualign %b: error: %b\n" % (arguments[0].encode(), why)
    assert list(out.iterdir()) == []


def test_signals_that_a_script_ignores_end_what_tests_start() -> None:
    child = "import signal; print([signal.getsignal(n) is signal.SIG_IGN for n in (signal.SIGINT, signal.SIGHUP)])"
    tests = f"import subprocess, sys, tests.conftest; subprocess.run([sys.executable, '-c', {child!r}])"
    words = ["sh", "-c", 'trap \'\' INT HUP; "$0" -c "$1"; "$0" -c "$2"', sys.executable, child, tests]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[True, True]", "[False, False]"]
