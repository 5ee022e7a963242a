"""FASTQ of pairs as a sequencer writes it: what whole commands are timed on.

    python benchmarks/realistic_reads.py GENOME.fa OUT PAIRS [--processes 16] [--seed 1]      writes OUT_1.fq, OUT_2.fq

2 x 150 bases with inserts of 400 +- 80; 0.1 % of bases differ from the genome, errors rise from 0.3 % at a read's start
to 2 % at its end; 2 % of reads have a gap of up to 8 bases, 1 % of pairs are shorter than a read and run into the
adapter, 0.5 % are foreign. Qualities have four values, as NovaSeq's, and names are Illumina's, with comments.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

import numpy as np
from bases import BASES, bases_of, complement
from numpy.typing import NDArray

LENGTH = 150
#: pairs that a process makes at a time
_PART = 100_000
_ERRORS = np.linspace(0.003, 0.02, LENGTH).astype(np.float32)
_ADAPTER = np.frombuffer(b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC".ljust(LENGTH, b"A"), np.uint8)
_GOOD, _MIDDLE, _LOW, _WRONG = b"F:,#"

Sequences = NDArray[np.uint8]


def draw(genome: Sequences, starts: NDArray[np.int64], rng: np.random.Generator) -> Sequences:
    """uint8 (n, LENGTH): the genome from these starts on, some with a gap."""
    columns = np.arange(LENGTH)
    gaps = np.where(rng.random(len(starts)) < 0.02, rng.integers(-8, 9, len(starts)), 0)
    behind = columns >= rng.integers(10, LENGTH - 10, len(starts))[:, None]
    return genome[starts[:, None] + columns + np.where(behind, gaps[:, None], 0)]


def changed(reads: Sequences, where: NDArray[np.bool_], rng: np.random.Generator) -> None:
    """Any base where it is to be another one, which it is three times of four."""
    reads[where] = BASES[rng.integers(0, 4, int(where.sum()))]


def sequenced(reads: Sequences, rng: np.random.Generator) -> Sequences:
    """Qualities; the reads get their errors."""
    wrong = rng.random(reads.shape, dtype=np.float32) < _ERRORS
    changed(reads, wrong, rng)
    qualities = np.full(reads.shape, _GOOD, np.uint8)
    low = rng.random(reads.shape, dtype=np.float32) < 3 * _ERRORS
    qualities[low] = np.array([_MIDDLE, _LOW, _LOW], np.uint8)[rng.integers(0, 3, int(low.sum()))]
    tails = (rng.random(len(reads)) < 0.05)[:, None] & (
        np.arange(LENGTH) >= rng.integers(80, LENGTH, len(reads))[:, None]
    )
    qualities[tails] = _LOW
    qualities[wrong & (rng.random(reads.shape, dtype=np.float32) < 0.6)] = _WRONG
    return qualities


def ends_of(genome: Sequences, count: int, rng: np.random.Generator) -> tuple[Sequences, Sequences]:
    """Two ends of fragments, without errors."""
    starts = rng.integers(100, len(genome) - 1200, 3 * count)
    starts = starts[(genome[starts] != ord("N")) & (genome[starts + 700] != ord("N"))][:count]
    count = len(starts)
    inserts = np.clip(rng.normal(400, 80, count), 160, 900).astype(np.int64)
    short = rng.random(count) < 0.01
    inserts[short] = rng.integers(60, LENGTH, int(short.sum()))
    left = draw(genome, starts, rng)
    right = complement(draw(genome, np.maximum(starts + inserts - LENGTH, 0), rng)[:, ::-1])
    changed(left, rng.random(left.shape, dtype=np.float32) < 0.001, rng)
    for i in np.flatnonzero(short):
        fragment = genome[starts[i] : starts[i] + inserts[i]]
        for end, bases in ((left, fragment), (right, complement(fragment[::-1]))):
            end[i] = np.concatenate([bases, _ADAPTER])[:LENGTH]
    foreign = rng.random(count) < 0.005
    for end in (left, right):
        changed(end, np.broadcast_to(foreign[:, None], end.shape), rng)
    return left, right


def fastq(reads: Sequences, qualities: Sequences, names: list[bytes], mate: int) -> bytes:
    bases, scores = reads.tobytes(), qualities.tobytes()
    record = b"@%s %d:N:0:ATCACGTT+AGGCGAAG\n%s\n+\n%s\n"
    cuts = [slice(at, at + LENGTH) for at in range(0, len(bases), LENGTH)]
    return b"".join([record % (name, mate, bases[cut], scores[cut]) for name, cut in zip(names, cuts, strict=True)])


def part_of(genome: Path, part: int, count: int, seed: int) -> tuple[bytes, bytes]:
    """The two files' text of one part, of a genome in a .npy file."""
    rng = np.random.default_rng([seed, part])
    left, right = ends_of(np.load(genome, mmap_mode="r"), count, rng)
    swapped = rng.random(len(left)) < 0.5
    left[swapped], right[swapped] = right[swapped], left[swapped]
    tile, x, y = 1101 + part, rng.integers(1000, 32000, len(left)), rng.integers(1000, 50000, len(left))
    lane = b"A00821:200:HJ5KYDSXX:%d:%d:" % (1 + part % 4, tile)
    names = [b"%s%d:%d" % (lane, *at) for at in zip(x.tolist(), y.tolist(), strict=True)]
    first, second = (fastq(end, sequenced(end, rng), names, mate) for mate, end in ((1, left), (2, right)))
    return first, second


def parts(genome: Path, pairs: int, processes: int, seed: int) -> Iterator[tuple[bytes, bytes]]:
    numbers = range(-(-pairs // _PART))
    counts = [min(_PART, pairs - number * _PART) for number in numbers]
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(part_of, repeat(genome), numbers, counts, repeat(seed))


def write(genome: Path, pairs: int, outputs: list[Path], processes: int, seed: int = 1) -> None:
    """Write so many pairs, or a little fewer where the genome is mostly N, to two files."""
    with tempfile.NamedTemporaryFile(suffix=".npy") as stored:
        np.save(stored, bases_of(genome))
        stored.flush()
        with open(outputs[0], "wb") as first, open(outputs[1], "wb") as second:
            for texts in parts(Path(stored.name), pairs, processes, seed):
                first.write(texts[0])
                second.write(texts[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("genome", type=Path)
    parser.add_argument("out")
    parser.add_argument("pairs", type=int)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    outputs = [Path(f"{arguments.out}_{end}.fq") for end in (1, 2)]
    write(arguments.genome, arguments.pairs, outputs, arguments.processes, arguments.seed)


if __name__ == "__main__":
    main()
