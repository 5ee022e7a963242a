"""The interface between commands and backends."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.runner import Kernel
from gpualign.io.bgzf import BgzfCodec
from gpualign.streaming.pinned import Allocate

Item = TypeVar("Item")
Result = TypeVar("Result")
Self = TypeVar("Self")


#: (pinned allocator -> a kernel's item) -> the kernel's result; the calling thread waits for it
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
    """

    on_cpu: Callable[[Item], Result]
    make_kernel: Callable[[Device], Kernel[Any, Any]]
    on_device: Callable[[Item, Run], Result] = as_it_is
    slots: int = field(default=2, kw_only=True)


class Backend(Protocol):
    """Runs a stage over items, results in order. Close it (or leave its ``with`` block) to free devices."""

    @property
    def name(self) -> str:
        """Its name in the summary and the report: "cpu", "cuda:0", "cuda:0,1", "cuda:0+cpu"."""

    @property
    def on_gpu(self) -> bool:
        """True when a GPU takes items."""

    @property
    def devices(self) -> Sequence[Device]:
        """GPUs of this machine that take items."""

    @property
    def codec(self) -> BgzfCodec:
        """Inflates and deflates BGZF next to this machine's threads."""

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        """Yield the stage's result for each item, in order. Close an unfinished generator before the backend."""

    def report(self) -> dict[str, Any]:
        """Fields for the JSON report: device, and per GPU bytes copied, kernel, copy and wall seconds."""

    def close(self) -> None: ...

    def __enter__(self: Self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
