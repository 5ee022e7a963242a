"""``gpualign.pairwise`` and ``iter_pairwise``: all-against-all alignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpualign.bounded_gaps.api import iter_max_gaps
from gpualign.bounded_gaps.params import GapsParams
from gpualign.engine.opening import open_backend
from gpualign.engine.work import mean_cells
from gpualign.errors import proteins_want
from gpualign.io import table
from gpualign.io.in_memory import Sequences, as_batch, checked_indices, run_options
from gpualign.io.pair_inputs import PairInputs, PairSelection, inputs_of
from gpualign.pairwise.alignments import Alignments, Measures
from gpualign.pairwise.params import PairwiseParams, take_params
from gpualign.pairwise.run import align_all, make_problem, with_device
from gpualign.pairwise.tuning import work_of
from gpualign.report import Progress
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.pairs import PairBlock

_SCORE_FIELDS = [("query", "i4"), ("target", "i4"), ("score", "f8"), ("strand", "U1")]
_COUNTS = ("alnlen", "matches", "mismatches", "gapopens", "gaps", "qstart", "qend", "tstart", "tend")
_FIELDS = [*_SCORE_FIELDS, ("identity", "f8"), *((name, "i4") for name in _COUNTS), ("cigar", "O")]
SCORE_DTYPE = np.dtype(_SCORE_FIELDS)
PAIRWISE_DTYPE = np.dtype(_FIELDS)


def pairwise(
    queries: Sequences,
    targets: Sequences | None = None,
    *,
    pairs: ArrayLike | None = None,
    include_self: bool = False,
    device: str = "auto",
    threads: int = 0,
    **parameters: Any,
) -> NDArray[Any]:
    """Align all pairs of one set (i < j), every query with every target, or the pairs that are listed.

    >>> rows = pairwise(["GATTACA", "GATTTACA", "GCTTACA"], identity=0.86)
    >>> rows[["query", "target"]].tolist()
    [(0, 1)]
    >>> rows["cigar"][0], round(float(rows["identity"][0]), 3), float(rows["score"][0])
    ('2M1D5M', 0.875, 25.0)
    >>> pairwise(["HEAGAWGHEE"], ["PAWHEAE"], matrix="BLOSUM50", gap_open=8, gap_extend=8, score_only=True)["score"]
    array([1.])

    Args:
        queries, targets: sequences: a file, a batch, or strings. Without ``targets`` the pairs are those of one set.
        pairs: int (n, 2), rows of a query's and a target's number, to be aligned instead.
        include_self: of one set the pairs i = i as well.
        device, threads: as for :func:`gpualign.verify`.
        parameters: fields of :class:`gpualign.pairwise.params.PairwiseParams`: ``mode``, ``free_ends``,
            ``match``, ``mismatch``, ``matrix``, ``gap_open``, ``gap_extend``, ``end_gap_open``, ``end_gap_extend`` (one
            penalty, or those of query start, query end, target start, target end), ``identity`` (0 to 1),
            ``identity_definition``, ``strand``, ``score_only``, ``max_memory`` (bytes); ``max_gaps`` with
            ``free_start`` and ``best``.

    Returns:
        Structured (n,), in input order, pairs below ``identity`` left out: ``query``, ``target`` (numbers), ``score``
        (float64, in the matrix's units), ``strand``, ``identity`` (0 to 1), ``alnlen``, ``matches``, ``mismatches``,
        ``gapopens``, ``gaps`` (letters), ``qstart``, ``qend``, ``tstart``, ``tend`` (half-open, forward strand) and
        ``cigar`` (text, M I D, I consumes the query); with ``score_only`` the first four. Gotoh (1982), filtered as
        docs/algorithms.md says; of equal alignments the one that docs/formats.md names.

        With ``max_gaps`` (GapsMis, docs/algorithms.md): ``query``, ``target``, ``score``, ``gapopens``, ``tend``,
        ``tstart``, ``gaps`` and ``cigar``; with ``score_only`` the first five. Where no alignment has so few gaps, the
        score is NaN, numbers are -1 and the CIGAR is "*".

    Raises:
        UsageError: a parameter that breaks a rule, or a pair that names no sequence.
        InputError: a letter that the scoring does not know, a file that cannot be read.
        DeviceError: a GPU was asked for and cannot be used.
    """
    given = parameters | {"pairs": pairs, "include_self": include_self, "device": device, "threads": threads}
    parts = list(iter_pairwise(queries, targets, **given))
    return np.concatenate(parts)


def iter_pairwise(
    queries: Sequences,
    targets: Sequences | None = None,
    *,
    pairs: ArrayLike | None = None,
    include_self: bool = False,
    device: str = "auto",
    threads: int = 0,
    **parameters: Any,
) -> Iterator[NDArray[Any]]:
    """As :func:`pairwise`, block by block, so that the result never has to fit the memory.

    >>> sum(len(block) for block in iter_pairwise(["ACGT"] * 30, score_only=True))
    435

    Yields:
        Parts of :func:`pairwise`'s result in order, at least one.
    """
    PairSelection(include_self=include_self).check(targets is None)
    params = take_params(**parameters)
    scoring = params.load_scoring()
    inputs = _inputs(scoring, queries, targets, pairs, include_self)
    options = run_options(device, threads)
    if isinstance(params, GapsParams):
        yield from iter_max_gaps(params, scoring, inputs, options)
        return
    options = with_device(params, options)
    problem = make_problem(params, options, scoring, inputs)
    dtype = SCORE_DTYPE if params.score_only else PAIRWISE_DTYPE
    yield np.empty(0, dtype)
    cells = inputs.source.total * mean_cells(inputs.queries, inputs.targets)
    work = work_of(cells, params.gap_open > params.gap_extend, not params.score_only)
    with open_backend(options, "pairwise", work) as backend:
        for alignments in align_all(problem, inputs.source, backend, Progress(options, "pair")):
            yield _rows(alignments, params, scoring, dtype)


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
        numbers = np.asarray(pairs, np.int64).reshape(-1, 2)
        listed = PairBlock(
            checked_indices(numbers[:, 0], len(first), "query"), checked_indices(numbers[:, 1], len(second), "target")
        )
    return inputs_of(first, second, listed, include_self)


def _rows(alignments: Alignments, params: PairwiseParams, scoring: Scoring, dtype: np.dtype[Any]) -> NDArray[Any]:
    rows = np.empty(len(alignments), dtype)
    rows["query"], rows["target"] = alignments.query, alignments.target
    rows["score"] = alignments.score / scoring.scale
    rows["strand"] = np.where(alignments.minus, "-", "+")
    if params.score_only or not len(alignments):
        return rows
    measures = Measures(alignments, params.mode)
    start, end = measures.query_span()
    rows["identity"] = measures.identity(params.identity_definition)
    values = (measures.columns, measures.matches, measures.mismatches, measures.openings, measures.gaps)
    spans = (start, end, measures.target_start, measures.target_end)
    for name, column in zip(_COUNTS, (*values, *spans), strict=True):
        rows[name] = column
    assert alignments.cigar is not None
    assert alignments.cigar_offsets is not None
    cigars = table.format_rows([table.cigars(alignments.cigar, alignments.cigar_offsets)], len(alignments))
    rows["cigar"] = cigars.decode().splitlines()
    return rows
