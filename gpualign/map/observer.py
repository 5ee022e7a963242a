"""Duplicates and coverage of a run of `map`, from its held records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from gpualign.errors import counted
from gpualign.io.output_file import open_output
from gpualign.io.record_sorter import Marks, RecordBatch, Records
from gpualign.map.coverage import CoverageWriter, open_coverage
from gpualign.map.duplicates import DuplicateMarking, Duplicates, Libraries
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import STEPS


class RecordObserver:
    """Finds duplicates and counts coverage (see :class:`Observer`). Use :func:`observing`.

    Args:
        coverage: counts depths, or None.
        threads: threads that find duplicates.

    Attributes:
        take: records of a batch -> what marking needs of them; for any thread, pickles. None: no marking.
        report: fields of the JSON report, complete at the end.
    """

    def __init__(
        self, marking: DuplicateMarking | None, libraries: Libraries, coverage: CoverageWriter | None, threads: int
    ) -> None:
        self._marking, self._coverage, self._threads = marking, coverage, threads
        self._duplicates = None if marking is None else Duplicates(marking, libraries)
        self.take: Callable[[Records], Any] | None = None
        if marking is not None:
            self.take = partial(marking.ends, libraries=libraries)
        self.report: dict[str, Any] = {}

    def add(self, batch: RecordBatch) -> None:
        if self._duplicates is not None:
            self._duplicates.add(batch.marking)

    def marks(self) -> Marks | None:
        if self._duplicates is None or self._marking is None:
            return None
        with STEPS.at("mark"):
            return Marks(self._duplicates.finish(self._threads), self._marking.remove)

    @STEPS.at("merge")
    def measure(self, records: Records) -> Any:
        return None if self._coverage is None else self._coverage.coverage.changes(records)

    def count(self, measured: Any) -> None:
        if self._coverage is not None:
            self._coverage.add(measured)

    def finish(self, metrics: str | None, command_line: str) -> None:
        """Write the metrics to a path, if there is one, and make the report.

        Raises:
            GpualignError: they cannot be written.
        """
        if self._duplicates is not None:
            found = self._duplicates.metrics()
            self.report["duplicates"] = found.report()
            if metrics is not None:
                with open_output(metrics) as out:
                    out.write(found.text(command_line).encode())
        if self._coverage is not None:
            self.report["coverage"] = self._coverage.coverage.report()


@contextmanager
def observing(
    files: MapFiles, records: RecordOptions, header: bytes, reference: Reference, threads: int
) -> Iterator[RecordObserver]:
    """An observer for the output that is written in this context; at its end, metrics and coverage are written.

    Args:
        header: the output's header, as SAM text.

    Raises:
        GpualignError: a file cannot be written.
    """
    with ExitStack() as stack:
        coverage = None
        if files.coverage is not None:
            names, lengths = reference.shown_names, reference.lengths.tolist()
            coverage = stack.enter_context(open_coverage(files.coverage, names, lengths, threads))
        observer = RecordObserver(records.duplicates, Libraries.of(header.decode().splitlines()), coverage, threads)
        yield observer
    observer.finish(files.duplicate_metrics, records.command_line)


def duplicates_summary(fields: dict[str, Any]) -> str:
    """The summary's clause on duplicates."""
    if "duplicates" not in fields:
        return ""
    found = fields["duplicates"]
    without = f", {counted(n, 'template')} without a barcode" if (n := found.get("without_barcode")) else ""
    return f", {counted(found['reads'], 'duplicate')} ({100 * found['share']:.2f} %){without}"
