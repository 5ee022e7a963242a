"""A Dask cluster of two workers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from gpualign.run.stage import Stage

#: a loaded machine starts a process in seconds
PATIENCE_S = 120.0
#: for workers that were killed by the test before
SETTLING_S = 40.0
#: a scheduler or worker as a user would start it
DASK = [sys.executable, "-m", "dask"]
QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
#: sockets of Dask's that a killed worker leaves to the garbage collector
KILLED = [
    pytest.mark.filterwarnings(r"ignore:unclosed <socket\.socket:ResourceWarning"),
    pytest.mark.filterwarnings(r"ignore:(?s).*unclosed <socket\.socket:pytest.PytestUnraisableExceptionWarning"),
]


class Cluster:
    """Two workers of one thread, in processes that start again when they are killed."""

    def __init__(self) -> None:
        dask = pytest.importorskip("dask")
        distributed = pytest.importorskip("distributed")
        from gpualign.run.dask.connect import OWN

        # that long Dask looks for a worker that was killed
        dask.config.set({**OWN, "distributed.comm.timeouts.connect": "5s"})
        self._start = lambda: distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0", silence_logs=50
        )
        self.dask = self._start()

    @property
    def address(self) -> str:
        return str(self.dask.scheduler_address)

    def pids(self) -> list[int]:
        return [nanny.pid for nanny in self.dask.workers.values() if nanny.pid]

    def kill(self, count: int = 1) -> None:
        for pid in self.pids()[:count]:
            os.kill(pid, signal.SIGKILL)

    def settle(self) -> None:
        """Wait until two workers are there, and those that were killed are gone.

        A nanny of Dask's whose worker is killed a second time just as it starts can lose it for good: then begin anew.
        """
        self.dask.scale(2)
        if not self._settles(SETTLING_S):
            self.dask.close(timeout=20)
            self.dask = self._start()
            assert self._settles(PATIENCE_S)

    def _settles(self, patience_s: float) -> bool:
        end = time.monotonic() + patience_s
        while not self._settled():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def _settled(self) -> bool:
        known = set(self.dask.scheduler.workers)  # what the cluster's own list says is seconds old
        return len(known) == 2 and known == {nanny.worker_address for nanny in self.dask.workers.values()}


def squares(seconds: float = 0.0) -> Stage[int, int]:
    def square(item: int) -> int:
        time.sleep(seconds)
        return item * item

    return Stage(square, lambda device: None)  # type: ignore[arg-type,return-value]
