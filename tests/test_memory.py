"""Memory does not grow with the input: a run of ten times the input within the same limit on the process's memory.

The limit is what the small input needs, and a little: what grows with the number of reads would exceed it.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import good_input
from tests.conftest import SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer takes memory of its own")
MANY = 40_000
#: MiB that ten times the input may take more
ROOM = 12
#: runs a command and tells the peak of its resident memory, in KiB; not by getrusage, which begins with what the
#: process had that forked it
_PROGRAM = """
import re, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from gpualign.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    peak = re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]
    print(end.code, peak, file=sys.stderr)
"""


def reads(count: int) -> str:
    rng = random.Random(5)
    contigs = [text for _, text in good_input.CONTIGS]
    lines = []
    for i in range(count):
        contig = rng.choice(contigs)
        start = rng.randrange(len(contig) - 100)
        lines.append(f"@r{i}\n{contig[start : start + 100]}\n+\n{'I' * 100}\n")
    return "".join(lines)


def peak_mib(arguments: str) -> float:
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _PROGRAM,
            *arguments.split(),
            "--device",
            "cpu",
            "-t",
            "2",
            "--batch-size",
            "100K",
            "-o",
            "/dev/null",
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    code, kib = done.stderr.split()[-2:]
    assert code == "0", done.stderr
    return int(kib) / 1024


#: pairwise holds its sequences, so it gets ten times the pairs; so do the queries of verify's places
COMMANDS: dict[str, Callable[[Path, int], str]] = {
    "map": lambda folder, n: f"map {folder}/ref.fa {folder}/{n}.fq",
    "map, pairs": lambda folder, n: f"map --no-check-names {folder}/ref.fa {folder}/{n}.fq {folder}/{n}.fq",
    "mems": lambda folder, n: f"mems -l 30 {folder}/ref.fa {folder}/{n}.fq",
    "verify": lambda folder, n: f"verify {folder}/{n}.fq {folder}/{n}.fq",
    "verify, places": lambda folder, n: f"verify {folder}/ref.fa {folder}/few.fq --candidates {folder}/{n}.tsv",
    "pairwise": lambda folder, n: f"pairwise --score-only {folder}/{n}.fa {folder}/few.fq",
    "pairwise, gaps": lambda folder, n: f"pairwise --max-gaps 1 --score-only {folder}/{n}.fa {folder}/few.fq",
    "lcs-filter": lambda folder, n: f"lcs-filter -q {folder}/one.fq {folder}/{n}.fq",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    good_input.write_good_inputs(folder)
    (folder / "few.fq").write_text(reads(100))
    for count in (MANY // 10, MANY):
        (folder / f"{count}.fq").write_text(reads(count))
        rows = [f"r{i % 100}\tchrA\t{1 + i % 800}\t900\t+\n" for i in range(5 * count)]
        (folder / f"{count}.tsv").write_text("".join(rows))
        (folder / f"{count}.fa").write_text("".join(f">p{i}\nACGTTGCAACGT\n" for i in range(count // 10)))
    return folder


def test_every_place_in_low_complexity(tmp_path: Path) -> None:
    """A read of adenines and thymines has millions of hits in a reference of them."""
    rng = random.Random(6)
    bases = "A" * 100_000 + "".join(rng.choice("AT") for _ in range(400_000))
    (tmp_path / "ref.fa").write_text(f">c\n{bases}\n")
    peaks = []
    for reads in (["ACGT" * 25], [bases[at : at + 100] for at in (0, *range(200_000, 400_000, 20_000))]):
        (tmp_path / "reads.fa").write_text("".join(f">r{i}\n{read}\n" for i, read in enumerate(reads)))
        peaks.append(peak_mib(f"map --sensitivity full -e 0.05 {tmp_path}/ref.fa {tmp_path}/reads.fa"))
    print("MiB with one read without hits and with ten of low complexity:", *(f"{peak:.0f}" for peak in peaks))
    assert peaks[1] < peaks[0] + 40


@pytest.mark.parametrize("command", list(COMMANDS))
def test_ten_times_the_input_in_the_same_memory(folder: Path, command: str) -> None:
    small, large = (peak_mib(COMMANDS[command](folder, count)) for count in (MANY // 10, MANY))
    print(f"{command}: {small:.0f} MiB, then {large:.0f}")
    assert large < small + ROOM
