"""CRAM as a stream of BAM, decoded by samtools in a process of its own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile

from gpualign.errors import InputError
from gpualign.io import tuning
from gpualign.io.files import InputFile
from gpualign.io.htslib_input import HtslibInput
from gpualign.io.samtools import reason, words

#: uncompressed, no @PG line of its own
_ARGUMENTS = ("view", "-u", "--no-PG", "-o", "-")
#: CRAM leaves out MD and NM where they are what the reference says
_NO_TAGS_OF_REFERENCE = ("--input-fmt-option", "decode_md=0")


class CramInput:
    """A CRAM file as a stream of BAM, for :class:`RecordInput`.

    Args:
        reference_path: FASTA of the reference; None: htslib finds it.
        threads: threads that decode.
        all_tags: with MD and NM, which are computed.
    """

    def __init__(self, file: InputFile, reference_path: str | None, threads: int, all_tags: bool = False) -> None:
        self.path = file.path
        self._input = HtslibInput(file)
        reference = () if reference_path is None else ("-T", reference_path)
        tags = () if all_tags else _NO_TAGS_OF_REFERENCE
        arguments = (*_ARGUMENTS, *tags, *reference, "-@", str(threads - 1))
        with contextlib.closing(self._input):
            source = self._input.source
            by_name = isinstance(source, str)
            self._messages = tempfile.TemporaryFile()
            # it ends by itself when its output is closed
            self._process = subprocess.Popen(
                words(*arguments, os.path.abspath(file.path) if by_name else "-"),
                stdin=subprocess.DEVNULL if isinstance(source, str) else source,
                stdout=subprocess.PIPE,
                stderr=self._messages,
                pipesize=tuning.PIPE_BYTES,
            )
        assert self._process.stdout is not None
        self._decoded = InputFile(f"/dev/fd/{self._process.stdout.fileno()}")

    def readinto(self, view: memoryview, /) -> int:
        """Fill ``view``; returns how many bytes, fewer only at the end.

        Raises:
            InputError: samtools cannot read the file.
        """
        count = self._decoded.readinto(view)
        if count < len(view) and (status := self._process.wait()):
            raise InputError(reason(self._messages, status), self.path)
        return count

    def marked_end(self) -> bool:
        """Whether the file has CRAM's end-of-file container."""
        return self._input.marked_end()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._decoded.close()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._messages.close()
