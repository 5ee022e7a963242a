"""`map` on a GPU to references of different size: index, memory, load time, reads a second besides those of chr20.

    python benchmarks/map_references.py [--synthetic 3100000000] [--reads 10000000] [--threads 16] [--folder FOLDER]

The references: chr20; all genomes of data.py together; a synthetic genome (synthetic_genome.py). Reads as in
map_devices.py; reads a second of whole commands, and once begun: without the index's copy to the device. A last case
gives the device less memory than the synthetic genome's index needs. Of each reference a share of the reads is mapped
on the CPU as well, and the bytes are compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import data
import harness
import synthetic_genome
from bases import bases_of
from map_devices import head, simulate, without_program

GPUALIGN = [sys.executable, "-m", "gpualign"]


def together(paths: list[Path], output: Path) -> Path:
    with open(output, "wb") as file:
        for path in paths:
            file.write(path.read_bytes())
    return output


def measure(
    name: str, genome: Path, arguments: argparse.Namespace, folder: Path, limits: Sequence[str] = ("",)
) -> list[dict[str, Any]]:
    """Rows of one reference, a row for each of ``limits``: device memory of the run, "" for all of it."""
    reads = arguments.reads
    threads = ["-t", str(arguments.threads)]
    index, report, fastq = (folder / name for name in ("genome.gpi", "report.json", "reads.fq"))
    built = harness.run_timed([*GPUALIGN, "index", genome, "-d", index, *threads])
    bases = len(bases_of(genome))
    simulate(genome, reads, False, [fastq], min(arguments.threads, 8))
    rows = []
    few = head(fastq, min(arguments.share, reads), folder / "few.fq")
    command = [*GPUALIGN, "map", index, few, *threads, "-q", "--device"]
    harness.run_timed([*command, "cpu"], folder / "cpu.sam")
    for limit in limits:
        memory = ["--max-gpu-mem", limit] if limit else []
        harness.run_timed([*command, arguments.device, *memory], folder / "device.sam")
        same = without_program(folder / "cpu.sam") == without_program(folder / "device.sam")
        taken = harness.run_timed(
            [*GPUALIGN, "map", index, fastq, *threads, "--device", arguments.device, *memory, "-q", "--json", report]
        )
        facts = json.loads(report.read_text())
        loading = max((device["load_s"] for device in facts.get("devices", ())), default=0.0)
        device = (facts.get("devices") or [{}])[0]
        row = {
            "reference": f"{name}, {bases / 1e6:,.0f} Mbp",
            "index_s": round(built.wall_s, 3),
            "index_bytes_a_base": round(index.stat().st_size / bases, 3),
            "reads": reads,
            "max_gpu_mem": limit or None,
            "index_loaded_s": facts["seconds"]["index"],
            **{key: device.get(key) for key in ("load_s", "peak_vram_mb", "mapped_host_mb")},
            "reads_per_s": round(reads / taken.wall_s),
            "reads_per_s_of_mapping": round(reads / (facts["seconds"]["mapping"] - loading)),
            "same_bytes": same,
        }
        rows.append(row)
        print(row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synthetic", type=int, default=3_100_000_000)
    parser.add_argument("--reads", type=int, default=10_000_000)
    parser.add_argument("--share", type=int, default=100_000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--limit", default="4G", help="device memory of the case that has too little")
    parser.add_argument("--genomes", default=",".join(name for name in data.GENOMES if name != "biomarks50k"))
    parser.add_argument("--folder", type=Path, help="for what is made")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        names = arguments.genomes.split(",")
        rows += measure("chr20", data.genome("chr20"), arguments, folder)
        everything = together([data.genome(name) for name in names], folder / "genomes.fa")
        rows += measure(" + ".join(names), everything, arguments, folder)
        if arguments.synthetic:
            genome = folder / "synthetic.fa"
            synthetic_genome.make(arguments.synthetic, genome, arguments.threads)
            rows += measure("synthetic", genome, arguments, folder, ["", arguments.limit])
    harness.save("map-references", harness.machine((), ("pycuda",), harness.gpu_names()), {"rows": rows})


if __name__ == "__main__":
    main()
