"""Launch numbers of ``cuda/search.cu`` and what its work costs a core."""

from __future__ import annotations

from gpualign.run.select import Kernels

#: threads of a block, bases that a block looks up at once, and blocks of a launch
WORD_THREADS, WORD_TILE, WORD_BLOCKS = 256, 1 << 14, 1 << 13
#: threads of a block of patterns without seeds, and bases that a warp of them takes
DENSE_THREADS, DENSE_COLUMNS = 128, 1 << 12
#: events that come back at once; where there are more, they come in a second copy
FIRST_EVENTS = 1 << 16
#: space for events: at least MIN_EVENTS, and EVENTS_PER_BASE; where there are more, the kernels run again with space
#: for all of them, up to a GiB
MIN_EVENTS, EVENTS_PER_BASE, MAX_EVENTS = 1 << 20, 0.25, 1 << 27
#: hits of a batch that are held, about 200 bytes each while they are found; where there are more, it is cut
MAX_HITS = 1 << 20

#: a core's rate is of bases
KERNELS = Kernels("search", core_rate=3e8, compile_s=1.5, variants=(("search", {}),))
