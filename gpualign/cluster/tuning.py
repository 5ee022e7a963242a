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
#: pairs of queries and targets that a thread looks at before pairs are aligned
LOOKED_AT = 1 << 20
#: pairs that are aligned at a time
BLOCK_PAIRS, GPU_BLOCK_PAIRS = 1 << 13, 1 << 20
#: symbols of a part of the targets, queries and pairs that an item for another machine has at most
PART_SYMBOLS, QUERIES_SENT, PAIRS_SENT = 1 << 22, 256, 1 << 10
#: a GPU wants more sequences at once than a core
GPU_FACTOR = 8


def work_of(symbols: float | None) -> Work:
    """The work of clustering sequences of ``symbols`` symbols in all."""
    return Work.of(KERNELS, symbols)
