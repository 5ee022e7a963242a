"""From ``--device`` to a backend of this machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from gpualign.engine.cpu import CpuBackend
from gpualign.engine.cuda import CudaBackend
from gpualign.engine.gpu import compiler, device, driver
from gpualign.engine.stage import Backend
from gpualign.engine.work import Work, worth_a_gpu
from gpualign.errors import DeviceError, UsageError
from gpualign.params import RunOptions
from gpualign.report import warn


@dataclass(frozen=True)
class DeviceRequest:
    """A parsed ``--device``.

    Attributes:
        cuda: GPUs are wanted.
        indices: which of the visible ones; None: all.
        cpu: the CPU takes items, alone or next to the GPUs.
        automatic: fall back to the CPU where there is no usable GPU.
    """

    cuda: bool
    indices: tuple[int, ...] | None
    cpu: bool
    automatic: bool = False


def parse_device(text: str) -> DeviceRequest:
    """Read "auto", "cpu", "cuda", "cuda:0,2" (or "cuda:0,cuda:2"), "cuda,cpu" or "cuda:0,2,cpu".

    Raises:
        UsageError: none of these.
    """
    if text == "auto":
        return DeviceRequest(cuda=True, indices=None, cpu=False, automatic=True)
    if text == "cpu":
        return DeviceRequest(cuda=False, indices=None, cpu=True)
    match = re.fullmatch(r"cuda(?::(\d+(?:,(?:cuda:)?\d+)*))?(,cpu)?", text)
    if match is None:
        raise UsageError(f"device must be auto, cpu, cuda, cuda:0,1 or cuda,cpu, not {text!r}")
    indices = tuple(int(number) for number in match[1].replace("cuda:", "").split(",")) if match[1] else None
    if indices is not None and len(set(indices)) < len(indices):
        raise UsageError(f"device {text!r} names a GPU twice")
    return DeviceRequest(cuda=True, indices=indices, cpu=match[2] is not None)


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
    """A GPU if there is one and the work is worth it. Warns only if there is a GPU that cannot be used."""
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
    backend = CudaBackend(infos, options.max_gpu_mem, options.threads if request.cpu else 0, options.threads, without)
    backend.prepare(work.modules if work is not None else ())
    return backend
