"""What a process that ends at once, out of whatever it computes, must undo first: files and processes of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

_undo: dict[object, Callable[[], object]] = {}


@contextlib.contextmanager
def undone_at_the_end(undo: Callable[[], object]) -> Iterator[None]:
    """``undo`` runs, in another thread, where the process ends at once while the context lasts."""
    key = object()
    _undo[key] = undo
    try:
        yield
    finally:
        del _undo[key]


def undo_all() -> None:
    """The last first. What fails is left."""
    for undo in reversed(list(_undo.values())):
        with contextlib.suppress(Exception):
            undo()
