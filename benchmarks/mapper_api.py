"""`gpualign.Mapper` from Python, against mappy: reads of 150 bases from an iterator, one after the other.

    python benchmarks/mapper_api.py [--rounds 3] [--threads 2] [--reads 50000] [--genomes ecoli_mg1655,chr20]

Each contender takes the same (name, sequence, quality) tuples and looks where each first hit lies: `Mapper.stream`;
`Mapper.map` read by read; mappy's loop, as its documentation has it; mappy in as many threads as the mapper has, each
with a buffer and a part of the reads (mappy releases the interpreter while it maps). Indexes are ready. Seconds are of
the clock and of the process. Reads on a true diagonal, within 8 bases, are counted. Needs mappy (PyPI).
Result: benchmarks/results/mapper-api-<machine>.json.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import data
import harness
import mappy
import numpy as np
import simulate

import gpualign

Read = tuple[str, str, str]
LENGTH, SLACK = 150, 8
#: reads of single calls, which take longer
SINGLE = 10


def diagonal(hit: Any) -> int:
    """Position on the contig less position on the read, on the forward strand."""
    return int(hit.r_st - (hit.q_st if hit.strand > 0 else LENGTH - hit.q_en))


def stream(mapper: gpualign.Mapper, reads: list[Read]) -> list[tuple[str, int]]:
    return [(name, diagonal(hits[0])) for (name, _, _), hits in mapper.stream(iter(reads)) if hits]


def single(mapper: gpualign.Mapper, reads: Iterable[Read]) -> list[tuple[str, int]]:
    found = []
    for name, sequence, _ in reads:
        for hit in mapper.map(sequence)[:1]:
            found.append((name, diagonal(hit)))
    return found


def loop(aligner: mappy.Aligner, reads: Iterable[Read]) -> list[tuple[str, int]]:
    found = []
    buffer = mappy.ThreadBuffer()
    for name, sequence, _ in reads:
        hits = list(aligner.map(sequence, buf=buffer))
        if hits:
            found.append((name, diagonal(hits[0])))
    return found


def in_threads(aligner: mappy.Aligner, reads: list[Read], threads: int) -> list[tuple[str, int]]:
    with ThreadPoolExecutor(threads) as pool:
        parts = pool.map(lambda first: loop(aligner, reads[first::threads]), range(threads))
        return [hit for part in parts for hit in part]


def correct(found: list[tuple[str, int]], truth: Any) -> float:
    """Percent of the reads whose first hit is where they come from."""
    numbers = np.array([int(name) for name, _ in found])
    diagonals = truth["diagonals"][numbers, 0]
    near = np.abs(diagonals - np.array([locus for _, locus in found])[:, None]) <= SLACK
    return round(100 * float(near.any(axis=1).sum()) / len(truth["contig"]), 2)


def bench(genome: str, count: int, rounds: int, threads: int) -> dict[str, Any]:
    model = simulate.ReadModel((genome,), count, LENGTH, 0.01, 31)
    folder = simulate.made(f"mapper-{genome}", model, data.folder() / "accuracy")
    reads = [(name, sequence, quality) for name, sequence, quality in mappy.fastx_read(str(folder / "reads.fq"))]
    reference = str(data.genome(genome))
    mapper = gpualign.Mapper(reference, device="cpu", threads=threads)
    aligner = mappy.Aligner(reference, preset="sr", best_n=1, n_threads=threads)
    few = reads[: max(1, count // SINGLE)]
    contenders: dict[str, tuple[int, Callable[[], list[tuple[str, int]]]]] = {
        "gpualign_stream": (count, lambda: stream(mapper, reads)),
        "gpualign_read_by_read": (len(few), lambda: single(mapper, few)),
        "mappy_loop": (count, lambda: loop(aligner, reads)),
        "mappy_threads": (count, lambda: in_threads(aligner, reads, threads)),
    }
    truth = np.load(folder / "truth.npz", allow_pickle=False)
    right = {name: correct(call(), truth) for name, (some, call) in contenders.items() if some == count}

    def timed(call: Callable[[], Any]) -> tuple[float, float]:
        cpu = time.process_time()
        return harness.seconds(call), time.process_time() - cpu

    cases = {name: lambda call=call: timed(call) for name, (_, call) in contenders.items()}
    taken = harness.interleave(cases, rounds)
    wall = {name: [each[0] / contenders[name][0] for each in times] for name, times in taken.items()}
    cpu = {name: [each[1] / contenders[name][0] for each in times] for name, times in taken.items()}
    row = {
        "reads": count,
        "correct_percent": right,
        "reads_per_s": {name: round(1 / statistics.median(times)) for name, times in wall.items()},
        "cpu_us_per_read": {name: round(1e6 * statistics.median(times), 2) for name, times in cpu.items()},
        "stream_speed_to": {name: harness.ratio(wall["gpualign_stream"], wall[name]) for name in wall},
        "stream_cpu_speed_to": {name: harness.ratio(cpu["gpualign_stream"], cpu[name]) for name in cpu},
    }
    print(genome, row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reads", type=int, default=50_000)
    parser.add_argument("--genomes", default="ecoli_mg1655,chr20")
    arguments = parser.parse_args()
    figures = {
        genome: bench(genome, arguments.reads, arguments.rounds, arguments.threads)
        for genome in arguments.genomes.split(",")
    }
    facts = harness.machine(packages=("mappy",)) | {"threads": arguments.threads}
    harness.save("mapper-api", facts, {"results": figures})


if __name__ == "__main__":
    main()
