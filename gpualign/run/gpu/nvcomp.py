"""NVIDIA's nvCOMP, which inflates and deflates on a device (PyPI's nvidia-libnvcomp-cu12 or -cu13)."""

from __future__ import annotations

import functools
import glob
import importlib.util
import os

from gpualign._native import NVCOMP_VERSION, Nvcomp, NvcompError

_PACKAGE = "nvidia.libnvcomp"


@functools.cache
def load_nvcomp() -> Nvcomp | None:
    """The library; None if there is none of the right version."""
    for path in library_paths():
        try:
            return Nvcomp(path)
        except NvcompError:
            continue
    return None


def library_paths() -> list[str]:
    """Paths of the package's library, then the system's."""
    try:
        package = importlib.util.find_spec(_PACKAGE)
    except (ImportError, ValueError):
        package = None
    folders = () if package is None else tuple(package.submodule_search_locations or ())
    name = f"libnvcomp.so.{NVCOMP_VERSION}"
    inside = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "lib*", name)))]
    return [*inside, name]
