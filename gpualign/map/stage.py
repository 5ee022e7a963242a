"""The life of a chunk of reads in `map`: from text through alignments to records, on the CPU or with a device."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign._native import NvcompError
from gpualign.engine.gpu.device import Device
from gpualign.engine.reused import ReusedMemory
from gpualign.engine.stage import Run, Stage
from gpualign.errors import check_count
from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.bgzf import packed
from gpualign.io.mates import LaneItem, LaneReads, Reads, UnparsedReads, to_device_text, to_reads
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
from gpualign.map.statistics import MapStatistics, statistics_of, thread_seconds
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS, Seconds

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
        return Stage(self.on_cpu, self.make_kernel, self.on_device, slots=slots)

    def make_kernel(self, device: Device) -> MapAndTextKernel:
        formatter = self.formatter
        device.host_memory.ahead = _LOCKED_AHEAD
        mapper = make_kernel(device, formatter.index, formatter.params, formatter.pairs, lent=True)
        return MapAndTextKernel(mapper, TextKernel(device, formatter.index.reference))

    def on_cpu(self, item: Reads) -> Mapped:
        """From text to text."""
        before, (reads, group) = STEPS.of_thread(), _lane_of(item)
        with STEPS.at("parse"):
            batch = to_reads(reads)
        alignments = self.map_on_cpu(batch)
        job, statistics = self._job(batch, alignments, group)
        return self._written(job, statistics, self.formatter.records(job), before)

    def on_device(self, item: Reads, run: Run) -> Mapped:
        """The same with a device, which also parses the reads and writes their records, where it can and that pays."""
        before = STEPS.of_thread()
        reads, group = _lane_of(to_device_text(item) if self._unparsed else item)
        batch, alignments, on_gpu = self._map_on_device(reads, run)
        job, statistics = self._job(batch, alignments, group, on_gpu)
        if self.formatter.better_on_device(job):
            with contextlib.suppress(NvcompError):
                records = self._records_by_device(job, run)
                return self._written(job, statistics, records, before)
        job = replace(job, batch=with_content(job.batch))
        return self._written(job, statistics, self.formatter.records(job), before)

    def _map_on_device(self, reads: LaneItem, run: Run) -> tuple[SequenceBatch, Alignments, int]:
        """The reads, parsed or left in their text on the device; their records; and how many reads a device mapped.

        What the device gave back is in pinned memory: it is not held any longer than this.
        """
        params, pairs = self.formatter.params, self.formatter.pairs
        paired = pairs is not None
        batch: SequenceBatch | None = None
        found: DeviceRecords | DeviceAlignments | None = None
        if isinstance(reads, UnparsedReads):
            text = reads
            in_text: FoundInText | DeviceRecords | None = run(lambda lend: TextMapBatch.of_text(text, paired, lend))
            if isinstance(in_text, FoundInText):
                batch, found = in_text.batch, in_text.records
            else:
                found = in_text
        # the device cannot read the text, had no memory for all of it at once, or leaves some reads to the CPU
        if batch is None or found is None or found.left_count:
            with STEPS.at("parse"):
                parsed = batch = to_reads(reads)
        if found is None:
            found = run(lambda lend: MapBatch.of(parsed, paired, lend, pairs))
        with STEPS.at("map"):
            alignments = found.alignments(batch, params, paired, self.map_on_cpu)
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
        self, job: RecordsJob, statistics: MapStatistics, records: NDArray[np.uint8] | BgzfBlocks, before: Seconds
    ) -> Mapped:
        if self._deflates and isinstance(records, np.ndarray) and len(records):
            blocks = packed(records, np.array([len(records)], np.uint64))
            records = BgzfBlocks(np.frombuffer(blocks, np.uint8))
        text = self.formatter.text(job, records)
        return text, replace(statistics, seconds=thread_seconds(before))


def _lane_of(item: Reads) -> tuple[LaneItem, str | None]:
    """The reads, and the ID of their own read group if they have one."""
    return (item.reads, item.read_group) if isinstance(item, LaneReads) else (item, None)
