"""The same bytes for any threads, batch size, instruction set, device and cluster, for every command, in one table.

Clusters whose workers are killed are in tests/cluster.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from gpualign import _native
from tests.helpers.command_lines import SAME_BYTES
from tests.helpers.commands import program
from tests.helpers.implementations import LEVELS, ON_GPU
from tests.helpers.paths import GENOMES, READS
from tests.helpers.soak import some_of

Cli = Callable[..., tuple[int, bytes, str]]

WAYS = {
    "2 threads": ["-t", "2"],
    "batches of 1": ["-t", "2", "--batch-size", "1"],
    "batches of 10,000": ["-t", "2", "--batch-size", "10000"],
    "one batch": ["-t", "1", "--batch-size", "64M"],
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    with gzip.open(READS, "rt") as file:
        lines = [file.readline().rstrip("\n") for _ in range(4 * 800)]
    records = [lines[i : i + 4] for i in range(0, len(lines), 4)]
    texts = {
        "reads.fq": "".join("\n".join(record) + "\n" for record in records),
        "shifted.fq": "".join("\n".join(record) + "\n" for record in [*records[1:], records[0]]),
        "few.fa": "".join(f">{r[0][1:].split()[0]}\n{r[1]}\n" for r in records[:40]),
        "query.fa": f">query\n{records[5][1]}\n",
    }
    ends = []
    for i in range(0, len(records), 2):
        name = f"@pair{i}"
        ends += [[name, *records[i][1:]], [name, *records[i + 1][1:]]]
    texts["pairs.fq"] = "".join("\n".join(record) + "\n" for record in ends)
    contigs = [text.split()[0] for text in GENOMES.read_text().split(">")[1:]]
    texts["places.tsv"] = "".join(
        f"{r[0][1:].split()[0]}\t{contigs[i % len(contigs)]}\t{1 + 3 * i}\t{150 + 3 * i}\t.\n"
        for i, r in enumerate(records)
    )
    for name, text in texts.items():
        (folder / name).write_text(text)
    return {name.split(".")[0]: folder / name for name in texts} | {"genomes": GENOMES}


def words(command: str, inputs: dict[str, Path]) -> list[str]:
    return [*SAME_BYTES[command].format(**inputs).split(), "-q"]


def digest(output: bytes) -> str:
    """MD5 of all lines but @PG, which holds the options."""
    lines = [line for line in output.splitlines(keepends=True) if not line.startswith(b"@PG\t")]
    assert len(lines) > 10
    return hashlib.md5(b"".join(lines), usedforsecurity=False).hexdigest()


@pytest.fixture(scope="module")
def digests() -> dict[str, str]:
    """Of each command on one thread with the default batch size."""
    return {}


@pytest.fixture
def expected(digests: dict[str, str], cli: Cli, inputs: dict[str, Path]) -> Callable[[str], str]:
    def one(command: str) -> str:
        if command not in digests:
            code, output, error = cli(*words(command, inputs), "-t", "1")
            assert code == 0, error
            digests[command] = digest(output)
        return digests[command]

    return one


# of clusters and genomes, batches of one sequence take seconds; every other way and command at each push
@pytest.mark.parametrize(
    ("command", "way"),
    some_of(
        product(SAME_BYTES, WAYS),
        lambda command, way: way != "batches of 1" or not command.startswith(("cluster", "align")),
    ),
)
def test_threads_and_batches(
    cli: Cli, inputs: dict[str, Path], expected: Callable[[str], str], command: str, way: str
) -> None:
    code, output, error = cli(*words(command, inputs), *WAYS[way])
    assert code == 0, error
    assert digest(output) == expected(command)


def test_the_generic_level_runs_on_every_processor() -> None:
    assert _native.cpu_supports("generic")
    assert not _native.cpu_supports("z80")


@pytest.mark.parametrize("level", [level for level in LEVELS if level != _native.isa])
@pytest.mark.parametrize("command", list(SAME_BYTES))
def test_instruction_sets(inputs: dict[str, Path], expected: Callable[[str], str], command: str, level: str) -> None:
    done = subprocess.run(
        program(*words(command, inputs), "-t", "2"),
        env={**os.environ, "GPUALIGN_ISA": level},
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert digest(done.stdout) == expected(command)


@pytest.mark.gpu
@pytest.mark.parametrize("command", list(SAME_BYTES))
@pytest.mark.parametrize("way", list(ON_GPU))
def test_devices(cli: Cli, inputs: dict[str, Path], expected: Callable[[str], str], command: str, way: str) -> None:
    code, output, error = cli(*words(command, inputs), *ON_GPU[way])
    assert code == 0, error
    assert digest(output) == expected(command)


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, memory_limit=0, dashboard_address=":0", silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


@pytest.mark.parametrize("command", list(SAME_BYTES))
def test_cluster(
    cli: Cli, inputs: dict[str, Path], expected: Callable[[str], str], scheduler: str, command: str
) -> None:
    code, output, error = cli(*words(command, inputs), "--dask", scheduler, "--batch-size", "20000")
    assert code == 0, error
    assert digest(output) == expected(command)
