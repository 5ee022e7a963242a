"""NVIDIA's nvCOMP, which deflates on a device: PyPI's nvidia-libnvcomp-cu12 or -cu13, where installed, by ctypes."""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import os
from typing import Any

#: of whose interface this is
_MAJOR_VERSION = 6
_PACKAGE = "nvidia.libnvcomp"
#: of 0, the fastest, to 5: files as large as by ISA-L or a little smaller
_ALGORITHM = 2
_LARGEST_TEXT = 1 << 16
_SIZE = ctypes.c_size_t
_POINTER = ctypes.c_void_p


class _Options(ctypes.Structure):
    _fields_ = (("algorithm", ctypes.c_int), ("reserved", ctypes.c_char * 60))


class _InflateOptions(ctypes.Structure):
    _fields_ = (("backend", ctypes.c_int), ("sorted", ctypes.c_int), ("reserved", ctypes.c_char * 56))


class _Properties(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("cuda_runtime", ctypes.c_uint32))


class NvcompError(Exception):
    """nvCOMP is not there, is another version, or failed."""


class Nvcomp:
    """The functions that deflate and inflate.

    Args:
        path: of the library.

    Raises:
        NvcompError: it cannot be loaded or is another version.
    """

    def __init__(self, path: str) -> None:
        try:
            self._library = ctypes.PyDLL(path)  # its functions enqueue: see enqueued.py
            properties = _Properties()
            self._call("nvcompGetProperties", ctypes.byref(properties))
        except (OSError, AttributeError) as error:
            raise NvcompError(f"nvCOMP cannot be loaded: {error}") from error
        if properties.version // 1000 != _MAJOR_VERSION:
            raise NvcompError(f"nvCOMP {properties.version // 1000} is there, not {_MAJOR_VERSION}")
        self._options, self._inflate_options = _Options(algorithm=_ALGORITHM), _InflateOptions()

    def sizes(self, count: int, largest: int) -> tuple[int, int]:
        """Bytes of scratch memory to deflate ``count`` texts of up to ``largest`` bytes, and of space for each."""
        scratch, capacity = _SIZE(), _SIZE()
        self._call(
            "nvcompBatchedDeflateCompressGetTempSize",
            *(_SIZE(count), _SIZE(largest), self._options, ctypes.byref(scratch), _SIZE(count * largest), None),
        )
        self._call(
            "nvcompBatchedDeflateCompressGetMaxOutputChunkSize", _SIZE(largest), self._options, ctypes.byref(capacity)
        )
        return int(scratch.value), int(capacity.value)

    def deflate(
        self,
        count: int,
        largest: int,
        texts: tuple[int, int],
        scratch: tuple[int, int],
        deflated: tuple[int, int],
        status: int,
        stream: int,
    ) -> None:
        """Enqueue deflating on a stream, all by addresses on the device.

        Args:
            texts: of the arrays of addresses and of sizes.
            scratch: memory and its bytes.
            deflated: of the arrays of the addresses of space and of the sizes that will be.
            status: of the array that will hold a number for each, 0 where it was deflated.
        """
        self._call(
            "nvcompBatchedDeflateCompressAsync",
            *(_POINTER(texts[0]), _POINTER(texts[1]), _SIZE(largest), _SIZE(count)),
            *(_POINTER(scratch[0]), _SIZE(scratch[1]), _POINTER(deflated[0]), _POINTER(deflated[1])),
            *(self._options, _POINTER(status), _POINTER(stream)),
        )

    def inflate_scratch(self, count: int, total: int) -> int:
        """Bytes of scratch memory to inflate ``count`` texts of ``total`` bytes, none of more than 64 KiB."""
        scratch = _SIZE()
        self._call(
            "nvcompBatchedDeflateDecompressGetTempSize",
            *(_SIZE(count), _SIZE(_LARGEST_TEXT), self._inflate_options, ctypes.byref(scratch), _SIZE(total), None),
        )
        return int(scratch.value)

    def inflate(
        self,
        count: int,
        deflated: tuple[int, int],
        texts: tuple[int, int],
        scratch: tuple[int, int],
        inflated_bytes: int,
        status: int,
        stream: int,
    ) -> None:
        """Enqueue inflating on a stream, all by addresses on the device.

        Args:
            deflated: of the arrays of addresses, multiples of 4, and of sizes.
            texts: of the arrays of the addresses of space and of its sizes.
            scratch: memory and its bytes.
            inflated_bytes: of the array that will hold the size of each text.
            status: of the array that will hold a number for each, 0 where it was inflated.
        """
        self._call(
            "nvcompBatchedDeflateDecompressAsync",
            *(_POINTER(deflated[0]), _POINTER(deflated[1]), _POINTER(texts[1]), _POINTER(inflated_bytes), _SIZE(count)),
            *(_POINTER(scratch[0]), _SIZE(scratch[1]), _POINTER(texts[0]), self._inflate_options),
            *(_POINTER(status), _POINTER(stream)),
        )

    def _call(self, name: str, *arguments: Any) -> None:
        """
        Raises:
            NvcompError: the function is not there or does not end well.
        """
        try:
            result = getattr(self._library, name)(*arguments)
        except AttributeError as error:
            raise NvcompError(f"nvCOMP has no {name}") from error
        if result != 0:
            raise NvcompError(f"nvCOMP failed ({name}: {result})")


@functools.cache
def load_nvcomp() -> Nvcomp | None:
    """The library; None where there is none that can be used."""
    for path in library_paths():
        try:
            return Nvcomp(path)
        except NvcompError:
            continue
    return None


def library_paths() -> list[str]:
    """Where the package has its library, and the system's."""
    try:
        package = importlib.util.find_spec(_PACKAGE)
    except (ImportError, ValueError):
        package = None
    folders = () if package is None else tuple(package.submodule_search_locations or ())
    name = f"libnvcomp.so.{_MAJOR_VERSION}"
    inside = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "lib*", name)))]
    return [*inside, name]
