"""The CUDA backend: one or several devices, and on request the CPU next to them, with one queue."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.engine.gpu.compiler import Variant
from gpualign.engine.gpu.compression import CompressionKernel
from gpualign.engine.gpu.cpu_share import CpuShare
from gpualign.engine.gpu.deflate import Content
from gpualign.engine.gpu.device import Device, DeviceInfo
from gpualign.engine.gpu.inflate import BlockGroup
from gpualign.engine.gpu.nvcomp import NvcompError, load_nvcomp
from gpualign.engine.gpu.runner import DevicePool, waiting_threads
from gpualign.engine.stage import Item, Result, Stage, as_it_is
from gpualign.errors import DeviceError, GpualignError
from gpualign.io.bgzf import ByDevice, deflated_by, inflated_by, inflated_in
from gpualign.params import available_cores
from gpualign.streaming.lent import Lend
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.priority_semaphore import PrioritySemaphore

#: how long a thread may keep the interpreter when another one wants it, seconds: a device's thread enqueues a batch in
#: less, which should not be interrupted; usual are 5e-3, for which it should not have to wait
_SWITCH_INTERVAL_S = 2e-3
#: batches of a device that are staged before it can begin them
_STAGED_AHEAD = 2
#: groups of BGZF blocks that a device may have to inflate next to a stage's batches, the same where CPU threads are
#: spare, which inflate all others, and contents that it may have to deflate, which is slow there
_INFLATED_NEXT_TO_BATCHES, _INFLATED_NEXT_TO_THREADS, _DEFLATED_NEXT_TO_BATCHES = 6, 1, 2
#: the same of a device that does nothing else, and its slots; CPU threads that deflate as much in the same time
_INFLATED, _DEFLATED, _COMPRESSION_SLOTS, _DEFLATES_LIKE = 6, 12, 10, 20
#: CPU threads for each device from which on some are spare
_SPARE_THREADS = 8


@contextlib.contextmanager
def _quick_switches() -> Iterator[None]:
    """A device's thread that has waited for its device must soon have the interpreter back."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class CudaBackend:
    """Runs stages on open devices.

    Args:
        infos: devices to use.
        max_memory: bytes of device memory to use at most on each; None: a share of what is free.
        cpu_threads: cores that take items as well, where that makes a run shorter; 0: none.
        host_threads: threads for the host's part of stages.
        without: told why a device but the first cannot be used and is left out; None: that ends the run.

    Attributes:
        reason: why GPUs, for the report.
        device_memory: bytes that may be used of the device that has the least.
    """

    on_gpu = True
    reason = "asked for"

    def __init__(
        self,
        infos: Sequence[DeviceInfo],
        max_memory: int | None = None,
        cpu_threads: int = 0,
        host_threads: int = 1,
        without: Callable[[DeviceError], None] | None = None,
    ) -> None:
        self.devices: list[Device] = []
        self.cpu_threads, self.host_threads = cpu_threads, host_threads
        self.device_memory = min(min(info.memory, max_memory or info.memory) for info in infos)
        self._without = without
        self._shares: list[CpuShare] = []
        try:
            for info in infos:
                before = self.devices[-1] if self.devices else None
                self.devices.append(Device(info, max_memory, before, optional=without is not None))
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        numbers = ",".join(str(device.info.index) for device in self.devices)
        return f"cuda:{numbers}" + ("+cpu" if self.cpu_threads else "")

    def opened(self) -> None:
        """Wait until all devices are open; one may compute while others open.

        Raises:
            DeviceError: one cannot be used, and is not left out.
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
        """Begin to load what will be needed, compiled where it must be. What fails here fails again when it is used."""
        if wanted := tuple(modules):
            for device in self.devices:
                device.call(device.prepare, wanted)

    def load(self, loader: Callable[[Device], object]) -> None:
        """Begin to load what runs will need. What fails here fails again when it is used."""
        for device in self.devices:
            device.call(loader, device)

    @contextlib.contextmanager
    def compressing(self) -> Iterator[None]:
        """Meanwhile devices inflate temporary files and deflate their share of the output, if there is nvCOMP; no stage
        runs.
        """
        nvcomp = load_nvcomp()
        if nvcomp is None or self.cpu_threads:
            yield
            return
        make_kernel = partial(CompressionKernel, nvcomp=nvcomp)
        pool: DevicePool[Any, Any] = DevicePool(make_kernel, self.devices, slots=_COMPRESSION_SLOTS)
        inflate = self._compressor(pool, BlockGroup.of, _INFLATED)
        deflate = self._compressor(pool, Content.of, _DEFLATED)
        rate = _DEFLATES_LIKE * len(self.devices)
        share = rate / (rate + self.host_threads)
        try:
            with _quick_switches(), inflated_by(inflate), deflated_by(deflate, share, _DEFLATED * len(self.devices)):
                yield
        finally:
            pool.close()

    def _compressor(
        self,
        pool: DevicePool[Any, Any],
        staged: Callable[[Any, Lend], Any],
        at_once: int,
        otherwise: ByDevice | None = None,
    ) -> ByDevice:
        """What ``pool`` makes of what ``staged`` makes of bytes; None where it cannot.

        Args:
            at_once: how many a device has at a time.
            otherwise: makes it of what comes when devices have as many; None: that waits.
        """
        semaphore = PrioritySemaphore(at_once * len(self.devices))

        def compress(given: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
            try:
                if semaphore.all_taken and otherwise is not None:
                    return otherwise(given)
                with semaphore.taken(ahead=False):
                    made: NDArray[np.uint8] | None = pool.run(staged(given, self.lend))
                return made
            except (ValueError, GpualignError, NvcompError):  # said by who does it without a device
                return None

        return compress

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Generator[Result, None, None]:
        pool: DevicePool[Any, Any] = DevicePool(stage.make_kernel, self.devices, stage.slots)
        threads = waiting_threads(self.devices, stage.slots)
        if stage.on_device is not as_it_is or self.cpu_threads:
            threads += self.host_threads  # which compute, too
        with contextlib.ExitStack() as stack:
            stack.enter_context(_quick_switches())
            stack.enter_context(contextlib.closing(pool))
            if stage.compresses and not self.cpu_threads:
                stack.enter_context(self._compressing_next_to_batches(pool))
            yield from run_ordered(items, self.work(stage, pool), threads)
            pool.finish()
            self.opened()  # else nobody would know of one that could not be

    @contextlib.contextmanager
    def _compressing_next_to_batches(self, pool: DevicePool[Any, Any]) -> Iterator[None]:
        if min(self.host_threads, available_cores()) >= _SPARE_THREADS * len(self.devices):
            by_cpu = partial(inflated_in, self.lend)
            inflate = self._compressor(pool, BlockGroup.of, _INFLATED_NEXT_TO_THREADS, by_cpu)
        else:
            inflate = self._compressor(pool, BlockGroup.of, _INFLATED_NEXT_TO_BATCHES)
        deflate = self._compressor(pool, Content.of, _DEFLATED_NEXT_TO_BATCHES, lambda _: None)
        waiting = _DEFLATED_NEXT_TO_BATCHES * len(self.devices)
        with inflated_by(inflate), deflated_by(deflate, 0.0, waiting):
            yield

    def work(self, stage: Stage[Item, Result], pool: DevicePool[Any, Any]) -> Callable[[Item], Result]:
        """item -> result in a thread of the host, where ``pool`` computes what the stage asks for.

        Pinned memory is slow to get, so few batches are staged at a time: those that devices have in flight, and the
        next ones. What goes on with a batch comes before a new one: it holds memory until it is done.
        """
        semaphore = PrioritySemaphore((stage.slots + _STAGED_AHEAD) * len(self.devices))

        def on_device(item: Item) -> Result:
            begun = False

            def run(make: Callable[[Lend], Any]) -> Any:
                nonlocal begun
                with semaphore.taken(ahead=begun):
                    begun = True
                    return pool.run(make(self.lend))

            return stage.on_device(item, run)

        if not self.cpu_threads:
            return on_device
        share = CpuShare(self.cpu_threads)
        self._shares.append(share)
        return lambda item: share.run(item, stage.on_cpu, on_device)

    def lend(self, nbytes: int) -> NDArray[np.uint8] | None:
        """Page-locked memory of any device: the others can copy from it as well."""
        for device in self.devices:
            if device.is_open and (memory := device.host_memory.lend(nbytes)) is not None:
                return memory
        return None

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
        by_cores = sum(share.items for share in self._shares)
        fields = {"device": self.name, "device_reason": self.reason}
        return fields | {"cpu_batches": by_cores, "gpu_batches": batches, "devices": devices}

    def sees(self, path: str) -> bool:
        return True

    def close(self) -> None:
        for device in self.devices:
            device.begin_to_close()
        for device in self.devices:
            device.close()

    def __enter__(self) -> CudaBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
