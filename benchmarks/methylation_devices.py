"""Bisulfite pairs on a GPU and on all cores: reads a second, memory, and whether they write the same.

    python benchmarks/methylation_devices.py [--bases 60000000] [--pairs 1000000] [--rounds 2] [--threads 16]
        [--device cuda] [--cases bisulfite non-directional plain] [--times 8 3] [--folder DIR]

Pairs of 100 bases of a synthetic genome (synthetic_genome.py), methylated as those of methylation.py, with 0.5 %
errors, and the same fragments without conversion. The files are mapped once and several times over in one run, to
/dev/null, and the difference counts: so the start does not. Result:
benchmarks/results/methylation-devices-<machine>.json.

A genome of several contigs is for the memory of the index, that of a human genome with --bases 3100000000. The pairs
are of its first contig. As each start reads the index, each processor maps them in one run of several times over, and
the report's seconds of mapping count. Result: methylation-human-size-<machine>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import zlib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
from bases import BASES, complement
from methylation import LENGTH, Bases, levels_of
from numpy.typing import NDArray
from synthetic_genome import CONTIG, contig, make

ERRORS = 0.005
#: pairs made at once
PART = 50_000
GPUALIGN = [sys.executable, "-m", "gpualign"]
#: kind of reads, options, and those of a GPU
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "bisulfite": ("meth", ["--meth"], []),
    "bisulfite, 16 GB of GPU memory": ("meth", ["--meth"], ["--max-gpu-mem", "16G"]),
    "non-directional": ("meth", ["--meth", "--non-directional"], []),
    "plain": ("plain", [], []),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bases", type=int, default=60_000_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["bisulfite", "non-directional", "plain"])
    parser.add_argument(
        "--times", nargs=2, type=int, default=(8, 3), help="how often the GPU and the CPU map the files"
    )
    parser.add_argument("--folder", type=Path, help="for reads and outputs; default: a temporary one")
    arguments = parser.parse_args()
    settings = {name: getattr(arguments, name) for name in ("bases", "pairs", "rounds", "threads", "device")}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        kinds = sorted({CASES[case][0] for case in arguments.cases})
        with ProcessPoolExecutor(1) as pool:
            made = pool.submit(make, arguments.bases, folder / "genome.fa", arguments.threads)
            simulate(min(arguments.bases, CONTIG), arguments.pairs, folder, kinds)
            made.result()
        indexes = {kind: indexed(folder, kind, arguments.threads) for kind in kinds}
        (folder / "genome.fa").unlink()
        cpu: dict[str, Any] = {}
        rows = {case: measured(case, folder, arguments, cpu) for case in arguments.cases}
    gpus = harness.gpu_names() if arguments.device != "cpu" else []
    table = "methylation-devices" if arguments.bases <= CONTIG else "methylation-human-size"
    harness.save(table, harness.machine((), ("pycuda",), gpus), {**settings, "indexes": indexes, "cases": rows})
    if differing := [case for case, row in rows.items() if not row["same_bytes"]]:
        sys.exit(f"CPU and GPU write different records: {', '.join(differing)}")


def indexed(folder: Path, kind: str, threads: int) -> dict[str, float]:
    """Build the index; its size, and time and peak memory of building it."""
    words = [*GPUALIGN, "index", folder / "genome.fa", "-d", folder / f"{kind}.gpi", "-q", "-t", str(threads)]
    took = harness.run_timed([*words, *(["--meth"] if kind == "meth" else [])])
    gib = round((folder / f"{kind}.gpi").stat().st_size / 2**30, 3)
    row = {"wall_s": round(took.wall_s, 2), "cpu_s": round(took.cpu_s, 2), "gib": gib}
    row["peak_gib"] = round(took.peak_mib / 1024, 3)
    print(f"index of {kind} reads", row, flush=True)
    return row


def measured(case: str, folder: Path, arguments: argparse.Namespace, cpu: dict[str, Any]) -> dict[str, Any]:
    """Reads a second of the device and of all cores, by the reports' clocks.

    Args:
        cpu: what the cores did with these options before; they do it once.
    """
    kind, options, of_gpu = CASES[case]
    report, sam = folder / "report.json", folder / "out.sam"
    peak_mib: dict[str, float] = {}

    def run(device: str, times: int, output: str | Path = os.devnull) -> dict[str, Any]:
        inputs = [",".join([str(folder / f"{kind}_{mate}.fq")] * times) for mate in (1, 2)]
        command = [*GPUALIGN, "map", *options, folder / f"{kind}.gpi", *inputs, "-t", str(arguments.threads)]
        words = [*command, "--device", device, "-q", "-o", output, "--json", report]
        took = harness.run_timed([*words, *(of_gpu if device != "cpu" else [])])
        peak_mib[device] = max(took.peak_mib, peak_mib.get(device, 0.0))
        return json.loads(report.read_text())

    def records(device: str) -> int:
        run(device, 1, sam)
        return checksum(sam)

    def bytes_and_runs(device: str, times: int) -> tuple[int, list[list[dict[str, Any]]]]:
        """What the device writes, and reports of mapping the files once, unless starts take long, and often."""
        written = records(device)  # the first call compiles the kernels
        often = (times,) if arguments.bases > CONTIG else (1, times)
        runs = harness.interleave({n: partial(run, device, n) for n in often}, arguments.rounds)
        return written, list(runs.values())

    def rate(times: int, runs: list[list[dict[str, Any]]]) -> int:
        took = [statistics.median(one["wall_s"] for one in some) for some in runs]
        if len(runs) == 1:
            seconds = statistics.median(one["seconds"]["mapping"] for one in runs[0])
            return round(times * 2 * arguments.pairs / seconds)
        return round((times - 1) * 2 * arguments.pairs / (took[1] - took[0]))

    written, runs = bytes_and_runs(arguments.device, arguments.times[0])
    if str(options) not in cpu:
        cpu[str(options)] = (*bytes_and_runs("cpu", arguments.times[1]), peak_mib["cpu"])
    cpu_written, cpu_runs, cpu_peak = cpu[str(options)]
    sam.unlink()
    rates = [rate(times, of) for times, of in zip(arguments.times, (runs, cpu_runs), strict=True)]
    row = {"gpu_reads_per_s": rates[0], "cpu_reads_per_s": rates[1], "times": round(rates[0] / rates[1], 2)}
    row |= {"same_bytes": written == cpu_written, "gpu_wall_s": runs[0][-1]["wall_s"]}
    row |= {"cpu_wall_s": cpu_runs[0][-1]["wall_s"], "cpu_peak_gib": round(cpu_peak / 1024, 2)}
    row |= {"gpu_peak_gib": round(peak_mib[arguments.device] / 1024, 2)}
    last = runs[-1][-1]
    row |= {name: last[name] for name in ("gpu_items", "cpu_items", "peak_vram_mb")}
    print(case, row, last["timeline"], flush=True)
    return row


def checksum(sam: Path) -> int:
    """Of the records and the header without @PG."""
    found = 0
    with sam.open("rb") as file:
        for line in file:
            found = found if line.startswith(b"@PG") else zlib.crc32(line, found)
    return found


def simulate(bases: int, pairs: int, folder: Path, kinds: Sequence[str] = ("meth", "plain")) -> None:
    """Write pairs of the first contig as bisulfite reads and as plain ones, qualities all the same."""
    rng, genome = np.random.default_rng(2), contig(0, bases)
    levels = levels_of(genome, rng)
    files = {(kind, mate): (folder / f"{kind}_{mate}.fq").open("wb") for kind in kinds for mate in (1, 2)}
    for first in range(0, pairs, PART):
        count = min(PART, pairs - first)
        sizes = np.clip(rng.normal(300, 50, count), LENGTH, 600).astype(np.int64)
        begins = rng.integers(0, genome.size - 600, count)
        left, right = (start[:, None] + np.arange(LENGTH) for start in (begins, begins + sizes - LENGTH))
        of_bottom = rng.random(count) < 0.5
        seeds = rng.integers(0, 1 << 32, 4)
        for kind in kinds:
            shown = [genome[at] for at in (left, right)]
            if kind == "meth":
                shown = [_converted(genome, levels, at, of_bottom, int(seeds[0])) for at in (left, right)]
            # on the bottom strand the fragment begins on the right
            first_mate = np.where(of_bottom[:, None], complement(shown[1])[:, ::-1], shown[0])
            second_mate = np.where(of_bottom[:, None], shown[0], complement(shown[1])[:, ::-1])
            for mate, read in ((1, first_mate), (2, second_mate)):
                files[kind, mate].write(_fastq(_with_errors(read, int(seeds[mate])), first))
    for file in files.values():
        file.close()


def _converted(
    genome: Bases, levels: NDArray[np.float32], at: NDArray[np.int64], of_bottom: NDArray[np.bool_], seed: int
) -> Bases:
    """Bases forward on the genome, with C of the top strand as T, or with G over C of the bottom strand as A."""
    bases = genome[at]
    lost = np.random.default_rng([seed, int(at[0, 0])]).random(at.shape) >= levels[at]
    bottom = of_bottom[:, None]
    bases[(bases == ord("C")) & ~bottom & lost] = ord("T")
    bases[(bases == ord("G")) & bottom & lost] = ord("A")
    return bases


def _with_errors(reads: Bases, seed: int) -> Bases:
    rng = np.random.default_rng(seed)
    wrong = rng.random(reads.shape) < ERRORS
    reads = reads.copy()
    reads[wrong] = BASES[rng.integers(0, 4, int(wrong.sum()))]
    return reads


def _fastq(reads: Bases, first: int) -> bytes:
    count, length = reads.shape
    names = np.frombuffer("".join(f"@r{first + i:09d}\n" for i in range(count)).encode(), np.uint8).reshape(count, -1)
    middle = np.tile(np.frombuffer(b"\n+\n" + b"F" * length + b"\n", np.uint8), (count, 1))
    return np.concatenate([names, reads, middle], axis=1).tobytes()


if __name__ == "__main__":
    main()
