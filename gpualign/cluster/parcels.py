"""What travels to workers: items pickled one by one, and large objects that many items share sent once.

An item often refers to something large that never changes: a reference, a set of sequences, a long query. When an
item is pickled, such an object is replaced by a number, and travels as a :class:`Parcel` of its own that every worker
keeps and opens once.
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

from gpualign import __version__
from gpualign.encoded import EncodedSequences
from gpualign.errors import GpualignError
from gpualign.index.file import load_index
from gpualign.index.minimizers import MinimizerIndex
from gpualign.index.reference import Reference
from gpualign.workflows.mems_search import QueryText

#: types of which an item may hold a large object that other items hold too
SHARED = (EncodedSequences, MinimizerIndex, QueryText, Reference)
_FINGERPRINT_BYTES = 1 << 20


class Parcel:
    """A pickled object; Dask moves it between machines, and wherever it lies it is opened once.

    Dask deletes it from the workers when the client that sent it lets go of it or disappears, and what it was opened
    to goes with it.

    Attributes:
        data: uint8, the pickle (an array, because Dask sends those without copying them), without
        buffers: the contents of its arrays, uint8 each.
        shared: numbers of the parcels that it refers to.
        version: of the sender.
    """

    def __init__(
        self,
        data: NDArray[np.uint8],
        buffers: list[NDArray[np.uint8]],
        shared: tuple[int, ...] = (),
        version: str = __version__,
    ) -> None:
        self.data, self.buffers, self.shared, self.version = data, buffers, shared, version
        self._opening = threading.Lock()
        self._opened: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Parcel, (self.data, self.buffers, self.shared, self.version)

    def __sizeof__(self) -> int:
        return self.nbytes

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + sum(buffer.nbytes for buffer in self.buffers)

    def load(self, others: Mapping[int, Any] | None = None) -> Any:
        """Unpickle anew.

        Raises:
            GpualignError: the sender has another version of this package.
        """
        if self.version != __version__:
            raise GpualignError(f"a worker has gpualign {__version__}, this is {self.version} (install the same)")
        return _Unpickler(self.data, self.buffers, others or {}).load()

    def open(self) -> Any:
        """The object; the same one for every caller on this machine."""
        with self._opening:
            if self._opened is None:
                self._opened = self.load()
            return self._opened


def pack(obj: Any, by_path: Callable[[str], bool] = lambda path: False) -> Parcel:
    """Pickle an object with all that it refers to.

    Args:
        by_path: says of a saved index's path whether all workers see that file; then the path travels instead.
    """
    return _pickle(obj, by_path, None)


def pack_item(item: Any, number_of: Callable[[Any], int]) -> Parcel:
    """Pickle an item without the objects in it that are shared; ``number_of`` gives each of those its number."""
    return _pickle(item, lambda path: False, number_of)


def fingerprint(path: str) -> str | None:
    """What two machines compare to know that they see the same file; None where there is none."""
    try:
        with open(path, "rb") as file:
            head = file.read(_FINGERPRINT_BYTES)
            return f"{os.fstat(file.fileno()).st_size} {hashlib.sha256(head).hexdigest()}"
    except OSError:
        return None


def _pickle(obj: Any, by_path: Callable[[str], bool], number_of: Callable[[Any], int] | None) -> Parcel:
    out = io.BytesIO()
    views: list[pickle.PickleBuffer] = []
    pickler = _Pickler(out, views, by_path, number_of)
    pickler.dump(obj)
    data = np.frombuffer(out.getbuffer(), np.uint8)
    return Parcel(data, [np.frombuffer(view.raw(), np.uint8) for view in views], tuple(pickler.shared))


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """cloudpickle, because a stage's work is a closure."""

    def __init__(
        self,
        out: io.BytesIO,
        views: list[pickle.PickleBuffer],
        by_path: Callable[[str], bool],
        number_of: Callable[[Any], int] | None,
    ) -> None:
        super().__init__(out, protocol=5, buffer_callback=views.append)
        self._by_path, self._number_of = by_path, number_of
        self.shared: dict[int, None] = {}

    def persistent_id(self, obj: Any) -> int | None:
        if self._number_of is None or not isinstance(obj, SHARED):
            return None
        number = self._number_of(obj)
        self.shared[number] = None
        return number

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, MinimizerIndex) and obj.path is not None and self._by_path(obj.path):
            return load_index, (obj.path,)
        return super().reducer_override(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: NDArray[np.uint8], buffers: list[NDArray[np.uint8]], others: Mapping[int, Any]) -> None:
        super().__init__(io.BytesIO(data.data), buffers=buffers)
        self._others = others

    def persistent_load(self, number: int) -> Any:
        return self._others[number]
