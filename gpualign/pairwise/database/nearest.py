"""``pairwise --top --id``: the targets of a database that are nearest to each query by identity, none left out."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.near.cpu import Hits, NearProblem, Wanted
from gpualign.align.near.neighbors import Neighbors, Queries
from gpualign.align.pair_inputs import PairFiles, PairInputs, inputs_of
from gpualign.align.score.alignments import PairAlignments
from gpualign.align.score.params import PairwiseParams
from gpualign.align.score.problem import make_problem
from gpualign.align.score.tuning import work_of
from gpualign.errors import counted, proteins_want
from gpualign.pairwise.database.database import DatabasePart, database_parts
from gpualign.pairwise.database.hit_files import HitWriter
from gpualign.pairwise.database.params import DatabaseParams, HitFiles
from gpualign.pairwise.output import PairFormat, columns_of
from gpualign.pairwise.params import PairwiseOutput
from gpualign.pairwise.run import align_all
from gpualign.params import RunOptions
from gpualign.report import Progress
from gpualign.run.run_context import RunContext
from gpualign.run.stage import Backend
from gpualign.sequences.batch import join_batches
from gpualign.sequences.columns import Columns
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring, with_matching_codes, without_codes
from gpualign.sequences.offsets import joined
from gpualign.sequences.pairs import PairBlock, PairSource
from gpualign.streaming.prefetch import Prefetch
from gpualign.text.chunks import read_batches
from gpualign.text.symbol_lines import with_symbol_lines

#: batches of a part of the database, on the CPU and for a GPU: each part has its own index of words
_PART_BATCHES, _GPU_PART_BATCHES = 8, 64


def part_symbols(options: RunOptions, backend: Backend) -> int:
    """Symbols of a part of the database."""
    return options.batch_size * (_GPU_PART_BATCHES if backend.on_gpu else _PART_BATCHES)


@dataclass(frozen=True, eq=False)
class Nearest(Columns):
    """Hits: int32 (h,) query, int64 (h,) number of the target in the database, bool (h,) whether it is the query's
    reverse complement that is near, float64 (h,) identity.
    """

    query: NDArray[np.int32]
    target: NDArray[np.int64]
    minus: NDArray[np.bool_]
    identity: NDArray[np.float64]

    @classmethod
    def none(cls) -> Nearest:
        """No hits."""
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, bool), np.zeros(0, np.float64))

    def best(self, top: int, ties: bool) -> Nearest:
        """The ``top`` (0: all) best of each query in order, the highest identity first, of equal ones the earlier
        target; with ``ties`` also those as near as the last of them. None is there twice.
        """
        hits = self.take(np.lexsort((self.minus, self.target, -self.identity, self.query)))
        keys = hits.query, hits.target, hits.minus
        hits = hits.take(np.concatenate([[True], np.any([key[1:] != key[:-1] for key in keys], axis=0)])[: len(hits)])
        if top == 0 or not len(hits):
            return hits
        first = np.flatnonzero(np.diff(hits.query, prepend=-1))
        start = np.repeat(first, np.diff(first, append=len(hits)))
        if not ties:
            return hits.take(np.arange(len(hits)) - start < top)
        end = np.repeat(np.append(first[1:], len(hits)), np.diff(first, append=len(hits)))
        return hits.take(hits.identity >= hits.identity[np.minimum(start + top, end) - 1])


@dataclass(frozen=True, eq=False)
class Targets(Columns):
    """Sequences of the database: int64 (t,) their numbers in it, names, and codes of the scoring."""

    number: NDArray[np.int64]
    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    codes: NDArray[np.uint8]
    code_offsets: NDArray[np.int64]

    @classmethod
    def of(cls, part: DatabasePart, first: int) -> Targets:
        """Those of a part whose first one has this number."""
        batch, encoded = part.batch, part.encoded
        return cls(first + np.arange(len(batch)), batch.names, batch.name_offsets, encoded.codes, encoded.offsets)

    @property
    def encoded(self) -> EncodedSequences:
        text, at = self.names.tobytes().decode("latin-1"), self.name_offsets.tolist()
        names = [text[i:j] for i, j in itertools.pairwise(at)]
        return EncodedSequences(names, self.codes, self.code_offsets)


def run_nearest(
    files: PairFiles,
    params: PairwiseParams,
    search: DatabaseParams,
    output: PairwiseOutput,
    hit_files: HitFiles,
    options: RunOptions,
) -> None:
    """Search and write, each query's hits by descending identity.

    Raises:
        UsageError: parameters that do not fit each other.
        InputError: input that cannot be read.
        DeviceError: the device that was asked for is missing.
    """
    search.check(files, params, output)
    assert files.targets is not None
    inputs = (*files.paths(params.matrix), hit_files.taxonomy)
    run = RunContext("pairwise", options, inputs, hit_files.outputs)
    scoring = with_matching_codes(params.load_scoring())
    with run.opening(work_of(files.cells(), params.gap_open > params.gap_extend, True)) as opening:
        with proteins_want("--matrix, such as --matrix BLOSUM62"), with_symbol_lines():
            batches = read_batches(files.queries, alphabet="nucleotide" if scoring.nucleotide else "any")
            batch = join_batches(list(batches))
            queries = encode([batch], scoring, files.queries)
        nearest = NearestSearch(params, search, scoring, queries, options)
        with run.progress("pair", of=(files.targets,)) as progress:
            backend = opening.backend()
            with Prefetch(database_parts(files.targets, scoring, part_symbols(options, backend))) as parts:
                for part in parts:
                    nearest.compare(part, backend, progress)
        run.report.stage("searching")
        hits, kept = nearest.hits, nearest.kept
        if nearest.targets == 0 or len(queries) == 0:
            run.warn("no pairs to align")
        targets = kept.encoded
        layout = PairFormat(output, params, scoring, queries.names, targets.names)
        tsv = output.layout == "tsv"
        first = np.flatnonzero(np.diff(hits.query, prepend=-1))  # each query's best hit
        best: list[PairAlignments] = []
        others = HitWriter(hit_files, batch, files.queries, params.identity_definition, targets.names, kept.number)
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(run.table(columns_of(output, params), output.header) if tsv else run.output())
            traced, done = stack.enter_context(Progress(options, "hit", len(hits))), 0
            for alignments in nearest.alignments(targets, backend, traced):
                out.write(layout.lines(alignments))
                here = first[(first >= done) & (first < done + len(alignments))] - done
                best.append(alignments.take(here))
                done += len(alignments)
            place = np.searchsorted(kept.number, hits.target)
            others.write(hits.query, place, hits.identity, PairAlignments.join(best) if best else _no_alignments())
        run.report.stage("writing")
    total, matched = len(queries) * nearest.targets, len(first)
    summary = f"{counted(total, 'pair')}, {counted(len(hits), 'hit')} of {matched:,} queries, on {run.device}"
    fields = {"pairs": total, "pairs_written": len(hits), "queries_matched": matched}
    run.finish(summary, **fields, sequences=len(queries) + nearest.targets, pairs_after_words=nearest.candidates)


def _joined(*sets: EncodedSequences) -> EncodedSequences:
    return EncodedSequences(sets[0].names, *joined([(each.codes, each.offsets) for each in sets]))


def _plain(scoring: Scoring, *sets: EncodedSequences) -> Scoring:
    """The scoring without ambiguity codes, where there are none: then pairs are aligned in less time."""
    return without_codes(scoring) if all(each.codes.max(initial=0) < scoring.identical for each in sets) else scoring


class NearestSearch:
    """The best targets of each query so far, while the database goes by in parts.

    Args:
        scoring: in which ambiguity codes match.

    Attributes:
        targets, candidates: targets that were compared, and pairs that their words left.
        hits, kept: hits in order, and their targets in the order of the database.
    """

    def __init__(
        self,
        params: PairwiseParams,
        search: DatabaseParams,
        scoring: Scoring,
        queries: EncodedSequences,
        options: RunOptions,
    ) -> None:
        assert search.top is not None
        self._params, self._scoring, self._options = replace(params, strand="plus"), scoring, options
        self._top, self._ties = search.top, search.top_ties
        self._coverages = search.query_cov or 0.0, search.target_cov or 0.0
        self._count, self._strands = len(queries), queries
        if params.strand == "both":
            self._strands = _joined(queries, queries.reverse_complement(scoring))
        self._reached = np.full(len(queries), -1.0)
        self._index: _native.NearIndex | None = None  # of all strands
        self.targets = self.candidates = 0
        self.hits = Nearest.none()
        self.kept = Targets(np.zeros(0, np.int64), *_empty(), *_empty())

    def compare(self, part: DatabasePart, backend: Backend, progress: Progress) -> None:
        """Compare all queries with the next targets."""
        sequences, size = _joined(self._strands, part.encoded), len(part.encoded)
        scoring = _plain(self._scoring, sequences)
        source = PairSource.rectangle(self._strands.lengths, part.encoded.lengths)
        pairs = make_problem(self._params, self._options, scoring, PairInputs(sequences, sequences, source))
        problem = NearProblem(pairs, min(self._coverages), *self._coverages)
        both = len(self._strands) > self._count
        neighbors = Neighbors(problem, backend, self._count, both, self._options.threads, one_set=False)
        wanted: Wanted = "best" if self._top == 1 else "all"
        those = np.arange(len(self._strands), len(sequences), dtype=np.int32)
        if neighbors.specific and len(part.encoded.codes) >= len(self._strands.codes) > 0:
            self._index = neighbors.query_index(self._index, len(self._strands))
            found = neighbors.of_targets(self._index, those, wanted, self._reached)
        else:
            targets, numbers = neighbors.targets(), np.arange(self._count, dtype=np.int32)
            targets.add(those)
            queries = Queries(numbers, np.zeros_like(numbers), np.full_like(numbers, size))
            found = neighbors.of(targets, queries, wanted, self._reached)
        self.candidates += neighbors.candidates
        self._settle(self._nearest(found), Targets.of(part, self.targets))
        self.targets += size
        progress.update(self._count * size)

    def alignments(self, targets: EncodedSequences, backend: Backend, progress: Progress) -> Iterator[PairAlignments]:
        """Alignments of the hits in order; their targets are numbered as in ``targets``, the encoded ``kept``."""
        strands, count, hits = self._strands, self._count, self.hits
        place = np.searchsorted(self.kept.number, hits.target).astype(np.int32)
        some = inputs_of(strands, targets, PairBlock((hits.query + hits.minus * count).astype(np.int32), place))
        problem = make_problem(self._params, self._options, _plain(self._scoring, strands, targets), some)
        for found in align_all(problem, some.source, backend, progress):
            yield replace(found, query=found.query % max(1, count), minus=found.query >= count)

    def _nearest(self, found: Hits) -> Nearest:
        """Hits of this part, numbered as in the database."""
        target = found.target.astype(np.int64) + (self.targets - len(self._strands))
        return Nearest(found.query % max(1, self._count), target, found.query >= self._count, found.identity)

    def _settle(self, found: Nearest, part: Targets) -> None:
        """Drop hits that can no longer count, and targets without hits."""
        self.hits = Nearest.join([self.hits, found]).best(self._top, self._ties)
        numbers = np.unique(self.hits.target)
        first = part.number[0] if len(part) else self.targets
        before, new = numbers[numbers < first], numbers[numbers >= first]
        kept = self.kept.take(np.searchsorted(self.kept.number, before))
        self.kept = Targets.join([kept, part.take(new - first)])
        if self._top:
            counts = np.bincount(self.hits.query, minlength=self._count)
            last = np.cumsum(counts) - 1
            full = counts >= self._top
            self._reached[full] = self.hits.identity[last[full]]


def _no_alignments() -> PairAlignments:
    number, counts = np.zeros(0, np.int32), np.zeros((0, 4), np.int32)
    return PairAlignments(
        number, number, number > 0, number, np.zeros((0, 2), np.int64), counts, counts, np.zeros(0, np.uint32),
        np.zeros(1, np.int64),
    )  # fmt: skip


def _empty() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return np.zeros(0, np.uint8), np.zeros(1, np.int64)
