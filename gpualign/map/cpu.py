"""`map` on the CPU."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

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
        pairs: model of the pairs in ``batch.mates``; None: map every read by itself.
    """
    reads = (*index.native, batch.bases, batch.base_offsets, batch.names, batch.name_offsets)
    if params.long_reads:
        return Alignments(*_native.map_long_reads(*reads, **_long_settings(params)))
    mates = batch.mates if pairs is not None else None
    settings = _settings(params, pairs or PairModel())
    return Alignments(*_native.map_reads(*reads, qualities=batch.qualities, mates=mates, **settings))


# cached: building these takes longer than mapping a single read
@lru_cache(16)
def _long_settings(params: MapParams) -> dict[str, Any]:
    chaining = params.chaining.native(params.seeding.max_hits)
    return {"scores": params.scoring.native, "chaining": chaining, "max_secondary": params.reporting.secondary}


@lru_cache(16)
def _settings(params: MapParams, pairs: PairModel) -> dict[str, Any]:
    seeding = params.seeding
    named = {
        "error_rate": params.error_rate,
        "local": not params.end_to_end,
        "scores": params.scoring.native,
        "max_hits": seeding.max_hits,
        "max_candidates": seeding.max_candidates,
        "full": seeding.full,
        **params.reporting.native,
    }
    return {"params": named, "chaining": LONG_READS.native(LONG_READ_HITS), "pairs": pairs.native}
