"""How much a run has to compute, guessed from its input before that is read, and whether a GPU is worth its start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpualign.engine.gpu import tuning
from gpualign.engine.gpu.compiler import Variant
from gpualign.io.sizes import letters_of, longest_read
from gpualign.sequences.encoded import EncodedSequences


@dataclass(frozen=True)
class Work:
    """What a run has to compute.

    Attributes:
        source: the module of its kernels, ``cuda/<source>.cu``.
        core_seconds: that it takes one core, within a factor of a few; None: unknown, as of a pipe.
        modules: that it is known to need: they can be compiled while the input is read.
    """

    source: str
    core_seconds: float | None
    modules: tuple[Variant, ...] = ()

    @classmethod
    def of(cls, source: str, amount: float | None, rate: float | None = None) -> Work:
        """``amount``: cells or bases; ``rate``: of one core, where that of the table does not hold."""
        return cls(source, None if amount is None else amount / (rate or tuning.CORE_RATES[source]))

    @classmethod
    def of_pairwise(cls, cells: float | None, affine: bool, traced: bool) -> Work:
        """``traced``: alignments, not just scores."""
        rate = tuning.CORE_RATES["pairwise"] * (1 if affine else 3) / (2 if traced else 1)
        return cls.of("pairwise", cells, rate)

    @classmethod
    def of_map(cls, reads: Sequence[str], mates: Sequence[str]) -> Work:
        """Of files of reads."""
        work, longest = cls.of("map", letters_of(*reads, *mates)), longest_read(reads[0])
        return replace(work, modules=(("map", tuning.map_shape(longest).defines),) if longest else ())

    @classmethod
    def of_mems(cls, bases: float | None, min_length: int) -> Work:
        """Shorter matches are far more, by chance alone."""
        return cls.of("mems", bases, tuning.CORE_RATES["mems"] / (1 if min_length >= tuning.MEMS_LONG else 20))


def start_seconds(source: str, cold: bool) -> float:
    """What a GPU takes before its first result; ``cold``: its kernels are to be compiled."""
    return tuning.GPU_START_S + (tuning.COMPILE_S[source] if cold else 0.0)


def worth_a_gpu(work: Work, cold: bool, threads: int) -> bool:
    """Whether so many cores would take longer than a GPU takes to start. Work of unknown size is: at most a start is
    lost, where the rest of a long run could be.
    """
    return work.core_seconds is None or work.core_seconds / threads > start_seconds(work.source, cold)


def mean_cells(queries: EncodedSequences, targets: EncodedSequences) -> float:
    """Cells of a pair of sequences that are as long as the others."""
    return len(queries.codes) / max(1, len(queries)) * len(targets.codes) / max(1, len(targets))
