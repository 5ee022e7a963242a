"""What a Dask cluster costs: each command on one machine without a cluster, and on workers with the same cores.

    python benchmarks/cluster.py [--cores 2] [--rounds 3] [--copies 100] [--commands start,map,verify,…]

Needs gpualign[cluster] and the repository's examples, nothing else. Two clusters run all the while, one of CORES
workers with one thread and one of one worker with CORES threads, without Dask's profiling (docs/guides/dask.md);
a client is the whole `gpualign` command, from start to end. "start" is a command with nothing to do; the others have
more than ten seconds of work for two cores. The speed is by the clock; processor time counts the client, the scheduler
and the workers, without what they use while idle. Outputs are compared byte for byte.
"""

from __future__ import annotations

import argparse
import filecmp
import gzip
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import dask
import distributed
import harness
import numpy as np
import psutil

from gpualign.run.dask.connect import OWN

EXAMPLES = harness.FOLDER.parent / "examples" / "data"
CANDIDATES = 20
GPUALIGN = [sys.executable, "-m", "gpualign"]


def make_inputs(folder: Path, copies: int) -> dict[str, Path]:
    """The example reads over and over with names of their own, parts of them, candidates, a query."""
    with gzip.open(EXAMPLES / "SRR059298_25k.fastq.gz", "rt") as file:
        lines = file.read().splitlines()
    genomes = [record.split("\n", 1) for record in (EXAMPLES / "genomes.fa").read_text().split(">")[1:]]
    kinds = {"reads": "fq", "few": "fa", "two": "fa", "query": "fa", "some": "fa", "candidates": "tsv"}
    paths = {name: folder / f"{name}.{kind}" for name, kind in kinds.items()}
    with open(paths["reads"], "w") as out:
        for copy in range(copies):
            for i in range(0, len(lines), 4):
                out.write(f"@r{copy}.{i // 4}\n{lines[i + 1]}\n+\n{lines[i + 3]}\n")
    for name, count in (("few", 110 * copies), ("two", 2), ("some", 700 * copies)):
        bases = itertools.islice(itertools.cycle(lines[1::4]), count)
        paths[name].write_text("".join(f">s{i}\n{text}\n" for i, text in enumerate(bases)))
    paths["query"].write_text(">all\n" + "".join(bases for _, bases in genomes))
    contigs = [(header.split()[0], len(bases.replace("\n", ""))) for header, bases in genomes]
    rng = np.random.default_rng(1)
    with open(paths["candidates"], "w") as out:
        for i in range(700 * copies):
            name, length = contigs[i % len(contigs)]
            loci = rng.integers(1, length - 140, CANDIDATES).tolist()
            out.writelines(f"s{i}\t{name}\t{at}\t{at + 139}\n" for at in loci)
    return paths


def commands(paths: dict[str, Path]) -> dict[str, list[str | Path]]:
    genomes = EXAMPLES / "genomes.fa"
    return {
        "start": ["pairwise", paths["two"]],
        "map": ["map", genomes, paths["reads"]],
        "verify": ["verify", genomes, paths["some"], "-c", paths["candidates"], "--cigar", "-k", "40"],
        "pairwise": ["pairwise", paths["few"], "--id", "0.8"],
        "lcs-filter": ["lcs-filter", "-Q", paths["query"], paths["reads"], "-n", "1000"],
        "mems": ["mems", "-maxmatch", "-b", "-l", "20", genomes, *[paths["reads"]] * 4],
    }


class Cluster:
    """A scheduler in this process and workers in their own."""

    def __init__(self, workers: int, threads: int) -> None:
        dask.config.set(OWN)
        self._cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=threads, memory_limit=0, dashboard_address=":0"
        )
        self.address: str = self._cluster.scheduler_address
        self._processes = [psutil.Process(nanny.pid) for nanny in self._cluster.workers.values()]

    def cpu_s(self) -> float:
        workers = sum(sum(process.cpu_times()[:2]) for process in self._processes)
        return time.process_time() + workers

    def run(self, command: list[str | Path], output: Path) -> harness.Timing:
        """A client's run; idle seconds of the same length cost what is taken off."""
        start = self.cpu_s()
        timing = harness.run_timed([*GPUALIGN, *command, "--dask", self.address], output)
        used = self.cpu_s() - start
        return replace(timing, user_s=timing.user_s + max(0.0, used - self.idle_share * timing.wall_s))

    def measure_idle(self, seconds: float = 3.0) -> None:
        start = self.cpu_s()
        time.sleep(seconds)
        self.idle_share = (self.cpu_s() - start) / seconds

    def close(self) -> None:
        self._cluster.close()


def measure(command: list[str | Path], clusters: dict[str, Cluster], folder: Path, cores: int, rounds: int) -> Any:
    """Interleaved rounds of one command; the ratio says how many times as fast as without a cluster."""
    local = [*command, "--threads", str(cores), "--device", "cpu", "--quiet"]
    cases: dict[str, Callable[[], harness.Timing]] = {
        "no cluster": partial(harness.run_timed, [*GPUALIGN, *local], folder / "no cluster")
    }
    for name, cluster in clusters.items():
        cases[name] = partial(cluster.run, local, folder / name)
    timings = harness.interleave(cases, rounds)
    figures: dict[str, Any] = {}
    for name, runs in timings.items():
        same = _same_output(folder / "no cluster", folder / name, command[0] == "map")
        alone = timings["no cluster"]
        figures[name] = harness.summary(runs) | {
            "speed_to_no_cluster": harness.ratio([t.wall_s for t in runs], [t.wall_s for t in alone]),
            "cpu_to_no_cluster": harness.ratio([t.cpu_s for t in alone], [t.cpu_s for t in runs]),
            "same_bytes": same,
        }
    return figures


def _same_output(one: Path, other: Path, sam: bool) -> bool:
    """Equal bytes; of SAM but for the header's record of the command line."""
    if not sam:
        return filecmp.cmp(one, other, shallow=False)
    with open(one, "rb") as first, open(other, "rb") as second:
        return all(a == b or a.startswith(b"@PG") for a, b in zip(first, second, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--copies", type=int, default=100, help="of 25,000 reads; the work grows with it")
    parser.add_argument("--commands", default="start,map,verify,pairwise,lcs-filter,mems")
    arguments = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # whoever installs with pip has compiled modules
    cores = arguments.cores
    shapes = {f"{cores} workers of 1 thread": (cores, 1), f"1 worker of {cores} threads": (1, cores)}
    clusters = {name: Cluster(*shape) for name, shape in shapes.items()}
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = commands(make_inputs(folder, arguments.copies))
        for cluster in clusters.values():
            cluster.measure_idle()
        for command in arguments.commands.split(","):
            figures[command] = measure(every[command], clusters, folder, cores, arguments.rounds)
            for case, row in figures[command].items():
                print(
                    f"{command:<11} {case:<24} {row['wall_s']:8.2f} s {row['cpu_s']:8.2f} cpu s  "
                    f"speed {row['speed_to_no_cluster']:.3f}  cpu {row['cpu_to_no_cluster']:.3f}  "
                    f"{'same bytes' if row['same_bytes'] else 'OTHER BYTES'}",
                    flush=True,
                )
    for cluster in clusters.values():
        cluster.close()
    facts = harness.machine(packages=("dask", "distributed"))
    harness.save("cluster", facts, {"copies": arguments.copies, "commands": figures})


if __name__ == "__main__":
    main()
