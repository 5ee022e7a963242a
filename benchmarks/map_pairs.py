"""Pairs to SAM and to sorted BAM: `gpualign map` against minimap2 and bwa mem, with `samtools sort` where it is needed.

    python benchmarks/map_pairs.py [--rounds 5] [--threads 2] [--pairs 100000] [--to sam,sorted_bam]

Whole commands that load a ready index of human chromosome 20; each of a pipe's programs gets all threads. Also our SAM
through samtools, to show what writing BAM ourselves gains. Result: benchmarks/results/map-pairs-<machine>.json. Needs
Debian's minimap2, bwa and samtools.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import data
import harness
import map as map_benchmark
import pairs

_OURS = "{gpualign} map {index}.gpi {reads} -t {threads} --device cpu -q"
_MINIMAP2 = "minimap2 -ax sr -t {threads} {index}.mmi {reads}"
_BWA = "bwa mem -v 1 -t {threads} {index} {reads}"
_SORT = " | samtools sort -@ {threads} -o {out}"
COMMANDS = {
    "sam": {"gpualign": _OURS + " > {out}", "minimap2": _MINIMAP2 + " > {out}", "bwa": _BWA + " > {out}"},
    "sorted_bam": {
        "gpualign": _OURS + " --sort -o {out}",
        "gpualign | samtools": _OURS + _SORT,
        "minimap2": _MINIMAP2 + _SORT,
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--to", default=",".join(COMMANDS))
    arguments = parser.parse_args()
    reads = " ".join(map(str, pairs.pair_set("chr20", arguments.pairs)))
    settings = {"pairs": arguments.pairs, "threads": arguments.threads, "rounds": arguments.rounds}
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        scratch = Path(name)
        values = {"gpualign": map_benchmark.GPUALIGN, "index": scratch / "chr20", "reads": reads, **settings}
        wanted = {form: COMMANDS[form] for form in arguments.to.split(",")}
        for tool in {case.split()[0] for commands in wanted.values() for case in commands}:
            build = map_benchmark.MAPPERS[tool].index.format(ref=data.genome("chr20"), **values)
            subprocess.run(build.split(), check=True, capture_output=True)
        for form, commands in wanted.items():
            suffix = "sam" if form == "sam" else "bam"
            outputs = {case: scratch / f"{case.replace(' | ', '-')}.{suffix}" for case in commands}
            figures[f"pairs_to_{form}"] = _measure(
                {case: command.format(out=outputs[case], **values) for case, command in commands.items()},
                outputs,
                arguments.rounds,
                arguments.pairs,
            )
    facts = harness.machine(["minimap2", "bwa", "samtools"], ["pysam", "isal"])
    harness.save("map-pairs", facts, {**settings, **figures})


def _measure(commands: dict[str, str], outputs: dict[str, Path], rounds: int, count: int) -> dict[str, Any]:
    """Interleaved rounds of all commands."""

    def timed(command: str) -> harness.Timing:
        return harness.run_timed(["bash", "-o", "pipefail", "-c", command])

    timings = harness.interleave(
        {case: lambda command=command: timed(command) for case, command in commands.items()}, rounds
    )
    table = {}
    for case, out in outputs.items():
        subprocess.run(["samtools", "quickcheck", out], check=True)
        mapped = subprocess.run(["samtools", "view", "-c", "-F", "0x904", out], check=True, capture_output=True)
        row = {**harness.summary(timings[case]), "file_mib": round(out.stat().st_size / 2**20, 1)}
        row["mapped_percent"] = round(100 * int(mapped.stdout) / (2 * count), 3)
        row["pairs_per_s"] = round(count / row["wall_s"])
        row["speed_to_minimap2"] = map_benchmark.ratios(timings[case], timings["minimap2"])
        print(case, {key: value for key, value in row.items() if key != "runs"}, flush=True)
        table[case] = row
    return table


if __name__ == "__main__":
    main()
