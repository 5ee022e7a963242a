"""The self-test of record formatting (``gpualign devices --check``)."""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import partial

import numpy as np

from gpualign import _native
from gpualign.engine.gpu.compiler import Variant
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.runner import run_alone
from gpualign.errors import DeviceError
from gpualign.map import tuning
from gpualign.map.alignments import Alignments, Found
from gpualign.map.device.text import TextBatch, TextKernel
from gpualign.map.inputs import RecordOptions
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference


def text_on_cpu(reference: Reference, item: TextBatch) -> tuple[bytes, int]:
    """The CPU's formatted records, and their number."""
    found, (names, offsets) = item.found, reference.shown_name_bytes
    reads, arrays, options = found.columns().native, found.alignments.native, found.native_options
    records, count = _native.format_records(
        reference.native, names, offsets, reads, arrays, found.wanted, *options, item.bam
    )
    return records.tobytes(), count


#: modules of :func:`self_test`, which ``devices --check`` compiles in parallel
SELF_TEST_MODULES: tuple[Variant, ...] = (
    *(("map_text", tuning.text_defines(bam)) for bam in (False, True)),
    ("bgzf", {}),
)


def self_test(device: Device) -> None:
    """Write records of reads with errors on the device and on the CPU, as lines and as blocks of BAM.

    Raises:
        DeviceError: the text differs.
    """
    rng = np.random.default_rng(3)
    count, length = 2000, 150
    sequence = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 1 << 16)]
    sequence[20_000:20_300] = ord("N")
    reference = Reference.packed(["random"], np.array([0, len(sequence)], np.int64), (sequence,))
    position = rng.integers(0, len(sequence) - length, count)
    bases = np.concatenate([sequence[at : at + length] for at in position])
    bases[rng.random(len(bases)) < 0.02] = ord("C")
    offsets = np.arange(count + 1, dtype=np.int64)
    names = np.frombuffer(b"read" * count, np.uint8)
    mates = np.tile(np.array([1, 2], np.uint8), count // 2)
    batch = SequenceBatch(names, 4 * offsets, bases, length * offsets, qualities=bases, mates=mates)
    columns = rng.integers(0, 60, (3, count))
    alignments = Alignments(
        flag=np.where(np.arange(count) % 8 == 0, 0x51, 0x41).astype(np.uint16),
        contig=np.zeros(count, np.int32),
        position=position,
        mapq=columns[0].astype(np.uint8),
        score=columns[1].astype(np.int32),
        distance=columns[2].astype(np.int32),
        cigar=np.full(count, length << 4, np.uint32),
        cigar_offsets=offsets,
        record_offsets=offsets,
    )
    found = Found.of(batch, alignments)
    for bam in (False, True):
        item = TextBatch.of(replace(found, options=RecordOptions().native("group")), bam, deflate=True)
        written = run_alone(device, partial(TextKernel, reference=reference), item)
        text = written.records.tobytes()
        if written.deflated:
            text = gzip.decompress(text)
        if (text, written.count) != text_on_cpu(reference, item):
            raise DeviceError(f"{device.name}: records as {'BAM' if bam else 'SAM'} differ from the CPU's")
