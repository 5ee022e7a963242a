"""The steps of `map` for a chunk of reads: parse, map, format; on the CPU all of them, with GPUs the host's part."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.gpu.compression import CompressionKernel
from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.nvcomp import load_nvcomp
from gpualign.engine.reused import ReusedMemory
from gpualign.engine.stage import Again, HostedStage
from gpualign.errors import check_count
from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.bgzf import packed
from gpualign.io.mates import LaneReads, Reads, UnparsedReads, to_device_text, to_reads
from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.chains import DeviceAlignments
from gpualign.map.device.fastq import FoundInText, ReadsInText, TextMapBatch, with_content
from gpualign.map.device.kernel import make_kernel
from gpualign.map.device.records import DeviceRecords
from gpualign.map.device.target import resident_target
from gpualign.map.device.text import (
    DeviceRecordsText,
    MapAndTextKernel,
    TextBatch,
    TextForm,
    TextKernel,
    resident_text_target,
    text_on_cpu,
)
from gpualign.map.output import BgzfBlocks, MappedText, RecordFormatter, RecordsJob
from gpualign.map.records import Alignments
from gpualign.map.statistics import MapStatistics, StepClock, count_invalid_names, statistics_of
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.clock import STEPS
from gpualign.streaming.lent import Lend

#: of each large buffer of page-locked memory, as batches in flight want several of them soon
_LOCKED_AHEAD = 2

Mapped = tuple[MappedText, MapStatistics]
#: what was found of a batch
Found = Alignments | DeviceAlignments | DeviceRecords | FoundInText


def load_index(device: Device, index: MinimizerIndex) -> None:
    """Copy to a device what batches will need of an index and its reference."""
    resident_target(device, index)
    resident_text_target(device, index.reference)


@dataclass(frozen=True)
class Parsed:
    """A batch on its way, parsed here or not.

    Attributes:
        lane_group: ID of its reads' own read group, or None.
    """

    reads: SequenceBatch | UnparsedReads
    clock: StepClock
    lane_group: str | None


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

    @property
    def stage(self) -> HostedStage[Reads, Mapped]:
        return HostedStage(
            cpu=self.map_chunk,
            make_kernel=self.make_kernel,
            before=self.prepare,
            staged=self.staged,
            cpu_kernel=self.map_staged,
            after=self.write_on_device,
            compresses=load_nvcomp() is not None,
        )

    def map_chunk(self, item: Reads) -> Mapped:
        """From text to text on the CPU."""
        parsed, batch = self.parse(item)
        return self._format(parsed, self.map_on_cpu(batch), 0)

    def parse(self, item: Reads) -> tuple[Parsed, SequenceBatch]:
        clock = StepClock()
        with STEPS.at("parse"):
            batch = to_reads(item)
        clock.ended("parse")
        return Parsed(batch, clock, item.read_group if isinstance(item, LaneReads) else None), batch

    def prepare(self, item: Reads) -> tuple[Parsed, SequenceBatch | UnparsedReads]:
        """The same for a device, which parses what can be left to it."""
        item = to_device_text(item) if self._unparsed else item
        reads = item.reads if isinstance(item, LaneReads) else item
        if not isinstance(reads, UnparsedReads):
            return self.parse(item)
        return Parsed(reads, StepClock(), item.read_group if isinstance(item, LaneReads) else None), reads

    @STEPS.at("copy")
    def staged(self, prepared: SequenceBatch | UnparsedReads | RecordsJob, lend: Lend) -> MapBatch | TextBatch:
        if isinstance(prepared, UnparsedReads):
            return TextMapBatch.of_text(prepared, self.formatter.pairs is not None, lend)
        if isinstance(prepared, SequenceBatch):
            return MapBatch.of(prepared, self.formatter.pairs is not None, lend)
        layout = self.formatter.layout
        form = TextForm(layout.records == "bam", deflate=layout.deflates_batches)
        return TextBatch.of(prepared.batch, prepared.alignments, prepared.wanted, prepared.options, form, lend)

    def make_kernel(self, device: Device) -> MapAndTextKernel:
        formatter, nvcomp = self.formatter, load_nvcomp()
        device.host_memory.ahead = _LOCKED_AHEAD
        mapper = make_kernel(device, formatter.index, formatter.params, formatter.pairs, lent=True)
        text = TextKernel(device, formatter.index.reference)
        return MapAndTextKernel(mapper, text, None if nvcomp is None else CompressionKernel(device, nvcomp))

    @STEPS.at("map")
    def map_on_cpu(self, batch: SequenceBatch) -> Alignments:
        return map_batch(self.formatter.index, batch, self.formatter.params, self.formatter.pairs)

    def map_staged(self, item: MapBatch | TextBatch) -> Alignments | DeviceRecordsText:
        if isinstance(item, TextBatch):
            return text_on_cpu(self.formatter.index.reference, replace(item, batch=with_content(item.batch)))
        if isinstance(item, TextMapBatch):
            return self.map_on_cpu(item.reads.parsed())
        return self.map_on_cpu(item.batch)

    def write_on_device(self, parsed: Parsed, found: Found | None) -> Mapped | Again[Mapped]:
        """What a device found, or a CPU thread, as text, which the device writes, too, if it can and that pays.

        Args:
            found: None of text that the host must read.
        """
        if found is None:
            read, batch = self._read_here(parsed)
            return Again(
                batch,
                lambda found: self.write_on_device(read, found),
                lambda: self._format(read, self.map_on_cpu(batch), 0),
            )
        parsed, alignments, on_gpu = self._alignments(parsed, found)
        job, statistics = self._job(parsed, alignments, on_gpu)

        def on_host() -> Mapped:
            whole = replace(job, batch=with_content(job.batch))
            return self._written(parsed, whole, statistics, self.formatter.records(whole))

        if not self.formatter.better_on_device(job):
            return on_host()

        def after(written: DeviceRecordsText) -> Mapped:
            parsed.clock.ended("wait")
            check_count("records", job.count, written.records)
            with STEPS.at("copy"):
                text = (written.whole if self.formatter.layout.held else written.joined)(self._memory)  # sorting copies
            return self._written(parsed, job, statistics, BgzfBlocks(text) if written.deflated else text)

        parsed.clock.ended("format")
        return Again(job, after, on_host)

    @staticmethod
    def _read_here(parsed: Parsed) -> tuple[Parsed, SequenceBatch]:
        """With its reads as a batch, and this."""
        if isinstance(parsed.reads, SequenceBatch):
            return parsed, parsed.reads
        with STEPS.at("parse"):
            batch = parsed.reads.parsed()
        parsed.clock.ended("parse")
        return replace(parsed, reads=batch), batch

    def _alignments(self, parsed: Parsed, found: Found) -> tuple[Parsed, Alignments, int]:
        """A batch with what is known of its reads, all its records, and the number of reads that a device mapped."""
        parsed.clock.ended("wait")
        if isinstance(found, FoundInText):
            if not found.records.left_count:
                parsed = replace(parsed, reads=found.batch)
            found = found.records
        parsed, batch = self._read_here(parsed)
        if isinstance(found, Alignments):
            return parsed, found, 0
        paired = self.formatter.pairs is not None
        with STEPS.at("map"):
            alignments = found.alignments(batch, self.formatter.params, paired, self.map_on_cpu)
        return parsed, alignments, len(batch) - found.left_count

    def _format(self, parsed: Parsed, alignments: Alignments, on_gpu: int) -> Mapped:
        job, statistics = self._job(parsed, alignments, on_gpu)
        return self._written(parsed, job, statistics, self.formatter.records(job))

    @STEPS.at("format")
    def _job(self, parsed: Parsed, alignments: Alignments, on_gpu: int) -> tuple[RecordsJob, MapStatistics]:
        """What is to be written, and counted."""
        formatter, (parsed, batch) = self.formatter, self._read_here(parsed)
        parsed.clock.ended("map")
        alignments = formatter.finished(batch, alignments)
        job = formatter.job(batch, alignments, parsed.lane_group)
        statistics = statistics_of(batch, alignments, formatter.pairs)
        primary = len(alignments.flag) - statistics.secondary - statistics.supplementary
        check_count("reads", len(batch), primary)
        long_reads = int(np.count_nonzero(formatter.params.chained_as_long(batch.lengths)))
        # the host has the names of reads that a device parsed only where they are not as SAM allows
        names = 0 if isinstance(batch, ReadsInText) else count_invalid_names(batch)
        statistics = replace(statistics, invalid_comments=job.invalid_comments, invalid_names=names)
        return job, replace(statistics, long_reads=long_reads, on_gpu=on_gpu)

    def _written(
        self, parsed: Parsed, job: RecordsJob, statistics: MapStatistics, records: NDArray[np.uint8] | BgzfBlocks
    ) -> Mapped:
        if self._deflates and isinstance(records, np.ndarray) and len(records):
            blocks = packed(records, np.array([len(records)], np.uint64))
            records = BgzfBlocks(np.frombuffer(blocks, np.uint8))
        text = self.formatter.text(job, records)
        parsed.clock.ended("format")
        return text, replace(statistics, seconds=parsed.clock.seconds)
