"""Bisulfite strands and reads with edits, for the tests of `map --meth`."""

from __future__ import annotations

import random
import re


def bisulfite(text: str, kept: str = "") -> str:
    """The strand as it is read: C as T, but for the positions in ``kept``, given as CpG or as nothing."""
    if kept == "CpG":
        return re.sub("C(?!G)", "T", text)
    return text.replace("C", "T")


def edited(rng: random.Random, text: str, edits: int) -> str:
    bases = list(text)
    for _ in range(edits):
        at = rng.randrange(10, len(bases) - 10)
        kind = rng.randrange(4)
        if kind < 2:
            bases[at] = rng.choice("ACGT")
        elif kind == 2:
            bases[at] += rng.choice("ACGT")
        else:
            bases[at] = ""
    return "".join(bases)
