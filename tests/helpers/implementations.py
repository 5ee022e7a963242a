"""What has to give the same: native code at each instruction-set level, and a GPU."""

from __future__ import annotations

import pytest

from gpualign import _native

#: that were built and that this processor can run, best first; GPUALIGN_ISA picks one for a process
LEVELS = _native.available_levels()


def on_gpu(*names: str) -> list[object]:
    """As parameters: run where there is a device (make test-gpu)."""
    return [pytest.param(name, marks=pytest.mark.gpu) for name in names]


#: of a command's --device
DEVICES = ["cpu", *on_gpu("cuda")]
