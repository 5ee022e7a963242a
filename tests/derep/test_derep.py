"""`derep` against plain Python: equal sequences, prefixes, strands, abundances, samples, .uc."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

from tests.helpers.commands import program
from tests.helpers.files import read_fasta, write_fasta
from tests.helpers.sequences import reverse_complement


def derep(*words: object) -> str:
    return subprocess.run(program("derep", *words, device=None), capture_output=True, text=True, check=True).stdout


def sample(seed: int, count: int = 300) -> list[tuple[str, str]]:
    """Names with sizes and samples, and few short sequences, which often are prefixes of others."""
    rng = random.Random(seed)
    return [
        (f"s{i};size={rng.randint(1, 9)};sample={rng.choice('ab')}", "".join(rng.choices("AC", k=rng.randint(1, 6))))
        for i in range(count)
    ]


def size_of(name: str) -> int:
    return int(name.split("size=")[1].split(";")[0])


def write(path: Path, records: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f">{name}\n{text}\n" for name, text in records))
    return path


@pytest.mark.parametrize("strand", ["plus", "both"])
def test_equal_sequences_are_written_once(tmp_path: Path, strand: str) -> None:
    records = sample(1)
    groups: dict[str, list[str]] = defaultdict(list)
    for name, text in records:
        other = reverse_complement(text)
        groups[other if strand == "both" and other in groups and text not in groups else text].append(name)
    expected = sorted((-sum(map(size_of, names)), names[0], text) for text, names in groups.items())
    path = write(tmp_path / "a.fa", records)
    lines = derep(path, "--strand", strand, "--sizein", "--sizeout", "-q").splitlines()
    found = [(-size_of(name), name[1:].split(";")[0], text) for name, text in zip(lines[::2], lines[1::2], strict=True)]
    assert found == [(size, name.split(";")[0], text) for size, name, text in expected]


def test_prefixes_go_to_the_first_longer_sequence(tmp_path: Path) -> None:
    records = sample(2)
    # vsearch's order: the shortest first, of equal lengths the more abundant, then by name
    order = sorted(records, key=lambda record: (len(record[1]), -size_of(record[0]), record[0]))
    live: dict[str, list[str]] = {}
    for name, text in order:
        if text in live:
            live[text].append(name)
            continue
        begins = [other for other in live if text.startswith(other)]
        taken = [member for other in begins for member in live.pop(other)]
        live[text] = [name, *taken]
    expected = sorted((-sum(map(size_of, names)), names[0], text) for text, names in live.items())
    lines = derep(write(tmp_path / "a.fa", records), "--prefix", "--sizein", "-q").splitlines()
    assert [(name[1:], text) for name, text in zip(lines[::2], lines[1::2], strict=True)] == [
        (name, text) for _, name, text in expected
    ]


def test_by_hand(tmp_path: Path) -> None:
    """Case and U, limits, samples, names, and members in .uc."""
    first = write(tmp_path / "a.fa", [("x;size=2;sample=soil", "acgu"), ("y;sample=soil", "ACG"), ("long", "A" * 9)])
    second = write(tmp_path / "b.fa", [("z;size=5;sample=lake", "ACGT"), ("w;sample=lake", "TTT")])
    outputs = ["--biom-tsv", tmp_path / "t", "--uc", tmp_path / "uc"]
    written = derep(
        first, second, "--sizein", "--sizeout", "--relabel", "u", "--max-length", "8", "--top", "2", *outputs
    )
    assert written == ">u1;size=7\nACGT\n>u2;size=1\nTTT\n"
    assert (tmp_path / "t").read_text() == "#OTU ID\tlake\tsoil\nu1\t5\t2\nu2\t1\t0\n"
    assert (tmp_path / "uc").read_text().splitlines()[:3] == [
        "S\t0\t4\t*\t*\t*\t*\t*\tx;size=2;sample=soil\t*",
        "H\t0\t4\t100.0\t+\t0\t0\t*\tz;size=5;sample=lake\tx;size=2;sample=soil",
        "S\t1\t3\t*\t*\t*\t*\t*\tw;sample=lake\t*",
    ]
    assert derep(first, "--sizein", "--min-unique-size", "2") == ">x;size=2;sample=soil\nACGT\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--prefix", "--strand", "both"], "--prefix compares beginnings"),
        (["--top", "0"], "top must be from 1"),
        (["--uc", "-"], "two outputs go to standard output"),
    ],
)
def test_what_is_refused(tmp_path: Path, words: list[str], message: str) -> None:
    path = write_fasta(tmp_path / "a.fa", ["ACGT"])
    done = subprocess.run(program("derep", path, *words, device=None), capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr


def test_a_size_that_is_no_number(tmp_path: Path) -> None:
    path = write(tmp_path / "a.fa", [("x;size=many", "ACGT")])
    done = subprocess.run(program("derep", path, device=None), capture_output=True, text=True)
    assert done.returncode == 3
    assert "a.fa:1: the size of sequence x;size=many is not a number" in done.stderr


def test_empty_input(tmp_path: Path) -> None:
    path = write(tmp_path / "a.fa", [])
    done = subprocess.run(program("derep", path, device=None), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "there are no sequences" in done.stderr


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
@pytest.mark.parametrize("option", ["full", "prefix"])
def test_the_sequences_of_vsearch(tmp_path: Path, option: str) -> None:
    path = write(tmp_path / "a.fa", sample(3))
    ours, theirs = tmp_path / "ours.fa", tmp_path / "theirs.fa"
    derep(path, "--sizein", "--sizeout", "-q", "-o", ours, *(["--prefix"] if option == "prefix" else []))
    command = "--derep_prefix" if option == "prefix" else "--derep_fulllength"
    words = [command, path, "--output", theirs, "--sizein", "--sizeout", "--minseqlength", "1", "--quiet"]
    subprocess.run(["vsearch", *map(str, words)], check=True)
    shown = [
        {name.split(";size")[0]: (text, size_of(name)) for name, text in read_fasta(each).items()}
        for each in (ours, theirs)
    ]
    assert shown[0] == shown[1]
    assert [*shown[0]] == [*shown[1]]
