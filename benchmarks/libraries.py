"""Libraries whose reads do not align end to end: processor time and accuracy next to minibwa, minimap2 and bwa.

    python benchmarks/libraries.py [--sets plain,adapter,…] [--seeds 1,3] [--pairs 20000] [--rounds 3]
                                   [--tools gpualign,minibwa,minimap2,bwa] [--gpualign PROGRAM …] [--keep FOLDER]
    python benchmarks/libraries.py --device cuda [--pairs 300000] …     a GPU next to all cores, reads a second

Pairs of 150 bases of chr20: plain ones; fragments of 40 to 145 bases, with adapters behind them; transcripts of exons
of about 150 bases; both mates within an Alu; R1 that ends in a microsatellite of up to 150 bases; fragments joined of
two random places. Odd seeds are looked at while the mapper is changed, even ones are not.

A primary record is right where it overlaps a piece of the genome that its read came from, on that strand and no more
than 10 bases off its diagonal. `pieces` are the split reads of which each piece of 30 bases or more has a record.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import statistics
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product, repeat
from pathlib import Path
from typing import Any, NamedTuple

import data
import harness
import numpy as np
from bases import BASES, substitute
from every_kind import INDEX
from kinds import ADAPTERS, Bases, Random, load, turned, with_errors

LENGTH = 150
CONTIG = "chr20"
LEVELS = (1, 10, 20, 30, 50)
ERRORS = 0.005
#: pairs that a process makes, and how many times over a GPU and the CPU map them
PART, MORE = 10_000, (9, 3)
# 23 bases near the begin of most young Alus, after which their other 260 follow (Jurka & Smith 1988)
_ALU = b"GGCTCACGCCTGTAATCCCAGCA"
_MAP = {
    "gpualign": "{program} map {index}.gpi {reads} -t 2 --device cpu -q",
    "minibwa": "minibwa map -t 2 {index} {reads}",
    "minimap2": "minimap2 -ax sr -t 2 {index}.mmi {reads}",
    "bwa": "bwa mem -v 1 -t 2 {index} {reads}",
}


class Piece(NamedTuple):
    """Bases [begin, end) of a fragment, or of a read, which lie at [start, …) of the genome."""

    begin: int
    end: int
    start: int
    reverse: bool

    def within(self, begin: int, end: int) -> Piece | None:
        """What a window of the fragment has of it."""
        first, after = max(self.begin, begin), min(self.end, end)
        if first >= after:
            return None
        skipped = self.end - after if self.reverse else first - self.begin
        return Piece(first - begin, after - begin, self.start + skipped, self.reverse)

    def turned(self, length: int) -> Piece:
        return Piece(length - self.end, length - self.begin, self.start, not self.reverse)


Fragment = tuple[Bases, list[Piece]]


def _place(genome: Bases, rng: Random, span: int) -> int:
    while True:
        start = int(rng.integers(0, len(genome) - span))
        if np.isin(genome[start : start + span], BASES).all():
            return start


def _piece(genome: Bases, rng: Random, span: int) -> Fragment:
    start, reverse = _place(genome, rng, span), bool(rng.random() < 0.5)
    return turned(genome[start : start + span], reverse), [Piece(0, span, start, reverse)]


def _span(rng: Random) -> int:
    return max(LENGTH, int(rng.normal(400, 80)))


def _plain(genome: Bases, rng: Random) -> Fragment:
    return _piece(genome, rng, _span(rng))


def _adapter(genome: Bases, rng: Random) -> Fragment:
    return _piece(genome, rng, int(rng.integers(40, 146)))


def _microsatellite(genome: Bases, rng: Random) -> Fragment:
    bases, pieces = _piece(genome, rng, _span(rng))
    unit, length = BASES[rng.integers(0, 4, int(rng.integers(1, 7)))], int(rng.integers(20, LENGTH + 1))
    array = np.resize(unit, length)
    bases = np.concatenate([bases[: LENGTH - length], array, bases[LENGTH:]])
    return bases, pieces


def _junction(genome: Bases, rng: Random) -> Fragment:
    span = _span(rng)
    cut = int(rng.integers(1, span))
    (first, [a]), (second, [b]) = _piece(genome, rng, cut), _piece(genome, rng, span - cut)
    return np.concatenate([first, second]), [a, Piece(cut, span, b.start, b.reverse)]


def _transcript(genome: Bases, rng: Random) -> Fragment:
    """A window of spliced exons; introns of 100 to 10,000 bases, by their logarithm."""
    span = max(LENGTH, int(rng.normal(300, 50)))
    exons = np.maximum(40, rng.normal(150, 30, 12).astype(int))
    begins = np.cumsum(np.append(0, exons[:-1] + np.exp(rng.uniform(np.log(100), np.log(10_000), 11)).astype(int)))
    start = _place(genome, rng, int(begins[-1] + exons[-1]))
    spliced = np.concatenate([genome[start + b : start + b + n] for b, n in zip(begins, exons, strict=True)])
    ends = np.cumsum(exons)
    pieces = [
        Piece(int(end - n), int(end), int(start + b), False) for b, n, end in zip(begins, exons, ends, strict=True)
    ]
    at = int(rng.integers(0, max(1, len(spliced) - span)))
    reverse = bool(rng.random() < 0.5)
    bases = spliced[at : at + span]
    inside = [piece for each in pieces if (piece := each.within(at, at + span))]
    return turned(bases, reverse), [piece.turned(len(bases)) if reverse else piece for piece in inside]


def _alus(genome: Bases) -> Callable[[Bases, Random], Fragment]:
    """The strand is that of the genome."""
    text, found = genome.tobytes(), []
    at = text.find(_ALU)
    while at >= 0:
        if np.isin(genome[at : at + 270], BASES).all():
            found.append(at)
        at = text.find(_ALU, at + 1)

    def make(genome: Bases, rng: Random) -> Fragment:
        span = int(rng.integers(180, 261))
        start, reverse = int(rng.choice(found)) + int(rng.integers(0, 261 - span)), bool(rng.random() < 0.5)
        return turned(genome[start : start + span], reverse), [Piece(0, span, start, reverse)]

    return make


@dataclass(frozen=True)
class Library:
    make: Callable[[Bases], Callable[[Bases, Random], Fragment]]
    options: str = ""  # of gpualign


SETS = {
    "plain": Library(lambda _: _plain),
    "adapter": Library(lambda _: _adapter),
    "rna": Library(lambda _: _transcript),
    "alu": Library(_alus),
    "microsatellite": Library(lambda _: _microsatellite),
    "junction": Library(lambda _: _junction, "-I 400,80"),
}


def mates_of(fragment: Fragment, rng: Random) -> Iterator[tuple[Bases, list[Piece]]]:
    """R1 and R2; what the fragment lacks is an adapter, and random bases behind it."""
    bases, pieces = fragment
    span = len(bases)
    for number in (0, 1):
        own = turned(bases, number == 1)
        of_mate = [piece.turned(span) if number else piece for piece in pieces]
        behind = (ADAPTERS[number], BASES[rng.integers(0, 4, LENGTH)])
        read = np.concatenate([with_errors(own, ERRORS, rng), *behind]) if span < LENGTH else own[:LENGTH]
        read = read if span < LENGTH else with_errors(read, ERRORS, rng)
        if len(read) < LENGTH:  # deleted bases
            read = np.append(read, substitute(read[: LENGTH - len(read)], rng))
        yield read[:LENGTH], [piece for each in of_mate if (piece := each.within(0, LENGTH))]


def write_set(label: str, seed: int, pairs: int, folder: Path) -> list[Path]:
    """Two files; a read's name holds the pieces of both mates."""
    genome = load(CONTIG)
    contig = next(iter(genome.values()))
    rng = np.random.default_rng([seed, zlib.crc32(label.encode())])
    make = SETS[label].make(contig)
    files = [folder / f"{label}-{seed}-{pairs}_{mate}.fq" for mate in (1, 2)]
    if files[1].exists():
        return files
    with files[0].open("wb") as first, files[1].with_suffix(".part").open("wb") as second:
        for number in range(pairs):
            mates = list(mates_of(make(contig, rng), rng))
            name = "|".join([str(number), *(_text(pieces) for _, pieces in mates)])
            for file, (bases, _) in zip((first, second), mates, strict=True):
                file.write(b"@%s\n%s\n+\n%s\n" % (name.encode(), bases.tobytes(), b"F" * len(bases)))
    files[1].with_suffix(".part").rename(files[1])
    return files


def _text(pieces: Sequence[Piece]) -> str:
    return ",".join(f"{p.begin}:{p.end}:{p.start}:{'-' if p.reverse else '+'}" for p in pieces)


def pieces_of(name: str, mate: int) -> list[Piece]:
    fields = (text.split(":") for text in name.split("|")[1 + mate].split(","))
    return [Piece(int(begin), int(end), int(start), strand == "-") for begin, end, start, strand in fields]


@dataclass
class Counts:
    """Over reads."""

    reads: int = 0
    mapped: int = 0
    right: int = 0
    split: int = 0
    whole: int = 0  # split reads with all of their pieces
    wrong: list[int] = field(default_factory=lambda: [0] * len(LEVELS))
    kept: list[int] = field(default_factory=lambda: [0] * len(LEVELS))


def judge(sam: Path) -> Counts:
    counts = Counts()
    found: dict[tuple[str, int], set[int]] = defaultdict(set)
    for flag, fields in data.sam_records(sam, without=0x100):
        mate = flag >> 7 & 1
        pieces = pieces_of(fields[0], mate)
        hits = {i for i, piece in enumerate(pieces) if not flag & 4 and _lies_in(piece, fields, flag)}
        found[fields[0], mate] |= hits
        if flag & 0x800:
            continue
        counts.reads += 1
        if flag & 4:
            continue
        counts.mapped += 1
        counts.right += bool(hits)
        for i, level in enumerate(LEVELS):
            counts.kept[i] += int(fields[4]) >= level
            counts.wrong[i] += int(fields[4]) >= level and not hits
    for (name, mate), hits in found.items():
        long = {i for i, piece in enumerate(pieces_of(name, mate)) if piece.end - piece.begin >= 30}
        counts.split += len(long) > 1
        counts.whole += len(long) > 1 and long <= hits
    return counts


def _lies_in(piece: Piece, fields: Sequence[str], flag: int) -> bool:
    """Whether some block of matches of a record does."""
    at, start = 0, int(fields[3]) - 1
    begin = LENGTH - piece.end if piece.reverse else piece.begin
    if bool(flag & 16) != piece.reverse:
        return False
    for n, operation in data.parse_cigar(fields[5]):
        if operation in "M=X":
            off = abs((start - at) - (piece.start - begin))
            if off <= 10 and start < piece.start + piece.end - piece.begin and piece.start < start + n:
                return True
        start += n if operation in "MDN=X" else 0
        at += n if operation in "MISH=X" else 0
    return False


def run_set(label: str, seed: int, tools: Sequence[tuple[str, str]], pairs: int, rounds: int, folder: Path) -> list:
    reads = write_set(label, seed, pairs, folder)
    sams = {tool: folder / f"{number}.sam" for number, tool in enumerate(tools)}

    def case(tool: tuple[str, str]) -> Callable[[], harness.Timing]:
        name, program = tool
        command = _MAP[name].format(program=program, index=_index(name, program), reads=" ".join(map(str, reads)))
        command += f" {SETS[label].options}" if name == "gpualign" else ""
        return lambda: harness.run_timed(shlex.split(command), sams[tool])

    timings = harness.interleave({tool: case(tool) for tool in tools}, rounds)
    rows = []
    for tool, runs in timings.items():
        counts = judge(sams[tool])
        seconds = statistics.median(t.cpu_s for t in runs)
        times = harness.ratio([t.cpu_s for t in timings[tools[0]]], [t.cpu_s for t in runs])
        wrong = "  ".join(f"{w:>4}/{k:<6}" for w, k in zip(counts.wrong, counts.kept, strict=True))
        share = 100 / counts.reads
        pieces = f"{100 * counts.whole / counts.split:6.2f}" if counts.split else "     -"
        figures = f"{seconds:7.2f} {times:6.2f} {counts.mapped * share:7.2f} {counts.right * share:7.2f} {pieces}"
        print(f"{label:14} {seed:>3} {tool[0]:9} {figures}  {wrong}", flush=True)
        row = {"set": label, "seed": seed, "tool": tool[0], "cpu_s": round(seconds, 3), "times": times}
        rows.append({**row, **vars(counts)})
    return rows


def on_device(label: str, seed: int, device: str, pairs: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Reads a second of a device and of all cores, by the reports' clocks; the bytes are compared, but for @PG.

    The reads are mapped once and several times over in one run, and the difference counts: so the start does not.
    """
    seeds = range(1000 * seed, 1000 * seed + -(-pairs // PART))
    with ProcessPoolExecutor() as pool:
        parts = list(pool.map(write_set, repeat(label), seeds, repeat(PART), repeat(folder)))
    once = [folder / f"once_{mate}.fq" for mate in (1, 2)]
    for file, of_mate in zip(once, zip(*parts, strict=True), strict=True):
        file.write_bytes(b"".join(part.read_bytes() for part in of_mate))
    index, report, sam = _index("gpualign", sys.executable + " -m gpualign"), folder / "report.json", folder / "out.sam"

    def case(which: str, times: int, output: str | Path = os.devnull) -> dict[str, Any]:
        inputs = [",".join([str(file)] * times) for file in once]
        command = [sys.executable, "-m", "gpualign", "map", f"{index}.gpi", *inputs, *SETS[label].options.split()]
        harness.run_timed([*command, "--device", which, "-q", "-o", output, "--json", report])
        return json.loads(report.read_text())

    def lines(which: str) -> int:
        case(which, 1, sam)
        return zlib.crc32(b"\n".join(line for line in sam.read_bytes().split(b"\n") if not line.startswith(b"@PG")))

    same_bytes = lines(device) == lines("cpu")  # the first call compiles the kernels
    keys = [(device, 1), (device, MORE[0]), ("cpu", 1), ("cpu", MORE[1])]
    runs = harness.interleave({key: partial(case, *key) for key in keys}, rounds)
    took = {key: statistics.median(run["wall_s"] for run in some) for key, some in runs.items()}
    reads = 2 * PART * len(parts)
    rates = {which: (n - 1) * reads / (took[which, n] - took[which, 1]) for which, n in keys[1::2]}
    row = {"set": label, "seed": seed, "reads": reads, "gpu_reads_per_s": round(rates[device])}
    row |= {"cpu_reads_per_s": round(rates["cpu"]), "times": round(rates[device] / rates["cpu"], 2)}
    row |= {f"{which}_wall_s": took[which, 1] for which in (device, "cpu")} | {"same_bytes": same_bytes}
    print(row, flush=True)
    return row


def _index(tool: str, program: str) -> Path:
    path = data.folder() / "index" / tool / CONTIG
    if not list(path.parent.glob(f"{path.name}.*")):
        path.parent.mkdir(parents=True, exist_ok=True)
        make = INDEX[tool] or "minimap2 -x sr -d {index}.mmi {fasta}"
        harness.run_timed(make.format(gpualign=program, index=path, fasta=data.genome(CONTIG)).split())
    return path


def compare_device(arguments: argparse.Namespace) -> None:
    rows = []
    for seed, label in product(map(int, arguments.seeds.split(",")), arguments.sets.split(",")):
        with tempfile.TemporaryDirectory(dir=arguments.keep) as scratch:
            rows.append(on_device(label, seed, arguments.device, arguments.pairs, arguments.rounds, Path(scratch)))
    harness.save("libraries-device", harness.machine((), ("pycuda",), harness.gpu_names()), {"rows": rows})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", default="gpualign,minibwa,minimap2,bwa")
    own = str(Path(sys.executable).with_name("gpualign"))
    parser.add_argument("--gpualign", nargs="+", default=[own], help="programs, the first one compared with all others")
    parser.add_argument("--keep", type=Path, help="folder for reads and SAM")
    parser.add_argument("--device", help="compare this GPU with all cores")
    arguments = parser.parse_args()
    if arguments.device:
        return compare_device(arguments)
    tools = [("gpualign", program) for program in arguments.gpualign]
    tools += [(tool, tool) for tool in arguments.tools.split(",") if tool != "gpualign" and shutil.which(tool)]
    print(f"{'':29}   CPU s  times  mapped   right pieces  wrong/kept at MAPQ {LEVELS}")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in map(int, arguments.seeds.split(",")):
            for label in arguments.sets.split(","):
                rows += run_set(label, seed, tools, arguments.pairs, arguments.rounds, folder)
    harness.save("libraries", harness.machine([tool for tool, _ in tools if tool != "gpualign"]), {"rows": rows})


if __name__ == "__main__":
    main()
