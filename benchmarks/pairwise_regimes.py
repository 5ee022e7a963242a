"""Which GPU kernel of `pairwise` is the fastest for which lengths and numbers of pairs, and which the planner chooses:
`python benchmarks/pairwise.py regimes`, and `long-regimes` from 10,000 symbols on.
"""

from __future__ import annotations

import itertools
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from families import write_family

if TYPE_CHECKING:
    from gpualign.run.cuda import CudaBackend

LENGTHS, LONG, COUNTS = (100, 300, 1000, 3000), (10_000, 30_000, 100_000), (2, 12, 64, 400, 1500)
#: cells of a row, at least, and at most without and with traceback
_MIN_CELLS, _MAX_CELLS = 1e6, (1.2e12, 4e11)
#: rounds of a row: at least, and at most in so many seconds; the first allocates memory on the device
_ROUNDS, _ROW_SECONDS = (2, 7), 0.3
#: a kernel so many times as slow as the best one is not run again; and one with a thread a pair, which falls behind as
#: sequences grow, not at all for as many longer ones
_NOT_AGAIN, _NOT_LONGER, _BY_THREADS = 5, 20, {"lazy", "rscan"}
#: TiledDScan aligns one pair after the other: only long ones, and few sequences
_FEW = 12
#: cells of a table that a thread can trace back
_MAX_CELLS_PER_THREAD = 1 << 27


def regimes(lengths: tuple[int, ...], seconds: float) -> list[dict[str, Any]]:
    """Kernel seconds of each kernel and of the planner's choice, by number of pairs, length and traceback: medians of
    rounds in which every one runs once, on a device that stays open. Rows that would begin after ``seconds`` are left
    out; the longest sequences come last.
    """
    from gpualign.run.cuda import CudaBackend
    from gpualign.run.gpu.device import list_devices

    rows: list[dict[str, Any]] = []
    hopeless: dict[tuple[bool, int], set[str]] = {
        (traced, count): set() for traced in (False, True) for count in COUNTS
    }
    deadline = time.perf_counter() + seconds
    with tempfile.TemporaryDirectory() as folder, CudaBackend(list_devices()[:1]) as backend:
        path = Path(folder) / "a.fa"
        for length, count, traced in itertools.product(lengths, COUNTS, (False, True)):
            if not _MIN_CELLS < count * (count - 1) / 2 * length**2 < _MAX_CELLS[traced]:
                continue
            if time.perf_counter() > deadline:
                break
            write_family(path, count, length, 1, 0.0, 0.3)
            kernels = {"rscan", "dscan", "tiled"} if traced else {"lazy", "tiled"}
            if traced and (length < LONG[0] or count > _FEW):
                kernels.discard("tiled")
            if length**2 > _MAX_CELLS_PER_THREAD:
                kernels.discard("rscan")
            slow = hopeless[traced, count]
            row = {"length": length, "pairs": count * (count - 1) // 2, "traceback": traced}
            rows.append(row | _measured(backend, path, sorted(kernels - slow), traced))
            best = _best(rows[-1], kernels)
            slow |= {kernel for kernel in _BY_THREADS & rows[-1].keys() if rows[-1][kernel] > _NOT_LONGER * best}
            print(json.dumps(rows[-1]), flush=True)
    return rows


def _best(row: dict[str, Any], kernels: set[str]) -> float:
    return min(float(row[kernel]) for kernel in kernels & row.keys())


def _measured(backend: CudaBackend, path: Path, kernels: list[str], traced: bool) -> dict[str, float]:
    """Kernel seconds of those and of the planner's choice, and its ratio to the best."""
    taken: dict[str, list[float]] = {kernel: [] for kernel in (*kernels, "auto")}
    minimum, maximum = _ROUNDS
    start = time.perf_counter()
    for number in range(maximum):
        if number >= minimum and time.perf_counter() - start > _ROW_SECONDS:
            break
        fastest = min((min(times) for times in taken.values() if times), default=0.0)
        for kernel, times in taken.items():
            if not times or times[0] <= _NOT_AGAIN * fastest:
                times.append(_kernel_seconds(backend, path, kernel, traced))
    medians = {kernel: round(statistics.median(times[1:] or times), 6) for kernel, times in taken.items()}
    best = _best(medians, set(kernels))
    return medians | {"auto_over_best": round(medians["auto"] / best, 3)}


def _kernel_seconds(backend: CudaBackend, path: Path, kernel: str, traced: bool) -> float:
    """Of all pairs of a file, as the command aligns them."""
    from gpualign.align.pair_inputs import PairFiles
    from gpualign.align.score.params import PairwiseParams
    from gpualign.align.score.problem import make_problem
    from gpualign.pairwise.run import align_all
    from gpualign.params import RunOptions
    from gpualign.report import Progress

    params, options = PairwiseParams(kernel=kernel, score_only=not traced), RunOptions(quiet=True)
    scoring = params.load_scoring()
    inputs = PairFiles(str(path)).read(scoring)
    problem = make_problem(params, options, scoring, inputs)
    timeline = backend.devices[0].timeline
    timeline.fold()
    before = timeline.kernel_s
    with Progress(options, "pair") as progress:
        for _ in align_all(problem, inputs.source, backend, progress):
            pass
    timeline.fold()
    return float(timeline.kernel_s - before)
