"""What a command hands to a backend, and what a backend is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.gpu.device import Device
from gpualign.engine.gpu.nvcomp import NvcompError
from gpualign.engine.gpu.runner import Kernel
from gpualign.streaming.lent import Lend

Item = TypeVar("Item")
Result = TypeVar("Result")
Self = TypeVar("Self")


@dataclass(frozen=True)
class Stage(Generic[Item, Result]):
    """One step of a command in both forms; the two give equal results for every item.

    Attributes:
        cpu: item -> result; releases the GIL in native code.
        make_kernel: device -> kernel object, called once in each device's thread.
        slots: batches in flight on a device.
    """

    cpu: Callable[[Item], Result]
    make_kernel: Callable[[Device], Kernel[Item, Result]]
    slots: int = field(default=2, kw_only=True)


@dataclass(frozen=True)
class Again(Generic[Result]):
    """What is to be computed for an item before it is done.

    Attributes:
        item: to be staged, for the same kernel.
        after: the kernel's result -> result.
        otherwise: gives the result where nvCOMP fails.
    """

    item: Any
    after: Callable[[Any], Result | Again[Result]]
    otherwise: Callable[[], Result]


@dataclass(frozen=True)
class HostedStage(Stage[Item, Result]):
    """A stage with the host's work around it: host threads take an item from input to output and wait for the device.

    Attributes:
        cpu: item -> result, all of it.
        make_kernel: device -> kernel object for the items that ``staged`` makes.
        before: item -> (what ``after`` needs, what is to be staged).
        staged: (that, what lends page-locked memory) -> the kernel's item, its large arrays in such memory.
        cpu_kernel: the same as the kernel on the CPU, where that works next to devices.
        after: (what ``before`` left for it, the kernel's result) -> result, or what must be computed for that.
        compresses: the kernel takes :class:`BlockGroup`, too, for the stage's input, and :class:`Content` for temporary
            files.
        slots: some batches compute while others end with a few slow items, and one copies.
    """

    make_kernel: Callable[[Device], Kernel[Any, Any]]
    before: Callable[[Item], tuple[Any, Any]]
    cpu_kernel: Callable[[Any], Any]
    after: Callable[[Any, Any], Result | Again[Result]]
    staged: Callable[[Any, Lend], Any] = field(default=lambda item, _: item, kw_only=True)
    compresses: bool = field(default=False, kw_only=True)
    slots: int = field(default=4, kw_only=True)

    def around(self, run: Callable[[Any], Any], item: Item) -> Result:
        """One item from input to output; ``run`` gives the kernel's result, wherever it is computed."""
        kept, prepared = self.before(item)
        result = self.after(kept, run(prepared))
        while isinstance(result, Again):
            try:
                found = run(result.item)
            except NvcompError:
                result = result.otherwise()
            else:
                result = result.after(found)
        return result


class Backend(Protocol):
    """Runs a stage over items, results in order. Close it (or leave its ``with`` block) to free devices."""

    @property
    def name(self) -> str:
        """What the summary and the report call it: "cpu", "cuda:0", "cuda:0,1", "cuda:0+cpu"."""

    @property
    def on_gpu(self) -> bool:
        """True when a GPU takes items."""

    @property
    def device_memory(self) -> int:
        """Bytes of the smallest GPU's memory that may be used; 0 where there is none."""

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        """Yield the stage's result for each item, in order. Close what was not read to its end before the backend."""

    def load(self, loader: Callable[[Device], object]) -> None:
        """Have each device begin to load what runs will need; what fails here fails again when it is used."""

    def compressing(self) -> AbstractContextManager[None]:
        """Meanwhile devices inflate temporary files and deflate a share of the output, if they can; no stage runs."""

    def report(self) -> dict[str, Any]:
        """Fields for the JSON report: device, and per GPU bytes copied, kernel, copy and wall seconds."""

    def lend(self, nbytes: int) -> NDArray[np.uint8] | None:
        """Page-locked memory, from any thread; None where there is none at present."""

    def sees(self, path: str) -> bool:
        """Whether all workers can read the file at this path."""

    def close(self) -> None: ...

    def __enter__(self: Self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...
