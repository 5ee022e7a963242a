"""A library of pairs, and a device that is none."""

from __future__ import annotations

import ast
import ctypes
import itertools
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpualign.map import tuning
from gpualign.map.alignments import Found, Written
from gpualign.map.device import target
from gpualign.map.device import text as device_text_module
from gpualign.map.device.batch import MappedBatch
from gpualign.map.device.fastq import KERNELS as FASTQ_KERNELS
from gpualign.map.device.fastq_batch import TextMapBatch, TextMapKernel
from gpualign.map.device.kernel import KERNELS as MAP_KERNELS
from gpualign.map.device.slow_path import KERNELS as SLOW_PATH_KERNELS
from gpualign.map.device.text import TextBatch
from gpualign.map.formatter import RecordFormatter
from gpualign.run.abi import struct
from gpualign.run.gpu import compiler, compression
from gpualign.run.gpu import device as device_module
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.kernel import AGAIN, Again
from tests.helpers import native as native_tests
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import Record, write_fasta, write_fastq
from tests.helpers.map_cases import pair
from tests.helpers.paths import TESTS
from tests.helpers.scalar_kernels import text_in_scalar_code
from tests.helpers.sequences import random_genome


@pytest.fixture(autouse=True)
def small_indexes_are_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a device, as if it had little memory; a large k leaves them as they are."""
    monkeypatch.setattr(target, "SMALL_DEVICE", 1 << 62)


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


class NoKernel:
    """A kernel whose work another one does."""

    def set_attribute(self, attribute, value):
        assert 0 < value < 100 << 10

    def __call__(self, launch, grid, block, shared, stream):
        assert grid[0] > 0
        assert block[0] % 32 == 0


class MapReads(NoKernel):
    """All kernels of map.cu in place of the last one."""

    def __init__(self, words=0):
        self.words = words

    def of(self, code):
        return MapReads(int(ast.literal_eval(code.decode())["WORDS"]))

    def __call__(self, batch, grid, block, shared, stream):
        super().__call__(batch, grid, block, shared, stream)
        native_tests.map_scalar(batch.tobytes(), self.words)


class MapSlowPath(NoKernel):
    """All kernels of map_slow_path.cu in place of the last one; a warp's memory is as large as a lane's or larger."""

    def __call__(self, launch, grid, block, shared, stream):
        super().__call__(launch, grid, block, shared, stream)
        native_tests.map_thoroughly_scalar(launch.tobytes())


class MapChains(NoKernel):
    """All kernels of map_chains.cu in place of the last one."""

    def __call__(self, launch, grid, block, shared, stream):
        super().__call__(launch, grid, block, shared, stream)
        native_tests.map_chains_scalar(launch.tobytes())


class WriteRecords(NoKernel):
    """All kernels of map_text.cu in place of the last one."""

    def __init__(self, bam=False):
        self.bam = bam

    def of(self, code):
        return WriteRecords(b"BamForm" in code)

    def __call__(self, batch, grid, block, shared, stream):
        super().__call__(batch, grid, block, shared, stream)
        native_tests.write_records(batch.tobytes(), self.bam)


class ReadFastq(NoKernel):
    """All kernels of map_fastq.cu in place of the last one."""

    def __call__(self, batch, grid, block, shared, stream):
        super().__call__(batch, grid, block, shared, stream)
        native_tests.read_fastq(batch.tobytes())


class SetTasks(NoKernel):
    def __call__(self, batch, grid, block, shared, stream):
        super().__call__(batch, grid, block, shared, stream)
        native_tests.set_bgzf_tasks(batch.tobytes())


class CheckTexts(NoKernel):
    def __call__(self, batch, grid, block, shared, stream):
        super().__call__(batch, grid, block, shared, stream)
        native_tests.check_texts(batch.tobytes())


class WriteBlocks(NoKernel):
    def __call__(self, batch, grid, block, shared, stream):
        super().__call__(batch, grid, block, shared, stream)
        native_tests.write_bgzf(batch.tobytes())


@pytest.fixture
def device_writes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the CPU formats in this process, the device's code writes as well: the same bytes."""
    of_host = RecordFormatter.formatted

    def both(self: RecordFormatter, found: Found) -> Written:
        written = of_host(self, found)
        if self.for_device(found):
            bam = self.sample.layout.record_form == "bam"
            item = TextBatch.of(replace(found, reads=found.columns()), bam, deflate=False)
            text, count = text_in_scalar_code(self.index.reference, item)
            assert text == written.records.tobytes()
            assert count == found.wanted_records
        return written

    monkeypatch.setattr(RecordFormatter, "formatted", both)


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeDriver], FakeDriver]:
    monkeypatch.setattr(compiler, "compile_module", lambda source, architecture, defines: repr(defines).encode())

    def install(driver: FakeDriver) -> FakeDriver:
        chains = (
            "chain_reads",
            "plan_chains",
            "plan_ends",
            "cut_chains",
            "finish_chains",
            *(step.kernel for step in tuning.ALIGN_PASSES + tuning.SHORT_PASSES),
        )
        others = ("measure_records", "scan_reads", "scan_blocks", "place_blocks", *FASTQ_KERNELS[:-1])
        driver.functions = {MAP_KERNELS[-1]: MapReads(), "report_reads": MapChains(), "write_records": WriteRecords()}
        driver.functions |= {SLOW_PATH_KERNELS[-1]: MapSlowPath(), "set_tasks": SetTasks()}
        driver.functions |= {FASTQ_KERNELS[-1]: ReadFastq(), "write_blocks": WriteBlocks(), "check_texts": CheckTexts()}
        driver.functions |= dict.fromkeys((*chains, *others, *MAP_KERNELS[:-1], *SLOW_PATH_KERNELS[:-1]), NoKernel())
        monkeypatch.setattr(device_module, "load_driver", lambda: driver)
        for module in (device_text_module, compression):
            monkeypatch.setattr(module, "load_nvcomp", lambda: None)
        return driver

    return install


@pytest.fixture
def slow_templates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Templates that the fast path left, at each launch of the slow path in scalar code."""
    left: list[int] = []
    slow = native_tests.map_thoroughly_scalar

    def watched(launch: bytes) -> None:
        batch = np.frombuffer(launch, struct("SlowPathLaunch"))[0]["batch"]
        left.append(ctypes.c_uint32.from_address(int(batch["slow_count"])).value)
        slow(launch)

    monkeypatch.setattr(native_tests, "map_thoroughly_scalar", watched)
    return left


@pytest.fixture(scope="session")
def fake_nvcomp(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """(macro=value) -> path of a library in nvCOMP's place."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, folder, numbers = (
        TESTS / "native" / "fake_nvcomp.c",
        tmp_path_factory.mktemp("nvcomp"),
        itertools.count(),
    )

    def build(**macros: int) -> str:
        path = folder / f"libnvcomp{next(numbers)}.so"
        defines = [f"-D{name}={value}" for name, value in macros.items()]
        subprocess.run([compiler, "-shared", "-fPIC", *defines, "-o", path, source], check=True)
        return str(path)

    return build


@pytest.fixture
def found_in_text(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Reads of each batch of text that the device mapped; 0 where the host had to read it."""
    found: list[int] = []
    of_batch = TextMapKernel.result

    def watched(self: TextMapKernel, slot: Slot, item: TextMapBatch, launched: Any) -> MappedBatch | Again | None:
        result = of_batch(self, slot, item, launched)
        if result is not AGAIN:
            found.append(0 if result is None else item.reads)
        return result

    monkeypatch.setattr(TextMapKernel, "result", watched)
    return found
