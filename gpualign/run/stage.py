"""The interface between commands and backends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from gpualign.run.gpu.device import Device
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.streaming.pinned import Allocate
from gpualign.text.bgzf import CPU_CODEC, BgzfCodec

Item = TypeVar("Item")
Result = TypeVar("Result")
Self = TypeVar("Self")


#: ``run(make)`` has a device compute the kernel's item ``make(allocate)``, waits, and returns the kernel's result.
#: ``make`` is called when the item's turn to be staged has come; ``allocate`` allocates pinned memory for its arrays
Run = Callable[[Callable[[Allocate], Any]], Any]


def as_it_is(item: Any, run: Run) -> Any:
    """``on_device`` of a stage whose items are what the kernel takes."""
    return run(lambda _: item)


@dataclass(frozen=True)
class Stage(Generic[Item, Result]):
    """One step of a command: a function for each processor. The two give equal results for every item.

    Attributes:
        on_cpu: item -> result, in one thread; releases the GIL in native code.
        make_kernel: device -> kernel object, called once in each device's thread.
        on_device: (item, run) -> result, in a host thread. Each call of ``run`` lets a device compute one item of the
            kernel.
        slots: batches in flight on a device.
        sorts: host threads also sort what the stage yields, so that they have less time to inflate.
    """

    on_cpu: Callable[[Item], Result]
    make_kernel: Callable[[Device], DeviceKernel[Any, Any]]
    on_device: Callable[[Item, Run], Result] = as_it_is
    slots: int = field(default=2, kw_only=True)
    sorts: bool = field(default=False, kw_only=True)


class Backend(ABC):
    """Runs a stage over items, results in order. Close it (or leave its ``with`` block) to free devices.

    Attributes:
        name: in the summary and the report: "cpu", "cuda:0" or "cuda:0,1".
        local: stages run in this process.
        on_gpu: a GPU of this machine takes items.
        devices: GPUs of this machine that take items.
    """

    local = True
    on_gpu = False
    devices: Sequence[Device] = ()

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    def codec(self) -> BgzfCodec:
        """Inflates and deflates BGZF next to this machine's threads."""
        return CPU_CODEC

    @abstractmethod
    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        """Yield the stage's result for each item, in order. Close an unfinished generator before the backend."""

    @abstractmethod
    def report(self) -> dict[str, Any]:
        """Fields for the JSON report: device, and per GPU bytes copied, kernel, copy and wall seconds."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
