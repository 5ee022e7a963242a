"""Duplicates and coverage of a run of `map`, from its held records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

from gpualign.errors import counted
from gpualign.io.output_file import open_output
from gpualign.io.record_sorter import Marks, RecordBatch, Records
from gpualign.map.coverage import CoverageWriter, open_coverage
from gpualign.map.duplicates import Duplicates, Libraries
from gpualign.map.inputs import MapFiles, RecordOptions
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import STEPS


class RecordObserver:
    """Finds duplicates and counts coverage (see :class:`Observer`).

    Args:
        header: the output's header, as SAM text.
        threads: threads that find duplicates.
        stack: closes the files of the coverage.

    Attributes:
        take: records of a batch -> what marking needs of them; for any thread, pickles. None: no marking.
        report: fields of the JSON report, complete at the end.
    """

    def __init__(
        self,
        files: MapFiles,
        records: RecordOptions,
        header: bytes,
        reference: Reference,
        threads: int,
        stack: ExitStack,
    ) -> None:
        self._files, self._records, self._threads = files, records, threads
        self._coverage: CoverageWriter | None = None
        if files.coverage is not None:
            names, lengths = reference.shown_names, reference.lengths.tolist()
            self._coverage = stack.enter_context(open_coverage(files.coverage, names, lengths, threads))
        self._duplicates: Duplicates | None = None
        self.take: Callable[[Records], Any] | None = None
        if (marking := records.duplicates) is not None:
            libraries = Libraries.of(header.decode().splitlines())
            self._duplicates = Duplicates(marking, libraries)
            self.take = partial(marking.ends, libraries=libraries)
        self.report: dict[str, Any] = {}

    def add(self, batch: RecordBatch) -> None:
        if self._duplicates is not None:
            self._duplicates.add(batch.marking)

    def marks(self) -> Marks | None:
        if self._duplicates is None or self._records.duplicates is None:
            return None
        with STEPS.at("mark"):
            return Marks(self._duplicates.finish(self._threads), self._records.duplicates.remove)

    @STEPS.at("merge")
    def measure(self, records: Records) -> Any:
        return None if self._coverage is None else self._coverage.coverage.changes(records)

    def count(self, measured: Any) -> None:
        if self._coverage is not None:
            self._coverage.add(measured)

    def finish(self) -> None:
        """Write the metrics, if they are asked for, and make the report; call it when the output is closed.

        Raises:
            GpualignError: they cannot be written.
        """
        if self._duplicates is not None:
            found = self._duplicates.metrics()
            self.report["duplicates"] = found.report()
            if self._files.duplicate_metrics is not None:
                with open_output(self._files.duplicate_metrics) as out:
                    out.write(found.text(self._records.command_line).encode())
        if self._coverage is not None:
            self.report["coverage"] = self._coverage.coverage.report()


def duplicates_summary(fields: dict[str, Any]) -> str:
    """The summary's clause on duplicates."""
    if "duplicates" not in fields:
        return ""
    found = fields["duplicates"]
    without = f", {counted(n, 'template')} without a barcode" if (n := found.get("without_barcode")) else ""
    return f", {counted(found['reads'], 'duplicate')} ({100 * found['share']:.2f} %){without}"
