"""CUDA devices: listing them, and a context with its host thread for each one in use."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import DeviceError
from gpualign.run.gpu import compiler
from gpualign.run.gpu.driver import load_driver, native_driver
from gpualign.run.gpu.pinned_pool import PinnedPool
from gpualign.streaming.timeline import STEPS, DeviceTimeline

Result = TypeVar("Result")

#: oldest compute capability the kernels are compiled for
OLDEST_CAPABILITY = (7, 0)
#: device memory left to the driver and to other processes
HEADROOM_BYTES = 512 << 20
#: share of the free memory taken when no limit is given
FREE_SHARE = 0.8
#: dynamic shared memory of a block that needs no attribute
_PLAIN_SHARED = 48 << 10
#: shared memory of a multiprocessor that blocks may share; each takes 1 KiB besides its own
SHARED_BYTES = 216 << 10
_REGISTERS, _BLOCKS = 65536, 32  # of a multiprocessor


class DeviceMemoryExceeded(Exception):
    """A batch does not fit into the device's memory or its budget; the runner halves it."""


@dataclass(frozen=True)
class DeviceInfo:
    """A device's properties.

    Attributes:
        index: number among the visible devices (CUDA_VISIBLE_DEVICES renumbers them).
        name: product name.
        capability: compute capability, (9, 0).
        memory: bytes of device memory.
        driver: CUDA version of the driver, "13.0".
    """

    index: int
    name: str
    capability: tuple[int, int]
    memory: int
    driver: str

    @property
    def architecture(self) -> str:
        return f"sm_{self.capability[0]}{self.capability[1]}"


def list_devices() -> list[DeviceInfo]:
    """All visible devices.

    Raises:
        DeviceError: as :func:`load_driver`.
    """
    driver = load_driver()
    version = driver.get_driver_version()
    text = f"{version // 1000}.{version % 1000 // 10}"
    infos = []
    for index in range(driver.Device.count()):
        device = driver.Device(index)
        capability = device.compute_capability()
        infos.append(DeviceInfo(index, device.name(), (capability[0], capability[1]), int(device.total_memory()), text))
    return infos


def _module_key(source: str, defines: Mapping[str, str] | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    return source, tuple(sorted((defines or {}).items()))


#: every device that has a context. A thread that ends with one is ended by PyCUDA, and the process with it
_open: weakref.WeakSet[Device] = weakref.WeakSet()


def _close_at_exit() -> None:
    for device in list(_open):
        if device.process == os.getpid():  # a forked child must not use its parent's
            device.close()


# before the threads of devices end, which atexit's functions come after
getattr(threading, "_register_atexit", atexit.register)(_close_at_exit)

#: prefix of the keys of :meth:`Device.resident` that are freed when memory is short
EVICTABLE = "evictable"


class Device:
    """One GPU: a context that lives in one host thread, its memory budget, modules and slots.

    Every call that touches the device runs in that thread: :meth:`call`. All device objects are released there before
    the context is destroyed, else PyCUDA complains at the end of a process.

    Args:
        info: which device.
        max_memory: bytes of device memory to use at most; None: a share of what is free.
        after: a device that is opened first; this one then opens in the background. None: wait until it is open.
        optional: if it cannot be used, the other devices continue without it.

    Attributes:
        memory: upper limit of the bytes used.
        allocated: bytes allocated now.
        held: bytes of them in arrays of slots and in scratch memory.

    Raises:
        DeviceError: as :meth:`opened`.
    """

    def __init__(
        self, info: DeviceInfo, max_memory: int | None = None, after: Device | None = None, optional: bool = False
    ) -> None:
        self.info, self.optional = info, optional
        self.memory = min(info.memory, max_memory or info.memory)
        self.closing, self.process = threading.Event(), os.getpid()
        self.timeline = DeviceTimeline()
        self.budget = 0
        self.allocated = 0
        self.held = 0
        self.peak_allocated = 0
        self.mapped = 0
        self._modules: dict[tuple[str, tuple[tuple[str, str], ...]], Any] = {}
        self._functions: dict[tuple[Any, ...], tuple[Any, int]] = {}  # and the shared memory that they may use
        self.slots: list[Any] = []
        self._resident: dict[tuple[Any, ...], tuple[Any, tuple[object, ...]]] = {}
        self._retired: list[tuple[Any, int]] = []
        self._retired_bytes = 0
        self._context: Any = None
        self.driver: Any = None
        self.cuda: Any = None
        self.bell = _native.Bell()
        self.streams: list[Any] = []
        self.pinned_pool: PinnedPool
        self._closed: Future[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"gpualign-cuda{info.index}")
        self._opening = self.call(self._open, max_memory, after)
        if after is not None:
            return
        try:
            self.opened()
        except BaseException:
            self.closing.set()
            self._thread.shutdown()
            raise

    def opened(self) -> None:
        """Wait until the device is open.

        Raises:
            DeviceError: it cannot be used.
        """
        self._opening.result()

    @property
    def is_open(self) -> bool:
        """Whether it can be used now."""
        return self._opening.done() and self._opening.exception() is None

    @property
    def name(self) -> str:
        """``cuda:0``."""
        return f"cuda:{self.info.index}"

    def call(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Run ``function(*arguments)`` in the device's thread."""
        return self._thread.submit(function, *arguments)

    def _open(self, max_memory: int | None, after: Device | None) -> None:
        if after is not None:
            after._opening.exception()
        self.driver = load_driver()
        self.cuda = native_driver(self.driver)
        self.errors = (self.driver.Error, _native.CudaError)
        if self.info.capability < OLDEST_CAPABILITY:
            raise DeviceError(
                f"{self.name} ({self.info.name}) has compute capability {self.info.capability[0]}."
                f"{self.info.capability[1]}; gpualign needs {OLDEST_CAPABILITY[0]}.{OLDEST_CAPABILITY[1]} or newer"
            )
        try:
            device = self.driver.Device(self.info.index)
            if _native.opened_ahead(self.info.index):
                self._context = device.retain_primary_context()
                self._context.push()
            else:  # a waiting host thread sleeps, which leaves CPU time for parsing and writing
                self._context = device.make_context(self.driver.ctx_flags.SCHED_BLOCKING_SYNC)
        except self.driver.Error as error:
            raise DeviceError(f"{self.name} ({self.info.name}) cannot be used: {error}") from error
        _open.add(self)
        usable = self._usable()
        self.budget = min(usable, max_memory) if max_memory is not None else usable
        self.pinned_pool = PinnedPool(self.cuda.pinned_memory())
        STEPS.devices.append(self.timeline)

    def _usable(self) -> int:
        """Bytes of the free memory that may be taken."""
        free, _ = self.driver.mem_get_info()
        return max(int(free * FREE_SHARE), int(free) - 8 * HEADROOM_BYTES)

    def attribute(self, name: str) -> int:
        """A number that the driver reports of the device, such as MULTIPROCESSOR_COUNT."""
        card = self.driver.Device(self.info.index)
        return int(card.get_attribute(getattr(self.driver.device_attribute, name)))

    @cached_property
    def processors(self) -> int:
        """Multiprocessors."""
        return self.attribute("MULTIPROCESSOR_COUNT")

    def module(self, source: str, defines: Mapping[str, str] | None = None) -> Any:
        """The loaded module of ``cuda/<source>.cu``.

        Raises:
            DeviceError: there is neither machine code nor a compiler, or the driver refuses the code.
        """
        key = _module_key(source, defines)
        if key not in self._modules:
            self._load(source, defines, compiler.compile_module(source, self.info.architecture, defines))
        return self._modules[key]

    def prepare(self, wanted: Iterable[compiler.Variant]) -> None:
        """Load several modules; modules without machine code are compiled in parallel.

        Raises:
            DeviceError: as :meth:`module`.
        """
        by_key = {_module_key(*variant): variant for variant in wanted}
        missing = [variant for key, variant in by_key.items() if key not in self._modules]
        codes = compiler.compile_modules(missing, self.info.architecture)
        for (source, defines), code in zip(missing, codes, strict=True):
            self._load(source, defines, code)

    def _load(self, source: str, defines: Mapping[str, str] | None, code: bytes) -> None:
        """Load machine code. If the driver is older than the prebuilt kernels and refuses them, compile with nvcc."""
        try:
            module = self.cuda.load(code)
        except self.errors as error:
            try:
                own = compiler.compile_module(source, self.info.architecture, defines, prebuilt=False)
                module = self.cuda.load(own)
            except (DeviceError, *self.errors):
                raise DeviceError(
                    f"{self.name} ({self.info.name}, {self.info.architecture}, driver {self.info.driver}) cannot load "
                    f"the kernel {source}: {error} (a newer driver may be needed)"
                ) from error
        self._modules[_module_key(source, defines)] = module

    def function(self, source: str, name: str, defines: Mapping[str, str] | None = None, shared: int = 0) -> Any:
        """One kernel of a module; ``shared``: bytes of dynamic shared memory that it may use."""
        key = source, name, *(defines or {}).items()
        if key not in self._functions:
            self._functions[key] = self.module(source, defines).get_function(name), _PLAIN_SHARED
        function, allowed = self._functions[key]
        if shared > allowed:
            function.set_attribute(self.driver.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
            self._functions[key] = function, shared
        return function

    def blocks_at_once(self, function: Any, threads: int, shared: int = 0) -> int:
        """Blocks of a kernel that the device runs at a time; ``shared``: bytes of shared memory of each."""
        registers = -(-int(function.num_regs) // 8) * 8 * threads
        each = min(_BLOCKS, _REGISTERS // registers, SHARED_BYTES // (shared + 1024))
        return max(1, each) * self.processors

    def resident(self, key: str, make: Callable[[], Result], *owners: object) -> Result:
        """An object that stays on the device between batches (a reference, an index), made once per ``key`` and
        ``owners``, which it keeps alive, so that their identities stay unique.
        """
        full_key = (key, *map(id, owners))
        if full_key not in self._resident:
            self._resident[full_key] = make(), owners
        made: Result = self._resident[full_key][0]
        return made

    def forget(self, key: str, *owners: object) -> None:
        """Free what :meth:`resident` made; waits for the device's kernels."""
        if (resident := self._resident.pop((key, *map(id, owners)), None)) is not None:
            resident[0].free()

    def allocate(self, size: int) -> Any:
        """Device memory within the budget.

        Raises:
            DeviceMemoryExceeded: the budget or the device has no memory.
        """
        if self.allocated + size > self.budget:
            self._free_retired()
        if self.allocated + size > self.budget:
            raise DeviceMemoryExceeded(f"{size} bytes more than the budget of {self.budget} allow")
        try:
            pointer = self.cuda.allocate(size)
        except MemoryError as error:
            self._free_retired()
            # other processes may have taken what was free; kernels divide the budget
            self.budget = min(self.budget, self.allocated + self._usable())
            raise DeviceMemoryExceeded(f"{size} bytes cannot be allocated") from error
        self.allocated += size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return pointer

    @property
    def batch_budget(self) -> int:
        """Bytes that batches may take: the budget without what stays, such as an index."""
        return self.budget - (self.allocated - self.held - self._retired_bytes)

    @property
    def available(self) -> int:
        """Bytes that :meth:`allocate` can give."""
        return self.budget - self.allocated + self._retired_bytes

    def mapped_memory(self, size: int) -> tuple[NDArray[np.uint8], int]:
        """Pinned host memory that kernels read over the bus, and its device address. It lives as long as the array,
        whose last reference must go in the device's thread.

        Raises:
            DeviceMemoryExceeded: the host has no memory.
        """
        try:
            memory = self.cuda.pinned_memory().lock(size)
        except MemoryError as error:
            raise DeviceMemoryExceeded(f"{size} bytes of host memory cannot be pinned") from error
        self.mapped += size
        return memory, memory.ctypes.data  # devices and the host share one space of addresses

    def free(self, pointer: Any, size: int) -> None:
        """Free memory of :meth:`allocate`."""
        for stream in self.streams:  # recorded work may use it; the driver waits for enqueued work
            stream.flush()
        pointer.free()
        self.allocated -= size

    def retire(self, pointer: Any, size: int) -> None:
        """Free memory once it is needed: freeing it now would wait for all kernels of the device."""
        self._retired.append((pointer, size))
        self._retired_bytes += size

    def _free_retired(self) -> None:
        while self._retired:
            pointer, size = self._retired.pop()
            self._retired_bytes -= size
            self.free(pointer, size)

    def release_buffers(self) -> None:
        """Free the slots' memory after an out-of-memory error; it is allocated again on demand."""
        for slot in self.slots:
            slot.release()
        for key in [key for key, *_ in self._resident if key.startswith(EVICTABLE)]:
            self.forget(key)
        self._free_retired()
        self.pinned_pool.clear()

    def close(self) -> None:
        """Stop the thread's loop, release everything in the right order and end the thread. Safe to call twice."""
        self.begin_to_close()
        self._thread.shutdown()
        if self._closed is not None:
            self._closed.result()

    def begin_to_close(self) -> None:
        """Start closing without waiting, so that several devices close in parallel."""
        if not self.closing.is_set():
            self.closing.set()
            self.bell.ring()
            self._closed = self.call(self._close)

    def _close(self) -> None:
        if self._context is None:
            return
        if self.timeline in STEPS.devices:
            STEPS.devices.remove(self.timeline)
        # after a failed kernel no call works; the context frees what the device holds
        with contextlib.suppress(*self.errors):
            for slot in self.slots:
                slot.close()
            self._free_retired()
            for item, _ in self._resident.values():
                if hasattr(item, "free"):
                    item.free()
            self.pinned_pool.close()
        self.slots.clear()
        self.streams.clear()
        self._resident.clear()
        self._retired.clear()
        self._modules.clear()
        self.timeline.fold()
        self._context.pop()
        self._context.detach()
        self._context = None
        _open.discard(self)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
