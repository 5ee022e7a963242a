"""`map`: reads to SAM, BAM, CRAM and PAF."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

from gpualign.engine.cuda import pinned_allocator
from gpualign.engine.malloc_tuning import reuse_memory
from gpualign.engine.run_context import RunContext
from gpualign.errors import InputError
from gpualign.index.file import is_index, save_index
from gpualign.index.minimizers import IndexParams, MinimizerIndex
from gpualign.index.run import open_index
from gpualign.io.alignment_output import AlignmentLayout
from gpualign.io.paths import ALIGNMENTS
from gpualign.io.reads import Reads
from gpualign.io.sizes import symbols_in_files
from gpualign.map import tuning
from gpualign.map.alt import split_index
from gpualign.map.bwa_reference import open_next_to
from gpualign.map.cpu import pairs_of
from gpualign.map.device.target import resident_bytes
from gpualign.map.full import check_seeds, choose_seeds, first_lengths, seeds_for_short_reads, shortest_piece
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.map.meth import check_meth, for_meth, warn_of_meth
from gpualign.map.params import MapParams
from gpualign.map.report_page import report_page, write_page
from gpualign.map.sample import Lanes, MapOutputs, Sample, sample_report, warn_of
from gpualign.map.stage import load_index
from gpualign.map.statistics import MAP_STEPS
from gpualign.map.tuning import work_of
from gpualign.params import RunOptions
from gpualign.records.observer import duplicates_summary

#: bases of the reads whose lengths are looked at, at once
_SAMPLE_BASES = 1 << 16


def run_map(
    files: MapFiles,
    params: MapParams,
    options: RunOptions,
    layout: AlignmentLayout | None = None,
    records: RecordOptions | None = None,
    command: str = "map",
) -> None:
    """Map reads or read pairs and write SAM, BAM, CRAM or PAF.

    Args:
        command: its name, for messages.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the classes say.
    """
    records = records or RecordOptions()
    check_meth(params, files, records)
    records = for_meth(params, records)
    sample = Sample(files, records, (layout or AlignmentLayout()).of(options.output), options)
    outputs = (*files.written, *sample.layout.indexes(options.output))
    run = RunContext(command, options, (files.reference, *files.files), outputs, ALIGNMENTS)
    warn_of_meth(params, records, run.warn)
    report = run.report
    kind = params.long_reads, sample.layout.records, params.meth is not None
    with run.opening(work_of(files.read_files, files.mate_files, *kind)) as opening, ExitStack() as stack:
        lanes = Lanes(sample, stack, opening.remote)
        if lanes.paired:
            params.check_pairs()
        index, reads = _index(sample, params, lanes, run.note)
        index = kept_index(files, index, run.warn)
        report.stage("index")
        backend = opening.backend()
        memory = min((device.memory for device in backend.devices), default=0)
        if backend.on_gpu:  # batches need buffers of the same sizes
            reuse_memory(one_heap=True)
        for device in backend.devices:  # errors are raised again at the first batch
            device.call(load_index, device, index)
        lanes.inflate_by(backend.codec)
        report.stage("device")
        unparsed = parsed_by_devices(sample, params, index)
        if reads is None:
            larger = _larger_batch(sample, params, memory - resident_bytes(index)) if backend.on_gpu else 1
            reads = lanes.items(
                options.batch_size * larger, backend.on_gpu and unparsed, pinned_allocator(backend.devices)
            )
        library, items = pairs_of(index, reads, lanes.paired, params, options.threads, run.warn)
        report.stage("insert sizes")
        run.begin_timeline(MAP_STEPS)
        large = memory >= tuning.LARGE_DEVICE and not params.long_reads
        with run.progress("read") as progress, MapOutputs(sample, lanes, index, backend.codec) as out:
            stage = out.mapping(params, library, unparsed and lanes.remote).stage(
                tuning.LARGE_DEVICE_SLOTS if large else tuning.SLOTS
            )
            with closing(backend.run(items, stage)) as mapped:  # its threads wait for devices: closed before these
                for written, counts in mapped:
                    out.write(written, counts)
                    progress.update(counts.reads)
            index.check_unchanged()
            report.stage("mapping")
        report.stage("output")
    warn_of(out, files, params, run.warn)
    report |= sample_report(sample, out, library, index)
    devices = report.fields.get("devices", ())
    report |= {"peak_vram_mb": max((device["peak_vram_mb"] for device in devices), default=0)}
    fields = run.finish(out.statistics.summary(library) + duplicates_summary(out.report))
    if files.report_page is not None:
        write_page(files.report_page, report_page(fields))


def parsed_by_devices(sample: Sample, params: MapParams, index: MinimizerIndex) -> bool:
    """Whether the host needs only the reads' lengths, as devices parse, map and format them."""
    on_host = params.long_reads or sample.files.write_reads or sample.records.copy_comments or index.alt is not None
    return sample.layout.records != "paf" and not on_host


def _larger_batch(sample: Sample, params: MapParams, memory: int) -> int:
    """Factor of the batch size, by the memory in bytes that the index leaves on the devices."""
    if not params.long_reads:
        return tuning.device_batch(memory)
    bases = symbols_in_files(*sample.files.read_files)
    if bases is None:
        return tuning.LONG_READ_BATCH
    return min(tuning.LONG_READ_BATCH, max(1, round(bases / (tuning.LONG_READ_PARTS * sample.options.batch_size))))


def kept_index(files: MapFiles, index: MinimizerIndex, warn: Callable[[str], None]) -> MinimizerIndex:
    """Save the index and lock it in memory, if asked for, and split off ALT contigs."""
    if files.save_index is not None:
        save_index(index, files.save_index)
    if files.preload and index.shared is None:
        warn("only a saved index is shared with other processes (--preload needs one)")
    elif files.preload and index.shared is not None and (reason := index.shared.lock()) is not None:
        warn(f"the index is shared but not locked in memory: {reason} (ulimit -l)")
    return index if files.alt is None else split_index(index, files.alt or None)


def _seeds_of(sample: Sample, params: MapParams) -> Callable[[int], IndexParams] | None:
    """A function that chooses seeds by the first reads; None if seeds are given or files cannot be read twice."""
    given = params.seeding.k is not None or params.seeding.w is not None
    if given or is_index(sample.files.reference) or not all(map(os.path.isfile, sample.files.files)):
        return None
    try:
        with ExitStack() as stack:
            lengths, _ = first_lengths(Lanes(sample, stack).items(_SAMPLE_BASES))
    except InputError:  # reported when all reads are read
        return None
    return seeds_for_short_reads(lengths)


def _index(
    sample: Sample, params: MapParams, lanes: Lanes, say: Callable[[str], None]
) -> tuple[MinimizerIndex, Iterator[Reads] | None]:
    """The index, and the reads if the first ones had to be read for it."""
    reference, options = sample.files.reference, sample.options
    given = (params.seeding.k, params.seeding.w)
    shared, meth = sample.files.preload, params.meth is not None
    if sample.files.keep_index:
        return open_next_to(reference, *given, options.threads, say, shared, meth), None
    if not params.seeding.full:
        choose = None if meth else _seeds_of(sample, params)
        return open_index(reference, *given, options.threads, choose, shared, options, meth), None
    lengths, reads = first_lengths(lanes.items(options.batch_size))
    piece = shortest_piece(params, lengths)
    seeds = given if is_index(reference) else choose_seeds(params, piece)
    index = open_index(reference, *seeds, options.threads, shared=shared, options=options, meth=meth)
    check_seeds(params, index.params, piece)
    return index, reads
