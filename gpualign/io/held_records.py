"""Records that are written when all of them are known: sorted, or with duplicates marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from gpualign.io.record_sorter import Marks, RecordBatch, Records, RecordSorter

Value = TypeVar("Value")


class Observer(Protocol):
    """Counts coverage of held records, and finds duplicates."""

    def add(self, batch: RecordBatch) -> None:
        """Take the next batch, in input order."""

    def marks(self) -> Marks | None:
        """The marks of all templates, once all batches have been added."""

    def measure(self, records: Records) -> Any:
        """Measure records as they are written, for :meth:`count`; from any thread."""

    def count(self, measured: Any) -> None:
        """Count the next measured records, in output order."""


class HeldRecords:
    """A header and held records.

    Args:
        sorter: holds the records.
        observer: None: there is none.
    """

    def __init__(self, sorter: RecordSorter, observer: Observer | None) -> None:
        self._sorter, self._observer = sorter, observer
        self.header = b""

    def write(self, header: bytes | memoryview) -> None:
        """Append to the header, in the form of the output."""
        self.header += header

    def add(self, batch: RecordBatch) -> None:
        """Add the next records, in input order.

        Raises:
            GpualignError: as :meth:`RecordSorter.add`.
        """
        self._sorter.add(batch)
        if self._observer is not None:
            self._observer.add(batch)

    def written(self, form: Callable[[Records, int], Value]) -> Iterator[Value]:
        """``form`` of all records in output order (see :meth:`RecordSorter.merged`)."""
        observer = self._observer
        if observer is None:
            yield from self._sorter.merged(form, None)
            return

        def formed(records: Records, before: int) -> tuple[Any, Value]:
            return observer.measure(records), form(records, before)

        for measured, value in self._sorter.merged(formed, observer.marks()):
            observer.count(measured)
            yield value
