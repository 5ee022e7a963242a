"""The kernels of ``cuda/map_chains.cu``, compiled for the host, with all lanes of a warp: the records of the CPU's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualign.map import tuning
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import without_program
from tests.helpers.sequences import random_genome, reverse_complement, with_errors

Cli = Callable[..., tuple[int, bytes, str]]
GENOME = random_genome(51, 30_000)
REPEATS = GENOME[:8000] + with_errors(3, GENOME[2000:3500], 0.02) * 2 + "AC" * 300 + random_genome(52, 4000)
LANES = {"align_wide": 64, "align_widest": 96}  # of a block


@pytest.fixture(scope="module")
def spliced_library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    defines = {"GAPS": "introns", "WIDE_LANES": 64, "WIDEST_LANES": 96}
    return emulated_library(tmp_path_factory, "map_chains", defines)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    defines = {"GAPS": "two_costs", "WIDE_LANES": 64, "WIDEST_LANES": 96}
    return emulated_library(tmp_path_factory, "map_chains", defines)


@pytest.fixture
def kernels(
    library: ctypes.CDLL, use: Callable[[FakeDriver], FakeDriver], monkeypatch: pytest.MonkeyPatch
) -> dict[str, Emulated]:
    """Of a device that has few of each class of memory, so that every pass has work."""
    passes = []
    for step, maximum in zip(tuning.ALIGN_PASSES, (8000, 8000, 12_000, 40_000, 100_000, 160 << 20), strict=True):
        minimum = 0 if step.minimum == 0 else 12_000 if step.kernel == "align_segments" else 40_000
        memory = step.memory if step.memory < 1 << 20 else 4 << 20
        warps = LANES.get(step.kernel, 32) // 32
        passes.append(tuning.AlignPass(step.kernel, minimum, maximum, memory, warps, step.at_once))
    monkeypatch.setattr(tuning, "ALIGN_PASSES", tuple(passes))
    driver = use(FakeDriver())
    names = {"chain_reads", "cut_chains", "finish_chains", "report_reads", *(step.kernel for step in passes)}
    emulated = {name: Emulated(library, name) for name in names}
    driver.functions |= emulated
    return emulated


def reads() -> list[str]:
    plain = [with_errors(seed, GENOME[at : at + 1500], 0.06) for seed, at in enumerate(range(1000, 20_000, 5000))]
    return [
        *plain,
        *map(reverse_complement, plain[:2]),
        with_errors(7, GENOME[3000:3800] + GENOME[4600:5600], 0.02),
        with_errors(8, GENOME[9000:9900] + random_genome(53, 500) + GENOME[9900:10_800], 0.05),
        GENOME[12_000:13_000] + reverse_complement(GENOME[20_000:21_000]),
        random_genome(54, 700) + GENOME[15_000:16_000] + random_genome(55, 400),
        with_errors(9, GENOME[2000:4500], 0.15),
        GENOME[20_000:21_000] + with_errors(10, GENOME[2000:3500], 0.01) + GENOME[21_000:22_000],
        GENOME[2000:3500] * 9,
        "AC" * 400,
        "N" * 300,
        "A",
    ]


@pytest.mark.slow
def test_the_lanes_of_kernels_find_the_same(cli: Cli, kernels: dict[str, Emulated], tmp_path: Path) -> None:
    reference = write_fasta(tmp_path / "ref.fa", one=GENOME, two=REPEATS)
    query = write_fastq(tmp_path / "reads.fq", *((f"r{i}", read, "I" * len(read)) for i, read in enumerate(reads())))
    found = {}
    for device in ("cpu", "cuda"):
        status, out, errors = cli("map", "-q", "-x", "ont", reference, query, "--device", device)
        assert status == 0, errors
        found[device] = without_program(out)
    assert found["cuda"] == found["cpu"]
    assert found["cpu"].count(b"\n") > len(reads())
    assert all(kernel.calls for kernel in kernels.values())


@pytest.mark.slow
def test_the_lanes_of_kernels_find_the_same_introns(
    cli: Cli, spliced_library: ctypes.CDLL, use: Callable[[FakeDriver], FakeDriver], tmp_path: Path
) -> None:
    """Of genes on both strands, reads with errors, and ends that only known introns reach."""
    kernels = ("chain_reads", "choose_transcripts", "cut_chains", "finish_chains", "report_reads")
    driver = use(FakeDriver())
    names = {*kernels, *(step.kernel for step in tuning.SPLICED_PASSES)}
    emulated = {name: Emulated(spliced_library, name) for name in names}
    driver.functions |= emulated
    exons = [GENOME[at : at + length] for at, length in ((3000, 180), (6000, 40), (9000, 300), (12_000, 150))]
    introns = [
        f"GTAAGT{GENOME[at : at + length]}TTTCAG" for at, length in ((20_000, 70), (22_000, 900), (24_000, 3000))
    ]
    gene = "".join(exon + intron for exon, intron in zip(exons, [*introns, ""], strict=True))
    start, rows = 8001, []
    for exon, intron in zip(exons, [*introns, ""], strict=True):
        rows.append(f'one\tx\texon\t{start}\t{start + len(exon) - 1}\t.\t+\t.\tgene_id "g"; transcript_id "t";\n')
        start += len(exon + intron)
    (tmp_path / "genes.gtf").write_text("".join(rows))
    text = REPEATS[:8000] + gene + REPEATS[8000:]
    reference = write_fasta(tmp_path / "ref.fa", one=text, two=reverse_complement(text))
    transcript = "".join(exons)
    spliced = [with_errors(seed, transcript[seed:], 0.06) for seed in range(8)]
    spliced += [*map(reverse_complement, spliced[:3]), transcript[20:189], transcript[170:]]
    query = write_fastq(tmp_path / "reads.fq", *((f"r{i}", read, "I" * len(read)) for i, read in enumerate(spliced)))
    for words in ((), ("--junctions", tmp_path / "genes.gtf")):
        found = {}
        for device in ("cpu", "cuda"):
            status, out, errors = cli("map", "-q", "-x", "splice", reference, query, *words, "--device", device)
            assert status == 0, errors
            found[device] = without_program(out)
        assert found["cuda"] == found["cpu"]
        assert found["cpu"].count(b"N") > 20
    assert all(emulated[name].calls for name in kernels)
