"""What ``gpualign devices --check`` maps on a device."""

from __future__ import annotations

import numpy as np

from gpualign import _native
from gpualign.engine.gpu.compiler import Variant
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.runner import run_alone
from gpualign.errors import DeviceError
from gpualign.index.minimizers import IndexParams, build_index
from gpualign.io.fastq_text import FastqText
from gpualign.io.fastx import Chunk
from gpualign.io.mates import UnparsedReads
from gpualign.map import tuning
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.chains import LongReadKernel, map_chains_scalar
from gpualign.map.device.fastq import TextMapBatch, TextMapKernel
from gpualign.map.device.kernel import MapKernel, map_scalar
from gpualign.map.device.records import same_records
from gpualign.map.params import MapParams
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference

_TESTED_LENGTH = 150
#: what :func:`self_test` runs, for ``devices --check`` to compile side by side
SELF_TEST_MODULES: tuple[Variant, ...] = (
    ("map", tuning.map_shape(_TESTED_LENGTH).defines),
    ("map_fastq", {}),
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
        names = np.frombuffer(b"".join(b"%07d" % i for i in range(count)), np.uint8)
        return SequenceBatch(names, 7 * np.arange(count + 1, dtype=np.int64), bases, offsets, qualities=bases)

    batch = reads(1000, _TESTED_LENGTH)
    found = run_alone(device, lambda device: MapKernel(device, index, params, None), MapBatch.of(batch, paired=False))
    expected_records = map_scalar(index, batch, params)
    if not same_records(found, expected_records):
        raise DeviceError(f"{device.name}: map's records differ from the CPU's")
    text = FastqText.of(Chunk(_native.format_fastx(batch.native, None, False), "fastq", "self-test", 1))
    assert text is not None
    in_text = TextMapBatch.of_text(UnparsedReads((text,), (0,), len(text)), together=False)
    of_text = run_alone(device, lambda device: TextMapKernel(MapKernel(device, index, params, None)), in_text)
    if of_text is None or not same_records(of_text.records, expected_records):
        raise DeviceError(f"{device.name}: records of reads in FASTQ differ from the CPU's")
    item, params = MapBatch.of(reads(50, 3000), paired=False), MapParams.of_preset("ont", secondary=2)
    chained = run_alone(device, lambda device: LongReadKernel(device, index, params), item)
    expected = map_chains_scalar(index, item, params)
    if not all(map(np.array_equal, chained.alignments().native, expected.native)):
        raise DeviceError(f"{device.name}: map's records of long reads differ from the CPU's")
