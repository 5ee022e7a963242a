"""Which letters of bisulfite reads are converted, and libraries in which either may be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments

#: as native code numbers them: R2; the conversion from C to T, which the one from G to A follows
_SECOND_MATE, _C_TO_T = 2, np.uint8(1)


def conversions_of(library: str | None, mates: NDArray[np.uint8] | None, reads: int) -> NDArray[np.uint8] | None:
    """uint8 (reads,): ``Conversion`` of cuda/algo/common/bisulfite.hpp of each read; None: no bisulfite reads.

    Args:
        library: "directional", "pbat" or None.
        mates: ``SequenceBatch.mates`` of the reads.
    """
    if library is None:
        return None
    second = np.zeros(reads, np.uint8) if mates is None else (mates == _SECOND_MATE).astype(np.uint8)
    return np.asarray(_C_TO_T + (second if library == "directional" else 1 - second), np.uint8)


def in_each_way(
    params: MapParams, mates: NDArray[np.uint8] | None, map_as: Callable[[str | None], Alignments]
) -> Alignments:
    """Map reads as those of their library; of a non-directional one as both, and take the better alignments.

    Args:
        map_as: maps all reads as those of a library, "directional" or "pbat"; None: no bisulfite reads.
    """
    if params.meth != "non-directional":
        return map_as(params.meth)
    first, second = map_as("directional").native, map_as("pbat").native
    edit_cost = params.scoring.match + params.scoring.mismatch
    return Alignments(*_native.better_templates(first, second, mates, edit_cost))
