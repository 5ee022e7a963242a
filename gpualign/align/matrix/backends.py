"""Chooses the CPU or devices for a problem, and selects the results that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.matrix import tuning
from gpualign.align.matrix.cpu import CpuDistances, Report
from gpualign.align.matrix.device.run import OnDevices, distances_on, scores_on
from gpualign.align.matrix.device.session import backend_for
from gpualign.align.matrix.foreign import DeviceArray
from gpualign.align.matrix.params import Selection
from gpualign.align.matrix.problem import Distances
from gpualign.align.matrix.results import NearestPairs, PairMatrix, Result, SparsePairs
from gpualign.align.matrix.scores import CpuScores, Scores
from gpualign.align.score.tuning import work_of
from gpualign.errors import UsageError
from gpualign.params import RunOptions, available_memory
from gpualign.run.gpu.device import Device
from gpualign.run.select import Work

#: bytes of matrices that are not worth a look at the free memory
_SMALL = 1 << 26
_ON_DEVICE = (
    "arrays on a GPU need that GPU: give device, such as cuda:0; scores, and distances in modes prefix and infix, have "
    "up to 32,768 symbols there"
)


def answer(
    backend: Any,
    selection: Selection,
    shape: tuple[int, int],
    out: Any,
    array: DeviceArray | None,
    scale: int = 1,
    dtype: Any = None,
) -> Result:
    """The selected results, computed by ``backend``.

    Args:
        scale: units that make 1.0.
        dtype: of a matrix; None: int32, or float64 with ``scale``.
    """
    if selection.nearest is not None:
        best: NearestPairs = backend.nearest(selection.nearest)
        return best if scale == 1 else NearestPairs(best.target, np.where(best.target < 0, -1, best.value / scale))
    if selection.sparse:
        pairs: SparsePairs = backend.sparse()
        return pairs if scale == 1 else SparsePairs(pairs.query, pairs.target, pairs.value / scale)
    if array is not None:
        _check_shape(array, shape)
        if not isinstance(backend, OnDevices):
            raise UsageError(_ON_DEVICE)
        backend.matrix_on_device(array)
        return PairMatrix(out)
    values: NDArray[Any] = _output(out, shape) if scale == 1 else matrix_of(shape)
    backend.matrix(values)
    return delivered(values if scale == 1 else values / scale, out, dtype)


def delivered(values: NDArray[Any], out: Any, dtype: Any) -> PairMatrix:
    """A matrix in ``out`` or of a ``dtype``.

    Raises:
        UsageError: it cannot have the numbers.
    """
    if out is None and dtype is None:
        return PairMatrix(values)
    if out is not None and (values is out or checked(out, values.shape) is not out):
        return PairMatrix(out)
    kind = np.dtype(dtype) if out is None else out.dtype
    if kind.kind in "iu":
        if values.dtype.kind == "f" and out is None:
            raise UsageError(f"these scores have decimals, which {kind} cannot have")
        least, most = (values.min(initial=0), values.max(initial=0))
        if least < np.iinfo(kind).min or most > np.iinfo(kind).max:
            raise UsageError(f"numbers from {least:,} to {most:,} do not fit {kind} (give another dtype)")
    if out is None:
        return PairMatrix(values.astype(kind, copy=False))
    np.copyto(out, values, casting="unsafe")
    return PairMatrix(out)


def check_dtype(dtype: Any, out: Any, dense: bool) -> None:
    """Raises UsageError: ``out`` and ``dtype`` are not for this result, or it is not a type of numbers."""
    if (out is not None or dtype is not None) and not dense:
        raise UsageError(f"{'dtype' if out is None else 'out'} is for a matrix: leave out nearest and sparse")
    if out is not None and dtype is not None:
        raise UsageError("out has its own dtype: give one or the other")
    try:
        known = dtype is None or np.dtype(dtype).kind in "iuf"
    except TypeError:
        known = False
    if not known:
        raise UsageError(f"dtype must be a type of numbers, such as numpy.int16, not {dtype!r}")


def matrix_of(shape: tuple[int, int]) -> NDArray[np.int32]:
    """An int32 array for the numbers of all pairs.

    Raises:
        UsageError: there is not enough memory.
    """
    size = 4 * shape[0] * shape[1]
    if size > _SMALL and size > (free := available_memory()):
        pairs = f"{shape[0]:,} × {shape[1]:,} numbers"
        raise UsageError(
            f"a matrix of {pairs} takes {size / 2**30:,.1f} GiB, and {free / 2**30:,.1f} GiB are free (give nearest=N, "
            "or sparse=True with a limit)"
        )
    return np.empty(shape, np.int32)


def backend_of_distances(
    problem: Distances, options: RunOptions, progress: Report | None, to_device: bool = False
) -> CpuDistances | OnDevices[Distances]:
    """The CPU, or devices that suit, where they are asked for or save time."""
    on_device = to_device or problem.queries.on_device or problem.targets.on_device
    longest = max(problem.queries.longest, problem.targets.longest)
    suited = longest <= tuning.LONGEST or problem.params.symmetric
    # the host is done before a device has the pair
    hosts = problem.params.mode == "global" and problem.pairs == 1 and longest <= tuning.HOSTS_PAIR and not on_device
    devices = _devices(options, suited, Work.of(tuning.KERNELS, None if on_device else problem.cells), on_device)
    if devices and not hosts and (narrow := problem.narrowed()) is not None:
        return distances_on(narrow, devices, progress)
    if on_device:
        raise UsageError(_ON_DEVICE)
    return CpuDistances(problem, options.threads, progress)


def backend_of_scores(
    problem: Scores, options: RunOptions, progress: Report | None, to_device: bool
) -> CpuScores | OnDevices[Scores]:
    on_device = to_device or problem.queries.on_device or problem.targets.on_device
    suited = max(problem.queries.longest, problem.targets.longest) <= tuning.LONGEST
    affine = problem.aligned.gap_open > problem.aligned.gap_extend
    devices = _devices(options, suited, work_of(None if on_device else problem.cells, affine, traced=False), on_device)
    if devices:
        return scores_on(problem, devices, progress)
    if on_device:
        raise UsageError(_ON_DEVICE)
    return CpuScores(problem, options.threads, progress)


def _devices(options: RunOptions, suited: bool, work: Work, on_device: bool) -> Sequence[Device]:
    """Open devices for work that suits them; the first alone for what lies on it; none where the CPU is to compute."""
    if options.device == "cpu" or not suited:
        return ()
    devices = backend_for(options, work).devices
    return devices[:1] if on_device else devices


def _check_shape(array: DeviceArray, shape: tuple[int, int]) -> None:
    if array.shape != shape or array.dtype != np.int32:
        raise UsageError(f"out on a GPU must be int32 of shape {shape}")


def _output(out: Any, shape: tuple[int, int]) -> NDArray[np.int32]:
    """``out`` where values can go there at once, else an array of its shape."""
    if out is None:
        return matrix_of(shape)
    values: NDArray[np.int32] = checked(out, shape)
    return values if out.dtype == np.int32 and out.flags.c_contiguous else matrix_of(shape)


def checked(out: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """``out`` where it is an array of that shape.

    Raises:
        UsageError: it is not.
    """
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype.kind not in "iuf" or not out.flags.writeable:
        raise UsageError(f"out must be an array of numbers of shape {shape}")
    return out
