"""``gpualign devices --check``: compares the GPUs' results with the CPU's."""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from gpualign.cli.device_facts import describe, table
from gpualign.errors import DeviceError
from gpualign.run.gpu import compiler
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.self_test import run_self_tests

#: name -> "module:function", which yields self-tests
SELF_TESTS: dict[str, str] = {
    "distances": "gpualign.align.matrix.device.self_test:self_tests",
    "lcs": "gpualign.align.lcs.device.lengths:self_tests",
    "lcs subsequences": "gpualign.align.lcs.device.trace:self_tests",
    "map": "gpualign.map.device.self_test:self_tests",
    "map's records": "gpualign.map.device.self_test:self_tests_of_records",
    "mems": "gpualign.seeds.matches.self_test:self_tests",
    "pairwise": "gpualign.align.score.device.self_test:self_tests",
    "align": "gpualign.align.genomes.self_test:self_tests",
    "bounded gaps": "gpualign.align.score.device.self_test:self_tests_of_gaps",
    "search": "gpualign.align.patterns.device:self_tests",
    "sintax": "gpualign.seeds.words.device:self_tests",
    "verify": "gpualign.align.edit.device.kernel:self_tests",
}


def run_devices(check: bool = False, as_json: bool = False) -> dict[str, Any]:
    """Print the facts of :func:`describe`; with ``check`` also each device's self-tests and a verdict.

    Raises:
        DeviceError: with ``check``, no device, a kernel that does not compile, or results that differ from the CPU's.
    """
    facts = describe()
    if check and facts["devices"]:
        facts["checks"] = []
    if not as_json:
        print(table(facts), flush=True)
    failures: list[str] = []
    if check:
        if not facts["devices"]:
            wants = (f"{what} ({commands[0]})" if commands else what for what, commands in facts["missing"])
            raise DeviceError(f"no device to check; missing: {', '.join(wants)}")
        for info in list_devices():
            with Device(info) as device:
                failures += _check_device(device, facts["checks"], as_json)
    if as_json:
        print(json.dumps(facts, indent=1))
    sys.stdout.flush()
    if failures:
        raise DeviceError("; ".join(failures))
    return facts


def _check_device(device: Device, checks: list[dict[str, Any]], quiet: bool) -> list[str]:
    """Run and print all checks of a device; returns what failed."""
    show: Callable[[str], object] = (lambda line: None) if quiet else (lambda line: print(line, flush=True))
    failures, begin = [], time.perf_counter()
    show(f"\n{device.name:<22} {'seconds':>7}  result")
    for name, outcome, seconds in _steps(device):
        checks.append({"device": device.name, "check": name, "result": outcome, "s": seconds})
        show(f"{name:<22} {seconds:>7.2f}  {outcome}")
        if outcome != "ok":
            failures.append(f"{device.name}: {name}: {outcome}")
    took = f"{time.perf_counter() - begin:.1f} s"
    count = 1 + len(SELF_TESTS)
    if failures:
        show(f"\n{device.name} must not be used: {len(failures)} of {count} checks failed ({took}).")
    else:
        show(f"\n{device.name} is ready: in all {count} checks its results are the CPU's ({took}).")
    return failures


def _steps(device: Device) -> Iterator[tuple[str, str, float]]:
    """Yield (step, outcome, seconds): load all modules, then run each test."""
    wanted = modules_to_test(with_compiler=compiler.find_nvcc() is not None)
    steps: list[tuple[str, Callable[[], object]]] = [
        (f"load {len(wanted)} modules", lambda: device.call(device.prepare, wanted).result())
    ]
    for name, location in SELF_TESTS.items():
        steps.append((name, partial(check, device, location)))
    for name, step in steps:
        start = time.perf_counter()
        try:
            step()
            outcome = "ok"
        except DeviceError as error:
            outcome = str(error)
        yield name, outcome, round(time.perf_counter() - start, 3)


def modules_to_test(with_compiler: bool) -> list[compiler.Variant]:
    """Every kernel module, with the macros that the self-tests use; with a compiler also variants that wheels lack."""
    wanted: dict[str, compiler.Variant] = {}
    for location in SELF_TESTS.values():
        test = importlib.import_module(location.split(":")[0])
        others = getattr(test, "COMPILED_MODULES", ()) if with_compiler else ()
        wanted |= {repr(variant): variant for variant in (*test.SELF_TEST_MODULES, *others)}
    return list(wanted.values())


def check(device: Device, location: str) -> None:
    """Run the tests of an entry of :data:`SELF_TESTS`.

    Raises:
        DeviceError: as :func:`run_self_tests`.
    """
    module, function = location.split(":")
    run_self_tests(device, getattr(importlib.import_module(module), function)())
