"""Records that are written when all of them are known: by coordinate, or with duplicates marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from gpualign.io.record_sorter import Marks, RecordBatch, Records, RecordSorter

Form = Callable[[Records], Records]


class Observer(Protocol):
    """What looks at held records, and says which of them are duplicates."""

    def add(self, batch: RecordBatch) -> None:
        """The next batch, in input order."""

    def marks(self) -> Marks | None:
        """Of all templates, once all are there."""

    def see(self, records: Records) -> None:
        """Records as they are written, in that order."""


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

    def written(self, form: Form | None) -> Iterator[tuple[Records, Records]]:
        """Records in order, and what ``form`` makes of them in other threads (None: themselves)."""
        marks = None if self._observer is None else self._observer.marks()

        def formed(records: Records) -> tuple[Records, Records]:
            return records, records if form is None else form(records)

        for records, text in self._sorter.merged(formed, marks):
            if self._observer is not None:
                self._observer.see(records)
            yield records, text
