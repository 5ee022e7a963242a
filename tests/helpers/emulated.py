"""Kernels that are compiled for the host and run there, with all lanes of a warp and all warps of a block."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.paths import TESTS


def emulated_library(folder: Path, module: str, defines: Mapping[str, object]) -> ctypes.CDLL:
    """The kernels of ``cuda/MODULE.cu``, by ``tests/native/MODULE_emulated.cpp``."""
    path, source = folder / f"{module}.so", TESTS / "native" / f"{module}_emulated.cpp"
    flags = ["-std=c++17", "-O1", "-Wall", "-Werror", "-Wno-unknown-pragmas", "-Wno-sign-compare", "-shared", "-fPIC"]
    flags += [f"-D{name}={value}" for name, value in defines.items()]
    include = ["-I", str(TESTS.parent / "cuda"), "-I", str(source.parent)]
    subprocess.run(["g++", *flags, *include, "-o", str(path), str(source)], check=True)
    return ctypes.CDLL(str(path))


class Emulated:
    """A kernel of the library."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.library, self.name, self.calls = library, name.encode(), 0

    def __call__(self, launch, grid, block, shared, stream):
        data = launch.tobytes()
        self.calls += 1
        assert self.library.run_kernel(self.name, data, ctypes.c_size_t(len(data)), min(grid[0], 2), block[0]) == 0
