"""What a command hands to a backend, and what a backend is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.runner import Kernel
from gpualign.io.bgzf import BgzfCodec
from gpualign.streaming.lent import Lend

Item = TypeVar("Item")
Result = TypeVar("Result")
Self = TypeVar("Self")


#: (pinned memory's lender -> a kernel's item) -> what a device made of that item, for which the calling thread waits
Run = Callable[[Callable[[Lend], Any]], Any]


def as_it_is(item: Any, run: Run) -> Any:
    """The stage of an item that is the kernel's own."""
    return run(lambda _: item)


@dataclass(frozen=True)
class Stage(Generic[Item, Result]):
    """One step of a command: a function for each processor. The two give equal results for every item.

    Attributes:
        on_cpu: item -> result, in one thread; releases the GIL in native code.
        make_kernel: device -> kernel object, called once in each device's thread.
        on_device: (item, run) -> result, in a thread of the host. ``run`` has a device compute what a kernel takes,
            as often as that is needed.
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
        """What the summary and the report call it: "cpu", "cuda:0", "cuda:0,1", "cuda:0+cpu"."""

    @property
    def on_gpu(self) -> bool:
        """True when a GPU takes items."""

    @property
    def devices(self) -> Sequence[Device]:
        """GPUs of this machine that take items."""

    @property
    def codec(self) -> BgzfCodec:
        """What inflates and deflates files next to this machine's threads."""

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        """Yield the stage's result for each item, in order. Close what was not read to its end before the backend."""

    def report(self) -> dict[str, Any]:
        """Fields for the JSON report: device, and per GPU bytes copied, kernel, copy and wall seconds."""

    def close(self) -> None: ...

    def __enter__(self: Self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
