"""Templates as SAM lines for tests of duplicates, and what is found among them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from gpualign import _native
from gpualign.records.duplicates import DuplicateMarking, DuplicateMetrics, Duplicates, Libraries
from gpualign.sequences.batch import join_bytes

HEADER = ["@HD\tVN:1.6", "@RG\tID:g1\tLB:x", "@RG\tLB:y\tID:g2", "@RG\tID:g3\tLB:x", "@RG\tID:g4"]
CONTIGS = ["c1", "c2"]
NO_GROUPS = Libraries.of([])


def found(
    lines: Sequence[str],
    marking: DuplicateMarking | None = None,
    libraries: Libraries = NO_GROUPS,
    batches: Sequence[int] = (),
    threads: int = 2,
) -> tuple[list[int], DuplicateMetrics]:
    """Status of each template and the metrics, the lines being given in batches that begin at these lines."""
    marking = marking or DuplicateMarking()
    duplicates = Duplicates(marking, libraries)
    names, offsets = join_bytes([name.encode() for name in CONTIGS])
    for begin, end in zip([0, *batches], [*batches, len(lines)], strict=True):
        text = "".join(line + "\n" for line in lines[begin:end]).encode()
        records, _ = _native.bam_records(np.frombuffer(text, np.uint8), names, offsets)
        duplicates.add(marking.ends(records, libraries))
    return duplicates.finish(threads).tolist(), duplicates.metrics()


def joined(templates: Iterable[list[str]]) -> list[str]:
    return list(chain.from_iterable(templates))


def record(
    name: str, flag: int, contig: str, position: int, cigar: str = "10M", quality: str = "I", tags: str = ""
) -> str:
    length = sum(int(n) for n, kind in re.findall(r"(\d+)([MIS=X])", cigar)) if cigar != "*" else 10
    return "\t".join(
        [name, str(flag), contig, str(position), "60", cigar, "*", "0", "0", "A" * length, quality * length]
        + ([tags] if tags else [])
    )


def pair(name: str, left: int, right: int, quality: str = "I", tags: str = "", swapped: bool = False) -> list[str]:
    """Facing mates of 10 bases; ``swapped``: R1 is the right one."""
    forward = record(name, 0x1 | 0x20 | (0x80 if swapped else 0x40), "c1", left, quality=quality, tags=tags)
    reverse = record(name, 0x1 | 0x10 | (0x40 if swapped else 0x80), "c1", right, quality=quality, tags=tags)
    return [reverse, forward] if swapped else [forward, reverse]


def single(
    name: str, position: int, quality: str = "I", flag: int = 0, cigar: str = "10M", tags: str = ""
) -> list[str]:
    return [record(name, flag, "c1", position, cigar, quality, tags)]


def orphan(name: str, position: int, quality: str = "I") -> list[str]:
    """R1 mapped, R2 not."""
    return [record(name, 0x49, "c1", position, quality=quality), record(name, 0x85, "c1", position, "*")]


def random_lines(rng: random.Random, count: int, ties: bool = True) -> list[list[str]]:
    """Templates at few positions, so that there are sets of all kinds; up to 601."""

    def one(name: str, flag: int, tags: str) -> str:
        cut = rng.choice([0, 0, 0, 1, 3])
        far = rng.choice([0, 0, 2])
        at = rng.choice([100, 101, 300])
        cigar = f"{cut}S{10 - cut - far}M{far}S".replace("0S", "")
        quality = rng.choice("IH/") * 10 if ties else graded
        line = record(name, flag, rng.choice(["c1", "c1", "c2"]), at + cut, cigar, tags=tags).split("\t")
        return "\t".join([*line[:10], quality, *line[11:]])

    templates = []
    for i in range(count):
        graded = "".join(chr(33 + 15 + (i + j) // 10) for j in range(10))
        name = f"m:1:f:1:{rng.choice([1, 2])}:{rng.randrange(400)}:{i * 37 % 601}" if i % 5 else f"r{i}"
        tags = f"RG:Z:{rng.choice(['g1', 'g2', 'g3'])}\tRX:Z:{rng.choice(['A', 'C'])}"
        strands = [rng.choice([0, 0x10]) for _ in range(2)]
        failed = rng.choice([0] * 9 + [0x200])
        kind = rng.choices(["pair", "single", "orphan", "unmapped"], [8, 2, 2, 1])[0]
        if kind == "pair":
            lines = [one(name, 0x41 | strands[0] | failed, tags), one(name, 0x81 | strands[1] | failed, tags)]
        elif kind == "single":
            lines = [one(name, strands[0] | failed, tags)]
        elif kind == "orphan":
            lines = [one(name, 0x49 | strands[0], tags), record(name, 0x85, "c1", 1, "*", tags=tags)]
        else:
            lines = [record(name, 0x4D, "*", 0, "*", tags=tags), record(name, 0x8D, "*", 0, "*", tags=tags)]
        if rng.random() < 0.1 and kind in ("pair", "orphan"):
            lines.append(record(name, 0x841, "c1", rng.randrange(1, 500), tags=tags))
        templates.append(lines)
    return templates
