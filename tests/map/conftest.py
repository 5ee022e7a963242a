"""A library of pairs, and a device that is none."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualign import _native
from gpualign.engine.gpu import compiler
from gpualign.engine.gpu import device as device_module
from gpualign.map import tuning
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import Record, write_fasta, write_fastq
from tests.helpers.map_cases import pair
from tests.helpers.sequences import random_genome


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(21, 60_000)


@pytest.fixture(scope="module")
def library(genome: str) -> list[tuple[Record, Record]]:
    """400 pairs with insert sizes of 300 ± 20; every other fragment from the reverse strand."""
    rng = random.Random(5)
    pairs = []
    for i in range(400):
        ends = pair(genome, rng.randrange(0, 59_000), int(rng.gauss(300, 20)), f"p{i}")
        if i % 2:
            first, second = ends[1], ends[0]
            ends = (f"p{i}/1", *first[1:]), (f"p{i}/2", *second[1:])
        pairs.append(ends)
    return pairs


@pytest.fixture
def files(tmp_path: Path, genome: str, library: list[tuple[Record, Record]]) -> tuple[Path, Path, Path]:
    return (
        write_fasta(tmp_path / "r.fa", g=genome),
        write_fastq(tmp_path / "1.fq", *(a for a, _ in library)),
        write_fastq(tmp_path / "2.fq", *(b for _, b in library)),
    )


class MapReads:
    """The kernel ``map_reads`` for reads of up to 512 bases."""

    def set_attribute(self, attribute, value):
        assert 0 < value < 100 << 10

    def __call__(self, batch, grid, block, shared, stream):
        assert grid[0] > 0
        assert block == (128, 1, 1)
        _native.map_on_one_lane(batch.tobytes(), 16)


class NoKernel:
    """A kernel whose work another one does."""

    def __call__(self, launch, grid, block, shared, stream):
        assert grid[0] > 0
        assert block[0] % 32 == 0


class MapChains(NoKernel):
    """All kernels of map_chains.cu in place of the last one."""

    def __call__(self, launch, grid, block, shared, stream):
        super().__call__(launch, grid, block, shared, stream)
        _native.map_chains_on_one_lane(launch.tobytes())


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeDriver], FakeDriver]:
    monkeypatch.setattr(compiler, "compile_module", lambda source, architecture, defines: b"")

    def install(driver: FakeDriver) -> FakeDriver:
        passes = {step.kernel for step in tuning.ALIGN_PASSES}
        chains = ("chain_reads", "cut_chains", "finish_chains", *passes)
        driver.functions = {"map_reads": MapReads(), "report_reads": MapChains(), **dict.fromkeys(chains, NoKernel())}
        monkeypatch.setattr(device_module, "load_driver", lambda: driver)
        return driver

    return install
