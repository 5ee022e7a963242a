"""Launch numbers of ``cuda/word_draws.cu`` and what its work costs a core."""

from __future__ import annotations

from gpualign.run.select import Kernels

#: threads of a block, a warp for each query
THREADS = 128

#: a core's rate is of pairs of a query's and a reference's base
KERNELS = Kernels("word_draws", core_rate=1e14, compile_s=10.0, variants=(("word_draws", {}),))
