"""BAM records, made at random, and files and indexes of them taken apart."""

from __future__ import annotations

import gzip
import random
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.batch import join_bytes

PAIRED, UNMAPPED, REVERSE, FIRST, SECOND, SECONDARY, SUPPLEMENTARY = 1, 4, 16, 64, 128, 256, 2048


def random_templates(rng: random.Random, count: int, lengths: Sequence[int]) -> list[list[str]]:
    """SAM lines of single reads and pairs in input order: unmapped ones, such with a mapped mate, secondary and
    supplementary records; few positions, so that many are equal."""
    return [_template(rng, f"r{number}", lengths) for number in range(count)]


def _template(rng: random.Random, name: str, lengths: Sequence[int]) -> list[str]:
    lines = []
    placed = [_alignment(rng, lengths) for _ in range(rng.randint(1, 2))]
    for mate, where in enumerate(placed):
        flags = (PAIRED | (SECOND if mate else FIRST)) if len(placed) == 2 else 0
        if where is None and (other := placed[1 - mate] if len(placed) == 2 else None) is not None:
            lines.append(_line(rng, name, flags | UNMAPPED, other[:2], "*"))
            continue
        if where is None:
            lines.append(_line(rng, name, flags | UNMAPPED, ("*", 0), "*"))
            continue
        lines.append(_line(rng, name, flags | where[2], where[:2], where[3]))
        for kind in rng.sample((SECONDARY, SUPPLEMENTARY), rng.choice((0, 0, 1, 2))):
            further = _alignment(rng, lengths)
            if further is not None:
                lines.append(_line(rng, name, flags | kind | further[2], further[:2], further[3]))
    return lines


def _alignment(rng: random.Random, lengths: Sequence[int]) -> tuple[str, int, int, str] | None:
    if rng.random() < 0.2:
        return None
    contig = rng.randrange(len(lengths))
    cigar, span = rng.choice((("10M", 10), ("4M1I5M", 9), ("5M90D5M", 100), ("2M40000N8M", 40010), ("3S7M", 7)))
    last = max(1, lengths[contig] - span)
    position = rng.choice((1, min(5, last), rng.randint(1, last), rng.randint(1, last)))
    return f"c{contig}", position, rng.choice((0, REVERSE)), cigar


def _line(rng: random.Random, name: str, flag: int, where: tuple[str, int], cigar: str) -> str:
    bases = "".join(rng.choices("ACGTN", k=10))
    tags = rng.choice(("", f"\tNM:i:{rng.randrange(70000)}", "\tXX:Z:text here\tXA:A:x"))
    return f"{name}\t{flag}\t{where[0]}\t{where[1]}\t{rng.randrange(61)}\t{cigar}\t*\t0\t0\t{bases}\tIIIIIIIIII{tags}\n"


def coordinate_of(line: str) -> tuple[int, int, int]:
    """By what samtools sorts a line, but for ties."""
    fields = line.split("\t")
    return (99 if fields[2] == "*" else int(fields[2][1:]), int(fields[3]), int(fields[1]) & REVERSE)


def contig_names(count: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """As native functions take them."""
    return join_bytes([f"c{i}".encode() for i in range(count)])


def bam_records(lines: Sequence[str], contigs: int) -> NDArray[np.uint8]:
    """SAM lines as records."""
    text = np.frombuffer("".join(lines).encode(), np.uint8)
    records, count = _native.bam_records(text, *contig_names(contigs))
    assert count == len(lines)
    return np.asarray(records)


def sam_lines(records: NDArray[np.uint8], contigs: int) -> list[str]:
    """And back."""
    return bytes(_native.sam_lines(records, *contig_names(contigs))).decode().splitlines(keepends=True)


def parsed_index(path: Path) -> tuple[int, list[Any], int]:
    """A .bai or .csi: its depth; of each contig the bins, {number: (first record, chunks)}, and windows; how many
    records have no contig."""
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    at = 4

    def take(form: str) -> Any:
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    csi = data[:4] == b"CSI\1"
    depth = 5
    if csi:
        min_shift, depth, auxiliary = take("iii")
        assert (min_shift, auxiliary) == (14, 0)
    contigs = []
    for _ in range(take("i")):
        bins = {}
        for _ in range(take("i")):
            number, first = take("I"), take("Q") if csi else 0
            bins[number] = (first, [take("QQ") for _ in range(take("i"))])
        contigs.append((bins, [] if csi else [take("Q") for _ in range(take("i"))]))
    without = take("Q")
    assert at == len(data)
    return depth, contigs, without
