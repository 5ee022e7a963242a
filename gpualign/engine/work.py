"""An estimate of a run's work, made before its input is read, and whether a GPU pays for its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpualign.engine.gpu.compiler import Variant
from gpualign.sequences.encoded import EncodedSequences

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
    """

    kernels: Kernels
    core_seconds: float | None
    modules: tuple[Variant, ...] = ()

    @classmethod
    def of(cls, kernels: Kernels, amount: float | None, rate: float | None = None) -> Work:
        """``amount``: bases or cells; ``rate``: of one core, if it differs from that of ``kernels``."""
        return cls(kernels, None if amount is None else amount / (rate or kernels.core_rate))


def worth_a_gpu(work: Work, cold: bool, threads: int) -> bool:
    """Whether ``threads`` cores would take longer than a GPU takes to start. Work of unknown size counts as worth it:
    a needless start costs less than a long run on the CPU.
    """
    return work.core_seconds is None or work.core_seconds / threads > work.kernels.start_seconds(cold)


def mean_cells(queries: EncodedSequences, targets: EncodedSequences) -> float:
    """Cells of a pair of sequences of mean length."""
    return len(queries.codes) / max(1, len(queries)) * len(targets.codes) / max(1, len(targets))
