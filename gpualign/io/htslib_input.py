"""Passes htslib an input whose first bytes have been read already."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import BinaryIO

from gpualign.io.files import InputFile

_PUMPED = 1 << 20
#: text in CRAM's end-of-file container, and the longest form of that container
_CRAM_END, _LONGEST_END = b"EOF", 38


class HtslibInput:
    """A file's path, which htslib opens again, or a pipe if the input can be read only once.

    Attributes:
        source: the path or the pipe, whose descriptor htslib duplicates.
    """

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._thread: threading.Thread | None = None
        self.source: str | BinaryIO = file.path
        if not file.regular:
            reading, writing = os.pipe()
            self.source = os.fdopen(reading, "rb")
            self._thread = threading.Thread(target=self._pump, args=(writing,), daemon=True, name="gpualign-htslib")
            self._thread.start()

    def _pump(self, writing: int) -> None:
        with os.fdopen(writing, "wb") as out, contextlib.suppress(OSError):
            while data := self._file.raw().read(_PUMPED):
                out.write(data)

    def marked_end(self) -> bool:
        """Whether BAM or CRAM has its end-of-file marker; True for SAM. Call it when all has been read."""
        if self._thread is not None:
            self._thread.join()
        if self._file.magic.startswith(b"CRAM"):
            return _CRAM_END in self._file.tail(_LONGEST_END)
        return self._file.marked_end()

    def close(self) -> None:
        if not isinstance(self.source, str):
            self.source.close()
