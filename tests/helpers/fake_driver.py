"""`tests/native/fake_driver.c`: a library in the place of NVIDIA's driver, for the native code that drives devices."""

from __future__ import annotations

import atexit
import ctypes
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.helpers.paths import TESTS

SCALE_KERNEL = b"cubin with one kernel, scale\0"


@functools.cache
def path() -> str:
    """Of the library, which is compiled once in a process."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tempfile.mkdtemp(prefix="gpualign-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    library = Path(folder) / "libcuda.so"
    source = TESTS / "native" / "fake_driver.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source], check=True)
    return str(library)


class Fake:
    """What its functions are asked for, and what they are to answer; all as at first with each of these.

    Attributes:
        path: of the library.
    """

    def __init__(self) -> None:
        self.path = path()
        self._library = ctypes.CDLL(self.path)
        self.set(devices=2, init=0, retain=0, failing_copies=0, no_pages=0, no_host_memory=0)
        self._calls = (ctypes.c_char * (1 << 14)).in_dll(self._library, "fake_calls")
        self._calls.value = b""
        self.use_context(0)

    def set(self, **answers: int) -> None:
        for name, value in answers.items():
            ctypes.c_int.in_dll(self._library, f"fake_{name}").value = value

    def use_context(self, number: int) -> None:
        """It is current in this thread."""
        self._library.cuCtxSetCurrent(ctypes.c_void_p(number))

    @property
    def context(self) -> int | None:
        """Which is current in this thread."""
        current = ctypes.c_void_p()
        self._library.cuCtxGetCurrent(ctypes.byref(current))
        return current.value

    @property
    def calls(self) -> list[str]:
        return self._calls.value.decode().splitlines()

    def held(self, kind: str) -> int:
        """Pieces of memory that are "registered" or "allocated" now."""
        return ctypes.c_size_t.in_dll(self._library, f"fake_{kind}").value
