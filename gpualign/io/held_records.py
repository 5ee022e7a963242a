"""Records that are written when all of them are known: by coordinate, or with duplicates marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

from gpualign.io.record_sorter import Marks, RecordBatch, Records, RecordSorter

Value = TypeVar("Value")


class Observer(Protocol):
    """What looks at held records, and says which of them are duplicates."""

    def add(self, batch: RecordBatch) -> None:
        """The next batch, in input order."""

    def marks(self) -> Marks | None:
        """Of all templates, once all are there."""

    def look(self, records: Records) -> Any:
        """What :meth:`see` takes of records as they are written; from any thread."""

    def see(self, looked: Any) -> None:
        """Those of the next records, in the order in which they are written."""


class HeldRecords:
    """A header and records on their way.

    Args:
        sorter: holds them.
        observer: looks at them; None: nobody does.
    """

    def __init__(self, sorter: RecordSorter, observer: Observer | None) -> None:
        self._sorter, self._observer = sorter, observer
        self.header = b""

    def write(self, header: bytes | memoryview) -> None:
        """The header, in the form of the output, before any records."""
        self.header += header

    def add(self, batch: RecordBatch) -> None:
        """The next records, in input order.

        Raises:
            GpualignError: as :meth:`RecordSorter.add`.
        """
        self._sorter.add(batch)
        if self._observer is not None:
            self._observer.add(batch)

    def written(self, form: Callable[[Records, int], Value]) -> Iterator[Value]:
        """What ``form`` makes of records in order (see :meth:`RecordSorter.merged`)."""
        observer = self._observer
        if observer is None:
            yield from self._sorter.merged(form, None)
            return

        def formed(records: Records, before: int) -> tuple[Any, Value]:
            return observer.look(records), form(records, before)

        for looked, value in self._sorter.merged(formed, observer.marks()):
            observer.see(looked)
            yield value
