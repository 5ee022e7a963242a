"""samtools, as pysam brings it, in a process of its own: SAM text in, whatever it writes out.

A process rather than a call because samtools' ``main`` holds Python's lock, writes messages to standard error and keeps
state between calls. Its files, the reference for CRAM and what does not fit in memory when it sorts, lie in a folder
that the caller removes.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

from gpualign.ending import undone_at_the_end
from gpualign.errors import GpualignError

#: What the process runs. A Ctrl-C reaches it too and is left to us, who end it.
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
#: the kernel's default, 64 KiB, makes two processes wait for each other all the time
PIPE_BYTES = 1 << 20
_JOIN_SECONDS = 5.0


class Samtools:
    """A running samtools command. Use :func:`run_samtools`."""

    def __init__(
        self, arguments: Sequence[str], drain: Callable[[IO[bytes]], None], folder: str, environment: Mapping[str, str]
    ) -> None:
        self._name, self._drain = f"samtools {arguments[0]}", drain
        self._error: BaseException | None = None
        self._messages = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            words(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            pipesize=PIPE_BYTES,
            cwd=folder,
            env={**os.environ, **environment},
        )
        self._thread = threading.Thread(target=self._run_drain, daemon=True, name="gpualign-samtools")
        self._thread.start()

    def write(self, text: bytes | memoryview) -> None:
        """Hand on SAM text or BAM bytes, header first.

        Raises:
            GpualignError: the command failed, or what ``drain`` raised.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text)
        except BrokenPipeError:  # it ended: finish says why
            self.finish()
            raise GpualignError(f"{self._name} ended before its input") from None

    def finish(self) -> None:
        """End the input and wait for the end of the output.

        Raises:
            GpualignError: the command failed, or what ``drain`` raised.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._thread.join()
        status = self._process.wait()
        if self._error is not None and status in (0, -signal.SIGKILL):
            raise self._error
        if status != 0:  # then its output may well have ended in the middle of something
            raise GpualignError(f"{self._name} failed: {reason(self._messages, status)}")

    def kill(self) -> None:
        """End it at once, from any thread."""
        self._process.kill()

    def abort(self) -> None:
        """End it at once where it has not ended, and close its streams."""
        self._process.kill()
        self._process.wait()
        self._thread.join(_JOIN_SECONDS)  # it ends by itself now, unless it is held up in writing
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
            self._process.kill()  # or it would wait for its reader, and we for it


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
        GpualignError: the command failed. What ``drain`` raises is raised here as well.
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


def reason(messages: IO[bytes], status: int) -> str:
    """The last thing it said, without the tags that htslib puts in front."""
    messages.seek(0)
    text = messages.read().decode("utf-8", "replace").replace("\\n", "\n")
    lines = [line.strip(" '\"") for line in text.splitlines()]
    said = [re.sub(r"^(.*stderr=)?(\[\w+(::\w+)?\] )?(samtools \w+: )?", "", line) for line in lines]
    return next((line for line in reversed(said) if line), f"exit status {status}")
