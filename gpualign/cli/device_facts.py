"""What GPUs there are, what it takes to use them, and what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from typing import Any

from gpualign import _native
from gpualign.engine.gpu import compiler
from gpualign.engine.gpu.device import list_devices
from gpualign.engine.gpu.driver import gpu_is_there
from gpualign.errors import DeviceError, counted
from gpualign.params import available_cores

#: PyCUDA is compiled when it is installed, with the toolkit whose nvcc comes first on PATH
_PYCUDA = "pip install 'pycuda>=2024.1'"


def describe() -> dict[str, Any]:
    """Everything a bug report about a GPU needs; "missing" has what is to be done, as (what, command) pairs."""
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


def missing(facts: dict[str, Any], nvcc: str | None, has_gpu: bool) -> list[tuple[str, str | None]]:
    """What keeps gpualign from the GPU, and the command that mends it, if there is one."""
    if facts["devices"]:
        return _kernels(facts, nvcc)
    if not has_gpu:
        return [("an NVIDIA GPU, or its driver: nvidia-smi lists none here. All commands run on the CPU", None)]
    if facts["pycuda"]:
        return [("a driver that PyCUDA can use", "nvidia-smi")]
    return [("PyCUDA", _pycuda_command(nvcc))]


def _pycuda_command(nvcc: str | None) -> str:
    if (toolkit := _toolkit(nvcc)) is not None:
        return f"PATH={toolkit}/bin:$PATH {sys.executable} -m {_PYCUDA}"
    if os.environ.get("CONDA_PREFIX"):
        return "conda install -c conda-forge pycuda"
    return f"sudo apt-get install nvidia-cuda-toolkit g++ python3-dev && {sys.executable} -m {_PYCUDA}"


def _toolkit(nvcc: str | None) -> str | None:
    """The folder of the toolkit that an nvcc belongs to; an nvcc alone, without headers, is none."""
    found = None if nvcc is None else os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    candidates = (found, os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")
    return next((root for root in candidates if root and os.path.exists(f"{root}/include/cuda.h")), None)


def _kernels(facts: dict[str, Any], nvcc: str | None) -> list[tuple[str, str | None]]:
    """Without a compiler the prebuilt kernels have to do."""
    if nvcc is not None:
        return []
    if not facts["kernels_prebuilt"]:
        if facts["kernels_cached"]:
            return []
        return [("nvcc: this installation has no prebuilt kernels", "sudo apt-get install nvidia-cuda-toolkit")]
    if facts["prebuilt_by"] and _number(facts["driver"]) < _number(facts["prebuilt_by"]):
        what = f"a driver for CUDA {facts['prebuilt_by']} or later, as the prebuilt kernels need, or nvcc"
        return [(what, "sudo apt-get install nvidia-cuda-toolkit")]
    return []


def _number(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def table(facts: dict[str, Any]) -> str:
    """For people; what is missing comes last."""
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
        lines.append(f"GPU           none usable: {facts['problem']}")
    for what, command in facts["missing"]:
        lines += ["", f"Missing: {what}."] + ([f"  {command}"] if command else [])
    return "\n".join(lines)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
