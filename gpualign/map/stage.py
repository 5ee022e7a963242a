"""The steps of `map` for a chunk of reads: parse, map, format; on the CPU all of them, with GPUs the host's part."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpualign.engine.gpu.device import Device
from gpualign.engine.stage import HostedStage, Lend
from gpualign.errors import check_count
from gpualign.io.mates import LaneReads, Reads, to_reads
from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.chains import DeviceAlignments, LongReadKernel
from gpualign.map.device.kernel import MapKernel, make_kernel
from gpualign.map.device.records import DeviceRecords
from gpualign.map.output import MappedText, RecordFormatter
from gpualign.map.records import Alignments
from gpualign.map.statistics import MapStatistics, StepClock, statistics_of
from gpualign.sequences.batch import SequenceBatch

Mapped = tuple[MappedText, MapStatistics]


@dataclass(frozen=True)
class Parsed:
    """A batch on its way.

    Attributes:
        lane_group: ID of its reads' own read group, or None.
    """

    batch: SequenceBatch
    clock: StepClock
    lane_group: str | None


class Mapping:
    """What a run does with each chunk; pickles with the index."""

    def __init__(self, formatter: RecordFormatter) -> None:
        self.formatter = formatter

    @property
    def stage(self) -> HostedStage[Reads, Mapped]:
        return HostedStage(
            cpu=self.map_chunk,
            make_kernel=self.make_kernel,
            before=self.parse,
            staged=self.staged,
            cpu_kernel=self.map_staged,
            after=self.write,
        )

    def map_chunk(self, item: Reads) -> Mapped:
        """From text to text on the CPU."""
        parsed, batch = self.parse(item)
        return self._format(parsed, self.map_on_cpu(batch), 0)

    def parse(self, item: Reads) -> tuple[Parsed, SequenceBatch]:
        clock = StepClock()
        batch = to_reads(item)
        clock.ended("parse")
        return Parsed(batch, clock, item.read_group if isinstance(item, LaneReads) else None), batch

    def staged(self, batch: SequenceBatch, lend: Lend) -> MapBatch:
        return MapBatch.of(batch, self.formatter.pairs is not None, lend)

    def make_kernel(self, device: Device) -> MapKernel | LongReadKernel:
        return make_kernel(device, self.formatter.index, self.formatter.params, self.formatter.pairs, lent=True)

    def map_on_cpu(self, batch: SequenceBatch) -> Alignments:
        return map_batch(self.formatter.index, batch, self.formatter.params, self.formatter.pairs)

    def map_staged(self, item: MapBatch) -> Alignments:
        return self.map_on_cpu(item.batch)

    def write(self, parsed: Parsed, found: Alignments | DeviceAlignments | DeviceRecords) -> Mapped:
        """What a device found, or a CPU thread, as text."""
        batch = parsed.batch
        parsed.clock.ended("wait")
        if isinstance(found, Alignments):
            return self._format(parsed, found, 0)
        paired = self.formatter.pairs is not None
        alignments = found.alignments(batch, self.formatter.params, paired, self.map_on_cpu)
        return self._format(parsed, alignments, len(batch) - found.left_count)

    def _format(self, parsed: Parsed, alignments: Alignments, on_gpu: int) -> Mapped:
        formatter, params = self.formatter, self.formatter.params
        batch, clock = parsed.batch, parsed.clock
        clock.ended("map")
        alignments = formatter.finished(batch, alignments)
        text, invalid_comments = formatter(batch, alignments, parsed.lane_group)
        clock.ended("format")
        statistics = statistics_of(batch, alignments, formatter.pairs)
        primary = len(alignments.flag) - statistics.secondary - statistics.supplementary
        check_count("reads", len(batch), primary)
        return text, replace(
            statistics,
            invalid_comments=invalid_comments,
            long_reads=int(np.count_nonzero(params.chained_as_long(batch.lengths))),
            on_gpu=on_gpu,
            seconds=clock.seconds,
        )
