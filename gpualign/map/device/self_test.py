"""The self-tests of `map`'s kernels (``gpualign devices --check``)."""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import DeviceError
from gpualign.map import tuning
from gpualign.map.alignments import Found
from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch, MappedBatch
from gpualign.map.device.chains import LongReadKernel
from gpualign.map.device.fastq_batch import TextMapBatch, TextMapKernel
from gpualign.map.device.kernel import MapKernel
from gpualign.map.device.text import TextBatch, TextKernel
from gpualign.map.inputs import RecordOptions
from gpualign.map.meth import conversions_of
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.reads.fastq_text import FastqText
from gpualign.reads.reads import Reads
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.runner import run_alone
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from gpualign.text.fastx import Chunk
from gpualign.text.text import HeldText

_TESTED_LENGTH = 150
#: largest share of the reads that a device may leave to the CPU
_MAX_LEFT = 0.1
#: modules of the self-tests, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    *(("map", tuning.map_shape(_TESTED_LENGTH).defines(bisulfite)) for bisulfite in (False, True)),
    ("map_fastq", {}),
    ("map_slow_path", tuning.slow_path_defines(False)),
    *(("map_chains", tuning.chain_defines(long_gaps)) for long_gaps in (False, True)),
    *(("map_text", tuning.text_defines(bam)) for bam in (False, True)),
    ("bgzf", {}),
)


def self_test(device: Device) -> None:
    """Map reads of a small random reference, with repeats, on the device and on the CPU.

    Raises:
        DeviceError: the records differ.
    """
    rng = np.random.default_rng(2)
    sequence = _random_bases(rng)
    sequence[20_000:30_000] = np.tile(sequence[:500], 20)
    reference = _reference(sequence)
    index = build_index(reference, IndexParams(15, 8))
    short, long = (MapParams.of_preset(preset, secondary=2) for preset in ("sr", "ont"))

    def make_kernel(device: Device) -> MapKernel:
        return MapKernel(device, index, short, None)

    def check(
        mapped: MappedBatch | None, batch: SequenceBatch, params: MapParams, what: str, index: MinimizerIndex = index
    ) -> None:
        expected = map_batch(index, batch, params)
        if mapped is None or mapped.on_host_count > _MAX_LEFT * len(batch):
            raise DeviceError(f"{device.name}: {what} were left to the CPU")
        alignments = mapped.alignments(batch, None, lambda reads: map_batch(index, reads, params))
        if not all(map(np.array_equal, alignments.native, expected.native)):
            raise DeviceError(f"{device.name}: map's records of {what} differ from the CPU's")

    batch = _reads(rng, sequence, 1000, _TESTED_LENGTH)
    check(run_alone(device, make_kernel, MapBatch.of(batch, paired=False)), batch, short, "reads")
    written = np.frombuffer(_native.format_fastx(batch.native, None, False), np.uint8)
    text = FastqText.of(Chunk(HeldText((written,)), "fastq", "self-test", 1))
    assert text is not None
    in_text = TextMapBatch.of_text(Reads((text,)), together=False)
    of_text = run_alone(device, lambda device: TextMapKernel(make_kernel(device)), in_text)
    check(of_text, batch, short, "reads in FASTQ")
    meth, of_meth = replace(short, meth="directional"), build_index(reference, IndexParams(15, 8, meth=True))
    batch = _reads(rng, sequence, 500, _TESTED_LENGTH)
    batch = replace(batch, bases=np.where(batch.bases == ord("C"), np.uint8(ord("T")), batch.bases))
    item = MapBatch.of(batch, paired=False, conversions=conversions_of(meth.meth, None, len(batch)))
    mapped = run_alone(device, lambda device: MapKernel(device, of_meth, meth, None), item)
    check(mapped, batch, meth, "bisulfite reads", of_meth)
    batch = _reads(rng, sequence, 50, 3000)
    chained = run_alone(device, lambda device: LongReadKernel(device, index, long), MapBatch.of(batch, paired=False))
    check(chained, batch, long, "long reads")


def self_test_of_records(device: Device) -> None:
    """Format records of pairs of reads on the device and on the CPU, as lines and as blocks of BAM.

    Raises:
        DeviceError: the text differs.
    """
    rng = np.random.default_rng(3)
    sequence = _random_bases(rng)
    sequence[20_000:20_300] = ord("N")
    reference = _reference(sequence)
    batch = replace(_reads(rng, sequence, 2000, _TESTED_LENGTH), mates=np.tile(np.array([1, 2], np.uint8), 1000))
    index = build_index(reference, IndexParams(15, 8))
    found = Found(batch, map_batch(index, batch, MapParams.of_preset("sr", secondary=2), PairModel()))
    for bam in (False, True):
        item = TextBatch.of(replace(found, options=RecordOptions().native("group")), bam, deflate=True)
        written = run_alone(device, partial(TextKernel, reference=reference), item)
        text = gzip.decompress(written.records.tobytes()) if written.deflated else written.records.tobytes()
        if (text, written.count) != text_on_cpu(reference, item):
            raise DeviceError(f"{device.name}: records as {'BAM' if bam else 'SAM'} differ from the CPU's")


def text_on_cpu(reference: Reference, item: TextBatch) -> tuple[bytes, int]:
    """The CPU's formatted records, and their number."""
    found, (names, offsets) = item.found, reference.shown_name_bytes
    reads, arrays, options = found.columns().native, found.alignments.native, found.native_options
    records, count = _native.format_records(
        reference.native, names, offsets, reads, arrays, found.wanted, *options, item.bam
    )
    return records.tobytes(), count


def _random_bases(rng: np.random.Generator) -> NDArray[np.uint8]:
    return np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 16)]


def _reference(sequence: NDArray[np.uint8]) -> Reference:
    return Reference.packed(["random"], np.array([0, len(sequence)], np.int64), (sequence,))


def _reads(rng: np.random.Generator, sequence: NDArray[np.uint8], count: int, length: int) -> SequenceBatch:
    """Reads with errors."""
    starts = rng.integers(0, len(sequence) - length, count)
    bases = np.concatenate([sequence[at : at + length] for at in starts])
    bases[rng.random(len(bases)) < 0.02] = ord("C")
    offsets = np.arange(0, len(bases) + 1, length, dtype=np.int64)
    names = np.frombuffer(b"".join(b"%07d" % i for i in range(count)), np.uint8)
    return SequenceBatch(names, 7 * np.arange(count + 1, dtype=np.int64), bases, offsets, qualities=bases)
