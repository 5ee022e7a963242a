"""What has to give the same: native code at each instruction-set level, and a GPU.

A test of a kernel takes the fixture ``backend``, which is each of IMPLEMENTATIONS in turn, and compares with an oracle;
one of code that no GPU runs takes ``level``. A test of a whole command takes ``device``, or calls ``same_on_gpu``,
which compares with the CPU's bytes. One that works on a device by itself takes ``gpu``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from gpualign import _native
from gpualign.cli import main
from gpualign.run.cpu import CpuBackend

#: that were built and that this processor can run, best first; GPUALIGN_ISA picks one for a process
LEVELS = _native.available_levels()


@contextmanager
def native_level(level: str) -> Iterator[None]:
    """``gpualign._native`` is the build for ``level``. Objects of one build are strangers to another."""
    with pytest.MonkeyPatch.context() as patch:
        module = import_module(f"gpualign._native.{level}")
        for name, value in {"_module": module, **vars(module)}.items():
            if not name.startswith("__"):
                patch.setattr(_native, name, value)
        yield


def on_gpu(*names: str) -> list[object]:
    """As parameters: run where there is a device (make test-gpu)."""
    return [pytest.param(name, marks=pytest.mark.gpu) for name in names]


#: how a command may run on GPUs
ON_GPU = {
    "one GPU": ("--device", "cuda:0"),
    "small batches": ("--device", "cuda:0", "--batch-size", "10000"),
    "little memory": ("--device", "cuda:0", "--max-gpu-mem", "256M", "--batch-size", "100000"),
    "all GPUs": ("--device", "cuda", "--batch-size", "20000"),
}

#: of a command's --device
DEVICES = ["cpu", *on_gpu("cuda")]

#: of the kernels
IMPLEMENTATIONS = [*LEVELS, *on_gpu("cuda")]


@contextmanager
def open_backend(implementation: str) -> Iterator[Any]:
    """What runs stages by it."""
    if implementation == "cuda":
        from gpualign.run.cuda import CudaBackend
        from gpualign.run.gpu.device import list_devices

        with CudaBackend(list_devices()[:1]) as cuda:
            yield cuda
    else:
        with native_level(implementation), CpuBackend(1) as cpu:
            yield cpu


def same_on_gpu(*words: object, output: Path, ways: Iterable[tuple[object, ...]] = (ON_GPU["one GPU"],)) -> bytes:
    """What a command writes into ``output`` on the CPU, and writes again with the options of each of ``ways``."""
    written = []
    for way in (("--device", "cpu"), *ways):
        with pytest.raises(SystemExit) as ended:
            main([*map(str, words), *map(str, way), "-o", str(output)])
        assert not ended.value.code
        written.append(output.read_bytes())
        assert written[-1] == written[0], way
    return written[0]
