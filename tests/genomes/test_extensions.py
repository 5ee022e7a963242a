"""Where extensions end: against a plain table, and the kernels of ``cuda/extend.cu``, compiled for the host."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpualign.align.genomes import cpu, device
from gpualign.align.genomes.cpu import EXTENSION, Joiner, JoinParams, StrandMatches
from gpualign.align.genomes.extensions import Extensions
from gpualign.align.genomes.self_test import self_tests
from gpualign.genomes.params import AlignParams
from gpualign.genomes.run import GenomeAligner
from gpualign.run.abi import struct
from gpualign.run.cpu import CpuBackend
from gpualign.run.cuda import CudaBackend
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import run_self_tests
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.files import write_fasta
from tests.helpers.genome_cases import genome_pair, mutated
from tests.helpers.implementations import ON_GPU, same_on_gpu
from tests.helpers.sequences import reverse_complement
from tests.reference.extension import extension

BACKWARD, REVERSE, OPTIMAL, TO_BORDER, CUT = 1, 2, 4, 8, 16


@pytest.fixture
def kernels(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> dict[str, Emulated]:
    library = emulated_library(tmp_path_factory, "extend", {})
    functions = {name: Emulated(library, name) for name in ("extend_narrow", "extend_wide")}
    for function in functions.values():
        function.num_regs = 32
    install_kernels(monkeypatch, functions, 1 << 30)
    return functions


def test_the_self_test(kernels: dict[str, Emulated]) -> None:
    (info,) = list_devices()
    with Device(info) as opened:
        run_self_tests(opened, self_tests())
    assert all(kernel.calls for kernel in kernels.values())


def packed(texts: list[str]) -> Reference:
    names, offsets = [f"r{i}" for i in range(len(texts))], np.cumsum([0, *map(len, texts)])
    return Reference.packed(names, offsets, [np.frombuffer(text.encode(), np.uint8) for text in texts])


def extensions_of(reference: list[str], query: list[str], tasks: list[tuple[int, ...]], reach: int) -> Extensions:
    """These tasks, ExtendTask, on sequences without matches."""
    none = np.empty(0, np.uint32)
    matches = StrandMatches(3, np.zeros(2 * len(query) + 1, np.int64), none.astype(np.int64), none, none)
    joiner = Joiner(packed(reference), JoinParams(65, 90, 5, 0.12, reach, True, True, False), threads=1)
    joined = joiner.clusters(SequenceBatch.from_records([("q", text) for text in query]), matches)
    return replace(joiner.extensions(joined, False), tasks=np.array(tasks, struct("ExtendTask")))


def pairs_of_texts(seed: int) -> Iterator[tuple[str, str]]:
    draw = random.Random(seed)
    for length, rate in ((1, 0), (3, 0), (40, 0.1), (150, 0.05), (200, 0.15), (150, 0.6)):
        text = "".join(draw.choices("ACGT", k=length))
        other = text[0] + mutated(draw, text[1:], rate) + "".join(draw.choices("ACGT", k=draw.choice((0, 1, 60))))
        yield text, other
    unit = "".join(draw.choices("ACGT", k=7))
    yield unit * 16, unit * 12 + unit[:3]
    yield "A" * 90, "A" * 130


@pytest.mark.parametrize(("reach", "mode"), [(30, 0), (30, OPTIMAL), (200, CUT | OPTIMAL), (40, TO_BORDER | OPTIMAL)])
def test_they_are_those_of_a_plain_table(backend: Any, reach: int, mode: int) -> None:
    """In all directions: the reference, and the query's strands, are the texts one after the other."""
    pairs = list(pairs_of_texts(reach + mode))
    if mode & TO_BORDER:
        pairs = [(one, other) for one, other in pairs if len(one) <= len(other)]
    expected, tasks = [], []
    row = column = 1  # codes have one before the first
    for one, other in pairs:
        n, m = len(one), len(other)
        options = {"optimal": bool(mode & OPTIMAL), "to_border": bool(mode & TO_BORDER)}
        tasks += [(row - 1, column - 1, n, m, mode, 0), (row + n, column + m, n, m, mode | BACKWARD, 0)]
        expected.append(extension(one, other, reach, **options))
        expected.append(extension(one[::-1], other[::-1], reach, **options))
        row, column = row + n, column + m
    reference, query = "".join(one for one, _ in pairs), "".join(other for _, other in pairs)
    for reverse in (0, REVERSE):
        given = [(*task[:4], task[4] | reverse, 0) for task in tasks]
        strand = reverse_complement(query) if reverse else query
        (ends,) = backend.run([extensions_of([reference], [strand], given, reach)], EXTENSION)
        assert ends.tolist() == [(*end[:6], 0 if mode & CUT else end[6]) for end in expected]


class OnlyExtensions:
    """A backend whose device extends, while the CPU does the rest."""

    on_gpu = True

    local = True

    def __init__(self, cuda: CudaBackend) -> None:
        self._cuda, self._cpu = cuda, CpuBackend(1)

    def run(self, items: Any, stage: Any) -> Iterator[Any]:
        return (self._cuda if stage is EXTENSION else self._cpu).run(items, stage)


@pytest.mark.parametrize(
    ("seed", "options"), [(1, {}), (2, {"break_length": 600, "optimize": False, "simplify": False})]
)
def test_a_device_aligns_the_same(
    kernels: dict[str, Emulated], monkeypatch: pytest.MonkeyPatch, seed: int, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(cpu, "_DEVICE_TASKS", 7)
    reference, query = genome_pair(seed, 0.06, 3000)
    batch = SequenceBatch.from_records([(f"q{i}", text) for i, text in enumerate(query)])
    aligner = GenomeAligner(packed(reference), AlignParams(**options), threads=1)
    expected = aligner.align(batch, 0, CpuBackend(1))
    assert len(expected) >= 3
    with CudaBackend(list_devices()) as cuda:
        found = aligner.align(batch, 0, OnlyExtensions(cuda))
    assert all(np.array_equal(one, other) for one, other in zip(astuple(expected), astuple(found), strict=True))
    assert kernels["extend_narrow" if seed == 1 else "extend_wide"].calls > 1


@pytest.mark.parametrize("share", [1.0, 0.0])
def test_the_cpu_extends_what_a_device_has_no_memory_for(
    kernels: dict[str, Emulated], monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """Of columns (equal bases keep one for each three of the reach, a warp has 512), or of the reference."""
    monkeypatch.setattr(device, "_RESIDENT_SHARE", share)
    extensions = extensions_of(["A" * 2000], ["A" * 1900], [(0, 0, 2000, 1900, OPTIMAL, 0)] * 2, 1800)
    with CudaBackend(list_devices()) as cuda:
        opened = cuda.devices[0]
        assert not run_alone(opened, device.ExtensionKernel, extensions)["n"].any()
        (ends,) = cuda.run([extensions], EXTENSION)
    assert [end[:2] for end in ends.tolist()] == [(1900, 1900)] * 2


@pytest.mark.gpu
@pytest.mark.parametrize(("seed", "divergence"), [(11, 0.01), (12, 0.05), (13, 0.1)])
@pytest.mark.parametrize("options", [(), ("--maxmatch", "--nosimplify"), ("-b", "700", "--nooptimize", "-L", "100")])
def test_a_gpu_writes_the_same(tmp_path: Path, seed: int, divergence: float, options: tuple[str, ...]) -> None:
    reference, query = genome_pair(seed, divergence, 60_000)
    files = write_fasta(tmp_path / "ref.fa", reference, "r"), write_fasta(tmp_path / "query.fa", query, "q")
    text = same_on_gpu("align", *files, *options, output=tmp_path / "out.delta", ways=ON_GPU.values())
    assert text.count(b"\n0\n") > 10
