"""The device's part of `cluster`: a stage whose kernel is `pairwise`'s, and the same clusters on a GPU."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpualign.align.near import neighbors as stages
from gpualign.align.score.cpu import align_on_cpu
from gpualign.cluster.params import ClusterParams
from gpualign.cluster.run import Clusterer
from gpualign.cluster.sequences import read_input
from gpualign.params import RunOptions
from gpualign.report import Progress
from gpualign.run.cpu import CpuBackend
from gpualign.run.stage import Backend, Stage
from gpualign.sequences.batch import SequenceBatch
from tests.helpers.files import write_fasta
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import mutate, reverse_complement, with_codes


def texts(codes: float = 0.0) -> list[str]:
    """codes: share of ambiguity codes."""
    rng = random.Random(7)
    bases = ["".join(rng.choices("ACGT", k=150)) for _ in range(9)]
    some = [mutate(rng, rng.choice(bases), rng.random() * 0.12) for _ in range(250)]
    some += some[:30] + [reverse_complement(text) for text in some[:30]]
    return [with_codes(rng, text, codes) for text in some]


class StandIn(Backend):
    """Runs the device's side of a stage; `pairwise` on the CPU takes the kernel's place."""

    name, on_gpu = "stand-in", True
    pairs = 0

    def run(self, items: Iterable[Any], stage: Stage[Any, Any]) -> Generator[Any, None, None]:
        problem = stage.make_kernel(None)  # type: ignore[arg-type]

        def align(make: Any) -> Any:
            block = make(None)
            self.pairs += len(block)
            return align_on_cpu(problem, block)  # type: ignore[arg-type]

        for item in items:
            yield stage.on_device(item, align)

    def report(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


@pytest.mark.parametrize("codes", [0.0, 0.02])
@pytest.mark.parametrize("more", [{}, {"first": True}, {"min_coverage": 0.97}, {"linkage": "single"}])
def test_a_device_gives_the_same(monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], codes: float) -> None:
    """The kernel aligns all pairs that it is given, the CPU only those that can still count."""
    monkeypatch.setattr(stages, "PairwiseKernel", lambda device, problem: problem)
    params = ClusterParams(identity=0.93, strand="both", **more)
    scoring = params.load_scoring()
    batch = SequenceBatch.from_records([(str(i), text) for i, text in enumerate(texts(codes))])
    data = read_input([batch], scoring, params, None, keep_text=False)
    options = RunOptions(quiet=True, progress=False, threads=2)
    found = []
    stand_in = StandIn()
    for backend in (CpuBackend(2), stand_in):
        parts = list(Clusterer(params, scoring, data, backend, options).run(Progress(options, "sequence")))
        names = ("cluster", "identity", "minus", "operations")
        found.append([np.concatenate([getattr(part, name) for part in parts]) for name in names])
    assert stand_in.pairs > 100
    for cpu, device in zip(*found, strict=True):
        assert np.array_equal(cpu, device, equal_nan=cpu.dtype.kind == "f")
    assert 5 < found[0][0].max() < 200


@pytest.mark.gpu
@pytest.mark.parametrize("codes", [0.0, 0.02])
@pytest.mark.parametrize("options", [("--id", "0.93"), ("--id", "0.9", "--strand", "both"), ("--id", "0.9", "--first")])
def test_a_gpu_writes_the_same(tmp_path: Path, options: tuple[str, ...], codes: float) -> None:
    fasta = write_fasta(tmp_path / "a.fa", texts(codes))
    same_on_gpu("cluster", "-q", fasta, *options, "-p", output=tmp_path / "rows")
