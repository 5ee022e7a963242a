"""Long reads on a GPU: `gpualign map -x ont|hifi` on it, on the CPU, and minimap2 and minibwa on the same cores.

    python benchmarks/long_devices.py [--sets ont5,hifi] [--mbp 335] [--devices cuda:0] [--threads 16] [--rounds 3]

Reads of human chromosome 20 by simulate_long.py, as many as give so many million bases, from seeds of their own. Whole
commands that load an index made before and write SAM to /dev/null; seconds of mapping are those after the index and the
devices are ready. Once, the bytes of files are compared. Result: benchmarks/results/long-devices-<machine>.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import data
import harness
from long_reads import build_indexes
from map import GPUALIGN
from map_same_bytes import difference
from simulate_long import PRESETS, SETS, write

PEERS = {
    "minimap2": "minimap2 -ax map-{preset} -t {threads} {index} {reads}",
    "minibwa": "minibwa map -x lr -t {threads} {index} {reads}",
}


def draw(name: str, bases: int, folder: Path, threads: int) -> Path:
    """At least so many bases, in as many parts as there are threads."""
    model = SETS[name]
    mean = model.median * math.exp(model.sigma**2 / 2)  # of a log-normal distribution
    parts = [
        dataclasses.replace(model, seed=1000 * model.seed + part, reads=int(bases / mean / threads) + 1)
        for part in range(threads)
    ]
    files = [folder / f"{name}.{part}.fq" for part in range(threads)]
    with ProcessPoolExecutor(threads) as pool:
        list(pool.map(write, parts, files, [file.with_suffix(".tsv") for file in files]))
    reads = folder / f"{name}.fq"
    with reads.open("wb") as out:
        for file in files:
            out.write(file.read_bytes())
            file.unlink()
    return reads


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="ont5,hifi")
    parser.add_argument("--mbp", type=int, default=335)
    parser.add_argument("--devices", default="cuda:0")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--peer-rounds", type=int, default=3, help="of these with minimap2 and minibwa, which take long"
    )
    arguments = parser.parse_args()
    names, ways = arguments.sets.split(","), ["cpu", *filter(None, arguments.devices.split("+"))]
    facts = harness.machine([tool for tool in PEERS if shutil.which(tool)], gpus=harness.gpu_names())
    sets: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        indexes = build_indexes(folder, {PRESETS[name] for name in names}, arguments.threads)
        for name in names:
            reads = draw(name, arguments.mbp * 1_000_000, folder, arguments.threads)
            rows = measure(reads, PRESETS[name], indexes, ways, arguments, folder)
            bases = sum(len(sequence) for _, sequence, _ in data.read_fastq(reads))
            sets[f"{name}, {round(bases / 1e6)} Mbp"] = rows
            rates(rows, bases)
            for case, row in rows.items():
                print(name, case, row, flush=True)
            harness.save("long-devices", facts, {"threads": arguments.threads, "sets": sets})


def measure(
    reads: Path,
    preset: str,
    indexes: dict[tuple[str, str], Path],
    ways: list[str],
    arguments: argparse.Namespace,
    folder: Path,
) -> dict[str, Any]:
    """Rows of the ways and of the peers that are there."""
    report, threads = folder / "report.json", arguments.threads
    command = [GPUALIGN, "map", "-x", preset, indexes["gpualign", preset], reads, "-t", threads, "-q"]

    def on(way: str, output: str | Path = os.devnull) -> tuple[harness.Timing, dict[str, Any]]:
        timing = harness.run_timed([*map(str, command), "--device", way, "--json", str(report), "-o", str(output)])
        return timing, json.loads(report.read_text())

    def by(tool: str) -> tuple[harness.Timing, dict[str, Any]]:
        index = indexes.get((tool, preset), folder / "genome.bwa")
        words = PEERS[tool].format(preset=preset, threads=threads, index=index, reads=reads).split()
        return harness.run_timed(words), {}

    tools = [tool for tool in PEERS if shutil.which(tool) and (tool, preset) != ("minibwa", "ont")]
    if "minibwa" in tools and not (folder / "genome.bwa").exists():
        harness.run_timed(["minibwa", "index", "-t", str(threads), data.genome("chr20"), folder / "genome.bwa"])
        (folder / "genome.bwa").touch()
    own, others = {way: lambda way=way: on(way) for way in ways}, {tool: lambda tool=tool: by(tool) for tool in tools}
    with_peers = min(arguments.rounds, arguments.peer_rounds)
    timed, more = harness.interleave(own | others, with_peers), harness.interleave(own, arguments.rounds - with_peers)
    rows = {}
    for case, found in timed.items():
        found += more.get(case, [])
        rows[case] = harness.summary([timing for timing, _ in found])
        facts = [facts for _, facts in found if facts]
        if facts:
            middle = sorted(facts, key=lambda one: one["seconds"]["mapping"])[len(facts) // 2]
            rows[case]["mapping_s"] = middle["seconds"]["mapping"]
            rows[case]["kernel_s"] = max((device["kernel_s"] for device in middle.get("devices") or ()), default=0.0)
    sams = {way: folder / f"{way}.sam" for way in ways}
    for way, sam in sams.items():
        on(way, sam)
        if way != "cpu":
            rows[way]["same_bytes"] = difference(sams["cpu"], sam) is None
    return rows


def rates(rows: dict[str, Any], bases: int) -> None:
    """What the seconds say: bases a second, times as fast as the CPU, and the rate of the busiest device's kernels."""
    for row in rows.values():
        taken = row.get("mapping_s", row["wall_s"])
        row["mbp_per_s"] = round(bases / taken / 1e6, 1)
        row["times_cpu"] = round(rows["cpu"]["mapping_s"] / taken, 3)
        if kernels := row.pop("kernel_s", 0.0):
            row["kernels_tbp_per_h"] = round(bases / kernels * 3600 / 1e12, 2)


if __name__ == "__main__":
    main()
