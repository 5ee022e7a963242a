"""Libraries of pairs whose places are known: usual pairs mixed with others in any proportion, from a fixed seed.

Usual pairs face each other, with inserts of 400 ± 50. `python benchmarks/insert_sizes.py` measures all mixtures.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.helpers.paths import TESTS
from tests.helpers.sequences import reverse_complement

READ = 150
PERCENTAGES = (0, 10, 25, 50, 75, 90, 100)
GENOME = 1_500_000
_ADAPTER = "AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC"
_REPEAT, _BETWEEN_REPEATS = 500, 20_000
_UNITS = ("AC", "GATA", "AAT", "AG", "CAG")


@dataclass(frozen=True)
class Pair:
    """R1 and R2, and whether it is one of the other kind."""

    ends: tuple[str, str]
    other: bool


class Maker:
    """Pairs of a random genome with a microsatellite every 20,000 bases."""

    def __init__(self, seed: int = 49) -> None:
        bases = np.random.Generator(np.random.PCG64(seed)).integers(0, 4, GENOME)
        text = "".join(np.array(list("ACGT"))[bases])
        starts = range(_BETWEEN_REPEATS, GENOME, _BETWEEN_REPEATS)
        pieces = [text[start - _BETWEEN_REPEATS : start - _REPEAT] + self._repeat(start) for start in starts]
        self.genome = "".join(pieces) + text[starts[-1] :]
        assert len(self.genome) == GENOME
        self._rng = random.Random(seed)

    @staticmethod
    def _repeat(start: int) -> str:
        unit = _UNITS[start // _BETWEEN_REPEATS % len(_UNITS)]
        return (unit * _REPEAT)[:_REPEAT]

    def library(self, kind: str, percent: float, count: int) -> list[Pair]:
        """So many pairs, of which those of the other kind are about ``percent``, in any order."""
        self._rng.seed(f"{kind} {percent} {count}")
        made = []
        for _ in range(count):
            other = self._rng.random() * 100 < percent
            ends = KINDS[kind](self) if other else self.facing(self._rng.gauss(400, 50))
            made.append(Pair(ends, other))
        return made

    def facing(self, size: float) -> tuple[str, str]:
        """The ends of a fragment of either strand; the adapter follows a short one."""
        fragment = self._fragment(int(size))
        return self._read(fragment), self._read(reverse_complement(fragment))

    def anywhere(self) -> tuple[str, str]:
        """Two places, each on either strand."""
        return self._fragment(READ), self._fragment(READ)

    def contacts(self) -> tuple[str, str]:
        """As of Hi-C: mates on either strand, near each other more often than far apart."""
        distance = int(2000 * 500 ** self._rng.random())
        start = self._rng.randrange(GENOME - distance - READ)
        ends = [self.genome[at : at + READ] for at in (start, start + distance)]
        first, second = (end if self._rng.random() < 0.5 else reverse_complement(end) for end in ends)
        return (first, second) if self._rng.random() < 0.5 else (second, first)

    def spliced(self) -> tuple[str, str]:
        """A fragment of RNA, with an intron between its mates."""
        size, intron = max(2 * READ, int(self._rng.gauss(400, 50))), int(200 * 200 ** self._rng.random())
        return self.facing(size + intron)

    def facing_away(self) -> tuple[str, str]:
        """Mate pairs of 20,000."""
        first, second = self.facing(self._rng.gauss(20_000, 1500))
        return reverse_complement(first), reverse_complement(second)

    def of_microsatellites(self) -> tuple[str, str]:
        """Each mate in any microsatellite."""
        places = [self._rng.randrange(1, GENOME // _BETWEEN_REPEATS) * _BETWEEN_REPEATS for _ in range(2)]
        starts = [place - self._rng.randrange(READ // 2, _REPEAT + READ // 2) for place in places]
        return self._fragment(READ, starts[0]), self._fragment(READ, starts[1])

    def between(self, shortest: int, longest: int) -> tuple[str, str]:
        return self.facing(self._rng.randint(shortest, longest))

    def around(self, mean: int, sd: int) -> tuple[str, str]:
        return self.facing(self._rng.gauss(mean, sd))

    def _fragment(self, size: int, start: int | None = None) -> str:
        if start is None:
            start = self._rng.randrange(GENOME - size)
        text = self.genome[start : start + size]
        return text if self._rng.random() < 0.5 else reverse_complement(text)

    def _read(self, fragment: str) -> str:
        text = fragment[:READ]
        if len(text) == READ:
            return text
        text = (text + _ADAPTER)[:READ]
        return text + "".join(self._rng.choices("ACGT", k=READ - len(text)))


#: the other pairs of a mixture
KINDS: dict[str, Callable[[Maker], tuple[str, str]]] = {
    "mates anywhere": Maker.anywhere,
    "contacts (Hi-C)": Maker.contacts,
    "read-through, 40 to 145": lambda maker: maker.between(40, 145),
    "inserts of 2,500 ± 150": lambda maker: maker.around(2500, 150),
    "introns between mates": Maker.spliced,
    "facing away, 20,000 ± 1,500": Maker.facing_away,
    "microsatellites": Maker.of_microsatellites,
}

#: what the tests look at: other pairs, their percentage, how many pairs in all; and what bwa mem 0.7.17 estimates of
#: them, as `python benchmarks/insert_sizes.py --facts` writes it down
TESTED = [
    *((kind, percent, 600) for kind in KINDS for percent in PERCENTAGES if kind != "microsatellites"),
    *(("microsatellites", percent, 400) for percent in PERCENTAGES),
    *((kind, percent, count) for kind, percent in (("mates anywhere", 0), ("mates anywhere", 50)) for count in (5, 29)),
]
FACTS = TESTS / "data" / "insert_sizes.tsv"
