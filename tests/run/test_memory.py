"""Memory does not grow with the input: ten times the input within a limit that the small input's run sets.

The system limits address space, which glibc takes in large pieces for each thread; resident memory is compared closely.
"""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import good_input
from tests.helpers.command_lines import GROWING
from tests.helpers.environment import SANITIZED
from tests.helpers.soak import some_of

pytestmark = pytest.mark.skipif(SANITIZED, reason="a sanitizer takes memory of its own")
MANY = 40_000
#: MiB that ten times the input may take more
ROOM = 16
#: MiB of address space: of the first run, and that ten times the input may take more (two of glibc's arenas)
MAX_SPACE, MORE_SPACE = 3 << 10, 128
#: runs a command within a limit (MiB of address space) and tells the peaks of its resident memory and of its address
#: space, in KiB; not by getrusage, which begins with what the process had that forked it
_PROGRAM = """
import re, resource, sys
limit = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from gpualign.cli import main
try:
    main(sys.argv[2:])
except SystemExit as end:
    status = open("/proc/self/status").read()
    peaks = [re.search(key + r":\\s+(\\d+) kB", status)[1] for key in ("VmHWM", "VmPeak")]
    print(end.code, *peaks, file=sys.stderr)
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


def peaks_mib(arguments: str, limit: float = MAX_SPACE) -> tuple[float, float]:
    """Of resident memory and of address space, within a limit on the latter."""
    options = "--device cpu -t 2 --batch-size 100K -o /dev/null"
    words = [sys.executable, "-c", _PROGRAM, str(int(limit)), *arguments.split(), *options.split()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    code, resident, space = done.stderr.split()[-3:]
    assert code == "0", done.stderr
    return int(resident) / 1024, int(space) / 1024


#: each reader and each writer once
AT_EACH_PUSH = (
    "map",
    "map, sorted",
    "mems",
    "verify, places",
    "pairwise",
    "search, near the ends",
    "lcs-filter",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory")
    good_input.write_good_inputs(folder)
    (folder / "few.fq").write_text(reads(100))
    for count in (MANY // 10, MANY):
        text = reads(count)
        (folder / f"{count}.fq").write_text(text)
        (folder / f"{count}.fq.gz").write_bytes(gzip.compress(text.encode(), 1))
        rows = [f"r{i % 100}\tchrA\t{1 + i % 800}\t900\t+\n" for i in range(5 * count)]
        (folder / f"{count}.tsv").write_text("".join(rows))
        rng = random.Random(count)
        (folder / f"{count}.long.fa").write_text(
            ">c\n" + "\n".join("".join(rng.choices("ACGT", k=100)) for _ in range(count))
        )
        (folder / f"{count}.fa").write_text("".join(f">p{i}\nACGTTGCAACGT\n" for i in range(count // 10)))
    return folder


def test_every_locus_in_low_complexity(tmp_path: Path) -> None:
    """A read of adenines and thymines has millions of hits in a reference of them."""
    rng = random.Random(6)
    bases = "A" * 100_000 + "".join(rng.choice("AT") for _ in range(400_000))
    (tmp_path / "ref.fa").write_text(f">c\n{bases}\n")
    peaks = []
    for reads in (["ACGT" * 25], [bases[at : at + 100] for at in (0, *range(200_000, 400_000, 20_000))]):
        (tmp_path / "reads.fa").write_text("".join(f">r{i}\n{read}\n" for i, read in enumerate(reads)))
        peaks.append(peaks_mib(f"map --sensitivity full -e 0.05 {tmp_path}/ref.fa {tmp_path}/reads.fa")[0])
    print("MiB with one read without hits and with ten of low complexity:", *(f"{peak:.0f}" for peak in peaks))
    assert peaks[1] < peaks[0] + 40


@pytest.mark.parametrize("command", some_of(zip(GROWING), lambda command: command in AT_EACH_PUSH))
def test_ten_times_the_input_in_the_same_memory(folder: Path, command: str) -> None:
    small, space = peaks_mib(GROWING[command].format(folder=folder, n=MANY // 10))
    large, _ = peaks_mib(GROWING[command].format(folder=folder, n=MANY), space + MORE_SPACE)
    print(f"{command}: {small:.0f} MiB, then {large:.0f}")
    assert large < small + ROOM
