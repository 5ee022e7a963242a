"""`map` on the CPU: the alignments of a batch of reads."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gpualign import _native
from gpualign.index.minimizers import MinimizerIndex
from gpualign.map.alignments import Alignments
from gpualign.map.meth import Conversions, Which, map_by_conversion, params_as
from gpualign.map.pairs import PairModel
from gpualign.map.params import LONG_READ_HITS, LONG_READS, MapParams
from gpualign.sequences.batch import SequenceBatch


def map_batch(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None = None
) -> Alignments:
    """Map one batch on the CPU.

    Args:
        pairs: model of the pairs in ``batch.mates``; None: map every read by itself.
    """
    if params.long_reads:
        return Alignments(*_native.map_long_reads(*_columns(index, batch), **_long_settings(params)))
    if params.meth is None:
        return map_converted(index, batch, params, pairs, None)

    def map_as(batch: SequenceBatch, conversions: Conversions, which: Which) -> Alignments:
        return map_converted(index, batch, params_as(params, which), pairs, conversions)

    return map_by_conversion(params, batch, pairs is not None, map_as)


def map_converted(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None, conversions: Conversions
) -> Alignments:
    """Map short reads of known conversion (None: no bisulfite reads); the other arguments are those of
    :func:`map_batch`."""
    mates = batch.mates if pairs is not None else None
    settings = _settings(params, pairs or PairModel()) | {"qualities": batch.qualities, "mates": mates}
    return Alignments(*_native.map_reads(*_columns(index, batch), **settings, conversions=conversions))


def _columns(index: MinimizerIndex, batch: SequenceBatch) -> tuple[Any, ...]:
    return (*index.native, batch.bases, batch.base_offsets, batch.names, batch.name_offsets)


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
