"""What the work of `cluster` costs a core."""

from __future__ import annotations

from gpualign.align.score.tuning import VARIANTS
from gpualign.run.select import Kernels, Work

#: a core's rate is of symbols; how near sequences are to each other changes it by an order of magnitude
KERNELS = Kernels("pairwise", core_rate=1e6, compile_s=2.5, variants=VARIANTS)
#: bytes of the input that are parsed at a time, of which there are several copies meanwhile
READ_BYTES = 1 << 21
#: sequences of the first batch; each has twice as many as the one before it, up to the batch size
FIRST_BATCH = 64
#: a GPU wants more sequences at once than a core
GPU_FACTOR = 8


def work_of(symbols: float | None) -> Work:
    """The work of clustering sequences of ``symbols`` symbols in all."""
    return Work.of(KERNELS, symbols)
