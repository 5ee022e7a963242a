"""Realistic reads to SAM and to sorted BAM: `gpualign map` against minibwa, minimap2 and bwa mem with `samtools sort`.

    python benchmarks/map_pairs.py [--rounds 3] [--threads 2] [--pairs 100000] [--seed 1] [--to sam,sorted_bam]

Pairs of realistic_reads.py, and the first mates of them as single reads. Whole commands that load a ready index of
human chromosome 20; each of a pipe's programs gets all threads. Result: benchmarks/results/map-pairs-<machine>.json,
with how many times as fast as each peer gpualign is. Peers that are not installed are left out; samtools is needed.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import data
import harness
import realistic_reads
from map import GPUALIGN, MAPPERS, ratios

_OURS = GPUALIGN + " map {index}.gpi {reads} -t {threads} --device cpu -q -o {out}"
_PEERS = {
    "minibwa": "minibwa map -t {threads} {index} {reads}",
    "minimap2": "minimap2 -ax sr -t {threads} {index}.mmi {reads}",
    "bwa": "bwa mem -v 1 -t {threads} {index} {reads}",
}
#: what is added to gpualign's command and to a peer's
OUTPUTS = {"sam": ("", " > {out}"), "sorted_bam": (" --sort", " | samtools sort -@ {threads} -o {out}")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", default=",".join(OUTPUTS))
    arguments = parser.parse_args()
    genome = data.genome("chr20")
    peers = [peer for peer, installed in harness.have(_PEERS).items() if installed]
    settings = {key: getattr(arguments, key) for key in ("rounds", "threads", "pairs", "seed")}
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        scratch = Path(name)
        mates = [scratch / f"reads_{mate}.fq" for mate in (1, 2)]
        realistic_reads.write(genome, arguments.pairs, mates, arguments.threads, arguments.seed)
        values = {"index": scratch / "chr20", "threads": arguments.threads}
        for tool in ("gpualign", *peers):
            harness.run_timed(MAPPERS[tool].index.format(ref=genome, **values).split())
        for kind, files in (("pairs", mates), ("single reads", mates[:1])):
            for form in arguments.to.split(","):
                ours, theirs = OUTPUTS[form]
                commands = {"gpualign": _OURS + ours, **{peer: _PEERS[peer] + theirs for peer in peers}}
                outputs = {tool: scratch / f"{tool}.{form.replace('sorted_', '')}" for tool in commands}
                filled = {
                    tool: command.format(reads=" ".join(map(str, files)), out=outputs[tool], **values)
                    for tool, command in commands.items()
                }
                case = f"{kind} to {'sorted BAM' if form == 'sorted_bam' else 'SAM'}"
                figures[case] = _measure(case, filled, outputs, arguments.rounds)
    harness.save("map-pairs", harness.machine([*peers, "samtools"]), {**settings, "cases": figures})


def _measure(case: str, commands: dict[str, str], outputs: dict[str, Path], rounds: int) -> dict[str, Any]:
    """Interleaved rounds of all commands."""

    def timed(command: str) -> harness.Timing:
        return harness.run_timed(["bash", "-o", "pipefail", "-c", command])

    timings = harness.interleave({tool: lambda line=line: timed(line) for tool, line in commands.items()}, rounds)
    table = {}
    for tool, out in outputs.items():
        subprocess.run(["samtools", "quickcheck", out], check=True)
        reads, mapped = (_count(out, f"{flags:#x}") for flags in (0x900, 0x904))
        row = {**harness.summary(timings[tool]), "file_mib": round(out.stat().st_size / 2**20, 1)}
        row |= {"reads": reads, "mapped_percent": round(100 * mapped / reads, 3)}
        row |= {"reads_per_s": round(reads / row["wall_s"]), "reads_per_cpu_s": round(reads / row["cpu_s"])}
        if tool != "gpualign":
            row["gpualign_times_as_fast"] = ratios(timings["gpualign"], timings[tool])
        print(case, tool, row, flush=True)
        table[tool] = row
    return table


def _count(out: Path, without: str) -> int:
    done = subprocess.run(["samtools", "view", "-c", "-F", without, out], check=True, capture_output=True)
    return int(done.stdout)


if __name__ == "__main__":
    main()
