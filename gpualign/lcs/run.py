"""``lcs-filter``: subjects streamed past a few queries, the best kept, their subsequences traced at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.malloc_tuning import reuse_memory
from gpualign.engine.run_context import Opening, RunContext
from gpualign.engine.select import Work
from gpualign.engine.stage import Backend
from gpualign.errors import InputError, check_count, counted, proteins_want
from gpualign.io.chunks import read_batches
from gpualign.io.fastx import Chunk, parse
from gpualign.io.files import InputFile
from gpualign.io.lines import parse_lines, read_line_chunks
from gpualign.io.reads import read_file
from gpualign.io.sizes import product, symbols_in_files
from gpualign.lcs.cpu import ScoredBatch, Winners
from gpualign.lcs.output import NO_HITS, Hits, LcsWriter, columns_of
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams
from gpualign.lcs.query import QueryStrands, encode_query, reverse_complement
from gpualign.lcs.stage import lcs_stage, trace_stage
from gpualign.lcs.tuning import KERNELS
from gpualign.params import RunOptions
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS

_PROTEINS = "--alphabet protein"
#: a GPU wants more subjects at once than a core: batches of this many --batch-size
GPU_BATCH_FACTOR = 4
#: subjects traced in one call of a core, and in one batch of a GPU
MAX_TRACED, MAX_TRACED_ON_GPU = 64, 4096


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


def best(scores: NDArray[np.int32], limit: int, keep_ties: bool) -> NDArray[np.int64]:
    """Where the ``limit`` highest scores stand (0: all), ascending; of equal ones the first, or all that are."""
    if not limit or len(scores) <= limit:
        return np.arange(len(scores))
    chosen = np.flatnonzero(scores >= np.partition(scores, -limit)[-limit])
    return chosen if keep_ties else np.sort(chosen[np.argsort(-scores[chosen], kind="stable")[:limit]])


class Collector:
    """Processes one query's scores: threshold, better strand, ranking."""

    def __init__(self, number: int, query: QueryStrands, params: LcsFilterParams) -> None:
        self.number, self.query, self.params = number, query, params
        self._whole_records = params.whole_records or params.subsequence
        self._kept: list[Hits] = []  # that may still be among the best, in order of input
        self._most = 2 * params.top  # of them, until others are dropped
        self._floor = -1  # a score that is too low by now

    def best_strand(self, lengths: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """(strands, n) lengths to the better strand's (n,) and whether that is minus; equal ones are plus."""
        if len(lengths) == 1:
            return lengths[0], np.zeros(lengths.shape[1], bool)
        return np.maximum(lengths[0], lengths[1]), lengths[1] > lengths[0]

    def wanted(self, best: NDArray[np.int32], subject_lengths: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool (n,): which subjects are on the side of the cut that is asked for."""
        query_length = np.int64(self.query.length)
        of = {
            "query": np.broadcast_to(query_length, best.shape),
            "subject": subject_lengths,
            "shorter": np.minimum(subject_lengths, query_length),
            "longer": np.maximum(subject_lengths, query_length),
        }[self.params.ratio_of]
        # 0.7 of 10 must let 7 pass, although 0.7 * 10 in binary may be a little more than 7
        passes: NDArray[np.bool_] = (best >= self.params.min_length) & (best >= self.params.min_ratio * of - 1e-9)
        return ~passes if self.params.invert else passes

    def candidates(self, batch: SequenceBatch, lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """The subjects of a batch that can become hits, whatever others there are."""
        scores, _ = self.best_strand(lengths)
        chosen = np.flatnonzero(self.wanted(scores, batch.lengths) & (scores > self._floor))
        return chosen if self.params.streams else chosen[best(scores[chosen], self.params.top, self.params.keep_ties)]

    def hits(self, scored: ScoredBatch, first: int, lengths: NDArray[np.int32]) -> Hits:
        """Those of the candidates; ``first``: the number of the item's first subject."""
        scores, minus = self.best_strand(lengths)
        subject = self.candidates(scored.batch, lengths)
        number = first + (subject if scored.indices is None else scored.indices[subject])
        query = np.full(len(subject), self.number)
        return Hits(
            scored.batch, subject, number, scored.batch.lengths[subject], query, scores[subject], minus[subject]
        )

    def keep(self, hits: Hits) -> None:
        """Hits of the next batch that may be among the best."""
        if len(hits):
            self._kept.append(hits.alone(self._whole_records))
        if self.params.top and sum(map(len, self._kept)) > self._most:
            kept = self._best()
            self._kept, self._most = [kept.alone(self._whole_records)], 2 * len(kept)
            self._floor = int(kept.lcs.min()) - self.params.keep_ties

    def _best(self) -> Hits:
        hits = Hits.join(self._kept) if self._kept else NO_HITS
        return hits.take(best(hits.lcs, self.params.top, self.params.keep_ties))

    def ranked(self) -> Hits:
        """The best in the order of output."""
        hits = self._best()
        order = np.argsort(-hits.lcs, kind="stable")
        rank = np.empty(len(hits), np.int64)
        rank[order] = np.arange(1, len(hits) + 1)
        hits = replace(hits, rank=rank)
        return hits if self.params.input_order else hits.take(order)


class LcsFilter:
    """Queries and their hits so far.

    Args:
        remote: subjects are scored elsewhere, and only those that count come back.

    Attributes:
        subjects, residues: how many have been compared.
    """

    def __init__(
        self, params: LcsFilterParams, queries: list[QueryStrands], threads: int, remote: bool = False
    ) -> None:
        self.params, self.queries, self._remote = params, queries, remote
        self.subjects = self.residues = 0
        self._collectors = [Collector(number, query, params) for number, query in enumerate(queries)]
        self._threads = threads

    def run(
        self, backend: Backend, items: Iterable[Any], read: Callable[[Any], SequenceBatch]
    ) -> Iterator[tuple[Hits, int]]:
        """Compare; yields for each item, in order, the hits to be written at once and the residues it had.

        Args:
            items: parsed into batches of subjects by ``read``.
        """
        strands = [strand for query in self.queries for strand in query.strands]
        wanted = partial(_candidates, self._collectors) if self._remote else None
        for scored in backend.run(items, lcs_stage(strands, read, wanted)):
            check_count("subjects", len(scored.batch), scored.lengths.shape[1])
            with STEPS.at("compute"):
                hits = self._hits(scored)
            self.subjects += scored.subjects
            self.residues += scored.residues
            yield hits, scored.residues

    def _hits(self, scored: ScoredBatch) -> Hits:
        """Those to be written at once, by subject, then by query."""
        found = [
            (collector, collector.hits(scored, self.subjects, rows))
            for collector, rows in _rows_of(self._collectors, scored)
        ]
        if self.params.streams:
            hits = Hits.join([hits for _, hits in found], scored.batch)
            return self._traced(hits.take(np.argsort(hits.subject, kind="stable")))
        for collector, hits in found:
            collector.keep(hits)
        return NO_HITS

    def ranked(self, backend: Backend | None = None) -> Hits:
        """The hits that had to wait for the last subject, query by query.

        Args:
            backend: what :meth:`run` had, when that has ended: its GPUs trace the subsequences.
        """
        return self._traced(Hits.join([collector.ranked() for collector in self._collectors]), backend)

    def _traced(self, hits: Hits, backend: Backend | None = None) -> Hits:
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
        lcs = LcsFilter(params, read_queries(params, files), options.threads, options.dask is not None)
        for query in lcs.queries:
            if not any(strand.symbols for strand in query.strands):
                run.warn(f"query '{query.name}' has no symbol that can match")
        writer = LcsWriter(out, params, files, lcs.queries)
        backend = opening.backend()
        if backend.on_gpu:  # batch after batch wants buffers of the same sizes
            reuse_memory()
        read, items = _items(params, files, options, opening)
        with run.progress("bases") as progress:
            for hits, residues in lcs.run(backend, items, read):
                writer.write(hits)
                progress.update(residues)
        writer.write(lcs.ranked(backend))
    if lcs.subjects == 0:
        run.warn("there are no subjects")
    counts = {"queries": len(lcs.queries), "subjects": lcs.subjects, "residues": lcs.residues}
    compared = f"{counted(lcs.subjects, 'subject')}, {counted(lcs.residues, 'residue')}"
    summary = f"{compared}, {writer.rows:,} written, on {run.device}"
    return run.finish(summary, **counts, cells=lcs.cells, written=writer.rows)


def _rows_of(collectors: Iterable[Collector], scored: ScoredBatch) -> Iterator[tuple[Collector, NDArray[np.int32]]]:
    """Each query with its rows of lengths."""
    row = 0
    for collector in collectors:
        strands = len(collector.query.strands)
        yield collector, scored.lengths[row : row + strands]
        row += strands


def _candidates(collectors: Iterable[Collector], scored: ScoredBatch) -> NDArray[np.int64]:
    """The subjects that any query may want: all that need to travel."""
    chosen = [collector.candidates(scored.batch, rows) for collector, rows in _rows_of(collectors, scored)]
    return np.unique(np.concatenate(chosen))


def trace(queries: list[QueryStrands], hits: Hits, threads: int, backend: Backend | None = None) -> Hits:
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


def _items(
    params: LcsFilterParams, files: LcsFilterFiles, options: RunOptions, opening: Opening
) -> tuple[Callable[[Any], SequenceBatch], Iterator[Any]]:
    """The parser of items, and the items: unparsed chunks."""
    read = partial(_parse_chunk, params, files)
    factor = GPU_BATCH_FACTOR if opening.backend().on_gpu else 1
    return read, _chunks(files, factor * options.batch_size, opening.remote)


def _chunks(files: LcsFilterFiles, chunk_bytes: int, remote: bool) -> Iterator[Chunk]:
    for path in files.subjects:
        with InputFile(path) as file:
            yield from (read_line_chunks if files.lines else read_file)(file, chunk_bytes, remote=remote)


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
