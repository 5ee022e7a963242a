"""Duplicates by their rules, one comparison at a time, from SAM lines."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise

#: coordinates on a tile are smaller
_MAX = (1 << 20) - 1
_REVERSE, _UNMAPPED, _SECOND, _FAILED, _NOT_PRIMARY = 0x10, 0x4, 0x80, 0x200, 0x900
#: contig, 5' position without clipping, strand
End = tuple[int, int, str]


@dataclass
class Template:
    """What is compared; ``sound``: passed the filters."""

    name: str
    ends: list[End] = field(default_factory=list)
    first_reverse: bool = False
    sound: bool = True
    quality: int = 0
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def score(self) -> tuple[bool, int]:
        return self.sound, self.quality


def five_prime(flag: int, position: int, cigar: str) -> tuple[int, str]:
    """The position where the read begins on its strand, if its clipped bases are laid along the reference."""
    operations = [(int(n), kind) for n, kind in re.findall(r"(\d+)([MIDNSHP=X])", cigar)]
    if not flag & _REVERSE:
        for n, kind in operations:
            if kind not in "SH":
                break
            position -= n
        return position, "F"
    position += sum(n for n, kind in operations if kind in "MDN=X") - 1
    for n, kind in reversed(operations):
        if kind not in "SH":
            break
        position += n
    return position, "R"


def templates(lines: Sequence[str], contigs: Sequence[str]) -> list[Template]:
    """The templates of SAM lines in order; names are unique and their records adjacent."""
    found: dict[str, Template] = {}
    for line in lines:
        name, flag_text, contig, position, _, cigar, _, _, _, _, qualities, *tags = line.split("\t")
        flag = int(flag_text)
        template = found.setdefault(name, Template(name))
        if flag & _NOT_PRIMARY:
            continue
        if not template.tags:
            template.tags = {tag[:2]: tag[5:] for tag in tags}
        if flag & _UNMAPPED:
            continue
        template.ends.append((contigs.index(contig), *five_prime(flag, int(position), cigar)))
        template.quality += sum(q for q in (ord(c) - 33 for c in qualities) if q >= 15) if qualities != "*" else 0
        template.sound &= not flag & _FAILED
        if not flag & _SECOND:
            template.first_reverse = bool(flag & _REVERSE)
    return list(found.values())


def location(name: str) -> tuple[str, int, int] | None:
    """Flow cell, lane and tile as text, x, y."""
    fields = name.split(":")
    if len(fields) not in (5, 7, 8):
        return None
    at = 3 if len(fields) == 5 else 5
    x, y = (re.match(r"\d+", part) for part in fields[at : at + 2])
    if x is None or y is None or max(int(x[0]), int(y[0])) >= _MAX:
        return None
    return ":".join(fields[:at]), int(x[0]), int(y[0])


def optical(set_: Sequence[Template], distance: int) -> set[str]:
    """Names of those of a set, best first, that are optical duplicates."""

    def near(a: Template, b: Template) -> bool:
        p, q = location(a.name), location(b.name)
        if p is None or q is None or p[0] != q[0] or a.tags.get("RG") != b.tags.get("RG"):
            return False
        if len({end[2] for end in a.ends}) == 2 and a.first_reverse != b.first_reverse:
            return False
        return abs(p[1] - q[1]) <= distance and abs(p[2] - q[2]) <= distance

    clusters: list[list[Template]] = []
    for template in set_:
        joined = [cluster for cluster in clusters if any(near(template, other) for other in cluster)]
        clusters = [cluster for cluster in clusters if cluster not in joined]
        clusters.append([*chain.from_iterable(joined), template])
    found = set()
    for cluster in clusters:
        if len(cluster) == 1:
            continue
        kept = set_[0] if set_[0] in cluster else min(cluster, key=lambda t: (*location(t.name)[1:], set_.index(t)))  # type: ignore[misc]
        found |= {template.name for template in cluster if template is not kept}
    return found


def duplicates(
    found: Sequence[Template],
    distance: int = 100,
    library_of: Callable[[Template], str] = lambda _: "",
    barcode_of: Callable[[Template], str] = lambda _: "",
) -> list[int]:
    """0, 1 (library) or 2 (optical) for each template."""
    pairs: dict[object, list[Template]] = defaultdict(list)
    singles: dict[object, list[Template]] = defaultdict(list)
    ends_of_pairs = set()
    for template in found:
        group = library_of(template), barcode_of(template)
        if len(template.ends) == 2:
            ends = sorted(template.ends)
            pairs[(group, *ends)].append(template)
            ends_of_pairs |= {(group, end) for end in ends}
        elif template.ends:
            singles[(group, template.ends[0])].append(template)
    status = {template.name: 0 for template in found}
    for key, set_ in [*pairs.items(), *singles.items()]:
        ranked = sorted(set_, key=lambda template: template.score, reverse=True)  # stable: ties by input order
        if key in ends_of_pairs:
            status |= {template.name: 1 for template in ranked}
            continue
        status |= {template.name: 1 for template in ranked[1:]}
        if distance:
            status |= dict.fromkeys(optical(ranked, distance), 2)
    assert all(a.name != b.name for a, b in pairwise(found))
    return [status[template.name] for template in found]
