"""CRAM as a stream of BAM, decoded by samtools in a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading

from gpualign.errors import InputError, shown_input
from gpualign.records.cram_errors import reference_error
from gpualign.records.samtools import failure, words
from gpualign.text import tuning
from gpualign.text.files import InputFile

#: uncompressed, no @PG line of its own
_ARGUMENTS = ("view", "-u", "--no-PG", "-o", "-")
#: CRAM leaves out MD and NM where they are what the reference says
_NO_TAGS_OF_REFERENCE = ("--input-fmt-option", "decode_md=0")
_PUMPED = 1 << 20
#: samtools has run, and says that it cannot open or read the file
_OF_SAMTOOLS = "samtools view: "
#: text in CRAM's end-of-file container, and the longest form of that container
_CRAM_END, _LONGEST_END = b"EOF", 38


class CramInput:
    """A CRAM file as a stream of BAM, for :class:`RecordInput`. samtools opens a regular file again; any other input,
    whose first bytes have been read, comes to it through a pipe.

    Args:
        reference_path: FASTA of the reference; None: htslib finds it.
        threads: threads that decode.
        all_tags: with MD and NM, which are computed.
    """

    def __init__(self, file: InputFile, reference_path: str | None, threads: int, all_tags: bool = False) -> None:
        self.path, self._file, self._fasta = file.path, file, reference_path
        reference = () if reference_path is None else ("-T", reference_path)
        tags = () if all_tags else _NO_TAGS_OF_REFERENCE
        arguments = (*_ARGUMENTS, *tags, *reference, "-@", str(threads - 1))
        self._messages = tempfile.TemporaryFile()
        self._pump: threading.Thread | None = None
        # it ends by itself when its output is closed
        self._process = subprocess.Popen(
            words(*arguments, os.path.abspath(file.path) if file.regular else "-"),
            stdin=subprocess.DEVNULL if file.regular else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            pipesize=tuning.PIPE_BYTES,
        )
        if not file.regular:
            self._pump = threading.Thread(target=self._feed, daemon=True, name="gpualign-htslib")
            self._pump.start()
        assert self._process.stdout is not None
        self._decoded = InputFile(f"/dev/fd/{self._process.stdout.fileno()}")

    def _feed(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError), self._process.stdin as out:
            while data := self._file.raw().read(_PUMPED):
                out.write(data)

    def readinto(self, view: memoryview, /) -> int:
        """Fill ``view``; returns how many bytes, fewer only at the end.

        Raises:
            InputError: samtools cannot read the file, or its reference.
            GpualignError: samtools does not run.
        """
        count = self._decoded.readinto(view)
        if count < len(view) and (status := self._process.wait()):
            failed = failure(self._messages, status)
            if (problem := reference_error(failed.said, self.path, self._fasta)) is not None:
                raise problem from failed
            if status < 0 or _OF_SAMTOOLS not in failed.said:
                raise failed.explained(f"{shown_input(self.path)} cannot be decoded") from failed
            raise InputError("CRAM that cannot be decoded", self.path) from failed
        return count

    def marked_end(self) -> bool:
        """Whether the file has CRAM's end-of-file container."""
        if self._pump is not None:
            self._pump.join()
        return _CRAM_END in self._file.tail(_LONGEST_END)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._decoded.close()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._messages.close()
