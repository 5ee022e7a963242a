"""Divides pairs into the tasks of warps: one query and some targets (LazyTask of ``cuda/abi/pairwise.hpp``)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpualign.run.abi import struct
from gpualign.sequences.offsets import offsets_of, positions_of
from gpualign.sequences.pairs import PairRuns

LAZY_TASK = struct("LazyTask")
WARP = 32


def run_tasks(runs: PairRuns, per_task: int) -> NDArray[np.void]:
    """Tasks of up to ``per_task`` pairs, whose targets follow each other."""
    tasks, run, done = _tasks_of(runs.query, offsets_of(runs.lengths), runs.lengths, per_task)
    tasks["target"] = runs.first[run] + done
    return tasks


def lazy_tasks(queries: NDArray[np.int32], per_task: int) -> NDArray[np.void]:
    """Tasks of up to ``per_task`` pairs; ``queries`` (p,) has equal ones together."""
    starts = np.concatenate([[0], np.flatnonzero(queries[1:] != queries[:-1]) + 1])
    return _tasks_of(queries[starts], starts, np.diff(starts, append=len(queries)), per_task)[0]


def _tasks_of(
    query: NDArray[np.int32], first: NDArray[np.int64], pairs: NDArray[np.int64], per_task: int
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.int64]]:
    """Tasks of runs of pairs, of which each has its run and how many of the run's pairs are before it."""
    pieces = -(-pairs // per_task)
    run = np.repeat(np.arange(len(pieces)), pieces)
    done = positions_of(0, pieces) * per_task
    tasks = np.zeros(len(run), LAZY_TASK)
    tasks["query"], tasks["first"] = query[run], first[run] + done
    tasks["count"] = np.minimum(per_task, pairs[run] - done)
    return tasks, run, done
