"""FASTQ whose sequences and qualities run over several lines: read as its records in four lines each are."""

from __future__ import annotations

import bz2
import gzip
import os
import random
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gpualign
from gpualign import _native
from gpualign.errors import InputError
from gpualign.notices import notices_to
from gpualign.reads.reads import ReadSource
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.text.chunks import read_batches
from tests.helpers.commands import program
from tests.helpers.files import Record, fastq, write_bgzf, write_fasta, write_fastq
from tests.helpers.sam import without_program
from tests.helpers.sequences import random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
GENOME = random_genome(8, 20_000)
WARNING = "FASTQ with wrapped lines"


def wrapped(records: list[Record], width: int, end: str = "\n") -> bytes:
    lines = []
    for name, bases, qualities in records:
        parts = [[text[i : i + width] for i in range(0, len(text), width)] for text in (bases, qualities)]
        lines += [f"@{name}", *parts[0], "+", *parts[1]]
    return "".join(line + end for line in lines).encode()


def reads(count: int, mate: int = 1) -> list[Record]:
    """Qualities of '@' and '+', too, which may begin their lines."""
    rng = random.Random(count)
    made = []
    for i in range(count):
        at, length = rng.randrange(19_000), rng.choice((40, 60, 61, 120, 150))
        bases = GENOME[at : at + length] if mate == 1 else reverse_complement(GENOME[at + 300 - length : at + 300])
        made.append((f"r{i}/{mate}", bases, "".join(rng.choices("@+I#", k=length))))
    return made


def read_batch(path: str, *, chunk_bytes: int = 3000, **how: bool | int) -> SequenceBatch:
    with notices_to(lambda message: None), ReadSource(path, **how) as source:  # type: ignore[arg-type]
        return join_batches([item.columns() for item in source.records(chunk_bytes // 2)])


def same(one: SequenceBatch, other: SequenceBatch) -> bool:
    fields = ("names", "name_offsets", "bases", "base_offsets", "qualities")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)


@pytest.mark.parametrize("width", [1, 50, 60, 100])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_records(tmp_path: Path, width: int, end: str) -> None:
    made = reads(400)
    expected = read_batch(str(write_fastq(tmp_path / "four.fq", *made)))
    text = wrapped(made, width, end)
    path = tmp_path / "w.fq"
    path.write_bytes(text)
    assert len(text) > 1 << 16  # read at their borders where they are large
    for file in (path, write_bgzf(tmp_path / "b.gz", text, 5000)):
        for how in ({}, {"threads": 2}):
            assert same(read_batch(str(file), **how), expected)
    for name, content in (("g.gz", gzip.compress(text)), ("b.bz2", bz2.compress(text))):
        (tmp_path / name).write_bytes(content)
        assert same(read_batch(str(tmp_path / name)), expected)


def test_a_record_longer_than_what_is_looked_at(tmp_path: Path) -> None:
    long = ("long", "ACGTACGTAC" * 20_000, "I" * 200_000)
    path = tmp_path / "l.fq"
    path.write_bytes(wrapped([long, *reads(3)], 60))
    assert same(read_batch(str(path)), read_batch(str(write_fastq(tmp_path / "f.fq", long, *reads(3)))))


def test_the_first_records_may_be_short(tmp_path: Path) -> None:
    made = [(f"s{i}", "ACGT", "@+@+") for i in range(20)] + reads(5)
    path = tmp_path / "w.fq"
    path.write_bytes(wrapped(made, 60))
    assert same(read_batch(str(path)), read_batch(str(write_fastq(tmp_path / "f.fq", *made))))


def test_borders() -> None:
    """Of whole records, at every byte; a quality that begins with '@' is no header."""
    text = b"@a\nACG\nTA\n+\n@II\n@+\n\n@b\n\n+\n\n@c\nAC\n+a\n@c\n"
    ends = [i for i in range(len(text) + 1) if _native.wrapped_fastq_border(text[:i]) == i]
    assert ends == [0, 19, 20, 26, 27, 39]
    assert all(_native.wrapped_fastq_border(text[:i]) == max(e for e in ends if e <= i) for i in range(len(text) + 1))


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("@a\nAC\nGT\n+\nII\nI\n", 1, "cut short"),
        ("@a\nAC\nGT\n+\nII\nII\n@b\nAC\nGT\n", 7, "cut short (the last whole record is 'a')"),
        ("@a\nAC\nGT\n+\nII\nIII\n", 6, "record 'a': 4 bases but 5 qualities"),
        ("@a\nAC\nGT\n+\nII\n@b\nAC\n+\nII\n", 7, "expected '@' at the start of a FASTQ record, found 'AC'"),
        ("@a\nAC\nGT\n+\nII\nII\n@b\nA-\nGT\n+\nII\nII\n", 8, "record 'b': '-' is not a nucleotide"),
        ("@a\nAC\nGT\n+\nII\nI I\n", 6, "4 bases but 5 qualities"),
        ("@a\nAC\nGT\n+\nII\nI\x01\n", 6, "a quality is not a printable character"),
        ("@a\nAC\nGT\n+\nII\nII\n@b\nAC\nGT\n@c\nAC\n+\nII\n", 10, "record 'b': expected '+', found '@c'"),
        ("@a\nAC\nGT\n+\nII\nII\n>b\nAC\n", 7, "expected '@' at the start of a FASTQ record, found '>b'"),
        ("@a\nAC\nGT\n+\nII\nII\n@\nAC\n+\nII\n", 7, "a record has no name"),
    ],
)
def test_what_is_wrong(cli: Cli, tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "w.fq"
    path.write_text(text)
    code, _, error = cli("map", write_fasta(tmp_path / "g.fa", g=GENOME), path, "-o", tmp_path / "o.sam")
    assert code == 3
    assert not (tmp_path / "o.sam").exists()
    assert f"w.fq:{line}: " in error
    assert what in error


def test_a_late_chunk_is_named_by_its_line(tmp_path: Path) -> None:
    made = reads(300)
    path = tmp_path / "w.fq"
    path.write_bytes(wrapped(made, 50) + b"@z\nAC\nNQ\n+\nII\nII\n")
    with notices_to(lambda message: None), pytest.raises(InputError, match="'Q' is not a nucleotide") as caught:
        list(read_batches(str(path), 4000))
    assert caught.value.line == wrapped(made, 50).count(b"\n") + 3


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Both mates in four lines and wrapped, and a reference."""
    made = {f"r{mate}": reads(200, mate) for mate in (1, 2)}
    paths = {"ref": write_fasta(tmp_path / "g.fa", g=GENOME)}
    for name, records in made.items():
        paths[name] = write_fastq(tmp_path / f"{name}.fq", *records)
        paths["w" + name] = tmp_path / f"w{name}.fq"
        paths["w" + name].write_bytes(wrapped(records, 60))
    both = [end for pair in zip(made["r1"], made["r2"], strict=True) for end in pair]
    paths["i"] = write_fastq(tmp_path / "i.fq", *both)
    paths["wi"] = tmp_path / "wi.fq"
    paths["wi"].write_bytes(wrapped(both, 60))
    return paths


@pytest.mark.parametrize(
    "words",
    [
        "map ref r1",
        "map ref r1 -t 3 --batch-size 2K",
        "map -I 300,30 ref r1 r2",
        "map -I 300,30 -p ref i",
        "map -I 300,30 -p ref i --batch-size 2K",
        "mem -I 300,30 ref r1 r2",
        "mems -l 30 ref r1",
        "verify r1 r1",
        "lcs-filter --multi-query -Q r1 r1",
        "pairwise r1 r2 --one-to-one",
        "pairwise r1 r2 --max-gaps 1 --one-to-one",
        "makedb r1",
    ],
)
def test_commands(cli: Cli, tmp_path: Path, files: dict[str, Path], words: str) -> None:
    def run(prefix: str) -> tuple[bytes, str]:
        of = {name: files[prefix + name] for name in ("r1", "r2", "i")} | {"ref": files["ref"]}
        out = tmp_path / f"out{prefix}"
        code, _, error = cli(*(of.get(word, word) for word in words.split()), "-o", out)
        assert code == 0, error
        return without_program(out.read_bytes()), error

    (expected, before), (found, error) = run(""), run("w")
    assert found == expected
    assert WARNING not in before
    inputs = {files["w" + name] for name in ("r1", "r2", "i") if name in words.split()}
    assert error.count(WARNING) == len(inputs)
    assert all(f"{path}: {WARNING}" in error for path in inputs)


def test_the_reference_of_verify_and_python(files: dict[str, Path]) -> None:
    with pytest.warns(UserWarning, match=WARNING):
        found = gpualign.Mapper(files["ref"]).map(files["wr1"])
    assert found["read"].tolist() == gpualign.Mapper(files["ref"]).map(files["r1"])["read"].tolist()


def test_pipes(tmp_path: Path, files: dict[str, Path]) -> None:
    """Both mates through pipes that one writer opens before it writes to them in turn."""
    pipes = [tmp_path / "p1", tmp_path / "p2"]
    for pipe in pipes:
        os.mkfifo(pipe)

    def write() -> None:
        outs = [pipe.open("wb") for pipe in pipes]
        texts = [files[name].read_bytes() for name in ("wr1", "wr2")]
        for at in range(0, max(map(len, texts)), 1000):
            for out, text in zip(outs, texts, strict=True):
                out.write(text[at : at + 1000])
                out.flush()
        for out in outs:
            out.close()

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    words = ("map", "-q", "-I", "300,30", files["ref"])
    found = subprocess.run(program(*words, *pipes), capture_output=True, timeout=60, check=True).stdout
    writer.join(10)
    expected = subprocess.run(program(*words, files["r1"], files["r2"]), capture_output=True, timeout=60, check=True)
    assert without_program(found) == without_program(expected.stdout)


def test_four_lines_are_not_wrapped() -> None:
    assert not _native.is_wrapped_fastq(fastq(reads(20)))
    assert not _native.is_wrapped_fastq(b"@a\nACGT\nIIII\n@b\nACGT\n")  # a line is missing
    assert not _native.is_wrapped_fastq(b"@a\nACGT\n+\nII\nII\n")
    assert _native.is_wrapped_fastq(b"@a\nAC\nGT\n+\nII\nII\n")
