"""A Dask cluster of two workers, and what is mapped on it."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gpualign.params import RunOptions
from gpualign.text.bgzf import bgzf_writer
from tests.helpers.cluster import DASK, QUIET, Cluster
from tests.helpers.files import write_bgzf
from tests.helpers.paths import EXAMPLES

if TYPE_CHECKING:
    from gpualign.run.dask.backend import ClusterBackend


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
    from gpualign.run.dask.backend import ClusterBackend

    with ClusterBackend(RunOptions(dask=cluster.address, quiet=True), "test") as backend:
        yield backend


@pytest.fixture(scope="package")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("inputs")
    with gzip.open(EXAMPLES / "SRR059298_25k.fastq.gz", "rt") as file:
        lines = [file.readline() for _ in range(4 * 2000)]
    (folder / "reads.fq").write_text("".join(lines))
    (folder / "reads.fq.gz").write_bytes(gzip.compress("".join(lines).encode()))
    with open(folder / "reads.bgz", "wb") as out, bgzf_writer(out.write, 1) as packed:
        packed.write("".join(lines).encode())
    for mate, block in ((1, 5000), (2, 30_000)):  # every other read is its neighbour's mate
        records = ("".join(lines[i + 1 : i + 4]) for i in range(4 * mate - 4, len(lines), 8))
        text = "".join(f"@p{i}\n{record}" for i, record in enumerate(records)).encode()
        (folder / f"{mate}.fq").write_bytes(text)
        (folder / f"{mate}.fq.gz").write_bytes(gzip.compress(text))
        write_bgzf(folder / f"{mate}.bgz", text, block)
    mates = [(folder / f"{mate}.fq").read_text().splitlines(keepends=True) for mate in (1, 2)]
    pairs = [line for i in range(0, len(mates[0]), 4) for records in mates for line in records[i : i + 4]]
    write_bgzf(folder / "pairs.bgz", "".join(pairs).encode(), 7000)
    reads = [(lines[i][1:].split()[0], lines[i + 1].strip()) for i in range(0, len(lines), 4)]
    for file_name, count in (("few.fa", 60), ("some.fa", 400)):
        (folder / file_name).write_text("".join(f">{name}\n{text}\n" for name, text in reads[:count]))
    (folder / "query.fa").write_text(">q\n" + reads[3][1] + "\n")
    genomes = (EXAMPLES / "genomes.fa").read_text().split(">")[1:]
    (folder / "long.fa").write_text(">long\n" + "".join("".join(g.split("\n")[1:]) for g in genomes) * 3 + "\n")
    names = [genome.split()[0] for genome in genomes]
    rows = [f"{reads[i][0]}\t{names[i % len(names)]}\t{1 + 7 * i}\t{200 + 7 * i}\n" for i in range(500)]
    (folder / "candidates.tsv").write_text("".join(rows))
    (folder / "many.tsv").write_text("".join(row for row in rows for _ in range(5)))  # more than a reader holds
    return {path.name: path for path in folder.iterdir()} | {"genomes.fa": EXAMPLES / "genomes.fa"}


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
