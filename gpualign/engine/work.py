"""How much a run has to compute, guessed from its input before that is read, and whether a GPU is worth its start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpualign.engine.gpu.compiler import Variant
from gpualign.sequences.encoded import EncodedSequences

#: seconds from asking for a GPU to its first result with machine code at hand: the driver's start, a context, buffers
#: and the reference
GPU_START_S = 0.6


@dataclass(frozen=True)
class Kernels:
    """What a command's kernels are, and how its work on one core compares.

    Attributes:
        source: their main module, ``cuda/<source>.cu``.
        core_rate: bases or cells that one core does a second without reading and printing, from docs/benchmarks.md
            (AVX-512; half of it with AVX2).
        compile_s: seconds that the compiler takes for the usual ones, those of a batch side by side.
        variants: what ``make kernels`` compiles besides the modules without macros.
    """

    source: str
    core_rate: float
    compile_s: float
    variants: tuple[Variant, ...]

    @property
    def macros(self) -> list[Mapping[str, str]]:
        """Of the main module's variants."""
        return [macros for module, macros in self.variants if module == self.source]

    def start_seconds(self, cold: bool) -> float:
        """What a GPU takes before its first result; ``cold``: its kernels are to be compiled."""
        return GPU_START_S + (self.compile_s if cold else 0.0)


@dataclass(frozen=True)
class Work:
    """What a run has to compute.

    Attributes:
        kernels: that compute it on a GPU.
        core_seconds: that it takes one core, within a factor of a few; None: unknown, as of a pipe.
        modules: that it is known to need: they can be compiled while the input is read.
    """

    kernels: Kernels
    core_seconds: float | None
    modules: tuple[Variant, ...] = ()

    @classmethod
    def of(cls, kernels: Kernels, amount: float | None, rate: float | None = None) -> Work:
        """``amount``: bases or cells; ``rate``: of one core, where that of ``kernels`` does not hold."""
        return cls(kernels, None if amount is None else amount / (rate or kernels.core_rate))


def worth_a_gpu(work: Work, cold: bool, threads: int) -> bool:
    """Whether so many cores would take longer than a GPU takes to start. Work of unknown size is: at most a start is
    lost, where the rest of a long run could be.
    """
    return work.core_seconds is None or work.core_seconds / threads > work.kernels.start_seconds(cold)


def mean_cells(queries: EncodedSequences, targets: EncodedSequences) -> float:
    """Cells of a pair of sequences that are as long as the others."""
    return len(queries.codes) / max(1, len(queries)) * len(targets.codes) / max(1, len(targets))
