"""Pairs to sorted BAM: `gpualign map --sort` beside `minimap2 -ax sr | samtools sort` and `bwa mem | samtools sort`.

    python benchmarks/sorted_bam.py [--rounds 5] [--threads 2] [--pairs 100000] [--tools gpualign,minimap2]

Whole commands that load a ready index of human chromosome 20; each of a pipe's programs gets all threads. Also our SAM
through samtools, to show what writing BAM ourselves gains. Result: benchmarks/results/sorted-bam-<machine>.json. Needs
Debian's minimap2 and samtools (and bwa).
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import data
import harness
import map as map_benchmark
import pairs

COMMANDS = {
    "gpualign": "{gpualign} map {index}.gpi {reads} -t {threads} --device cpu -q --sort -o {out}",
    "gpualign | samtools": "{gpualign} map {index}.gpi {reads} -t {threads} --device cpu -q | "
    + "samtools sort -@ {threads} -o {out}",
    "minimap2": "minimap2 -ax sr -t {threads} {index}.mmi {reads} | samtools sort -@ {threads} -o {out}",
    "bwa": "bwa mem -t {threads} {index} {reads} | samtools sort -@ {threads} -o {out}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--tools", default="gpualign,gpualign | samtools,minimap2")
    arguments = parser.parse_args()
    tools = arguments.tools.split(",")
    reads = " ".join(map(str, pairs.pair_set("chr20", arguments.pairs)))
    with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
        index = Path(scratch) / "chr20"
        for tool in {tool.split()[0] for tool in tools}:
            build = map_benchmark.MAPPERS[tool].index.format(
                index=index, ref=data.genome("chr20"), threads=arguments.threads
            )
            subprocess.run(build.split(), check=True, capture_output=True)

        def out(tool: str) -> Path:
            return Path(scratch) / f"{tool.replace(' | ', '-')}.bam"

        def timed(tool: str) -> harness.Timing:
            command = COMMANDS[tool].format(
                gpualign=map_benchmark.GPUALIGN, index=index, reads=reads, threads=arguments.threads, out=out(tool)
            )
            return harness.run_timed(["bash", "-o", "pipefail", "-c", command])

        timings = harness.interleave({tool: lambda tool=tool: timed(tool) for tool in tools}, arguments.rounds)
        table = {}
        for tool in tools:
            subprocess.run(["samtools", "quickcheck", out(tool)], check=True)
            mapped = subprocess.run(
                ["samtools", "view", "-c", "-F", "0x904", out(tool)], check=True, capture_output=True
            )
            table[tool] = {**harness.summary(timings[tool]), "bam_mib": round(out(tool).stat().st_size / 2**20, 1)}
            table[tool]["mapped_percent"] = round(100 * int(mapped.stdout) / (2 * arguments.pairs), 3)
            table[tool]["pairs_per_s"] = round(arguments.pairs / table[tool]["wall_s"])
            if "minimap2" in tools:
                table[tool]["speed_to_minimap2"] = map_benchmark.ratios(timings[tool], timings["minimap2"])
            print(tool, {key: value for key, value in table[tool].items() if key != "runs"}, flush=True)
    facts = harness.machine([*{tool.split()[0] for tool in tools} - {"gpualign"}, "samtools"], ["pysam", "isal"])
    settings = {"pairs": arguments.pairs, "threads": arguments.threads, "rounds": arguments.rounds}
    harness.save("sorted-bam", facts, {**settings, "sorted_bam": table})


if __name__ == "__main__":
    main()
