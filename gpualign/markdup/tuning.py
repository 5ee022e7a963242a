"""The work of sorting and marking records, which decides whether a GPU inflates and deflates; levels of compression."""

from __future__ import annotations

import os

from gpualign.run.select import Kernels, Work

#: core_rate is in bytes of a BAM file per second (2-core EPYC: 350 MB in 8 s)
KERNELS = Kernels("bgzf", core_rate=4e7, compile_s=1.0, variants=(("bgzf", {}),))

#: that of `sort` for BAM on the CPU, if none is asked for: as small as samtools writes it
LEVEL_OF_SORT = 6


def work_of(path: str) -> Work:
    """The work of sorting or marking a file of records; unknown for a pipe."""
    return Work.of(KERNELS, os.path.getsize(path) if os.path.isfile(path) else None)
