"""Records that are not held until all are known, but read a second time, for an output in the order of the input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from typing import Any, TypeVar

import numpy as np

from gpualign import _native
from gpualign.errors import InputError
from gpualign.records.record_sorter import (
    BEYOND_LAST,
    FIRST,
    RECORD_ORDERS,
    Buffers,
    Marks,
    RecordBatch,
    RecordOrder,
    Records,
    RecordSorter,
)
from gpualign.records.turns import in_turns
from gpualign.streaming.timeline import STEPS

Value = TypeVar("Value")
#: of runs on disk, and their sizes
_NO_BLOCKS = np.zeros(0, np.uint8), np.zeros(0, np.uint64)
#: opens the input again: its chunks, and what makes a batch of one, as they were made before; from any thread
Reopened = AbstractContextManager[tuple[Iterator[Any], Callable[[Any], RecordBatch]]]


class SecondReading:
    """In place of a :class:`RecordSorter` whose batches come in the order of the output and can be made again. If they
    turn out not to be in that order, ``sorter`` gets the records of the second reading.

    Args:
        path: the input, for messages.
        reopen: reads it from its beginning.
        sorter: empty.
        threads: that make batches again.

    Attributes:
        content: bytes of all records so far.
    """

    def __init__(
        self, path: str, reopen: Callable[[], Reopened], sorter: RecordSorter, order: RecordOrder, threads: int
    ) -> None:
        self._reopen, self._path, self._sorter, self._order, self._threads = reopen, path, sorter, order, threads
        self._sizes: list[tuple[int, int, int]] = []  # of batches: the templates before each, its own, its records
        self._last, self._in_order = -1, True
        self._templates = self.content = 0
        self._buffers = Buffers()

    def add(self, batch: RecordBatch) -> None:
        """Note what is to be known of the next batch, in input order."""
        self._sizes.append((self._templates, batch.templates, batch.size))
        self._templates += batch.templates
        self.content += len(batch.records)
        if batch.size and self._order != "input":
            places, numbers, _ = batch.keys.reshape(-1, 3).T
            first, last = int(places[0]), int(places[-1])
            self._in_order &= first >= self._last and bool((numbers[1:] > numbers[:-1]).all())
            self._last = last

    def merged(self, form: Callable[[Records, int], Value], marks: Marks | None = None) -> Iterator[Value]:
        """As :meth:`RecordSorter.merged`.

        Raises:
            InputError: the input has changed.
        """
        with self._reopen() as (chunks, make):
            if self._in_order:
                yield from self._marked(chunks, make, form, marks)
                return
            for chunk in chunks:
                self._sorter.add(make(chunk))
        yield from self._sorter.merged(form, marks)

    def _marked(
        self,
        chunks: Iterator[Any],
        make: Callable[[Any], RecordBatch],
        form: Callable[[Records, int], Value],
        marks: Marks | None,
    ) -> Iterator[Value]:
        done = 0

        def of_chunk(numbered: tuple[int, Any]) -> Records:
            number, chunk = numbered
            batch = make(chunk)
            if number >= len(self._sizes) or self._sizes[number][1:] != (batch.templates, batch.size):
                raise self._changed()
            with STEPS.at("merge"):
                batches = _native.SortedBatches(RECORD_ORDERS.index(self._order))
                batches.add(batch.records, batch.keys, 0, self._sizes[number][0])
                marking = None if marks is None else marks.native
                return batches.merge(self._buffers.range, FIRST, BEYOND_LAST, *_NO_BLOCKS, marking, False)

        parts = in_turns(enumerate(chunks), of_chunk, lambda _, records, before: form(records, before), self._threads)
        with closing(parts):
            for value in parts:
                done += 1
                yield value
        if done != len(self._sizes):
            raise self._changed()

    def _changed(self) -> InputError:
        return InputError("was changed while it was read", self._path)
