"""Parameters of which some are for every run of the tests, and all for ``make soak``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def some_of(cases: Iterable[tuple[Any, ...]], always: Callable[..., bool]) -> list[Any]:
    """All cases; those that are not for every run are marked ``soak``."""
    return [pytest.param(*case, marks=() if always(*case) else pytest.mark.soak) for case in cases]
