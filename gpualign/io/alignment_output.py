"""Where `map` writes: SAM text and BAM records to files, or through samtools as CRAM or in order of coordinates."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import IO

from gpualign.ending import undone_at_the_end
from gpualign.errors import GpualignError, UsageError
from gpualign.io.files import OutputFile, Sink, is_packed, is_special, open_output
from gpualign.io.ordered_writer import part_writer
from gpualign.sequences.reference import Reference

FORMATS = ("sam", "bam", "cram", "paf")
#: bases above which a .bai cannot index a contig (SAM specification, section 5.1.1)
_LONGEST_IN_BAI = 1 << 29
_COPY_BYTES = 1 << 20
#: batches' records that may wait to be written
_TEXTS = 4
_LETTERS_AT_ONCE = 1 << 24


@dataclass(frozen=True)
class AlignmentLayout:
    """The form of the output.

    Attributes:
        format: one of :data:`FORMATS`; None: by the output's extension, SAM where that says nothing.
        sort: by coordinate.
        sort_memory: bytes of records held for sorting; more go to temporary files next to the output.
        write_index: a .bai, .csi or .crai next to the output.
    """

    format: str | None = None
    sort: bool = False
    sort_memory: int = 1 << 30
    write_index: bool = False

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise UsageError(f"output format must be one of {', '.join(FORMATS)}, not {self.format!r}")
        if self.write_index and not self.sort:
            raise UsageError("an index wants the order of coordinates (add --sort)")
        if self.sort_memory < 1 << 20:
            raise UsageError(f"memory for sorting must be at least 1M, not {self.sort_memory}")

    def of(self, path: str | None) -> AlignmentLayout:
        """This layout with its format decided for an output path, None or "-" for standard output.

        Raises:
            UsageError: an index of an output that cannot have one, or a name that says another form.
        """
        named = _format_of(path or "")
        layout = replace(self, format=self.format or named or "sam")
        if named is not None and layout.format != named:
            raise UsageError(f"{path} would not be what its name says: {layout.format} is asked for")
        if is_packed(path) and layout.format in ("bam", "cram"):
            raise UsageError(f"{layout.format.upper()} is compressed as it is (leave .gz out)")
        if layout.sort and layout.format == "paf":
            raise UsageError("PAF is not sorted (leave out --sort, or sort -k6,6 -k8,8n)")
        if layout.write_index and layout.format == "sam":
            raise UsageError("only BAM and CRAM have an index (write to a .bam or .cram file)")
        if layout.write_index and not _is_file(path):
            raise UsageError("an index wants an output file (give -o)")
        return layout

    @property
    def records(self) -> str:
        """How records are handed over: "paf" or "sam", lines of text, or "bam", their binary form."""
        return "bam" if self.sort or self.format == "cram" else str(self.format)


def _format_of(path: str) -> str | None:
    """What the name's extension says, after which one of compression may stand."""
    stem = os.path.splitext(path)[0] if is_packed(path) else path
    extension = os.path.splitext(stem)[1][1:].lower().replace("ubam", "bam")
    return extension if extension in FORMATS else None


def _is_file(path: str | None) -> bool:
    """Whether an output is a regular file: not standard output, a device or a named pipe."""
    return path is not None and path != "-" and not is_special(path)


@contextlib.contextmanager
def open_alignments(path: str | None, layout: AlignmentLayout, reference: Reference, threads: int) -> Iterator[Sink]:
    """Open ``path`` for a header and records in the form ``layout.records``; whole or absent.

    Args:
        layout: with its format decided (:meth:`AlignmentLayout.of`).
        threads: that compress; they do not change the output.

    Raises:
        GpualignError: as :func:`open_output`; samtools failed.
    """
    with ExitStack() as stack:
        out = stack.enter_context(open_output(path, threads))
        if layout.records != "bam":
            yield stack.enter_context(part_writer(out.write, _TEXTS, beside=_is_file(path)))
            return
        if layout.format == "bam" and not layout.sort:
            from gpualign.io.bgzf import bgzf_writer

            yield stack.enter_context(bgzf_writer(out.write, threads, beside=_is_file(path)))
            return
        from gpualign.io.samtools import run_samtools

        folder = stack.enter_context(_private_folder(path))
        if layout.format == "cram":
            _write_reference(reference, folder)
        drain = partial(_compressed if layout.format == "bam" else _as_it_is, out, threads)
        yield stack.enter_context(run_samtools(_samtools_arguments(layout, threads), drain, folder))
    # no earlier: an index that is older than its file is taken for stale
    if layout.write_index and path is not None:
        _write_index(path, layout, reference, threads)


def _samtools_arguments(layout: AlignmentLayout, threads: int) -> list[str]:
    """The command that turns our records into ``layout``, without @PG lines of its own."""
    if layout.format == "cram":
        threads = 0  # with more, htslib's trials of how to compress depend on which thread is first
    command = ["view"]
    if layout.sort:
        # -m is for each thread; without -T it would name temporary files after the output, "-"
        command = ["sort", "-m", str(max(1 << 20, layout.sort_memory // max(1, threads))), "-T", "sort"]
    # what it sorts is compressed by us (gpualign/io/bgzf.py); CRAM 3.1 is not yet read by all (Picard 2)
    form = {"sam": ["-O", "sam"], "bam": ["-u"], "cram": ["-O", "cram,version=3.0"]}[str(layout.format)]
    return [*command, "--no-PG", "-@", str(threads), *form, "-o", "-", "-"]


def _compressed(out: OutputFile, threads: int, stream: IO[bytes]) -> None:
    from gpualign.io.bgzf import compress_blocks

    compress_blocks(stream, out.write, threads)


def _as_it_is(out: OutputFile, threads: int, stream: IO[bytes]) -> None:
    while data := stream.read(_COPY_BYTES):
        out.write(data)


@contextlib.contextmanager
def _private_folder(path: str | None) -> Iterator[str]:
    """A folder for temporary files next to the output, where there is space for it; removed at the end."""
    beside = os.path.dirname(os.path.realpath(str(path))) if _is_file(path) else tempfile.gettempdir()
    # named before it exists, so that no interrupt can fall between its making and our knowing what to remove
    folder = os.path.join(beside, f".gpualign.{os.urandom(8).hex()}.tmp")
    try:
        try:
            os.mkdir(folder, 0o700)
        except OSError as error:
            raise GpualignError(f"cannot make a folder for temporary files: {error.strerror}") from error
        with undone_at_the_end(lambda: shutil.rmtree(folder)):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _digests(reference: Reference) -> list[str]:
    """MD5 of every contig's upper-case letters, by which the readers of a CRAM file know its reference."""
    digests = []
    for parts in _contigs(reference):
        state = hashlib.md5(usedforsecurity=False)
        for letters in parts:
            state.update(letters)
        digests.append(state.hexdigest())
    return digests


def sequence_tags(reference: Reference, path: str) -> list[str]:
    """What @SQ lines of a CRAM file say besides name and length: M5, and where the reference is if ``path`` is a FASTA
    file that readers can use."""
    place = ""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        if file.read(1) == b">":
            place = f"\tUR:{os.path.abspath(path)}"
    return [f"\tM5:{digest}{place}" for digest in _digests(reference)]


def _write_reference(reference: Reference, folder: str) -> None:
    """The reference as htslib looks it up: a file of letters for each contig, named by their MD5.

    The reference itself may be in any format that we read; htslib would want a FASTA with an index next to it.
    """
    try:
        for digest, parts in zip(_digests(reference), _contigs(reference), strict=True):
            with open(os.path.join(folder, digest), "wb") as file:
                file.writelines(parts)
    except OSError as error:
        raise GpualignError(f"cannot keep the reference in {folder}: {error.strerror}") from error


def _contigs(reference: Reference) -> Iterator[Iterator[bytes]]:
    for begin, end in pairwise(reference.contig_offsets.tolist()):
        yield (reference.letters(at, min(end, at + _LETTERS_AT_ONCE)) for at in range(begin, end, _LETTERS_AT_ONCE))


def _write_index(path: str, layout: AlignmentLayout, reference: Reference, threads: int) -> None:
    import pysam.samtools
    from pysam.utils import SamtoolsError

    if layout.format == "cram":
        extension, kind = ".crai", []
    elif reference.lengths.max() < _LONGEST_IN_BAI:
        extension, kind = ".bai", ["-b"]
    else:
        extension, kind = ".csi", ["-c"]
    with _private_folder(path) as folder:
        temporary = os.path.join(folder, "index" + extension)
        try:
            pysam.samtools.index(*kind, "-@", str(threads - 1), path, temporary)
            os.replace(temporary, path + extension)
        except (SamtoolsError, OSError) as error:
            raise GpualignError(f"cannot write {path}{extension}: {error}") from error
