"""Guides of CRISPR nucleases that the targets have, in regions of interest, and what makes them good or bad."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns.cpu import Patterns, TargetText, search_on_cpu
from gpualign.errors import InputError
from gpualign.params import RunOptions
from gpualign.reads.in_memory import packed_pieces
from gpualign.search.offtargets import Genes
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.patterns import Named, make_patterns
from gpualign.search.select import FoundHits, found_in
from gpualign.search.targets import Item, TargetBatch, prepare, read_items
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.strands import COMPLEMENTS
from gpualign.streaming.ordered import run_ordered
from gpualign.text.annotation import Annotation, read_annotation
from gpualign.text.table import Column, Names, fixed, integers

#: bases between the two sides of a stem, at least
_LOOP = 3
#: bases of the units of repeats that are looked for
_UNITS = (2, 3)


@dataclass(frozen=True, eq=False)
class Guides:
    """Different guides, in the order of their first loci.

    Attributes:
        named: their names (CONTIG:START-END:STRAND of the first locus with its PAM) and bases.
        columns: of a table, by name.
    """

    named: list[Named]
    columns: dict[str, Column]


def find_guides(files: SearchFiles, options: RunOptions) -> Guides:
    """Every guide next to a PAM on either strand, in exons of the regions' file, or in the whole targets.

    Raises:
        InputError: a file cannot be read, or there are no guides.
    """
    params = SearchParams(max_errors=0, pam=files.candidates, hits="all", path=True)
    patterns = make_patterns([("guide", b"N" * files.guide_length, None)], params, None)
    annotation = None if files.regions is None else read_annotation(files.regions)
    genes = None if annotation is None else Genes(annotation)
    regions = None if annotation is None else _regions(annotation)
    items = read_items(params, files, options.batch_size, patterns.context, options.threads)
    first = len(files.candidates.split(":")[1]) if files.candidates and files.candidates.startswith("5:") else 0
    bases, names, of_gene = [], list[str](), []
    for found in run_ordered(items, partial(_found, params, patterns, regions), options.threads):
        hits = found.hits
        guides = hits.matched.reshape(len(hits), len(patterns.symbols))[:, first : first + files.guide_length]
        known = np.flatnonzero(np.isin(guides, list(b"ACGT")).all(axis=1))
        hits = hits.take(known)
        text = found.names.tobytes()
        targets = [text[a:b] for a, b in zip(found.name_offsets[:-1], found.name_offsets[1:], strict=True)]
        bases.append(guides[known])
        loci = zip(hits.target.tolist(), hits.start.tolist(), hits.end.tolist(), hits.minus.tolist(), strict=True)
        names += [f"{targets[t].decode('latin-1')}:{start + 1}-{end}:{'+-'[minus]}" for t, start, end, minus in loci]
        if genes is not None:
            of_gene.append(genes.located(targets, hits)[0])
    whole = np.concatenate([*bases, np.zeros((0, files.guide_length), np.uint8)])
    if not len(whole):
        where = "" if files.regions is None else f" in the exons or intervals of {files.regions}"
        raise InputError(f"no guide of {files.guide_length} bases next to {files.candidates}{where}", files.targets[0])
    chosen = np.sort(np.unique(np.ascontiguousarray(whole).view(f"S{files.guide_length}"), return_index=True)[1])
    whole = whole[chosen]
    named: list[Named] = [(names[at], row.tobytes(), None) for at, row in zip(chosen.tolist(), whole, strict=True)]
    columns = {"sequence": Names([symbols.decode() for _, symbols, _ in named]).column(np.arange(len(named)))}
    if genes is not None:
        columns["gene"] = Names(genes.names).column(np.concatenate(of_gene)[chosen])
    return Guides(named, columns | usability(whole))


def usability(guides: NDArray[np.uint8]) -> dict[str, Column]:
    """Columns: share of G and C; bases of the longest homopolymer and of the longest repeat of two or three bases; base
    pairs of the longest stem.

    Args:
        guides: uint8 (n, bases), A, C, G and T.
    """
    gc = np.isin(guides, list(b"GC")).mean(axis=1)
    repeat = np.max(
        [np.where((run := _longest(guides[:, unit:] == guides[:, :-unit])) >= unit, run + unit, 0) for unit in _UNITS],
        axis=0,
    )
    size, paired = guides.shape[1], np.zeros(len(guides), np.int64)
    for loop in range(_LOOP, size - 1):  # stems around loops of this length, from inside outward
        for begin in range(1, size - loop):
            left, right = guides[:, begin - 1 :: -1], guides[:, begin + loop :]
            pairs = min(left.shape[1], right.shape[1])
            fits = left[:, :pairs] == COMPLEMENTS[right[:, :pairs]]
            np.maximum(paired, np.logical_and.accumulate(fits, axis=1).sum(axis=1), out=paired)
    return {
        "gc": fixed(gc, 2),
        "homopolymer": integers(_longest(guides[:, 1:] == guides[:, :-1]) + 1),
        "repeat": integers(repeat),
        "self_complementarity": integers(paired),
    }


def _longest(runs: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64 (n,): the most neighbours in each row of (n, m) that are True."""
    longest = run = np.zeros(len(runs), np.int64)
    for column in runs.T:
        run = (run + 1) * column
        longest = np.maximum(longest, run)
    return longest


#: intervals of each contig, sorted and disjoint
_Regions = dict[bytes, tuple[NDArray[np.int64], NDArray[np.int64]]]
_NONE = np.zeros(0, np.int64), np.zeros(0, np.int64)


def _regions(annotation: Annotation) -> _Regions:
    """The exons, those that overlap or touch joined."""
    of_exon = np.repeat(annotation.contig, np.diff(annotation.exon_offsets))
    regions: _Regions = {}
    for number, name in enumerate(annotation.contigs):
        some = np.flatnonzero(of_exon == number)
        some = some[np.argsort(annotation.exon_starts[some], kind="stable")]
        starts, reach = annotation.exon_starts[some], np.maximum.accumulate(annotation.exon_ends[some])
        heads = np.flatnonzero(np.append(True, starts[1:] > reach[:-1]))
        regions[name.encode("latin-1")] = starts[heads], reach[np.append(heads[1:], len(some)) - 1]
    return regions


def _found(params: SearchParams, patterns: Patterns, regions: _Regions | None, item: Item) -> FoundHits:
    batch = prepare(params, False, item)
    if regions is not None:
        batch = _within(batch, regions)
    return found_in(params, None, True, patterns, batch, search_on_cpu(patterns, batch.text))


def _within(batch: TargetBatch, regions: _Regions) -> TargetBatch:
    """The batch with the text of the regions only."""
    rows: list[tuple[int, int, int, int]] = []  # target, where a piece begins in it, and in which part hits count
    pieces: list[NDArray[np.uint8]] = []
    whole, offsets, names = batch.sequence(), batch.text.offsets.tolist(), batch.names.tobytes()
    for number, target in enumerate(batch.target.tolist()):
        name = names[batch.name_offsets[target] : batch.name_offsets[target + 1]]
        first, after = int(batch.origin[number]), int(batch.origin[number]) + offsets[number + 1] - offsets[number]
        starts, ends = regions.get(name, _NONE)
        some = slice(np.searchsorted(ends, first, "right"), np.searchsorted(starts, after))
        for start, end in zip(starts[some].clip(first).tolist(), ends[some].clip(max=after).tolist(), strict=True):
            shift = first - start
            rows.append((target, start, int(batch.text.begin[number]) + shift, int(batch.text.end[number]) + shift))
            pieces.append(whole[offsets[number] - shift : offsets[number] - shift + end - start])
    joined, sizes = np.concatenate([*pieces, whole[:0]]), offsets_of([len(piece) for piece in pieces])
    target, origin, begin, end = np.array(rows, np.int64).reshape(-1, 4).T.copy()
    text = packed_pieces([""], sizes[[0, -1]], (joined,))
    closed = TargetText(text, sizes, begin.clip(0), np.maximum(end, 0), np.zeros(len(rows), np.uint8))
    return replace(batch, text=closed, target=target.astype(np.int32), origin=origin)
