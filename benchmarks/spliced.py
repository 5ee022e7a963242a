"""Are introns of long reads found? `map -x splice` and minimap2 on the simulated nanopore reads of the SIRV genes that
Debian's package pinfish-examples has: 30,000 reads whose names say transcript, first and last base.

    apt-get install pinfish-examples minimap2
    python benchmarks/spliced.py

A read is whole if its introns are exactly those of its part of the transcript. Introns found: share of the true ones;
right: share of those in records.
"""

from __future__ import annotations

import argparse
import gzip
import re
import resource
import shutil
import subprocess
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pysam

EXAMPLES = Path("/usr/share/doc/pinfish-examples")
Introns = list[tuple[str, int, int]]


def transcripts(path: Path) -> dict[str, tuple[str, str, list[tuple[int, int]]]]:
    """{transcript: (contig, strand, exons in order)}."""
    exons: dict[str, list[tuple[int, int]]] = defaultdict(list)
    places = {}
    for line in path.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) > 8 and fields[2] == "exon" and (name := re.search('transcript_id "([^"]+)"', fields[8])):
            exons[name[1]].append((int(fields[3]) - 1, int(fields[4])))
            places[name[1]] = fields[0], fields[6]
    return {name: (*places[name], sorted(parts)) for name, parts in exons.items()}


def true_introns(read: str, genes: dict[str, tuple[str, str, list[tuple[int, int]]]]) -> Introns:
    """The introns of a read called r1_SIRV101_0_1561_+/...: of bases [0, 1561) of its transcript."""
    _, name, begin, end, *_ = read.split("/")[0].split("_")
    contig, strand, exons = genes[name]
    first, last, length = int(begin), int(end), sum(b - a for a, b in exons)
    if strand == "-":
        first, last = length - last, length - first
    found, at = [], 0
    for (a, b), (following, _) in pairwise(exons):
        at += b - a
        if first < at < last:
            found.append((contig, b, following))
    return found


def introns(record: pysam.AlignedSegment) -> Introns:
    found, at = [], record.reference_start
    for operation, length in record.cigartuples or ():
        if operation == 3:
            found.append((str(record.reference_name), at, at + length))
        at += length if operation in (0, 2, 3, 7, 8) else 0
    return found


def measure(words: list[str], sam: Path, names: list[str], truth: dict[str, Introns]) -> str:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with sam.open("wb") as out:
        subprocess.run(words, stdout=out, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    with pysam.AlignmentFile(str(sam)) as file:
        found = {str(r.query_name): introns(r) for r in file if not r.flag & 0x904}
    whole = sum(set(truth[name]) == set(found.get(name, [])) for name in names)
    true, given = sum(map(len, truth.values())), sum(map(len, found.values()))
    right = sum(len(set(truth[name]) & set(found.get(name, []))) for name in names)
    return (
        f"whole {100 * whole / len(names):6.2f} %   introns found {100 * right / true:6.2f} %   "
        f"right {100 * right / max(1, given):6.2f} %   {seconds:6.1f} CPU s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=int, default=30_000, help="map the first so many")
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reference, genes, reads = folder / "ref.fa", folder / "genes.gtf", folder / "reads.fq"
        for name, path in (("SIRV_150601a.fasta.gz", reference), ("SIRV_C_150601a.gtf.gz", genes)):
            path.write_bytes(gzip.decompress((EXAMPLES / name).read_bytes()))
        records = gzip.decompress((EXAMPLES / "sirv_simulated.bam.gz").read_bytes())
        (folder / "reads.bam").write_bytes(records)
        names = []
        with pysam.AlignmentFile(str(folder / "reads.bam")) as file, reads.open("w") as out:
            for record in file:
                if len(names) < given.reads and not record.flag & 0x900:
                    names.append(str(record.query_name))
                    sequence = record.get_forward_sequence()
                    out.write(f"@{record.query_name}\n{sequence}\n+\n{'I' * len(sequence or '')}\n")
        known = transcripts(genes)
        truth = {name: true_introns(name, known) for name in names}
        ours = [
            "gpualign",
            "map",
            str(reference),
            str(reads),
            "-x",
            "splice",
            "--device",
            given.device,
            "-t",
            "1",
            "-q",
        ]
        contenders = {
            "gpualign": ours,
            "gpualign --no-splice-flank": [*ours, "--no-splice-flank"],
            "gpualign --two-pass": [*ours, "--two-pass"],
            "gpualign --junctions": [*ours, "--junctions", str(genes)],
        }
        if shutil.which("minimap2"):
            words = ["minimap2", "-t", "1", "-ax", "splice", "--splice-flank=no", str(reference), str(reads)]
            contenders["minimap2 --splice-flank=no"] = words
        for name, words in contenders.items():
            print(f"{name:28}", measure(words, folder / "out.sam", names, truth), flush=True)


if __name__ == "__main__":
    main()
