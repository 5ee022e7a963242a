"""Short reads, adapters, N, libraries of pairs, repeats, strains, duplications: gpualign against the peers of each.

    python benchmarks/every_kind.py [--kinds "30|adapter|…"] [--seeds seen|unseen] [--count 1] [--share 1]
                                    [--tools gpualign,bwa,…] [--keep FOLDER] [--gpualign PROGRAM]

Of each kind (kinds.py), `count` sets are made, of seeds that are looked at while the mapper is changed, or of others.
A record is correct where it overlaps the read's origin on its strand by half of the aligned bases, and, of short reads,
the first base of the read, clipped or not, lies within 10 bases of where it came from. Counted of each kind, by mapper:
reads mapped, correct, in proper pairs; clipped bases of them; supplementary records; wrong and kept reads at MAPQ 1,
10, 20, 30, 50 and more, and how many wrong ones the MAPQ of those that are kept allows, twice the sum of
10^(-MAPQ / 10); CPU seconds, those of gpualign with indexing where the reads have seeds of their own.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import data
import harness
import numpy as np
from kinds import KINDS, Kind, load

_LEVELS = (1, 10, 20, 30, 50)
SEEDS = {"seen": 100, "unseen": 1900}
INDEX = {
    "gpualign": "{gpualign} index {fasta} -d {index}.gpi -q",
    "bwa": "bwa index -p {index} {fasta}",
    "bowtie2": "bowtie2-build -q --threads 2 {fasta} {index}",
    "minibwa": "minibwa index {fasta} {index}",
    "minimap2": "",
}
MAP = {
    "gpualign": "{gpualign} map {target} {reads} -t 2 -x {preset} --device cpu -q",
    "bwa": "bwa mem -v 1 -t 2 {index} {reads}",
    "bwa-aln": "bash -c 'bwa aln -t 2 {index} {reads} | bwa samse {index} - {reads}'",
    "bowtie2": "bowtie2 --quiet -p 2 -x {index} {reads}",
    "minibwa": "minibwa map -t 2 {index} {reads}",
    "minimap2": "minimap2 -ax {preset} -t 2 {fasta} {reads}",
}
_MINIMAP2_PRESETS = {"ont": "map-ont", "hifi": "map-hifi", "sr": "sr"}


@dataclass
class Counts:
    """Over reads."""

    reads: int = 0
    mapped: int = 0
    correct: int = 0
    proper: int = 0
    supplementary: int = 0
    clipped: int = 0
    cpu_s: float = 0.0
    kept: list[int] = field(default_factory=lambda: [0] * len(_LEVELS))
    wrong: list[int] = field(default_factory=lambda: [0] * len(_LEVELS))
    allowed: list[float] = field(default_factory=lambda: [0.0] * len(_LEVELS))

    def add(self, mapq: int, right: bool) -> None:
        self.mapped += 1
        self.correct += right
        for i, level in enumerate(_LEVELS):
            self.kept[i] += mapq >= level
            self.wrong[i] += mapq >= level and not right
            self.allowed[i] += 2 * 10 ** (-mapq / 10) if mapq >= level else 0

    def figures(self) -> dict[str, float]:
        """Of one kind and mapper; reads in per cent of all."""
        shares = {key: getattr(self, key) / max(1, self.reads) for key in ("mapped", "correct", "proper")}
        by_level = {
            f"{key}_{level}": value
            for key in ("wrong", "kept", "allowed")
            for level, value in zip(_LEVELS, getattr(self, key), strict=True)
        }
        return {
            "reads": self.reads,
            **{key: round(100 * share, 3) for key, share in shares.items()},
            "clipped": round(self.clipped / max(1, self.mapped), 2),
            "supplementary": self.supplementary,
            **{key: round(value, 1) for key, value in by_level.items()},
            "cpu_s": round(self.cpu_s, 2),
        }

    def line(self) -> str:
        def percent(n: int) -> str:
            return f"{100 * n / max(1, self.reads):7.3f}"

        wrong = "  ".join(f"{w:>5}/{k:<6}" for w, k in zip(self.wrong, self.kept, strict=True))
        shares = " ".join(percent(n) for n in (self.mapped, self.correct, self.proper))
        return f"{shares} {self.supplementary:>6} {wrong} {self.cpu_s:7.2f}"


def judge(sam: Path, kind: Kind, counts: Counts, wrong_ones: list[str] | None = None) -> None:
    for flag, fields in data.sam_records(sam, without=0):
        counts.supplementary += flag >> 11 & 1
        if flag & 0x900:
            continue
        counts.reads += 1
        counts.proper += flag >> 1 & 1
        if flag & 4:
            continue
        name, _, contig, position, mapq, cigar, *_ = fields
        origin = name.split("|")[5:9] if flag & 128 else name.split("|")[1:5]
        right = kind.reference is not None or _is_right(origin, contig, int(position) - 1, flag, cigar, kind)
        counts.add(int(mapq), right)
        counts.clipped += sum(n for n, operation in data.parse_cigar(cigar) if operation in "SH")
        if wrong_ones is not None and not right:
            wrong_ones.append("\t".join(fields) + "\n")


def _is_right(origin: Sequence[str], contig: str, position: int, flag: int, cigar: str, kind: Kind) -> bool:
    start, end = int(origin[1]), int(origin[2])
    operations = data.parse_cigar(cigar)
    after = position + sum(n for n, operation in operations if operation in "MDN=X")
    reverse = bool(flag & 16)
    if (
        origin[0] != contig
        or (origin[3] == "-") != reverse
        or 2 * (min(end, after) - max(start, position)) < after - position
    ):
        return False
    clipped, operation = operations[-1 if reverse else 0]
    clipped *= operation in "SH"
    return kind.preset != "sr" or abs(after + clipped - end if reverse else position - clipped - start) <= 10


def write_set(kind: Kind, label: str, seed: int, share: float, folder: Path) -> tuple[Path, list[Path]]:
    """The reference, and one file of reads or two."""
    rng = np.random.default_rng([seed, zlib.crc32(label.encode())])
    contigs = load(kind.genome)
    fasta = data.genome(kind.reference or kind.genome)
    if kind.change:
        contigs = kind.change(contigs, rng)
        fasta = folder / "changed.fa"
        fasta.write_bytes(b"".join(b">%s\n%s\n" % (name.encode(), bases.tobytes()) for name, bases in contigs.items()))
    files = [folder / "reads_1.fq", folder / "reads_2.fq"]
    with files[0].open("wb") as first, files[1].open("wb") as second:
        for number, template in enumerate(kind.make(contigs, rng, int(share * kind.templates))):
            name = "|".join([str(number), *(str(origin) for _, origin in template)])
            for file, (bases, _) in zip((first, second), template, strict=False):
                file.write(b"@%s\n%s\n+\n%s\n" % (name.encode(), bases.tobytes(), b"F" * len(bases)))
    return fasta, files if files[1].stat().st_size else files[:1]


def map_set(tool: str, program: Path, kind: Kind, fasta: Path, reads: Sequence[Path], sam: Path) -> float:
    program_of = tool.partition("-")[0]
    index = (fasta.parent if kind.change else data.folder()) / "index" / program_of / fasta.stem
    preset = kind.preset if tool == "gpualign" else _MINIMAP2_PRESETS[kind.preset]
    given = " ".join(map(str, reads))
    if tool == "bowtie2":
        given = f"-1 {reads[0]} -2 {reads[1]}" if len(reads) == 2 else f"-U {given}"
    values = {"gpualign": program, "fasta": fasta, "index": index, "reads": given, "preset": preset}
    # an index has the seeds of one preset, and for reads of one length
    values["target"] = fasta if kind.preset != "sr" or kind.own_index else f"{index}.gpi"
    if INDEX[program_of] and kind.preset == "sr" and not list(index.parent.glob(f"{index.name}.*")):
        index.parent.mkdir(parents=True, exist_ok=True)
        harness.run_timed(INDEX[program_of].format(**values).split())
    return harness.run_timed(shlex.split(MAP[tool].format(**values)), sam).cpu_s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="|".join(KINDS), help="of kinds.py, with | between them")
    parser.add_argument("--seeds", choices=SEEDS, default="seen")
    parser.add_argument("--count", type=int, default=1, help="sets of each kind")
    parser.add_argument("--share", type=float, default=1.0, help="of each set's reads")
    parser.add_argument("--tools", default="gpualign,bwa,bwa-aln,bowtie2,minibwa,minimap2")
    parser.add_argument(
        "--gpualign", type=Path, default=Path(sys.executable).with_name("gpualign"), help="another version"
    )
    parser.add_argument("--keep", type=Path, help="folder for the wrong records of gpualign, a file a kind")
    arguments = parser.parse_args()
    print(f"{'':28} mapped correct  proper  suppl.  wrong/kept at MAPQ {_LEVELS}   CPU s")
    saved = []
    for label in arguments.kinds.split("|"):
        kind = KINDS[label]
        rows = {
            tool: Counts()
            for tool in ("gpualign", *kind.peers)
            if tool in arguments.tools.split(",") and (tool == "gpualign" or shutil.which(tool.partition("-")[0]))
        }
        wrong_ones: list[str] = []
        for number in range(arguments.count):
            with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
                fasta, reads = write_set(kind, label, SEEDS[arguments.seeds] + number, arguments.share, Path(scratch))
                sam = Path(scratch) / "out.sam"
                for tool, counts in rows.items():
                    counts.cpu_s += map_set(tool, arguments.gpualign, kind, fasta, reads, sam)
                    judge(sam, kind, counts, wrong_ones if tool == "gpualign" else None)
        for tool, counts in rows.items():
            print(f"{label:18} {tool:9} {counts.line()}", flush=True)
            saved.append({"kind": label, "tool": tool, **counts.figures()})
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            (arguments.keep / f"{label.replace(' ', '_')}.sam").write_text("".join(wrong_ones))
    harness.save("every-kind", harness.machine([*INDEX][1:]), {"seeds": arguments.seeds, "rows": saved})


if __name__ == "__main__":
    main()
