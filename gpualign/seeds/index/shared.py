"""A file's content mapped into memory, which processes share; what others do to the file meanwhile is noticed."""

from __future__ import annotations

import mmap
import os
import weakref
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.text.files import stamp_of


class SharedFile:
    """A mapped file.

    Attributes:
        data: uint8, all of it. Where the file is cut short while this is open, the rest reads as zeros.

    Raises:
        OSError: it cannot be mapped.
    """

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._path, self._stamp = path, stamp_of(os.fstat(file.fileno()))
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.data: NDArray[np.uint8] = np.frombuffer(mapping, np.uint8)
        self._number = _native.guard_mapping(self.data.ctypes.data, self.data.nbytes)
        self._descriptor = os.dup(file.fileno())
        weakref.finalize(mapping, _native.release_mapping, self._number)
        weakref.finalize(self, os.close, self._descriptor)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the arrays themselves."""
        return type(None), ()

    def lock(self) -> str | None:
        """Keep all pages in memory; returns why not."""
        number = _native.lock_pages(self.data.ctypes.data, self.data.nbytes)
        return os.strerror(number) if number else None

    def check(self) -> None:
        """After the content was used.

        Raises:
            InputError: the file was changed since it was mapped.
        """
        # identity of the mapped file; another file may have its name by now
        changed = stamp_of(os.fstat(self._descriptor)) != self._stamp
        if changed or _native.mapping_failed(self._number):
            raise InputError(
                "the index was changed while it was used (replace files, do not write into them)", self._path
            )
