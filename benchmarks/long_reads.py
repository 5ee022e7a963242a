"""Long reads: `gpualign map -x ont|hifi` against `minimap2 -ax map-ont|map-hifi`: speed, memory, accuracy.

    python benchmarks/long_reads.py [--rounds 3] [--threads 2] [--sets ont10,hifi]

Reads of human chromosome 20 by simulate_long.py; whole commands that load a ready index. A read is correct where its
primary record covers at least half of the interval that it came from, on the same strand. Needs Debian's minimap2.
Result: benchmarks/results/long-reads-<machine>.json.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import data
import harness
from map import GPUALIGN, accuracy, ratios, show
from simulate_long import PRESETS, SETS, simulate

INDEX = {
    ("gpualign", "ont"): GPUALIGN + " index {ref} -k 15 -w 10 -d {index} -t {threads} -q",
    ("gpualign", "hifi"): GPUALIGN + " index {ref} -k 19 -w 19 -d {index} -t {threads} -q",
    ("minimap2", "ont"): "minimap2 -x map-ont -t {threads} -d {index} {ref}",
    ("minimap2", "hifi"): "minimap2 -x map-hifi -t {threads} -d {index} {ref}",
}
MAP = {
    "gpualign": GPUALIGN + " map -x {preset} {index} {reads} -t {threads} -q --device cpu",
    "minimap2": "minimap2 -ax map-{preset} -t {threads} {index} {reads}",
}
_REFERENCE_BASES = re.compile(r"(\d+)[MDN=X]")


def load_truth(path: Path) -> dict[str, tuple[str, str, int, int]]:
    """name -> (contig, strand, begin, end)."""
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {name: (contig, strand, int(begin), int(end)) for name, contig, begin, end, strand in rows}


def against_truth(sam: Path, truth: dict[str, tuple[str, str, int, int]]) -> Iterator[tuple[int, bool]]:
    """MAPQ of each mapped read, and whether its primary alignment covers half of where it comes from."""
    for flag, (name, _, contig, position, mapq, cigar, *_) in data.sam_records(sam, without=0x904):
        first = int(position) - 1
        last = first + sum(map(int, _REFERENCE_BASES.findall(cigar)))
        true_contig, strand, begin, end = truth[name]
        right = (contig, "-" if flag & 16 else "+") == (true_contig, strand)
        yield int(mapq), right and min(last, end) - max(first, begin) >= (end - begin) / 2


def build_indexes(folder: Path, presets: set[str], threads: int) -> dict[tuple[str, str], Path]:
    paths = {}
    for (tool, preset), command in INDEX.items():
        if preset in presets:
            paths[tool, preset] = folder / f"{preset}.{'gpi' if tool == 'gpualign' else 'mmi'}"
            filled = command.format(ref=data.genome("chr20"), index=paths[tool, preset], threads=threads)
            subprocess.run(filled.split(), check=True, capture_output=True)
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sets", default=",".join(SETS))
    arguments = parser.parse_args()
    sets = arguments.sets.split(",")
    figures: dict[str, Any] = {"threads": arguments.threads, "rounds": arguments.rounds, "map": {}}
    facts = harness.machine(["minimap2"])
    with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
        indexes = build_indexes(Path(scratch), {PRESETS[name] for name in sets}, arguments.threads)
        for name in sets:
            reads, truth_file = simulate(name, data.folder() / "long")
            preset = PRESETS[name]

            def timed(tool: str, preset: str = preset, reads: Path = reads) -> harness.Timing:
                command = MAP[tool].format(
                    preset=preset, index=indexes[tool, preset], reads=reads, threads=arguments.threads
                )
                return harness.run_timed(command.split(), Path(scratch) / f"{tool}.sam")

            timings = harness.interleave({tool: lambda tool=tool: timed(tool) for tool in MAP}, arguments.rounds)
            truth = load_truth(truth_file)
            table = {}
            for tool in MAP:
                row = harness.summary(timings[tool])
                row["reads_per_s"] = round(len(truth) / row["wall_s"])
                row["reads_per_cpu_s"] = round(len(truth) / row["cpu_s"])
                row |= accuracy(against_truth(Path(scratch) / f"{tool}.sam", truth), len(truth))
                if tool != "gpualign":
                    row["gpualign_times_as_fast"] = ratios(timings["gpualign"], timings[tool])
                table[tool] = row
                show(name, tool, row)
            figures["map"][f"{name} ({preset})"] = table
            harness.save("long-reads", facts, figures)


if __name__ == "__main__":
    main()
