"""Gap penalties as vsearch writes them: ``20I/2E`` is 20 inside and 2 at the ends of sequences."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpualign.checks import penalty

#: vsearch's symbols for the ends query start, query end, target start, target end; the gap is in the other sequence
_ENDS = (("T", "L"), ("T", "R"), ("Q", "L"), ("Q", "R"))
_PART = re.compile(r"(-?\d+)([EILRQT]*)")


@dataclass(frozen=True)
class GapPenalty:
    """One penalty for each position of a gap; None: not named.

    Attributes:
        inside: between two pairs of symbols.
        ends: query start, query end, target start, target end.
    """

    inside: int | None = None
    ends: tuple[int | None, ...] = (None,) * 4

    def at_ends(self, default: int) -> tuple[int, ...] | None:
        """Penalties at the ends, as inside where none is named; None where that is everywhere."""
        inside = default if self.inside is None else self.inside
        filled = tuple(inside if penalty is None else penalty for penalty in self.ends)
        return None if all(penalty == inside for penalty in filled) else filled


def parse_penalty(text: str) -> GapPenalty:
    """A number for all gaps, or numbers with positions, separated by "/", of which later ones win: I inside, L and R
    the left and right ends, E both, Q and T only gaps in the query or target.

    Raises:
        ValueError: what is wrong.
    """
    inside: int | None = None
    ends: list[int | None] = [None] * 4
    for part in text.split("/"):
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(f"{text!r} is not a gap penalty (expected a number like 10, or vsearch's 20I/2E)")
        cost, positions = penalty(int(found[1])), set(found[2])
        if "E" in positions and positions & {"L", "R"}:
            raise ValueError(f"{part!r}: E is both ends, so it cannot be used with L or R")
        sides = {"L", "R"} if "E" in positions else positions & {"L", "R"}
        if not sides and "I" not in positions:
            sides, positions = {"L", "R"}, positions | {"I"}
        sequences = positions & {"Q", "T"} or {"Q", "T"}
        if "I" in positions:
            if len(sequences) == 1:
                raise ValueError(f"{part!r}: gaps inside cost the same in both sequences (Q and T go with E, L or R)")
            inside = cost
        for at, (sequence, side) in enumerate(_ENDS):
            if sequence in sequences and side in sides:
                ends[at] = cost
    return GapPenalty(inside, tuple(ends))
