"""One mapper, one set of reads, one SAM or BAM file: what the benchmarks of map's results share; no times are taken."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import data
import map as map_benchmark

#: what a mapper is run with; {index} and {reads} as in map.py, whose index commands are used
COMMANDS = {
    "gpualign": map_benchmark.GPUALIGN + " map {index}.gpi {reads} -t {threads} --device cpu -q",
    "bwa": "bwa mem -v 1 -t {threads} {index} {reads}",
    "minimap2": "minimap2 -ax sr -t {threads} {index}.mmi {reads}",
}
_SECONDARY_OR_SUPPLEMENTARY = 0x900


def index(tool: str, fasta: Path, threads: int = 2) -> Path:
    """The tool's index of a genome, made once next to the other data."""
    path = data.folder() / "index" / tool / fasta.stem
    if not list(path.parent.glob(f"{fasta.stem}.*")):
        path.parent.mkdir(parents=True, exist_ok=True)
        command = map_benchmark.MAPPERS[tool].index.format(index=path, ref=fasta, threads=threads)
        subprocess.run(command.split(), check=True, capture_output=True)
    return path


def map_reads(tool: str, fasta: Path, reads: list[Path], out: Path, threads: int = 2, options: str = "") -> None:
    """Map to SAM text, or to sorted BAM where ``out`` ends in .bam."""
    command = COMMANDS[tool].format(index=index(tool, fasta), reads=" ".join(map(str, reads)), threads=threads)
    command += f" {options}" if tool == "gpualign" else ""
    if out.suffix == ".bam":
        command += f" | samtools sort -@ {threads} -o {out} -"
    else:
        command += f" > {out}"
    subprocess.run(["bash", "-o", "pipefail", "-c", command], check=True, stderr=subprocess.DEVNULL)


@dataclass(frozen=True)
class Position:
    """A primary record; ``start`` is where the read's first base on the forward strand would lie without clipping."""

    contig: str
    strand: str
    start: int
    mapq: int
    cigar: str


def primary_records(sam: Path) -> Iterator[tuple[tuple[str, int], Position | None]]:
    """((name, end: 0 single, 1, 2), position or None where unmapped) of each read."""
    for flag, fields in data.sam_records(sam, _SECONDARY_OR_SUPPLEMENTARY):
        key = fields[0], flag >> 6 & 3
        if flag & 4:
            yield key, None
            continue
        lead = 0
        for count, operation in data.parse_cigar(fields[5]):
            if operation not in "SH":
                break
            lead += count
        strand = "-" if flag & 16 else "+"
        yield key, Position(fields[2], strand, int(fields[3]) - lead, int(fields[4]), fields[5])
