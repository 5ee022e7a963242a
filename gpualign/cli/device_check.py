"""What GPUs there are, what it takes to use them, and whether they compute the same as the CPU."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from gpualign import _native
from gpualign.engine.gpu import compiler
from gpualign.engine.gpu.device import Device, list_devices
from gpualign.errors import DeviceError, counted
from gpualign.params import available_cores

#: name -> "module:function"; the function takes an open Device and raises DeviceError when it differs from the CPU
SELF_TESTS: dict[str, str] = {
    "distances": "gpualign.distances.device.self_test:self_test",
    "lcs": "gpualign.lcs.device.lengths:self_test",
    "lcs subsequences": "gpualign.lcs.device.trace:self_test",
    "map": "gpualign.map.device.kernel:self_test",
    "mems": "gpualign.mems.self_test:self_test",
    "pairwise": "gpualign.pairwise.device.self_test:self_test",
    "bounded gaps": "gpualign.pairwise.device.self_test:self_test_gapsmis",
    "verify": "gpualign.verify.device.kernel:self_test",
}


def describe() -> dict[str, Any]:
    """Everything a bug report about a GPU needs."""
    nvcc = compiler.find_nvcc()
    facts: dict[str, Any] = {
        "cpu": {"cores": available_cores(), "isa": _native.isa},
        "pycuda": _version("pycuda"),
        "nvcc": None if nvcc is None else f"{nvcc} ({compiler.nvcc_version(nvcc).strip().splitlines()[-1]})",
        "kernel_cache": str(compiler.cache_directory()),
        "kernels_cached": len(list(compiler.cache_directory().glob("*.cubin"))),
        "kernels_prebuilt": len(list((compiler.source_root() / "prebuilt").glob("*.fatbin"))),
    }
    try:
        infos = list_devices()
    except DeviceError as error:
        return facts | {"devices": [], "problem": str(error)}
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
    return facts


def run_devices(check: bool = False, as_json: bool = False) -> dict[str, Any]:
    """Print what :func:`describe` finds, with ``check`` after a self-test of each device.

    Raises:
        DeviceError: with ``check``, no device, a kernel that does not compile, or results that differ from the CPU's.
    """
    facts = describe()
    failures: list[str] = []
    if check:
        if not facts["devices"]:
            raise DeviceError(facts.get("problem", "there is no device to check"))
        facts["checks"] = []
        for info in list_devices():
            with Device(info) as device:
                for name, outcome, seconds in _check(device):
                    facts["checks"].append({"device": device.name, "check": name, "result": outcome, "s": seconds})
                    if outcome != "ok":
                        failures.append(f"{device.name}: {name}: {outcome}")
    print(json.dumps(facts, indent=1) if as_json else _table(facts))
    sys.stdout.flush()
    if failures:
        raise DeviceError("; ".join(failures))
    return facts


def _check(device: Device) -> list[tuple[str, str, float]]:
    """The outcome of each step and its seconds: all that the tests need is compiled at once, then they run."""
    wanted = tested_modules()
    steps: list[tuple[str, Callable[[], object]]] = [
        (f"compile {len(wanted)} kernel modules", lambda: device.call(device.prepare, wanted).result())
    ]
    for name, place in SELF_TESTS.items():
        module, function = place.split(":")
        steps.append((f"self-test {name}", lambda m=module, f=function: _load(m, f)(device)))  # type: ignore[misc]
    outcomes = []
    for name, step in steps:
        start = time.perf_counter()
        try:
            step()
            outcome = "ok"
        except DeviceError as error:
            outcome = str(error)
        outcomes.append((name, outcome, round(time.perf_counter() - start, 3)))
    return outcomes


def tested_modules() -> list[compiler.Variant]:
    """Every kernel module, with the macros that the self-tests use."""
    tests = [importlib.import_module(place.split(":")[0]) for place in SELF_TESTS.values()]
    return list({repr(variant): variant for test in tests for variant in test.SELF_TEST_MODULES}.values())


def _load(module: str, function: str) -> Callable[[Device], object]:
    loaded: Callable[[Device], object] = getattr(importlib.import_module(module), function)
    return loaded


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _table(facts: dict[str, Any]) -> str:
    lines = [
        f"CPU           {facts['cpu']['cores']} cores, {facts['cpu']['isa']}",
        f"PyCUDA        {facts['pycuda'] or 'not installed'}",
        f"nvcc          {facts['nvcc'] or 'not found'}",
        f"kernel cache  {facts['kernel_cache']} ({counted(facts['kernels_cached'], 'kernel')})",
        f"prebuilt      {counted(facts['kernels_prebuilt'], 'kernel')}",
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
    for check in facts.get("checks", ()):
        lines.append(f"{check['device']:<13} {check['check']}: {check['result']} ({check['s']:.2f} s)")
    return "\n".join(lines)
