"""`map` on the CPU: a batch's alignments, and the library, which the first pairs tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from gpualign import _native
from gpualign.index.minimizers import IndexParams, MinimizerIndex
from gpualign.io.reads import Reads
from gpualign.map.alignments import Alignments
from gpualign.map.meth import Conversions, Which, map_by_conversion, params_as
from gpualign.map.pairs import Library, PairModel, estimate_pairs
from gpualign.map.params import LONG_READ_HITS, LONG_READS, MapParams
from gpualign.map.rules import chain_rules, map_rules
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS


def map_batch(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None = None
) -> Alignments:
    """Map one batch on the CPU.

    Args:
        pairs: model of the pairs in ``batch.mates``; None: map every read by itself.
    """
    if params.long_reads:
        rules, secondary = _long_read_rules(index.params, params), params.reporting.secondary
        return Alignments(*_native.map_long_reads(*_columns(index, batch), rules=rules, max_secondary=secondary))

    def map_as(batch: SequenceBatch, conversions: Conversions, which: Which) -> Alignments:
        return map_converted(index, batch, params_as(params, which), pairs, conversions)

    return map_by_conversion(params, batch, pairs is not None, map_as)


def map_converted(
    index: MinimizerIndex, batch: SequenceBatch, params: MapParams, pairs: PairModel | None, conversions: Conversions
) -> Alignments:
    """Map short reads of known conversion; the other arguments are those of :func:`map_batch`."""
    mates = batch.mates if pairs is not None else None
    settings = _settings(index.params, index.reference.bases, params, pairs or PairModel())
    settings = settings | {"qualities": batch.qualities, "mates": mates, "conversions": conversions}
    return Alignments(*_native.map_reads(*_columns(index, batch), **settings))


def _columns(index: MinimizerIndex, batch: SequenceBatch) -> tuple[Any, ...]:
    return (*index.native, batch.bases, batch.base_offsets, batch.names, batch.name_offsets)


def find_library(
    index: MinimizerIndex,
    reads: Iterator[Reads],
    paired: bool,
    params: MapParams,
    threads: int,
    warn: Callable[[str], None],
    map_alone: Callable[[SequenceBatch], Alignments] | None = None,
) -> tuple[Library | None, Iterator[Reads]]:
    """Learn insert sizes and orientation from the first pairs, unless they are given.

    Returns:
        the library (None: reads are not mapped as pairs), and all reads, the first ones included.

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
def _long_read_rules(index: IndexParams, params: MapParams) -> bytes:
    return chain_rules(index.k, index.w, params.scoring, params.chaining, params.seeding.max_hits).tobytes()


@lru_cache(16)
def _settings(index: IndexParams, bases: int, params: MapParams, pairs: PairModel) -> dict[str, Any]:
    return {
        "rules": map_rules(index.k, index.w, bases, params, pairs).tobytes(),
        "long_reads": chain_rules(index.k, index.w, params.scoring, LONG_READS, LONG_READ_HITS).tobytes(),
        "penalties": pairs.penalties,
        "error_rate": params.error_rate,
        "full": params.seeding.full,
    }
