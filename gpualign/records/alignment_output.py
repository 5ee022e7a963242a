"""Where alignments go: SAM text and BAM records to files, or through samtools as CRAM; at once, or when all records are
known, sorted and with duplicates marked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.checks import set_whole_numbers
from gpualign.errors import GpualignError, UsageError
from gpualign.fields import parameter
from gpualign.records.bam_index import BamIndex
from gpualign.records.contigs import Contigs
from gpualign.records.cram import CramIndex, cram_writer
from gpualign.records.observer import RecordObserver
from gpualign.records.record_sorter import RecordBatch, RecordOrder, Records, RecordSorter, usual_memory
from gpualign.records.sam_header import bam_header
from gpualign.records.second_reading import Reopened, SecondReading
from gpualign.report import Progress
from gpualign.text import tuning
from gpualign.text.bgzf import CPU_CODEC, BgzfCodec, BgzfWriter, CutBlocks, bgzf_writer
from gpualign.text.files import os_reason
from gpualign.text.ordered_writer import part_writer
from gpualign.text.output_file import Sink, open_output
from gpualign.text.paths import is_file, is_packed, temporary_folder

Value = TypeVar("Value")


class HeldRecords:
    """A header and held records.

    Args:
        sorter: holds the records, or what reads them again.
        observer: None: there is none.

    Attributes:
        progress: opens what shows how many of so many bytes are written; None: nothing does.
    """

    progress: Callable[[str, int], Progress] | None = None

    def __init__(self, sorter: RecordSorter | SecondReading, observer: RecordObserver | None) -> None:
        self._sorter, self._observer = sorter, observer
        self.header = b""

    @property
    def content(self) -> int:
        """Bytes of all records so far."""
        return self._sorter.content

    def write(self, header: bytes | memoryview) -> None:
        """Append to the header, in the form of the output."""
        self.header += header

    def add(self, batch: RecordBatch) -> None:
        """Add the next records, in input order.

        Raises:
            GpualignError: as :meth:`RecordSorter.add`.
        """
        self._sorter.add(batch)
        if self._observer is not None:
            self._observer.add(batch)

    def written(self, form: Callable[[Records, int], Value]) -> Iterator[Value]:
        """``form`` of all records in output order (see :meth:`RecordSorter.merged`)."""
        observer = self._observer

        def formed(records: Records, before: int) -> tuple[int, Any, Value]:
            return len(records), None if observer is None else observer.measure(records), form(records, before)

        with contextlib.ExitStack() as stack:
            shown = None if self.progress is None else stack.enter_context(self.progress("bytes written", self.content))
            for nbytes, measured, value in self._sorter.merged(formed, None if observer is None else observer.marks()):
                if observer is not None:
                    observer.count(measured)
                yield value
                if shown is not None:
                    shown.update(nbytes)


FORMATS = ("sam", "bam", "cram", "paf")
#: of BAM records, about
_BYTES_PER_BASE = 2
#: extensions of indexes
_INDEXES = {"bam": (".bai", ".csi"), "cram": (".crai",)}

_sorting, _output = partial(parameter, under="Sorting and coverage"), partial(parameter, under="Output")


@dataclass(frozen=True)
class AlignmentLayout:
    """The form of the output.

    Attributes:
        format: one of :data:`FORMATS`; None: by the output's extension, SAM where that says nothing.
        order: of the records; in any order but the input's they are held until all are known.
        hold: records are written when all of them are known, sorted or not, so that duplicates can be marked.
    """

    format: str | None = None
    order: RecordOrder = "input"
    sort_memory: int | None = _sorting(
        None,
        "--sort-memory",
        "Memory for sorting and marking; beyond it records go to temporary files.  [default: 1G per thread, at most a "
        "quarter of the free memory]",
        unit="bytes",
    )
    write_index: bool = _sorting(
        False, "--write-index", "Write .bai, .csi or .crai next to an output that is sorted by coordinate."
    )
    compression_level: int | None = _output(
        None,
        "--compression-level",
        "Compression of BAM and CRAM, from 0 (none) to 9 (slowest); 6 makes BAM as small as samtools does.  [default: "
        "1 for BAM; 6 for BAM of sort, unless a GPU compresses; htslib's for CRAM]",
    )
    hold: bool = False
    tmp_dir: str | None = _sorting(
        None, "--tmp-dir", "Folder for temporary files.  [default: TMPDIR, else the output's folder]", metavar="DIR"
    )

    def __post_init__(self) -> None:
        set_whole_numbers(self)
        if self.format is not None and self.format not in FORMATS:
            raise UsageError(f"output format must be one of {', '.join(FORMATS)}, not {self.format!r}")
        if self.write_index and not self.sort:
            how = "add --sort" if self.order == "input" else "not by name"
            raise UsageError(f"an index needs records in the order of coordinates ({how})")
        if self.compression_level is not None and not 0 <= self.compression_level <= 9:
            raise UsageError(f"compression level must be from 0 to 9, not {self.compression_level}")
        if self.tmp_dir is not None:
            object.__setattr__(self, "tmp_dir", os.fspath(self.tmp_dir))
        if self.tmp_dir is not None and not os.path.isdir(self.tmp_dir):
            raise UsageError(f"there is no folder {self.tmp_dir} for temporary files")
        if self.sort_memory is not None and self.sort_memory < 1 << 20:
            raise UsageError(f"memory for sorting must be at least 1M, not {self.sort_memory}")

    def of(self, path: str | None) -> AlignmentLayout:
        """This layout with the format for an output path; None and "-" are standard output.

        Raises:
            UsageError: the output cannot have an index, or its name contradicts the format.
        """
        named = _format_of(path or "")
        layout = replace(self, format=self.format or named or "sam")
        if named is not None and layout.format != named:
            raise UsageError(f"{path} is named as {named.upper()}, but the output format is {layout.format}")
        if is_packed(path) and layout.format in ("bam", "cram"):
            raise UsageError(f"{layout.format.upper()} is already compressed (leave .gz out)")
        if layout.sort_memory is not None and not layout.held:
            raise UsageError("memory for sorting needs sorting or marking (add --sort or --mark-duplicates)")
        if layout.compression_level is not None and layout.format not in ("bam", "cram"):
            raise UsageError("only BAM and CRAM have a compression level (write to a .bam or .cram file)")
        if layout.sort and layout.format == "paf":
            raise UsageError("PAF is not sorted (leave out --sort, or sort -k6,6 -k8,8n)")
        if layout.hold and layout.format == "paf":
            raise UsageError("PAF has no flags for duplicates (write SAM, BAM or CRAM)")
        if layout.write_index and layout.format == "sam":
            raise UsageError("only BAM and CRAM have an index (write to a .bam or .cram file)")
        if layout.write_index and not is_file(path):
            raise UsageError("an index needs an output file (give -o)")
        return layout

    def indexes(self, path: str | None) -> tuple[str, ...]:
        """Paths that the index of the output ``path`` may have; the contigs' lengths decide which one is written."""
        return tuple(f"{path}{ending}" for ending in _INDEXES[str(self.format)]) if self.write_index else ()

    @property
    def sort(self) -> bool:
        """Whether the records are written by coordinate."""
        return self.order == "coordinate"

    @property
    def held(self) -> bool:
        """Whether records are handed over sorted, batch by batch (:class:`RecordBatch`)."""
        return self.order != "input" or self.hold

    @property
    def deflates_batches(self) -> bool:
        """Whether each batch's records may be compressed to BGZF blocks of their own."""
        return self.format == "bam" and not self.held and self.bgzf_level is None

    @property
    def bgzf_level(self) -> int | None:
        """The level for :func:`bgzf_writer`; levels 1 and 2 are its fast default."""
        return None if self.compression_level in (1, 2) else self.compression_level

    @property
    def record_form(self) -> str:
        """The form in which records are passed on: "paf" and "sam" are lines of text, "bam" is binary."""
        return "bam" if self.held else self.output_form

    @property
    def output_form(self) -> str:
        """The form of header and records in the output: "paf", "sam" or "bam", which samtools converts to CRAM."""
        return "bam" if self.format == "cram" else str(self.format)

    def header(self, text: bytes, contigs: Contigs) -> bytes:
        """A SAM header in that form."""
        return bam_header(text, contigs) if self.output_form == "bam" else text


def _format_of(path: str) -> str | None:
    """The format of a name's extension, which one of compression may follow."""
    stem = os.path.splitext(path)[0] if is_packed(path) else path
    extension = os.path.splitext(stem)[1][1:].lower().replace("ubam", "bam")
    return extension if extension in FORMATS else None


@contextlib.contextmanager
def open_alignments(
    path: str | None,
    layout: AlignmentLayout,
    contigs: Contigs,
    threads: int,
    observer: RecordObserver | None = None,
    codec: BgzfCodec = CPU_CODEC,
    again: tuple[str, Callable[[], Reopened]] | None = None,
) -> Iterator[Sink | HeldRecords]:
    """Open ``path`` for a header in the form ``layout.output_form`` and records in the form ``layout.record_form``, or
    batches of them if they are held. The file is whole or absent.

    Args:
        layout: with its format decided (:meth:`AlignmentLayout.of`).
        contigs: of the records; a :class:`Reference` for CRAM, or what names one.
        threads: that sort and compress; they do not change the output.
        observer: of held records.
        codec: of their temporary files and of BAM.
        again: the path of an input whose batches seem to be in the order of the output, and what opens it again: they
            are then not held (:class:`SecondReading`).

    Raises:
        GpualignError: as :func:`open_output`; samtools failed, or a temporary file.
    """
    crai = CramIndex() if layout.write_index and layout.format == "cram" else None
    with open_output(path, threads) as out:
        index = BamIndex(contigs.lengths, out.write) if layout.write_index and layout.format == "bam" else None
        write: Callable[[bytes | memoryview], object] = out.write if index is None else index.write
        if not layout.held:
            with _writer(write, path, layout, contigs, threads) as sink:
                yield sink
        else:
            memory = layout.sort_memory or usual_memory(threads)
            folder = temporary_folder(path, layout.tmp_dir)
            with RecordSorter(folder, memory, threads, layout.order, codec) as sorter:
                held = HeldRecords(
                    sorter if again is None else SecondReading(*again, sorter, layout.order, threads), observer
                )
                yield held
                thin = layout.sort and held.content < _BYTES_PER_BASE * int(contigs.lengths.sum())
                with _writer(write, path, layout, contigs, threads, crai, thin) as sink:
                    sink.write(held.header)
                    if isinstance(sink, BgzfWriter):
                        _write_bam(held, sink, index, layout.bgzf_level, codec)
                    else:
                        _write_as(held, sink, layout, contigs)
    for made in (index, crai):
        if path is not None and made is not None:  # written last: readers take an index older than its file for stale
            _remove_former_indexes(path, _INDEXES[str(layout.format)], made.save(path))


@contextlib.contextmanager
def open_held(*arguments: Any) -> Iterator[HeldRecords]:
    """Open an output of records that are held, to be sorted or marked; arguments: see :func:`open_alignments`."""
    with open_alignments(*arguments) as held:
        assert isinstance(held, HeldRecords)
        yield held


def _remove_former_indexes(path: str, endings: Sequence[str], kept: str) -> None:
    """Remove an earlier run's indexes that readers may prefer: of the other kind, or x.bai instead of x.bam.bai.

    Raises:
        GpualignError: one cannot be removed.
    """
    for former in (stem + ending for stem in (path, os.path.splitext(path)[0]) for ending in endings):
        try:
            with contextlib.suppress(FileNotFoundError):
                if former != kept:
                    os.unlink(former)
        except OSError as error:
            raise GpualignError(f"cannot remove the former index {former}: {os_reason(error)}") from error


def _writer(
    write: Callable[[bytes | memoryview], object],
    path: str | None,
    layout: AlignmentLayout,
    contigs: Contigs,
    threads: int,
    crai: CramIndex | None = None,
    thin: bool = False,
) -> AbstractContextManager[Sink]:
    """Open the sink for the output's header and records."""
    if layout.format == "cram":
        return cram_writer(write, path, contigs, crai, layout.compression_level, thin)
    if layout.format == "bam":
        return bgzf_writer(write, threads, is_file(path), layout.bgzf_level)
    return part_writer(write, tuning.QUEUED_BATCHES, in_thread=threads > 1 and is_file(path))


def _write_bam(
    held: HeldRecords, sink: BgzfWriter, index: BamIndex | None, level: int | None, codec: BgzfCodec
) -> None:
    """Write the records after the header; the threads that merge them also compress and index them."""
    header = len(held.header)
    if index is not None:
        index.start(header)

    def form(records: Records, before: int) -> tuple[CutBlocks, NDArray[np.uint64] | None]:
        return CutBlocks.of(records, header + before, level, codec), None if index is None else index.spans(records)

    with codec.alone():
        for cut, spans in held.written(form):
            if index is not None and spans is not None:
                index.add(spans)
            sink.write_cut(cut)


def _write_as(held: HeldRecords, sink: Sink, layout: AlignmentLayout, contigs: Contigs) -> None:
    """Write the records after the header, as lines of SAM or as BAM for samtools."""
    names, binary = contigs.shown_name_bytes, layout.output_form == "bam"
    for text in held.written(lambda records, _: records.copy() if binary else _native.sam_lines(records, *names)):
        if len(text):
            sink.write(text.data)
