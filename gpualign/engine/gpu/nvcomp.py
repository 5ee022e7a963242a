"""NVIDIA's nvCOMP, which deflates on a device: PyPI's nvidia-libnvcomp-cu12 or -cu13, where installed."""

from __future__ import annotations

import functools
import glob
import importlib.util
import os

from gpualign._native import NVCOMP_VERSION, Nvcomp, NvcompError

_PACKAGE = "nvidia.libnvcomp"


@functools.cache
def load_nvcomp() -> Nvcomp | None:
    """The library; None where there is none that can be used."""
    for path in library_paths():
        try:
            return Nvcomp(path)
        except NvcompError:
            continue
    return None


def library_paths() -> list[str]:
    """Where the package has its library, and the system's."""
    try:
        package = importlib.util.find_spec(_PACKAGE)
    except (ImportError, ValueError):
        package = None
    folders = () if package is None else tuple(package.submodule_search_locations or ())
    name = f"libnvcomp.so.{NVCOMP_VERSION}"
    inside = [path for folder in folders for path in sorted(glob.glob(os.path.join(folder, "lib*", name)))]
    return [*inside, name]
