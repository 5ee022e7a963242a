"""``lcs-filter``: subjects streamed past a few queries, the best kept, their subsequences traced at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gpualign.align.lcs.cpu import ScoredBatch, Winners, score_on_cpu
from gpualign.align.lcs.device.lengths import LcsKernel
from gpualign.align.lcs.device.trace import LcsTraceKernel
from gpualign.align.lcs.query import LcsQuery, QueryStrands, common_subsequences, encode_query
from gpualign.align.lcs.tuning import KERNELS
from gpualign.errors import InputError, counted, proteins_want
from gpualign.lcs.output import NO_HITS, LcsHits, LcsWriter, columns_of
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams
from gpualign.lcs.select import Collector, select
from gpualign.params import RunOptions
from gpualign.reads.reads import read_file
from gpualign.run.gpu.pinned_pool import pinned_copy
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.run.run_context import RunContext
from gpualign.run.select import Work
from gpualign.run.stage import Backend, Run, Stage
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.strands import reverse_complement
from gpualign.streaming.ordered import run_ordered
from gpualign.text.chunks import read_batches
from gpualign.text.fastx import Chunk, parse
from gpualign.text.files import InputFile
from gpualign.text.lines import parse_lines, read_line_chunks
from gpualign.text.sizes import product, symbols_in_files

_PROTEINS = "--alphabet protein"
#: a GPU wants more subjects at once than a core: batches of this many --batch-size
GPU_BATCH_FACTOR = 4
#: subjects traced in one call of a core, and in one batch of a GPU
MAX_TRACED, MAX_TRACED_ON_GPU = 64, 4096
#: batches in flight on a device
_SLOTS = 3


def read_queries(params: LcsFilterParams, files: LcsFilterFiles) -> list[QueryStrands]:
    """The query file's records, encoded.

    Raises:
        InputError: no record, or several without ``multi_query``.
    """
    if files.lines:
        with InputFile(files.query) as file:
            batches = [parse_lines(chunk) for chunk in read_line_chunks(file, 1 << 24)]
    else:
        with proteins_want(_PROTEINS):
            batches = list(read_batches(files.query, alphabet="nucleotide" if params.alphabet == "dna" else "any"))
    count = sum(len(batch) for batch in batches)
    if count == 0:
        raise InputError("no query (expected one record)", files.query)
    if count > 1 and not files.multi_query:
        raise InputError(f"{count} queries (expected one; --multi-query takes them all)", files.query)
    return [strands_of(batch.name(i), batch.sequence(i), params) for batch in batches for i in range(len(batch))]


def strands_of(name: str, text: bytes, params: LcsFilterParams) -> QueryStrands:
    """A query, encoded on the strands that the parameters ask for."""
    texts = [text, reverse_complement(text)] if params.strand == "both" else [text]
    return QueryStrands(name, len(text), tuple(encode_query(name, one, params.alphabet) for one in texts))


class LcsFilter:
    """Queries and their hits so far.

    Attributes:
        subjects, residues: how many have been compared.
    """

    def __init__(self, params: LcsFilterParams, queries: list[QueryStrands], threads: int) -> None:
        self.params, self.queries = params, queries
        self.subjects = self.residues = 0
        self._collectors = [Collector(params) for _ in queries]
        self._threads = threads

    def run(
        self, backend: Backend, items: Iterable[Any], read: Callable[[Any], SequenceBatch]
    ) -> Iterator[tuple[LcsHits, int]]:
        """Compare; yields for each item, in order, the hits to be written at once and the residues it had.

        Args:
            items: parsed into batches of subjects by ``read``.
        """
        strands = [strand for query in self.queries for strand in query.strands]
        for found in backend.run(items, lcs_stage(strands, read, partial(select, self.params, self.queries))):
            hits = replace(found.hits, number=found.hits.number + self.subjects)
            self.subjects += found.subjects
            self.residues += found.residues
            yield self._to_be_written(hits), found.residues

    def _to_be_written(self, hits: LcsHits) -> LcsHits:
        """At once: all, or none where hits are ranked."""
        if self.params.streams:
            return self._traced(hits)
        for number, collector in enumerate(self._collectors):
            collector.keep(hits.take(np.flatnonzero(hits.query == number)))
        return NO_HITS

    def ranked(self, backend: Backend | None = None) -> LcsHits:
        """The hits that had to wait for the last subject, query by query.

        Args:
            backend: what :meth:`run` had, when that has ended: its GPUs trace the subsequences.
        """
        return self._traced(LcsHits.join([collector.ranked() for collector in self._collectors]), backend)

    def _traced(self, hits: LcsHits, backend: Backend | None = None) -> LcsHits:
        return trace(self.queries, hits, self._threads, backend) if self.params.subsequence else hits

    @property
    def cells(self) -> int:
        """Residues compared, for each symbol of each query's strands."""
        return self.residues * sum(len(strand) for query in self.queries for strand in query.strands)


def run_lcs_filter(params: LcsFilterParams, files: LcsFilterFiles, options: RunOptions) -> dict[str, Any]:
    """Run the filter and write its output.

    Returns:
        The run report's fields.

    Raises:
        InputError: a file cannot be read or is invalid.
        DeviceError: a GPU was asked for and cannot be used.
    """
    run = RunContext("lcs-filter", options, files.inputs)
    work = Work.of(KERNELS, product((symbols_in_files(files.query), symbols_in_files(*files.subjects))))
    output = run.output() if params.whole_records else run.table(columns_of(params), files.header)
    with run.opening(work) as opening, output as out:
        lcs = LcsFilter(params, read_queries(params, files), options.threads)
        for query in lcs.queries:
            if not any(strand.symbols for strand in query.strands):
                run.warn(f"query '{query.name}' has no symbol that can match")
        writer = LcsWriter(out, params, files, lcs.queries)
        backend = opening.backend()
        factor = 1
        if backend.on_gpu:
            reuse_memory()  # batch after batch wants buffers of the same sizes
            factor = GPU_BATCH_FACTOR
        chunks = _chunks(files, factor * options.batch_size)
        with run.progress("bases") as progress:
            for hits, residues in lcs.run(backend, chunks, partial(_parse_chunk, params, files)):
                writer.write(hits)
                progress.update(residues)
        writer.write(lcs.ranked(backend))
    if lcs.subjects == 0:
        run.warn("there are no subjects")
    counts = {"queries": len(lcs.queries), "subjects": lcs.subjects, "residues": lcs.residues}
    compared = f"{counted(lcs.subjects, 'subject')}, {counted(lcs.residues, 'residue')}"
    summary = f"{compared}, {writer.rows:,} written, on {run.device}"
    return run.finish(summary, **counts, cells=lcs.cells, written=writer.rows)


def trace(queries: list[QueryStrands], hits: LcsHits, threads: int, backend: Backend | None = None) -> LcsHits:
    """The hits with their subsequences: from the GPUs if there are any, else a share of them by each thread."""
    on_strands = [
        (strand, np.flatnonzero((hits.query == number) & (hits.minus == minus)).tolist())
        for number, query in enumerate(queries)
        for minus, strand in enumerate(query.strands)
    ]

    def shares(maximum: int, minimum: int) -> Iterator[tuple[list[int], Winners]]:
        for strand, indices in on_strands:
            share = min(maximum, max(1, -(-len(indices) // minimum)))
            for start in range(0, len(indices), share):
                chosen = indices[start : start + share]
                subjects = [hits.batch.sequence(i) for i in hits.subject[chosen].tolist()]
                yield chosen, Winners(strand, subjects, hits.lcs[chosen].tolist())

    stage, jobs = trace_stage(), list(shares(MAX_TRACED_ON_GPU, 1))
    if backend is not None and backend.on_gpu and all(winners.fit_devices for _, winners in jobs):
        results: Iterator[list[bytes]] = backend.run([winners for _, winners in jobs], stage)
    else:
        jobs = list(shares(MAX_TRACED, threads))
        results = run_ordered([winners for _, winners in jobs], stage.on_cpu, min(threads, len(jobs)))
    traced = [b""] * len(hits)
    for (indices, _), texts in zip(jobs, results, strict=True):
        for i, text in zip(indices, texts, strict=True):
            traced[i] = text
    return replace(hits, subsequences=traced)


def _chunks(files: LcsFilterFiles, chunk_bytes: int) -> Iterator[Chunk]:
    for path in files.subjects:
        with InputFile(path) as file:
            if files.lines:
                yield from read_line_chunks(file, chunk_bytes, numbered=True)
            else:
                yield from read_file(file, chunk_bytes)


def _parse_chunk(params: LcsFilterParams, files: LcsFilterFiles, chunk: Chunk) -> SequenceBatch:
    if files.lines:
        return parse_lines(chunk, f"{chunk.path}:" if len(files.subjects) > 1 else "")
    if params.alphabet == "dna":
        with proteins_want(_PROTEINS):
            batch = parse(chunk, "nucleotide")
        if not params.whole_records:
            return batch
        # checked above; what is written must be the record as it was
    return parse(chunk, "any", comments=params.whole_records)


def trace_stage() -> Stage[Winners, list[bytes]]:
    """The stage from :class:`Winners` to their longest common subsequences."""

    def trace(winners: Winners) -> list[bytes]:
        return common_subsequences(winners.query, winners.subjects, winners.lengths)

    return Stage(trace, LcsTraceKernel)


def lcs_stage(
    queries: Sequence[LcsQuery],
    read: Callable[[Any], SequenceBatch],
    select: Callable[[ScoredBatch], Any] = lambda scored: scored,
) -> Stage[Any, Any]:
    """The stage over items that ``read`` parses into batches.

    Args:
        select: makes the result of what was scored.
    """

    def on_cpu(item: Any) -> Any:
        return select(score_on_cpu(queries, read(item)))

    def on_device(item: Any, run: Run) -> Any:
        batch = read(item)
        return select(run(lambda allocate: replace(batch, bases=pinned_copy(batch.bases, allocate))))

    return Stage(on_cpu, partial(LcsKernel, queries=queries), on_device, slots=_SLOTS)
