"""`map` on the CPU: one batch of reads."""

from __future__ import annotations

from gpualign import _native
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map.chaining import LONG_READ_HITS, LONG_READS
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch


def map_batch(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None = None
) -> Alignments:
    """Map one batch on the CPU.

    Args:
        pairs: how the pairs that ``batch.mates`` names should lie; None: map every read by itself.
    """
    reads = (*index.native, batch.bases, batch.base_offsets)
    scores, seeding = params.scoring.native, params.seeding
    if params.long_reads:
        chaining = params.chaining.native(seeding.max_hits)
        secondary = params.reporting.secondary
        return Alignments(*_native.map_long_reads(*reads, scores=scores, chaining=chaining, max_secondary=secondary))
    named = {
        "error_rate": params.error_rate,
        "local": not params.end_to_end,
        "scores": scores,
        "max_hits": seeding.max_hits,
        "max_candidates": seeding.max_candidates,
        "full": seeding.full,
        **params.reporting.native,
    }
    return Alignments(
        *_native.map_reads(
            *reads,
            mates=batch.mates if pairs is not None else None,
            params=named,
            chaining=LONG_READS.native(LONG_READ_HITS),
            pairs=(pairs or PairModel()).native,
        )
    )
