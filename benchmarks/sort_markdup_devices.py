"""`gpualign sort` and `gpualign markdup` on tens of millions of records of a BAM file, on a GPU and on the CPU.

    python benchmarks/sort_markdup_devices.py [--pairs 20000000] [--devices cuda,cpu] [--threads 16] [--rounds 3]
        [--genome GENOME.fa | --bases 200000000] [--memory 64G] [--folder DIR] [--only CASE ...]

The records are those of many_pairs.py's pairs, 15 % of them copies, as `gpualign map` writes them of a synthetic
genome (synthetic_genome.py), in the order of the reads; 40 M of them take less than 90 s to make on 16 cores. Each
command runs on a few records first, so that kernels are compiled; rounds are interleaved. Records/s are by the clocks
of the reports: of the whole command, and without its start (the stages reading and writing). All devices must write the
same records.
Result: benchmarks/results/sort-markdup-devices-<machine>.json.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
from sort_devices import records_checksum

_HERE = Path(__file__).resolve().parent
_GPUALIGN = [sys.executable, "-m", "gpualign"]
_FEW = 20_000
#: case -> command
CASES = {
    "sort": "sort {records}.bam --write-index",
    "sort by name": "sort -n {records}.sorted.bam",
    "mark": "markdup {records}.bam --sort --write-index",
    "mark sorted": "markdup {records}.sorted.bam --write-index",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=20_000_000)
    parser.add_argument("--devices", default="cuda,cpu")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--genome", type=Path, help="in place of a synthetic one")
    parser.add_argument("--bases", type=int, default=200_000_000, help="of the synthetic genome")
    parser.add_argument("--memory", default="64G", help="for sorting")
    parser.add_argument("--folder", type=Path, help="for records and outputs; default: a temporary one")
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    devices = arguments.devices.split(",")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        table = measured(arguments, devices, Path(name))
    gpus = harness.gpu_names() if set(devices) != {"cpu"} else []
    facts = harness.machine((), ("isal", "pycuda"), gpus)
    settings = {key: getattr(arguments, key) for key in ("pairs", "threads", "memory", "bases")}
    harness.save("sort-markdup-devices", facts, {**settings, **table})
    if differing := [case for case, rows in table["commands"].items() if not rows["same_records"]]:
        sys.exit(f"devices write other records: {', '.join(differing)}")


def measured(arguments: argparse.Namespace, devices: list[str], folder: Path) -> dict[str, Any]:
    """The table, printed line by line."""
    table: dict[str, Any] = {"made_s": made(arguments, devices[0], folder)}
    print(table, flush=True)
    os.sync()  # else the disk is still busy with them while the first command runs
    table["commands"] = {}
    for case in arguments.only:
        for device in devices:
            _command(arguments, case, device, folder, folder / "few")
        runs: dict[str, list[dict[str, Any]]] = {device: [] for device in devices}
        checksums = {}
        for _ in range(arguments.rounds):
            for device in devices:
                runs[device].append(_command(arguments, case, device, folder, folder / "all"))
                if device not in checksums:
                    checksums[device] = records_checksum(folder / "out.bam")
        rows = {device: _row(of_device) for device, of_device in runs.items()}
        table["commands"][case] = {"same_records": len(set(checksums.values())) == 1, **rows}
        for device, row in rows.items():
            print(case, device, row, flush=True)
        print(case, "same records on all devices:", table["commands"][case]["same_records"], flush=True)
    return table


def made(arguments: argparse.Namespace, device: str, folder: Path) -> dict[str, float]:
    """Make few.bam, all.bam and the same sorted; returns the seconds of each step."""
    threads, genome = str(arguments.threads), arguments.genome or folder / "g.fa"
    on_device = ["--device", device, "-t", threads, "-q"]
    seconds: dict[str, float] = {}

    def step(name: str, *command: Any) -> None:
        seconds[name] = round(seconds.get(name, 0) + harness.run_timed(command).wall_s, 1)

    if arguments.genome is None:
        script = _HERE / "synthetic_genome.py"
        step("genome", sys.executable, script, arguments.bases, genome, "--processes", threads)
    step("index", *_GPUALIGN, "index", genome, "-d", folder / "g.gpi", "-t", threads, "-q")
    for records, pairs in (("few", _FEW), ("all", arguments.pairs)):
        stem = folder / records
        script = _HERE / "many_pairs.py"
        step("reads", sys.executable, script, genome, stem, pairs, "--duplicates", 0.15, "--processes", threads)
        reads = [Path(f"{stem}_{end}.fq.gz") for end in (1, 2)]
        step("map", *_GPUALIGN, "map", folder / "g.gpi", *reads, "-o", f"{stem}.bam", *on_device)
        for path in reads:
            path.unlink()
        step("sort", *_GPUALIGN, "sort", f"{stem}.bam", "-o", f"{stem}.sorted.bam", *on_device)
    return {**seconds, "all": round(sum(seconds.values()), 1)}


def _command(arguments: argparse.Namespace, case: str, device: str, folder: Path, records: Path) -> dict[str, Any]:
    """The report of a run that replaces no file, and its processor seconds."""
    out, report = folder / "out.bam", folder / "report.json"
    for path in folder.glob("out.bam*"):
        path.unlink()
    options = ["--sort-memory", arguments.memory, "-t", str(arguments.threads), "--device", device, "-q"]
    words = CASES[case].format(records=records).split()
    timing = harness.run_timed([*_GPUALIGN, *words, "-o", out, *options, "--json", report])
    return {**json.loads(report.read_text()), "cpu_s": timing.cpu_s, "bam_bytes": out.stat().st_size}


def _row(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians."""

    def median(of: Any) -> float:
        return round(statistics.median(map(of, runs)), 3)

    def busy(run: dict[str, Any]) -> float:
        return run["seconds"]["reading"] + run["seconds"]["writing"]  # type: ignore[no-any-return]

    records = runs[0]["records"]
    return {
        "records_per_s": round(median(lambda run: records / run["wall_s"])),
        "records_per_s_without_start": round(median(lambda run: records / busy(run))),
        "wall_s": median(lambda run: run["wall_s"]),
        "reading_s": median(lambda run: run["seconds"]["reading"]),
        "writing_s": median(lambda run: run["seconds"]["writing"]),
        "cpu_s": median(lambda run: run["cpu_s"]),
        "peak_mib": median(lambda run: run["peak_rss_mb"]),
        "records": records,
        "bam_bytes": runs[0]["bam_bytes"],
        "duplicates": runs[0].get("duplicates", {}).get("share"),
    }


if __name__ == "__main__":
    main()
