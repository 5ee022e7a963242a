"""From ``--device`` to a backend of this machine. With "auto" an estimate of the work, made before the input is read,
says whether a GPU pays for its start."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpualign.errors import DeviceError, UsageError
from gpualign.params import RunOptions
from gpualign.report import warn
from gpualign.run.cpu import CpuBackend
from gpualign.run.cuda import CudaBackend
from gpualign.run.gpu import compiler, device, driver
from gpualign.run.gpu.compiler import Variant
from gpualign.run.stage import Backend

#: seconds to a GPU's first result if its kernels are compiled: driver start, context, buffers, the reference
GPU_START_S = 0.6


@dataclass(frozen=True)
class Kernels:
    """A command's kernels, and its speed on one core.

    Attributes:
        source: their main module, ``cuda/<source>.cu``.
        core_rate: bases or cells per second of one core without input and output, from docs/benchmarks.md (AVX-512;
            half as much with AVX2).
        compile_s: seconds to compile the usual modules in parallel.
        variants: the modules with macros that ``make kernels`` compiles.
    """

    source: str
    core_rate: float
    compile_s: float
    variants: tuple[Variant, ...]

    @property
    def macros(self) -> list[Mapping[str, str]]:
        """Macros of each variant of the main module."""
        return [macros for module, macros in self.variants if module == self.source]

    def start_seconds(self, cold: bool) -> float:
        """Seconds before a GPU's first result; ``cold``: its kernels must be compiled."""
        return GPU_START_S + (self.compile_s if cold else 0.0)


@dataclass(frozen=True)
class Work:
    """What a run has to compute.

    Attributes:
        kernels: the kernels that compute it on a GPU.
        core_seconds: time on one core, within a small factor; None: unknown, as for a pipe.
        modules: modules that it will need, to be compiled while the input is read.
        amount: bases or cells, if they were estimated.
    """

    kernels: Kernels
    core_seconds: float | None
    modules: tuple[Variant, ...] = ()
    amount: float | None = None

    @classmethod
    def of(cls, kernels: Kernels, amount: float | None, rate: float | None = None) -> Work:
        """``amount``: bases or cells; ``rate``: of one core, if not the rate of ``kernels``."""
        seconds = None if amount is None else amount / (rate or kernels.core_rate)
        return cls(kernels, seconds, amount=amount)


def worth_a_gpu(work: Work, cold: bool, threads: int) -> bool:
    """Whether ``threads`` cores would take longer than a GPU takes to start. Work of unknown size counts as enough:
    a needless start costs less than a long run on the CPU.
    """
    return work.core_seconds is None or work.core_seconds / threads > work.kernels.start_seconds(cold)


@dataclass(frozen=True)
class DeviceRequest:
    """A parsed ``--device``.

    Attributes:
        cuda: GPUs are wanted, not the CPU.
        indices: which of the visible ones; None: all.
        automatic: fall back to the CPU where there is no usable GPU.
    """

    cuda: bool
    indices: tuple[int, ...] | None
    automatic: bool = False


def parse_device(text: str) -> DeviceRequest:
    """Read "auto", "cpu", "cuda", "cuda:0,2" or "cuda:0,cuda:2".

    Raises:
        UsageError: none of these.
    """
    if text == "auto":
        return DeviceRequest(cuda=True, indices=None, automatic=True)
    if text == "cpu":
        return DeviceRequest(cuda=False, indices=None)
    match = re.fullmatch(r"cuda(?::(\d+(?:,(?:cuda:)?\d+)*))?", text)
    if match is None:
        raise UsageError(f"device must be auto, cpu, cuda or cuda:0,1, not {text!r}")
    indices = tuple(int(number) for number in match[1].replace("cuda:", "").split(",")) if match[1] else None
    if indices is not None and len(set(indices)) < len(indices):
        raise UsageError(f"device {text!r} names a GPU twice")
    return DeviceRequest(cuda=True, indices=indices)


def open_backend(options: RunOptions, command: str, work: Work | None = None) -> Backend:
    """The backend of this machine that ``options.device`` asks for; use it in a ``with`` block.

    Args:
        work: with device "auto", the work that decides whether a GPU pays for its start; None: it does.

    Raises:
        UsageError: an unknown device.
        DeviceError: GPUs were asked for by name and cannot be used.
    """
    request = parse_device(options.device)
    if not request.cuda:
        return CpuBackend(options.threads)
    if request.automatic:
        return _open_best(request, options, command, work)
    return _open_cuda(request, options, work)


def _open_best(request: DeviceRequest, options: RunOptions, command: str, work: Work | None) -> Backend:
    """A GPU if there is one and the work is large enough. Warns only if there is a GPU that cannot be used."""
    reason = "work of unknown size"

    def without(error: DeviceError) -> None:
        if not options.quiet:
            warn(command, f"a GPU is left out: {error}")

    try:
        if work is not None:
            kernels = work.kernels
            cold = worth_a_gpu(work, cold=False, threads=options.threads)
            cold = cold and not compiler.any_compiled(kernels.source, kernels.macros)
            if work.core_seconds is not None:
                reason = f"about {work.core_seconds / options.threads:.2g} s of work for the CPU"
            if not worth_a_gpu(work, cold, options.threads):
                start = kernels.start_seconds(cold)
                return CpuBackend(options.threads, f"{reason}, and a GPU takes {start:.1f} s to start")
            if cold and compiler.find_nvcc() is None:
                raise DeviceError(f"the kernel {kernels.source} is neither prebuilt nor cached, and nvcc was not found")
        backend = _open_cuda(request, options, work, without)
    except DeviceError as error:
        if driver.gpu_is_there() and not options.quiet:
            warn(command, f"no usable GPU ({error}); running on the CPU")
        return CpuBackend(options.threads, f"no usable GPU ({error})")
    backend.reason = reason
    return backend


def _open_cuda(
    request: DeviceRequest, options: RunOptions, work: Work | None, without: Callable[[DeviceError], None] | None = None
) -> CudaBackend:
    if work is not None:
        compiler.read_ahead(work.kernels.source)
    infos = device.list_devices()
    if not infos:
        raise DeviceError("the NVIDIA driver shows no device (is CUDA_VISIBLE_DEVICES empty?)")
    if request.indices is not None:
        for index in request.indices:
            if index >= len(infos):
                visible = ", ".join(f"cuda:{info.index} {info.name}" for info in infos)
                raise DeviceError(f"there is no device cuda:{index} (visible: {visible})")
        infos = [infos[index] for index in request.indices]
    backend = CudaBackend(infos, options.max_gpu_mem, options.threads, without)
    backend.prepare(work.modules if work is not None else ())
    return backend
