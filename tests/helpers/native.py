"""The native module of what only tests call, at the level that gpualign._native has."""

from __future__ import annotations

from importlib import import_module

from gpualign import _native

try:
    native_tests = import_module(f"gpualign._native.{_native.isa}_tests")
except ModuleNotFoundError as error:
    raise ImportError("built without -DGPUALIGN_TESTS=ON (make test does it)") from error
