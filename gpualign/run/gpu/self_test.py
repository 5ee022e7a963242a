"""Self-tests of kernels: what a device computes must be what the CPU does (``gpualign devices --check``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from gpualign.errors import DeviceError
from gpualign.params import available_cores
from gpualign.run.gpu.device import Device


@dataclass(frozen=True)
class SelfTest:
    """One result by both processors.

    Attributes:
        name: of the result, in the plural.
        on_device, on_cpu: compute it: an array, bytes, or a dataclass or sequence of such.
    """

    name: str
    on_device: Callable[[Device], Any]
    on_cpu: Callable[[], Any]


def run_self_tests(device: Device, tests: Iterable[SelfTest]) -> None:
    """Run tests on a device, while all cores compute what they must give.

    Raises:
        DeviceError: a result differs, or the device cannot compute it.
    """
    with ThreadPoolExecutor(available_cores()) as pool:
        for test, expected in [(test, pool.submit(test.on_cpu)) for test in tests]:
            got = test.on_device(device)
            for name in _differences(got, expected.result()):
                where = f" in {name}" if name else ""
                raise DeviceError(f"{device.name}: {test.name} differ from the CPU's{where}")


def _differences(got: Any, expected: Any, name: str = "") -> Iterator[str]:
    """The names of the parts that differ; "" where there are no parts."""
    if is_dataclass(expected):
        for field in fields(expected):
            yield from _differences(getattr(got, field.name), getattr(expected, field.name), field.name)
    elif isinstance(expected, tuple):
        for number, (one, other) in enumerate(zip(got, expected, strict=True)):
            yield from _differences(one, other, name or f"column {number + 1}")
    elif not (np.array_equal(got, expected) if isinstance(expected, np.ndarray) else got == expected):
        yield name
