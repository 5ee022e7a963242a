"""Pickling for workers: items travel task by task, and a large object that many items share is sent once.

In a pickled item a number stands for an object of a class that is marked ``sent_once``: a reference, sequences, a long
query. Each worker keeps and opens that object's own :class:`Shard`. A saved index (``sent_by_path``) is not sent if all
workers see it under the client's path: they load it.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import threading
from collections.abc import Callable, Mapping
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError
from gpualign.text.files import stamp_of

#: bytes of an array that is sent next to the pickle, which saves copies; Dask needs time for each frame of a message
_LARGE = 1 << 15
#: bytes at either end of a file that are compared
_FINGERPRINT_BYTES = 1 << 20


class Shard:
    """A pickled object, which Dask moves between machines, and deletes there when the client releases it or is lost.

    Attributes:
        data: uint8, the pickle without its large arrays (an array, because Dask sends arrays without a copy).
        arrays: the contents of the large arrays, uint8 each.
        shared: numbers of the objects that it refers to.
    """

    def __init__(self, data: NDArray[np.uint8], arrays: list[NDArray[np.uint8]], shared: tuple[int, ...] = ()) -> None:
        self.data, self.arrays, self.shared = data, arrays, shared
        self._opening = threading.Lock()
        self._opened: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Shard, (self.data, self.arrays, self.shared)

    def __sizeof__(self) -> int:
        return self.nbytes

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + sum(array.nbytes for array in self.arrays)

    def load(self, shared: Mapping[int, Any] | None = None) -> Any:
        """Unpickle another copy of the object; ``shared``: the objects that it refers to, by number."""
        unpickler = _Unpickler(io.BytesIO(self.data.data), buffers=self.arrays)
        unpickler.shared = shared or {}
        return unpickler.load()

    def open(self) -> Any:
        """The object, unpickled by the first call and shared by all callers of this process."""
        with self._opening:
            if self._opened is None:
                self._opened = self.load()
            return self._opened


def pack(
    obj: Any, by_path: Callable[[str], bool] = lambda path: False, number_of: Callable[[Any], int] | None = None
) -> Shard:
    """Pickle an object.

    Args:
        by_path: whether all workers see a saved index under its path, which is then sent instead.
        number_of: returns the number of a shared object, which is sent instead; None: shared objects are pickled, too.
    """
    out = io.BytesIO()
    pickler = _Pickler(out, by_path, number_of)
    pickler.dump(obj)
    arrays = [np.frombuffer(array, np.uint8) for array in pickler.arrays]
    return Shard(np.frombuffer(out.getbuffer(), np.uint8), arrays, tuple(pickler.shared))


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles large arrays and shared objects apart (cloudpickle, because stages contain closures)."""

    def __init__(self, out: io.BytesIO, by_path: Callable[[str], bool], number_of: Callable[[Any], int] | None) -> None:
        super().__init__(out, protocol=5, buffer_callback=self._is_small)
        self._by_path, self._number_of = by_path, number_of
        self.shared: dict[int, None] = {}
        self.arrays: list[memoryview] = []

    def _is_small(self, array: pickle.PickleBuffer) -> bool:
        """Called for each array: whether it becomes part of the pickle."""
        if (content := array.raw()).nbytes >= _LARGE:
            self.arrays.append(content)
        return content.nbytes < _LARGE

    def persistent_id(self, obj: Any) -> int | None:
        if self._number_of is None or not getattr(type(obj), "sent_once", False):
            return None
        number = self._number_of(obj)
        self.shared[number] = None
        return number

    def reducer_override(self, obj: Any) -> Any:
        if getattr(type(obj), "sent_by_path", False) and obj.path is not None and self._by_path(obj.path):
            return _load_again, (obj.load, obj.path, stamp_of(os.stat(obj.path)))
        return super().reducer_override(obj)


class _Unpickler(pickle.Unpickler):
    shared: Mapping[int, Any]

    def persistent_load(self, number: int) -> Any:
        return self.shared[number]


def _load_again(load: Callable[[str], Any], path: str, stamp: tuple[int, int]) -> Any:
    loaded = load(path)
    if stamp_of(os.stat(path)) != stamp:
        raise InputError("has changed, or is another file on a worker (give all the same)", path)
    return loaded


def fingerprint(path: str) -> str | None:
    """A file's size, time and a hash of both its ends, equal where machines see the same file; None: no such file."""
    try:
        with open(path, "rb") as file:
            size, changed = stamp_of(os.fstat(file.fileno()))
            ends = (os.pread(file.fileno(), _FINGERPRINT_BYTES, max(0, at)) for at in (0, size - _FINGERPRINT_BYTES))
            return f"{size} {changed} {hashlib.sha256(b''.join(ends)).hexdigest()}"
    except OSError:
        return None
