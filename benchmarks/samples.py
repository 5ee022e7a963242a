"""Many small samples: one run of `map --samples` against a run of `map`, and of bwa mem, for each.

    python benchmarks/samples.py [--samples 100] [--pairs 10000] [--distinct 100] [--singles 20] [--threads 2]
                                 [--device cpu] [--single-device auto] [--format sam]

Pairs of 2 x 150 bases of E. coli (map_devices.py's simulation), cut into samples, of which the sheet names the first
``--distinct`` again and again where it has more. Outputs are compared with those of the single runs but for the command
line. Single runs use a saved index, which favours them, and only the first ``--singles`` samples are run so; their
median counts for all. bwa mem has its index as well. Result:
benchmarks/results/samples-<machine>.json. bwa is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np
import pysam
import synthetic_genome
from map_devices import simulate, without_program

GPUALIGN = [sys.executable, "-m", "gpualign"]


def genome_of(name: str, folder: Path) -> Path:
    """One of data.py's, a FASTA file, or "random": as many random bases as E. coli has."""
    if name != "random":
        return Path(name) if Path(name).is_file() else data.genome(name)
    path = folder / "random.fa"
    path.write_bytes(
        b">random\n" + synthetic_genome.random_bases(np.random.default_rng(3), 4_641_652).tobytes() + b"\n"
    )
    return path


def cut(fastq: Path, samples: int, pairs: int, end: int, folder: Path) -> list[Path]:
    """A file for each sample of one whose records come in the samples' order."""
    paths = [folder / f"s{number}_{end}.fq" for number in range(samples)]
    with open(fastq, "rb") as file:
        for path in paths:
            path.write_bytes(b"".join(next(file) for _ in range(4 * pairs)))
    return paths


def lines_of(path: Path) -> list[bytes]:
    """A file's records and header but @PG."""
    if path.suffix == ".sam":
        return without_program(path)
    lines = pysam.view("-h", "--no-PG", str(path)).encode().splitlines()
    return [line for line in lines if not line.startswith(b"@PG")]


def group(name: str) -> str:
    return f"@RG\\tID:{name}\\tSM:{name}"


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    genome = genome_of(arguments.genome, folder)
    ends = [folder / f"all_{end}.fq" for end in (1, 2)]
    distinct = min(arguments.distinct, arguments.samples)
    simulate(genome, distinct * arguments.pairs, True, ends, arguments.threads)
    files = list(
        zip(*(cut(path, distinct, arguments.pairs, i + 1, folder) for i, path in enumerate(ends)), strict=True)
    )
    index, sheet, out = folder / "genome.gpi", folder / "sheet.csv", folder / "out"
    harness.run_timed([*GPUALIGN, "index", genome, "-d", index])
    rows = [f"s{i},{files[i % distinct][0]},{files[i % distinct][1]}" for i in range(arguments.samples)]
    sheet.write_text("\n".join(["sample,fastq_1,fastq_2", *rows]) + "\n")
    ways = ["-t", str(arguments.threads), "-q", "--device"]
    report = folder / "report.json"
    form = ["--output-format", arguments.format, "--json", report]
    command = [*GPUALIGN, "map", index, "--samples", sheet, "-o", out, *form, *ways, arguments.device]
    together = [harness.run_timed(command) for _ in range(arguments.rounds)]
    facts = json.loads(report.read_text())
    singles, peers, same = [], [], True
    with_bwa = shutil.which("bwa") is not None
    if with_bwa:
        shutil.copy(genome, folder / "bwa.fa")
        harness.run_timed(["bwa", "index", folder / "bwa.fa"])
    for number, pair in enumerate(files[: arguments.singles]):
        single = folder / f"single.{arguments.format}"
        named = ["-R", group(f"s{number}"), "-o", single]
        singles.append(
            harness.run_timed([*GPUALIGN, "map", index, *pair, *named, *ways, arguments.single_device]).wall_s
        )
        same &= lines_of(single) == lines_of(out / f"s{number}.{arguments.format}")
        if with_bwa:
            bwa = ["bwa", "mem", "-t", str(arguments.threads), "-v", "1", "-R", group(f"s{number}")]
            peers.append(harness.run_timed([*bwa, folder / "bwa.fa", *pair], single).wall_s)
    wall = statistics.median(run.wall_s for run in together)
    figures = {
        "samples": arguments.samples,
        "distinct": distinct,
        "pairs": arguments.pairs,
        "threads": arguments.threads,
        "device": facts["device"],
        "same_bytes": same,
        "together_s": round(wall, 3),
        "together_mib": round(max(run.peak_mib for run in together), 1),
        "single_s": round(statistics.median(singles), 3),
        "bwa_s": round(statistics.median(peers), 3) if peers else None,
        "times_single": round(arguments.samples * statistics.median(singles) / wall, 2),
        "times_bwa": round(arguments.samples * statistics.median(peers) / wall, 2) if peers else None,
    }
    print(figures, flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--singles", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--distinct", type=int, default=100)
    parser.add_argument("--single-device", default="auto")
    parser.add_argument("--format", choices=("sam", "bam"), default="sam")
    parser.add_argument("--genome", default="ecoli_mg1655")
    parser.add_argument("--folder", type=Path, help="for what is made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder or data.folder()) as name:
        figures = measure(arguments, Path(name))
    name = f"{arguments.samples:,} of {arguments.pairs:,} pairs, {arguments.threads} threads, {figures['device']}"
    gpus = harness.gpu_names() if figures["device"] != "cpu" else []
    harness.save("samples", harness.machine(["bwa"], gpus=gpus), {"samples": {name: figures}})


if __name__ == "__main__":
    main()
