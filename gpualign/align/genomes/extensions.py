"""Extensions of clusters, and the scores of alignments between genomes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.run.abi import struct

#: nucmer's scores: a match, a mismatch, a gap's first and further bases
MATCH, MISMATCH, GAP_OPEN, GAP_EXTEND = 3, -7, 10, 7


@dataclass(frozen=True, eq=False)
class Extensions:
    """Extensions of clusters at their ends and across gaps.

    Attributes:
        joined: has the sequences and computes them on the CPU.
        rows: uint8, codes of the reference, which stays the same for all batches.
        reach: anti-diagonals without a better score.
        tasks: (n,), ExtendTask.
    """

    joined: _native.GenomeAlignments
    rows: NDArray[np.uint8]
    reach: int
    tasks: NDArray[np.void]

    def __len__(self) -> int:
        return len(self.tasks)

    def part(self, begin: int, end: int) -> Extensions:
        return replace(self, tasks=self.tasks[begin:end])

    def on_cpu(self) -> NDArray[np.void]:
        """(n,), Extension: where they end."""
        return self.joined.extended(self.tasks.view(np.uint64)).view(struct("Extension"))
