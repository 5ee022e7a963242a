"""BGZF on devices: inflates and deflates between the batches of a stage, or while no stage runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign._native import NvcompError
from gpualign.errors import GpualignError
from gpualign.params import available_cores
from gpualign.run import tuning
from gpualign.run.fifo_semaphore import FifoSemaphore
from gpualign.run.gpu.deflate import Content, DeflateKernel
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.inflate import BlockGroup, InflateKernel
from gpualign.run.gpu.kernel import DeviceKernel
from gpualign.run.gpu.nvcomp import load_nvcomp
from gpualign.run.gpu.runner import DevicePool
from gpualign.streaming.pinned import Allocate
from gpualign.text import tuning as io_tuning
from gpualign.text.bgzf import BgzfCodec, inflated_in


class CompressingKernel(DeviceKernel[Any, Any]):
    """A stage's kernel, and kernels that inflate groups of blocks and deflate contents; the CPU does what does not fit.

    Args:
        kernel: the stage's kernel; None: there is no stage.
    """

    def __init__(self, device: Device, kernel: DeviceKernel[Any, Any] | None = None) -> None:
        super().__init__(device)
        self._kernel = kernel
        self._own: dict[type, DeviceKernel[Any, Any]] = {}

    def kernel_for(self, item: Any) -> DeviceKernel[Any, Any]:
        if not isinstance(item, BlockGroup | Content):
            assert self._kernel is not None
            return self._kernel.kernel_for(item)
        if not self._own and (nvcomp := load_nvcomp()) is not None:
            self._own[BlockGroup] = InflateKernel(self.device, nvcomp)
            self._own[Content] = DeflateKernel(self.device, nvcomp)
        return self._own[type(item)]


class DeviceCodec(BgzfCodec):
    """Inflates and deflates on devices with nvCOMP.

    Args:
        allocate: allocates pinned memory.
        host_threads: CPU threads that inflate and deflate as well.
    """

    def __init__(self, devices: Sequence[Device], allocate: Allocate, host_threads: int) -> None:
        self._devices, self._allocate, self._threads = devices, allocate, host_threads
        self._pool: DevicePool[Any, Any] | None = None
        self._is_alone = False
        self._inflating = self._deflating = FifoSemaphore(0)

    @property
    def group_bytes(self) -> int:  # type: ignore[override]
        return BgzfCodec.group_bytes if self._pool is None else tuning.INFLATED_GROUP_BYTES

    @property
    def waiting(self) -> int:  # type: ignore[override]
        at_once = tuning.DEFLATED_ALONE if self._is_alone else tuning.DEFLATED_NEXT_TO_BATCHES
        return 0 if self._pool is None else at_once * len(self._devices)

    @contextlib.contextmanager
    def by(self, pool: DevicePool[Any, Any], alone: bool = False, sorts: bool = False) -> Iterator[None]:
        """Use ``pool``, of :class:`CompressingKernel`, in this context; ``alone``: no stage runs on it; ``sorts``: see
        :class:`Stage`.
        """
        before = self._pool, self._is_alone, self._inflating, self._deflating
        if alone:
            inflated = tuning.INFLATED_ALONE
        elif not self._spare:
            inflated = tuning.INFLATED_NEXT_TO_BATCHES
        else:
            inflated = tuning.INFLATED_NEXT_TO_SORTING if sorts else tuning.INFLATED_NEXT_TO_THREADS
        self._pool, self._is_alone = pool if load_nvcomp() is not None else None, alone
        self._inflating = FifoSemaphore(inflated * len(self._devices))
        self._deflating = FifoSemaphore(self.waiting)
        try:
            yield
        finally:
            self._pool, self._is_alone, self._inflating, self._deflating = before

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        if self._pool is not None or load_nvcomp() is None:
            yield
            return
        with (
            contextlib.closing(DevicePool(CompressingKernel, self._devices, slots=tuning.SLOTS_ALONE)) as pool,
            self.by(pool, alone=True),
        ):
            yield

    @property
    def _spare(self) -> bool:
        return min(self._threads, available_cores()) >= tuning.SPARE_THREADS * len(self._devices)

    def inflate(self, blocks: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        if self._spare and not self._is_alone and self._inflating.all_taken:
            with contextlib.suppress(ValueError):  # the reader inflates them again and reports the error
                return inflated_in(self._allocate, blocks)
            return None
        return self._made(BlockGroup.of, blocks, self._inflating)

    def deflate(self, content: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
        if not self._is_alone and self._deflating.all_taken:
            return None
        return self._made(Content.of, content, self._deflating)

    def deflates_at(self, before: int) -> bool:
        if not self._is_alone:
            return False
        rate = tuning.DEFLATING_THREADS * len(self._devices)
        share, number = rate / (rate + self._threads), before // io_tuning.DEVICE_CONTENT
        return int((number + 1) * share) > int(number * share)

    def _made(
        self,
        staged: Callable[[NDArray[np.uint8], Allocate], Any],
        given: NDArray[np.uint8],
        semaphore: FifoSemaphore,
    ) -> NDArray[np.uint8] | None:
        if (pool := self._pool) is None:
            return None
        try:
            with semaphore.taken():
                made: NDArray[np.uint8] | None = pool.run(staged(given, self._allocate))
            return made
        except (ValueError, GpualignError, NvcompError):  # the CPU does it then, and reports errors
            return None
