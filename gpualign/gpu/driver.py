"""PyCUDA, imported here alone, and only when a GPU is asked for or a kernel compiled."""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import DeviceError

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


class CompileError(DeviceError):
    """nvcc refused a source; the message holds the compiler's own text."""


def load_driver() -> Any:
    """PyCUDA's driver module, initialised.

    Raises:
        DeviceError: PyCUDA is not installed, or there is no driver or no device.
    """
    try:
        import pycuda.driver as driver
    except ModuleNotFoundError as error:
        raise DeviceError("PyCUDA is not installed (pip install 'gpualign[cuda]')") from error
    except ImportError as error:
        raise DeviceError(f"PyCUDA cannot be loaded: {error} (is the NVIDIA driver installed?)") from error
    try:
        driver.init()
    except driver.Error as error:
        raise DeviceError(f"the NVIDIA driver offers no device: {error}") from error
    return Driver(driver, ctypes.CDLL("libcuda.so.1"))


class Driver:
    """PyCUDA's driver module but for one function: its ``register_host_memory`` sets the base of an array that has one,
    which NumPy refuses.

    Args:
        module: ``pycuda.driver``.
        library: the driver itself.
    """

    def __init__(self, module: Any, library: Any) -> None:
        self._module, self._library = module, library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def register_host_memory(self, memory: NDArray[np.uint8], flags: int) -> NDArray[np.uint8]:
        """``memory`` page-locked for the current context until no view of what is returned is left."""
        status = self._library.cuMemHostRegister_v2(
            ctypes.c_void_p(memory.ctypes.data), ctypes.c_size_t(memory.nbytes), ctypes.c_uint(int(flags))
        )
        if status == _OUT_OF_MEMORY:
            raise self._module.MemoryError("cuMemHostRegister failed: out of memory")
        if status:
            raise self._module.Error(f"cuMemHostRegister failed: error {status}")
        return np.asarray(_PageLocked(memory, self._library))


class _PageLocked:
    """What the views of registered memory keep alive."""

    def __init__(self, memory: NDArray[np.uint8], library: Any) -> None:
        self._memory, self._library = memory, library
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        # with the context gone this fails, and the driver has released the memory already
        self._library.cuMemHostUnregister(ctypes.c_void_p(self._memory.ctypes.data))


def compile_source(text: str, nvcc: str, options: Sequence[str], architecture: str, include: str) -> bytes | None:
    """A cubin by PyCUDA's compiler; None where PyCUDA cannot be imported.

    Raises:
        CompileError: with the compiler's own text.
    """
    try:
        import pycuda.compiler as compiler
        import pycuda.driver as driver
    except ImportError:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyCUDA turns every remark of nvcc into a warning
            return bytes(
                compiler.compile(
                    text,
                    nvcc=nvcc,
                    options=list(options),
                    no_extern_c=True,
                    arch=architecture,
                    cache_dir=False,
                    include_dirs=[include],
                )
            )
    except driver.CompileError as error:
        raise CompileError(f"nvcc failed for {architecture}: {error.stderr}") from error
