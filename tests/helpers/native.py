"""The native module of what only tests call, at the level that ``gpualign._native`` has now."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from gpualign import _native


def _module() -> ModuleType:
    try:
        return import_module(f"gpualign._native.{_native.isa}_tests")
    except ModuleNotFoundError as error:
        raise ImportError("built without -DGPUALIGN_TESTS=ON (make test does it)") from error


def __getattr__(name: str) -> Any:
    return getattr(_module(), name)


def __dir__() -> list[str]:
    return dir(_module())
