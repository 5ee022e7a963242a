"""`gpualign sort` and `markdup` that are stopped, killed, or whose reader goes away: no output, and one sentence."""

from __future__ import annotations

import random
import signal
import subprocess
from itertools import chain
from pathlib import Path

import pytest

from tests.helpers.commands import program
from tests.helpers.duplicate_cases import CONTIGS, pair

DEADLINE = 60
HEAD = "".join(f"@SQ\tSN:{name}\tLN:100000\n" for name in CONTIGS)
#: words, and what the header says of the input's order
WORK = {
    "sort": (("sort", "-"), "unknown"),
    "sort by name": (("sort", "-", "-n"), "unknown"),
    "markdup": (("markdup", "-", "--sort", "--write-index"), "unsorted\tGO:query"),
    "markdup, collated": (("markdup", "-", "--mate-tags"), "coordinate"),
}


@pytest.fixture(scope="module")
def text() -> bytes:
    """5 MB: more than is read ahead, and more than a megabyte of memory holds."""
    rng = random.Random(1)
    pairs = (pair(f"p{i}", rng.randint(1, 9000), rng.randint(1, 9000), tags=f"XX:Z:{'x' * 60}") for i in range(18_000))
    return "".join(f"{line}\n" for line in chain.from_iterable(pairs)).encode()


@pytest.mark.parametrize("work", list(WORK))
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_leaves_no_output(tmp_path: Path, text: bytes, work: str, number: int) -> None:
    """Temporary files of a sort have no names; a killed run leaves at most what the output was to be."""
    words, order = WORK[work]
    command = program(*words, "--sort-memory", "1M", "-t", "2", "-o", tmp_path / "x.bam")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(f"@HD\tVN:1.6\tSO:{order}\n{HEAD}".encode() + text)
        process.stdin.flush()
        process.send_signal(number)
        _, error = process.communicate(timeout=DEADLINE)
    left = [path.name for path in tmp_path.iterdir()]
    if number == signal.SIGKILL:
        assert process.returncode == -number
        assert len(left) == 1
        assert "x.bam" not in left
    else:
        assert process.returncode == 128 + number
        assert error.count(b"\n") == 1
        assert left == []


@pytest.mark.parametrize("work", list(WORK))
def test_a_reader_that_goes_away(tmp_path: Path, text: bytes, work: str) -> None:
    words, order = WORK[work]
    (tmp_path / "in.sam").write_bytes(f"@HD\tVN:1.6\tSO:{order}\n{HEAD}".encode() + text)
    words = tuple(tmp_path / "in.sam" if word == "-" else word for word in words if word != "--write-index")
    command = program(*words, "--output-format", "bam")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        error = process.stderr.read()
        assert process.wait(timeout=DEADLINE) == 141
    assert b"rror" not in error
