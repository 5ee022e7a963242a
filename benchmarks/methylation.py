"""Bisulfite pairs of known methylation: `map --meth` against bwa-meth, and its counts against MethylDackel's: speed,
where reads are placed, and the error of the methylation of each CpG.

    python benchmarks/methylation.py [--pairs 500000] [--slice 1000000] [--depth 30] [--rounds 1] [--threads 2]
        [--bwameth bwameth.py] [--methyldackel MethylDackel] [--bsbolt FOLDER]

Pairs of 100 bases with sequencing errors and variants, of chr20 for speed and placement, and of a slice of it at
--depth for methylation. CpG are methylated in blocks of 200 bases (5, 50 or 90 %), other C to 1 %. The same fragments
without conversion tell what plain reads take. Result: benchmarks/results/methylation-<machine>.json. Needs bwa-meth
(github brentp/bwa-meth, over Debian's bwa), MethylDackel (github dpryan79/MethylDackel, with Debian's libhts-dev and
libbigwig-dev) and samtools; what is missing is left out.

With --bsbolt, a clone of github NuttyLogic/BSBolt whose wgsim is built, BSBolt simulates the reads instead, with
variants, indels and methylation of its own, of the slice at --depth; they are mapped on the whole of chr20. Result:
methylation-bsbolt-<machine>.json.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import data
import harness
import map as map_benchmark
import numpy as np
from numpy.typing import NDArray

LENGTH = 100
_COMPLEMENT = np.zeros(256, np.uint8)
_COMPLEMENT[list(b"ACGTN")] = list(b"TGCAN")
_NEAR = 20  # bases by which an end may be off
Bases = NDArray[np.uint8]
Levels = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=500_000)
    parser.add_argument("--slice", type=int, default=1_000_000)
    parser.add_argument("--depth", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bwameth", default="bwameth.py")
    parser.add_argument("--methyldackel", default="MethylDackel")
    parser.add_argument("--bsbolt", type=Path, help="simulates the reads")
    arguments = parser.parse_args()
    peer = shutil.which(arguments.bwameth)
    with tempfile.TemporaryDirectory(dir=data.folder()) as name:
        scratch = Path(name)
        contig, bases = next(iter(_contigs(data.genome("chr20"))))
        mapping: dict[str, Any] = {}
        start = bases.size // 3
        end = start + arguments.slice

        def of_all(folder: Path) -> Levels:
            return simulate(bases, contig, arguments.pairs, folder)

        def of_slice(folder: Path) -> Levels:
            pairs = arguments.slice * arguments.depth // (2 * LENGTH)
            return simulate(bases[start:end], contig, pairs, folder)

        def by_bsbolt(folder: Path) -> Levels:
            return simulate_by_bsbolt(arguments.bsbolt, bases, contig, start, end, arguments.depth, folder)

        reads = by_bsbolt if arguments.bsbolt else of_all
        whole = _Genome(scratch / "whole", contig, bases, reads, peer, arguments.threads)
        commands = whole.commands()
        timings = harness.interleave(
            {case: lambda command=command: _timed(command) for case, command in commands.items()}, arguments.rounds
        )
        for case, runs in timings.items():
            row = {**harness.summary(runs), "times_as_fast": map_benchmark.ratios(timings["gpualign"], runs)}
            if not case.endswith("plain reads"):
                row |= placed(whole.folder / f"{case}.sam")
            print(case, row, flush=True)
            mapping[case] = row
        part = whole
        if not arguments.bsbolt:
            part = _Genome(scratch / "slice", contig, bases[start:end], of_slice, peer, arguments.threads)
        methylation = part.methylation(shutil.which(arguments.methyldackel))
        print(methylation)
        settings = {name: getattr(arguments, name) for name in ("slice", "depth", "rounds", "threads")}
        settings = {"pairs": whole.pairs, **settings}
    found = {**settings, "mapping": mapping, "methylation": methylation}
    table = "methylation-bsbolt" if arguments.bsbolt else "methylation"
    harness.save(table, harness.machine(["bwa", "samtools"]), found)


class _Genome:
    """A contig with simulated reads and indexes.

    Args:
        make_reads: writes bisulfite reads, and perhaps plain ones, to a folder; returns the levels of methylation.
    """

    def __init__(
        self,
        folder: Path,
        contig: str,
        bases: Bases,
        make_reads: Callable[[Path], Levels],
        peer: str | None,
        threads: int,
    ) -> None:
        folder.mkdir()
        self.folder, self.peer, self.threads, self.contig = folder, peer, threads, contig
        self.fasta = folder / "genome.fa"
        text = bases.tobytes().decode()
        lines = "\n".join(text[i : i + 60] for i in range(0, len(text), 60))
        self.fasta.write_text(f">{contig}\n{lines}\n")
        self.levels = make_reads(folder)
        self.plain = (folder / "plain_1.fq").exists()
        program = map_benchmark.GPUALIGN
        _shell(f"{program} index --meth {self.fasta} -d {folder}/meth.gpi -q")
        _shell(f"samtools faidx {self.fasta}")
        if self.plain:
            _shell(f"{program} index {self.fasta} -d {folder}/plain.gpi -q")
        if peer:
            _shell(f"{peer} index {self.fasta}")

    @property
    def pairs(self) -> int:
        with (self.folder / "meth_1.fq").open("rb") as file:
            return sum(1 for _ in file) // 4

    def commands(self) -> dict[str, str]:
        folder, threads = self.folder, self.threads
        reads, plain = (f"{folder}/{kind}_1.fq {folder}/{kind}_2.fq" for kind in ("meth", "plain"))
        ours = f"{map_benchmark.GPUALIGN} map -t {threads} --device cpu -q"
        commands = {"gpualign": f"{ours} --meth {folder}/meth.gpi {reads} -o {folder}/gpualign.sam"}
        if self.plain:
            commands["gpualign, plain reads"] = f"{ours} {folder}/plain.gpi {plain} -o {folder}/plain.sam"
        if self.peer:
            commands["bwa-meth"] = (
                f"{self.peer} --threads {threads} --reference {self.fasta} {reads} > {folder}/bwa-meth.sam"
            )
        return commands

    def methylation(self, extractor: str | None) -> dict[str, Any]:
        """The mean absolute error of the methylation of CpG, by each program's counts."""
        folder, commands = self.folder, self.commands()
        tail = f"--sort --write-index -o {folder}/gpualign.bam --methylation {folder}/gpualign.bedgraph"
        _shell(commands["gpualign"].replace(f"-o {folder}/gpualign.sam", tail))
        found = {"gpualign": self.error(folder / "gpualign.bedgraph")}
        if extractor:
            _shell(f"{extractor} extract {self.fasta} {folder}/gpualign.bam -o {folder}/ours")
            same = self._lines(folder / "ours_CpG.bedGraph") == self._lines(folder / "gpualign.bedgraph")
            found["gpualign"]["lines_are_methyldackels"] = same
        if self.peer and extractor:
            _shell(commands["bwa-meth"])
            _shell(f"samtools sort -o {folder}/peer.bam {folder}/bwa-meth.sam && samtools index {folder}/peer.bam")
            _shell(f"{extractor} extract {self.fasta} {folder}/peer.bam -o {folder}/peer")
            found["bwa-meth, MethylDackel"] = self.error(folder / "peer_CpG.bedGraph")
        return found

    @staticmethod
    def _lines(path: Path) -> list[str]:
        return path.read_text().splitlines()[1:]

    def error(self, path: Path) -> dict[str, float]:
        rows = [line.split("\t") for line in self._lines(path)]
        rows = [row for row in rows if self.levels[int(row[1])] >= 0]
        at = np.array([int(row[1]) for row in rows])
        methylated, converted = (np.array([int(row[i]) for row in rows]) for i in (4, 5))
        off = np.abs(methylated / (methylated + converted) - self.levels[at])
        return {"sites": len(rows), "depth": round(float((methylated + converted).mean()), 3),
                "mean_absolute_error": round(float(off.mean()), 6)}  # fmt: skip


def _shell(command: str) -> None:
    subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, capture_output=True)


def _timed(command: str) -> harness.Timing:
    return harness.run_timed(["bash", "-o", "pipefail", "-c", command])


def _contigs(path: Path) -> Iterator[tuple[str, Bases]]:
    name, *lines = path.read_text().split("\n")
    yield name[1:].split()[0], np.frombuffer("".join(lines).upper().encode(), np.uint8)


def levels_of(bases: Bases, rng: np.random.Generator) -> Levels:
    """The methylation of each C, or of the C opposite a G."""
    levels = np.full(bases.size, 0.01, np.float32)
    blocks = rng.choice([0.05, 0.5, 0.9], size=bases.size // 200 + 1, p=[0.25, 0.15, 0.6])
    at = np.flatnonzero((bases[:-1] == ord("C")) & (bases[1:] == ord("G")))
    levels[at] = levels[at + 1] = blocks[at // 200]
    return levels


#: calls BSBolt's simulator; its own command imports what needs its aligner
_BSBOLT = """
import random, sys, numpy
from bsbolt.Simulate.SimulateMethylatedReads import SimulateMethylatedReads
random.seed(7); numpy.random.seed(7)
fasta, output, depth, length = sys.argv[1:]
SimulateMethylatedReads(reference_file=fasta, sim_output=output, paired_end=True, read_length=int(length),
    read_depth=int(depth), random_seed=7, mean_insert_size=100, insert_deviation=40, verbose=False).run_simulation()
"""


def simulate_by_bsbolt(
    program: Path, bases: Bases, contig: str, start: int, end: int, depth: int, folder: Path
) -> Levels:
    """Write pairs of a slice as :func:`simulate` does, but by BSBolt; levels outside the slice are -1."""
    fasta = folder / "slice.fa"
    fasta.write_bytes(b">slice\n" + bases[start:end].tobytes() + b"\n")
    words = [sys.executable, "-c", _BSBOLT, str(fasta), str(folder / "bsbolt"), str(depth), str(LENGTH)]
    environment = {**os.environ, "PYTHONPATH": str(program)}
    subprocess.run(words, env=environment, check=True, capture_output=True)
    names = []
    with (folder / "bsbolt_1.fq").open() as one, (folder / "bsbolt_2.fq").open() as two:
        for number, (first, second) in enumerate(zip(*(list(file)[2::4] for file in (one, two)), strict=True)):
            at = [int(place) for comment in (first, second) for place in comment.split(":")[1:3]]
            strand = "+" if first.split(":")[4][0] == "W" else "-"
            names.append(f"@r{number}:{contig}:{start + min(at)}:{start + max(at)}:{strand}")
    for mate in (1, 2):
        lines = (folder / f"bsbolt_{mate}.fq").read_text().split("\n")
        lines[::4] = [f"{name}/{mate}" for name in names] + [""]
        lines[2::4] = ["+"] * len(names)
        (folder / f"meth_{mate}.fq").write_text("\n".join(lines))
    levels = np.full(bases.size, -1, np.float32)
    with (folder / "bsbolt.slice.pkl").open("rb") as file:
        profile = pickle.load(file)  # position, or position and variant -> (base, level, context, …)
    for place, (_, level, *_) in profile.items():
        if place.isdigit():
            levels[start + int(place)] = level
    return levels


def simulate(bases: Bases, contig: str, pairs: int, folder: Path) -> Levels:
    """Write pairs as bisulfite reads and as plain ones; names tell contig, begin, end and strand of the fragment."""
    levels = levels_of(bases, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    files = {(kind, mate): (folder / f"{kind}_{mate}.fq").open("wb") for kind in ("meth", "plain") for mate in (1, 2)}
    made = 0
    while made < pairs:
        size = int(np.clip(rng.normal(300, 50), LENGTH, 600))
        begin = int(rng.integers(0, bases.size - size))
        fragment = bases[begin : begin + size].copy()
        if (fragment == ord("N")).any():
            continue
        _substitute(fragment, rng.random(size) < 0.001, rng)
        kept = rng.random(size) < levels[begin : begin + size]
        strand = rng.integers(0, 2)
        if strand:
            fragment, kept = _COMPLEMENT[fragment][::-1].copy(), kept[::-1]
        converted = np.where((fragment == ord("C")) & ~kept, ord("T"), fragment).astype(np.uint8)
        wrong = rng.random((2, LENGTH)) < np.linspace(0.001, 0.008, LENGTH)
        qualities = np.where(wrong, ord("-"), np.where(rng.random((2, LENGTH)) < 0.05, ord("5"), ord("F")))
        for kind, text in (("meth", converted), ("plain", fragment)):
            for mate, end in ((1, text), (2, _COMPLEMENT[text][::-1])):
                read = end[:LENGTH].copy()
                _substitute(read, wrong[mate - 1], rng)
                name = f"@r{made}:{contig}:{begin}:{begin + size}:{'-+'[1 - strand]}/{mate}\n".encode()
                quality = qualities[mate - 1].astype(np.uint8).tobytes()
                files[kind, mate].write(name + read.tobytes() + b"\n+\n" + quality + b"\n")
        made += 1
    for file in files.values():
        file.close()
    return levels


def _substitute(text: Bases, where: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """Replace bases by one of the three others."""
    for at in np.flatnonzero(where):
        text[at] = rng.choice([base for base in b"ACGT" if base != text[at]])


def placed(path: Path) -> dict[str, int]:
    """Reads whose primary record begins or ends where their fragment does, and wrong ones that are sure."""
    counts = {"correct": 0, "sure": 0, "sure_and_wrong": 0}
    with path.open() as lines:
        for line in lines:
            fields = line.split("\t", 6)
            if line.startswith("@") or int(fields[1]) & 0x904:
                continue
            _, contig, begin, end, _ = fields[0].split(":")
            operations = [(int(n), kind) for n, kind in re.findall(r"(\d+)([MIDNSH])", fields[5])]
            first = int(fields[3]) - 1 - (operations[0][0] if operations[0][1] in "SH" else 0)
            after = int(fields[3]) - 1 + sum(n for n, kind in operations if kind in "MDN")
            after += operations[-1][0] if operations[-1][1] in "SH" else 0
            right = fields[2] == contig and (abs(first - int(begin)) <= _NEAR or abs(after - int(end)) <= _NEAR)
            sure = int(fields[4]) >= 20
            counts["correct"] += right
            counts["sure"] += sure
            counts["sure_and_wrong"] += sure and not right
    return counts


if __name__ == "__main__":
    main()
