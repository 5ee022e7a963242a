"""A cluster over TLS, set up as docs/guides/dask.md says."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.helpers.cluster import DASK, PATIENCE_S, QUIET
from tests.helpers.commands import program
from tests.helpers.sam import without_program

pytest.importorskip("distributed")

Cli = Callable[..., tuple[int, bytes, str]]


def environment(folder: Path) -> dict[str, str]:
    """Of whoever has a certificate of its own, in a folder, that is its own authority."""
    folder.mkdir()
    command = "openssl req -newkey rsa:2048 -nodes -x509 -days 2 -subj /CN=gpualign -keyout key.pem -out cert.pem"
    try:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no openssl")
    own = f"{{cert: {folder}/cert.pem, key: {folder}/key.pem}}"
    tls = f"{{ca-file: {folder}/cert.pem, scheduler: {own}, worker: {own}, client: {own}}}"
    (folder / "dask.yaml").write_text(f"distributed: {{comm: {{require-encryption: true, tls: {tls}}}}}\n")
    return {**os.environ, "DASK_CONFIG": str(folder / "dask.yaml")}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return environment(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory, ours: dict[str, str]) -> Iterator[str]:
    file = tmp_path_factory.mktemp("tls") / "scheduler.json"
    ends = (
        ["scheduler", "--protocol", "tls", "--port", "0", "--no-dashboard", "--scheduler-file", file],
        ["worker", "--scheduler-file", file, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
    )
    processes = [subprocess.Popen([*DASK, *words], env=ours, **QUIET) for words in ends]
    end = time.monotonic() + PATIENCE_S
    while not (file.exists() and file.stat().st_size):
        assert time.monotonic() < end
        time.sleep(0.05)
    yield json.loads(file.read_text())["address"]
    for process in reversed(processes):
        process.kill()
        process.wait()


def test_same_bytes(address: str, ours: dict[str, str], inputs: dict[str, Path], cli: Cli) -> None:
    assert address.startswith("tls://")
    words = ["map", inputs["genomes.fa"], inputs["reads.fq"], "--batch-size", "20K"]
    command = program(*words, "--dask", address)
    on_cluster = subprocess.run(command, env=ours, capture_output=True, timeout=PATIENCE_S)
    assert on_cluster.returncode == 0, on_cluster.stderr
    assert without_program(on_cluster.stdout) == without_program(cli(*words)[1])


def test_strangers_are_refused(address: str, inputs: dict[str, Path], tmp_path: Path) -> None:
    strangers = environment(tmp_path / "strangers")
    command = program("map", inputs["genomes.fa"], inputs["reads.fq"], "--dask", address)
    command += ["-o", tmp_path / "out.sam"]
    refused = subprocess.run(command, env=strangers, capture_output=True, text=True, timeout=PATIENCE_S)
    assert refused.returncode == 1
    assert f"no Dask scheduler answers at {address}" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert not (tmp_path / "out.sam").exists()


def test_a_certificate_is_asked_for(cli: Cli, inputs: dict[str, Path]) -> None:
    code, _, message = cli("map", inputs["genomes.fa"], inputs["reads.fq"], "--dask", "tls://127.0.0.1:1")
    assert code == 2
    assert "needs a certificate" in message
