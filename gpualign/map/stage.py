"""The stage of `map`: a chunk of reads from text through alignments to records, on the CPU or with a device."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np

from gpualign import _native
from gpualign._native import NvcompError
from gpualign.errors import check_count
from gpualign.map import tuning
from gpualign.map.alignments import Alignments, Found, Written
from gpualign.map.cpu import map_batch, map_short_reads
from gpualign.map.device.batch import MapBatch, MappedBatch
from gpualign.map.device.fastq_batch import TextMapBatch
from gpualign.map.device.kernel import map_and_text_kernel
from gpualign.map.device.target import resident_target
from gpualign.map.device.text import MapAndTextKernel, TextBatch, resident_text_target
from gpualign.map.formatter import RecordFormatter
from gpualign.map.introns import Introns, introns_of
from gpualign.map.meth import Conversions, Which, map_by_conversion, params_as, with_conversions
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.statistics import MapStatistics, read_histograms, statistics_of, thread_seconds
from gpualign.reads.reads import Reads
from gpualign.run.buffer_pool import BufferPool
from gpualign.run.gpu.device import Device
from gpualign.run.stage import Run, Stage
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS, Seconds
from gpualign.text.bgzf import packed

Mapped = tuple[Written, MapStatistics]


def load_index(device: Device, index: MinimizerIndex) -> None:
    """Copy an index and its reference to a device."""
    resident_target(device, index)
    resident_text_target(device, index.reference)


def map_batch_on_device(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None, run: Run
) -> tuple[Alignments, int]:
    """Map a parsed batch on a device; takes the arguments of :func:`map_batch`, and ``run`` of :class:`Stage`.

    Returns:
        the alignments of all reads, and the number of reads that the device left to the host, which maps them here.
    """
    on_host, paired = 0, pairs is not None

    def map_as(batch: SequenceBatch, conversions: Conversions, which: Which) -> Alignments:
        nonlocal on_host
        mapped: MappedBatch = run(lambda allocate: MapBatch.of(batch, paired, allocate, pairs, conversions, which))
        on_host = max(on_host, mapped.on_host_count)
        own = params_as(params, which)

        def on_cpu(others: SequenceBatch) -> Alignments:
            if conversions is None:
                return map_batch(index, others, own, pairs)
            return map_short_reads(index, others, own, pairs, conversions[mapped.on_host])

        with STEPS.at("map"):
            return mapped.alignments(batch, batch.mates if paired else None, on_cpu)

    return map_by_conversion(params, batch, paired, map_as), on_host


class Mapping:
    """Makes records of batches of reads. It pickles with the index; a copy compresses BAM, which then travels.

    Args:
        unparsed: devices parse the text, for which its records must have been counted.
    """

    def __init__(self, formatter: RecordFormatter, unparsed: bool = False) -> None:
        self.formatter = formatter
        self._unparsed, self._deflates = unparsed, False
        self._memory = BufferPool()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._deflates = self.formatter.sample.layout.deflates_batches

    def stage(self, slots: int = tuning.SLOTS) -> Stage[Reads, Mapped]:
        sorts = self.formatter.sample.layout.held
        return Stage(self.on_cpu, self.make_kernel, self.on_device, slots=slots, sorts=sorts)

    def make_kernel(self, device: Device) -> MapAndTextKernel:
        formatter = self.formatter
        device.pinned_pool.ahead = tuning.PINNED_AHEAD
        return map_and_text_kernel(device, formatter.index, formatter.sample.params, formatter.pairs)

    def on_cpu(self, reads: Reads) -> Mapped:
        """A batch on the CPU: parse, map, format."""
        before = STEPS.of_thread()
        found, statistics = self._to_write(self.map_reads(reads, None), reads.read_group)
        return self._written(found, statistics, self.formatter.formatted(found), before)

    def on_device(self, reads: Reads, run: Run) -> Mapped:
        """A batch with a device, which maps it, and also parses reads and formats records if it can and that is
        faster.
        """
        before = STEPS.of_thread()
        found, statistics = self._to_write(self.map_reads(reads, run), reads.read_group)
        if self.formatter.better_on_device(found):
            with contextlib.suppress(NvcompError):
                records = self._records_by_device(found, run)
                return self._written(found, statistics, records, before)
        return self._written(found, statistics, self.formatter.formatted(found), before)

    def _map_on_device(self, reads: Reads, run: Run) -> Found:
        """Map on a device. Its results are in pinned memory, which is released on return."""
        params, pairs = self.formatter.sample.params, self.formatter.pairs
        paired = pairs is not None
        mapped: MappedBatch | None = None
        if reads.texts and params.meth != "non-directional":  # those are mapped twice, so the host parses them
            mapped = run(lambda allocate: TextMapBatch.of_text(reads, paired, allocate, params.meth))
            if mapped is not None and mapped.parsed is not None and not mapped.on_host_count:
                parsed = mapped.parsed
                with STEPS.at("map"):
                    alignments = mapped.alignments(None, parsed.mates if paired else None, self.map_on_cpu)
                return Found(parsed, alignments, len(alignments))
        # the device cannot parse the text, had too little memory for it, or leaves some reads to the host
        with STEPS.at("parse"):
            batch = reads.columns()
        if mapped is None:
            alignments, on_host = map_batch_on_device(self.formatter.index, batch, params, pairs, run)
        else:
            with STEPS.at("map"):
                alignments = mapped.alignments(batch, batch.mates if paired else None, self.map_on_cpu)
            on_host = mapped.on_host_count
        return Found(batch, alignments, len(batch) - on_host)

    @STEPS.at("map")
    def map_on_cpu(self, batch: SequenceBatch) -> Alignments:
        return map_batch(self.formatter.index, batch, self.formatter.sample.params, self.formatter.pairs)

    @STEPS.at("format")
    def _to_write(self, found: Found, lane_group: str | None) -> tuple[Found, MapStatistics]:
        """The records to write, and the statistics."""
        formatter = self.formatter
        found = formatter.postprocessed(found)
        statistics = statistics_of(
            found, formatter.sample.params, formatter.pairs, formatter.index.reference.contig_offsets
        )
        if formatter.sample.params.meth is not None:
            found, statistics = with_conversions(
                found, statistics, formatter.index, formatter.sample.params, formatter.sample.records.methylation_rules
            )
        if formatter.sample.files.report_page is not None:
            statistics = statistics + read_histograms(found, formatter.sample.params)
        batch, found = found.batch, formatter.to_write(found, lane_group)
        # a device only parses text whose names SAM allows
        names = 0 if batch is None else _native.count_invalid_names(batch.names, batch.name_offsets)
        return found, replace(statistics, invalid_tags=found.invalid_tags, invalid_names=names, on_gpu=found.on_gpu)

    def map_reads(self, reads: Reads, run: Run | None) -> Found:
        """Map a batch, with a device if ``run`` is given."""
        if run is not None:
            return self._map_on_device(reads.as_texts() if self._unparsed else reads, run)
        with STEPS.at("parse"):
            batch = reads.columns()
        return Found(batch, self.map_on_cpu(batch))

    def _records_by_device(self, found: Found, run: Run) -> Written:
        """
        Raises:
            NvcompError: the device cannot deflate them.
        """
        layout = self.formatter.sample.layout
        form = (layout.record_form == "bam", layout.deflates_batches)
        written: Written = run(lambda allocate: TextBatch.of(found, *form, allocate))
        check_count("records", found.wanted_records, written.count)
        if layout.held:  # sorting copies the records
            return written
        with STEPS.at("copy"):
            records = self._memory.make(len(written.records))[: len(written.records)]
            np.copyto(records, written.records)
        return replace(written, records=records)

    def _written(self, found: Found, statistics: MapStatistics, records: Written, before: Seconds) -> Mapped:
        if self._deflates and not records.deflated and len(records.records):
            blocks = packed(records.records, np.array([len(records.records)], np.uint64))
            records = replace(records, records=np.frombuffer(blocks, np.uint8), deflated=True)
        written = self.formatter.complete(found, records)
        return written, replace(statistics, seconds=thread_seconds(before))


class IntronSearch(Mapping):
    """Finds the introns of batches of reads, without records of them."""

    def stage(self, slots: int = tuning.SLOTS) -> Stage[Reads, tuple[Introns]]:  # type: ignore[override]
        return Stage(self.introns, self.make_kernel, self.introns, slots=slots)

    def introns(self, reads: Reads, run: Run | None = None) -> tuple[Introns]:
        return (introns_of(self.map_reads(reads, run).alignments),)
