"""Parts of an output made by threads, each of which must know how many bytes come before its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from queue import SimpleQueue
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import GpualignError
from gpualign.streaming.ordered import run_ordered

Item = TypeVar("Item")
Value = TypeVar("Value")
#: holds a number once it is known; None: it never will be
_Bytes = SimpleQueue["int | None"]


class _Turn(NamedTuple):
    """A part, with the output bytes before it and up to its end."""

    item: object
    before: _Bytes
    after: _Bytes


def in_turns(
    items: Iterable[Item],
    make: Callable[[Item], NDArray[np.uint8]],
    form: Callable[[Item, NDArray[np.uint8], int], Value],
    workers: int,
) -> Generator[Value, None, None]:
    """Yield ``form(item, make(item), bytes of all before it)`` in the order of ``items``, made by threads."""

    def formed(turn: _Turn) -> Value:
        item: Item = turn.item  # type: ignore[assignment]
        after = None
        try:
            part = make(item)
            if (before := turn.before.get()) is None:
                raise GpualignError("a part of the output before this one failed")  # the caller gets its error
            after = before + len(part)
        finally:
            turn.after.put(after)
        return form(item, part, before)

    yield from run_ordered(_turns(items), formed, workers)


def _turns(items: Iterable[object]) -> Iterator[_Turn]:
    before: _Bytes = SimpleQueue()
    before.put(0)
    for item in items:
        after: _Bytes = SimpleQueue()
        yield _Turn(item, before, after)
        before = after
