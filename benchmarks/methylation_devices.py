"""Bisulfite pairs on a GPU and on all cores: reads a second, and whether they write the same.

    python benchmarks/methylation_devices.py [--bases 60000000] [--pairs 1000000] [--rounds 2] [--threads 16]
        [--device cuda] [--cases bisulfite non-directional plain] [--folder DIR]

Pairs of 100 bases of a synthetic genome (synthetic_genome.py), methylated as those of methylation.py, with 0.5 %
errors, and the same fragments without conversion. The files are mapped once and several times over in one run, to
/dev/null, and the difference counts: so the start does not.
Result: benchmarks/results/methylation-devices-<machine>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
from bases import BASES, complement
from methylation import LENGTH, Bases, levels_of
from numpy.typing import NDArray
from synthetic_genome import contig, fasta_of

ERRORS = 0.005
#: pairs made at once, and how many times over a GPU and the CPU map them
PART, MORE = 50_000, (8, 3)
GPUALIGN = [sys.executable, "-m", "gpualign"]
CASES = {
    "bisulfite": ("meth", ["--meth"]),
    "non-directional": ("meth", ["--meth", "--non-directional"]),
    "plain": ("plain", []),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bases", type=int, default=60_000_000)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--folder", type=Path, help="for reads and outputs; default: a temporary one")
    arguments = parser.parse_args()
    settings = {name: getattr(arguments, name) for name in ("bases", "pairs", "rounds", "threads", "device")}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        fasta = folder / "genome.fa"
        fasta.write_bytes(fasta_of(0, arguments.bases))
        simulate(contig(0, arguments.bases), arguments.pairs, folder)
        for kind, options in (("meth", ["--meth"]), ("plain", [])):
            words = [*GPUALIGN, "index", fasta, "-d", folder / f"{kind}.gpi", "-q", "-t", str(arguments.threads)]
            harness.run_timed([*words, *options])
        rows = {case: measured(case, folder, arguments) for case in arguments.cases}
    gpus = harness.gpu_names() if arguments.device != "cpu" else []
    harness.save("methylation-devices", harness.machine((), ("pycuda",), gpus), {**settings, "cases": rows})
    if differing := [case for case, row in rows.items() if not row["same_bytes"]]:
        sys.exit(f"CPU and GPU write different records: {', '.join(differing)}")


def measured(case: str, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Reads a second of the device and of all cores, by the reports' clocks."""
    (kind, options), report, sam = CASES[case], folder / "report.json", folder / "out.sam"

    def run(device: str, times: int, output: str | Path = os.devnull) -> dict[str, Any]:
        inputs = [",".join([str(folder / f"{kind}_{mate}.fq")] * times) for mate in (1, 2)]
        command = [*GPUALIGN, "map", *options, folder / f"{kind}.gpi", *inputs, "-t", str(arguments.threads)]
        harness.run_timed([*command, "--device", device, "-q", "-o", output, "--json", report])
        return json.loads(report.read_text())

    def records(device: str) -> int:
        run(device, 1, sam)
        return zlib.crc32(b"\n".join(line for line in sam.read_bytes().split(b"\n") if not line.startswith(b"@PG")))

    # the first call compiles the kernels
    same_bytes = records(arguments.device) == records("cpu")
    keys = [(arguments.device, 1), (arguments.device, MORE[0]), ("cpu", 1), ("cpu", MORE[1])]
    runs = harness.interleave({key: partial(run, *key) for key in keys}, arguments.rounds)
    took = {key: statistics.median(found["wall_s"] for found in some) for key, some in runs.items()}
    reads = 2 * arguments.pairs
    rates = {device: (n - 1) * reads / (took[device, n] - took[device, 1]) for device, n in keys[1::2]}
    row = {"gpu_reads_per_s": round(rates[arguments.device]), "cpu_reads_per_s": round(rates["cpu"])}
    row |= {"times": round(rates[arguments.device] / rates["cpu"], 2), "same_bytes": same_bytes}
    row |= {"gpu_wall_s": took[arguments.device, 1], "cpu_wall_s": took["cpu", 1]}
    last = runs[arguments.device, MORE[0]][-1]
    row |= {name: last[name] for name in ("gpu_items", "cpu_items", "peak_vram_mb")}
    print(case, row, last["timeline"], flush=True)
    return row


def simulate(genome: Bases, pairs: int, folder: Path) -> None:
    """Write pairs as bisulfite reads and as plain ones, qualities all the same."""
    rng = np.random.default_rng(2)
    levels = levels_of(genome, rng)
    files = {(kind, mate): (folder / f"{kind}_{mate}.fq").open("wb") for kind in ("meth", "plain") for mate in (1, 2)}
    for first in range(0, pairs, PART):
        count = min(PART, pairs - first)
        sizes = np.clip(rng.normal(300, 50, count), LENGTH, 600).astype(np.int64)
        begins = rng.integers(0, genome.size - 600, count)
        left, right = (start[:, None] + np.arange(LENGTH) for start in (begins, begins + sizes - LENGTH))
        of_bottom = rng.random(count) < 0.5
        seeds = rng.integers(0, 1 << 32, 4)
        for kind in ("meth", "plain"):
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
