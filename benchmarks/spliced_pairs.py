"""Are introns of short pairs found? `map -x rna`, STAR and HISAT2 on simulated pairs of a genome with planted genes:
introns of 60 to 100,000 bases, mostly GT-AG, processed pseudogenes and repeats.

    apt-get install rna-star hisat2
    python benchmarks/spliced_pairs.py --seeds 1 2 --length 100

Of the introns that a read crosses with at least 8 bases on both sides, recall is the share that its primary record has;
precision is the share of true ones among the introns of primary records with at least 8 aligned bases on both sides.
"""

from __future__ import annotations

import argparse
import math
import resource
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pysam

OVERHANG = 8
BASES = np.frombuffer(b"ACGT", np.uint8)
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
Introns = list[tuple[str, int, int]]


def reverse_complement(text: bytes) -> bytes:
    return text.translate(COMPLEMENT)[::-1]


def changed(rng: np.random.Generator, text: bytes, rate: float, indels: float = 0.0) -> bytes:
    """The text with substitutions at this rate, and insertions and deletions of a base at the other."""
    bases = np.frombuffer(text, np.uint8).copy()
    at = np.flatnonzero(rng.random(len(bases)) < rate)
    bases[at] = BASES[(np.searchsorted(BASES, bases[at]) + rng.integers(1, 4, len(at))) % 4]
    parts, last = [], 0
    for i in np.flatnonzero(rng.random(len(bases)) < indels).tolist():
        parts += [bases[last:i].tobytes(), bytes([BASES[rng.integers(4)]]) if rng.random() < 0.5 else b""]
        last = i if parts[-1] else i + 1
    return b"".join([*parts, bases[last:].tobytes()])


class Genome:
    """A contig with genes: for each its strand and exons in order, 0-based and half-open."""

    def __init__(self, seed: int, genes: int, bases: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        repeats = [BASES[rng.integers(0, 4, 300)].tobytes() for _ in range(5)]
        self.genes: list[tuple[str, list[tuple[int, int]]]] = []
        texts: list[bytes] = []
        transcripts: list[bytes] = []
        length = 0

        def add(text: bytes) -> None:
            nonlocal length
            texts.append(text)
            length += len(text)

        def background(count: int) -> None:
            while count > 0:
                piece = min(count, int(rng.exponential(2500)) + 1)
                add(BASES[rng.choice(4, piece, p=(0.29, 0.21, 0.21, 0.29))].tobytes())
                count -= piece
                if count > 400 and rng.random() < 0.8:
                    copy = changed(rng, repeats[rng.integers(len(repeats))], rng.uniform(0.02, 0.2), 0.01)
                    add(copy if rng.random() < 0.5 else reverse_complement(copy))
                    count -= len(copy)

        for _ in range(genes):
            background(int(rng.exponential(max(500, bases / genes - 9000))))
            count = 1 + rng.geometric(0.16)
            sizes = np.clip(rng.lognormal(4.9, 0.55, count), 12, 3000).astype(int)
            sizes[[0, -1]] += rng.integers(60, 600, 2)
            gaps = np.clip(rng.lognormal(7.2, 1.5, count), 60, 100_000).astype(int)
            reverse, begin, pieces = bool(rng.random() < 0.5), length, []
            exons: list[tuple[int, int]] = []
            at = 0
            for e, (size, gap) in enumerate(zip(sizes.tolist(), gaps.tolist(), strict=True)):
                pieces.append(BASES[rng.integers(0, 4, size)].tobytes())
                exons.append((at, at + size))
                at += size
                if e + 1 == count:
                    break
                kind = rng.random()
                donor, acceptor = b"GT", b"AG"
                if kind > 0.985:
                    donor, acceptor = (
                        (b"GC", b"AG") if kind < 0.995 else (b"AT", b"AC") if kind < 0.998 else (b"TC", b"GA")
                    )
                tail = bytes(c if rng.random() < 0.75 else int(BASES[rng.integers(4)]) for c in b"AAGT")
                tract = bytes(
                    int(rng.choice(np.frombuffer(b"CT", np.uint8)))
                    if rng.random() < 0.8
                    else int(BASES[rng.integers(4)])
                    for _ in range(12)
                )
                before = length
                background(gap - 20)
                inner = b"".join(texts_of(texts, length - before))
                length = before
                pieces.append(donor + tail + inner + tract + acceptor)
                at += len(pieces[-1])
            text = b"".join(pieces)
            if reverse:
                text = reverse_complement(text)
                exons = [(len(text) - b, len(text) - a) for a, b in reversed(exons)]
            add(text)
            self.genes.append(("-" if reverse else "+", [(begin + a, begin + b) for a, b in exons]))
            transcripts.append(b"".join(text[a:b] for a, b in exons))
            if rng.random() < 0.15 and len(transcripts) > 1:  # a processed pseudogene of another gene
                background(2000)
                copy = changed(rng, transcripts[rng.integers(len(transcripts))], rng.uniform(0.01, 0.1), 0.002)
                add(copy if rng.random() < 0.5 else reverse_complement(copy))
        background(5000)
        self.text = b"".join(texts)
        self.expression = rng.lognormal(0, 1.5, genes) * [sum(b - a for a, b in exons) for _, exons in self.genes]

    def write(self, fasta: Path, gtf: Path) -> None:
        lines = [self.text[i : i + 80] for i in range(0, len(self.text), 80)]
        fasta.write_bytes(b">c\n" + b"\n".join(lines) + b"\n")
        with gtf.open("w") as out:
            for number, (strand, exons) in enumerate(self.genes):
                for a, b in exons:
                    out.write(
                        f'c\tsim\texon\t{a + 1}\t{b}\t.\t{strand}\t.\tgene_id "g{number}"; transcript_id "t{number}";\n'
                    )

    def pairs(self, count: int, length: int, error: float, folder: Path) -> dict[str, Introns]:
        """Writes r1.fq and r2.fq; returns the introns that each read crosses with enough bases."""
        rng, truth = self.rng, {}
        chosen = rng.choice(len(self.genes), count, p=self.expression / self.expression.sum())
        with (folder / "r1.fq").open("wb") as first, (folder / "r2.fq").open("wb") as second:
            for i, number in enumerate(chosen.tolist()):
                _, exons = self.genes[number]
                transcript = b"".join(self.text[a:b] for a, b in exons)
                insert = min(len(transcript), max(length, int(rng.normal(2.4 * length, 0.5 * length))))
                begin = int(rng.integers(0, len(transcript) - insert + 1))
                ends = [
                    (begin, min(begin + length, len(transcript))),
                    (max(0, begin + insert - length), begin + insert),
                ]
                flipped = rng.random() < 0.5
                for mate, (a, b) in enumerate(reversed(ends) if flipped else ends):
                    read = changed(rng, transcript[a:b], error * 0.95, error * 0.05)
                    if mate != flipped:
                        read = reverse_complement(read)
                    out = second if mate else first
                    out.write(b"@p%d\n%s\n+\n%s\n" % (i, read, b"I" * len(read)))
                    truth[f"p{i}/{mate + 1}"] = self.crossed(exons, a, b)
        return truth

    @staticmethod
    def crossed(exons: list[tuple[int, int]], a: int, b: int) -> Introns:
        found, at = [], 0
        for (begin, end), (following, _) in pairwise(exons):
            at += end - begin
            if a + OVERHANG <= at <= b - OVERHANG:
                found.append(("c", end, following))
        return found


def texts_of(texts: list[bytes], count: int) -> list[bytes]:
    """Takes the last texts, of so many bases, off a list."""
    taken: list[bytes] = []
    while count > 0:
        taken.append(texts.pop())
        count -= len(taken[-1])
    return taken[::-1]


def introns(record: pysam.AlignedSegment) -> list[tuple[tuple[str, int, int], int]]:
    """The introns of a record, with the aligned bases of the side that has fewer."""
    found, at, paired = [], record.reference_start, 0
    for operation, length in record.cigartuples or ():
        if operation == 3:
            found.append(((str(record.reference_name), at, at + length), paired))
        at += length if operation in (0, 2, 3, 7, 8) else 0
        paired += length if operation in (0, 7, 8) else 0
    return [(intron, min(before, paired - before)) for intron, before in found]


def measure(words: list[str], sam: Path, truth: dict[str, Introns]) -> str:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with sam.open("wb") as out:
        subprocess.run(words, stdout=out, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    true = sum(map(len, truth.values()))
    distinct = {intron for each in truth.values() for intron in each}
    right = given = mapped = proper = 0
    seen: dict[tuple[str, int, int], int] = {}
    with pysam.AlignmentFile(str(sam), check_sq=False) as file:
        for record in file:
            if record.flag & 0x904:
                continue
            mapped += 1
            proper += record.is_proper_pair
            of_read = truth[f"{record.query_name}/{1 + record.is_read2}"]
            for intron, overhang in introns(record):
                right += intron in of_read
                if overhang >= OVERHANG:
                    given += 1
                    seen[intron] = seen.get(intron, 0) + (intron in of_read)
    good = sum(overlap > 0 for overlap in seen.values())
    wrong = sum(overlap == 0 for overlap in seen.values())
    sure = sum(seen.values())
    return (
        f"recall {100 * right / max(1, true):6.2f} %   precision {100 * sure / max(1, given):6.2f} %   "
        f"distinct {100 * good / max(1, len(distinct)):6.2f} %, {wrong} wrong   "
        f"mapped {100 * mapped / len(truth):6.2f} %   proper {100 * proper / len(truth):6.2f} %   {seconds:6.1f} CPU s"
    )


def contenders(folder: Path, device: str, bases: int) -> dict[str, list[str]]:
    reference, gtf = str(folder / "ref.fa"), str(folder / "genes.gtf")
    reads = [str(folder / "r1.fq"), str(folder / "r2.fq")]
    index = str(folder / "ref.gpi")
    subprocess.run(["gpualign", "index", reference, "-d", index, "-q"], check=True)
    ours = ["gpualign", "map", index, *reads, "-x", "rna", "--device", device, "-t", "1", "-q"]
    found = {"gpualign": ours, "gpualign --two-pass": [*ours, "--two-pass"]}
    found["gpualign --junctions"] = [*ours, "--junctions", gtf]
    if shutil.which("STAR"):
        star = folder / "star"
        nbases = str(min(14, int(math.log2(bases) / 2 - 1)))
        words = ["STAR", "--runMode", "genomeGenerate", "--genomeDir", str(star), "--genomeFastaFiles", reference]
        words += ["--genomeSAindexNbases", nbases, "--outFileNamePrefix", f"{folder}/g."]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        words = ["STAR", "--genomeDir", str(star), "--readFilesIn", *reads, "--outStd", "SAM", "--runThreadN", "1"]
        words += ["--outFileNamePrefix", f"{folder}/s."]
        found["STAR"] = words
        found["STAR --twopassMode Basic"] = [*words, "--twopassMode", "Basic"]
        found["STAR --sjdbGTFfile"] = [*words, "--sjdbGTFfile", gtf, "--sjdbOverhang", "99"]
    if shutil.which("hisat2"):
        words = ["hisat2-build", "-q", reference, str(folder / "hisat")]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        found["HISAT2"] = ["hisat2", "-x", str(folder / "hisat"), "-1", reads[0], "-2", reads[1], "-p", "1"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--error", type=float, default=0.01)
    parser.add_argument("--genes", type=int, default=600)
    parser.add_argument("--bases", type=int, default=15_000_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", help="programs whose names contain this")
    parser.add_argument("--keep", type=Path, help="leave the files here")
    given = parser.parse_args()
    for seed in given.seeds:
        with TemporaryDirectory() as temporary:
            folder = given.keep or Path(temporary)
            folder.mkdir(exist_ok=True)
            genome = Genome(seed, given.genes, given.bases)
            genome.write(folder / "ref.fa", folder / "genes.gtf")
            truth = genome.pairs(given.pairs, given.length, given.error, folder)
            print(
                f"seed {seed}: {len(genome.text):,} bases, {sum(map(len, truth.values())):,} introns in reads",
                flush=True,
            )
            for name, words in contenders(folder, given.device, len(genome.text)).items():
                if not given.only or given.only in name:
                    print(f"  {name:26}", measure(words, folder / "out.sam", truth), flush=True)


if __name__ == "__main__":
    main()
