#!/usr/bin/env python3
"""What libraries of pairs are taken for: mixtures of pairs whose places are known, by gpualign and bwa mem.

    python benchmarks/insert_sizes.py          # the table of docs/reliability-tables.md
    python benchmarks/insert_sizes.py --facts  # writes tests/data/insert_sizes.tsv, bwa mem's estimates for the tests

Times are processor time of a thread that maps, the least of some rounds, as multiples of that of as many usual pairs.
Before that up to 5,000 pairs are mapped for the estimate. Result: benchmarks/results/insert-sizes-<machine>.json.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import harness
import numpy as np

from gpualign.map.alignments import Alignments
from gpualign.map.api_inputs import batch_of
from gpualign.map.cpu import map_batch
from gpualign.map.library import Library, estimate_pairs
from gpualign.map.params import MapParams
from gpualign.reads.in_memory import as_batch, packed
from gpualign.reads.reads import Reads
from gpualign.seeds.index.minimizers import build_index
from gpualign.seeds.index.run import choose_index_params
from gpualign.sequences.batch import SequenceBatch

sys.path.insert(0, str(harness.FOLDER.parent))
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.libraries import FACTS, KINDS, PERCENTAGES, READ, TESTED, Maker, Pair

PROPER = 2
MEASURED = tuple(percent for percent in PERCENTAGES if percent not in (25, 75))


class Measured:
    """Mixtures in memory and in files, and what the programs make of them."""

    def __init__(self, folder: Path) -> None:
        self.maker, self.folder, self.params = Maker(), folder, MapParams.of_preset()
        reference = packed(as_batch([self.maker.genome]))
        self.index = build_index(reference, choose_index_params(reference.bases), 1)
        self.reference = write_fasta(folder / "ref.fa", g=self.maker.genome)
        subprocess.run(["bwa", "index", self.reference], check=True, capture_output=True)

    def bwa(self, pairs: list[Pair]) -> tuple[dict[str, list[float]], set[int]]:
        """[mean, sd, shortest, longest] of each orientation that it accepts, and the proper pairs."""
        ends = [[(f"{i}", pair.ends[mate], "I" * READ) for i, pair in enumerate(pairs)] for mate in (0, 1)]
        reads = [write_fastq(self.folder / f"{mate + 1}.fq", *ends[mate]) for mate in (0, 1)]
        done = subprocess.run(["bwa", "mem", self.reference, *reads], check=True, capture_output=True, text=True)
        lines = (line.split("\t", 2) for line in done.stdout.splitlines() if line[0] != "@")
        return estimates(done.stderr), {int(name) for name, flag, _ in lines if int(flag) & PROPER}

    def gpualign(self, pairs: list[Pair]) -> tuple[Library, set[int], float]:
        """What was found, the proper pairs, and seconds of a thread to map them."""
        batch = batch_of([end for pair in pairs for end in pair.ends])
        batch = replace(batch, mates=np.tile(np.array([1, 2], np.uint8), len(pairs)))
        library, _ = estimate_pairs(iter([Reads((batch,))]), self._map_alone, self.params.pairing.default)
        start = time.thread_time()
        found = map_batch(self.index, batch, self.params, library.model)
        seconds = time.thread_time() - start
        flags = found.flag[found.record_offsets[:-1:2]]
        return library, set(np.flatnonzero(flags & PROPER).tolist()), seconds

    def _map_alone(self, batch: SequenceBatch) -> Alignments:
        return map_batch(self.index, batch, self.params)


def estimates(log: str) -> dict[str, list[float]]:
    """What bwa mem writes of its insert sizes (mem_pestat)."""
    found: dict[str, list[float]] = {}
    for block in log.split("analyzing insert size distribution for orientation ")[1:]:
        numbers = re.findall(r"(?:\] mean and std.dev|proper pairs): \(([\d.]+), ([\d.]+)\)", block)
        found[block[:2]] = [float(number) for pair in numbers for number in pair]
    for skipped in re.findall(r"skip orientation (\w\w)(?! as there are not enough)", log):
        found.pop(skipped, None)
    return found


def proper_percent(proper: set[int], pairs: list[Pair]) -> str:
    """Of the usual pairs, and of the others, those in proper pairs."""
    kinds = [{i for i, pair in enumerate(pairs) if pair.other == other} for other in (False, True)]
    shares = (round(100 * len(kind & proper) / len(kind), 1) if kind else None for kind in kinds)
    return ", ".join("–" if share is None else f"{share:g}" for share in shares)


def measure(count: int, rounds: int) -> list[list[str]]:
    """The table, with its heads as the first row."""
    heads = ["other pairs", "%", "estimated", "proper: usual, other (%)", "bwa mem", "proper with bwa mem", "time"]
    table = [heads]
    with tempfile.TemporaryDirectory(prefix="gpualign-insert-sizes-") as folder:
        measured = Measured(Path(folder))
        for kind in KINDS:
            for percent in MEASURED[1:] if len(table) > 1 else MEASURED:
                table.append(one(measured, kind, percent, count, rounds))
                print(*table[-1], sep="\t", flush=True)
    return table


def one(measured: Measured, kind: str, percent: int, count: int, rounds: int) -> list[str]:
    pairs, plain = (measured.maker.library(kind, share, count) for share in (percent, 0))
    seconds: list[float] = []
    usual: list[float] = []
    for _ in range(rounds):
        usual.append(measured.gpualign(plain)[2])
        library, proper, taken = measured.gpualign(pairs)
        seconds.append(taken)
    found, proper_of_bwa = measured.bwa(pairs)
    size = library.reported.get("insert_size")
    estimated = "no pairing"
    if size is not None:
        estimated = f"{size['orientation']} {size['mean']:,.0f} ± {size['sd']:,.0f}, {size['min']:,} to {size['max']:,}"
    of_bwa = (f"{key.lower()} {mean:,.0f} ± {sd:,.0f}" for key, (mean, sd, *_) in found.items())
    return [
        kind if percent else "none",
        str(percent),
        estimated,
        proper_percent(proper, pairs),
        ", ".join(of_bwa) or "–",
        proper_percent(proper_of_bwa, pairs),
        f"{min(seconds) / min(usual):.2f}",
    ]


def write_facts() -> None:
    lines = ["kind\tpercent\tpairs\torientation\tmean\tsd\tshortest\tlongest"]
    with tempfile.TemporaryDirectory(prefix="gpualign-insert-sizes-") as folder:
        measured = Measured(Path(folder))
        for kind, percent, count in TESTED:
            found, _ = measured.bwa(measured.maker.library(kind, percent, count))
            for key, (mean, sd, shortest, longest) in found.items() or {"-": [0.0] * 4}.items():
                lines.append(f"{kind}\t{percent}\t{count}\t{key.lower()}\t{mean}\t{sd}\t{shortest:.0f}\t{longest:.0f}")
    FACTS.write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", action="store_true")
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.facts:
        return write_facts()
    mixtures = measure(arguments.pairs, arguments.rounds)
    settings = {"pairs": arguments.pairs, "rounds": arguments.rounds}
    harness.save("insert-sizes", harness.machine(("bwa",)), {**settings, "mixtures": mixtures})


if __name__ == "__main__":
    main()
