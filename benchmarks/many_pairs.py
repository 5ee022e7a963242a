"""BGZF of tens of millions of pairs as a sequencer writes them, some of them copies, made in seconds.

    python benchmarks/many_pairs.py GENOME.fa OUT PAIRS [--duplicates 0.15] [--processes 16] [--seed 1]
        writes OUT_1.fq.gz and OUT_2.fq.gz

As those of realistic_reads.py: 2 x 150 bases with inserts of 400 +- 80 from a sample that differs from the genome by
0.1 %, errors that rise along a read, gaps, adapters, foreign pairs, qualities of four values, Illumina's names. Errors
and qualities come from a pool of reads. A copy is of a fragment of any pair, and has errors and a name of its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Condition
from pathlib import Path
from typing import Any

import numpy as np
from bases import BASES, bases_of, complement
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from realistic_reads import LENGTH, draw, sequenced

from gpualign.text.bgzf import BGZF_END, packed

#: pairs that a process makes at a time
_PART = 100_000
_POOL = 1 << 15
_ADAPTER = np.frombuffer(b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC".ljust(LENGTH, b"A"), np.uint8)
_SNPS = 0.001
#: %d stand for digits of lane, tile, x, y and mate
_NAME = b"@A00821:200:HJ5KYDSXX:%:%%%%:%%%%%:%%%%% %:N:0:ATCACGTT+AGGCGAAG\n"


Sequences = NDArray[np.uint8]


class Fragments:
    """Where the fragments of a part begin, how long they are, and of which strand R1 is."""

    def __init__(self, part: int, count: int, bases: int, seed: int) -> None:
        rng = np.random.default_rng([seed, part, 0])
        self.starts = rng.integers(1000, bases - 2000, count)
        self.sizes = np.clip(rng.normal(400, 80, count), LENGTH + 10, 900).astype(np.int64)
        short = rng.random(count) < 0.01
        self.sizes[short] = rng.integers(60, LENGTH, int(short.sum()))
        self.reverse = rng.random(count) < 0.5


def fragments_of(part: int, count: int, bases: int, duplicates: float, seed: int) -> Fragments:
    """Those of a part, the share ``duplicates`` of them copies of others: the truth about its pairs, in their order."""
    rng = np.random.default_rng([seed, part, 2])
    own = Fragments(part, count, bases, seed)
    other = Fragments(int(rng.integers(part + 1)), _PART, bases, seed)
    copies = np.flatnonzero(rng.random(count) < duplicates)
    of = rng.integers(0, len(other.starts), len(copies))
    for name in ("starts", "sizes", "reverse"):
        getattr(own, name)[copies] = getattr(other, name)[of]
    return own


def first_bases(pairs: int, bases: int, duplicates: float, seed: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where the leftmost base of each read (R1, R2 of the first pair, of the second, ...) lies in the genome, its
    records one after another, counted from 0, and whether the read is of the other strand. Gaps and adapters aside.
    """
    starts, backward = np.empty((pairs, 2), np.int64), np.empty((pairs, 2), bool)
    for first in range(0, pairs, _PART):
        count = min(_PART, pairs - first)
        of = fragments_of(first // _PART, count, bases, duplicates, seed)
        right = of.starts + of.sizes - LENGTH
        rows = slice(first, first + count)
        ends = np.stack([of.starts, right], 1)
        starts[rows] = np.where(of.reverse[:, None], ends[:, ::-1], ends)
        backward[rows] = np.stack([of.reverse, ~of.reverse], 1)
    return starts.reshape(-1), backward.reshape(-1)


class Maker:
    """Makes parts and appends them to the two files, in order.

    Args:
        genome: of the sample, upper-case.
        turn: told of each part that is written.
        written: parts so far, shared.
    """

    def __init__(self, genome: Sequences, arguments: argparse.Namespace, turn: Condition, written: Any) -> None:
        self._genome, self._arguments, self._turn, self._written = genome, arguments, turn, written
        rng = np.random.default_rng(arguments.seed)
        marks = np.zeros((_POOL, LENGTH), np.uint8)
        self._qualities = sequenced(marks, rng)
        self._errors = marks  # 0: none

    def __call__(self, part: int) -> None:
        arguments = self._arguments
        count = min(_PART, arguments.pairs - part * _PART)
        rng = np.random.default_rng([arguments.seed, part, 1])
        fragments = fragments_of(part, count, len(self._genome), arguments.duplicates, arguments.seed)
        mates = self._mates(fragments, rng)
        place = rng.integers(10_000, 32_000, count), rng.integers(10_000, 50_000, count)
        texts = (self._text(mate, end, part, place, rng) for end, mate in enumerate(mates, 1))
        files = [packed(text, np.array([len(text)], np.uint64)) for text in texts]
        with self._turn:
            self._turn.wait_for(lambda: self._written.value == part)
            for end, blocks in enumerate(files, 1):
                with open(f"{self._arguments.out}_{end}.fq.gz", "ab") as file:
                    file.write(blocks)
            self._written.value += 1
            self._turn.notify_all()

    def _mates(self, fragments: Fragments, rng: np.random.Generator) -> tuple[Sequences, Sequences]:
        """uint8 (n, LENGTH) twice, without errors."""
        ends = fragments.starts + fragments.sizes - LENGTH
        windows = sliding_window_view(self._genome, LENGTH)
        left, right = windows[fragments.starts], windows[ends]
        gapped = np.flatnonzero(rng.random(len(left)) < 0.02)
        left[gapped] = draw(self._genome, fragments.starts[gapped], rng)
        right = np.ascontiguousarray(complement(right)[:, ::-1])
        for i in np.flatnonzero(fragments.sizes < LENGTH):
            left[i, fragments.sizes[i] :] = right[i, fragments.sizes[i] :] = _ADAPTER[: LENGTH - fragments.sizes[i]]
        foreign = rng.random(len(left)) < 0.005
        for mate in (left, right):
            mate[foreign] = BASES[rng.integers(0, 4, (int(foreign.sum()), LENGTH))]
        turned = fragments.reverse[:, None]
        return np.where(turned, right, left), np.where(turned, left, right)

    def _text(self, reads: Sequences, end: int, part: int, place: Any, rng: np.random.Generator) -> Sequences:
        count, name = len(reads), np.frombuffer(_NAME, np.uint8)
        columns = np.cumsum([0, len(name), LENGTH, 3, LENGTH, 1])
        rows = np.empty((count, columns[-1]), np.uint8)
        rows[:, : columns[1]] = name
        digits = np.flatnonzero(name == ord("%"))
        numbers = (np.array(1 + part % 4), np.array(1101 + part // 4), *place, np.array(end))
        for number, width in zip(numbers, (1, 4, 5, 5, 1), strict=True):
            for power in reversed(range(width)):
                rows[:, digits[0]] = ord("0") + number // 10**power % 10
                digits = digits[1:]
        pool = rng.integers(0, _POOL, count)
        errors = self._errors[pool]
        np.copyto(rows[:, columns[1] : columns[2]], np.where(errors, errors, reads))
        rows[:, columns[2] : columns[3]] = np.frombuffer(b"\n+\n", np.uint8)
        rows[:, columns[3] : columns[4]] = self._qualities[pool]
        rows[:, columns[4]] = ord("\n")
        return rows.reshape(-1)


_maker: Maker


def _make(part: int) -> None:
    _maker(part)


def main() -> None:
    global _maker
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("genome", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("pairs", type=int)
    parser.add_argument("--duplicates", type=float, default=0.15)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    genome = bases_of(arguments.genome).copy()
    rng = np.random.default_rng(arguments.seed)
    snps = rng.integers(0, len(genome), int(_SNPS * len(genome)))
    genome[snps] = BASES[rng.integers(0, 4, len(snps))]
    paths = [Path(f"{arguments.out}_{end}.fq.gz") for end in (1, 2)]
    for path in paths:
        path.write_bytes(b"")
    context = multiprocessing.get_context("fork")  # the genome is shared
    _maker = Maker(genome, arguments, context.Condition(), context.Value("q", 0))
    with ProcessPoolExecutor(arguments.processes, mp_context=context) as pool:
        list(pool.map(_make, range(-(-arguments.pairs // _PART))))
    for path in paths:
        with path.open("ab") as file:
            file.write(BGZF_END)


if __name__ == "__main__":
    main()
