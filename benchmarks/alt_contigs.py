"""Reads near ALT contigs: `gpualign mem` beside bwa mem, both with REF.alt, by truth.

    python benchmarks/alt_contigs.py [--genome chr20] [--pairs 6000] [--seed 1] [--shown 0]

The reference is made of a genome as GRCh38 with ALT contigs is: 30 contigs of 50 to 150 kb are edited copies (0.2 to
2 % substitutions, a tenth as many insertions and deletions), and a decoy is primary. Pairs of 2 x 150 bases come from
the stretches that have copies ("primary"), from the copies ("alt"), from where both are the same ("both") and from
elsewhere ("elsewhere"). A read is right if its primary record begins within 20 bases of where it comes from, or of what
a copy was made from. Result: benchmarks/results/alt-<machine>.json.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np

GPUALIGN = [sys.executable, "-m", "gpualign"]
KINDS = ("primary", "alt", "both", "elsewhere")
CONTIGS, READ, SLACK, SURE = 30, 150, 20, 30
LETTERS = np.frombuffer(b"ACGT", np.uint8)
COMPLEMENT = bytes.maketrans(b"ACGTN", b"TGCAN")


def edited(rng: np.random.Generator, copy: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """The copy with edits, and where each of its bases comes from."""
    substituted = rng.random(len(copy)) < rate
    copy = np.where(substituted & (copy != ord("N")), LETTERS[rng.integers(0, 4, len(copy))], copy)
    times = np.ones(len(copy), np.int64)
    times[rng.random(len(copy)) < rate / 20] = 0
    inserted = rng.random(len(copy)) < rate / 20
    times[inserted] += rng.geometric(0.2, int(inserted.sum()))
    origin = np.repeat(np.arange(len(copy)), times)
    contig = copy[origin]
    extra = np.flatnonzero(np.diff(origin, prepend=-1) == 0)
    contig[extra] = LETTERS[rng.integers(0, 4, len(extra))]
    return contig, origin


class Assembly:
    """A genome, and contigs that are copies of its parts."""

    def __init__(self, genome: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.genome, self.rng = genome, rng
        self.contigs: list[tuple[int, np.ndarray, np.ndarray]] = []
        while len(self.contigs) < CONTIGS:
            size = int(rng.integers(50_000, 150_000))
            start = int(rng.integers(0, len(genome) - size))
            if np.count_nonzero(genome[start : start + size] == ord("N")):
                continue
            contig, origin = edited(rng, genome[start : start + size], rng.choice((0.002, 0.005, 0.01, 0.02)))
            self.contigs.append((start, contig, origin))
        self.copied = np.zeros(len(genome), bool)
        for start, _, origin in self.contigs:
            self.copied[start : start + int(origin[-1]) + 1] = True

    def write(self, path: Path) -> None:
        with open(path, "wb") as out, open(f"{path}.alt", "w") as alt:
            out.write(b">chr\n" + self.genome.tobytes() + b"\n")
            for number, (start, contig, _) in enumerate(self.contigs):
                out.write(b">chr_%d_alt\n%s\n" % (number, contig.tobytes()))
                alt.write(f"chr_{number}_alt\t0\tchr\t{start + 1}\t60\t{len(contig)}M\t*\t0\t0\t*\t*\n")
            out.write(b">decoy\n" + LETTERS[self.rng.integers(0, 4, 50_000)].tobytes() + b"\n")

    def fragment(self, kind: str) -> tuple[np.ndarray, int, int] | None:
        """(bases, truths of its first and of its last base), or None where this draw is of another kind."""
        rng, size = self.rng, int(np.clip(self.rng.normal(400, 60), 2 * READ, 700))
        if kind == "elsewhere":
            at = int(rng.integers(0, len(self.genome) - size))
            bases = self.genome[at : at + size]
            wanted = not self.copied[at : at + size].any() and not (bases == ord("N")).any()
            return (bases, at, at + size - 1) if wanted else None
        start, contig, origin = self.contigs[rng.integers(CONTIGS)]
        if kind == "primary":
            at = start + int(rng.integers(0, int(origin[-1]) - size))
            return self.genome[at : at + size], at, at + size - 1
        at = int(rng.integers(0, len(contig) - size))
        bases, of = contig[at : at + size], origin[at : at + size]
        same = of[-1] - of[0] == size - 1 and np.array_equal(bases, self.genome[start + of[0] :][:size])
        return (bases, start + int(of[0]), start + int(of[-1])) if same == (kind == "both") else None

    def simulate(self, pairs: int, paths: list[Path]) -> None:
        with open(paths[0], "wb") as first, open(paths[1], "wb") as second:
            for kind in KINDS:
                made = 0
                while made < pairs:
                    if (drawn := self.fragment(kind)) is None:
                        continue
                    bases, begin, end = drawn
                    ends = [bases[:READ].copy(), bases[-READ:][::-1].copy()]
                    ends[1] = np.frombuffer(ends[1].tobytes().translate(COMPLEMENT), np.uint8).copy()
                    truth = (begin, end - READ + 1)
                    if self.rng.random() < 0.5:
                        ends.reverse()
                        truth = truth[::-1]
                    for read, out in zip(ends, (first, second), strict=True):
                        wrong = self.rng.random(READ) < 0.005
                        read[wrong] = LETTERS[self.rng.integers(0, 4, int(wrong.sum()))]
                        name = b"%s:%d:%d:%d" % (kind.encode(), made, *truth)
                        out.write(b"@%s\n%s\n+\n%s\n" % (name, read.tobytes(), b"F" * READ))
                    made += 1


def judged(sam: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """What became of each read: (name, end) -> its primary record, and what else it has."""
    reads: dict[tuple[str, int], dict[str, Any]] = {}
    for line in sam.read_text().splitlines():
        if line.startswith("@"):
            continue
        fields = line.split("\t")
        flag, key = int(fields[1]), (fields[0], 2 if int(fields[1]) & 128 else 1)
        read = reads.setdefault(key, {"supplementary": 0})
        if flag & 0x900:
            read["supplementary"] += fields[2].endswith("_alt")
            continue
        kind, _, *truths = fields[0].split(":")
        tags = {field[:2]: field[5:] for field in fields[11:]}
        clipped = fields[5].split("S")[0]
        begin = int(fields[3]) - 1 - (int(clipped) if clipped.isdigit() else 0)
        near = fields[2] == "chr" and abs(begin - int(truths[key[1] - 1])) <= SLACK
        read |= {"kind": kind, "mapq": int(fields[4]), "right": near, "line": line, "pa": "pa" in tags}
        read["xa_alt"] = "_alt," in tags.get("XA", "")
    return reads


def summary(reads: dict[tuple[str, int], dict[str, Any]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        of_kind = [read for read in reads.values() if read["kind"] == kind]
        sure = [read for read in of_kind if read["mapq"] >= SURE]
        found[kind] = {
            "reads": len(of_kind),
            "right": sum(read["right"] for read in of_kind),
            "sure_share": round(len(sure) / len(of_kind), 5),
            "sure_and_wrong": sum(not read["right"] for read in sure),
            "supplementary_on_alt": sum(read["supplementary"] for read in of_kind),
            "pa": sum(read["pa"] for read in of_kind),
            "xa_on_alt": sum(read["xa_alt"] for read in of_kind),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genome", default="chr20")
    parser.add_argument("--pairs", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shown", type=int, default=0, help="reads that bwa is sure of and we are not, to look at")
    parser.add_argument("--folder", type=Path, help="for what is made, and kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        folder = arguments.folder or Path(name)
        path = Path(arguments.genome) if Path(arguments.genome).is_file() else data.genome(arguments.genome)
        text = b"".join(line.strip() for line in path.read_bytes().splitlines() if not line.startswith(b">")).upper()
        assembly = Assembly(np.frombuffer(text, np.uint8), arguments.seed)
        reference, reads = folder / "ref.fa", [folder / "r_1.fq", folder / "r_2.fq"]
        assembly.write(reference)
        assembly.simulate(arguments.pairs, reads)
        subprocess.run(["bwa", "index", reference], check=True, capture_output=True)
        threads = ["-t", str(arguments.threads)]
        harness.run_timed(["bwa", "mem", *threads, reference, *reads], folder / "bwa.sam")
        harness.run_timed([*GPUALIGN, "mem", *threads, reference, *reads], folder / "gpualign.sam")
        found = {program: judged(folder / f"{program}.sam") for program in ("bwa", "gpualign")}
    for kind, program in itertools.product(KINDS, found):
        print(f"{kind:10} {program:9}", summary(found[program])[kind])
    lost = [key for key, read in found["gpualign"].items() if read["mapq"] < SURE <= found["bwa"][key]["mapq"]]
    gained = [key for key, read in found["gpualign"].items() if read["mapq"] >= SURE > found["bwa"][key]["mapq"]]
    print("bwa alone is sure", Counter((found["bwa"][key]["kind"], found["bwa"][key]["right"]) for key in lost))
    print(
        "gpualign alone is sure",
        Counter((found["gpualign"][key]["kind"], found["gpualign"][key]["right"]) for key in gained),
    )
    for key in lost[: arguments.shown]:
        for program in found:
            fields = found[program][key]["line"].split("\t")
            print(f"{program:9}", *fields[:9], *(field for field in fields[11:] if field[:2] not in ("MD", "MC")))
    figures = {program: summary(reads) for program, reads in found.items()}
    rows = {f"{kind}, {program}": figures[program][kind] for kind in KINDS for program in figures}
    of_run = {"genome": path.stem, "seed": arguments.seed}
    harness.save("alt", harness.machine(["bwa"]), {"run": of_run, "alt": rows})


if __name__ == "__main__":
    main()
