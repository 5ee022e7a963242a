"""Runs pysam's samtools in a process of its own.

A process rather than a call because samtools' ``main`` holds the GIL, writes messages to standard error and keeps state
between calls. Its files are in a folder that the caller removes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

from gpualign.ending import undone_at_the_end
from gpualign.errors import GpualignError
from gpualign.records.cram_errors import SamtoolsFailed
from gpualign.text import tuning

#: the process's program; it ignores Ctrl-C, as its parent ends it
_PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path[:] = {path!r}
import pysam
try:
    getattr(pysam.samtools, sys.argv[1])(*sys.argv[2:], catch_stdout=False)
except pysam.SamtoolsError as error:
    sys.exit(str(error))
"""
_JOIN_SECONDS = 5.0


class Samtools:
    """A running samtools command. Use :func:`run_samtools`."""

    def __init__(
        self, arguments: Sequence[str], drain: Callable[[IO[bytes]], None], folder: str, environment: Mapping[str, str]
    ) -> None:
        self._drain = drain
        self._error: BaseException | None = None
        self._messages = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            words(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            pipesize=tuning.PIPE_BYTES,
            cwd=folder,
            env={**os.environ, **environment},
        )
        self._thread = threading.Thread(target=self._run_drain, daemon=True, name="gpualign-samtools")
        self._thread.start()

    def write(self, text: bytes | memoryview) -> None:
        """Write SAM text or BAM, header first.

        Raises:
            SamtoolsFailed: the command failed; or what ``drain`` raised.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text)
        except BrokenPipeError:  # the process ended; finish() raises its error
            self.finish()
            raise GpualignError("samtools ended before its input") from None

    def finish(self) -> None:
        """End the input and wait for the end of the output.

        Raises:
            SamtoolsFailed: the command failed; or what ``drain`` raised.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._thread.join()
        status = self._process.wait()
        if self._error is not None and status in (0, -signal.SIGKILL):
            raise self._error
        if status != 0:  # its output may be incomplete then
            raise failure(self._messages, status)

    def kill(self) -> None:
        """Kill the process, from any thread."""
        self._process.kill()

    def abort(self) -> None:
        """Kill the process if it still runs, and close its streams."""
        self._process.kill()
        self._process.wait()
        self._thread.join(_JOIN_SECONDS)  # it ends now, unless it is blocked in writing
        if not self._thread.is_alive():
            for stream in (self._process.stdin, self._process.stdout, self._messages):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]

    def _run_drain(self) -> None:
        assert self._process.stdout is not None
        try:
            self._drain(self._process.stdout)
        except BaseException as error:
            self._error = error
            self._process.kill()  # else it would block on its output


@contextlib.contextmanager
def run_samtools(
    arguments: Sequence[str],
    drain: Callable[[IO[bytes]], None],
    folder: str,
    environment: Mapping[str, str],
) -> Iterator[Samtools]:
    """Run a samtools command that reads standard input and writes standard output.

    Args:
        drain: called in a thread of its own with the command's output; reads it to the end.
        folder: where it works.
        environment: variables of it.

    Raises:
        SamtoolsFailed: the command failed. Exceptions of ``drain`` are raised here as well.
    """
    process = Samtools(arguments, drain, folder, environment)
    try:
        with undone_at_the_end(process.kill):
            yield process
            process.finish()
    finally:
        process.abort()


def words(*arguments: str) -> list[str]:
    """The command line of the process."""
    return [sys.executable, "-c", _PROGRAM.format(path=[os.path.abspath(entry) for entry in sys.path]), *arguments]


def failure(messages: IO[bytes], status: int) -> SamtoolsFailed:
    """The error of a process that has ended."""
    messages.seek(0)
    return SamtoolsFailed(messages.read().decode(errors="replace"), status)
