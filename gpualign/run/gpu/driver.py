"""PyCUDA, imported only here, and only if a GPU is asked for or a kernel compiled."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from gpualign import _native
from gpualign.errors import DeviceError
from gpualign.run.gpu import early


class CompileError(DeviceError):
    """nvcc refused a source; the message holds the compiler's own text."""


def gpu_is_there() -> bool:
    """Whether the system has an NVIDIA GPU that the user has not hidden, usable or not."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return False
    return bool(glob.glob("/dev/nvidia[0-9]*")) or os.path.exists("/dev/dxg")


def load_driver() -> Any:
    """PyCUDA's driver module, initialised.

    Raises:
        DeviceError: PyCUDA is not installed, or there is no driver or no device.
    """
    try:
        import pycuda.driver as driver
    except ModuleNotFoundError as error:
        raise DeviceError("PyCUDA is not installed (`gpualign devices` says how)") from error
    except ImportError as error:
        raise DeviceError(f"PyCUDA cannot be loaded: {error} (is the NVIDIA driver installed?)") from error
    try:
        _native.wait_for_driver()  # driver.init() would wait with the GIL held
        driver.init()
    except driver.Error as error:
        raise DeviceError(f"the NVIDIA driver offers no device: {error}") from error
    return driver


def native_driver(driver: Any) -> Any:
    """The native driver calls; the tests' fake of PyCUDA has its own."""
    return _native.CudaDriver(early.LIBRARY) if isinstance(driver, ModuleType) else driver


def compile_source(text: str, nvcc: str, options: Sequence[str], architecture: str, include: str) -> bytes | None:
    """A cubin by PyCUDA's compiler; None if PyCUDA cannot be imported.

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
            warnings.simplefilter("ignore")  # PyCUDA warns of everything that nvcc prints
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
