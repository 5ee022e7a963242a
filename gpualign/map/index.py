"""The index of a run of `map`: opened, or built with seeds chosen by the reads; then saved, locked or split.

With `--sensitivity full` every locus shares a seed with its read; short reads get seeds that are dense enough for them.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError, UsageError
from gpualign.map.bwa_reference import open_next_to
from gpualign.map.inputs import MapFiles, Sample
from gpualign.map.params import MapParams
from gpualign.reads.lanes import Lanes
from gpualign.reads.reads import Reads
from gpualign.run.run_context import RunContext
from gpualign.seeds.index.file import is_index, save_index
from gpualign.seeds.index.minimizers import AltPart, IndexParams, MinimizerIndex
from gpualign.seeds.index.run import choose_index_params, open_index
from gpualign.text.files import InputFile

#: names of ALT contigs (GRCh38's and HLA genes), if no file lists them
_ALT_NAME = re.compile(r".+_alt|HLA[-*:].+")
_MAX_ALT_BYTES = 1 << 30
#: reads whose lengths choose the seeds; a fixed number, so that the output does not depend on batches
_SAMPLE_READS = 10_000
#: bases of the reads whose lengths are looked at, at once
_SAMPLE_BASES = 1 << 16
#: shortest useful seed: searching the whole reference costs less than following shorter ones
_MIN_PIECE = 7
#: entries of which it is looked up at once whether they are of ALT contigs
_ENTRIES_AT_ONCE = 1 << 22
#: largest window: beyond it too few k-mers are kept
_MAX_W = 16
#: k for reads hardly longer than the usual k
_SHORT_K = 15
#: bases of a short read beyond a window
_SPARE_BASES = 4


def index_for(sample: Sample, lanes: Lanes, run: RunContext) -> tuple[MinimizerIndex, Iterator[Reads] | None]:
    """Open or build the index that the options and the reads ask for; then save it, lock it and split it.

    Returns:
        the index, and the reads if the first ones had to be read for it.
    """
    reference, params, options = sample.files.reference, sample.params, sample.options
    given = (params.seeding.k, params.seeding.w)
    shared, meth = sample.files.preload, params.meth is not None
    reads = None
    if sample.files.keep_index:
        index = open_next_to(reference, *given, options.threads, run.note, shared, meth)
    elif params.seeding.full:
        lengths, reads = _first_lengths(lanes.reads(options.batch_size))
        piece = _shortest_piece(params, lengths)
        seeds = given if is_index(reference) else _choose_seeds(params, piece)
        index = open_index(reference, *seeds, options.threads, shared=shared, options=options, meth=meth)
        _check_seeds(params, index.params, piece)
    else:
        choose = None if meth else _seeds_of(sample)
        index = open_index(reference, *given, options.threads, choose, shared, options, meth)
    return apply_index_options(sample.files, index, run.warn), reads


def apply_index_options(files: MapFiles, index: MinimizerIndex, warn: Callable[[str], None]) -> MinimizerIndex:
    """Split off ALT contigs, save the whole index and lock it in memory, if asked for."""
    split = index if files.alt is None else split_index(index, files.alt or None)
    if files.save_index is not None:
        save_index(index, files.save_index)
    if files.preload and index.shared is None:
        warn("only a saved index is shared with other processes (--preload needs one)")
    elif files.preload and index.shared is not None and (reason := index.shared.lock()) is not None:
        warn(f"the index is shared but not locked in memory: {reason} (ulimit -l)")
    return split


def _seeds_of(sample: Sample) -> Callable[[int], IndexParams] | None:
    """A function that chooses seeds by the first reads; None if seeds are given or files cannot be read twice."""
    seeding, files = sample.params.seeding, sample.files
    given = seeding.k is not None or seeding.w is not None
    if given or is_index(files.reference) or not all(map(os.path.isfile, files.files)):
        return None
    try:
        with ExitStack() as stack:
            lengths, _ = _first_lengths(sample.open_reads(stack).reads(_SAMPLE_BASES))
    except InputError:  # reported when all reads are read
        return None
    return seeds_for_short_reads(lengths)


def _first_lengths(items: Iterator[Reads]) -> tuple[NDArray[np.int64], Iterator[Reads]]:
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


def _shortest_piece(params: MapParams, lengths: NDArray[np.int64]) -> int:
    """Length of an error-free segment that every locus of these reads has.

    Of limit + 1 pieces of a read one has no edit (the pigeonhole principle). If pieces are too short for a seed, the
    whole reference is searched for the read.
    """
    pieces = params.pieces(lengths[~params.chained_as_long(lengths) & (lengths > 0)])
    return max(_MIN_PIECE, int(pieces.min()) if len(pieces) else 0)


def _choose_seeds(params: MapParams, piece: int) -> tuple[int, int]:
    """k and w, unless given, so that every segment of w + k - 1 bases has a seed; k as large as possible, for
    specificity."""
    k = params.seeding.k or next(k for k in (19, 15, 13, 11, 9, 7) if piece >= {19: 23, 15: 17}.get(k, k))
    return k, params.seeding.w or min(_MAX_W, max(1, piece - k + 1))


def _check_seeds(params: MapParams, index: IndexParams, piece: int) -> None:
    """Refuse an index in which loci of these reads may lack a seed.

    Raises:
        UsageError: with seeds that will do.
    """
    if index.w + index.k - 1 > piece:
        free = params.seeding.k is None and params.seeding.w is None
        k, w = _choose_seeds(params, piece) if free else (piece - 1 + piece % 2, 1)
        raise UsageError(
            f"--sensitivity full needs k + w - 1 of at most {piece} for these reads and -e {params.error_rate:g}, "
            f"and the index has k = {index.k} and w = {index.w} (-k {k} -w {w} will do)"
        )


def alt_contigs(names: list[str], path: str | None) -> NDArray[np.uint8]:
    """uint8 (contigs,): 1 for ALT ones; decoys count as primary.

    Args:
        path: bwa's ``.alt`` file: SAM whose records are named as the ALT contigs, or one name per line; None: decide
            by the contigs' names.

    Raises:
        InputError: the file cannot be read, or names no contig of the reference.
    """
    if path is None:
        return np.array([_ALT_NAME.fullmatch(name) is not None for name in names], np.uint8)
    with InputFile(path) as file:
        lines = file.read(_MAX_ALT_BYTES).splitlines()
    named = (line.split(b"\t")[0].strip() for line in lines if line.strip() and not line.startswith(b"@"))
    listed = {name.decode("latin-1") for name in named}
    chosen = np.array([name in listed for name in names], np.uint8)
    if not chosen.any():
        raise InputError("it names no contig of the reference", path)
    return chosen


def split_index(index: MinimizerIndex, path: str | None) -> MinimizerIndex:
    """The index split into primary assembly and ALT contigs, if it has both."""
    chosen = alt_contigs(index.reference.names, path)
    if not chosen.any() or chosen.all():
        return index
    edges = index.reference.contig_offsets[1:-1][chosen[1:] != chosen[:-1]]  # where ALT contigs begin or end
    is_alt = np.empty(len(index.entries), bool)
    for at in range(0, len(is_alt), _ENTRIES_AT_ONCE):
        positions = (index.entries[at : at + _ENTRIES_AT_ONCE] >> 1 & 0xFFFFFFFF).astype(np.int64)
        is_alt[at : at + _ENTRIES_AT_ONCE] = np.searchsorted(edges, positions, "right") + chosen[0] & 1
    alt_offsets = np.searchsorted(np.flatnonzero(is_alt), index.offsets).astype(np.uint32)
    primary = replace(index, offsets=index.offsets - alt_offsets, entries=index.entries[~is_alt], path=None)
    alt = replace(index, offsets=alt_offsets, entries=index.entries[is_alt], path=None)
    return replace(primary, alt=AltPart(chosen, alt))
