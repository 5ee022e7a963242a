"""What a run of `map` learns from records that it holds until all of them are known: duplicates, and coverage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from gpualign.errors import counted
from gpualign.io.files import open_output
from gpualign.io.record_sorter import Marks, RecordBatch, Records
from gpualign.map.duplicates import DuplicateMarking, Duplicates, Libraries


class RecordObserver:
    """Looks at records as they come, and as they are written.

    Args:
        marking: how duplicates are found; None: they are not looked for.
        libraries: of the run.
    """

    def __init__(self, marking: DuplicateMarking | None, libraries: Libraries, threads: int) -> None:
        self._marking, self._threads = marking, threads
        self._duplicates = None if marking is None else Duplicates(marking, libraries)

    def add(self, batch: RecordBatch) -> None:
        if self._duplicates is not None:
            self._duplicates.add(batch.marking)

    def marks(self) -> Marks | None:
        if self._duplicates is None or self._marking is None:
            return None
        return Marks(self._duplicates.finish(self._threads), self._marking.remove)

    def see(self, records: Records) -> None:
        pass

    def finish(self, metrics: str | None, command_line: str) -> dict[str, Any]:
        """Write the metrics; returns fields of the JSON report.

        Raises:
            GpualignError: they cannot be written.
        """
        if self._duplicates is None:
            return {}
        found = self._duplicates.metrics()
        if metrics is not None:
            with open_output(metrics) as out:
                out.write(found.text(command_line).encode())
        return {"duplicates": found.report()}


def marking_of(marking: DuplicateMarking | None, libraries: Libraries) -> Callable[[Records], Any] | None:
    """What is taken of each batch's records to find duplicates; pickles."""
    return None if marking is None else partial(marking.ends, libraries=libraries)


def duplicates_summary(fields: dict[str, Any]) -> str:
    """A clause for the last line, behind others."""
    if "duplicates" not in fields:
        return ""
    found = fields["duplicates"]
    return f", {counted(found['reads'], 'duplicate')} ({100 * found['share']:.2f} %)"
