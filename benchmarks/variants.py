"""Do variants come out right? 200 SNPs and 100 indels, planted in 1 Mbp of human chromosome 20, called from 30x.

    python benchmarks/variants.py [--coverage 30] [--tools gpualign,bwa,minimap2]

Half of the variants on one of two haplotypes, half on both. Pairs of 150 bases from both (pairs.py) are mapped to the
whole chromosome by each mapper, and called by `bcftools mpileup | bcftools call -m`; calls and truth are normalised by
`bcftools norm` and compared by position and alleles. Result: benchmarks/results/variants-<machine>.json. Needs Debian's
bcftools, samtools and the mappers.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
import harness
import mapping
import numpy as np
import pairs

CONTIG, BEGIN, END = "20", 10_000_000, 11_000_000
SNPS, INDELS, LONGEST_INDEL = 200, 100, 20
SEED = 11


@dataclass(frozen=True)
class Variant:
    """0-based position of the first base of ``before``, which becomes ``after``; on both haplotypes or the first."""

    position: int
    before: str
    after: str
    both: bool


def plant(chromosome: str, rng: np.random.Generator, begin: int = BEGIN, end: int = END) -> list[Variant]:
    """Variants in known sequence between two places, at least 300 bases apart."""
    chosen: list[int] = []
    while len(chosen) < SNPS + INDELS:
        at = int(rng.integers(begin + 1000, end - 1000))
        known = "N" not in chromosome[at - 300 : at + 300]
        if known and all(abs(at - other) >= 300 for other in chosen):
            chosen.append(at)
    variants = []
    for i, at in enumerate(chosen):
        base = chromosome[at]
        size = int(min(LONGEST_INDEL, rng.geometric(0.25)))
        inserted = "".join(rng.choice(list("ACGT"), size))
        if i < SNPS:
            before, after = base, str(rng.choice([symbol for symbol in "ACGT" if symbol != base]))
        elif i % 2:
            before, after = base, base + inserted
        else:
            before, after = chromosome[at : at + size + 1], base
        variants.append(Variant(at, before, after, bool(rng.integers(2))))
    return sorted(variants, key=lambda variant: variant.position)


def haplotype(chromosome: str, variants: list[Variant], begin: int = BEGIN, end: int = END) -> bytes:
    """The region with these variants."""
    parts, at = [], begin
    for variant in variants:
        parts += [chromosome[at : variant.position], variant.after]
        at = variant.position + len(variant.before)
    return "".join([*parts, chromosome[at:end]]).encode()


def simulate(
    chromosome: str, variants: list[Variant], coverage: float, folder: Path, begin: int = BEGIN, end: int = END
) -> list[Path]:
    """FASTQ files of pairs from both haplotypes."""
    count = int((end - begin) * coverage / 300 / 2)
    sides = [haplotype(chromosome, chosen, begin, end) for chosen in (variants, [v for v in variants if v.both])]
    for i, side in enumerate(sides):
        pairs.write_pairs(side, count, folder / str(i), np.random.default_rng(SEED + i))
    files = []
    for mate in (1, 2):
        files.append(folder / f"reads_{mate}.fq")
        with files[-1].open("wb") as out:
            for i in range(2):
                text = (folder / str(i) / f"reads_{mate}.fq").read_bytes()
                out.write(text.replace(b"@p", b"@h%d_" % i) if i else text)
    return files


def calls(fasta: Path, bam: Path) -> set[tuple[int, str, str]]:
    region = f"{CONTIG}:{BEGIN + 1}-{END}"
    subprocess.run(["samtools", "index", bam], check=True)
    return normalised(f"bcftools mpileup -f {fasta} -r {region} -Ou {bam} | bcftools call -mv -Ou", fasta)


def normalised(source: str, fasta: Path) -> set[tuple[int, str, str]]:
    """(1-based position, before, after) of each allele that a command's VCF or BCF holds."""
    command = f"{source} | bcftools norm -f {fasta} -m -any -Ou | bcftools query -f '%POS\\t%REF\\t%ALT\\n'"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, capture_output=True, text=True)
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {(int(position), before, after) for position, before, after in rows}


def truth_of(variants: list[Variant], length: int, folder: Path, fasta: Path) -> set[tuple[int, str, str]]:
    vcf = folder / "truth.vcf"
    lines = [
        "##fileformat=VCFv4.2",
        f"##contig=<ID={CONTIG},length={length}>",
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO",
    ]
    lines += [f"{CONTIG}\t{v.position + 1}\t.\t{v.before}\t{v.after}\t.\t.\t." for v in variants]
    vcf.write_text("\n".join(lines) + "\n")
    return normalised(f"bcftools view {vcf}", fasta)


def compared(found: set[tuple[int, str, str]], truth: set[tuple[int, str, str]]) -> dict[str, Any]:
    """Recall and precision, of all and by kind."""
    row: dict[str, Any] = {}
    for kind, wanted in (("all", (True, False)), ("snps", (True,)), ("indels", (False,))):
        true, called = ({v for v in one if (len(v[1]) == len(v[2])) in wanted} for one in (truth, found))
        row[kind] = {
            "true": len(true),
            "called": len(called),
            "recall": round(len(true & called) / len(true), 4),
            "precision": round(len(true & called) / max(1, len(called)), 4),
        }
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coverage", type=float, default=30)
    parser.add_argument("--tools", default="gpualign,gpualign -e 0.15,bwa,minimap2")
    arguments = parser.parse_args()
    tools = arguments.tools.split(",")
    fasta = data.genome("chr20")
    chromosome = data.read_fasta(fasta)[CONTIG].decode()
    variants = plant(chromosome, np.random.default_rng(SEED))
    table = {}
    with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
        folder = Path(scratch)
        reads = simulate(chromosome, variants, arguments.coverage, folder)
        truth = truth_of(variants, len(chromosome), folder, fasta)
        for tool in tools:
            bam = folder / f"{tool.replace(' ', '')}.bam"
            program, _, options = tool.partition(" ")
            mapping.map_reads(program, fasta, reads, bam, options=options)
            table[tool] = compared(calls(fasta, bam), truth)
            print(tool, table[tool], flush=True)
    facts = harness.machine(
        [*(tool for tool in tools if " " not in tool and tool != "gpualign"), "samtools", "bcftools"], ["pysam"]
    )
    settings = {"coverage": arguments.coverage, "region": f"{CONTIG}:{BEGIN + 1}-{END}"}
    harness.save("variants", facts, {**settings, "variants": table})


if __name__ == "__main__":
    main()
