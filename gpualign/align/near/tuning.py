"""How much of a search for near sequences is done at a time."""

from __future__ import annotations

#: pairs of queries and targets that a thread looks at before pairs are aligned
LOOKED_AT = 1 << 20
#: number of possible words from which on each of them is in few sequences
SPECIFIC_WORDS = 1 << 24
#: pairs that are aligned at a time
BLOCK_PAIRS, GPU_BLOCK_PAIRS = 1 << 13, 1 << 20
#: symbols of a part of the targets, queries and pairs that an item for another machine has at most
PART_SYMBOLS, QUERIES_SENT, PAIRS_SENT = 1 << 22, 256, 1 << 10
