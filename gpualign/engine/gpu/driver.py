"""PyCUDA, imported only here, and only if a GPU is asked for."""

from __future__ import annotations

import glob
import os
from types import ModuleType
from typing import Any

from gpualign import _native
from gpualign.engine.gpu import early
from gpualign.errors import DeviceError


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
