"""Trimmed reads as FASTQ, FASTA, SAM or BAM, in one file, two, or one for each barcode."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.params import RunOptions
from gpualign.reads.reads import HeaderLines, ReadSource
from gpualign.records.sam_header import bam_header, dropped_tags, sam_header
from gpualign.search.output import check_split, made_folder
from gpualign.search.params import SearchFiles
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.offsets import offsets_of, positions_of
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import STEPS
from gpualign.text.bgzf import BGZF_END
from gpualign.text.deflate_packages import isal
from gpualign.text.output_file import OutputFile, open_output
from gpualign.text.paths import is_packed
from gpualign.text.table import Column, constant, format_rows, integers, texts, texts_or_star

_UNASSIGNED = "unassigned"
#: flags of unmapped records: a single read, R1, R2
_SINGLE, _MATES = 4, (77, 141)


@dataclass(frozen=True)
class Form:
    """What is written.

    Attributes:
        kind: "fastx", "sam" or "bam".
        packed: as BGZF.
        mates_apart: R1 and R2 in two files; else mates are next to each other.
        tagged: comments of the reads are tags.
    """

    kind: str
    packed: bool
    mates_apart: bool
    tagged: bool


@dataclass(frozen=True)
class Written:
    """The bytes of a batch's reads. Attributes: ``parts``: by barcode (-1: all in one file) and mate; ``extension``: of
    their files.
    """

    parts: dict[tuple[int, int], bytes | memoryview]
    extension: str


def form_of(output: str | None, files: SearchFiles, sources: Sequence[ReadSource], mates_apart: bool) -> Form:
    """By the output's name, with --split by the input."""
    records = sources[0].header is not None
    extension = os.path.splitext((output or "").lower())[1]
    kind = {".bam": "bam", ".ubam": "bam", ".sam": "sam"}.get(extension, "fastx")
    packed = kind == "bam" or is_packed(output)
    if files.split is not None:
        kind = "bam" if records else "fastx"
        packed = records or is_packed(files.targets[0])
    return Form(kind, packed, mates_apart and kind == "fastx", records)


@STEPS.at("format")
def formatted(
    form: Form,
    sides: list[SequenceBatch],
    wanted: NDArray[np.bool_],
    barcode: NDArray[np.int64],
    tags: Sequence[bytes],
    split: bool,
) -> Written:
    """The wanted reads in the form of the output.

    Args:
        barcode: int64 (n,), numbers of their barcodes.
        tags: BC of each barcode; none: it is not written.
        split: by barcodes.
    """
    if len(tags):
        text = np.frombuffer(b"".join(b"BC:Z:" + tag for tag in tags), np.uint8)
        sizes = np.array([*(5 + len(tag) for tag in tags), 0])
        at = positions_of(offsets_of(sizes)[barcode], sizes[barcode])
        sides = [with_tags(side, text[at], offsets_of(sizes[barcode])) for side in sides]
    if form.kind == "fastx" and not split and (form.mates_apart or len(sides) == 1):
        chosen = wanted.astype(np.uint8)
        whole = {(-1, side): _native.format_fastx(batch.native, chosen, False) for side, batch in enumerate(sides)}
        return Written({key: _packed(form, text) for key, text in whole.items()}, "")
    order = np.flatnonzero(wanted)
    if not split:
        cuts = {-1: (0, len(order))}
    else:
        order = order[np.argsort(barcode[order], kind="stable")]
        numbers, begins = np.unique(barcode[order], return_index=True)
        ends = [*begins[1:].tolist(), len(order)]
        cuts = dict(zip(numbers.tolist(), zip(begins.tolist(), ends, strict=True), strict=True))
    if len(order) < len(wanted) or split:
        sides = [side.take(order) for side in sides]
    flags: int | tuple[int, int] = _SINGLE
    if not form.mates_apart and len(sides) == 2:
        both = SequenceBatch.join([replace(side, mates=None) for side in sides])
        sides = [both.take(np.arange(len(both)).reshape(2, -1).T.reshape(-1))]
        cuts = {number: (2 * begin, 2 * end) for number, (begin, end) in cuts.items()}
        flags = _MATES
    written: dict[tuple[int, int], bytes | memoryview] = {}
    for number, (begin, end) in cuts.items():
        for side, batch in enumerate(sides):
            some = batch.part(begin, end)
            if form.kind == "fastx":
                text = _native.format_fastx(some.native, None, False)
            else:
                text = _records(form, some, flags)
            written[number, side] = _packed(form, text)
    extension = form.kind if form.kind != "fastx" else "fasta" if sides[0].qualities is None else "fastq"
    return Written(written, extension + (".gz" if form.packed and form.kind == "fastx" else ""))


def _packed(form: Form, text: NDArray[np.uint8]) -> memoryview:
    return isal().compress(text).data if form.packed and len(text) else text.data


def _records(form: Form, batch: SequenceBatch, flags: int | tuple[int, int]) -> NDArray[np.uint8]:
    """Unmapped records."""
    rows, count = np.arange(len(batch)), len(batch)
    flag = np.resize(np.array(flags), count)
    columns: list[Column] = [texts(batch.names, batch.name_offsets, rows), integers(flag)]
    columns += [constant(text, count) for text in ("*", "0", "0", "*", "*", "0", "0")]
    columns.append(texts_or_star(batch.bases, batch.base_offsets))
    columns.append(
        constant("*", count) if batch.qualities is None else texts_or_star(batch.qualities, batch.base_offsets)
    )
    lines = format_rows(columns, count)
    if batch.comments is not None and batch.comment_offsets is not None:
        kept: tuple[Any, ...] = (batch.comments, batch.comment_offsets)
        if not form.tagged:
            kept = _native.comment_tags(batch.comments, batch.comment_offsets, dropped_tags(True), [])[:2]
        sizes = np.diff(kept[1])
        text, starts = np.frombuffer(lines, np.uint8), np.flatnonzero(np.frombuffer(lines, np.uint8) == 10)
        offsets = np.concatenate([[0], starts + 1])  # of lines; tags stand before their newlines
        tabs = np.insert(kept[0], kept[1][:-1][sizes > 0], 9)
        added = offsets_of(sizes + (sizes > 0))
        body, body_offsets = text[text != 10], offsets - np.arange(count + 1)
        whole, whole_offsets = appended(body, body_offsets, tabs, added)
        lines = np.insert(whole, whole_offsets[1:], 10).tobytes()
    if form.kind == "sam":
        return np.frombuffer(lines, np.uint8)
    return _native.bam_records(np.frombuffer(lines, np.uint8), np.zeros(0, np.uint8), np.zeros(1, np.int64))[0]


def appended(
    text: NDArray[np.uint8], offsets: NDArray[np.int64], more: NDArray[np.uint8], more_offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Joined texts, each with another one after it; and their offsets."""
    joined_offsets = (offsets - offsets[0]) + more_offsets
    joined = np.empty(int(joined_offsets[-1]), np.uint8)
    sizes = np.diff(offsets)
    joined[positions_of(joined_offsets[:-1], sizes)] = text[offsets[0] : offsets[-1]]
    joined[positions_of(joined_offsets[:-1] + sizes, np.diff(more_offsets))] = more
    return joined, joined_offsets


def with_tags(batch: SequenceBatch, tags: NDArray[np.uint8], offsets: NDArray[np.int64]) -> SequenceBatch:
    """With tags at the end of the comments, after a tab; an empty text is no tag."""
    count = len(batch)
    if batch.comments is None or batch.comment_offsets is None:
        return replace(batch, comments=tags, comment_offsets=offsets)
    tabs = (np.diff(batch.comment_offsets) > 0) & (np.diff(offsets) > 0)
    separated = np.insert(tags, offsets[:-1][tabs], 9)
    added = offsets_of(np.diff(offsets) + tabs) if count else offsets
    comments, comment_offsets = appended(batch.comments, batch.comment_offsets, separated, added)
    return replace(batch, comments=comments, comment_offsets=comment_offsets)


def _no_contigs() -> Reference:
    return Reference.packed([], np.zeros(1, np.int64), [])


class ReadsOutput:
    """Files of trimmed reads, open as long as ``stack``.

    Args:
        header: of the input, if it is SAM, BAM or CRAM.
        names: of the barcodes.
        every: there is a file for each barcode, not only for those that reads have.

    Raises:
        UsageError: --split cannot name files by them.
    """

    def __init__(
        self,
        form: Form,
        options: RunOptions,
        files: SearchFiles,
        paired_output: str | None,
        header: HeaderLines | None,
        names: Sequence[str],
        every: bool,
        stack: contextlib.ExitStack,
    ) -> None:
        self._form, self._stack, self._folder, self._every = form, stack, files.split, every
        self._paths, self._names = (options.output, paired_output), [*names, _UNASSIGNED]
        self._open: dict[tuple[int, int], OutputFile] = {}
        self._begin, self._end = b"", BGZF_END if form.packed else b""
        if form.kind != "fastx":
            self._begin = sam_header(_no_contigs(), options.command_line or "", source=header)
        if form.kind == "bam":
            text = np.frombuffer(bam_header(self._begin, _no_contigs()), np.uint8)
            self._begin = bytes(isal().compress(text).data)
        if files.split is not None:
            check_split(list(names))
            stack.enter_context(made_folder(files.split))
        else:
            for side in range(1 if paired_output is None else 2):
                self._file(-1, side, "")

    def write(self, written: Written) -> None:
        """Write the reads of a batch."""
        if self._every and not self._open and self._folder is not None:
            sides = {side for _, side in written.parts}
            for number in range(len(self._names)):
                for side in sorted(sides):
                    self._file(number, side, written.extension)
        for (number, side), data in written.parts.items():
            self._file(number, side, written.extension).write(data)

    def _file(self, number: int, side: int, extension: str) -> OutputFile:
        if (found := self._open.get((number, side))) is None:
            path = self._paths[side]
            if self._folder is not None:
                mate = f"_{side + 1}" if self._form.mates_apart else ""
                path = os.path.join(self._folder, f"{self._names[number]}{mate}.{extension}")
            found = self._open[number, side] = self._stack.enter_context(self._opened(path))
        return found

    @contextlib.contextmanager
    def _opened(self, path: str | None) -> Iterator[OutputFile]:
        with open_output(path, blocks=True) as out:
            out.write(self._begin)
            yield out
            out.write(self._end)
