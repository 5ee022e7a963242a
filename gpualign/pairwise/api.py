"""``gpualign.pairwise`` and ``iter_pairwise``: all-against-all alignment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpualign.align.pair_inputs import PairInputs, PairSelection, inputs_of
from gpualign.align.score.alignments import Measures, PairAlignments
from gpualign.align.score.params import PairwiseParams
from gpualign.align.score.problem import make_problem
from gpualign.align.score.tuning import mean_cells, work_of
from gpualign.errors import UsageError, proteins_want
from gpualign.fields import takes_keywords
from gpualign.pairwise.bounded_gaps.api import iter_max_gaps, named
from gpualign.pairwise.bounded_gaps.params import GapsParams
from gpualign.pairwise.database.database import DatabasePart, database_parts
from gpualign.pairwise.database.nearest import NearestSearch, part_symbols
from gpualign.pairwise.database.params import DatabaseParams
from gpualign.pairwise.params import PairwiseOutput, take_params
from gpualign.pairwise.run import align_all
from gpualign.params import RunOptions
from gpualign.reads.in_memory import Sequences, as_batch, checked_indices, is_path, path_of, rows_of, symbols_in
from gpualign.report import OnProgress, Progress
from gpualign.run.select import open_backend
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring, with_matching_codes
from gpualign.sequences.pairs import PairBlock
from gpualign.sequences.strands import reverse_complement
from gpualign.tables.column import NameColumn, SignColumn, TextColumn
from gpualign.tables.drawing import Drawing
from gpualign.tables.row import Row
from gpualign.tables.table import Column, Look, Table
from gpualign.text import table
from gpualign.text.fastx import SequenceAlphabet
from gpualign.text.sizes import product
from gpualign.text.symbol_lines import with_symbol_lines

#: parameters of a search by identity, and of a search by score
_BY_IDENTITY, _BY_SCORE = ("top", "top_ties", "query_cov", "target_cov"), ("evalue", "min_bits", "min_score")
_COUNTS = ("alnlen", "matches", "mismatches", "gapopens", "gaps", "qstart", "qend", "tstart", "tend")


@takes_keywords(PairwiseParams, GapsParams, DatabaseParams, without=_BY_SCORE)
def pairwise(
    queries: Sequences,
    targets: Sequences | None = None,
    *,
    pairs: ArrayLike | None = None,
    include_self: bool = False,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Table[Row]:
    """Align all pairs of one set (i < j), every query with every target, or the pairs that are listed.

    >>> rows = pairwise(["GATTACA", "GATTTACA", "GCTTACA"], identity=0.86)
    >>> rows[["query", "target"]].tolist()
    [(0, 1)]
    >>> rows["cigar"][0], round(float(rows["identity"][0]), 3), float(rows["score"][0])
    ('2M1D5M', 0.875, 25.0)
    >>> pairwise(["HEAGAWGHEE"], ["PAWHEAE"], matrix="BLOSUM50", gap_open=8, gap_extend=8, score_only=True)["score"]
    array([1.])
    >>> pairwise(["GATTACA"], ["GATTTACA", "GATTACA", "GATTACA"], identity=0.8, top=1, top_ties=True)["target"]
    array([1, 2])

    Args:
        queries, targets: sequences: a file, a batch, or strings. Without ``targets`` all pairs of one set.
        pairs: int (n, 2), rows of a query's and a target's number, to be aligned instead.
        include_self: also align each sequence of one set with itself.
        device, threads, progress: as for :func:`gpualign.verify`; pairs are counted.
        parameters: fields of :class:`gpualign.align.score.params.PairwiseParams`, with ``top`` also of
            :class:`gpualign.pairwise.database.params.DatabaseParams`, or with ``max_gaps`` of
            :class:`gpualign.pairwise.bounded_gaps.params.GapsParams`. ``free_ends``: which of "query-start",
            "query-end", "target-start" and "target-end" cost nothing in semi-global mode. ``gap_open``, ``gap_extend``,
            ``end_gap_open`` and ``end_gap_extend``: penalties, at the ends one or those of query start, query end,
            target start and target end.

    Returns:
        A :class:`gpualign.Table`, in input order, pairs below ``identity`` left out: ``query``, ``target`` (numbers),
        ``score`` (float64, in the matrix's units), ``strand``, ``identity`` (0 to 1), ``alnlen``, ``matches``,
        ``mismatches``, ``gapopens``, ``gaps`` (symbols), ``qstart``, ``qend``, ``tstart``, ``tend`` (half-open,
        forward strand), ``cigar`` (text, M I D, I consumes the query), ``query_name`` and ``target_name``; with
        ``score_only`` the first four and the names. The
        algorithm is Gotoh's (1982); docs/commands/pairwise.md says which of several optimal alignments is returned.

        With ``max_gaps`` (GapsMis): ``query``, ``target``, ``score``, ``gapopens``, ``tend``, ``tstart``, ``gaps`` and
        ``cigar``, and the names; with ``score_only`` the first five and the names. If no alignment has so few gaps, all
        but ``query``, ``target`` and the names are null.

        With ``top`` (and ``identity`` and ``targets``): each query's best targets by identity, none of which is missed;
        in the order of the queries, the best first. Ambiguity codes match where they have a base in common. ``targets``
        may be a file of any size, or one of ``gpualign makedb``.

    Raises:
        UsageError: a parameter that breaks a rule, or a pair that names no sequence.
        InputError: a symbol that the scoring does not know, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    given: dict[str, Any] = parameters | {"device": device, "threads": threads, "progress": progress}
    return Table.concat(list(iter_pairwise(queries, targets, pairs=pairs, include_self=include_self, **given)))


@takes_keywords(PairwiseParams, GapsParams, DatabaseParams, without=_BY_SCORE)
def iter_pairwise(
    queries: Sequences,
    targets: Sequences | None = None,
    *,
    pairs: ArrayLike | None = None,
    include_self: bool = False,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: OnProgress | None = None,
    **parameters: Any,
) -> Iterator[Table[Row]]:
    """Like :func:`pairwise`, block by block, so that the result never has to fit in memory.

    >>> sum(len(block) for block in iter_pairwise(["ACGT"] * 30, score_only=True))
    435

    Yields:
        Parts of :func:`pairwise`'s result in order, at least one.
    """
    PairSelection(include_self=include_self).check(targets is None)
    search = DatabaseParams(**{name: parameters.pop(name) for name in _BY_IDENTITY if name in parameters})
    params = take_params(**parameters)
    if search != DatabaseParams():
        options = RunOptions.of_api(device, threads)
        yield from _iter_nearest(params, search, queries, targets, pairs is not None, options, progress)
        return
    scoring = params.load_scoring()
    inputs = _inputs(scoring, queries, targets, pairs, include_self)
    options = RunOptions.of_api(device, threads)
    if isinstance(params, GapsParams):
        yield from iter_max_gaps(params, scoring, inputs, options, progress)
        return
    problem = make_problem(params, options, scoring, inputs)
    layout = _Layout(params, scoring, inputs.queries, inputs.targets)
    done = Progress(options, "pair", inputs.source.total, progress)
    yield layout.table(_NO_ALIGNMENTS)
    cells = inputs.source.total * mean_cells(inputs.queries, inputs.targets)
    work = work_of(cells, params.gap_open > params.gap_extend, not params.score_only)
    with open_backend(options, "pairwise", work) as backend:
        for alignments in align_all(problem, inputs.source, backend, done):
            yield layout.table(alignments)


def _iter_nearest(
    params: PairwiseParams | GapsParams,
    search: DatabaseParams,
    queries: Sequences,
    targets: Sequences | None,
    listed: bool,
    options: RunOptions,
    progress: OnProgress | None,
) -> Iterator[Table[Row]]:
    if isinstance(params, GapsParams) or params.identity is None or targets is None or listed:
        raise UsageError("a search with top needs identity and targets, and has neither pairs nor max_gaps")
    search.check_by_identity(params, PairwiseOutput())
    scoring = with_matching_codes(params.load_scoring())
    alphabet: SequenceAlphabet = "nucleotide" if scoring.nucleotide else "any"
    with proteins_want("matrix, such as BLOSUM62"), with_symbol_lines():
        asked = encode([as_batch(queries, alphabet)], scoring)
    nearest = NearestSearch(params, search, scoring, asked, options)
    cells = product((symbols_in(queries), symbols_in(targets)))
    work = work_of(cells, params.gap_open > params.gap_extend, True)
    with open_backend(options, "pairwise", work) as backend:
        found = Progress(options, "pair", call=progress)
        parts: Iterable[DatabasePart]
        if is_path(targets):
            parts = database_parts(path_of(targets), scoring, part_symbols(options, backend))
        else:
            batch = as_batch(targets, alphabet)
            parts = [DatabasePart(batch, encode([batch], scoring, named=False))]
        for part in parts:
            nearest.compare(part, backend, found)
        kept = nearest.kept.encoded
        layout = _Layout(params, scoring, asked, kept, nearest.kept.number)
        yield layout.table(_NO_ALIGNMENTS)
        for alignments in nearest.alignments(kept, backend, Progress(options, "hit")):
            yield layout.table(alignments)


def _inputs(
    scoring: Scoring, queries: Sequences, targets: Sequences | None, pairs: ArrayLike | None, include_self: bool
) -> PairInputs:
    def encoded(sequences: Sequences) -> EncodedSequences:
        with proteins_want("matrix, such as BLOSUM62"):
            return encode([as_batch(sequences, "nucleotide" if scoring.nucleotide else "any")], scoring)

    first = encoded(queries)
    second = first if targets is None else encoded(targets)
    listed = None
    if pairs is not None:
        numbers = rows_of("pairs", pairs, 2)
        listed = PairBlock(
            checked_indices(numbers[:, 0], len(first), "query"), checked_indices(numbers[:, 1], len(second), "target")
        )
    return inputs_of(first, second, listed, include_self)


@dataclass(frozen=True, eq=False)
class _Layout:
    """From alignments to rows, and from a row to its alignment."""

    params: PairwiseParams
    scoring: Scoring
    queries: EncodedSequences
    targets: EncodedSequences
    numbers: NDArray[np.int64] | None = None  # of the targets, ascending, where there are others

    @cached_property
    def names(self) -> tuple[TextColumn, TextColumn]:
        """The names of queries and targets."""
        return named(self.queries), named(self.targets)

    def table(self, alignments: PairAlignments) -> Table[Row]:
        columns: dict[str, Column] = {
            "query": alignments.query,
            "target": alignments.target if self.numbers is None else self.numbers[alignments.target],
            "score": alignments.score / self.scoring.scale,
            "strand": SignColumn.of_strands(alignments.minus),
        }
        names: dict[str, Column] = {
            "query_name": NameColumn(self.names[0], alignments.query.astype(np.int32)),
            "target_name": NameColumn(self.names[1], alignments.target.astype(np.int32)),
        }
        if self.params.score_only:
            return Table(columns | names)
        measures = Measures(alignments, self.params.mode)
        start, end = measures.query_span()
        columns["identity"] = measures.identity(self.params.identity_definition)
        values = (measures.columns, measures.matches, measures.mismatches, measures.openings, measures.gaps)
        spans = (start, end, measures.target_start, measures.target_end)
        for name, column in zip(_COUNTS, (*values, *spans), strict=True):
            columns[name] = column.astype(np.int32)
        assert alignments.cigar is not None
        assert alignments.cigar_offsets is not None
        cigars = table.format_rows([table.cigars(alignments.cigar, alignments.cigar_offsets)], len(alignments))
        columns["cigar"] = TextColumn.of_lines(cigars)
        return Table(columns | names, Look(draw=self.draw))

    def draw(self, row: Row) -> Drawing:
        minus = row.strand == "-"
        target = row.target if self.numbers is None else int(np.searchsorted(self.numbers, row.target))
        query = self._sequence(self.queries, row.query)[row.qstart : row.qend]
        return Drawing(
            query=reverse_complement(query) if minus else query,
            target=self._sequence(self.targets, target)[row.tstart : row.tend],
            cigar=row.cigar,
            query_name=f"query {self.queries.names[row.query]}",
            target_name=f"target {self.targets.names[target]}",
            query_start=row.qend if minus else row.qstart,
            target_start=row.tstart,
            minus=minus,
        )

    def _sequence(self, sequences: EncodedSequences, number: int) -> bytes:
        alphabet = np.frombuffer(self.scoring.symbols.encode(), np.uint8)
        return alphabet[sequences.sequence(number)].tobytes()


_NO_ALIGNMENTS = PairAlignments(
    query=np.empty(0, np.int32),
    target=np.empty(0, np.int32),
    minus=np.empty(0, bool),
    score=np.empty(0, np.int32),
    lengths=np.empty((0, 2), np.int64),
    spans=np.empty((0, 4), np.int32),
    counts=np.empty((0, 4), np.int32),
    cigar=np.empty(0, np.uint32),
    cigar_offsets=np.zeros(1, np.int64),
)
