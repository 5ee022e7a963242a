"""Simulated Illumina pairs whose qualities mean what they say, from a donor sequence; seeded, the same bytes each time.

mason gives every base of a cycle one quality, which is neither what a variant caller expects nor what a BAM file of
real reads compresses like. Here a base's quality is one of the four that present sequencers write, worse towards the
read's end, and its chance of being wrong is the quality's.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import data
import numpy as np
from bases import complement, substitute
from numpy.typing import NDArray

#: the bins of present sequencers, and how likely each is at a read's start and at its end
QUALITIES = np.array([2, 12, 23, 37])
_AT_START = np.array([0.001, 0.009, 0.04, 0.95])
_AT_END = np.array([0.01, 0.09, 0.15, 0.75])
_BATCH = 20_000


def pair_set(genome: str, pairs: int, seed: int = 7) -> tuple[Path, Path]:
    """FASTQ files of pairs from all contigs of a genome that :mod:`data` knows; made once."""
    folder = data.folder() / "sim" / f"{genome}_pairs{pairs}_{seed}"
    files = folder / "reads_1.fq", folder / "reads_2.fq"
    if not all(file.exists() for file in files):
        donor = b"N".join(data.read_fasta(data.genome(genome)).values())
        write_pairs(donor, pairs, folder, np.random.default_rng(seed))
    return files


def write_pairs(
    donor: bytes,
    pairs: int,
    folder: Path,
    rng: np.random.Generator,
    length: int = 150,
    insert: tuple[int, int] = (400, 50),
) -> None:
    """Write folder/reads_1.fq and reads_2.fq.

    Args:
        donor: upper-case bases; fragments that touch an N are not taken.
        insert: mean and standard deviation of the fragments' lengths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    read = np.frombuffer(donor, np.uint8)
    unknown = np.concatenate([[0], np.cumsum(read == ord("N"))])
    parts = [(folder / f"reads_{end}.fq.part").open("wb") for end in (1, 2)]
    done = 0
    while done < pairs:
        sizes = np.maximum(length, rng.normal(*insert, _BATCH).astype(np.int64))
        starts = rng.integers(0, len(read) - sizes.max(), _BATCH)
        known = unknown[starts + sizes] == unknown[starts]
        sizes, starts = sizes[known][: pairs - done], starts[known][: pairs - done]
        left = read[starts[:, None] + np.arange(length)]
        right = complement(read[(starts + sizes - 1)[:, None] - np.arange(length)])
        swapped = (rng.random(len(starts)) < 0.5)[:, None]
        for out, ends in zip(parts, (np.where(swapped, right, left), np.where(swapped, left, right)), strict=True):
            _write(out, *_sequenced(ends, rng), done)
        done += len(starts)
    for out in parts:
        out.close()
        Path(out.name).rename(out.name.removesuffix(".part"))


def _sequenced(read: NDArray[np.uint8], rng: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Bases with errors and their qualities."""
    way = np.linspace(0, 1, read.shape[1])[:, None]
    bounds = np.cumsum(_AT_START * (1 - way) + _AT_END * way, axis=1)
    drawn = rng.random(read.shape)
    qualities = QUALITIES[(drawn[..., None] > bounds[:, :-1]).sum(axis=2)].astype(np.uint8)
    wrong = rng.random(read.shape) < 10.0 ** (qualities / -10.0)
    return np.where(wrong, substitute(read, rng), read), qualities


def _write(out: BinaryIO, read: NDArray[np.uint8], qualities: NDArray[np.uint8], first: int) -> None:
    for i, (bases, quality) in enumerate(zip(read, qualities + 33, strict=True)):
        out.write(b"@p%d\n%s\n+\n%s\n" % (first + i, bases.tobytes(), quality.tobytes()))
