"""Named pipes as inputs: several that one writer opens first, and references, which can be read but once."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pysam
import pytest

from tests.helpers.commands import program
from tests.helpers.files import fasta, write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

GENOME = random_genome(7, 20_000)
TIMEOUT = 60
PAIRS = 6000


@contextmanager
def written(texts: dict[Path, bytes]) -> Iterator[None]:
    """Pipes, all opened before any is written to, then written to in turn."""
    for path in texts:
        os.mkfifo(path)

    def write() -> None:
        outs = [path.open("wb", buffering=0) for path in texts]
        parts = [text.splitlines(keepends=True) for text in texts.values()]
        for at in range(0, max(map(len, parts)), 4):
            for out, part in zip(outs, parts, strict=True):
                out.write(b"".join(part[at : at + 4]))
        for out in outs:
            out.close()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield
    writer.join(TIMEOUT)
    assert not writer.is_alive()


def output_of(*words: object, stdin: bytes | None = None) -> bytes:
    return subprocess.run(program(*words), input=stdin, capture_output=True, timeout=TIMEOUT, check=True).stdout


@pytest.fixture
def mates(tmp_path: Path) -> Sequence[Path]:
    """More than pipes and readers hold; R1 has half of R2's bases."""
    sides: tuple[list[tuple[str, str, str]], ...] = ([], [])
    for i in range(PAIRS):
        at = 3 * i
        sides[0].append((f"p{i}", GENOME[at : at + 50], "I" * 50))
        sides[1].append((f"p{i}", reverse_complement(GENOME[at + 200 : at + 300]), "I" * 100))
    return [write_fastq(tmp_path / f"{i}.fq", *side) for i, side in enumerate(sides)]


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "ref.fa", g=GENOME)


@pytest.mark.parametrize("command", ["map", "mem"])
def test_two_pipes_of_one_writer(tmp_path: Path, reference: Path, mates: Sequence[Path], command: str) -> None:
    expected = records(output_of(command, reference, *mates))
    pipes = {tmp_path / f"p{i}": path.read_bytes() for i, path in enumerate(mates)}
    with written(pipes):
        found = records(output_of(command, reference, *pipes))
    assert found == expected
    assert len(found) == 2 * PAIRS


def test_an_error_while_the_writer_waits(tmp_path: Path, reference: Path, mates: Sequence[Path]) -> None:
    """Nobody waits for it in turn."""
    pipes = [tmp_path / "p1", tmp_path / "p2"]
    for pipe in pipes:
        os.mkfifo(pipe)
    process = subprocess.Popen(program("map", reference, *pipes), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    with pipes[0].open("wb") as first, pipes[1].open("wb") as second:
        first.write(b"text\n")
        first.close()
        second.write(mates[1].read_bytes()[: 1 << 17])  # and no more
        second.flush()
        assert process.stderr is not None
        error = process.stderr.read()
        assert process.wait(TIMEOUT) == 3
        process.stderr.close()
    assert b"neither FASTA nor FASTQ" in error


def test_two_pipes_of_verify(tmp_path: Path, mates: Sequence[Path]) -> None:
    expected = output_of("verify", *mates)
    pipes = {tmp_path / f"p{i}": path.read_bytes() for i, path in enumerate(mates)}
    targets, queries = pipes
    with written({queries: pipes[queries], targets: pipes[targets]}):
        assert output_of("verify", targets, queries) == expected


def test_a_pipe_as_the_reference_of_cram(tmp_path: Path, mates: Sequence[Path]) -> None:
    with written({tmp_path / "ref": fasta([("g", GENOME)])}):
        output_of("map", tmp_path / "ref", mates[0], "-o", tmp_path / "o.cram")
    write_fasta(tmp_path / "ref.fa", g=GENOME)
    lines = pysam.view("-H", str(tmp_path / "o.cram"), catch_stdout=True).splitlines()
    assert next(line for line in lines if line.startswith("@SQ")).split("\t")[1:3] == ["SN:g", f"LN:{len(GENOME)}"]
    assert not any("UR:" in line for line in lines)
    found = pysam.view("-c", "-T", str(tmp_path / "ref.fa"), str(tmp_path / "o.cram"), catch_stdout=True)
    assert int(found) == PAIRS


def test_a_pipe_with_two_records_of_one_name(tmp_path: Path, mates: Sequence[Path]) -> None:
    with written({tmp_path / "ref": b">a\nACGT\n>a\nACGT\n"}):
        done = subprocess.run(program("map", tmp_path / "ref", mates[0]), capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 3
    assert b"two records are named 'a' (rename one)" in done.stderr


def test_mem_reads_the_reference_from_standard_input(tmp_path: Path, reference: Path, mates: Sequence[Path]) -> None:
    found = output_of("mem", "-", mates[0], stdin=fasta([("g", GENOME)]))
    assert records(found) == records(output_of("mem", reference, mates[0]))
    assert not (tmp_path / "-.gpi").exists()
    assert not Path("-.gpi").exists()


def test_mem_of_two_inputs_from_standard_input(reference: Path) -> None:
    done = subprocess.run(program("mem", "-", "-"), input=b"", capture_output=True, timeout=TIMEOUT)
    assert done.returncode == 2
    assert b"standard input (-) is given more than once" in done.stderr
