"""Options of all commands that align pairs."""

from __future__ import annotations

from typing import Any

import click

from gpualign.align.score.gap_penalties import GapPenalty, parse_penalty
from gpualign.align.score.params import PairwiseParams
from gpualign.options import option_of


class _Penalty(click.ParamType):  # type: ignore[type-arg]
    """A gap penalty, or vsearch's list of them."""

    name = "penalty"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> GapPenalty:
        try:
            return value if isinstance(value, GapPenalty) else parse_penalty(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


#: the type of options that are gap penalties
PENALTY = _Penalty()

identity_definition_option = option_of(
    PairwiseParams,
    "--iddef",
    "identity_definition",
    type=click.IntRange(0, 4),
    help="Identity = matches divided by: 0 the shorter sequence; 1, 4 all columns with end gaps; 2 columns without end "
    "gaps (vsearch's default). 3: 1 - (mismatches + gap openings) / the longer sequence.",
)
