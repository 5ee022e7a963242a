"""Tens of millions of pairs with duplicates to a sorted, marked and indexed BAM file on a GPU: whole commands.

    python benchmarks/sort_devices.py GENOME.fa [--pairs 10000000] [--duplicates 0.15] [--device cuda] [--threads 16]
        [--memory 2G] [--cores 4] [--rounds 2] [--folder DIR] [--name NAME] [--only CASE ...]

The pairs are those of many_pairs.py, compressed by BGZF; the index is made before. Cases: to SAM, which goes nowhere,
and BAM as they come; sorted; marked, too; with coverage; with less memory (--memory) than the records need; on few
cores (--cores).
Each command maps a few pairs first, so that its kernels are compiled; the first of several rounds is a warm-up, too.
With less memory and on few cores the records must be the same.
Result: benchmarks/results/<name>-<machine>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import harness
import pysam

from gpualign.text.bgzf import BgzfReader

_HERE = Path(__file__).resolve().parent
_MARKED = "--sort --mark-duplicates --write-index"
_PLENTY = "64G"
_FEW = 20_000
CASES = {
    "SAM": "-o /dev/null",
    "BAM": "-o {out}.bam",
    "sorted": f"--sort --write-index --sort-memory {_PLENTY} -o {{out}}.bam",
    "marked": f"{_MARKED} --sort-memory {_PLENTY} -o {{out}}.bam",
    "usual memory": f"{_MARKED} -o {{out}}.bam",
    "coverage": f"{_MARKED} --coverage {{out}} --sort-memory {_PLENTY} -o {{out}}.bam",
    "less memory": f"{_MARKED} --sort-memory {{memory}} -o {{out}}.bam",
    "few cores": f"{_MARKED} --sort-memory {_PLENTY} -o {{out}}.bam",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("genome", type=Path)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--duplicates", type=float, default=0.15)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--memory", default="02G", help="as long as 64G, so that headers are as long, too")
    parser.add_argument("--cores", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="for reads and outputs; default: a temporary one")
    parser.add_argument("--name", default="sort-devices", help="of the result")
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        table = measured(arguments, Path(name))
    gpus = harness.gpu_names() if arguments.device != "cpu" else []
    facts = harness.machine((), ("pysam", "isal", "pycuda"), gpus)
    settings = {key: getattr(arguments, key) for key in ("pairs", "duplicates", "device", "threads", "memory", "cores")}
    harness.save(arguments.name, facts, {"genome": arguments.genome.name, **settings, **table})
    if differing := [case for case, row in table["commands"].items() if row.get("same_records") is False]:
        sys.exit(f"other records than of the case marked: {', '.join(differing)}")


def measured(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The table, printed line by line."""
    gpualign = [sys.executable, "-m", "gpualign"]
    index, reads = folder / "g.gpi", [folder / f"r_{end}.fq.gz" for end in (1, 2)]
    threads = str(arguments.threads)
    few = [folder / f"few_{end}.fq.gz" for end in (1, 2)]
    program = [sys.executable, _HERE / "many_pairs.py", arguments.genome, "--duplicates", str(arguments.duplicates)]
    program += ["--processes", threads]
    harness.run_timed([*program, folder / "few", str(_FEW)])
    made = harness.run_timed([*program, folder / "r", str(arguments.pairs)])
    indexed = harness.run_timed([*gpualign, "index", arguments.genome, "-d", index, "-t", threads, "-q"])
    os.sync()  # else the disk is still busy with them while the first command runs
    table: dict[str, Any] = {"reads_made_s": round(made.wall_s, 1), "index_made_s": round(indexed.wall_s, 1)}
    print(table, flush=True)
    table["commands"] = {}
    for case in arguments.only:
        cores = arguments.cores if case == "few cores" else arguments.threads
        out, report = folder / "o", folder / "j.json"
        options = CASES[case].format(out=out, memory=arguments.memory).split()
        common = ["--device", arguments.device, "-t", f"{cores:02}", "-q", "--json", report]
        command = [*gpualign, "map", index, *reads, *common, *options]
        harness.run_timed([*gpualign, "map", index, *few, *common, *options])  # compiles its kernels
        runs = [harness.on_cores(cores, partial(_afresh, folder, command)) for _ in range(arguments.rounds)]
        runs = runs[1:] or runs
        row = {**_row(report, arguments.pairs), **harness.summary(runs)}
        row = {"reads_per_s": round(2 * arguments.pairs / row["wall_s"]), **row}
        if "--sort" in options:
            pysam.samtools.quickcheck(f"{out}.bam")
        if "SAM" not in case:
            row["bam_bytes"] = Path(f"{out}.bam").stat().st_size
            _keep_or_compare(case, Path(f"{out}.bam"), folder / "marked.bam", row)
        table["commands"][case] = row
        print(case, row, flush=True)
        _remove_outputs(folder)
    return table


def _afresh(folder: Path, command: list[Any]) -> harness.Timing:
    """A run that replaces no file: to give up an old one's pages takes a second."""
    _remove_outputs(folder)
    return harness.run_timed(command)


def _remove_outputs(folder: Path) -> None:
    for path in folder.glob("o*"):
        path.unlink()


def _row(report: Path, pairs: int) -> dict[str, Any]:
    """Of the latest run."""
    facts = json.loads(report.read_text())
    if facts["reads"] != 2 * pairs:
        raise RuntimeError(f"{facts['reads']} reads of {2 * pairs}")
    return {
        "seconds": {key: facts["seconds"].get(key) for key in ("mapping", "output")},
        "duplicates": facts.get("duplicates", {}).get("share"),
    }


def _keep_or_compare(case: str, path: Path, kept: Path, row: dict[str, Any]) -> None:
    """Whether the records are those of the case "marked"."""
    if case == "marked":
        subprocess.run(["mv", path, kept], check=True)
    elif case in ("less memory", "few cores") and kept.exists():
        row["same_records"] = records_checksum(path) == records_checksum(kept)


def records_checksum(path: Path) -> tuple[int, int]:
    """Of a BAM file, whose header names the command line: CRC-32 of the bytes behind that, and how many there are."""
    with pysam.AlignmentFile(path, check_sq=False) as file:
        header = len(str(file.header)) + 12 + sum(len(name) + 9 for name in file.references)
    checksum, size = 0, -header
    with path.open("rb") as file, BgzfReader(file, 8, lambda rest: rest) as reader:
        for piece in reader.pieces(count_lines=False):
            content = piece.text[max(0, -size) :]
            checksum, size = zlib.crc32(content, checksum), size + len(piece.text)
    return checksum, size


if __name__ == "__main__":
    main()
