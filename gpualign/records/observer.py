"""What a run learns from records that it holds until all of them are known: duplicates, and coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from typing import Any

from gpualign.errors import counted
from gpualign.records.contigs import Contigs
from gpualign.records.coverage import Coverage, open_coverage
from gpualign.records.duplicates import DuplicateMarking, Duplicates, Libraries
from gpualign.records.header_text import lines_of
from gpualign.records.methylation import MethylationWriter
from gpualign.records.record_sorter import Marks, RecordBatch, Records, TemplateNumbers
from gpualign.streaming.timeline import STEPS
from gpualign.text.output_file import open_output


class RecordObserver:
    """Finds duplicates among held records, and counts their coverage. Use :func:`observing`.

    Args:
        counters: of depths and cytosines, by their names in the report.
        threads: that find duplicates.
        templates: as for :meth:`DuplicateMarking.ends`.

    Attributes:
        take: records of a batch -> what marking needs of them; for any thread, pickles. None: no marking.
        report: fields of the JSON report, complete at the end.
    """

    def __init__(
        self,
        marking: DuplicateMarking | None,
        libraries: Libraries,
        counters: dict[str, Coverage | MethylationWriter],
        threads: int,
        templates: TemplateNumbers,
    ) -> None:
        self._counters, self._threads = counters, threads
        self._duplicates = None if marking is None else Duplicates(marking, libraries, templates == "records")
        self.take: Callable[[Records], Any] | None = None
        if marking is not None:
            self.take = partial(marking.ends, libraries=libraries, templates=templates)
        self.report: dict[str, Any] = {}

    def add(self, batch: RecordBatch) -> None:
        """Take the next batch, in input order."""
        if self._duplicates is not None:
            self._duplicates.add(batch.marking)

    def marks(self) -> Marks | None:
        """The marks of all templates, once all batches have been added."""
        if self._duplicates is None:
            return None
        with STEPS.at("mark"):
            return self._duplicates.marks(self._threads)

    @STEPS.at("merge")
    def measure(self, records: Records) -> Any:
        """Measure records as they are written, for :meth:`count`; from any thread."""
        return [counter.measure(records) for counter in self._counters.values()]

    def count(self, measured: Any) -> None:
        """Count the next measured records, in output order."""
        for counter, of_records in zip(self._counters.values(), measured, strict=True):
            counter.add(of_records)

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
        self.report |= {name: counter.report() for name, counter in self._counters.items()}


@contextmanager
def observing(
    marking: DuplicateMarking | None,
    coverage_path: str | None,
    metrics: str | None,
    command_line: str,
    header: bytes,
    contigs: Contigs,
    threads: int,
    templates: TemplateNumbers = "flags",
    methylation: AbstractContextManager[MethylationWriter] | None = None,
) -> Iterator[RecordObserver]:
    """An observer for the output that is written in this context; at its end, metrics and coverage are written.

    Args:
        coverage_path, metrics: files; None: not wanted.
        header: of the output, as SAM text.
        templates: as for :meth:`DuplicateMarking.ends`.
        methylation: counts cytosines, opened here; None: nothing does.

    Raises:
        GpualignError: a file cannot be written.
    """
    with ExitStack() as stack:
        counters: dict[str, Coverage | MethylationWriter] = {}
        if coverage_path is not None:
            names, lengths = contigs.shown_names, contigs.lengths.tolist()
            counters["coverage"] = stack.enter_context(open_coverage(coverage_path, names, lengths, threads))
        if methylation is not None:
            counters["methylation"] = stack.enter_context(methylation)
        libraries = Libraries.of(lines_of(header))
        observer = RecordObserver(marking, libraries, counters, threads, templates)
        yield observer
    observer.finish(metrics, command_line)


def warn_of_barcodes(fields: dict[str, Any], warn: Callable[[str], None]) -> None:
    """Say how many templates lack one, or a part of it, where they were asked for."""
    found = fields.get("duplicates", {})
    if without := found.get("without_barcode"):
        warn(f"no barcode was found for {counted(without, 'template')}: these were compared with each other")
    if without := found.get("without_strand"):
        warn(f"the UMIs of {counted(without, 'template')} do not have two parts (AAAA+CCCC): their strands stay apart")


def duplicates_summary(fields: dict[str, Any]) -> str:
    """The summary's clause on duplicates."""
    if "duplicates" not in fields:
        return ""
    found = fields["duplicates"]
    without = f", {counted(n, 'template')} without a barcode" if (n := found.get("without_barcode")) else ""
    return f", {counted(found['reads'], 'duplicate')} ({100 * found['share']:.2f} %){without}"
