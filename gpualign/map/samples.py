"""`map --samples`: many samples with one index and one start of the devices.

A sample is an item of a stage. Small ones are mapped in parallel, each in one thread, and share the devices; a large
one gets all threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any

from gpualign.errors import DeviceError, GpualignError, OutOfMemoryError, UsageError, counted
from gpualign.map import tuning
from gpualign.map.alignments import Alignments
from gpualign.map.device.kernel import map_and_text_kernel
from gpualign.map.device.text import MapAndTextKernel
from gpualign.map.finished import FinishedSamples
from gpualign.map.index import apply_index_options
from gpualign.map.inputs import ENDINGS, MapFiles, RecordOptions, Sample
from gpualign.map.library import find_library
from gpualign.map.meth import warn_of_meth
from gpualign.map.outputs import MapOutputs
from gpualign.map.params import MapParams
from gpualign.map.report_page import write_page
from gpualign.map.run import with_annotation
from gpualign.map.samples_page import samples_page, totals
from gpualign.map.sheet import SheetSample, read_sheet
from gpualign.map.stage import Mapped, Mapping, map_batch_on_device
from gpualign.map.statistics import MAP_STEPS
from gpualign.map.tuning import SLOTS, work_of
from gpualign.params import RunOptions
from gpualign.reads.reads import Reads
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.report import print_line
from gpualign.run.gpu.device import Device
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import RunContext
from gpualign.run.stage import Backend, Run, Stage
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.seeds.index.run import open_index
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import Span
from gpualign.text.bgzf import CPU_CODEC, BgzfCodec
from gpualign.text.files import os_reason
from gpualign.text.sizes import longest_read, symbols_in_files


@dataclass(frozen=True)
class SampleSheet:
    """Input of `map --samples`.

    Attributes:
        path: path of the table.
        files: the reference, and options of reads; without reads of its own. Its ``ENDINGS`` are added to the name of
            each output without its extension.
        folder: folder of outputs that the table does not name; None: the current one.
        resume: folder of checkpoints, or None.
    """

    path: str
    files: MapFiles
    folder: str | None = None
    resume: str | None = None


@dataclass(frozen=True)
class SampleJob:
    """A sample, with its name in the table."""

    name: str
    sample: Sample

    @property
    def output(self) -> str:
        return str(self.sample.options.output)

    @property
    def files(self) -> list[str]:
        """Its files of reads that exist."""
        return list(filter(os.path.isfile, self.sample.files.files))

    @property
    def bases(self) -> float:
        """Estimated number of bases."""
        return symbols_in_files(*self.files) or 0.0


@dataclass(frozen=True)
class JobResult:
    """The result of a sample.

    Attributes:
        fields: fields of its report; if it failed, with ``error`` and ``exit_code``.
    """

    fields: dict[str, Any]
    warnings: tuple[str, ...] = ()


class SamplesFailed(GpualignError):
    """Some samples failed; the exit code is theirs, 1 if they differ."""

    def __init__(self, failed: Sequence[dict[str, Any]], count: int) -> None:
        names = ", ".join(fields["sample"] for fields in failed[:5]) + (", …" if len(failed) > 5 else "")
        super().__init__(f"{len(failed):,} of {counted(count, 'sample')} failed: {names}")
        codes = {fields["exit_code"] for fields in failed}
        self.exit_code = codes.pop() if len(codes) == 1 else 1


def run_samples(
    sheet: SampleSheet, params: MapParams, options: RunOptions, layout: AlignmentLayout, records: RecordOptions
) -> None:
    """Map the samples of a table; each output equals that of a separate run.

    Raises:
        SamplesFailed: some samples failed; the outputs of the others are whole.
        UsageError, InputError, DeviceError, GpualignError: as the classes say.
    """
    if params.seeding.full:
        raise UsageError("--sensitivity full chooses an index for the reads: map samples one by one")
    files = sheet.files
    options = replace(options, output=None)
    run = RunContext("map", options, (sheet.path,), (files.save_index, files.report_page), reference=files.reference)
    run.outputs[0] = sheet.folder or "."
    warn_of_meth(params, records, run.warn)
    rows, unused = read_sheet(sheet.path)
    if unused:
        run.warn(f"{sheet.path}: unknown columns: {', '.join(unused)}")
    jobs = _jobs(rows, sheet, params, options, layout, records)
    finished = FinishedSamples(sheet.resume, files.reference)
    results = {job.name: fields for job in jobs if (fields := finished.load(job.name, job.sample)) is not None}
    missing = [job for job in jobs if job.name not in results]
    written = missing[0].sample.layout.record_form if missing else "paf"
    sample_files = [file for job in missing for file in job.files] or [sheet.path]
    work = work_of(symbols_in_files(*sample_files), longest_read(sample_files[0]), params, written)
    with run.opening(work) as opening, run.progress("sample", len(jobs)) as progress:
        progress.update(len(results))
        seeds = (params.seeding.k, params.seeding.w)
        meth = params.meth is not None
        index = open_index(files.reference, *seeds, options.threads, shared=files.preload, meth=meth)
        index = apply_index_options(files, index, run.warn)
        params = with_annotation(files, params, index.reference)
        missing = [replace(job, sample=replace(job.sample, params=params)) for job in missing]
        run.report.stage("index")
        backend = opening.backend()
        run.report.stage("device")
        run.begin_timeline(MAP_STEPS)
        with closing(_map_all(missing, index, params, options, backend)) as mapped:
            for job, result in mapped:
                results[job.name] = result.fields
                _tell(job.name, result, run)
                if "error" not in result.fields:
                    finished.save(job.name, job.sample, result.fields)
                progress.update(1)
        run.report.stage("mapping")
    _finish(run, [results[job.name] for job in jobs], len(jobs) - len(missing), files.report_page)


def _finish(run: RunContext, samples: list[dict[str, Any]], skipped: int, page_path: str | None) -> None:
    failed = [fields for fields in samples if "error" in fields]
    whole = totals(samples)
    mapped = f"{counted(whole['reads'], 'read')}, {whole['mapped']:,} mapped"
    summary = f"{counted(len(samples) - len(failed), 'sample')}, {mapped}"
    if skipped:
        summary += f", {counted(skipped, 'sample')} finished before"
    fields = run.finish(summary, **whole, failed=len(failed), finished_before=skipped, samples=samples)
    if page_path is not None:
        write_page(samples_page(fields), page_path)
    if failed:
        raise SamplesFailed(failed, len(samples))


def _tell(name: str, result: JobResult, run: RunContext) -> None:
    for warning in result.warnings:
        run.warn(f"sample '{name}': {warning}")
    if "error" in result.fields:
        print_line(run.command, f"error: sample '{name}': {result.fields['error']}")


def _jobs(
    rows: list[SheetSample],
    sheet: SampleSheet,
    params: MapParams,
    options: RunOptions,
    layout: AlignmentLayout,
    records: RecordOptions,
) -> list[SampleJob]:
    """The samples' jobs; raises UsageError if an output is an input or another output."""
    if sheet.folder is not None:
        try:
            os.makedirs(sheet.folder, exist_ok=True)
        except OSError as error:
            raise GpualignError(f"cannot make the folder {sheet.folder}: {os_reason(error)}") from error
    # workers of a cluster may be anywhere
    full = os.path.abspath if options.dask is not None else str
    jobs = []
    for row in rows:
        output = full(row.output or os.path.join(sheet.folder or "", f"{row.name}.{layout.format or 'bam'}"))
        stem = os.path.splitext(output)[0]
        endings = {field: getattr(sheet.files, field) for field in ENDINGS}
        jobs.append(
            SampleJob(
                row.name,
                Sample(
                    replace(
                        sheet.files,
                        reads=tuple(map(full, row.reads)),
                        mates=tuple(map(full, row.mates)),
                        interleaved=sheet.files.interleaved and not row.mates,
                        save_index=None,
                        report_page=None,
                        **{field: ending and stem + ending for field, ending in endings.items()},
                    ),
                    params,
                    replace(
                        records,
                        read_group=row.read_groups[0] if len(row.read_groups) == 1 else None,
                        lane_groups=row.read_groups if len(row.read_groups) > 1 else (),
                    ),
                    layout.of(output),
                    replace(options, output=output, json=None, dask=None),
                ),
            )
        )
    _check_outputs(jobs, sheet)
    return jobs


def _check_outputs(jobs: list[SampleJob], sheet: SampleSheet) -> None:
    """Check outputs like ``check_paths``, in linear time for thousands of files."""
    inputs = {_identity(path) for path in (sheet.path, sheet.files.reference)}
    inputs.update(_identity(path) for job in jobs for path in job.sample.files.files)
    taken: dict[Any, str] = {}
    for job in jobs:
        for path in (job.output, *filter(None, job.sample.files.written)):
            identity = _identity(path)
            if identity in inputs:
                raise UsageError(f"the output {path} is also an input")
            if taken.setdefault(identity, job.name) != job.name:
                raise UsageError(f"two outputs are named {path}: of samples '{taken[identity]}' and '{job.name}'")


def _identity(path: str) -> Any:
    """A key that is equal for all paths of one file."""
    try:
        status = os.stat(path)
        return status.st_dev, status.st_ino
    except OSError:
        return os.path.realpath(path)


def _map_all(
    jobs: list[SampleJob], index: MinimizerIndex, params: MapParams, options: RunOptions, backend: Backend
) -> Generator[tuple[SampleJob, JobResult], None, None]:
    reuse_memory(one_heap=backend.on_gpu)
    mapper = SampleMapper(index, params, options.batch_size * (tuning.DEVICE_BATCH if backend.on_gpu else 1))
    sizes = [job.bases for job in jobs]
    # a worker of a cluster takes whole samples
    minimum = max(
        tuning.SMALL_SAMPLE_BATCHES * options.batch_size, tuning.LARGE_SAMPLE_SHARE * sum(sizes) / options.threads
    )
    small = [job for job, size in zip(jobs, sizes, strict=True) if size <= minimum or options.dask is not None]
    in_one_thread = [
        replace(job, sample=replace(job.sample, options=replace(job.sample.options, threads=1))) for job in small
    ]
    with closing(backend.run(in_one_thread, mapper.stage)) as results:
        yield from zip(small, results, strict=True)
    small_names = {job.name for job in small}
    for job in jobs:
        if job.name not in small_names:
            yield job, mapper.map(job, lambda items, mapping: backend.run(items, mapping.stage()), codec=backend.codec)


class SampleMapper:
    """Maps whole samples; pickles with the index.

    Args:
        batch_bases: bases per batch.
    """

    def __init__(self, index: MinimizerIndex, params: MapParams, batch_bases: int) -> None:
        self.index, self.params, self.batch_bases = index, params, batch_bases

    @property
    def stage(self) -> Stage[SampleJob, JobResult]:
        """A stage whose items are samples: a thread runs a whole sample, and devices its batches."""
        return Stage(self.on_cpu, self.make_kernel, self.on_device, slots=SLOTS)

    def on_cpu(self, job: SampleJob) -> JobResult:
        """Map a sample in this thread."""
        return self.map(job, lambda items, mapping: (mapping.on_cpu(item) for item in items))

    def on_device(self, job: SampleJob, run: Run) -> JobResult:
        """Map a sample in this thread, with batches mapped and formatted on a device."""

        def map_alone(batch: SequenceBatch) -> Alignments:
            return map_batch_on_device(self.index, batch, self.params, None, run)[0]

        return self.map(job, lambda items, mapping: (mapping.on_device(item, run) for item in items), map_alone)

    def make_kernel(self, device: Device) -> MapAndTextKernel:
        return map_and_text_kernel(device, self.index, self.params, None)

    def map(
        self,
        job: SampleJob,
        compute: Callable[[Iterator[Reads], Mapping], Generator[Mapped, None, None]],
        map_alone: Callable[[SequenceBatch], Alignments] | None = None,
        codec: BgzfCodec = CPU_CODEC,
    ) -> JobResult:
        """Map a sample. Errors of the sample become its result; errors of the machine are raised."""
        span = Span()
        sample = job.sample
        warnings: list[str] = []
        fields = {"sample": job.name, "output": job.output}
        try:
            with ExitStack() as stack:
                lanes = sample.open_reads(stack)
                lanes.inflate_by(codec)
                reads, threads = lanes.reads(self.batch_bases), sample.options.threads
                library, items = find_library(
                    self.index, reads, lanes.paired, self.params, threads, warnings.append, map_alone
                )
                with MapOutputs(sample, lanes, self.index, codec) as out:
                    with closing(compute(items, Mapping(out.formatter(library)))) as mapped:
                        for written, counts in mapped:
                            out.write(written, counts)
                    self.index.check_unchanged()
        except (DeviceError, OutOfMemoryError):
            raise
        except GpualignError as error:
            return JobResult(fields | {"error": str(error), "exit_code": error.exit_code})
        out.warn_of_reads(warnings.append)
        seconds = {"wall_s": round(span.wall_s, 3)}
        return JobResult(out.report_fields(library) | fields | seconds, tuple(warnings))
