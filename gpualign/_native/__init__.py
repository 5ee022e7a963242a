"""The native extension, in the best build that this processor can run.

One C++ source is built once per instruction-set level (see CMakeLists.txt). The environment variable
``GPUALIGN_ISA`` forces a level, e.g. ``GPUALIGN_ISA=x86_64_v2``; all levels give the same bytes.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING

from gpualign.errors import UsageError

if TYPE_CHECKING:
    from gpualign._native.level import *  # noqa: F403 - level.pyi, which the build writes

#: best first; "generic" is the only one outside x86-64
_LEVELS = ("x86_64_v4", "x86_64_v3", "x86_64_v2", "generic")


def available_levels() -> list[str]:
    """Levels that were built and that this processor can run, best first."""
    built = {module.name for module in pkgutil.iter_modules(__path__)}  # noqa: F405
    candidates = [level for level in _LEVELS if level in built]
    if not candidates:
        raise ImportError("gpualign._native was not built: run `pip install .` with a C++17 compiler")
    # the lowest build runs everywhere and knows the processor
    baseline = importlib.import_module(f"{__name__}.{candidates[-1]}")
    return [level for level in candidates if baseline.cpu_supports(level)]


def _load() -> ModuleType:
    levels = available_levels()
    wanted = os.environ.get("GPUALIGN_ISA")
    if wanted is None:
        wanted = levels[0]
    elif wanted not in levels:
        raise UsageError(f"GPUALIGN_ISA={wanted}: this build and processor offer {', '.join(levels)}")
    return importlib.import_module(f"{__name__}.{wanted}")


_module = _load()
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("__")})
