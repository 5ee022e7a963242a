"""A reference that is hard to map to, and how records of two programs are compared."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch, MappedBatch
from gpualign.map.device.kernel import MapKernel
from gpualign.map.meth import conversions_of
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.runner import run_on_devices
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from tests.helpers.files import Record
from tests.helpers.sequences import make_reference, reverse_complement

BASES = np.frombuffer(b"ACGT", np.uint8)
PAIRS = {
    "fr": PairModel(mean=300, sd=30, min=150, max=450),
    "ff": PairModel(mean=300, sd=30, min=150, max=450, orientation="ff"),
    "rf, no price": PairModel(mean=300, sd=30, min=150, max=450, orientation="rf", unpaired_penalty=0),
}


def repetitive_reference(seed: int) -> tuple[Reference, list[NDArray[np.uint8]]]:
    """Contigs of several lengths: random, with copies of a piece with changes, a tandem repeat and runs of N."""
    rng = np.random.default_rng(seed)
    contigs = [BASES[rng.integers(0, 4, size)] for size in (40_000, 9_000, 300, 60, 12_000)]
    piece = contigs[0][1000:2500]
    for at in range(5000, 30_000, 2500):
        copy = piece.copy()
        changed = rng.random(len(copy)) < 0.01
        copy[changed] = BASES[rng.integers(0, 4, int(changed.sum()))]
        contigs[0][at : at + len(copy)] = copy
    contigs[1][2000:6000] = np.tile(contigs[1][2000:2020], 200)
    contigs[4][3000:3100] = ord("N")
    contigs[4][7000] = ord("N")
    return make_reference(*map(bytes, contigs)), contigs


def kernel_records(
    gpu: Device, index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None
) -> MappedBatch:
    """Reads, or pairs where there is a model of them, mapped by a device's kernels."""
    item = MapBatch.of(batch, pairs is not None, conversions=conversions_of(params.meth, batch.mates, len(batch)))
    (found,) = run_on_devices([item], lambda device: MapKernel(device, index, params, pairs), [gpu])
    return found


def assert_same(
    found: MappedBatch, index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None
) -> None:
    """The device's records are the CPU's, and it left no read to the CPU."""
    assert not found.on_host.any()
    merged = found.alignments(
        batch, None if pairs is None else batch.mates, lambda left: map_batch(index, left, params)
    )
    expected = map_batch(index, batch, params, pairs)
    for field in fields(expected):
        assert np.array_equal(getattr(merged, field.name), getattr(expected, field.name)), field.name


def pair(genome: str, start: int, insert: int, name: str, length: int = 100) -> tuple[Record, Record]:
    """Ends of the fragment [start, start + insert), facing each other."""
    left = genome[start : start + length]
    right = reverse_complement(genome[start + insert - length : start + insert])
    return (f"{name}/1", left, "I" * len(left)), (f"{name}/2", right, "5" * len(right))
