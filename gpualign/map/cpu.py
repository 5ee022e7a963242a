"""`map` on the CPU: the alignments of a batch of reads."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.map.alignments import Alignments
from gpualign.map.meth import Conversions, Which, map_by_conversion, params_as
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.map.rules import chain_rules, intron_rules, map_rules
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex
from gpualign.sequences.batch import SequenceBatch


def map_batch(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None = None
) -> Alignments:
    """Map one batch on the CPU.

    Args:
        pairs: model of the pairs in ``batch.mates``; None: map every read by itself.
    """
    if params.long_reads:
        rules = _rules(index.params, index.reference.bases, params, None)
        return Alignments(*_native.map_long_reads(*index.native, batch.native, **(_known(params) | rules)))
    if params.meth is None:
        return map_short_reads(index, batch, params, pairs, None)

    def map_as(batch: SequenceBatch, conversions: Conversions, which: Which) -> Alignments:
        return map_short_reads(index, batch, params_as(params, which), pairs, conversions)

    return map_by_conversion(params, batch, pairs is not None, map_as)


def map_short_reads(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None, conversions: Conversions
) -> Alignments:
    """Map short reads, all but those of `-x hifi`, `ont` and `asm…`; takes the arguments of :func:`map_batch`.

    Args:
        conversions: uint8 (n,), how each bisulfite read was converted; None: the reads are no bisulfite reads.
    """
    rules = _rules(index.params, index.reference.bases, params, pairs)
    arguments = _known(params) | rules
    return Alignments(*_native.map_reads(*index.native, batch.native, **arguments, conversions=conversions))


def _known(params: MapParams) -> dict[str, Any]:
    """Arguments of native functions: the ends of known introns."""
    begins, ends = params.known_sites or (np.zeros(0, np.int64),) * 2
    return {"begins": begins, "ends": ends}


@lru_cache(16)  # building these takes longer than mapping a single read
def _rules(index: IndexParams, bases: int, params: MapParams, pairs: PairModel | None) -> dict[str, Any]:
    """Arguments of the native function that are the same for all batches of a run; ``bases``: of the reference."""
    if params.long_reads:
        scores, max_hits = params.scoring, params.seeding.max_hits
        rules = chain_rules(index.k, index.w, scores, params.chaining, max_hits, params.splicing)
        return {"rules": rules.tobytes(), "max_secondary": params.reporting.secondary}
    model = pairs or PairModel()
    return {
        "rules": map_rules(index.k, index.w, bases, params, model).tobytes(),
        "long_reads": chain_rules(index.k, index.w, *params.of_long_reads).tobytes(),
        "introns": intron_rules(params.splicing).tobytes(),
        "penalties": model.penalties,
        "paired": pairs is not None,
        "error_rate": params.error_rate,
        "full": params.seeding.full,
    }
