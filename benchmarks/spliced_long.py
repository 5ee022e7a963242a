"""Are introns of long reads found? `map -x splice` and minimap2 (mappy) on simulated reads of a genome with planted
genes, processed pseudogenes and repeats (spliced_pairs.py), with 1, 5 and 10 % errors.

    pip install mappy
    python benchmarks/spliced_long.py --seeds 1 2

A read is a whole transcript, or all but up to 300 bases at either end, on either strand. It is whole if its introns are
exactly those it crosses; it is wrong if its record has a mapping quality of at least 20 and lies outside its gene.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import mappy
import pysam
from spliced_pairs import Genome, Introns, changed, introns, reverse_complement

SURE = 20


def reads_of(genome: Genome, count: int, error: float) -> list[tuple[str, bytes, Introns, int]]:
    """(name, bases, introns, gene) of reads of genes with several exons; a third of the errors are substitutions."""
    rng, reads = genome.rng, []
    genes = [number for number, (_, exons) in enumerate(genome.genes) if len(exons) > 1]
    for i, number in enumerate(rng.choice(genes, count).tolist()):
        exons = genome.genes[number][1]
        transcript = b"".join(genome.text[a:b] for a, b in exons)
        a, b = rng.integers(0, min(300, len(transcript) // 4), 2).tolist()
        text = changed(rng, transcript[a : len(transcript) - b], error / 3, 2 * error / 3)
        crossed = Genome.crossed(exons, a, len(transcript) - b)
        reads.append((f"r{i}", reverse_complement(text) if rng.random() < 0.5 else text, crossed, number))
    return reads


def ours(folder: Path, *words: str) -> dict[str, tuple[int, int, Introns]]:
    """{read: mapping quality, first base, introns}."""
    command = ["gpualign", "map", "-x", "splice", "-t", "1", "-q", *words, "-o", str(folder / "out.sam")]
    subprocess.run([*command, str(folder / "ref.fa"), str(folder / "reads.fa")], check=True)
    found = {}
    with pysam.AlignmentFile(str(folder / "out.sam"), check_sq=False) as file:
        for record in file:
            if not record.flag & 0x904:
                crossed = [intron for intron, _ in introns(record)]
                found[str(record.query_name)] = record.mapping_quality, record.reference_start, crossed
    return found


def minimap2(folder: Path, reads: list[tuple[str, bytes, Introns, int]]) -> dict[str, tuple[int, int, Introns]]:
    aligner, found = mappy.Aligner(str(folder / "ref.fa"), preset="splice", n_threads=1), {}
    for name, text, _, _ in reads:
        for hit in aligner.map(text.decode()):
            if hit.is_primary:
                at, crossed = hit.r_st, []
                for length, code in hit.cigar:
                    if code == 3:
                        crossed.append(("c", at, at + length))
                    at += length if code in (0, 2, 3, 7, 8) else 0
                found[name] = hit.mapq, hit.r_st, crossed
                break
    return found


def shown(
    genome: Genome, reads: list[tuple[str, bytes, Introns, int]], found: dict[str, tuple[int, int, Introns]]
) -> str:
    whole = sum(name in found and found[name][2] == crossed for name, _, crossed, _ in reads)
    true = sum(len(crossed) for _, _, crossed, _ in reads)
    given = sum(len(crossed) for _, _, crossed in found.values())
    right = sum(len(set(crossed) & set(found[name][2])) for name, _, crossed, _ in reads if name in found)
    wrong = 0
    for name, _, _, number in reads:
        mapq, start, _ = found.get(name, (0, 0, []))
        exons = genome.genes[number][1]
        wrong += mapq >= SURE and not exons[0][0] - 50 <= start < exons[-1][1]
    return (
        f"whole {100 * whole / len(reads):6.2f} %  introns found {100 * right / true:6.2f} %, "
        f"right {100 * right / max(1, given):6.2f} %  wrong at MAPQ {SURE}: {wrong}"
    )


def cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--errors", type=float, nargs="+", default=[0.01, 0.05, 0.1])
    parser.add_argument("--reads", type=int, default=3000)
    parser.add_argument("--genes", type=int, default=400)
    parser.add_argument("--bases", type=int, default=8_000_000)
    given = parser.parse_args()
    for seed in given.seeds:
        genome = Genome(seed, given.genes, given.bases)
        for error in given.errors:
            with TemporaryDirectory() as temporary:
                folder = Path(temporary)
                genome.write(folder / "ref.fa", folder / "genes.gtf")
                reads = reads_of(genome, given.reads, error)
                (folder / "reads.fa").write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), t) for n, t, _, _ in reads))
                print(f"seed {seed}, {100 * error:g} % errors, {len(genome.text):,} bases, {len(reads):,} reads")
                for program, run in (
                    ("gpualign", lambda: ours(folder)),  # noqa: B023
                    ("gpualign --two-pass", lambda: ours(folder, "--two-pass")),  # noqa: B023
                    (f"minimap2 {mappy.__version__}", lambda: minimap2(folder, reads)),  # noqa: B023
                ):
                    before = cpu_seconds()
                    result = shown(genome, reads, run())
                    print(f"  {program:22} {result}  {cpu_seconds() - before:6.1f} CPU s")
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
