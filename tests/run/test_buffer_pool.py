"""Memory that is used again."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from gpualign.run.buffer_pool import BufferPool
from gpualign.run.gpu.pinned_pool import is_pinned


def test_memory_is_used_again_when_no_view_is_left() -> None:
    memory = BufferPool()
    buffer = memory.make(100_000)
    address, view = buffer.ctypes.data, buffer[10:20]
    del buffer
    gc.collect()
    other = memory.make(100_000)
    assert other.ctypes.data != address
    del view
    gc.collect()
    assert memory.make(100_000).ctypes.data == address


@pytest.mark.parametrize("nbytes", [0, 1, 255, 257, 1_000_000])
def test_buffers_are_large_enough(nbytes: int) -> None:
    buffer = BufferPool().make(nbytes)
    assert buffer.dtype == np.uint8
    assert nbytes <= len(buffer) <= max(256, 1.25 * nbytes) + 256


def test_it_is_not_pinned() -> None:
    assert not is_pinned(BufferPool().make(1000))


def test_another_process_gets_none_of_it() -> None:
    memory = BufferPool()
    address = memory.make(1000).ctypes.data
    gc.collect()
    copy = pickle.loads(pickle.dumps(memory))
    assert memory.make(1000).ctypes.data == address
    assert len(copy.make(1000)) >= 1000
