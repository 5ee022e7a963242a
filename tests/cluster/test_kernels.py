"""The kernels that `cluster` runs, compiled for the host with all lanes of a warp: clusters of the naive program."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Generator, Iterable
from typing import Any

import numpy as np
import pytest

from gpualign.cluster import tuning
from gpualign.cluster.params import ClusterParams
from gpualign.cluster.run import Clusterer
from gpualign.cluster.sequences import read_input
from gpualign.params import RunOptions
from gpualign.report import Progress
from gpualign.run.cpu import CpuBackend
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.runner import run_on_devices
from gpualign.run.stage import Backend, Stage
from gpualign.sequences.batch import SequenceBatch
from tests.helpers.emulated import EmulatedByName, emulated_library
from tests.helpers.fake_cuda import install_kernels
from tests.helpers.sequences import IUPAC, mutate, reverse_complement, with_codes
from tests.reference.cluster import greedy

pytestmark = pytest.mark.slow  # the kernels take long to compile


class Kernels(dict):
    """All kernels that a run asks for."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__(gather_runs=EmulatedByName(library, "gather_runs"))
        self.library = library

    def __missing__(self, name: str) -> EmulatedByName:
        self[name] = EmulatedByName(self.library, name)
        return self[name]

    def used(self) -> set[str]:
        return {name for name, kernel in self.items() if kernel.calls}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return emulated_library(tmp_path_factory, "cluster", {"AFFINE": 1})


class Lanes(Backend):
    """Runs a stage's kernels in these lanes."""

    name, on_gpu = "lanes", True

    def __init__(self, device: Device) -> None:
        self.device = device

    def run(self, items: Iterable[Any], stage: Stage[Any, Any]) -> Generator[Any, None, None]:
        def align(make: Any) -> Any:
            (found,) = run_on_devices([make(None)], stage.make_kernel, [self.device])
            return found

        for item in items:
            yield stage.on_device(item, align)

    def report(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass


@pytest.fixture
def clusters_by(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch):
    """Clusters, identities, strands and paths of the lanes; the same as the CPU's."""

    def run(texts: list[str], least: float, params: dict[str, Any], **alignment: Any):
        monkeypatch.setattr(tuning, "FIRST_BATCH", 12)
        kernels = Kernels(library)
        install_kernels(monkeypatch, kernels, 1 << 28)
        cluster = ClusterParams(identity=least, order="input", **alignment, **params)
        scoring = cluster.load_scoring()
        batch = SequenceBatch.from_records([(str(i), text) for i, text in enumerate(texts)])
        data = read_input([batch], scoring, cluster, None, keep_text=False)
        options = RunOptions(quiet=True, progress=False, threads=1)
        names = ("cluster", "identity", "minus", "exact", "operations")
        found = []
        with Device(list_devices()[0]) as device:
            for backend in (Lanes(device), CpuBackend(1)):
                parts = list(Clusterer(cluster, scoring, data, backend, options).run(Progress(options, "sequence")))
                found.append({name: np.concatenate([getattr(part, name) for part in parts]) for name in names})
        for name in names:
            assert np.array_equal(found[0][name], found[1][name]), name
        return found[0], kernels.used()

    return run


def near(least: float):
    """Without gaps; two codes match if they have a base in common."""

    def identity(a: str, b: str) -> float | None:
        share = sum(bool(set(IUPAC[x]) & set(IUPAC[y])) for x, y in zip(a, b, strict=True)) / len(a)
        return share if share >= least - 1e-9 else None

    return identity


@pytest.mark.parametrize(("least", "length"), [(0.9, 70), (0.7, 170)])
@pytest.mark.parametrize("codes", [0.0, 0.06])
def test_substitutions(clusters_by, codes: float, least: float, length: int) -> None:
    """Gaps cost more than any substitutions, so that the naive program needs no alignments."""
    rng = random.Random(length)
    bases = ["".join(rng.choices("ACGT", k=length)) for _ in range(4)]
    texts = []
    for _ in range(40):
        symbols = list(rng.choice(bases))
        for at in rng.sample(range(length), rng.randint(0, int(1.6 * (1 - least) * length))):
            symbols[at] = rng.choice("ACGT")
        texts.append(with_codes(rng, "".join(symbols), codes))
    clusters, identities = greedy(texts, near(least))
    gaps = dict.fromkeys(("gap_open", "end_gap_open"), 901) | dict.fromkeys(("gap_extend", "end_gap_extend"), 900)
    found, used = clusters_by(texts, least, {}, **gaps)
    assert found["cluster"].tolist() == clusters
    assert found["identity"].tolist() == pytest.approx(identities)
    assert 4 < len(set(clusters)) < 38
    assert any(name.startswith("edit_filter") for name in used)


@pytest.mark.parametrize("codes", [0.0, 0.05])
def test_gaps_and_both_strands(clusters_by, codes: float) -> None:
    """Scores of vsearch, with gaps that are cheap at the ends. Each sequence is made of one of five by few changes, and
    those have nothing in common, so that the clusters are known.
    """
    rng = random.Random(3)
    bases = ["".join(rng.choices("ACGT", k=90)) for _ in range(5)]
    texts, expected = list(bases), list(range(5))
    for _ in range(35):
        which = rng.randrange(5)
        text = mutate(rng, bases[which], 0.04)
        text = with_codes(rng, text[rng.randint(0, 3) :], codes)
        texts.append(reverse_complement(text) if rng.random() < 0.5 else text)
        expected.append(which)
    found, used = clusters_by(texts, 0.8, {}, strand="both")
    assert found["cluster"].tolist() == expected
    assert 5 < found["minus"].sum() < 30
    kind = "symbols" if codes else "nucleotides"
    assert {"strips_walk", f"strips_borders_affine_{kind}"} <= used
