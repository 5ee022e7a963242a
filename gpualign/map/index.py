"""Chooses seeds by the reads: for `map --sensitivity full` so that every locus shares a seed with its read, and dense
enough for reads of 20 bases."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import UsageError
from gpualign.index.minimizers import IndexParams
from gpualign.index.run import choose_index_params
from gpualign.io.reads import Reads
from gpualign.map.params import MapParams

#: reads whose lengths choose the seeds; a fixed number, so that the output does not depend on batches
_SAMPLE_READS = 10_000
#: shortest useful seed: searching the whole reference costs less than following shorter ones
_MIN_PIECE = 7
#: largest window: beyond it too few k-mers are kept
_MAX_W = 16
#: k for reads hardly longer than the usual k
_SHORT_K = 15
#: bases of a short read beyond a window
_SPARE_BASES = 4


def first_lengths(items: Iterator[Reads]) -> tuple[NDArray[np.int64], Iterator[Reads]]:
    """Lengths of the first reads, and all items."""
    held: list[Reads] = []
    lengths = np.zeros(0, np.int64)
    while len(lengths) < _SAMPLE_READS and (item := next(items, None)) is not None:
        held.append(item.parsed())
        lengths = np.concatenate((lengths, held[-1].columns().lengths))
    return lengths[:_SAMPLE_READS], itertools.chain(held, items)


def seeds_for_short_reads(lengths: NDArray[np.int64]) -> Callable[[int], IndexParams]:
    """A function from the bases of a reference to its seeds.

    If most of the reads are hardly longer than a window of the usual seeds, it chooses windows that nine of ten reads
    contain, and several of them, as an edit destroys one.
    """

    def choose(bases: int) -> IndexParams:
        usual = choose_index_params(bases)
        if not len(lengths) or np.median(lengths) >= usual.w + usual.k - 1 + _SPARE_BASES:
            return usual
        length = max(_SHORT_K, int(np.percentile(lengths, 10, method="lower")))
        k = usual.k if length > usual.k else min(usual.k, _SHORT_K)
        windows = length - k + 1
        return IndexParams(k, min(usual.w, max(min(2, windows), windows - _SPARE_BASES)))

    return choose


def shortest_piece(params: MapParams, lengths: NDArray[np.int64]) -> int:
    """Length of an error-free segment that every locus of these reads has.

    Of limit + 1 pieces of a read one has no edit (the pigeonhole principle). If pieces are too short for a seed, the
    whole reference is searched for the read.
    """
    pieces = params.pieces(lengths[~params.chained_as_long(lengths) & (lengths > 0)])
    return max(_MIN_PIECE, int(pieces.min()) if len(pieces) else 0)


def choose_seeds(params: MapParams, piece: int) -> tuple[int, int]:
    """k and w, unless given, so that every segment of w + k - 1 bases has a seed; k as large as possible, for
    specificity."""
    k = params.seeding.k or next(k for k in (19, 15, 13, 11, 9, 7) if piece >= {19: 23, 15: 17}.get(k, k))
    return k, params.seeding.w or min(_MAX_W, max(1, piece - k + 1))


def check_seeds(params: MapParams, index: IndexParams, piece: int) -> None:
    """Refuse an index in which loci of these reads may lack a seed.

    Raises:
        UsageError: with seeds that will do.
    """
    if index.w + index.k - 1 > piece:
        free = params.seeding.k is None and params.seeding.w is None
        k, w = choose_seeds(params, piece) if free else (piece - 1 + piece % 2, 1)
        raise UsageError(
            f"--sensitivity full needs k + w - 1 of at most {piece} for these reads and -e {params.error_rate:g}, "
            f"and the index has k = {index.k} and w = {index.w} (-k {k} -w {w} will do)"
        )
