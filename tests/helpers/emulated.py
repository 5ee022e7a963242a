"""Kernels that are compiled for the host and run there, with all lanes of a warp and all warps of a block."""

from __future__ import annotations

import ctypes
import fcntl
import os
import subprocess
from collections.abc import Mapping

import numpy as np
import pytest

from tests.helpers.paths import TESTS


def emulated_library(folders: pytest.TempPathFactory, module: str, defines: Mapping[str, object]) -> ctypes.CDLL:
    """The kernels of ``cuda/MODULE.cu``, by ``tests/native/MODULE_emulated.cpp``: compiled once for all tests of a run,
    whichever of xdist's processes they are in, as compiling takes longer than the tests.
    """
    folder = folders.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else folders.getbasetemp()
    path = folder / f"{'-'.join([module, *(f'{name}={value}' for name, value in sorted(defines.items()))])}.so"
    with open(path.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            made = path.with_suffix(".made")
            _compile(str(made), module, defines)
            made.rename(path)
    return ctypes.CDLL(str(path))


def _compile(path: str, module: str, defines: Mapping[str, object]) -> None:
    source = TESTS / "native" / f"{module}_emulated.cpp"
    flags = [
        "-std=c++17",
        "-O1",
        "-Wall",
        "-Werror",
        "-Wno-unknown-pragmas",
        "-Wno-sign-compare",
        "-shared",
        "-fPIC",
        "-fno-extern-tls-init",
    ]
    flags += [f"-D{name}={value}" for name, value in defines.items()]
    include = ["-I", str(TESTS.parent / "cuda"), "-I", str(source.parent)]
    subprocess.run(["g++", *flags, *include, "-o", path, str(source)], check=True)


class Emulated:
    """A kernel of the library.

    Args:
        blocks: that run at most, where they share out the work among them.
    """

    def __init__(self, library: ctypes.CDLL, name: str, blocks: int = 2) -> None:
        self.library, self.name, self.calls, self.blocks = library, name.encode(), 0, blocks

    def set_attribute(self, *_: object) -> None:
        pass

    def __call__(self, launch, grid, block, shared, stream):
        data = launch.tobytes()
        self.calls += 1
        blocks = min(grid[0], self.blocks)
        assert self.library.run_kernel(self.name, data, ctypes.c_size_t(len(data)), blocks, block[0]) == 0


class EmulatedByName:
    """A kernel that takes a list of arguments."""

    num_regs = 32

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.library, self.name, self.calls = library, name.encode(), 0

    def set_attribute(self, *_: object) -> None:
        pass

    def __call__(self, *arguments, grid, block, shared, stream):
        values = [_bytes_of(argument) for argument in arguments]
        pointers = (ctypes.c_char_p * len(values))(*values)
        self.calls += 1
        assert self.library.run_named(self.name, pointers, len(values), grid[0], block[0]) == 0, self.name


def _bytes_of(argument: object) -> bytes:
    """As a kernel takes it: a scalar or a struct by value, an address of device memory."""
    return argument.tobytes() if isinstance(argument, np.generic) else int(argument).to_bytes(8, "little")  # type: ignore[call-overload]
