"""What readers notice of an input and a user should know: told to whoever runs the command, each thing once."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

_LISTENERS: list[Callable[[str], None]] = []


def notice(message: str) -> None:
    """Tell whoever listens; a Python program that calls our functions gets a warning."""
    if _LISTENERS:
        _LISTENERS[-1](message)
    else:
        warnings.warn(message, stacklevel=2)


@contextlib.contextmanager
def told_to(tell: Callable[[str], None]) -> Iterator[None]:
    """What is noticed meanwhile, in any thread, goes to ``tell``."""
    told: set[str] = set()

    def once(message: str) -> None:
        if message not in told:
            told.add(message)
            tell(message)

    _LISTENERS.append(once)
    try:
        yield
    finally:
        _LISTENERS.remove(once)
