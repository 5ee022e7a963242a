"""A cluster whose workers come, go and fail, and whose scheduler is gone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpualign.errors import GpualignError
from gpualign.run.stage import Stage
from tests.helpers.cluster import DASK, KILLED, PATIENCE_S, QUIET, Cluster, squares
from tests.helpers.commands import program
from tests.helpers.sam import without_program

pytest.importorskip("distributed")

from gpualign.run.dask import connect
from gpualign.run.dask.backend import ClusterBackend

pytestmark = KILLED

Cli = Callable[..., tuple[int, bytes, str]]


@pytest.mark.slow
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
    alone, on_cluster = cli(*words), cli(*words, "--dask", cluster.address)
    assert on_cluster[0] == 0, on_cluster[2]
    assert without_program(alone[1]) == without_program(on_cluster[1])


@pytest.mark.parametrize("worker", [0, 1])
def test_worker_lost_while_it_is_sent_what_items_need(worker: int, cluster: Cluster, backend: ClusterBackend) -> None:
    """It takes no messages when the run begins, and is killed while they wait for it."""
    pid = cluster.pids()[worker]
    os.kill(pid, signal.SIGSTOP)
    killing = threading.Timer(1.0, os.kill, (pid, signal.SIGKILL))
    killing.start()
    results: list[int] = []
    run = threading.Thread(target=lambda: results.extend(backend.run(range(20), squares())), daemon=True)
    run.start()
    run.join(timeout=PATIENCE_S)
    killing.join()
    assert results == [item * item for item in range(20)]


def test_late_worker_takes_its_share(cluster: Cluster, backend: ClusterBackend) -> None:
    for result in backend.run(range(100_000), squares(0.01)):
        if result == 0:
            cluster.dask.scale(3)
        if len(backend.batches) == 3:
            break
    assert len(backend.report()["workers"]) == 3


def test_a_late_worker_with_another_gpualign_is_refused(
    cluster: Cluster, backend: ClusterBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "__version__", "9")
    results = backend.run(range(100_000), squares(0.01))
    assert next(results) == 0
    cluster.dask.scale(3)
    with pytest.raises(GpualignError, match=r"the worker tcp://\S+ has gpualign \S+, this is 9 \(install the same\)"):
        list(results)


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
    code, _, message = cli(*words, "--dask", cluster.address)
    assert code == 1
    assert "the disk is on fire" in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_task_that_kills_its_workers_ends_the_run(cluster: Cluster, backend: ClusterBackend) -> None:
    def murder(item: int) -> int:
        if item == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    stage: Stage[int, int] = Stage(murder, lambda device: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(GpualignError, match="lost"):
        list(backend.run(range(6), stage))


def test_scheduler_file_and_a_scheduler_that_goes(
    separate: tuple[Path, subprocess.Popen[bytes]],
    inputs: dict[str, Path],
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, scheduler = separate
    monkeypatch.setattr(connect, "PATIENCE_S", PATIENCE_S)
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "--batch-size", "10K", "--dask", file]
    alone = cli(*words[:-2])
    assert without_program(cli(*words)[1]) == without_program(alone[1])
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
    code, _, message = cli(*words, "--dask", "tcp://127.0.0.1:1")
    assert code == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in message
    code, _, message = cli(*words, "--dask", "nowhere.json")
    assert code == 3
    assert "no scheduler has written this file" in message


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("tcp://127.0.0.1", "is not the address of a Dask scheduler"),
        ("pigeon://coop:1", "is not the address of a Dask scheduler"),
        ("tls://127.0.0.1:1", "needs a certificate"),
    ],
)
@pytest.mark.parametrize("in_file", [False, True])
def test_what_is_no_address_is_refused_at_once(
    address: str, why: str, in_file: bool, inputs: dict[str, Path], tmp_path: Path
) -> None:
    """By the whole command, because what Dask leaves behind may keep it from ending."""
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "--dask", str(file) if in_file else address]
    done = subprocess.run(program(*words), capture_output=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (2, b"")
    assert re.search(f"{address} .*{why}", done.stderr.decode())


@pytest.mark.parametrize("text", ["", "not JSON", "[]", "{}"])
def test_what_is_no_schedulers_file(
    text: str, cli: Cli, inputs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "PATIENCE_S", 0.5)
    (tmp_path / "x.json").write_text(text)
    code, _, message = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--dask", tmp_path / "x.json")
    assert code == 3
    assert "this is not a scheduler's file" in message


def test_a_cluster_of_our_own_keeps_workers_that_are_lost_twice() -> None:
    """Dask gives a worker up that is not there so long after it was lost, and be it because it was lost again."""
    import dask
    from dask.utils import parse_timedelta

    with dask.config.set(connect.OWN):
        assert parse_timedelta(dask.config.get("distributed.deploy.lost-worker-timeout")) > 24 * 3600


@pytest.mark.parametrize(
    ("line", "found"),
    [("__import__('gpualign').__version__ = '9'", "gpualign 9"), ("sys.modules['gpualign'] = None", "no")],
)
@pytest.mark.parametrize("folder", ["scheduler", "worker"])
def test_another_gpualign_is_refused(
    line: str, found: str, folder: str, cli: Cli, inputs: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\n{line}\n")
    other = {**os.environ, "PYTHONPATH": str(tmp_path)}
    file = tmp_path / "scheduler.json"
    ends = {
        "scheduler": ["scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", file],
        "worker": ["worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
    }
    processes = [
        subprocess.Popen([*DASK, *words], env=other if end == folder else None, **QUIET) for end, words in ends.items()
    ]
    try:
        code, _, message = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--dask", file)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert code == 1
    assert re.search(f"the {folder} .*has {found}", message)
