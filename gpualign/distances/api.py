"""``gpualign.distances`` and ``gpualign.scores``: numbers of all pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack, overload

from gpualign.align.matrix.backends import answer, backend_of_distances, backend_of_scores, check_dtype
from gpualign.align.matrix.cpu import Report
from gpualign.align.matrix.foreign import device_array
from gpualign.align.matrix.lcs import lcs_scores
from gpualign.align.matrix.params import SCORE_MODES, Alphabet, DistanceMode, DistanceParams, ScoreMode
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.results import NearestPairs, PairMatrix, Result, SparsePairs
from gpualign.align.matrix.scores import Scores, ScoreSelection
from gpualign.align.matrix.symbols import SymbolSet, symbols_of
from gpualign.align.score.params import PairwiseParams
from gpualign.errors import UsageError
from gpualign.fields import takes_keywords
from gpualign.params import RunOptions


class _Settings(TypedDict, total=False):
    out: Any
    dtype: Any
    device: str
    threads: int
    progress: Report | None


class DistanceSettings(_Settings, total=False):
    """Arguments of :func:`distances` besides the arguments that decide its result's type."""

    mode: DistanceMode
    max_errors: int | None
    error_rate: float | None
    alphabet: Alphabet


class ScoreSettings(_Settings, total=False):
    """Arguments of :func:`scores` that are checked the same way."""

    mode: ScoreMode
    match: int
    mismatch: int
    matrix: str | None
    gap_open: int
    gap_extend: int | None
    free_ends: Iterable[str] | None
    min_score: float | None


@overload
def distances(
    queries: Any,
    targets: Any = ...,
    *,
    nearest: int,
    sparse: Literal[False] = ...,
    **settings: Unpack[DistanceSettings],
) -> NearestPairs: ...


@overload
def distances(
    queries: Any,
    targets: Any = ...,
    *,
    nearest: None = ...,
    sparse: Literal[True],
    **settings: Unpack[DistanceSettings],
) -> SparsePairs: ...


@overload
def distances(
    queries: Any,
    targets: Any = ...,
    *,
    nearest: None = ...,
    sparse: Literal[False] = ...,
    **settings: Unpack[DistanceSettings],
) -> PairMatrix: ...


@takes_keywords()
def distances(
    queries: Any,
    targets: Any = None,
    *,
    mode: DistanceMode = DistanceParams.mode,
    max_errors: int | None = None,
    error_rate: float | None = None,
    nearest: int | None = None,
    sparse: bool = False,
    alphabet: Alphabet = DistanceParams.alphabet,
    out: Any = None,
    dtype: Any = None,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: Report | None = None,
) -> Result:
    """Distances of all pairs of two sets of sequences, or of one with itself.

    >>> distances(["GATTACA", "TACA"], ["GATACA", "TTACCA"]).values.tolist()
    [[1, 3], [2, 2]]
    >>> pairs = distances(["kitten", "sitting", "mitten"], max_errors=3, sparse=True)
    >>> pairs.query.tolist(), pairs.target.tolist(), pairs.value.tolist()
    ([0, 0, 1], [1, 2, 2], [3, 1, 3])
    >>> best = distances(["straße"], ["strasse", "Straße", "gasse"], nearest=2)
    >>> best.target.tolist(), best.value.tolist()
    ([[1, 0]], [[1, 2]])

    Without a limit distances are exact whatever their size (Myers 1999; of long pairs Ukkonen's band is widened until
    it holds the answer). A single pair of up to 16,384 symbols is computed on the host, which is done before a GPU has
    it.

    Args:
        queries, targets: a file of sequences, or sequences: a list of str (by code points), bytes, arrays of numbers or
            Biopython's Seq and SeqRecord; a (n, length) array, also of bytes on a GPU; a batch of
            :func:`read_sequences`. ``targets`` None: the queries with each other.
        mode: "global", "prefix", "infix" (the query against all of the target, its beginning, or any part), or "indel"
            (insertions and deletions alone, n + m - 2 LCS).
        max_errors: maximum errors of interest; None: all.
        error_rate: the same as a share of the longer sequence (of the query in modes prefix and infix), rounded down.
        nearest: return this many best targets of each query (not itself) instead of a matrix.
        sparse: return a list of the pairs within the limit instead.
        alphabet: "any": symbols are compared as they are; "nucleotide": in either case, U as T, and only A, C, G and T
            are equal to anything.
        out: an array for the matrix, (queries, targets) of numbers; on a GPU (``__cuda_array_interface__`` or DLPack)
            of int32, which is then filled without a copy through the host. Work on arrays there must be done.
        dtype: of a matrix, a NumPy type of numbers instead of int32.
        device: "auto", "cpu", "cuda", "cuda:0,1". A device stays open for later calls.
        threads: host threads; 0: all cores.
        progress: called with the number of queries done, and their total number.

    Returns:
        :class:`PairMatrix`, :class:`NearestPairs` or :class:`SparsePairs`; numbers of sequences count from 0.

    Raises:
        UsageError: a parameter out of range, input that is not sequences, a matrix that the memory cannot hold, numbers
            that ``dtype`` cannot have.
        InputError: a file that cannot be read; a character that is not a nucleotide code.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = DistanceParams(
        nearest=nearest, sparse=sparse, mode=mode, max_errors=max_errors, error_rate=error_rate, alphabet=alphabet
    )
    check_dtype(dtype, out, params.dense)
    problem = Distances.of(params, symbols_of(queries), _others(targets))
    array = device_array(out)
    backend = backend_of_distances(problem, RunOptions.of_api(device, threads), progress, array is not None)
    result = answer(backend, params, (len(problem.queries), len(problem.targets)), out, array, dtype=dtype)
    return replace(result, limited=params.limited) if isinstance(result, PairMatrix) else result


@overload
def scores(
    queries: Any, targets: Any = ..., *, nearest: int, sparse: Literal[False] = ..., **settings: Unpack[ScoreSettings]
) -> NearestPairs: ...


@overload
def scores(
    queries: Any, targets: Any = ..., *, nearest: None = ..., sparse: Literal[True], **settings: Unpack[ScoreSettings]
) -> SparsePairs: ...


@overload
def scores(
    queries: Any,
    targets: Any = ...,
    *,
    nearest: None = ...,
    sparse: Literal[False] = ...,
    **settings: Unpack[ScoreSettings],
) -> PairMatrix: ...


@takes_keywords()
def scores(
    queries: Any,
    targets: Any = None,
    *,
    mode: ScoreMode = "global",
    match: int = PairwiseParams.match,
    mismatch: int = PairwiseParams.mismatch,
    matrix: str | None = None,
    gap_open: int = PairwiseParams.gap_open,
    gap_extend: int | None = None,
    free_ends: Iterable[str] | None = None,
    min_score: float | None = None,
    nearest: int | None = None,
    sparse: bool = False,
    out: Any = None,
    dtype: Any = None,
    device: str = RunOptions.device,
    threads: int = RunOptions.threads,
    progress: Report | None = None,
) -> Result:
    """Alignment scores of all pairs of two sets of sequences, or of one with itself.

    >>> scores(["GATTACA"], ["GATACA", "CCC"], match=1, mismatch=-1, gap_open=1, gap_extend=1).values.tolist()
    [[5, -5]]
    >>> scores(["GATTACA"], ["GATACA", "CCC"], mode="lcs").values.tolist()
    [[6, 1]]
    >>> best = scores(["HEAGAWGHEE", "PAWHEAE"], matrix="BLOSUM62", mode="local", nearest=1)
    >>> best.target.tolist(), best.value.tolist()
    ([[1], [0]], [[18], [18]])

    Args:
        queries, targets: as for :func:`distances`; with a matrix symbols that it does not know are refused.
        mode: "global" (Needleman and Wunsch 1970, Gotoh 1982), "semi-global" (gaps at the ends are free), "local"
            (Smith and Waterman 1981), or "lcs": the length of the longest common subsequence, of any symbols.
        match, mismatch: scores of nucleotides; penalties may be written with or without a minus.
        matrix: name or path of a substitution matrix instead.
        gap_open, gap_extend: penalties of a gap's first and of its further symbols; ``gap_extend`` None: as
            ``gap_open``, linear gaps.
        free_ends: which ends are free in semi-global mode (see :func:`pairwise`); None: all four.
        min_score: minimum score of interest, with ``nearest`` and ``sparse``.
        nearest: return this many best targets of each query (not itself) instead of a matrix.
        sparse: return a list of the pairs that reach ``min_score`` instead.
        out, dtype, device, threads, progress: as for :func:`distances`.

    Returns:
        :class:`PairMatrix`, :class:`NearestPairs` or :class:`SparsePairs`; scores are int32, in the matrix's units
        (float64 where it has decimals).

    Raises:
        as :func:`distances`; InputError: a symbol that the scoring does not know.
    """
    selection = ScoreSelection(nearest=nearest, sparse=sparse, min_score=min_score)
    check_dtype(dtype, out, selection.dense)
    options = RunOptions.of_api(device, threads)
    if mode == "lcs":
        return lcs_scores(selection, symbols_of(queries), _others(targets), out, options, progress, dtype)
    if mode not in SCORE_MODES:
        raise UsageError(f"mode must be one of {', '.join(SCORE_MODES)}, not {mode!r}")
    params = PairwiseParams(
        mode=mode,
        match=match,
        mismatch=mismatch,
        matrix=matrix,
        gap_open=gap_open,
        gap_extend=gap_open if gap_extend is None else gap_extend,
        free_ends=free_ends,  # type: ignore[arg-type]
        score_only=True,
    )
    problem = Scores.of(selection, params, symbols_of(queries), _others(targets), options)
    array, scale = device_array(out), problem.aligned.scoring.scale
    if array is not None and scale != 1:
        raise UsageError("scores of a matrix with decimals are float64: out cannot be on a GPU")
    backend = backend_of_scores(problem, options, progress, array is not None)
    return answer(backend, selection, (len(problem.queries), len(problem.targets)), out, array, scale, dtype)


def _others(targets: Any) -> SymbolSet | None:
    return None if targets is None else symbols_of(targets)
