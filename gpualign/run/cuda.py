"""The CUDA backend: one or several devices with one queue."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import DeviceError
from gpualign.run import tuning
from gpualign.run.fifo_semaphore import FifoSemaphore
from gpualign.run.gpu.compiler import Variant
from gpualign.run.gpu.compression import CompressingKernel, DeviceCodec
from gpualign.run.gpu.device import Device, DeviceInfo
from gpualign.run.gpu.runner import DevicePool, waiting_threads
from gpualign.run.stage import Backend, Item, Result, Stage, as_it_is
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.pinned import Allocate
from gpualign.streaming.timeline import STEPS
from gpualign.text.bgzf import BgzfCodec


def pinned_allocator(devices: Sequence[Device]) -> Allocate:
    """Allocates pinned memory of the first device that has some: the other devices can copy from it as well."""

    def allocate(nbytes: int) -> NDArray[np.uint8] | None:
        for device in devices:
            if device.is_open and (memory := device.pinned_pool.allocate(nbytes)) is not None:
                return memory
        return None

    return allocate


class CudaBackend(Backend):
    """Runs stages on open devices.

    Args:
        infos: devices to use.
        max_memory: bytes of device memory to use at most on each; None: a share of what is free.
        host_threads: threads for the host's part of stages.
        without: called with the reason why a device other than the first is left out; None: the run fails instead.

    Attributes:
        reason: why GPUs are used, for the report.
    """

    on_gpu = True
    reason = "asked for"

    def __init__(
        self,
        infos: Sequence[DeviceInfo],
        max_memory: int | None = None,
        host_threads: int = 1,
        without: Callable[[DeviceError], None] | None = None,
    ) -> None:
        self.devices: list[Device] = []
        self.host_threads = host_threads
        self._allocate = pinned_allocator(self.devices)
        self._codec = DeviceCodec(self.devices, self._allocate, host_threads)
        self._without = without
        try:
            for info in infos:
                before = self.devices[-1] if self.devices else None
                self.devices.append(Device(info, max_memory, before, optional=without is not None))
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        return "cuda:" + ",".join(str(device.info.index) for device in self.devices)

    @property
    def codec(self) -> BgzfCodec:
        return self._codec

    def opened(self) -> None:
        """Wait until all devices are open; one may compute while others open.

        Raises:
            DeviceError: a device cannot be used and may not be left out.
        """
        for device in tuple(self.devices):
            try:
                device.opened()
            except DeviceError as error:
                if self._without is None:
                    raise
                self._without(error)
                self.devices.remove(device)
                device.close()

    def prepare(self, modules: Iterable[Variant]) -> None:
        """Start loading modules in the background, compiled if need be. Errors are raised when a module is used."""
        if wanted := tuple(modules):
            for device in self.devices:
                device.call(device.prepare, wanted)

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        pool: DevicePool[Any, Any] = DevicePool(
            lambda device: CompressingKernel(device, stage.make_kernel(device)), self.devices, stage.slots
        )
        threads = waiting_threads(self.devices, stage.slots)
        if stage.on_device is not as_it_is:
            threads += self.host_threads  # these compute, too
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(pool))
            stack.enter_context(self._codec.by(pool, sorts=stage.sorts))
            yield from run_ordered(items, self.work(stage, pool), threads)
            pool.finish()
            self.opened()  # reports a device that failed to open

    def work(self, stage: Stage[Item, Result], pool: DevicePool[Any, Any]) -> Callable[[Item], Result]:
        """item -> result in a host thread; ``pool`` computes what the stage asks for.

        Pinned memory is slow to allocate, so only the batches in flight and the next few are begun. One that has begun
        waits for none of them, as it holds memory until it is done, and a device waits for it.
        """
        semaphore = FifoSemaphore((stage.slots + tuning.STAGED_AHEAD) * len(self.devices))

        def on_device(item: Item) -> Result:
            begun = False

            def run(make: Callable[[Allocate], Any]) -> Any:
                nonlocal begun
                with contextlib.nullcontext() if begun else semaphore.taken():
                    begun = True
                    return pool.run(make(self._allocate))

            with STEPS.at("stage"):
                return stage.on_device(item, run)

        return on_device

    def report(self) -> dict[str, Any]:
        devices = [
            {
                "device": device.name,
                "name": device.info.name,
                "driver": device.info.driver,
                "peak_vram_mb": device.peak_allocated >> 20,
                "mapped_host_mb": device.mapped >> 20,
                **device.timeline.summary(),
            }
            for device in self.devices
        ]
        batches = sum(device.timeline.items for device in self.devices)
        fields = {"device": self.name, "device_reason": self.reason}
        return fields | {"cpu_batches": 0, "gpu_batches": batches, "devices": devices}

    def close(self) -> None:
        for device in self.devices:
            device.begin_to_close()
        for device in self.devices:
            device.close()
