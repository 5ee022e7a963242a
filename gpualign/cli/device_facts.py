"""The GPUs of this machine, what gpualign needs to use them, and what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from gpualign import _native
from gpualign.errors import DeviceError, counted
from gpualign.params import available_cores
from gpualign.run.gpu import compiler
from gpualign.run.gpu.device import list_devices
from gpualign.run.gpu.driver import gpu_is_there

#: `make wheel` leaves wheels of gpualign and of PyCUDA in dist; the latter need a driver alone
_WHEELS = "pip install --prefer-binary --find-links dist 'gpualign[cuda]'"
#: otherwise PyCUDA is compiled when it is installed, with the toolkit whose nvcc comes first on PATH
_PYCUDA = "pip install 'pycuda>=2024.1'"
#: package manager -> commands that install the driver and the toolkit, and the packages to compile PyCUDA
_PACKAGES = {
    "ubuntu-drivers": ("ubuntu-drivers install", "apt-get install nvidia-cuda-toolkit", "g++ python3-dev"),
    "apt-get": ("apt-get install nvidia-driver", "apt-get install nvidia-cuda-toolkit", "g++ python3-dev"),
    "dnf": ("dnf install nvidia-open", "dnf install cuda-toolkit", "gcc-c++ python3-devel"),
    "zypper": ("zypper install nvidia-open", "zypper install cuda-toolkit", "gcc-c++ python3-devel"),
    "pacman": ("pacman -S nvidia", "pacman -S cuda", "gcc"),
}
PCI_DEVICES = Path("/sys/bus/pci/devices")
#: what is missing, and commands any of which mends it
Missing = tuple[str, list[str]]
#: NVIDIA's PCI vendor ID, and the class of display controllers
_NVIDIA, _DISPLAY = "0x10de", "0x03"


def describe() -> dict[str, Any]:
    """Facts for a bug report about a GPU; "missing" lists (what, commands any of which installs it)."""
    nvcc = compiler.find_nvcc()
    facts: dict[str, Any] = {
        "cpu": {"cores": available_cores(), "isa": _native.isa},
        "pycuda": _version("pycuda"),
        "nvcc": None if nvcc is None else f"{nvcc} ({compiler.nvcc_version(nvcc).strip().splitlines()[-1]})",
        "kernel_cache": str(compiler.cache_directory()),
        "kernels_cached": len(list(compiler.cache_directory().glob("*.cubin"))),
        "kernels_prebuilt": len(list(compiler.prebuilt_directory().glob("*.fatbin"))),
        "prebuilt_by": compiler.prebuilt_by(),
        "devices": [],
    }
    try:
        infos = list_devices()
        facts["driver"] = infos[0].driver if infos else None
        facts["devices"] = [
            {
                "device": f"cuda:{info.index}",
                "name": info.name,
                "compute_capability": f"{info.capability[0]}.{info.capability[1]}",
                "memory_mb": info.memory >> 20,
            }
            for info in infos
        ]
    except DeviceError as error:
        facts["problem"] = str(error)
    facts["missing"] = missing(facts, nvcc, gpu_is_there())
    return facts


def missing(facts: dict[str, Any], nvcc: str | None, has_gpu: bool) -> list[Missing]:
    """What gpualign lacks to use the GPU, and for each the commands any of which mends it, the easiest first."""
    if facts["devices"]:
        return _kernels(facts, nvcc)
    pycuda: list[Missing] = [] if facts["pycuda"] else [("PyCUDA", _pycuda_commands(nvcc))]
    if has_gpu:
        return pycuda or [("a driver that PyCUDA can use", ["nvidia-smi"])]
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return [("a GPU that CUDA_VISIBLE_DEVICES does not hide", ["unset CUDA_VISIBLE_DEVICES"])]
    if card_is_there():
        return [("NVIDIA's driver for the GPU of this machine", [_system_command(0)]), *pycuda]
    return [("an NVIDIA GPU. All commands run on the CPU", [])]


def card_is_there() -> bool:
    """Whether the machine has an NVIDIA GPU, with a driver or without."""
    for vendor in PCI_DEVICES.glob("*/vendor"):
        try:
            kind = (vendor.parent / "class").read_text()
            if vendor.read_text().strip() == _NVIDIA and kind.startswith(_DISPLAY):
                return True
        except OSError:
            continue
    return False


def _system_command(which: int) -> str:
    """The command that installs the driver (0) or the toolkit (1), with sudo if need be."""
    manager = _manager()
    sudo = "" if os.geteuid() == 0 else "sudo "
    return sudo + _PACKAGES[manager][which]


def _manager() -> str:
    return next((name for name in _PACKAGES if shutil.which(name)), "apt-get")


def _pycuda_commands(nvcc: str | None) -> list[str]:
    python = sys.executable
    if (toolkit := _toolkit(nvcc)) is not None:
        other = f"PATH={toolkit}/bin:$PATH {python} -m {_PYCUDA}"
    elif os.environ.get("CONDA_PREFIX"):
        other = "conda install -c conda-forge pycuda"
    else:
        other = f"{_system_command(1)} {_PACKAGES[_manager()][2]} && {python} -m {_PYCUDA}"
    return [f"{python} -m {_WHEELS}", other]


def _toolkit(nvcc: str | None) -> str | None:
    """The toolkit's folder, with headers; None if there is none."""
    found = None if nvcc is None else os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    candidates = (found, os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    return next((root for root in candidates if root and os.path.exists(f"{root}/include/cuda.h")), None)


def _kernels(facts: dict[str, Any], nvcc: str | None) -> list[Missing]:
    """What is missing if there is no compiler and the prebuilt kernels cannot be used."""
    if nvcc is not None:
        return []
    if not facts["kernels_prebuilt"]:
        if facts["kernels_cached"]:
            return []
        return [("nvcc: this installation has no prebuilt kernels", [_system_command(1)])]
    if facts["prebuilt_by"] and _number(facts["driver"]) < _number(facts["prebuilt_by"]):
        what = f"a driver for CUDA {facts['prebuilt_by']} or later, as the prebuilt kernels need, or nvcc"
        return [(what, [_system_command(1)])]
    return []


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def table(facts: dict[str, Any]) -> str:
    """The facts as text; what is missing comes last."""
    nvcc = facts["nvcc"] or ("not found, and not needed" if facts["kernels_prebuilt"] else "not found")
    by = f", by CUDA {facts['prebuilt_by']}" if facts["kernels_prebuilt"] and facts["prebuilt_by"] else ""
    lines = [
        f"CPU           {facts['cpu']['cores']} cores, {facts['cpu']['isa']}",
        f"PyCUDA        {facts['pycuda'] or 'not installed'}",
        f"nvcc          {nvcc}",
        f"kernel cache  {facts['kernel_cache']} ({counted(facts['kernels_cached'], 'kernel')})",
        f"prebuilt      {counted(facts['kernels_prebuilt'], 'kernel')}{by}",
    ]
    if facts.get("driver"):
        lines.append(f"driver        CUDA {facts['driver']}")
    for device in facts["devices"]:
        lines.append(
            f"{device['device']:<13} {device['name']}, compute capability {device['compute_capability']}, "
            f"{device['memory_mb']} MiB"
        )
    if "problem" in facts:
        lines.append("GPU           none usable" + (f": {facts['problem']}" if facts["pycuda"] else ""))
    for what, commands in facts["missing"]:
        lines += ["", f"Missing: {what}."]
        for number, command in enumerate(commands):
            lines.append(f"  {command}" if number == 0 else f"or\n  {command}")
    return "\n".join(lines)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
