"""The CPU backend: a pool of threads over the native code."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from gpualign.run.stage import Backend, Item, Result, Stage
from gpualign.streaming.ordered import run_ordered


class CpuBackend(Backend):
    """Runs stages with ``threads`` host threads.

    Attributes:
        reason: why the CPU is used, for the report.
    """

    name = "cpu"

    def __init__(self, threads: int, reason: str = "no GPU was asked for") -> None:
        self.threads, self.reason = threads, reason
        self.items = 0

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        for result in run_ordered(items, stage.on_cpu, self.threads):
            self.items += 1
            yield result

    def report(self) -> dict[str, Any]:
        fields = {"device": self.name, "device_reason": self.reason}
        return fields | {"cpu_batches": self.items, "gpu_batches": 0}

    def close(self) -> None:
        pass
