"""The type of options that are gap penalties."""

from __future__ import annotations

from typing import Any

import click

from gpualign.align.score.gap_penalties import GapPenalty, parse_penalty


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
