"""Joins input, sorter and output for `sort` and `markdup`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from gpualign import _native
from gpualign.errors import InputError, UsageError, counted
from gpualign.markdup.params import Marking, RecordFiles
from gpualign.markdup.record_header import ranked_libraries, record_header
from gpualign.markdup.templates import MarkingPlan, chunk_bytes, peeked, prepared_batches, preparer, said_order
from gpualign.markdup.tuning import LEVEL_OF_SORT, work_of
from gpualign.params import RunOptions
from gpualign.records.alignment_output import AlignmentLayout, HeldRecords, open_held
from gpualign.records.observer import duplicates_summary, observing, warn_of_barcodes
from gpualign.records.record_input import RecordChunk, RecordInput
from gpualign.records.record_sorter import RecordBatch, RecordOrder
from gpualign.records.second_reading import Reopened
from gpualign.run.malloc_tuning import small_pages
from gpualign.run.run_context import RunContext
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import StepNames
from gpualign.text.bgzf import CPU_CODEC, BgzfCodec
from gpualign.text.files import InputFile
from gpualign.text.paths import ALIGNMENTS

#: in the order in which an input meets them
STEPS_OF_RECORDS: StepNames = (
    ("read", "inflate", "copy", "parse", "collate", "mark", "sort", "merge", "deflate", "write"),
    ("copy to device", "inflate", "deflate", "copy from device"),
)


def run_sort(
    files: RecordFiles, options: RunOptions, layout: AlignmentLayout, command_line: str = "gpualign sort"
) -> dict[str, Any]:
    """Write the records of a file in another order; returns the report.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the classes say.
    """
    layout = layout.of(options.output)
    run = RunContext(
        "sort", options, (files.records,), layout.indexes(options.output), ALIGNMENTS, reference=files.reference
    )
    with _damage_of(files.records), records_of(files, options) as source, opened(run, source) as codec:
        header = record_header(source.header, source.contigs, layout.order, command_line)
        if layout.compression_level is None and layout.format == "bam" and codec is CPU_CODEC:
            layout = replace(layout, compression_level=LEVEL_OF_SORT)
        first, chunks = peeked(source.chunks(chunk_bytes(options, layout), templates=False))
        if layout.order == "template-coordinate":
            prefix = ranked_libraries(source.header)
        else:
            prefix = b"" if first is None else _native.shared_name_prefix(first.records())

        def sort(chunk: RecordChunk) -> RecordBatch:
            return RecordBatch.of(chunk.records(), layout.order, templates="none", prefix=prefix, keep=True)

        with open_held(options.output, layout, source.contigs, options.threads, None, codec) as out:
            out.write(layout.header(header, source.contigs))
            count = hold_all(out, run_ordered(chunks, sort, options.threads), run)
        run.report.stage("writing")
    return run.finish(counted(count, "record"), records=count)


def run_markdup(
    files: RecordFiles,
    marking: Marking,
    options: RunOptions,
    order: RecordOrder,
    layout_of: Callable[[RecordOrder], AlignmentLayout],
    command_line: str = "gpualign markdup",
) -> dict[str, Any]:
    """Write the records of a file with duplicates marked; returns the report.

    Args:
        order: of the output.
        layout_of: its form, if it is in an order.

    Raises:
        UsageError, InputError, DeviceError, GpualignError: as the classes say.
    """
    with _damage_of(files.records), records_of(files, options) as source:
        if order == "input" and said_order(source.header) == "coordinate":
            order = "coordinate"
        layout = layout_of(order).of(options.output)
        if files.coverage is not None and not layout.sort:
            raise UsageError("coverage needs records in the order of coordinates (add --sort)")
        written = (*files.written, *layout.indexes(options.output))
        run = RunContext("markdup", options, (files.records,), written, ALIGNMENTS, reference=files.reference)
        lines = source.header
        if marking.read_group is not None:
            lines = [*(line for line in lines if not line.startswith("@RG")), marking.read_group]
        header = record_header(lines, source.contigs, order, command_line)
        of_output = marking.duplicates, files.coverage, files.duplicate_metrics, command_line
        plan = MarkingPlan.of(source, marking, chunk_bytes(options, layout), run.warn)
        numbers = plan.numbers(marking)
        with (
            opened(run, source) as codec,
            observing(*of_output, header, source.contigs, options.threads, numbers) as observer,
            open_held(
                options.output,
                layout,
                source.contigs,
                options.threads,
                observer,
                codec,
                _again(files, source, plan, marking, layout, options, codec),
            ) as out,
        ):
            out.write(layout.header(header, source.contigs))
            count = hold_all(out, prepared_batches(source, plan, marking, observer, layout, options, codec), run)
        run.report.stage("writing")
    warn_of_barcodes(observer.report, run.warn)
    run.report |= observer.report
    return run.finish(counted(count, "record") + duplicates_summary(observer.report), records=count)


def _again(
    files: RecordFiles,
    source: RecordInput,
    plan: MarkingPlan,
    marking: Marking,
    layout: AlignmentLayout,
    options: RunOptions,
    codec: BgzfCodec,
) -> tuple[str, Callable[[], Reopened]] | None:
    """What reads the input a second time, for :func:`open_held`; None: its records must be held."""
    in_order = layout.order in ("input", said_order(source.header))
    if not source.stored_bam or plan.collated(marking) or not in_order:
        return None
    prepare = preparer(plan, marking, layout, None)

    @contextmanager
    def reopened() -> Iterator[tuple[Iterator[RecordChunk], Callable[[RecordChunk], RecordBatch]]]:
        with records_of(files, options) as again:
            again.inflate_by(codec)
            chunks = again.chunks(chunk_bytes(options, layout), templates=True)
            yield chunks, lambda chunk: prepare(chunk.records(), None)[0]

    return files.records, reopened


def hold_all(out: HeldRecords, batches: Generator[RecordBatch, None, None], run: RunContext) -> int:
    """Hand all batches to the output, which writes them when it ends; returns the number of records."""
    count, out.progress = 0, run.progress
    with closing(batches), run.progress("record") as progress:
        for batch in batches:
            out.add(batch)
            count += batch.size
            progress.update(batch.size)
    run.report.stage("reading")
    return count


@contextmanager
def _damage_of(path: str) -> Iterator[None]:
    """Says which file has a record that native code cannot read.

    Raises:
        InputError: there is one.
    """
    try:
        yield
    except ValueError as error:
        if not str(error).startswith(("a BAM record", "record '")):
            raise
        raise InputError(str(error) if str(error)[0] == "r" else f"is damaged: {error}", path) from error


def records_of(files: RecordFiles, options: RunOptions) -> RecordInput:
    return RecordInput(InputFile(files.records, options.threads), files.reference, options.threads)


@contextmanager
def opened(run: RunContext, source: RecordInput) -> Iterator[BgzfCodec]:
    """What inflates and deflates next to the CPU."""
    with run.opening(work_of(source.path)) as opening:
        codec = opening.backend().codec
        run.report.stage("device")
        pages = small_pages() if codec is CPU_CODEC else nullcontext()  # a GPU's pinned memory has huge pages
        with pages, codec.alone():
            source.inflate_by(codec)
            run.begin_timeline(STEPS_OF_RECORDS)
            yield codec
