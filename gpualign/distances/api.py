"""``gpualign.distances`` and ``gpualign.scores``: numbers of all pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from gpualign.distances import tuning
from gpualign.distances.cpu import CpuDistances, Report
from gpualign.distances.device.run import DeviceDistances
from gpualign.distances.device.scores import score_rows_on_devices
from gpualign.distances.device.session import backend_for
from gpualign.distances.foreign import DeviceArray, device_array
from gpualign.distances.params import SCORE_MODES, Alphabet, DistanceMode, DistanceParams, ScoreMode
from gpualign.distances.problem import Distances
from gpualign.distances.results import NearestPairs, PairMatrix, Result, SparsePairs
from gpualign.distances.scores import (
    Rows,
    ScoreSelection,
    nearest_scores,
    score_problem,
    score_rows_on_cpu,
    scores_from,
)
from gpualign.distances.symbols import SymbolSet, symbols_of
from gpualign.engine.cuda import CudaBackend
from gpualign.engine.work import Work
from gpualign.errors import UsageError
from gpualign.io.in_memory import run_options
from gpualign.pairwise.cpu import PairProblem
from gpualign.pairwise.params import PairwiseParams
from gpualign.pairwise.tuning import work_of
from gpualign.params import RunOptions

_ON_DEVICE = "arrays on a GPU need that GPU: give device, such as cuda:0, and sequences of up to 32,768 symbols"


@overload
def distances(
    queries: Any,
    targets: Any = ...,
    *,
    mode: DistanceMode = ...,
    max_errors: int | None = ...,
    error_rate: float | None = ...,
    nearest: int,
    sparse: Literal[False] = ...,
    alphabet: Alphabet = ...,
    out: Any = ...,
    device: str = ...,
    threads: int = ...,
    progress: Report | None = ...,
) -> NearestPairs: ...


@overload
def distances(
    queries: Any,
    targets: Any = ...,
    *,
    mode: DistanceMode = ...,
    max_errors: int | None = ...,
    error_rate: float | None = ...,
    nearest: None = ...,
    sparse: Literal[True],
    alphabet: Alphabet = ...,
    out: Any = ...,
    device: str = ...,
    threads: int = ...,
    progress: Report | None = ...,
) -> SparsePairs: ...


@overload
def distances(
    queries: Any,
    targets: Any = ...,
    *,
    mode: DistanceMode = ...,
    max_errors: int | None = ...,
    error_rate: float | None = ...,
    nearest: None = ...,
    sparse: Literal[False] = ...,
    alphabet: Alphabet = ...,
    out: Any = ...,
    device: str = ...,
    threads: int = ...,
    progress: Report | None = ...,
) -> PairMatrix: ...


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
    device: str = "auto",
    threads: int = 0,
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

    Without a limit distances are exact whatever their size (Myers 1999; of long pairs Ukkonen's band is doubled until
    it holds the answer).

    Args:
        queries, targets: a file of sequences, or sequences: a list of str (by code points), bytes, arrays of numbers or
            Biopython's Seq and SeqRecord; a (n, length) array, also of bytes on a GPU; a batch of
            :func:`read_sequences`. ``targets`` None: the queries with each other.
        mode: "global", "prefix", "infix" (the query against all of the target, its beginning, or any part), or "indel"
            (insertions and deletions alone, n + m - 2 LCS).
        max_errors: most errors of interest; None: all.
        error_rate: the same as a share of the longer sequence (of the query in modes prefix and infix), rounded down.
        nearest: give so many best targets of each query (not itself) instead of a matrix.
        sparse: give a list of the pairs within the limit instead.
        alphabet: "any": symbols are compared as they are; "nucleotide": in either case, U as T, and only A, C, G and T
            are equal to anything.
        out: an array for the matrix, (queries, targets) of numbers; on a GPU (``__cuda_array_interface__`` or DLPack)
            of int32, which is then filled without a copy through the host. Work on arrays there must be done.
        device: "auto", "cpu", "cuda", "cuda:0,1". A device stays open for later calls.
        threads: host threads; 0: all cores.
        progress: called with how many queries are done, and of how many.

    Returns:
        :class:`PairMatrix`, :class:`NearestPairs` or :class:`SparsePairs`; numbers of sequences count from 0.

    Raises:
        UsageError: a parameter out of range, or what are no sequences.
        InputError: a file that cannot be read; a letter that is no nucleotide code.
        DeviceError: a GPU was asked for and cannot be used.
    """
    params = DistanceParams(
        nearest=nearest, sparse=sparse, mode=mode, max_errors=max_errors, error_rate=error_rate, alphabet=alphabet
    )
    if out is not None and not params.dense:
        raise UsageError("out is for a matrix: leave out nearest and sparse")
    problem = Distances.of(params, symbols_of(queries), None if targets is None else symbols_of(targets))
    array = device_array(out)
    way = _way(problem, run_options(device, threads), progress, array is not None)
    if params.nearest is not None:
        return way.nearest(params.nearest)
    if params.sparse:
        return way.sparse()
    shape = len(problem.queries), len(problem.targets)
    if array is not None:
        _check_shape(array, shape)
        if not isinstance(way, DeviceDistances):
            raise UsageError(_ON_DEVICE)
        way.matrix_on_device(array)
        return PairMatrix(out)
    values = _room(out, shape)
    way.matrix(values)
    if out is None or values is out:
        return PairMatrix(values)
    np.copyto(out, values, casting="unsafe")
    return PairMatrix(out)


@overload
def scores(
    queries: Any,
    targets: Any = ...,
    *,
    mode: ScoreMode = ...,
    match: int = ...,
    mismatch: int = ...,
    matrix: str | None = ...,
    gap_open: int = ...,
    gap_extend: int | None = ...,
    free_ends: Iterable[str] | None = ...,
    min_score: float | None = ...,
    nearest: int,
    sparse: Literal[False] = ...,
    out: Any = ...,
    device: str = ...,
    threads: int = ...,
    progress: Report | None = ...,
) -> NearestPairs: ...


@overload
def scores(
    queries: Any,
    targets: Any = ...,
    *,
    mode: ScoreMode = ...,
    match: int = ...,
    mismatch: int = ...,
    matrix: str | None = ...,
    gap_open: int = ...,
    gap_extend: int | None = ...,
    free_ends: Iterable[str] | None = ...,
    min_score: float | None = ...,
    nearest: None = ...,
    sparse: Literal[True],
    out: Any = ...,
    device: str = ...,
    threads: int = ...,
    progress: Report | None = ...,
) -> SparsePairs: ...


@overload
def scores(
    queries: Any,
    targets: Any = ...,
    *,
    mode: ScoreMode = ...,
    match: int = ...,
    mismatch: int = ...,
    matrix: str | None = ...,
    gap_open: int = ...,
    gap_extend: int | None = ...,
    free_ends: Iterable[str] | None = ...,
    min_score: float | None = ...,
    nearest: None = ...,
    sparse: Literal[False] = ...,
    out: Any = ...,
    device: str = ...,
    threads: int = ...,
    progress: Report | None = ...,
) -> PairMatrix: ...


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
    device: str = "auto",
    threads: int = 0,
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
        queries, targets: as for :func:`distances`; with a matrix letters that it does not know are refused.
        mode: "global" (Needleman and Wunsch 1970, Gotoh 1982), "semi-global" (gaps at the ends are free), "local"
            (Smith and Waterman 1981), or "lcs": the length of the longest common subsequence, of any symbols.
        match, mismatch: scores of nucleotides.
        matrix: name or path of a substitution matrix instead.
        gap_open, gap_extend: positive penalties of a gap's first and of its further symbols; ``gap_extend`` None: as
            ``gap_open``, linear gaps.
        free_ends: which ends are free in semi-global mode (see :func:`pairwise`); None: all four.
        min_score: least score of interest, with ``nearest`` and ``sparse``.
        nearest: give so many best targets of each query (not itself) instead of a matrix.
        sparse: give a list of the pairs that reach ``min_score`` instead.
        out, device, threads, progress: as for :func:`distances`.

    Returns:
        :class:`PairMatrix`, :class:`NearestPairs` or :class:`SparsePairs`; scores are int32, in the matrix's units
        (float64 where it has decimals).

    Raises:
        as :func:`distances`; InputError: a letter that the scoring does not know.
    """
    selection = ScoreSelection(nearest=nearest, sparse=sparse, min_score=min_score)
    if out is not None and not selection.dense:
        raise UsageError("out is for a matrix: leave out nearest and sparse")
    options = run_options(device, threads)
    if mode == "lcs":
        return _lcs_scores(selection, symbols_of(queries), targets, out, options, progress)
    if mode not in SCORE_MODES:
        raise UsageError(f"mode must be one of {', '.join(SCORE_MODES)}, not {mode!r}")
    params = PairwiseParams(
        mode=mode,
        match=match,
        mismatch=mismatch,
        matrix=matrix,
        gap_open=gap_open,
        gap_extend=gap_open if gap_extend is None else gap_extend,
        free_ends=None if free_ends is None else frozenset(free_ends),
        score_only=True,
    )
    problem = score_problem(params, symbols_of(queries), None if targets is None else symbols_of(targets), options)
    rows = _reported(_score_rows(problem, options), len(problem.queries[0]), progress)
    scale, with_itself = problem.scoring.scale, problem.targets is problem.queries[0]
    shape = len(problem.queries[0]), len(problem.targets)
    return _selected(selection, rows, shape, with_itself, scale, out)


def _lcs_scores(
    selection: ScoreSelection, queries: SymbolSet, targets: Any, out: Any, options: RunOptions, progress: Report | None
) -> Result:
    others = None if targets is None else symbols_of(targets)
    problem = Distances.of(DistanceParams(mode="indel"), queries, others)
    shape = len(problem.queries), len(problem.targets)
    values = np.empty(shape, np.int32)
    _way(problem, options, progress).matrix(values)
    np.subtract(problem.queries.lengths[:, None], values, out=values, casting="unsafe")
    values += problem.targets.lengths.astype(np.int32)
    values //= 2
    return _selected(selection, iter([(0, values)]), shape, problem.with_itself, 1, out)


def _score_rows(problem: PairProblem, options: RunOptions) -> Iterator[Rows]:
    lengths = np.concatenate([problem.query_lengths, problem.target_lengths])
    if options.device != "cpu" and lengths.all() and lengths.max(initial=0) <= tuning.LONGEST:
        cells = float(len(problem.queries[0].codes)) * float(len(problem.targets.codes))
        backend = backend_for(options, work_of(cells, problem.gap_open > problem.gap_extend, traced=False))
        if isinstance(backend, CudaBackend):
            return score_rows_on_devices(problem, backend.devices)
    return score_rows_on_cpu(problem, options.threads)


def _reported(rows: Iterator[Rows], total: int, progress: Report | None) -> Iterator[Rows]:
    for first, values in rows:
        yield first, values
        if progress is not None:
            progress(first + len(values), total)


def _selected(
    selection: ScoreSelection, rows: Iterator[Rows], shape: tuple[int, int], with_itself: bool, scale: int, out: Any
) -> Result:
    least = -np.inf if selection.min_score is None else selection.min_score * scale
    if selection.nearest is not None:
        best = nearest_scores(rows, shape[0], selection.nearest, with_itself, least)
        return best if scale == 1 else NearestPairs(best.target, np.where(best.target < 0, -1, best.value / scale))
    if selection.sparse:
        pairs = scores_from(rows, with_itself, least)
        return pairs if scale == 1 else SparsePairs(pairs.query, pairs.target, pairs.value / scale)
    values = np.empty(shape, np.int32 if scale == 1 else np.float64) if out is None else out
    if out is not None:
        _room(out, shape)
    for first, block in rows:
        values[first : first + len(block)] = block if scale == 1 else block / scale
    return PairMatrix(values)


def _way(
    problem: Distances, options: RunOptions, progress: Report | None, to_device: bool = False
) -> CpuDistances | DeviceDistances:
    """The CPU, or devices where they are asked for or worth it, and suit."""
    on_device = to_device or problem.queries.on_device or problem.targets.on_device
    if options.device != "cpu" and max(problem.queries.longest, problem.targets.longest) <= tuning.LONGEST:
        backend = backend_for(options, Work.of(tuning.KERNELS, None if on_device else problem.cells))
        if isinstance(backend, CudaBackend) and (narrow := problem.narrowed()) is not None:
            return DeviceDistances(narrow, backend.devices[:1] if on_device else backend.devices, progress)
    if on_device:
        raise UsageError(_ON_DEVICE)
    return CpuDistances(problem, options.threads, progress)


def _check_shape(array: DeviceArray, shape: tuple[int, int]) -> None:
    if array.shape != shape or array.dtype != np.int32:
        raise UsageError(f"out on a GPU must be int32 of shape {shape}")


def _room(out: Any, shape: tuple[int, int]) -> NDArray[np.int32]:
    """``out`` where values can go there at once, else an array of its shape."""
    if out is None:
        return np.empty(shape, np.int32)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype.kind not in "iuf" or not out.flags.writeable:
        raise UsageError(f"out must be an array of numbers of shape {shape}")
    return out if out.dtype == np.int32 and out.flags.c_contiguous else np.empty(shape, np.int32)
