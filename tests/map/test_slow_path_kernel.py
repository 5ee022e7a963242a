"""The kernels of ``cuda/map.cu`` and ``cuda/map_slow_path.cu``, compiled for the host, with all lanes of a warp: the
CPU's records.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualign.map import tuning
from gpualign.map.device.kernel import KERNELS as MAP_KERNELS
from gpualign.map.device.slow_path import KERNELS
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import without_program
from tests.helpers.sequences import random_genome, reverse_complement, with_errors

pytestmark = pytest.mark.slow  # three of the largest kernels are compiled

Cli = Callable[..., tuple[int, bytes, str]]
GENOME = random_genome(61, 6000)
LONGEST = 120
FAMILY = "".join(with_errors(seed, GENOME[2000:2400], 0.06) + random_genome(100 + seed, 60) for seed in range(12))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    of_chains = {"LONG_GAPS": 0, "WIDE_LANES": 64, "WIDEST_LANES": 96}
    of = {"map": tuning.map_shape(LONGEST).defines(), "map_slow_path": {"LONG_GAPS": 0}, "map_chains": of_chains}
    return {module: emulated_library(tmp_path_factory, module, macros) for module, macros in of.items()}


@pytest.fixture
def kernels(libraries: dict[str, ctypes.CDLL], use: Callable[[FakeDriver], FakeDriver]) -> dict[str, Emulated]:
    of_chains = (
        "plan_chains",
        "plan_ends",
        "cut_chains",
        "finish_chains",
        *(step.kernel for step in tuning.SHORT_PASSES if step.warps == 1),
    )
    kernels = {name: Emulated(libraries["map_slow_path"], name) for name in KERNELS}
    kernels |= {name: Emulated(libraries["map_chains"], name) for name in of_chains}
    lanes = {"choose_loci", "report_loci"}  # a lane for each item
    kernels |= {name: Emulated(libraries["map"], name, 1 << 16 if name in lanes else 2) for name in MAP_KERNELS}
    use(FakeDriver()).functions |= kernels
    return kernels


def with_changes(read: str, changes: dict[int, str]) -> str:
    return "".join(changes.get(i, base) for i, base in enumerate(read))


def short_ones() -> list[str]:
    """Reads whose neighbours are looked up: an exact one, some with mismatches, N or both."""
    exact, other, with_n = GENOME[4500:4531], GENOME[4600:4620], GENOME[4700:4790]
    changed = {9: "ACGT"["CGTA".index(other[9])]}
    unknown = dict.fromkeys(range(3, 90, 9), "N")
    return [
        exact,
        with_changes(other, changed),
        with_changes(other, changed | {20: "N"}),
        with_changes(with_n, unknown),
    ]


def pairs() -> list[tuple[str, str]]:
    """Clipped, split, in repeats, with a mate that fits in part or nowhere, with N, short, with adapters."""
    noise = random_genome(62, 400)
    at = [300 + 400 * i for i in range(9)] + [4300] * len(short_ones())
    reads = [GENOME[at[0] : at[0] + 100], GENOME[at[1] : at[1] + 60] + GENOME[3900:3960]]
    reads += [noise[:40] + GENOME[at[2] : at[2] + 80], GENOME[at[3] : at[3] + 60] + GENOME[at[3] + 90 : at[3] + 150]]
    reads += [with_errors(seed, GENOME[2100:2220], 0.12) for seed in range(2)]
    reads += ["N" * 60, "", GENOME[at[8] : at[8] + 34], *short_ones()]
    mates = [GENOME[a + 180 : a + 280] for a in at]
    mates[0] = noise[:60] + GENOME[at[0] + 180 : at[0] + 220]
    mates[2] = noise[100:200]
    mates[4:6] = [with_errors(20 + seed, GENOME[2250:2370], 0.1) for seed in range(2)]
    facing = [(read, reverse_complement(mate)) for read, mate in zip(reads, mates, strict=True)]
    facing += [read_through(size) for size in (31, 32, 33, 47, 63, 64, 65, 80, 95, 96)]
    facing += [read_through(size, 0.11) for size in (49, 60, 77, 90)]
    return facing + [(first[:30] + first[31:], second) for first, second in map(read_through, (50, 66, 81, 94))]


def read_through(size: int, errors: float = 0.03) -> tuple[str, str]:
    """Reads of 120 and 110 bases of a shorter fragment, with errors and N."""
    insert, behind = GENOME[5000 : 5000 + size], random_genome(size, 240)
    if size % 2:
        insert = reverse_complement(insert)
    first, second = insert + behind[:120], with_changes(reverse_complement(insert), {17: "N"}) + behind[120:]
    return with_errors(size, first[:size], errors) + first[size:120], second[:110]


@pytest.mark.parametrize(
    ("mates", "options"),
    [(True, ("-I", "280,40", "-N", "3")), (True, ("-I", "900,700")), (False, ("-N", "3"))],
    ids=["pairs", "wide windows", "reads"],
)
def test_the_lanes_of_kernels_find_the_same(
    cli: Cli, kernels: dict[str, Emulated], tmp_path: Path, mates: bool, options: tuple[str, ...]
) -> None:
    reference = write_fasta(tmp_path / "ref.fa", one=GENOME, two=FAMILY)
    files = [
        write_fastq(
            tmp_path / f"{end}.fq", *((f"r{i}", pair[end], "I" * len(pair[end])) for i, pair in enumerate(pairs()))
        )
        for end in range(1 + mates)
    ]
    found = {}
    for device in ("cpu", "cuda"):
        report = tmp_path / f"{device}.json"
        status, out, errors = cli("map", "-q", reference, *files, *options, "--device", device, "--json", report)
        assert status == 0, errors
        found[device] = without_program(out)
    assert found["cuda"].splitlines() == found["cpu"].splitlines()
    assert all(kernel.calls for kernel in kernels.values())
    assert json.loads(report.read_text())["cpu_items"] == 0


def test_the_lanes_sample_the_same_hits(cli: Cli, kernels: dict[str, Emulated], tmp_path: Path) -> None:
    """Reads with errors within a tandem repeat: all their seeds exceed the limit on hits, but for k-mers by chance."""
    array = "GGAAT" * 400
    reference = write_fasta(tmp_path / "ref.fa", one=random_genome(63, 30_000) + array + random_genome(64, 30_000))
    reads = [with_errors(seed, array[5 * seed :][:120], 0.03) for seed in range(40)]
    file = write_fastq(tmp_path / "r.fq", *((f"r{i}", read, "I" * len(read)) for i, read in enumerate(reads)))
    found = {}
    for device in ("cpu", "cuda"):
        code, sam, error = cli("map", "--device", device, "-k", "9", "-w", "1", "--max-hits", "40", reference, file)
        assert code == 0, error
        found[device] = without_program(sam)
    assert found["cuda"] == found["cpu"]
    assert found["cpu"].count(b"\t*\t0\t0\t*\t*\t0\t0\t") == 0
