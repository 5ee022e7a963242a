"""Long reads of several pieces, many of them joined within repeats, against minimap2.

    python benchmarks/planted_splits.py [--sets "chr20|family|…"] [--seeds seen|unseen] [--reads 20] [--keep FOLDER]

A read is made of pieces of a genome (translocations, inversions, duplications, deletions, many pieces, foreign bases
between two of them); half of the joints lie where 24 bases occur more than once in the genome. Where each base comes
from is known, within the reach of errors. A base is right where a record pairs it with the reference within 100 bases
of its origin, wrong where records pair it with other bases alone, lost where no record has it. A record is false
where most of its bases are wrong. Printed for each set, kind and mapper, per read: bases, those that are right, wrong
and lost, foreign bases that a record has, records; then false supplementary records of any MAPQ and above 20; joints,
and how many have a record's end or a long gap within 10, 50 and 200 bases. Seeds that are "seen" were looked at while
the mapper was changed. Needs Debian's minimap2. Result: benchmarks/results/planted-splits-<machine>.json.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from bases import BASES
from data import folder, genome, parse_cigar, sam_records
from kinds import Bases, Contigs, Random, load, turned, with_duplications, with_repeats
from simulate_long import ONT, with_errors

KINDS = ("translocation", "inversion", "duplication", "deletion", "many pieces", "foreign")
SEEDS = {"seen": 400, "unseen": 1400}
NEAR = 100  # bases between a base and where a record has it
JOINT_LEVELS = (10, 50, 200)


class Piece(NamedTuple):
    """Of the genome, by its forward strand's positions, or foreign bases where ``contig`` is None."""

    contig: str | None
    begin: int
    end: int
    reverse: bool


@dataclass(frozen=True)
class Set:
    """Reads of a genome of data.py, or of what ``change`` makes of it."""

    genome: str
    errors: float
    preset: str
    change: Callable[[Contigs, Random], Contigs] | None = None


SETS = {
    "chr20, hifi": Set("chr20_10M", 0.005, "hifi"),
    "chr20, ont": Set("chr20_10M", 0.05, "ont"),
    "family, hifi": Set("chr20_10M", 0.005, "hifi", with_repeats),
    "family, ont": Set("chr20_10M", 0.08, "ont", with_repeats),
    "duplications, ont": Set("chr20", 0.05, "ont", with_duplications),
    "E. coli, hifi": Set("ecoli_mg1655", 0.005, "hifi"),
    "Plasmodium, ont": Set("pf", 0.08, "ont"),
    "X, hifi": Set("chrXtrunc", 0.01, "hifi"),
}


class Genome:
    """Contigs, and where in them repeats are."""

    def __init__(self, contigs: Contigs) -> None:
        self.contigs = {name: bases for name, bases in contigs.items() if len(bases) > 40_000}
        self.names = list(self.contigs)
        lengths = np.array([len(self.contigs[name]) for name in self.names], float)
        self.shares = lengths / lengths.sum()
        words = np.concatenate([_words(self.contigs[name]) for name in self.names])
        ordered = np.sort(words)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        repeated = np.unique(repeated[repeated != _NO_WORD])
        found = repeated[np.minimum(np.searchsorted(repeated, words), len(repeated) - 1)] == words
        self.repeats = np.flatnonzero(found)
        self.begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    def position(self, rng: Random, in_repeat: bool) -> tuple[str, int]:
        """One with 20 kb on both sides, in a repeat or anywhere."""
        while True:
            if in_repeat:
                at = int(self.repeats[rng.integers(len(self.repeats))])
                number = int(np.searchsorted(self.begins, at, "right")) - 1
                at -= int(self.begins[number])
            else:
                number = int(rng.choice(len(self.names), p=self.shares))
                at = int(rng.integers(len(self.contigs[self.names[number]])))
            if 20_000 <= at <= len(self.contigs[self.names[number]]) - 20_000:
                return self.names[number], at

    def bases(self, piece: Piece, rng: Random) -> Bases:
        if piece.contig is None:
            return BASES[rng.integers(0, 4, piece.end)]
        return turned(self.contigs[piece.contig][piece.begin : piece.end], piece.reverse)


_NO_WORD = np.uint64(2**64 - 1)


def _words(bases: Bases) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """The 24 bases from each position on, of the strand whose bases come first."""
    codes = np.searchsorted(BASES, bases).astype(np.uint64) % 4
    known = np.isin(bases, BASES)
    size, forward, reverse = 24, np.zeros(len(bases), np.uint64), np.zeros(len(bases), np.uint64)
    whole = np.ones(len(bases), bool)
    for i in range(size):
        shifted = np.roll(codes, -i)
        forward |= shifted << np.uint64(2 * (size - 1 - i))
        reverse |= (np.uint64(3) - shifted) << np.uint64(2 * i)
        whole &= np.roll(known, -i)
    words = np.minimum(forward, reverse)
    words[~whole] = _NO_WORD
    words[len(words) - size + 1 :] = _NO_WORD
    return words


def pieces(kind: str, genome: Genome, rng: Random) -> list[Piece]:
    """Of a read, on its forward strand."""
    in_repeat = bool(rng.random() < 0.5)

    def before(contig: str, at: int, length: int, reverse: bool = False) -> Piece:
        return Piece(contig, at, at + length, True) if reverse else Piece(contig, at - length, at, False)

    def after(contig: str, at: int, length: int, reverse: bool = False) -> Piece:
        return Piece(contig, at - length, at, True) if reverse else Piece(contig, at, at + length, False)

    contig, at = genome.position(rng, in_repeat)
    left, right = (int(length) for length in rng.integers(1000, 6000, 2))
    if kind == "inversion":
        length = int(rng.choice([500, 1000, 2000, 4000, 8000]))
        return [before(contig, at, left), Piece(contig, at, at + length, True), after(contig, at + length, right)]
    if kind == "duplication":
        length = int(rng.choice([200, 500, 1000, 3000]))
        return [before(contig, at, left + length), after(contig, at - length, length + right)]
    if kind == "deletion":
        return [before(contig, at, left), after(contig, at + int(rng.choice([500, 2000, 8000, 15_000])), right)]
    if kind == "translocation":
        return [
            before(contig, at, left, bool(rng.integers(2))),
            after(*genome.position(rng, in_repeat), right, bool(rng.integers(2))),
        ]
    if kind == "foreign":
        other = genome.position(rng, in_repeat) if rng.integers(2) else (contig, at)
        return [before(contig, at, left), Piece(None, 0, int(rng.integers(200, 3000)), False), after(*other, right)]
    return [
        after(*genome.position(rng, in_repeat), int(rng.integers(300, 2000)), bool(rng.integers(2)))
        for _ in range(int(rng.integers(4, 7)))
    ]


@dataclass
class Read:
    """A read and its truth.

    Attributes:
        bounds: where its pieces begin on it, and its length.
    """

    kind: str
    pieces: list[Piece]
    bases: Bases
    bounds: list[int]


def reads_of(one: Set, genome: Genome, rng: Random, count: int) -> Iterator[tuple[str, Read]]:
    for kind in KINDS:
        for number in range(count):
            while True:
                parts = pieces(kind, genome, rng)
                texts = [genome.bases(piece, rng) for piece in parts]
                if all(np.isin(text, BASES).all() for text in texts):
                    break
            texts = [with_errors(text, one.errors, ONT, rng) for text in texts]
            bounds = [0, *np.cumsum([len(text) for text in texts]).tolist()]
            yield f"{kind.replace(' ', '-')}-{number}", Read(kind, parts, np.concatenate(texts), bounds)


@dataclass
class Counts:
    """Over reads."""

    reads: int = 0
    bases: int = 0
    right: int = 0
    wrong: int = 0
    lost: int = 0
    foreign: int = 0
    records: int = 0
    false_supplementary: int = 0
    false_and_sure: int = 0
    joints: int = 0
    near: list[int] = field(default_factory=lambda: [0] * len(JOINT_LEVELS))

    def add(self, other: Counts) -> None:
        for name, value in vars(other).items():
            own = getattr(self, name)
            setattr(self, name, [a + b for a, b in zip(own, value, strict=True)] if name == "near" else own + value)

    def figures(self) -> dict[str, float]:
        n = max(1, self.reads)
        per_read = {name: round(getattr(self, name) / n, 1) for name in ("bases", "right", "wrong", "lost", "foreign")}
        return {
            "reads": self.reads,
            **per_read,
            "records": round(self.records / n, 2),
            "false_supplementary": self.false_supplementary,
            "false_and_sure": self.false_and_sure,
            "joints": self.joints,
            **{f"within_{level}": near for level, near in zip(JOINT_LEVELS, self.near, strict=True)},
        }


class Record(NamedTuple):
    flag: int
    contig: str
    mapq: int
    blocks: list[tuple[int, int, int]]  # on the read's forward strand: begin, end, reference position of the first one
    edges: list[int]


def parse(flag: int, fields: list[str], length: int) -> Record:
    _, _, contig, position, mapq, cigar, *_ = fields
    reverse, query, at = bool(flag & 16), 0, int(position) - 1
    blocks, edges = [], []
    for size, operation in parse_cigar(cigar):
        if operation in "M=X":
            blocks.append((query, query + size, at))
        elif size >= 30:
            edges += [query, query + size * (operation in "ISH")]
        query += size * (operation in "MISH=X")
        at += size * (operation in "MDN=X")
    if blocks:
        edges += [blocks[0][0], blocks[-1][1]]
    if reverse:
        blocks = [(length - end, length - begin, at + end - begin - 1) for begin, end, at in blocks]
        edges = [length - edge for edge in edges]
    return Record(flag, contig, int(mapq), blocks, edges)


def judge_read(read: Read, records: list[Record]) -> Counts:
    length = len(read.bases)
    covered, right = np.zeros(length, bool), np.zeros(length, bool)
    counts = Counts(reads=1, records=len(records))
    edges: list[int] = []
    for record in records:
        good = total = 0
        edges += record.edges
        reverse = bool(record.flag & 16)
        for begin, end, at in record.blocks:
            places = np.arange(begin, end)
            at_reference = at - (places - begin) if reverse else at + (places - begin)
            ok = np.zeros(end - begin, bool)
            for piece, first, last in zip(read.pieces, read.bounds, read.bounds[1:], strict=False):
                if piece.contig != record.contig or piece.reverse != reverse:
                    continue
                along = (places - first) * (piece.end - piece.begin) / max(1, last - first)
                expected = piece.end - 1 - along if reverse else piece.begin + along
                # a joint's bases may belong to either side
                ok |= (places >= first - NEAR) & (places < last + NEAR) & (abs(at_reference - expected) <= NEAR)
            covered[begin:end] = True
            right[begin:end] |= ok
            good += int(ok.sum())
            total += end - begin
        if record.flag & 0x800 and 2 * good < total:
            counts.false_supplementary += 1
            counts.false_and_sure += record.mapq > 20
    foreign = np.zeros(length, bool)
    for piece, first, last in zip(read.pieces, read.bounds, read.bounds[1:], strict=False):
        foreign[first:last] |= piece.contig is None
    known = ~foreign
    counts.bases = int(known.sum())
    counts.right = int((right & known).sum())
    counts.wrong = int((covered & ~right & known).sum())
    counts.lost = int((~covered & known).sum())
    counts.foreign = int((covered & foreign).sum())
    joints = read.bounds[1:-1]
    counts.joints = len(joints)
    distances = [min((abs(joint - edge) for edge in edges), default=length) for joint in joints]
    counts.near = [sum(distance <= level for distance in distances) for level in JOINT_LEVELS]
    return counts


def judge(sam: Path, reads: dict[str, Read]) -> dict[str, Counts]:
    """By read."""
    records: dict[str, list[Record]] = {name: [] for name in reads}
    for flag, fields in sam_records(sam, without=0x104):
        name = fields[0]
        records[name].append(parse(flag, fields, len(reads[name].bases)))
    return {name: judge_read(read, records[name]) for name, read in reads.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="|".join(SETS), help="of SETS, with | between them")
    parser.add_argument("--seeds", choices=SEEDS, default="seen")
    parser.add_argument("--reads", type=int, default=20, help="of each set and kind")
    parser.add_argument("--keep", type=Path, help="folder for reads, truth, SAM and counts")
    parser.add_argument(
        "--gpualign", type=Path, default=Path(sys.executable).with_name("gpualign"), help="another version"
    )
    options = parser.parse_args()
    rows = []
    for label in options.sets.split("|"):
        one = SETS[label]
        rng = np.random.default_rng([SEEDS[options.seeds], zlib.crc32(label.encode())])
        contigs = load(one.genome)
        with tempfile.TemporaryDirectory(dir=folder()) as scratch:
            place = options.keep / label.replace(", ", "_").replace(" ", "") if options.keep else Path(scratch)
            place.mkdir(parents=True, exist_ok=True)
            fasta = genome(one.genome)
            if one.change:
                contigs = one.change(contigs, rng)
                fasta = place / "changed.fa"
                fasta.write_bytes(
                    b"".join(b">%s\n%s\n" % (n.encode(), bases.tobytes()) for n, bases in contigs.items())
                )
            reads = dict(reads_of(one, Genome(contigs), rng, options.reads))
            file = place / "reads.fa"
            file.write_bytes(b"".join(b">%s\n%s\n" % (n.encode(), read.bases.tobytes()) for n, read in reads.items()))
            (place / "truth.tsv").write_text("".join(f"{n}\t{r.bounds}\t{r.pieces}\n" for n, r in reads.items()))
            tools = {
                "gpualign": [options.gpualign, "map", "-q", "--device", "cpu", "-x", one.preset, fasta, file],
                "minimap2": ["minimap2", "-a", "-t", "2", "-x", f"map-{one.preset}", fasta, file],
            }
            judged = {}
            for tool, command in tools.items():
                sam = place / f"{tool}.sam"
                with sam.open("wb") as out:
                    subprocess.run(list(map(str, command)), stdout=out, stderr=subprocess.DEVNULL, check=True)
                judged[tool] = judge(sam, reads)
            if options.keep:
                with (place / "counts.tsv").open("w") as out:
                    for name in reads:
                        values = [*(judged[tool][name].figures() for tool in tools)]
                        print(name, *(f"{key}={a}:{b}" for key, a, b in _side_by_side(*values)), sep="\t", file=out)
            rows += list(_rows(label, reads, judged))
    harness.save("planted-splits", harness.machine(["minimap2"]), {"seeds": options.seeds, "rows": rows})


def _side_by_side(one: dict[str, float], two: dict[str, float]) -> Iterator[tuple[str, float, float]]:
    for key, value in one.items():
        yield key, value, two[key]


def _rows(label: str, reads: dict[str, Read], judged: dict[str, dict[str, Counts]]) -> Iterator[dict[str, Any]]:
    for kind in (*KINDS, "all"):
        for tool, by_read in judged.items():
            total = Counts()
            for name, counts in by_read.items():
                if kind in ("all", reads[name].kind):
                    total.add(counts)
            row = {"set": label, "kind": kind, "tool": tool, **total.figures()}
            print(" ".join(f"{key}={value}" for key, value in row.items() if key != "set" or kind == "all"), flush=True)
            yield row


if __name__ == "__main__":
    main()
