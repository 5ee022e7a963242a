"""Where the time of a run went, step by step, for its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: in the order in which an input meets them, on the host and on devices
STEPS_OF_RUN = (
    ("read", "inflate", "parse", "copy", "compute", "format", "deflate", "write"),
    ("copy to device", "kernel", "copy from device"),
)
#: of `map`, which has more steps on a device
MAP_STEPS = (
    ("read", "inflate", "parse", "copy", "map", "format", "mark", "sort", "merge", "deflate", "write"),
    ("copy to device", "inflate", "parse", "map", "format", "deflate", "copy from device"),
)
#: of steps that one thread does at a time
_ALONE = ("write",)


def timeline_of(
    steps: tuple[Sequence[str], Sequence[str]],
    host: Mapping[str, float],
    devices: Sequence[Mapping[str, Any]],
    wall: float,
    threads: int,
) -> dict[str, dict[str, dict[str, float]]]:
    """``host`` and ``devices``: of each step the seconds of all threads or devices, and how busy that kept them.

    Args:
        steps: of the host and of devices.
        host: seconds of each step.
        devices: their fields of the report.
        wall: seconds from the first to the last.
        threads: that steps of the host may have, but for those that one thread does.
    """

    def shares(names: Sequence[str], seconds: Mapping[str, float], lanes: int) -> dict[str, dict[str, float]]:
        return {
            step: {
                "seconds": round(seconds.get(step, 0.0), 6),
                "busy": round(seconds.get(step, 0.0) / max(1e-9, wall * (1 if step in _ALONE else lanes)), 6),
            }
            for step in names
        }

    of_devices: dict[str, float] = {}
    for device in devices:
        for step, seconds in device["steps"].items():
            of_devices[step] = of_devices.get(step, 0.0) + seconds
    return {
        "host": shares(steps[0], host, threads),
        "devices": shares(steps[1], of_devices, len(devices)) if devices else {},
    }
