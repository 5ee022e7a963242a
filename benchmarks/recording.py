"""Where a benchmark ran, and its result file."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path
from typing import Any

from gpualign import __version__, _native


def machine() -> dict[str, Any]:
    """Processor, cores, GPUs with driver, and the versions of what takes part."""
    facts: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "gpualign": __version__,
        "isa": _native.isa,
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
    }
    for package in ("numpy", "edlib", "parasail", "rapidfuzz", "pycuda"):
        try:
            facts[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    try:
        from gpualign.gpu.device import list_devices

        infos = list_devices()
        facts["gpus"] = [f"{info.name}, driver for CUDA {info.driver}" for info in infos]
    except Exception:  # no GPU is a fact as well
        facts["gpus"] = []
    return facts


def machine_name(facts: dict[str, Any]) -> str:
    """A short name for the result file: the GPU, else the number of cores."""
    if facts["gpus"]:
        return re.sub(r"[^a-z0-9]+", "", facts["gpus"][0].split(",")[0].lower().replace("nvidia", ""))
    return f"cpu{facts['cores']}"


def record(name: str, results: Any, folder: str | None = None) -> Path:
    """Write ``results/<name>-<machine>.json`` (or into ``folder``) and return its path."""
    facts = machine()
    directory = Path(folder) if folder else Path(__file__).parent / "results"
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}-{machine_name(facts)}.json"
    path.write_text(json.dumps({"machine": facts, "results": results}, indent=1) + "\n")
    return path


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
