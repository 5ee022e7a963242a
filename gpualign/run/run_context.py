"""The frame of every command's run: checked paths, report, backend, output, progress and summary."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from gpualign.notices import notices_to
from gpualign.params import RunOptions
from gpualign.report import Progress, Report, print_line, warn
from gpualign.run.dask import open_cluster
from gpualign.run.select import Work, open_backend, parse_device
from gpualign.run.stage import Backend
from gpualign.streaming.timeline import STEPS_OF_RUN, Span, StepNames
from gpualign.text.files import share_read
from gpualign.text.output_file import OutputFile, open_output
from gpualign.text.paths import TABLES, check_paths
from gpualign.text.table_output import Kind, TableSink, open_table


class Opening:
    """A backend that opens while the caller reads its input: a CUDA driver takes a third of a second to start.

    Use it in a ``with`` block, which closes the backend at its end. Takes the arguments of :func:`open_backend`.
    """

    def __init__(self, options: RunOptions, command: str, work: Work | None = None) -> None:
        self._future: Future[Backend] = Future()
        request = parse_device(options.device)
        self._on_gpu = None if request.automatic else request.cuda
        if options.dask is not None:
            self._on_gpu = False
            self._future.set_result(open_cluster(options, command))
        elif request.cuda:
            thread = ThreadPoolExecutor(1, thread_name_prefix="gpualign-open")
            self._future = thread.submit(open_backend, options, command, work)
            thread.shutdown(wait=False)
        else:
            self._future.set_result(open_backend(options, command, work))

    def backend(self) -> Backend:
        """The backend, once it is open.

        Raises:
            as :func:`open_backend`.
        """
        return self._future.result()

    def on_gpu(self) -> bool:
        """Whether a GPU will take items; waits for the backend only if the device is "auto"."""
        return self.backend().on_gpu if self._on_gpu is None else self._on_gpu

    def __enter__(self) -> Opening:
        return self

    def __exit__(self, *_: object) -> None:
        if self._future.exception() is None:
            self._future.result().close()


class RunContext:
    """One run of a command; its clock starts here.

    Args:
        command: its name, for messages.
        inputs: paths that are read; None: not given.
        outputs: paths that are written besides ``options.output`` and ``options.json``.
        formats: extensions of the formats that ``options.output`` can have besides plain text.
        reference: path that is read as well; None: there is none.

    Attributes:
        outputs: paths, as the report has them; "-" is standard output.
        device: the backend's name, once it is closed.

    Raises:
        UsageError, GpualignError: as :func:`check_paths`.
    """

    def __init__(
        self,
        command: str,
        options: RunOptions,
        inputs: Sequence[str | None],
        outputs: Sequence[str | None] = (),
        formats: Sequence[str] = TABLES,
        reference: str | None = None,
    ) -> None:
        self.command, self.options, self.device = command, options, ""
        self.report = Report(command, options)
        self._inputs = self.report["inputs"] = [path for path in inputs if path is not None]
        self.report["reference"] = reference
        self.outputs = [options.output or "-", *(path for path in outputs if path is not None)]
        check_paths((reference, *inputs), (options.json, *outputs), options.output, formats)

    @contextmanager
    def opening(self, work: Work | None) -> Iterator[Opening]:
        """The backend, opened while the input is read. At the end it is closed, and its facts go into the report."""
        self.begin_timeline(STEPS_OF_RUN)
        with notices_to(self.warn), Opening(self.options, self.command, work) as opening:
            yield opening
            backend = opening.backend()
            self.report |= backend.report()
            devices = self.report.fields.get("devices", ())
            self.report["timeline"] = self._span.report(self._steps, devices, self.options.threads)
            self.device = backend.name

    def begin_timeline(self, steps: StepNames) -> None:
        """Start the report's timeline, with these steps."""
        self._steps, self._span = steps, Span()

    def output(self) -> AbstractContextManager[OutputFile]:
        """Open ``options.output``; use it in a ``with`` block."""
        return open_output(self.options.output, self.options.threads)

    def table(self, columns: Mapping[str, Kind], header: bool = True) -> AbstractContextManager[TableSink]:
        """Open ``options.output`` for a table; takes the arguments of :func:`open_table`."""
        return open_table(self.options, columns, header)

    def progress(self, unit: str, total: int | None = None, of: Sequence[str] | None = None) -> Progress:
        """A progress bar; use it in a ``with`` block.

        Args:
            total: of the units; None: unknown, and the bar shows the share of the files that has been read.
            of: these files; None: all inputs.
        """
        paths = self._inputs if of is None else of
        return Progress(self.options, unit, total, share=partial(share_read, paths))

    def warn(self, message: str) -> None:
        """Print a warning, unless ``--quiet`` is given."""
        if not self.options.quiet:
            warn(self.command, message)

    def note(self, message: str) -> None:
        """Print a message about progress, unless ``--quiet`` is given."""
        if not self.options.quiet:
            print_line(self.command, message)

    def finish(self, summary: str, **fields: Any) -> dict[str, Any]:
        """Print the summary and write the JSON report; returns its fields, ``fields`` among them."""
        # one of two possible indexes is written
        written = [path for path in self.outputs if not path.endswith((".bai", ".csi")) or os.path.exists(path)]
        self.report |= {"outputs": written, **fields}
        self.report.finish(summary)
        return self.report.fields
