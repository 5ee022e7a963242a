"""Huge pages are off while records are held, and as before afterwards."""

from __future__ import annotations

import ctypes
import sys

import pytest

from gpualign.run.malloc_tuning import small_pages

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="huge pages are Linux's")
#: linux/prctl.h
_SET, _GET = 41, 42


def _prctl(operation: int, value: int = 0) -> int:
    return int(ctypes.CDLL(None).prctl(operation, value, 0, 0, 0))


@pytest.mark.parametrize("before", [0, 1])
def test_huge_pages_are_off_meanwhile(before: int) -> None:
    usual = _prctl(_GET)
    _prctl(_SET, before)
    try:
        with small_pages():
            assert _prctl(_GET) == 1
        assert _prctl(_GET) == before
        with pytest.raises(KeyError), small_pages():
            raise KeyError
        assert _prctl(_GET) == before
    finally:
        _prctl(_SET, usual)
