"""`map` on the CPU: a batch's alignments, and the library, which the first pairs tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from gpualign import _native
from gpualign.index.minimizers import MinimizerIndex
from gpualign.io.reads import Reads
from gpualign.map.chaining import LONG_READ_HITS, LONG_READS
from gpualign.map.pairs import Library, PairModel, estimate_pairs
from gpualign.map.params import MapParams
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS

#: as native code numbers them: R2; the conversion from C to T, which the one from G to A follows
_SECOND_MATE, _C_TO_T = 2, np.uint8(1)


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
    settings = _settings(params, pairs or PairModel()) | {"qualities": batch.qualities, "mates": mates}
    if params.meth is None:
        return Alignments(*_native.map_reads(*reads, **settings))
    second = np.zeros(len(batch), np.uint8) if batch.mates is None else (batch.mates == _SECOND_MATE).astype(np.uint8)
    ways = {"directional": _C_TO_T + second, "pbat": _C_TO_T + 1 - second}
    found = [
        _native.map_reads(*reads, **settings, conversions=conversions)
        for library, conversions in ways.items()
        if params.meth in (library, "non-directional")
    ]
    if len(found) == 1:
        return Alignments(*found[0])
    edit_cost = params.scoring.match + params.scoring.mismatch
    return Alignments(*_native.better_templates(found[0], found[1], batch.mates, edit_cost))


def pairs_of(
    index: MinimizerIndex,
    reads: Iterator[Reads],
    paired: bool,
    params: MapParams,
    threads: int,
    warn: Callable[[str], None],
    map_alone: Callable[[SequenceBatch], Alignments] | None = None,
) -> tuple[Library | None, Iterator[Reads]]:
    """The library (None: reads are not mapped as pairs), and all items.

    Args:
        map_alone: maps reads one by one; None: on the CPU.
    """
    pairing = params.pairing
    if not paired or not pairing.together:
        return None, reads
    if pairing.given is not None:
        return Library(pairing.given, "given"), reads
    library, reads = estimate_pairs(
        reads,
        STEPS.at("map")(map_alone or (lambda batch: map_batch(index, batch, params))),
        pairing.default,
        pairing.orientation,
        threads,
    )
    if library.model is None:
        warn(
            f"the first {library.sampled:,} pairs share no insert size: mates are mapped one by one, and no pair is "
            "proper (give --insert-size)"
        )
    elif library.source == "default":
        shortest, longest = library.model.min, library.model.max
        warn(f"too few pairs to estimate insert sizes: taking {shortest} to {longest} (give --insert-size)")
    return library, reads


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
