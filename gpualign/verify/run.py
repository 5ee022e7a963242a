"""``verify``: candidate regions streamed past the verification kernels."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.align.edit.cpu import verify_on_cpu
from gpualign.align.edit.device.kernel import STAGE, planned, staged
from gpualign.align.edit.tuning import KERNELS
from gpualign.errors import InputError, UsageError, counted, shown_input, shown_inputs
from gpualign.params import RunOptions
from gpualign.reads.reads import ReadSource, Records
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.run.stage import Run, Stage
from gpualign.sequences.batch import SequenceBatch, join_bytes
from gpualign.sequences.offsets import joined
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS
from gpualign.text.chunks import read_batches
from gpualign.text.files import open_together
from gpualign.text.mate_names import names_of
from gpualign.text.references import read_reference
from gpualign.text.sizes import mean_length, pairs_in, product, symbols_in_files
from gpualign.text.table_output import Kind
from gpualign.verify.batches import Batch, Lines, Texts, paired_batch, prepare_chunk, write_lines
from gpualign.verify.candidates import LineCandidates, RecordCandidates, read_candidates
from gpualign.verify.params import VerifyFiles, VerifyParams

_COLUMNS: dict[str, Kind] = {
    "query": "text",
    "target": "text",
    "strand": "text",
    "tstart": "integer",
    "tend": "integer",
    "qlen": "integer",
    "distance": "integer",
    "identity": "number",
}

#: a core's step has this part of --batch-size
_CORE_SHARE = 4
#: and one for a GPU this many times as much
_GPU_FACTOR = 2
#: bases of queries that a thread parses at once
_QUERY_BASES = 1 << 23
#: an item of the input: unparsed lines, candidates, or paired records
Step = LineCandidates | RecordCandidates | tuple[SequenceBatch, SequenceBatch]


def run_verify(params: VerifyParams, files: VerifyFiles, options: RunOptions) -> dict[str, Any]:
    """Verify all pairs and write their lines in input order.

    Returns:
        The run report's fields.

    Raises:
        InputError: a file cannot be read or is invalid, or a candidate names an unknown query or target.
        UsageError: parameters that do not fit the files.
        DeviceError: a GPU was asked for and cannot be used.
    """
    if params.best is not None and files.candidates is None:
        raise UsageError("best needs candidates: pairs taken line by line are one a query")
    run = RunContext("verify", options, (*files.queries, files.candidates), reference=files.reference)
    totals = {"candidates": 0, "written": 0, "hits": 0, "clipped": 0, "cells": 0}
    columns: dict[str, Kind] = {**_COLUMNS, "cigar": "text"} if params.cigar else _COLUMNS
    with run.opening(work_of(files)) as opening, run.table(columns, files.header) as out:
        source = _Source(params, files, options)
        backend = opening.backend()
        if backend.on_gpu:  # batch after batch wants buffers of the same sizes
            reuse_memory()
        verified = backend.run(source.steps(backend.on_gpu), _whole_stage(source))
        with run.progress("pairs") as progress, contextlib.closing(verified) as batches:
            for lines in batches:
                out.write(lines.text.data)
                progress.update(lines.candidates)
                for key in totals:
                    totals[key] += getattr(lines, key)
    if totals["candidates"] == 0:
        run.warn("there are no candidates")
    if totals["clipped"]:
        run.warn(f"{counted(totals['clipped'], 'region')} reached beyond the target's end: clipped")
    pairs = counted(totals["candidates"], "pair")
    within = f", {totals['hits']:,} within the limit" if params.limited else ""
    return run.finish(f"{pairs}{within}, on {run.device}", **totals)


def work_of(files: VerifyFiles) -> Work:
    """The computation, as far as the files show it before they are read."""
    length = mean_length(files.queries[0])
    if files.candidates is None:
        return Work.of(KERNELS, product((symbols_in_files(*files.queries), length)))
    return Work.of(KERNELS, product((pairs_in(files.candidates), length, length)))


class _Source:
    """The input: its steps in order, and how one becomes a batch."""

    def __init__(self, params: VerifyParams, files: VerifyFiles, options: RunOptions) -> None:
        self.params, self.files, self._batch_size = params, files, options.batch_size
        if files.candidates is None:
            return
        with ThreadPoolExecutor(1) as in_thread:
            reference = in_thread.submit(read_reference, files.reference)
            queries, self.query_index = read_queries(files.queries, _fasta(files.reference), options.threads)
        self.texts = Texts.of_reference(params, queries, reference.result())
        self.target_index = _native.NameIndex(self.texts.target_names, self.texts.target_name_offsets)
        if self.query_index.repeated >= 0:
            name = queries.name(self.query_index.repeated)
            advice = "candidates go by name; rename one, mates to .../1 and .../2"
            raise InputError(f"{shown_inputs(files.queries)}: two queries are named '{name}' ({advice})")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.endswith("_index")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.files.candidates is not None:
            queries, texts = self.texts.queries, self.texts
            self.query_index = _native.NameIndex(queries.names, queries.name_offsets)
            self.target_index = _native.NameIndex(texts.target_names, texts.target_name_offsets)

    def steps(self, on_gpu: bool) -> Iterator[Step]:
        """For a GPU, or for a core, of which others should not wait for the last step long."""
        files = self.files
        chunk_bytes = self._batch_size * _GPU_FACTOR if on_gpu else -(-self._batch_size // _CORE_SHARE)
        if files.candidates is None:
            return _paired_records(files, chunk_bytes)
        grouped = self.params.best is not None
        return read_candidates(files.candidates, chunk_bytes, grouped)

    @STEPS.at("parse")
    def batch(self, step: Step) -> Batch:
        if isinstance(step, tuple):
            return paired_batch(self.params, *step)
        return prepare_chunk(self.params, self.texts, step, self.query_index, self.target_index)


def _whole_stage(source: _Source) -> Stage[Step, Lines]:
    """From a step of the input to its lines."""

    def on_cpu(step: Step) -> Lines:
        batch = source.batch(step)
        return write_lines(source.params, batch, verify_on_cpu(batch.pairs))

    def on_device(step: Step, run: Run) -> Lines:
        batch = source.batch(step)
        pairs = planned(batch.pairs)
        return write_lines(source.params, batch, run(lambda allocate: staged(pairs, allocate)))

    return Stage(on_cpu, STAGE.make_kernel, on_device, slots=STAGE.slots)


def read_queries(paths: Iterable[str], reference: str | None, threads: int) -> tuple[SequenceBatch, Any]:
    """All queries of files of reads in any format, as candidates may name any of them at any time, and the
    ``_native.NameIndex`` of their names.
    """
    by_file: list[list[SequenceBatch]] = []
    for path in paths:
        with ReadSource(path, reference, threads=threads) as source:
            by_file.append(list(run_ordered(source.records(_QUERY_BASES), _query_batch, threads)))
    batches = [batch for of_file in _with_mates_numbered(by_file) for batch in of_file]
    if not batches:
        batches = [SequenceBatch.from_records([])]
    names, name_offsets = joined((batch.names, batch.name_offsets) for batch in batches)
    with ThreadPoolExecutor(1) as in_thread:
        index = in_thread.submit(_native.NameIndex, names, name_offsets)
        bases, base_offsets = joined((batch.bases, batch.base_offsets) for batch in batches)
        return SequenceBatch(names, name_offsets, bases, base_offsets), index.result()


def _query_batches(files: VerifyFiles, chunk_bytes: int, first: Any) -> Iterator[SequenceBatch]:
    for path, opened in itertools.zip_longest(files.queries, (first,)):
        with ReadSource(path, _fasta(files.reference), opened=opened) as source:
            yield from filter(
                len, map(_query_batch, source.records(-(-chunk_bytes // 2)))
            )  # records may all be further ones


def _query_batch(records: Records) -> SequenceBatch:
    """Names and bases alone; mates, which have one name in SAM, BAM and CRAM, as /1 and /2."""
    batch = records.columns()
    names, offsets = batch.names, batch.name_offsets
    if batch.flags is not None:
        ends = np.where(batch.flags & 0x80, "/2", "/1")
        shown = [batch.name(i) + (ends[i] if batch.flags[i] & 0x1 else "") for i in range(len(batch))]
        names, offsets = join_bytes([name.encode("latin-1") for name in shown])
    return SequenceBatch(names, offsets, batch.bases, batch.base_offsets)


def _with_mates_numbered(by_file: list[list[SequenceBatch]]) -> list[list[SequenceBatch]]:
    """The batches of each file; reads of one name in two files are mates, NAME/1 and NAME/2."""
    if len(by_file) < 2:
        return by_file
    names = [{name for batch in of_file for name in names_of(batch, 0, len(batch))} for of_file in by_file]
    count = Counter(itertools.chain.from_iterable(names))
    seen: set[bytes] = set()
    numbered = []
    for of_file, of_this in zip(by_file, names, strict=True):
        ends = {name: b"/2" if name in seen else b"/1" for name in of_this if count[name] == 2}
        numbered.append([_renamed(batch, ends) if ends else batch for batch in of_file])
        seen |= of_this
    return numbered


def _renamed(batch: SequenceBatch, ends: dict[bytes, bytes]) -> SequenceBatch:
    names, offsets = join_bytes([name + ends.get(name, b"") for name in names_of(batch, 0, len(batch))])
    return replace(batch, names=names, name_offsets=offsets)


def _fasta(reference: str) -> str | None:
    """The reference as htslib may use it to decode CRAM."""
    return reference if os.path.isfile(reference) else None


def _paired_records(files: VerifyFiles, chunk_bytes: int) -> Iterator[tuple[SequenceBatch, SequenceBatch]]:
    """Queries and targets side by side, in runs of as many as both have read.

    Raises:
        InputError: one file has more records than the other.
    """
    with contextlib.ExitStack() as stack:
        opened = open_together((files.queries[0], files.reference), stack)
        targets = read_batches(files.reference, chunk_bytes, opened=opened[1])
        yield from _side_by_side(files, _query_batches(files, chunk_bytes, opened[0]), targets)


def _side_by_side(files: VerifyFiles, *sides: Iterator[SequenceBatch]) -> Iterator[tuple[SequenceBatch, SequenceBatch]]:
    counts = [0, 0]
    held: list[SequenceBatch | None] = [None, None]
    while True:
        for side in (0, 1):
            if held[side] is None:
                held[side] = next(sides[side], None)
                counts[side] += len(held[side] or ())
        queries, targets = held
        if queries is None or targets is None:
            break
        count = min(len(queries), len(targets))
        yield queries.part(0, count), targets.part(0, count)
        held = [batch.part(count, len(batch)) if len(batch) > count else None for batch in (queries, targets)]
    if held[0] is not None or held[1] is not None:
        for side in (0, 1):
            counts[side] += sum(len(batch) for batch in sides[side])
        queried = f"{shown_inputs(files.queries)}: {counted(counts[0], 'query', 'queries')}"
        raise InputError(
            f"{queried} but {counted(counts[1], 'target')} in {shown_input(files.reference)} "
            "(without --candidates they are paired one by one)"
        )
