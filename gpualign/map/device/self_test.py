"""What ``gpualign devices --check`` maps on a device."""

from __future__ import annotations

import numpy as np

from gpualign import _native
from gpualign.engine.gpu.compiler import Variant
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.runner import run_alone
from gpualign.errors import DeviceError
from gpualign.index.minimizers import IndexParams, build_index
from gpualign.map import tuning
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.chains import LongReadKernel, map_chains_scalar
from gpualign.map.device.kernel import MapKernel, map_scalar
from gpualign.map.device.records import same_records
from gpualign.map.params import MapParams
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

_TESTED_LENGTH = 150
#: what :func:`self_test` runs, for ``devices --check`` to compile side by side
SELF_TEST_MODULES: tuple[Variant, ...] = (
    ("map", tuning.map_shape(_TESTED_LENGTH).defines),
    ("map_thorough", tuning.thorough_defines(False)),
    *(("map_chains", tuning.chain_defines(long_gaps)) for long_gaps in (False, True)),
)


def self_test(device: Device) -> None:
    """Map reads of a small random reference, with repeats, on the device and on the CPU.

    Raises:
        DeviceError: the records differ.
    """
    rng = np.random.default_rng(2)
    sequence = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 16)]
    sequence[20_000:30_000] = np.tile(sequence[:500], 20)
    packer = _native.ReferencePacker()
    packer.append(sequence)
    reference = Reference(["random"], np.array([0, len(sequence)], np.int64), *packer.finish())
    index, params = build_index(reference, IndexParams(15, 8)), MapParams.of_preset(secondary=2)

    def reads(count: int, length: int) -> SequenceBatch:
        starts = rng.integers(0, len(sequence) - length, count)
        bases = np.concatenate([sequence[at : at + length] for at in starts])
        bases[rng.random(len(bases)) < 0.02] = ord("C")
        offsets = np.arange(0, len(bases) + 1, length, dtype=np.int64)
        return SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets)

    batch = reads(1000, _TESTED_LENGTH)
    found = run_alone(device, lambda device: MapKernel(device, index, params, None), MapBatch.of(batch, paired=False))
    if not same_records(found, map_scalar(index, batch, params)):
        raise DeviceError(f"{device.name}: map's records differ from the CPU's")
    item, params = MapBatch.of(reads(50, 3000), paired=False), MapParams.of_preset("ont", secondary=2)
    chained = run_alone(device, lambda device: LongReadKernel(device, index, params), item)
    expected = map_chains_scalar(index, item, params)
    if not all(map(np.array_equal, chained.alignments().native, expected.native)):
        raise DeviceError(f"{device.name}: map's records of long reads differ from the CPU's")
