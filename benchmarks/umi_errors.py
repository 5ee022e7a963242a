"""How many molecules `gpualign markdup` finds by UMIs with errors, at --umi-distance 1, 2 and auto.

    python benchmarks/umi_errors.py [--molecules 250000] [--seeds 901,902]

Single reads of molecules, several of which begin at the same base; each base of a UMI is wrong with a small
probability. Of every case: by how much the number of molecules that are found is off, and the share of molecules all of
whose reads were joined to those of another one (as equal UMIs are, too). The rule of `auto` was made with other seeds
and another program, before these were looked at. Result: benchmarks/results/umi-errors-<machine>.json.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import data
import harness
import numpy as np

import gpualign


class Case(NamedTuple):
    bases: int
    errors: float
    reads: float = 4  # of a molecule
    molecules: int = 5  # that begin at the same base

    def __str__(self) -> str:
        return f"{self.bases} bases, {self.errors:.1%} errors, {self.reads} reads, {self.molecules} molecules"


CASES = [
    *(Case(bases, 0.01) for bases in (6, 8, 10, 12, 16)),
    *(Case(bases, 0.002) for bases in (8, 12)),
    Case(10, 0.01, reads=1.5),
    Case(10, 0.01, molecules=50),
]
_DISTANCES: tuple[Any, ...] = (1, 2, "auto")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=250_000)
    parser.add_argument("--seeds", default="901,902")
    arguments = parser.parse_args()
    table: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        reads, marked = Path(name) / "reads.sam", Path(name) / "marked.sam"
        for case in CASES:
            row: dict[str, float] = {}
            for seed in map(int, arguments.seeds.split(",")):
                make(case, arguments.molecules, seed, reads)
                for distance in _DISTANCES:
                    options: dict[str, Any] = {"barcode_tags": ("RX",), "umi_distance": distance, "group": True}
                    gpualign.mark_duplicates(reads, marked, device="cpu", **options)
                    found, lost = judged(marked, arguments.molecules)
                    row[f"{distance}, off, seed {seed}"] = round(found / arguments.molecules - 1, 5)
                    row[f"{distance}, lost, seed {seed}"] = round(lost / arguments.molecules, 5)
            table[str(case)] = row
            print(case, row, flush=True)
    harness.save("umi-errors", harness.machine(), {**vars(arguments), "found": table})


def make(case: Case, molecules: int, seed: int, path: Path) -> None:
    """Reads that are named by their molecules, in any order."""
    rng = np.random.default_rng([seed, case.bases])
    place = rng.integers(0, max(1, molecules // case.molecules), molecules)
    umis = rng.integers(0, 4, (molecules, case.bases))
    of = np.repeat(np.arange(molecules), np.maximum(1, rng.poisson(case.reads, molecules)))
    rng.shuffle(of)
    read = umis[of]
    wrong = rng.random(read.shape) < case.errors
    texts = np.frombuffer(b"ACGT", np.uint8)[np.where(wrong, (read + rng.integers(1, 4, read.shape)) % 4, read)]
    with path.open("w") as out:
        out.write("@SQ\tSN:1\tLN:1000000000\n")
        for i, molecule in enumerate(of.tolist()):
            fields = f"{molecule}_{i}\t0\t1\t{100 * int(place[molecule]) + 1}\t60\t8M\t*\t0\t0\tACGTACGT\tFFFFFFFF"
            out.write(f"{fields}\tRX:Z:{texts[i].tobytes().decode()}\n")


def judged(path: Path, molecules: int) -> tuple[int, int]:
    """Molecules that are found, and those that are most of none of these."""
    members: dict[str, Counter[str]] = {}
    with path.open() as file:
        for line in file:
            if line[0] != "@":
                found = next(tag for tag in line.rstrip("\n").split("\t")[11:] if tag.startswith("MI:Z:"))
                members.setdefault(found, Counter())[line.split("_", 1)[0]] += 1
    return len(members), molecules - len({of.most_common(1)[0][0] for of in members.values()})


if __name__ == "__main__":
    main()
