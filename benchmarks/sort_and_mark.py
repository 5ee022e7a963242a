"""Pairs with duplicates to a sorted, marked and indexed BAM file: `map --sort --mark-duplicates --write-index` against
mapping to SAM alone, and against `samtools fixmate -m | sort | markdup` after our SAM, after minibwa and after bwa mem.

    python benchmarks/sort_and_mark.py [--rounds 3] [--threads 2] [--pairs 100000] [--duplicates 0.15] [--genome chr20]
        [--reads R1 R2]

Whole commands that load a ready index; each of a pipe's programs gets all threads. What is marked must be equal to what
samtools marks after our SAM, but for ties. ``--reads R1 R2`` takes these pairs, of --genome, in place of simulated
ones. Result: benchmarks/results/sort-and-mark-<machine>.json. Needs Debian's bwa and samtools, and minibwa (github
lh3/minibwa).
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import data
import harness
import map as map_benchmark
import numpy as np
import pairs

_MAP = "{gpualign} map {index}.gpi {reads} -t {threads} --device cpu -q"
_SAMTOOLS = (
    " | samtools fixmate -u -m -@ {threads} - - | samtools sort -u -@ {threads} -T {out} -"
    " | samtools markdup -S -@ {threads} - {out} && samtools index -@ {threads} {out}"
)
_OURS = _MAP + " --sort --mark-duplicates --write-index"
COMMANDS = {
    "gpualign": _OURS + " -o {out}",
    "gpualign, with runs on disk": _OURS + " --sort-memory 32M -o {out}",
    "gpualign, as small as samtools": _OURS + " --compression-level 5 -o {out}",
    "gpualign to SAM": _MAP + " -o {out}",
    "gpualign | samtools": _MAP + _SAMTOOLS,
    "minibwa | samtools": "minibwa map -t {threads} {index} {reads}" + _SAMTOOLS,
    "bwa | samtools": "bwa mem -v 1 -t {threads} {index} {reads}" + _SAMTOOLS,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--duplicates", type=float, default=0.15)
    parser.add_argument("--genome", default="chr20")
    parser.add_argument("--reads", nargs=2, type=Path, metavar="R")
    arguments = parser.parse_args()
    settings = {**vars(arguments), "reads": [path.name for path in arguments.reads or ()]}
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        scratch = Path(name)
        given = arguments.reads
        unique = given or pairs.pair_set(arguments.genome, round(arguments.pairs * (1 - arguments.duplicates)))
        reads = " ".join(map(str, with_duplicates(unique, arguments.pairs, scratch)))
        values = {**settings, "gpualign": map_benchmark.GPUALIGN, "index": scratch / "ref", "reads": reads}
        for tool in ("gpualign", "minibwa", "bwa"):
            build = map_benchmark.MAPPERS[tool].index.format(ref=data.genome(arguments.genome), **values)
            subprocess.run(build.split(), check=True, capture_output=True)
        outputs = {case: scratch / f"{i}.{'sam' if 'SAM' in case else 'bam'}" for i, case in enumerate(COMMANDS)}
        table = _measure({case: text.format(out=outputs[case], **values) for case, text in COMMANDS.items()}, settings)
        for case, out in outputs.items():
            table[case]["file_mib"] = round(out.stat().st_size / 2**20, 1)
        table["marked"] = {case: _marked(out) for case, out in outputs.items() if out.suffix == ".bam"}
        print(table["marked"])
    facts = harness.machine(["minibwa", "bwa", "samtools"], ["pysam", "isal", "zlib-ng"])
    harness.save("sort-and-mark", facts, {**settings, **table})


def with_duplicates(files: tuple[Path, Path], pairs: int, folder: Path) -> tuple[Path, Path]:
    """The pairs of two files, and copies of some of them in between under names of their own, ``pairs`` in all."""
    made = folder / "reads_1.fq", folder / "reads_2.fq"
    for source, path in zip(files, made, strict=True):
        rng = np.random.default_rng(1)  # the same pairs in both
        with source.open("rb") as lines, path.open("wb") as out:
            unique = list(iter(lambda lines=lines: list(islice(lines, 4)), []))
            copied = rng.integers(0, len(unique), pairs - len(unique))
            order = rng.permutation(pairs)
            for number in order.tolist():
                record = unique[number] if number < len(unique) else unique[copied[number - len(unique)]]
                out.write(b"@p%d\n" % number)
                out.writelines(record[1:])
    return made


def _measure(commands: dict[str, str], settings: dict[str, Any]) -> dict[str, Any]:
    """Interleaved rounds of all commands."""

    def timed(command: str) -> harness.Timing:
        return harness.run_timed(["bash", "-o", "pipefail", "-c", command])

    timings = harness.interleave(
        {case: lambda command=command: timed(command) for case, command in commands.items()}, settings["rounds"]
    )
    table: dict[str, Any] = {}
    for case, runs in timings.items():
        row = {**harness.summary(runs), "times_as_fast": map_benchmark.ratios(timings["gpualign"], runs)}
        row["reads_per_s"] = round(2 * settings["pairs"] / row["wall_s"])
        print(case, row, flush=True)
        table[case] = row
    return table


def _marked(path: Path) -> int:
    """Records that are flagged as duplicates in a whole, indexed file."""
    subprocess.run(["samtools", "quickcheck", path], check=True)
    subprocess.run(["samtools", "idxstats", path], check=True, capture_output=True)
    counted = subprocess.run(["samtools", "view", "-c", "-f", "0x400", path], check=True, capture_output=True)
    return int(counted.stdout)


if __name__ == "__main__":
    main()
