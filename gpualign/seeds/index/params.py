"""Which minimizers an index has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from gpualign.fields import parameter

_index = partial(parameter, under="Index")


@dataclass(frozen=True)
class SeedParams:
    """Parameters of minimizers; None: chosen from the reference's size, or the saved index's."""

    k: int | None = _index(None, "-k", "Seed length, odd, at most 31.  [default: from the reference's size]")
    w: int | None = _index(
        None,
        "-w",
        "Window: the smallest of w neighbouring k-mers is kept, about one in (w + 1) / 2.  [default: from the "
        "reference's size]",
    )
