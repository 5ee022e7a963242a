"""A Dask cluster of two workers, and what is mapped on it."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gpualign.engine.stage import Stage
from gpualign.params import RunOptions
from tests.conftest import EXAMPLES

if TYPE_CHECKING:
    from gpualign.engine.cluster.backend import ClusterBackend

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
        from gpualign.engine.cluster.connect import OWN

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


@pytest.fixture(scope="package")
def running() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.dask.close(timeout=20)


@pytest.fixture
def cluster(running: Cluster) -> Cluster:
    running.settle()
    return running


@pytest.fixture
def backend(cluster: Cluster) -> Iterator[ClusterBackend]:
    from gpualign.engine.cluster.backend import ClusterBackend

    with ClusterBackend(RunOptions(cluster=cluster.address, quiet=True), "test") as backend:
        yield backend


def squares(seconds: float = 0.0) -> Stage[int, int]:
    def square(item: int) -> int:
        time.sleep(seconds)
        return item * item

    return Stage(square, lambda device: None)  # type: ignore[arg-type,return-value]


@pytest.fixture(scope="package")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    with gzip.open(EXAMPLES / "SRR059298_25k.fastq.gz", "rt") as file:
        lines = [file.readline() for _ in range(4 * 2000)]
    (folder / "reads.fq").write_text("".join(lines))
    (folder / "reads.fq.gz").write_bytes(gzip.compress("".join(lines).encode()))
    reads = [(lines[i][1:].split()[0], lines[i + 1].strip()) for i in range(0, len(lines), 4)]
    (folder / "few.fa").write_text("".join(f">{name}\n{text}\n" for name, text in reads[:60]))
    (folder / "query.fa").write_text(">q\n" + reads[3][1] + "\n")
    genomes = (EXAMPLES / "genomes.fa").read_text().split(">")[1:]
    (folder / "long.fa").write_text(">long\n" + "".join("".join(g.split("\n")[1:]) for g in genomes) * 3 + "\n")
    names = [genome.split()[0] for genome in genomes]
    rows = [f"{reads[i][0]}\t{names[i % len(names)]}\t{1 + 7 * i}\t{200 + 7 * i}\n" for i in range(500)]
    (folder / "candidates.tsv").write_text("".join(rows))
    return {path.name: path for path in folder.iterdir()} | {"genomes.fa": EXAMPLES / "genomes.fa"}


def without_program_line(output: bytes) -> bytes:
    return b"".join(line for line in output.splitlines(keepends=True) if not line.startswith(b"@PG"))


@pytest.fixture
def separate(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A scheduler with a worker as a user would start them, known by its file."""
    file = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen(
        [*DASK, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file], **QUIET
    )
    worker = subprocess.Popen(
        [*DASK, "worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard"], **QUIET
    )
    yield file, scheduler
    for process in (worker, scheduler):
        process.kill()
        process.wait()
