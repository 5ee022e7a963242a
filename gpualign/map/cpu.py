"""`map` on the CPU: one batch of reads."""

from __future__ import annotations

from gpualign import _native
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map.chaining import LONG_READ_HITS, LONG_READS
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch

#: more edits than there are
NO_STRATA = (1 << 31) - 1


def map_batch(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None = None
) -> Alignments:
    """Map one batch on the CPU.

    Args:
        pairs: how the pairs that ``batch.mates`` names should lie; None: map every read by itself.
    """
    if params.long_reads:
        return Alignments(
            *_native.map_long_reads(
                *index.native,
                batch.bases,
                batch.base_offsets,
                params.most_hits,
                params.scores,
                params.chaining.native,
                params.secondary,
            )
        )
    return Alignments(
        *_native.map_reads(
            *index.native,
            batch.bases,
            batch.base_offsets,
            params.error_rate,
            params.most_hits,
            params.most_candidates,
            params.full,
            not params.end_to_end,
            params.secondary,
            NO_STRATA if params.strata is None else params.strata,
            params.scores,
            LONG_READS.native,
            LONG_READ_HITS,
            batch.mates if pairs is not None else None,
            (pairs or PairModel()).native,
        )
    )
