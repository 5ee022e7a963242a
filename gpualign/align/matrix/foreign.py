"""Arrays of other libraries that lie on a GPU: what they say of themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.errors import UsageError

#: kDLCUDA and kDLCUDAManaged
_ON_CUDA = (2, 13)


@dataclass(frozen=True, eq=False)
class DeviceArray:
    """An array on a GPU, C-contiguous.

    Attributes:
        address: of its first byte, in the process's unified address space.
        shape, dtype: as of a NumPy array.
        owner: what keeps it alive.
    """

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    owner: Any = field(repr=False)

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return len(self) * self.dtype.itemsize


def device_array(thing: Any) -> DeviceArray | None:
    """An array on a GPU by ``__cuda_array_interface__`` or DLPack, None for anything else.

    Raises:
        UsageError: it is not C-contiguous.
    """
    interface = getattr(thing, "__cuda_array_interface__", None)
    if interface is not None:
        shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
        strides = interface.get("strides")
        if strides is not None and tuple(strides) != _packed_strides(shape, dtype.itemsize):
            raise UsageError("an array on a GPU must be C-contiguous")
        return DeviceArray(int(interface["data"][0]), shape, dtype, thing)
    if not hasattr(thing, "__dlpack_device__") or int(thing.__dlpack_device__()[0]) not in _ON_CUDA:
        return None
    try:
        address, extents, kind, bits = _native.dlpack_array(thing)
    except TypeError:
        raise UsageError("an array on a GPU must be C-contiguous") from None
    return DeviceArray(address, tuple(extents), np.dtype(f"{kind}{bits // 8}"), thing)


def _packed_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides = [itemsize]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides))
