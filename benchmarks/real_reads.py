"""Do we agree with bwa mem on real reads, where both are sure?

    python benchmarks/real_reads.py

MiSeq reads of 251 bases onto E. coli, Illumina reads of bees onto bee viruses, and pairs of 16S amplicons onto E. coli,
all out of Debian's example packages (data.py). Both mappers with their defaults, ours also with a wider limit on edits.
Agreement: of reads that both map with MAPQ of 30 or more, those whose ends, clips undone, lie within 10 bases of each
other on one strand. Result: benchmarks/results/real-reads-<machine>.json. Needs Debian's bwa.
"""

from __future__ import annotations

import gzip
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
import harness
import mapping

EXAMPLES = harness.FOLDER.parent / "examples" / "data"
_SURE, _TOLERANCE = 30, 10


@dataclass(frozen=True)
class RealSet:
    """Reads: (Debian package, file below usr/share/doc) each, or files of this repository; options for ours."""

    genome: str
    files: tuple[tuple[str, str] | Path, ...]
    options: str = ""


_MISEQ = ("any2fasta-examples", "any2fasta/examples/test.fq.gz")
_AMPLICONS = tuple(("seqkit-examples", f"seqkit-examples/tests/reads_{end}.fq.gz") for end in (1, 2))
_BEE = EXAMPLES / "SRR059298_25k.fastq.gz"
SETS = {
    "miseq_ecoli": RealSet("ecoli_536", (_MISEQ,)),
    "miseq_ecoli -e 0.15": RealSet("ecoli_536", (_MISEQ,), "-e 0.15"),
    "bee_viruses": RealSet("bundled", (_BEE,)),
    "bee_viruses -e 0.15": RealSet("bundled", (_BEE,), "-e 0.15"),
    "amplicons_ecoli -e 0.15": RealSet("ecoli_mg1655", _AMPLICONS, "-e 0.15"),
}


def genome(name: str) -> Path:
    return EXAMPLES / "genomes.fa" if name == "bundled" else data.genome(name)


def reads_of(wanted: RealSet, folder: Path) -> list[Path]:
    """Plain FASTQ files."""
    files = []
    for source in wanted.files:
        path = source if isinstance(source, Path) else data.packaged(*source)
        files.append(folder / path.name.removesuffix(".gz"))
        files[-1].write_bytes(gzip.decompress(path.read_bytes()))
    return files


def end_of(locus: mapping.Position) -> int:
    """Where the read's last base would lie, counted from its start."""
    spans = (count for count, operation in data.parse_cigar(locus.cigar) if operation in "MDN=XSH")
    return locus.start + sum(spans)


def agree(ours: mapping.Position, theirs: mapping.Position) -> bool:
    near = min(abs(ours.start - theirs.start), abs(end_of(ours) - end_of(theirs))) <= _TOLERANCE
    return (ours.contig, ours.strand) == (theirs.contig, theirs.strand) and near


def compare(ours: dict[Any, mapping.Position | None], theirs: dict[Any, mapping.Position | None]) -> dict[str, Any]:
    placed = Counter((mine is not None, theirs[key] is not None) for key, mine in ours.items())
    both = [(mine, other) for key, mine in ours.items() if mine and (other := theirs[key])]
    sure = [pair for pair in both if min(locus.mapq for locus in pair) >= _SURE]
    return {
        "reads": len(ours),
        "both_mapped": placed[True, True],
        "ours_alone": placed[True, False],
        "theirs_alone": placed[False, True],
        "both_sure": len(sure),
        "agree": sum(agree(*pair) for pair in sure),
    }


def main() -> None:
    table = {}
    with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
        folder = Path(scratch)
        for name, wanted in SETS.items():
            reads, fasta = reads_of(wanted, folder), genome(wanted.genome)
            found = {}
            for tool in ("gpualign", "bwa"):
                mapping.map_reads(tool, fasta, reads, folder / f"{tool}.sam", options=wanted.options)
                found[tool] = dict(mapping.primary_records(folder / f"{tool}.sam"))
            table[name] = compare(found["gpualign"], found["bwa"])
            print(name, table[name], flush=True)
    harness.save("real-reads", harness.machine(["bwa"]), {"sure": _SURE, "tolerance": _TOLERANCE, "real_reads": table})


if __name__ == "__main__":
    main()
