"""`map`: reads to SAM, BAM, CRAM and PAF.

:func:`run_map` is a run from its first file to its last. The reads come from :class:`gpualign.reads.lanes.Lanes` in
batches; :class:`gpualign.map.stage.Mapping` makes records of a batch, in a thread of a backend; and
:class:`gpualign.map.outputs.MapOutputs` writes them in input order.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import replace
from functools import reduce

from gpualign.errors import UsageError
from gpualign.map import tuning
from gpualign.map.device.target import resident_bytes
from gpualign.map.formatter import RecordFormatter
from gpualign.map.gene_counts import GeneExons
from gpualign.map.index import index_for
from gpualign.map.inputs import MapFiles, Sample
from gpualign.map.introns import Introns, read_introns
from gpualign.map.library import find_library
from gpualign.map.meth import warn_of_meth
from gpualign.map.outputs import MapOutputs
from gpualign.map.params import MapParams
from gpualign.map.report_page import report_page, write_page
from gpualign.map.stage import IntronSearch, Mapping, load_index
from gpualign.map.statistics import MAP_STEPS
from gpualign.map.tuning import work_of
from gpualign.run.cuda import pinned_allocator
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import RunContext
from gpualign.run.stage import Backend
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.reference import Reference
from gpualign.text.paths import ALIGNMENTS
from gpualign.text.sizes import longest_read, symbols_in_files


def run_map(sample: Sample, command: str = "map") -> None:
    """Map reads or read pairs and write SAM, BAM, CRAM or PAF.

    Args:
        command: its name, for messages.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the classes say.
    """
    files, params, options = sample.files, sample.params, sample.options
    outputs = (*files.written, *sample.layout.indexes(options.output))
    run = RunContext(command, options, files.files, outputs, ALIGNMENTS, reference=files.reference)
    warn_of_meth(params, sample.records, run.warn)
    report = run.report
    bases, longest = symbols_in_files(*files.files), longest_read(files.reads[0])
    work = work_of(bases, longest, params, sample.layout.record_form)
    with run.opening(work) as opening, ExitStack() as stack:
        lanes = sample.open_reads(stack)
        index, reads = index_for(sample, lanes, run)
        report.stage("index")
        backend = opening.backend()
        memory = min((device.memory for device in backend.devices), default=0)
        reuse_memory(one_heap=backend.on_gpu)  # batches need buffers of the same sizes
        for device in backend.devices:  # in its thread; an error is raised again at the first batch
            device.call(load_index, device, index)
        lanes.inflate_by(backend.codec)
        report.stage("device")
        unparsed = parsed_by_devices(sample, index)
        factor, slots = 1, tuning.SLOTS
        if backend.on_gpu:
            factor, slots = _device_batches(sample, bases, memory - resident_bytes(index, memory))
        if reads is None:  # else the first ones were read to choose the index
            allocate = pinned_allocator(backend.devices)
            as_text = unparsed and (backend.on_gpu or not backend.local)
            reads = lanes.reads(options.batch_size * factor, as_text, allocate)
        if params.splicing is not None:
            sample = replace(sample, params=with_annotation(files, params, index.reference))
            sample = with_found_introns(sample, index, backend, factor) if files.two_pass else sample
            report.stage("introns")
        library, reads = find_library(index, reads, lanes.paired, params, options.threads, run.warn)
        report.stage("insert sizes")
        run.begin_timeline(MAP_STEPS)
        with run.progress("read") as progress, MapOutputs(sample, lanes, index, backend.codec) as out:
            out.show_writing(run.progress)
            stage = Mapping(out.formatter(library), unparsed).stage(slots)
            with closing(backend.run(reads, stage)) as mapped:  # its threads wait for devices: closed before these
                for written, counts in mapped:
                    out.write(written, counts)
                    progress.update(counts.reads)
            index.check_unchanged()
            report.stage("mapping")
            if backend.on_gpu and not sample.layout.held:
                backend.close()  # while the last records are written
        report.stage("output")
    out.warn_of_reads(run.warn)
    report |= out.report_fields(library)
    devices = report.fields.get("devices", ())
    report |= {"peak_vram_mb": max((device["peak_vram_mb"] for device in devices), default=0)}
    fields = run.finish(out.summary(library))
    if files.report_page is not None:
        write_page(report_page(fields), files.report_page)


def with_annotation(files: MapFiles, params: MapParams, reference: Reference) -> MapParams:
    """The parameters with the introns and genes of ``--junctions``."""
    if files.junctions is None:
        return params
    introns, genes = read_introns(files.junctions, reference)
    if files.counts is not None and genes is None:
        raise UsageError(f"{files.junctions} has introns but no genes, for which reads could be counted")
    exons = None if genes is None or files.counts is None else GeneExons.of(genes, reference, files.junctions)
    return replace(params, annotated_introns=introns, known_sites=introns.sites(reference), gene_exons=exons)


def with_found_introns(sample: Sample, index: MinimizerIndex, backend: Backend, factor: int) -> Sample:
    """The sample with the introns that a first pass over its reads finds."""
    found: tuple[Introns, ...] = ()
    with ExitStack() as stack:
        stage = IntronSearch(RecordFormatter(index, sample, None, False)).stage()
        reads = sample.open_reads(stack).reads(sample.options.batch_size * factor, False)
        with closing(backend.run(reads, stage)) as batches:
            found = reduce(Introns.added, batches, found)
    annotated = sample.params.annotated_introns or Introns.none()
    known = Introns.merged((annotated, Introns.merged(found).supported())).sites(index.reference)
    return replace(sample, params=replace(sample.params, known_sites=known))


def parsed_by_devices(sample: Sample, index: MinimizerIndex) -> bool:
    """Whether the host needs only the reads' lengths, as devices parse, map and format them."""
    on_host = sample.params.long_reads or sample.files.write_reads or sample.records.copy_comments
    return sample.layout.record_form != "paf" and index.alt is None and not on_host


def _device_batches(sample: Sample, bases: float | None, memory: int) -> tuple[int, int]:
    """Factor of the batch size, and batches in flight, for about so many bases and the memory in bytes that the index
    leaves on the devices.
    """
    if not sample.params.long_reads:
        return tuning.batches_of(memory, bases, sample.layout.record_form == "bam")
    if bases is None:
        return tuning.LONG_READ_BATCH, tuning.SLOTS
    parts = round(bases / (tuning.LONG_READ_PARTS * sample.options.batch_size))
    return min(tuning.LONG_READ_BATCH, max(1, parts)), tuning.SLOTS
