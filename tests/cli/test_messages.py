"""Messages that nobody can read: the output, and the exit code that goes with it, do not depend on them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from gpualign.errors import counted
from tests.helpers import good_input
from tests.helpers.command_lines import GOOD
from tests.helpers.commands import program
from tests.helpers.files import write_fasta
from tests.helpers.sequences import random_genome
from tests.helpers.soak import some_of

Cli = Callable[..., tuple[int, bytes, str]]

DEADLINE_S = 60
COMMANDS = {name: text + ("" if name in ("index", "derep") else " --device cpu") for name, text in GOOD.items()}
COMMANDS["map --bam"] = COMMANDS["map"] + " --bam"
COMMANDS["completion"] = "completion bash"


def full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def reader_gone() -> int:
    end, other = os.pipe()
    os.close(end)
    return other


STREAMS: dict[str, Callable[[], int]] = {"reader gone": reader_gone}
if os.path.exists("/dev/full"):
    STREAMS["full disk"] = full_disk


@pytest.fixture
def stderr(stream: str) -> Iterator[int]:
    descriptor = STREAMS[stream]()
    yield descriptor
    os.close(descriptor)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("good")
    good_input.write_good_inputs(path)
    return path


def run(words: list[str], stderr: int) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(program(*words), stdout=subprocess.PIPE, stderr=stderr, timeout=DEADLINE_S)


@pytest.mark.parametrize(
    ("command", "stream"),  # one function writes the messages of all
    some_of(
        product(COMMANDS, STREAMS),
        lambda command, stream: (
            command == "map" or (stream == "reader gone" and command in ("map --bam", "index", "mems", "cluster"))
        ),
    ),
)
def test_a_whole_output_is_success(
    cli: Cli, tmp_path: Path, folder: Path, stderr: int, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    words = COMMANDS[command].format(folder=folder).split()
    index = tmp_path / "index" if command == "index" else None
    words += ["-d", str(index)] if index else []
    monkeypatch.setattr(sys, "argv", program(*words)[2:])  # which the header of SAM repeats
    status, out, _ = cli(*words)
    expected = index.read_bytes() if index else out
    assert status == 0
    assert len(expected) > 100
    done = run(words, stderr)
    assert (done.returncode, index.read_bytes() if index else done.stdout) == (0, expected)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("map {folder}/nosuch {folder}/reads.fq", 3),
        ("map --nosuch", 2),
        ("map {folder}/ref.fa {folder}/reads.fq --device cpu -o {folder}/none/output", 1),
    ],
)
@pytest.mark.parametrize("stream", STREAMS)
def test_an_error_is_one_without_its_sentence(folder: Path, stderr: int, arguments: str, code: int) -> None:
    done = run(arguments.format(folder=folder).split(), stderr)
    assert (done.returncode, done.stdout) == (code, b"")


@pytest.mark.parametrize(("number", "shown"), [(0, "0 reads"), (1, "1 read"), (2000, "2,000 reads")])
def test_one_is_singular(number: int, shown: str) -> None:
    assert counted(number, "read") == shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("map {one} {one}", "1 read, 1 mapped"),
        ("index {one} -d {out}", "1 contig, 200 bases, "),
        ("mems {one} {one}", "1 query, 200 bases "),
        ("align {one} {one}", "1 alignment, 200 bases of the reference, on cpu"),
        ("verify {one} {one}", "1 pair, on cpu"),
        ("verify -e 0.1 {one} {one}", "1 pair, 1 within"),
        ("pairwise --one-to-one {one} {one}", "1 pair, 1 written"),
        ("pairwise --max-gaps 0 --one-to-one {one} {one}", "1 pair, 1 written"),
        ("lcs-filter -Q {one} {one}", "1 subject, 200 residues, 1 written"),
    ],
)
def test_summaries_count(cli: Cli, tmp_path: Path, arguments: str, said: str) -> None:
    one = write_fasta(tmp_path / "one.fa", only=random_genome(1, 200))
    words = arguments.format(one=one, out=tmp_path / "out").split()
    words += [] if "-d" in words else ["-o", str(tmp_path / "out")]
    assert said in cli(*words)[2]
    (tmp_path / "out").unlink()
    assert cli(*words, "-q") == (0, b"", "")


@pytest.mark.parametrize("command", ["map {one}", "mems {one}", "verify {one}", "lcs-filter -Q {one}"])
def test_quiet_says_nothing_of_empty_input(cli: Cli, tmp_path: Path, command: str) -> None:
    one, empty = write_fasta(tmp_path / "one.fa", only="ACGT" * 50), write_fasta(tmp_path / "empty.fa")
    words = [*command.format(one=one).split(), empty, "-o", tmp_path / "out"]
    if command.startswith("verify"):
        words += ["-c", empty]
    assert "warning" in cli(*words)[2]
    assert cli(*words, "-q") == (0, b"", "")


def test_names_whose_utf_8_has_bytes_like_spaces_of_latin_1(cli: Cli, tmp_path: Path) -> None:
    sequences = tmp_path / "a.fa"
    sequences.write_text(">àÅ\nACGTACGTA\n>b\nACGTACGTC\n", "utf-8")
    (tmp_path / "pairs.tsv").write_text("b\tàÅ\n", "utf-8")
    code, out, error = cli("pairwise", sequences, sequences, "--pairs", tmp_path / "pairs.tsv", "-q")
    assert (code, error) == (0, "")
    assert "b\tàÅ" in out.decode()


def test_names_that_a_terminal_would_obey(cli: Cli, tmp_path: Path) -> None:
    sequences = write_fasta(tmp_path / "a.fa", a="ACGT" * 9)
    (tmp_path / "pairs.tsv").write_bytes(b"a\t\x1b[2Jcaf\xe9\x9b\x7f\n")
    code, _, error = cli("pairwise", sequences, sequences, "--pairs", tmp_path / "pairs.tsv")
    assert code == 3
    assert "no sequence is named '?[2Jcaf\u00e9??'" in error
