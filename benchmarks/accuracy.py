"""Is a read where it came from? Simulated reads against their truth, real ones against brute force."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from data import read_fasta, read_fastq, reverse_complement, sam_records

_NOT_JUDGED = 0x4 | 0x100 | 0x800  # unmapped, secondary, supplementary
_LEADING_CLIP = re.compile(r"(?:(\d+)H)?(?:(\d+)S)?")


class Record(NamedTuple):
    """A primary, mapped SAM record."""

    name: str
    contig: str
    strand: str
    unclipped_start: int  # 1-based; where the first base of SEQ would lie without clipping
    mapq: int
    tags: list[str]


def mapped_records(sam: Path) -> Iterator[Record]:
    for flag, fields in sam_records(sam, _NOT_JUDGED):
        hard, soft = _LEADING_CLIP.match(fields[5]).groups()
        start = int(fields[3]) - int(hard or 0) - int(soft or 0)
        yield Record(fields[0], fields[2], "-" if flag & 16 else "+", start, int(fields[4]), fields[11:])


def load_truth(path: Path) -> dict[str, tuple[str, str, int]]:
    """name -> (contig, strand, 1-based start)."""
    truth = {}
    with gzip.open(path, "rt") as file:
        for line in file:
            if not line.startswith("#"):
                name, _, contig, strand, start = line.split("\t")[:5]
                truth[name] = (contig, strand, int(start))
    return truth


def against_truth(sam: Path, truth: dict[str, tuple[str, str, int]], tolerance: int = 8) -> dict[str, Any]:
    """Correct: contig and strand are the true ones and the unclipped start lies within ``tolerance`` bases."""
    wrong = dict.fromkeys((0, 1, 10, 20, 30), 0)
    kept = dict.fromkeys(wrong, 0)
    correct = 0
    for record in mapped_records(sam):
        contig, strand, start = truth[record.name]
        right = (contig, strand) == (record.contig, record.strand) and abs(record.unclipped_start - start) <= tolerance
        correct += right
        for minimum in wrong:
            if record.mapq >= minimum:
                kept[minimum] += 1
                wrong[minimum] += not right
    return {
        "mapped_percent": round(100 * kept[0] / len(truth), 4),
        "correct_percent": round(100 * correct / len(truth), 4),
        "wrong_at_mapq": {f">={minimum}": count for minimum, count in wrong.items()},
        "mapped_at_mapq": {f">={minimum}": count for minimum, count in kept.items()},
    }


def best_distances(reads: Path, genomes: Path) -> dict[str, tuple[int, int]]:
    """(length, least edit distance to any substring of any genome, either strand) of each read, by edlib.

    Anything but A, C, G and T matches nothing: it becomes "n" in the read and "x" in the genome.
    """
    import edlib

    targets = [_only_bases(bases, b"x").decode() for bases in read_fasta(genomes).values()]
    found = {}
    for name, bases, _ in read_fastq(reads):
        forward = _only_bases(bases, b"n")
        best = len(bases)
        for query in (forward.decode(), reverse_complement(forward).decode()):
            for target in targets:
                distance = edlib.align(query, target, mode="HW", task="distance", k=best)["editDistance"]
                best = distance if distance >= 0 else best
        found[name] = (len(bases), best)
    return found


def _only_bases(bases: bytes, other: bytes) -> bytes:
    return re.sub(b"[^ACGT]", other, bases.upper())


def against_brute_force(sam: Path, best: dict[str, tuple[int, int]], error_rate: float) -> dict[str, Any]:
    """Of the reads whose best distance is within the limit, how many are reported with it (the tag ed)."""
    reported = {}
    for record in mapped_records(sam):
        tag = next((tag for tag in record.tags if tag.startswith("ed:i:")), None)
        if tag is not None:
            reported[record.name] = int(tag[5:])
    within = {n: d for n, (length, d) in best.items() if d <= math.floor(error_rate * length + 1e-9)}
    missing = [name for name in within if name not in reported]
    above = [name for name in within if name in reported and reported[name] > within[name]]
    below = [name for name, distance in reported.items() if distance < best[name][1]]
    beyond = [name for name in reported if name not in within]
    exact = len(within) - len(missing) - len(above)
    return {
        "reads": len(best),
        "error_rate": error_rate,
        "within_limit": len(within),
        "best_distance_reported": exact,
        "percent": round(100 * exact / max(1, len(within)), 4),
        "not_reported": len(missing),
        "reported_above_best": len(above),
        "reported_below_best": len(below),
        "reported_beyond_limit": len(beyond),
        "examples": {"not_reported": missing[:5], "above": above[:5], "below": below[:5], "beyond": beyond[:5]},
    }
