"""Commands on a Dask cluster of two workers: the same bytes, whatever happens to the workers."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpualign.backends.base import Stage
from gpualign.encoded import EncodedSequences
from gpualign.errors import GpualignError
from gpualign.gapsmis import PairBlock
from gpualign.params import RunOptions
from gpualign.workflows import pairwise
from tests.conftest import EXAMPLES

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from gpualign.cluster import backend as cluster_backend  # noqa: E402
from gpualign.cluster import connect  # noqa: E402
from gpualign.cluster.backend import ClusterBackend  # noqa: E402

pytestmark = [
    # sockets of Dask's that a killed worker leaves to the garbage collector
    pytest.mark.filterwarnings(r"ignore:unclosed <socket\.socket:ResourceWarning"),
    pytest.mark.filterwarnings(r"ignore:(?s).*unclosed <socket\.socket:pytest.PytestUnraisableExceptionWarning"),
]

#: a loaded machine starts a process in seconds
_PATIENCE_S = 120.0
Cli = Callable[..., tuple[int, bytes, str]]


class Cluster:
    """Two workers of one thread, in processes that start again when they are killed."""

    def __init__(self) -> None:
        dask.config.set(
            {"distributed.comm.timeouts.connect": "5s"}
        )  # that long Dask looks for a worker that was killed
        self.dask = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=":0", silence_logs=50
        )
        self.address: str = self.dask.scheduler_address

    def pids(self) -> list[int]:
        return [nanny.pid for nanny in self.dask.workers.values() if nanny.pid]

    def kill(self, count: int = 1) -> None:
        for pid in self.pids()[:count]:
            os.kill(pid, signal.SIGKILL)

    def settle(self, workers: int = 2) -> None:
        """Wait until so many workers are there."""
        self.dask.scale(workers)
        end = time.monotonic() + _PATIENCE_S
        while len(self.dask.scheduler_info["workers"]) != workers:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.fixture(scope="module")
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
    with ClusterBackend(RunOptions(cluster=cluster.address, quiet=True), "test") as backend:
        yield backend


def squares(seconds: float = 0.0) -> Stage[int, int]:
    def square(item: int) -> int:
        time.sleep(seconds)
        return item * item

    return Stage(square, lambda device: None)  # type: ignore[arg-type,return-value]


# -- the five commands


@pytest.fixture(scope="module")
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


COMMANDS = {
    "map": "map genomes.fa reads.fq --batch-size 20K",
    "map in one batch": "map genomes.fa reads.fq.gz",
    "verify": "verify genomes.fa reads.fq -c candidates.tsv --all --cigar --batch-size 4K",
    "verify records": "verify few.fa few.fa --strand both --batch-size 1K",
    "pairwise": "pairwise few.fa --strand both",
    "pairwise --id": "pairwise few.fa reads.fq --id 0.7 --blast6",
    "max gaps": "pairwise few.fa --max-gaps 2 --batch-size 4K",
    "max gaps, best": "pairwise few.fa query.fa --max-gaps 1 --best",
    "lcs-filter": "lcs-filter -q query.fa reads.fq -n 20 --strand both --subsequence --batch-size 10K",
    "lcs-filter stream": "lcs-filter -q query.fa reads.fq -n 0 --input-order --min-ratio 0.5 --fasta --batch-size 30K",
    "lcs-filter ties": "lcs-filter -q query.fa --multi-query reads.fq -n 3 --keep-ties --batch-size 10K",
    "lcs-filter lines": "lcs-filter -q query.fa --multi-query reads.fq -n 9 --lines --batch-size 30K",
    "mems": "mems -maxmatch -b -l 12 genomes.fa reads.fq --batch-size 10K",
    "mems of a long query": "mems -b -l 12 genomes.fa long.fa --batch-size 4K",
    "mums of a long query": "mems -mum -b -l 12 genomes.fa long.fa --batch-size 4K",
}


def _without_program_line(output: bytes) -> bytes:
    return b"".join(line for line in output.splitlines(keepends=True) if not line.startswith(b"@PG"))


@pytest.mark.parametrize("name", COMMANDS)
def test_same_bytes_as_one_machine(name: str, cluster: Cluster, inputs: dict[str, Path], cli: Cli) -> None:
    words = [str(inputs.get(word, word)) for word in COMMANDS[name].split()]
    alone, on_cluster = cli(*words), cli(*words, "--cluster", cluster.address)
    assert alone[0] == on_cluster[0] == 0, on_cluster[2]
    assert _without_program_line(alone[1]) == _without_program_line(on_cluster[1])
    assert len(alone[1]) > 0
    assert f"cluster {cluster.address}, 2 workers, 2 threads" in on_cluster[2]


def test_saved_index_is_read_by_the_workers(
    cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path
) -> None:
    index = tmp_path / "genomes.gpi"
    alone = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--save-index", index)
    on_cluster = cli("map", index, inputs["reads.fq"], "--cluster", cluster.address, "--batch-size", "30K")
    assert _without_program_line(alone[1]) == _without_program_line(on_cluster[1])


def test_local_cluster_of_the_command_itself(inputs: dict[str, Path], tmp_path: Path) -> None:
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "--batch-size", "50K"]
    program = [sys.executable, "-m", "gpualign"]
    alone = subprocess.run([*program, *words], capture_output=True, check=True)
    local = subprocess.run([*program, *words, "--cluster", "local:1"], capture_output=True, check=True)
    assert _without_program_line(alone.stdout) == _without_program_line(local.stdout)
    # what is said is ours alone
    assert all(line.startswith(b"gpualign map: ") for line in local.stderr.splitlines())


def test_malformed_input_keeps_its_place_and_exit_code(cluster: Cluster, cli: Cli, tmp_path: Path) -> None:
    reads = tmp_path / "bad.fq"
    reads.write_text("@a\nACGTACGT\n+\nIIIIIIII\n@b\nACGT\n+\nIII\n")
    code, _, message = cli(
        "map", EXAMPLES / "genomes.fa", reads, "-o", tmp_path / "out.sam", "--cluster", cluster.address
    )
    assert code == 3
    assert f"{reads}:" in message
    assert [path.name for path in tmp_path.iterdir()] == ["bad.fq"]


@pytest.mark.parametrize("options", [("--id", "0.6"), ("--max-gaps", 1, "--batch-size", "1K")])
def test_tiles_of_a_run_that_broke_off(
    options: tuple[object, ...], cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path, monkeypatch: Any
) -> None:
    """On a cluster, then on another kind of device, then with everything there; a worker is lost on the way."""
    monkeypatch.setattr(pairwise, "CPU_BLOCK", (64, 1 << 29))
    words = ["pairwise", inputs["few.fa"], *options]
    resume = [*words, "--resume", tmp_path / "tiles"]
    alone = cli(*words)[1]
    run = ClusterBackend.run
    given = 0

    def breaking(self: ClusterBackend, items: Any, stage: Any) -> Iterator[Any]:
        nonlocal given
        for given, result in enumerate(run(self, items, stage)):
            if given == 4:
                cluster.kill()
            if given == 9:
                raise GpualignError("the power is out")
            yield result

    monkeypatch.setattr(ClusterBackend, "run", breaking)
    code, out, message = cli(*resume, "--cluster", cluster.address)
    assert (code, out) == (1, alone[: len(out)])
    assert "the power is out" in message
    kept = {tile: tile.stat().st_mtime_ns for tile in (tmp_path / "tiles").glob("*.tile")}
    assert len(kept) == 9
    monkeypatch.setattr(ClusterBackend, "run", run)
    assert cli(*resume)[1] == alone
    assert {tile: tile.stat().st_mtime_ns for tile in kept} == kept
    tiles = sorted((tmp_path / "tiles").glob("*.tile"))
    for tile in (*tiles[3:6], *tiles[12:]):
        tile.unlink()
    tiles[8].write_bytes(tiles[8].read_bytes()[:-1])
    for _ in range(2):
        assert cli(*resume, "--cluster", cluster.address)[1] == alone
        assert sorted((tmp_path / "tiles").glob("*.tile")) == tiles
    assert cli(*resume, "--gapext", 2, "--cluster", cluster.address)[0] == 2


# -- workers that come, go and fail


@pytest.mark.parametrize("count", [1, 2])
def test_killed_workers_work_is_done_again(count: int, cluster: Cluster, backend: ClusterBackend) -> None:
    results = []
    for result in backend.run(range(60), squares(0.02)):
        results.append(result)
        if len(results) in (5, 25):
            cluster.kill(count)
    assert results == [item * item for item in range(60)]


def test_command_with_killed_workers_gives_the_same_bytes(
    cluster: Cluster, inputs: dict[str, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ClusterBackend.run

    def killing(self: ClusterBackend, items: Any, stage: Any) -> Iterator[Any]:
        for number, result in enumerate(run(self, items, stage)):
            if number in (3, 12):
                cluster.kill()
            yield result

    monkeypatch.setattr(ClusterBackend, "run", killing)
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "--batch-size", "4K"]
    alone, on_cluster = cli(*words), cli(*words, "--cluster", cluster.address)
    assert on_cluster[0] == 0, on_cluster[2]
    assert _without_program_line(alone[1]) == _without_program_line(on_cluster[1])


def test_late_worker_takes_its_share(cluster: Cluster, backend: ClusterBackend) -> None:
    for result in backend.run(range(100_000), squares(0.01)):
        if result == 0:
            cluster.dask.scale(3)
        if len(backend.batches) == 3:
            break
    assert len(backend.report()["workers"]) == 3


def test_a_task_that_fails_three_times_ends_the_run(cluster: Cluster, backend: ClusterBackend, tmp_path: Path) -> None:
    marks = str(tmp_path / "attempts")

    def fail(item: int) -> int:
        if item == 5:
            with open(marks, "a") as file:
                file.write("x")
            raise ValueError("five is not to my liking")
        return item

    stage: Stage[int, int] = Stage(fail, lambda device: None)  # type: ignore[arg-type,return-value]
    results: list[int] = []
    with pytest.raises(ValueError, match="five is not"):
        results.extend(backend.run(range(50), stage))
    assert results == list(range(len(results)))  # those of the task before the item that failed are not handed out
    assert len(results) <= 5
    assert Path(marks).read_text() == "xxx"
    # the cluster is as good as before
    assert list(backend.run(range(5), squares())) == [0, 1, 4, 9, 16]


def test_a_failing_command_leaves_nothing_half_written(
    cluster: Cluster, inputs: dict[str, Path], cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ClusterBackend.run

    def failing(self: ClusterBackend, items: Any, stage: Stage[Any, Any]) -> Iterator[Any]:
        def fail(item: Any) -> Any:
            raise RuntimeError("the disk is on fire")

        return run(self, items, Stage(fail, stage.make_kernel))

    monkeypatch.setattr(ClusterBackend, "run", failing)
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "-o", tmp_path / "out.sam"]
    code, _, message = cli(*words, "--cluster", cluster.address)
    assert code == 1
    assert "the disk is on fire" in message
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_kills_its_workers_ends_the_run(cluster: Cluster, backend: ClusterBackend) -> None:
    def murder(item: int) -> int:
        if item == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    stage: Stage[int, int] = Stage(murder, lambda device: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(GpualignError, match="lost"):
        list(backend.run(range(6), stage))


# -- a scheduler of its own


@pytest.fixture
def separate(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[bytes]]]:
    """A scheduler with a worker as a user would start them, known by its file."""
    file = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [*dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file], **quiet
    )
    worker = subprocess.Popen(
        [*dask, "worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard"], **quiet
    )
    yield file, scheduler
    for process in (worker, scheduler):
        process.kill()
        process.wait()


def test_scheduler_file_and_a_scheduler_that_goes(
    separate: tuple[Path, subprocess.Popen[bytes]],
    inputs: dict[str, Path],
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, scheduler = separate
    monkeypatch.setattr(connect, "PATIENCE_S", _PATIENCE_S)
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "--batch-size", "10K", "--cluster", file]
    alone = cli(*words[:-2])
    assert _without_program_line(cli(*words)[1]) == _without_program_line(alone[1])
    run = ClusterBackend.run

    def interrupted(self: ClusterBackend, items: Any, stage: Any) -> Iterator[Any]:
        for number, result in enumerate(run(self, items, stage)):
            if number == 2:
                scheduler.kill()
                scheduler.wait()
            yield result

    monkeypatch.setattr(ClusterBackend, "run", interrupted)
    code, _, message = cli(*words, "-o", tmp_path / "out.sam")
    assert code == 1
    assert "the scheduler at tcp://" in message
    assert "is gone" in message
    assert not (tmp_path / "out.sam").exists()


def test_no_scheduler_answers(cli: Cli, inputs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "PATIENCE_S", 0.5)
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"]]
    code, _, message = cli(*words, "--cluster", "tcp://127.0.0.1:1")
    assert code == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in message
    code, _, message = cli(*words, "--cluster", "nowhere.json")
    assert code == 3
    assert "no scheduler has written this file" in message


# -- options and parts


def test_dask_that_is_not_installed(cli: Cli, inputs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    code, _, message = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--cluster", "local:2")
    assert code == 2
    assert message == "gpualign map: error: --cluster needs Dask (pip install 'gpualign[cluster]')\n"


def test_dask_is_not_imported_without_a_cluster(inputs: dict[str, Path]) -> None:
    code = (
        "import sys; from gpualign.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: assert not {'dask', 'distributed', 'cloudpickle'} & set(sys.modules)"
    )
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "-o", os.devnull]
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)


def test_a_certificate_is_asked_for(cli: Cli, inputs: dict[str, Path]) -> None:
    code, _, message = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--cluster", "tls://127.0.0.1:1")
    assert code == 2
    assert "needs a certificate" in message


def test_results_of_workers_out_of_reach_come_by_the_scheduler(
    cluster: Cluster, backend: ClusterBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connect.reachable(cluster.address)
    assert not connect.reachable("tcp://127.0.0.1:1")
    assert not connect.reachable("inproc://nowhere")
    monkeypatch.setattr(cluster_backend, "reachable", lambda worker: False)
    assert list(backend.run(range(10), squares())) == [item * item for item in range(10)]


def test_items_with_shared_objects_of_their_own(backend: ClusterBackend) -> None:
    """More of them in one task than are kept for the next one."""

    def blocks() -> Iterator[PairBlock]:
        one = np.array([0], np.int32)
        for i in range(60):
            sequences = EncodedSequences([f"s{i}"], np.full(4, i, np.uint8), np.array([0, 4]))
            yield PairBlock(sequences, sequences, one, one)

    def first_letter(block: PairBlock) -> int:
        return int(block.patterns.sequence(0)[0])

    stage: Stage[PairBlock, int] = Stage(first_letter, lambda device: None)  # type: ignore[arg-type,return-value]
    assert list(backend.run(blocks(), stage)) == list(range(60))


def test_room_follows_the_workers(backend: ClusterBackend) -> None:
    taken = 0

    def items() -> Iterator[int]:
        nonlocal taken
        while taken < 1000:
            taken += 1
            yield taken

    results = backend.run(items(), squares())
    next(results)
    assert taken <= cluster_backend._PER_THREAD * 2 + 1
