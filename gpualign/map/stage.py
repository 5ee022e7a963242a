"""The life of a chunk of reads in `map`: from text through alignments to records, on the CPU or with a device."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.engine.gpu.compression import CompressionKernel
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.nvcomp import NvcompError, load_nvcomp
from gpualign.engine.reused import ReusedMemory
from gpualign.engine.stage import Run, Stage
from gpualign.errors import check_count
from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.bgzf import packed
from gpualign.io.reads import Reads
from gpualign.map import tuning
from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.chains import DeviceAlignments
from gpualign.map.device.fastq import FoundInText, ReadsInText, TextMapBatch, with_content
from gpualign.map.device.kernel import make_kernel
from gpualign.map.device.records import DeviceRecords
from gpualign.map.device.target import resident_target
from gpualign.map.device.text import (
    MapAndTextKernel,
    TextBatch,
    TextForm,
    TextKernel,
    resident_text_target,
)
from gpualign.map.output import BgzfBlocks, MappedText, RecordFormatter, RecordsJob
from gpualign.map.records import Alignments
from gpualign.map.statistics import MapStatistics, StepClock, statistics_of
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.clock import STEPS

#: of each large buffer of page-locked memory, as batches in flight want several of them soon
_LOCKED_AHEAD = 2

Mapped = tuple[MappedText, MapStatistics]


def load_index(device: Device, index: MinimizerIndex) -> None:
    """Copy to a device what batches will need of an index and its reference."""
    resident_target(device, index)
    resident_text_target(device, index.reference)


class Mapping:
    """What a run does with each chunk; pickles with the index.

    Args:
        far: it may be done on other machines: what can be compressed comes back compressed.
        unparsed: devices there parse chunks.
    """

    def __init__(self, formatter: RecordFormatter, far: bool = False, unparsed: bool = False) -> None:
        self.formatter, self._unparsed = formatter, unparsed
        self._deflates = far and formatter.layout.deflates_batches
        self._memory = ReusedMemory()

    def stage(self, slots: int = tuning.SLOTS) -> Stage[Reads, Mapped]:
        compresses = load_nvcomp() is not None
        return Stage(self.on_cpu, self.make_kernel, self.on_device, slots=slots, compresses=compresses)

    def make_kernel(self, device: Device) -> MapAndTextKernel:
        formatter, nvcomp = self.formatter, load_nvcomp()
        device.host_memory.ahead = _LOCKED_AHEAD
        mapper = make_kernel(device, formatter.index, formatter.params, formatter.pairs, lent=True)
        text = TextKernel(device, formatter.index.reference)
        return MapAndTextKernel(mapper, text, None if nvcomp is None else CompressionKernel(device, nvcomp))

    def on_cpu(self, reads: Reads) -> Mapped:
        """From text to text."""
        clock = StepClock()
        with STEPS.at("parse"):
            batch = reads.columns()
        clock.ended("parse")
        alignments = self.map_on_cpu(batch)
        clock.ended("map")
        job, statistics = self._job(batch, alignments, reads.read_group)
        return self._written(job, statistics, self.formatter.records(job), clock)

    def on_device(self, reads: Reads, run: Run) -> Mapped:
        """The same with a device, which also parses the reads and writes their records, where it can and that pays."""
        clock = StepClock()
        batch, alignments, on_gpu = self._map_on_device(reads.counted() if self._unparsed else reads, run, clock)
        job, statistics = self._job(batch, alignments, reads.read_group, on_gpu)
        if self.formatter.better_on_device(job):
            clock.ended("format")
            with contextlib.suppress(NvcompError):
                records = self._records_by_device(job, run)
                clock.ended("wait")
                return self._written(job, statistics, records, clock)
        job = replace(job, batch=with_content(job.batch))
        return self._written(job, statistics, self.formatter.records(job), clock)

    def _map_on_device(self, reads: Reads, run: Run, clock: StepClock) -> tuple[SequenceBatch, Alignments, int]:
        """The reads, parsed or left in their text on the device; their records; and how many reads a device mapped.

        What the device gave back is in pinned memory: it is not held any longer than this.
        """
        params, pairs = self.formatter.params, self.formatter.pairs
        paired = pairs is not None
        batch: SequenceBatch | None = None
        found: DeviceRecords | DeviceAlignments | None = None
        if reads.texts:
            in_text: FoundInText | DeviceRecords | None = run(lambda lend: TextMapBatch.of_text(reads, paired, lend))
            clock.ended("wait")
            if isinstance(in_text, FoundInText):
                batch, found = in_text.batch, in_text.records
            else:
                found = in_text
        # the device cannot read the text, had no memory for all of it at once, or leaves some reads to the CPU
        if batch is None or found is None or found.left_count:
            with STEPS.at("parse"):
                parsed = batch = reads.columns()
            clock.ended("parse")
        if found is None:
            found = run(lambda lend: MapBatch.of(parsed, paired, lend, pairs))
            clock.ended("wait")
        with STEPS.at("map"):
            alignments = found.alignments(batch, params, paired, self.map_on_cpu)
        clock.ended("map")
        return batch, alignments, len(batch) - found.left_count

    @STEPS.at("map")
    def map_on_cpu(self, batch: SequenceBatch) -> Alignments:
        return map_batch(self.formatter.index, batch, self.formatter.params, self.formatter.pairs)

    @STEPS.at("format")
    def _job(
        self, batch: SequenceBatch, alignments: Alignments, lane_group: str | None, on_gpu: int = 0
    ) -> tuple[RecordsJob, MapStatistics]:
        """What is to be written, and counted."""
        formatter = self.formatter
        alignments = formatter.finished(batch, alignments)
        job = formatter.job(batch, alignments, lane_group)
        statistics = statistics_of(batch, alignments, formatter.pairs)
        primary = len(alignments.flag) - statistics.secondary - statistics.supplementary
        check_count("reads", len(batch), primary)
        long_reads = int(np.count_nonzero(formatter.params.chained_as_long(batch.lengths)))
        # the host has the names of reads that a device parsed only where they are not as SAM allows
        names = 0 if isinstance(batch, ReadsInText) else _native.count_invalid_names(batch.names, batch.name_offsets)
        statistics = replace(statistics, invalid_tags=job.invalid_tags, invalid_names=names)
        return job, replace(statistics, long_reads=long_reads, on_gpu=on_gpu)

    def _records_by_device(self, job: RecordsJob, run: Run) -> NDArray[np.uint8] | BgzfBlocks:
        """
        Raises:
            NvcompError: the device cannot deflate them.
        """
        layout = self.formatter.layout
        form = TextForm(layout.records == "bam", deflate=layout.deflates_batches)
        written = run(lambda lend: TextBatch.of(job.batch, job.alignments, job.wanted, job.options, form, lend))
        check_count("records", job.count, written.records)
        with STEPS.at("copy"):
            text: NDArray[np.uint8] = (written.whole if layout.held else written.joined)(self._memory)  # sorting copies
        return BgzfBlocks(text) if written.deflated else text

    def _written(
        self, job: RecordsJob, statistics: MapStatistics, records: NDArray[np.uint8] | BgzfBlocks, clock: StepClock
    ) -> Mapped:
        if self._deflates and isinstance(records, np.ndarray) and len(records):
            blocks = packed(records, np.array([len(records)], np.uint64))
            records = BgzfBlocks(np.frombuffer(blocks, np.uint8))
        text = self.formatter.text(job, records)
        clock.ended("format")
        return text, replace(statistics, seconds=clock.seconds)
