"""Pickling for workers: items are sent task by task, and large objects that many items share are sent once.

Many items refer to something large that never changes: a reference, a set of sequences, a long query. In a pickled
item a number stands for such an object, which is a :class:`Shard` of its own that each worker keeps and opens once.
A saved index is not sent if all workers see it under the client's path: they load it.
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

from gpualign.errors import GpualignError, InputError
from gpualign.text.files import stamp_of
from gpualign.version import __version__

#: arrays and texts of at least so many bytes are sent next to the pickle, which saves copies. Smaller ones are part of
#: it, as Dask needs time for each frame of a message
_LARGE = 1 << 15
#: bytes at either end of a file that are compared
_FINGERPRINT_BYTES = 1 << 20
_CHANGED = "has changed, or is another file on a worker (give all the same)"


class Shard:
    """A pickled object, which Dask moves between machines and which each process opens once.

    When the client releases it or is lost, Dask deletes it from the workers, together with the opened object.

    Attributes:
        data: uint8, the pickle without its large arrays and texts (an array, because Dask sends arrays without a copy).
        buffers: the contents of the large arrays, uint8 each.
        texts: the large texts, uint8 each.
        shared: numbers of the shards that it refers to.
        version: the sender's version of gpualign.
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        buffers: list[NDArray[np.uint8]],
        texts: list[NDArray[np.uint8]],
        shared: tuple[int, ...] = (),
        version: str = __version__,
    ) -> None:
        self.data, self.buffers, self.texts, self.shared = data, buffers, texts, shared
        self.version = version
        self._opening = threading.Lock()
        self._opened: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Shard, (self.data, self.buffers, self.texts, self.shared, self.version)

    def __sizeof__(self) -> int:
        return self.nbytes

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + sum(array.nbytes for array in (*self.buffers, *self.texts))

    def load(self, others: Mapping[int, Any] | None = None) -> Any:
        """Unpickle another copy of the object.

        Args:
            others: the shared objects by number.

        Raises:
            GpualignError: the sender has another version of this package.
        """
        if self.version != __version__:
            raise GpualignError(
                f"client and workers have different versions of gpualign, {self.version} and {__version__} "
                "(install the same)"
            )
        return _Unpickler(self, others or {}).load()

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
        by_path: tells whether all workers see a saved index under its path, which is then sent instead.
        number_of: returns the number of a shared object, which is sent instead; None: shared objects are pickled, too.
    """
    out = io.BytesIO()
    pickler = _Pickler(out, by_path, number_of)
    pickler.dump(obj)
    data = np.frombuffer(out.getbuffer(), np.uint8)
    buffers = [np.frombuffer(array, np.uint8) for array in pickler.arrays]
    texts = [np.frombuffer(text, np.uint8) for text in pickler.texts]
    return Shard(data, buffers, texts, tuple(pickler.shared))


def fingerprint(path: str) -> str | None:
    """A file's size, time and a hash of both its ends, equal where machines see the same file; None: no such file."""
    try:
        with open(path, "rb") as file:
            size, changed = stamp_of(os.fstat(file.fileno()))
            parts = (
                os.pread(file.fileno(), _FINGERPRINT_BYTES, at) for at in (0, size - _FINGERPRINT_BYTES) if at >= 0
            )
            return f"{size} {changed} {hashlib.sha256(b''.join(parts)).hexdigest()}"
    except OSError:
        return None


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles large arrays, large texts and shared objects apart (cloudpickle, because stages contain closures)."""

    def __init__(self, out: io.BytesIO, by_path: Callable[[str], bool], number_of: Callable[[Any], int] | None) -> None:
        super().__init__(out, protocol=5, buffer_callback=self._is_small)
        self._by_path, self._number_of = by_path, number_of
        self.shared: dict[int, None] = {}
        self.arrays: list[memoryview] = []
        self.texts: list[bytes] = []

    def _is_small(self, array: pickle.PickleBuffer) -> bool:
        """Called for each array: whether it becomes part of the pickle; a large one goes to :attr:`arrays`."""
        content = array.raw()
        if content.nbytes < _LARGE:
            return True
        self.arrays.append(content)
        return False

    def persistent_id(self, obj: Any) -> tuple[str, int] | None:
        if type(obj) is bytes and len(obj) >= _LARGE:
            self.texts.append(obj)
            return "text", len(self.texts) - 1
        if self._number_of is None or not getattr(type(obj), "sent_once", False):
            return None
        number = self._number_of(obj)
        self.shared[number] = None
        return "shared", number

    def reducer_override(self, obj: Any) -> Any:
        if getattr(type(obj), "sent_by_path", False) and obj.path is not None and self._by_path(obj.path):
            return _load_again, (obj.load, obj.path, stamp_of(os.stat(obj.path)))
        return super().reducer_override(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, shard: Shard, others: Mapping[int, Any]) -> None:
        super().__init__(io.BytesIO(shard.data.data), buffers=shard.buffers)
        self._texts, self._others = shard.texts, others

    def persistent_load(self, what: tuple[str, int]) -> Any:
        kind, number = what
        return self._texts[number].tobytes() if kind == "text" else self._others[number]


def _load_again(load: Callable[[str], Any], path: str, stamp: tuple[int, int]) -> Any:
    loaded = load(path)
    if stamp_of(os.stat(path)) != stamp:
        raise InputError(_CHANGED, path)
    return loaded
