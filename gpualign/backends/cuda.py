"""The CUDA backend: one or several devices, and on request the CPU beside them, behind one queue."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpualign.backends.base import Item, Result, Stage
from gpualign.gpu.device import Device, DeviceInfo
from gpualign.gpu.runner import run_on_devices


class CudaBackend:
    """Runs stages on open devices.

    Args:
        infos: devices to use.
        max_memory: bytes of device memory to use at most on each; None: a share of what is free.
        cpu_threads: host threads that take items as well; 0: none.
    """

    on_gpu = True

    def __init__(self, infos: Sequence[DeviceInfo], max_memory: int | None = None, cpu_threads: int = 0) -> None:
        self.devices: list[Device] = []
        self.cpu_threads = cpu_threads
        self.cpu_items = 0
        self._counting = threading.Lock()
        try:
            for info in infos:
                self.devices.append(Device(info, max_memory))
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        numbers = ",".join(str(device.info.index) for device in self.devices)
        return f"cuda:{numbers}" + ("+cpu" if self.cpu_threads else "")

    def run(self, items: Iterable[Item], stage: Stage[Item, Result]) -> Iterator[Result]:
        def on_cpu(item: Item) -> Result:
            result = stage.cpu(item)
            with self._counting:
                self.cpu_items += 1
            return result

        yield from run_on_devices(
            items,
            stage.make_kernel,
            self.devices,
            cpu_work=on_cpu if self.cpu_threads else None,
            cpu_workers=max(1, self.cpu_threads),
        )

    def report(self) -> dict[str, Any]:
        devices = [
            {
                "device": device.name,
                "name": device.info.name,
                "driver": device.info.driver,
                "peak_vram_mb": device.peak_allocated >> 20,
                **device.timeline.summary(),
            }
            for device in self.devices
        ]
        batches = sum(device.timeline.items for device in self.devices)
        return {"device": self.name, "cpu_batches": self.cpu_items, "gpu_batches": batches, "devices": devices}

    def close(self) -> None:
        for device in self.devices:
            device.close()

    def __enter__(self) -> CudaBackend:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
