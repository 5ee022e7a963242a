"""The self-tests of `map`'s kernels (``gpualign devices --check``)."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import DeviceError
from gpualign.map import tuning
from gpualign.map.alignments import Alignments, Found
from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import KernelReads, MapBatch, MappedBatch
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
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.gpu.runner import run_alone
from gpualign.run.gpu.self_test import SelfTest
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
    *(("map_chains", tuning.chain_defines(gaps)) for gaps in tuning.GAPS),
    *(("map_text", tuning.text_defines(bam)) for bam in (False, True)),
    ("bgzf", {}),
)


def self_tests() -> Iterator[SelfTest]:
    """Reads of a small random reference with repeats."""
    rng = np.random.default_rng(2)
    sequence = _random_bases(rng)
    sequence[20_000:30_000] = np.tile(sequence[:500], 20)
    reference = _reference(sequence)
    index, of_meth = (build_index(reference, IndexParams(15, 8, meth=meth)) for meth in (False, True))
    short, long = (MapParams.of_preset(preset, secondary=2) for preset in ("sr", "ont"))
    meth = replace(short, meth="directional")
    batch = _reads(rng, sequence, 1000, _TESTED_LENGTH)
    reads_kernel = partial(MapKernel, index=index, params=short, pairs=None)
    yield _of_reads("reads", batch, index, short, reads_kernel, MapBatch.of(batch, paired=False))
    written = np.frombuffer(_native.format_fastx(batch.native, None, False), np.uint8)
    text = FastqText.of(Chunk(HeldText((written,)), "fastq", "self-test", 1))
    assert text is not None
    in_text = TextMapBatch.of_text(Reads((text,)), together=False)
    yield _of_reads("reads in FASTQ", batch, index, short, lambda device: TextMapKernel(reads_kernel(device)), in_text)
    batch = _reads(rng, sequence, 500, _TESTED_LENGTH)
    batch = replace(batch, bases=np.where(batch.bases == ord("C"), np.uint8(ord("T")), batch.bases))
    item = MapBatch.of(batch, paired=False, conversions=conversions_of(meth.meth, None, len(batch)))
    meth_kernel = partial(MapKernel, index=of_meth, params=meth, pairs=None)
    yield _of_reads("bisulfite reads", batch, of_meth, meth, meth_kernel, item)
    batch = _reads(rng, sequence, 50, 3000)
    long_kernel = partial(LongReadKernel, index=index, params=long)
    yield _of_reads("long reads", batch, index, long, long_kernel, MapBatch.of(batch, paired=False))


def _of_reads(
    name: str,
    batch: SequenceBatch,
    index: MinimizerIndex,
    params: MapParams,
    make_kernel: Callable[[Device], DeviceKernel[Any, Any]],
    item: KernelReads,
) -> SelfTest:
    on_cpu = partial(map_batch, index, params=params)

    def on_device(device: Device) -> Alignments:
        mapped: MappedBatch | None = run_alone(device, make_kernel, item)
        if mapped is None or mapped.on_host_count > _MAX_LEFT * len(batch):
            raise DeviceError(f"{device.name}: {name} were left to the CPU")
        return mapped.alignments(batch, None, on_cpu)

    return SelfTest(f"records of {name}", on_device, partial(on_cpu, batch))


def self_tests_of_records() -> Iterator[SelfTest]:
    """Records of pairs of reads, as lines and as blocks of BAM."""
    rng = np.random.default_rng(3)
    sequence = _random_bases(rng)
    sequence[20_000:20_300] = ord("N")
    reference = _reference(sequence)
    batch = replace(_reads(rng, sequence, 2000, _TESTED_LENGTH), mates=np.tile(np.array([1, 2], np.uint8), 1000))
    index = build_index(reference, IndexParams(15, 8))
    found = Found(batch, map_batch(index, batch, MapParams.of_preset("sr", secondary=2), PairModel()))

    def on_device(device: Device, item: TextBatch) -> tuple[bytes, int]:
        written = run_alone(device, partial(TextKernel, reference=reference), item)
        text = written.records.tobytes()
        return (gzip.decompress(text) if written.deflated else text), written.count

    for bam in (False, True):
        item = TextBatch.of(replace(found, options=RecordOptions().native("group")), bam, deflate=True)
        name = f"records as {'BAM' if bam else 'SAM'}"
        yield SelfTest(name, partial(on_device, item=item), partial(text_on_cpu, reference, item))


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
