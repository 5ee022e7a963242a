"""Notices about an input, which readers print for whoever runs the command, each once."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator

_LISTENERS: list[Callable[[str], None]] = []


def notice(message: str) -> None:
    """Print a message for the user; a Python program that calls our functions gets a warning."""
    if _LISTENERS:
        _LISTENERS[-1](message)
    else:
        warnings.warn(message, stacklevel=2)


@contextlib.contextmanager
def notices_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Within this context notices, of any thread, go to ``listener``."""
    printed: set[str] = set()

    def once(message: str) -> None:
        if message not in printed:
            printed.add(message)
            listener(message)

    _LISTENERS.append(once)
    try:
        yield
    finally:
        _LISTENERS.remove(once)
