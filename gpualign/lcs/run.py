"""``lcs-filter``: subjects streamed past a few queries, the best kept, their subsequences traced at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
from gpualign.lcs.output import Hit, LcsWriter, Passed, Row, columns_of
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams
from gpualign.lcs.query import QueryStrands, encode_query, reverse_complement
from gpualign.lcs.stage import lcs_stage, trace_stage
from gpualign.lcs.top_n import TopN
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


class Collector:
    """Processes one query's scores: threshold, better strand, ranking."""

    def __init__(self, query: QueryStrands, params: LcsFilterParams) -> None:
        self.query, self.params = query, params
        self.kept = 0
        self.top: TopN[Hit] = TopN(params.top, params.keep_ties)
        self._whole_records = params.whole_records or params.subsequence

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

    def hit(self, scored: ScoredBatch, first: int, best: Any, minus: Any, i: int) -> Hit:
        batch, comment = scored.batch, ""
        if batch.comments is not None and batch.comment_offsets is not None:
            start, end = batch.comment_offsets[i : i + 2]
            comment = batch.comments[start:end].tobytes().decode("latin-1")
        return Hit(
            lcs=int(best[i]),
            number=first + (i if scored.indices is None else int(scored.indices[i])),
            strand="-" if minus[i] else "+",
            name=batch.name(i),
            comment=comment,
            length=int(batch.base_offsets[i + 1] - batch.base_offsets[i]),
            sequence=batch.sequence(i) if self._whole_records else None,
        )

    def candidates(self, batch: SequenceBatch, lengths: NDArray[np.int32]) -> NDArray[np.int64]:
        """The subjects of a batch that can become hits, whatever others there are."""
        best, _ = self.best_strand(lengths)
        chosen = np.flatnonzero(self.wanted(best, batch.lengths))
        return chosen if self.params.streams else self.top.best(best, chosen)

    def add(self, scored: ScoredBatch, first: int, lengths: NDArray[np.int32]) -> Iterator[Hit]:
        """Take a batch; yields its hits at once where nothing is ranked."""
        best, minus = self.best_strand(lengths)
        wanted = self.wanted(best, scored.batch.lengths)
        make = partial(self.hit, scored, first, best, minus)
        if self.params.streams:
            yield from (make(int(i)) for i in np.flatnonzero(wanted))
        else:
            self.top.add(best, wanted, first, make)

    def ranked(self) -> list[tuple[int, Hit]]:
        """(rank, hit) in the order of output."""
        rows = list(enumerate(self.top.ranked(), start=1))
        return sorted(rows, key=lambda row: row[1].number) if self.params.input_order else rows


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
        self._collectors = [Collector(query, params) for query in queries]
        self._trace = partial(_trace, threads) if params.subsequence else _keep
        self._as_arrays = params.streams and not (params.subsequence or params.whole_records)

    def run(
        self, backend: Backend, items: Iterable[Any], read: Callable[[Any], SequenceBatch]
    ) -> Iterator[tuple[list[Row] | Passed, int]]:
        """Compare; yields for each item, in order, the rows to be written at once and the residues it had.

        Args:
            items: parsed into batches of subjects by ``read``.
        """
        strands = [strand for query in self.queries for strand in query.strands]
        wanted = partial(_candidates, self._collectors) if self._remote else None
        for scored in backend.run(items, lcs_stage(strands, read, wanted)):
            check_count("subjects", len(scored.batch), scored.lengths.shape[1])
            with STEPS.at("compute"):
                rows = self._passed(scored) if self._as_arrays else self._rows(scored)
            self.subjects += scored.subjects
            self.residues += scored.residues
            yield rows, scored.residues

    def _rows(self, scored: ScoredBatch) -> list[Row]:
        """Those to be written at once, by subject, then by query."""
        groups = [
            (collector.query, list(collector.add(scored, self.subjects, rows)))
            for collector, rows in _rows_of(self._collectors, scored)
        ]
        found = [(None, query, hit) for query, hits in groups for hit in self._trace(None, query, hits)]
        return sorted(found, key=lambda row: row[2].number)

    def _passed(self, scored: ScoredBatch) -> Passed:
        """Take scores without creating an object for each."""
        parts = []
        for number, (collector, rows) in enumerate(_rows_of(self._collectors, scored)):
            best, minus = collector.best_strand(rows)
            subjects = np.flatnonzero(collector.wanted(best, scored.batch.lengths))
            parts.append((np.full(len(subjects), number), subjects, best[subjects], minus[subjects]))
        query, subject, lcs, minus = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(subject, kind="stable")
        return Passed(scored.batch, query[order], subject[order], lcs[order], minus[order])

    def ranked(self, backend: Backend | None = None) -> Iterator[Row]:
        """The rows that had to wait for the last subject, query by query.

        Args:
            backend: what :meth:`run` had, when that has ended: its GPUs trace the subsequences.
        """
        for collector in self._collectors:
            ranked = collector.ranked()
            traced = self._trace(backend, collector.query, [hit for _, hit in ranked])
            for (rank, _), hit in zip(ranked, traced, strict=True):
                yield rank, collector.query, hit

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
            for rows, residues in lcs.run(backend, items, read):
                writer.write(rows)
                progress.update(residues)
        writer.write(list(lcs.ranked(backend)))
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


def _keep(backend: Backend | None, query: QueryStrands, hits: list[Hit]) -> list[Hit]:
    return hits


def _trace(threads: int, backend: Backend | None, query: QueryStrands, hits: list[Hit]) -> list[Hit]:
    """The hits with their subsequences: from the GPUs if there are any, else a share of them by each thread."""
    on_strands = [
        (strand, [i for i, hit in enumerate(hits) if hit.strand == sign])
        for sign, strand in zip("+-", query.strands, strict=False)
    ]

    def shares(maximum: int, minimum: int) -> Iterator[tuple[list[int], Winners]]:
        for strand, indices in on_strands:
            share = min(maximum, max(1, -(-len(indices) // minimum)))
            for start in range(0, len(indices), share):
                chosen = indices[start : start + share]
                yield chosen, Winners(strand, [hits[i].sequence or b"" for i in chosen], [hits[i].lcs for i in chosen])

    stage, jobs = trace_stage(), list(shares(MAX_TRACED_ON_GPU, 1))
    if backend is not None and backend.on_gpu and all(winners.fit_devices for _, winners in jobs):
        results: Iterator[list[bytes]] = backend.run([winners for _, winners in jobs], stage)
    else:
        jobs = list(shares(MAX_TRACED, threads))
        results = run_ordered([winners for _, winners in jobs], stage.on_cpu, min(threads, len(jobs)))
    traced = list(hits)
    for (indices, _), texts in zip(jobs, results, strict=True):
        for i, text in zip(indices, texts, strict=True):
            traced[i] = hits[i].with_subsequence(text)
    return traced


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
