"""What has to give the same: native code at each instruction-set level, and a GPU.

Tests of kernels take the fixture ``backend``, which is each of IMPLEMENTATIONS in turn; those of code that no GPU runs
take ``level``, and those of whole commands ``device``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from gpualign import _native
from gpualign.engine.cpu import CpuBackend

#: that were built and that this processor can run, best first; GPUALIGN_ISA picks one for a process
LEVELS = _native.available_levels()


@contextmanager
def native_level(level: str) -> Iterator[None]:
    """``gpualign._native`` is the build for ``level``. Objects of one build are strangers to another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_native, "_module", import_module(f"gpualign._native.{level}"))
        patch.setattr(_native, "isa", level)
        yield


def on_gpu(*names: str) -> list[object]:
    """As parameters: run where there is a device (make test-gpu)."""
    return [pytest.param(name, marks=pytest.mark.gpu) for name in names]


#: of a command's --device
DEVICES = ["cpu", *on_gpu("cuda")]

#: of the kernels
IMPLEMENTATIONS = [*LEVELS, *on_gpu("cuda")]


@contextmanager
def open_backend(implementation: str) -> Iterator[Any]:
    """What runs stages by it."""
    if implementation == "cuda":
        from gpualign.engine.cuda import CudaBackend
        from gpualign.engine.gpu.device import list_devices

        with CudaBackend(list_devices()[:1]) as cuda:
            yield cuda
    else:
        with native_level(implementation), CpuBackend(1) as cpu:
            yield cpu
