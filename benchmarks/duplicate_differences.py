"""Why samtools or Picard mark other templates as duplicates: a tie, or a rule of docs/commands/markdup.md."""

from __future__ import annotations

import collections
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import harness

sys.path.insert(0, str(harness.FOLDER.parent))
from tests.reference import duplicates as rules

#: of optical duplicates, in pixels
DISTANCE = 100
TIE, UNEXPLAINED = "another of equal score is kept", "unexplained"
#: of a record: name and the bits that tell it from the others of its template, and where it lies
RecordKey = tuple[str, int, int]


@dataclass
class Truth:
    """The templates of a library, and the sets of which they are.

    Attributes:
        outer: of pairs on one strand: what samtools compares, by name.
        sets: of each name: the templates that begin where it does, single reads with the pairs of an end.
    """

    templates: dict[str, rules.Template]
    group_of: Callable[[rules.Template], tuple[str, str]]
    outer: dict[str, object]
    sets: dict[str, list[rules.Template]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_key = collections.defaultdict(list)
        for template in self.templates.values():
            for key in self._keys(template):
                by_key[key].append(template)
        for template in self.templates.values():
            self.sets[template.name] = [other for key in self._keys(template)[:1] for other in by_key[key]]

    @cached_property
    def outer_sets(self) -> dict[object, set[str]]:
        """Names of the pairs on one strand that samtools takes for equal."""
        found = collections.defaultdict(set)
        for name, template in self.templates.items():
            found[self.outer[name], self.group_of(template)].add(name)
        return found

    def outer_set(self, name: str) -> set[str]:
        """Those that samtools takes for equal to one on one strand."""
        return self.outer_sets[self.outer[name], self.group_of(self.templates[name])]

    def _keys(self, template: rules.Template) -> list[object]:
        ends, group = sorted(template.ends), self.group_of(template)
        if len(ends) < 2:
            return [(group, end) for end in ends]
        return [(group, *ends), *((group, end) for end in ends)]


def outer_ends(lines: list[str], contigs: list[str]) -> object:
    """Where a pair on one strand begins and ends, and whether R1 is the first along the strand; None for others."""
    records = [line.split("\t") for line in lines]
    mates = [(int(flag), contig, int(at), cigar) for _, flag, contig, at, _, cigar, *_ in records]
    mates = [mate for mate in mates if mate[0] & 0x1 and not mate[0] & 0x90C]
    if len(mates) < 2 or (mates[0][0] ^ mates[1][0]) & 0x10:
        return None
    spans = [
        (contig, rules.five_prime(flag & ~0x10, at, cigar)[0], rules.five_prime(flag | 0x10, at, cigar)[0], flag & 0x40)
        for flag, contig, at, cigar in mates
    ]
    reverse = bool(mates[0][0] & 0x10)
    left, right = sorted(spans, key=lambda span: (contigs.index(span[0]), span[2 if reverse else 1]))
    return left[:2], right[0], right[2], reverse, bool(left[3])


def differences(
    truth: Truth, mine: dict[str, int], theirs: dict[RecordKey, int], explain: Callable
) -> dict[str, object]:
    """Records that both mark alike, and the others by their reason."""
    primary = collections.defaultdict(int)
    for (name, flag, _), mark in theirs.items():
        if not flag & 0x904:
            primary[name] = max(primary[name], mark)
    reasons = collections.Counter()
    for (name, flag, _), mark in theirs.items():
        if mark != mine[name]:
            same_flag = bool(mark) == bool(mine[name])
            reasons["type" if same_flag else "flag", explain(truth, mine, primary, name, flag, same_flag)] += 1
    of = collections.Counter()
    for (_, reason), count in reasons.items():
        of[reason] += count
    return {
        "records": len(theirs),
        "same": len(theirs) - reasons.total(),
        "ties": of[TIE],
        "rules": reasons.total() - of[TIE] - of[UNEXPLAINED],
        "unexplained": of[UNEXPLAINED],
        "reasons": {": ".join(key): count for key, count in sorted(reasons.items())},
    }


def kept(set_: Iterable[rules.Template], marks: dict[str, int], pairs: bool) -> list[rules.Template]:
    return [template for template in set_ if not marks[template.name] and (len(template.ends) == 2) == pairs]


def another_kept(truth: Truth, mine: dict[str, int], primary: dict[str, int], name: str) -> bool:
    """Whether each keeps one template of a set, and both have the same score."""
    pairs = len(truth.templates[name].ends) == 2
    own, other = (kept(truth.sets[name], marks, pairs) for marks in (mine, primary))
    return len(own) == len(other) == 1 and own != other and own[0].score == other[0].score


def cluster(truth: Truth, name: str) -> tuple[list[rules.Template], bool]:
    """The templates of a set that chains join on the flow cell, and whether all of them are near each other."""

    def near(a: rules.Template, b: rules.Template) -> bool:
        p, q = rules.location(a.name), rules.location(b.name)
        return p[0] == q[0] and max(abs(p[1] - q[1]), abs(p[2] - q[2])) <= DISTANCE

    joined = [truth.templates[name]]
    for template in joined:  # which grows
        joined += [other for other in truth.sets[name] if other not in joined and near(template, other)]
    return joined, all(near(a, b) for a in joined for b in joined)


def explain_picard(
    truth: Truth, mine: dict[str, int], primary: dict[str, int], name: str, flag: int, type_: bool
) -> str:
    template = truth.templates[name]
    if another_kept(truth, mine, primary, name):
        return TIE
    if type_ and len(template.ends) == 1:
        return "single reads are optical duplicates of single reads"
    tiles = {rules.location(other.name)[0] for other in truth.sets[name]}
    if type_ and mine[name] < primary[name] and len({tile.split(":")[-2] for tile in tiles}) < len(tiles):
        return "lanes of a read group are told apart"
    return UNEXPLAINED


def explain_samtools(
    truth: Truth, mine: dict[str, int], primary: dict[str, int], name: str, flag: int, type_: bool
) -> str:
    template, set_ = truth.templates[name], truth.sets[name]
    if not type_ and flag & 0x904 and mine[name] and primary[name]:
        return "records of a template follow its primary records without SA and XA tags, too"
    if any(not other.sound for other in set_):
        return "reads that fail the filters take part"
    if truth.outer[name] and {other.name for other in set_ if len(other.ends) == 2} != truth.outer_set(name):
        return "mates on one strand: 5' ends, not outer ends; R1 and R2 may be exchanged"
    if another_kept(truth, mine, primary, name):
        return TIE
    best = kept(set_, mine, len(template.ends) == 2)
    return explain_type(truth, name, best) if type_ else UNEXPLAINED


def explain_type(truth: Truth, name: str, best: list[rules.Template]) -> str:
    """Why samtools calls one optical that we do not, or the reverse."""
    near, all_near = cluster(truth, name)
    if len({len(other.ends) for other in near}) > 1:
        return "single reads are no optical duplicates of pairs"
    if len({other.first_reverse for other in near if len(other.ends) == 2}) > 1:
        return "optical duplicates are read in one direction"
    if not all_near:
        return "optical duplicates are joined in chains"
    if len(near) > 1 and not any(template in near for template in best):
        return "of a cluster without the best another is no optical duplicate"
    return UNEXPLAINED
