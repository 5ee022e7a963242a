"""From all hits of a batch to those that are asked for: near an end, best or first of each pattern, one a target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.patterns.cpu import Patterns, SearchHits
from gpualign.search.params import SearchParams
from gpualign.search.targets import RecordPart, TargetBatch
from gpualign.search.variants import Variants
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.reference import Reference
from gpualign.sequences.strands import COMPLEMENTS


@dataclass(frozen=True, eq=False)
class FoundHits:
    """What a batch of targets gave.

    Attributes:
        names, name_offsets, lengths: of the targets, as :class:`TargetBatch` has them.
        hits: with numbers of targets in the batch and positions in them.
        symbols: searched.
        part: None for whole targets.
        records: the targets themselves, where they are to be written.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]
    hits: SearchHits
    symbols: int
    part: RecordPart | None = None
    records: SequenceBatch | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def only(self, chosen: NDArray[np.int64]) -> FoundHits:
        """With these hits."""
        return replace(self, hits=self.hits.take(chosen))


def found_in(
    params: SearchParams,
    variants: Variants | None,
    all_patterns: bool,
    patterns: Patterns,
    targets: TargetBatch,
    hits: SearchHits,
) -> FoundHits:
    """The hits of a batch that can be wanted whatever the next batch has.

    Args:
        variants: make further sites.
        all_patterns: no other patterns are looked for in the batch.
    """
    if params.path and len(hits):
        matched, offsets = matched_text(targets, hits)
        hits = replace(hits, matched=matched, matched_offsets=offsets)
    if variants is not None:
        hits = variants.with_sites(patterns, targets, hits)
    origin = targets.origin[hits.target]
    moved = replace(hits, target=targets.target[hits.target], start=hits.start + origin, end=hits.end + origin)
    part = None if targets.part is None else replace(targets.part, text=())
    named = targets.names, targets.name_offsets, targets.lengths
    found = FoundHits(*named, moved, targets.symbols, part, targets.records)
    if params.within is not None and part is not None and part.length > 2 * params.within:
        near = (moved.end <= params.within) | (moved.start >= part.length - params.within)
        found = found.only(np.flatnonzero(near))
    return selected(params, patterns, found) if part is None and all_patterns else found


def matched_text(targets: TargetBatch, hits: SearchHits) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The text of each hit, as the pattern reads it."""
    text, offsets = targets.text.text, targets.text.offsets
    if isinstance(text, Reference):
        first = offsets[hits.target]
        bases = _native.interval_text(text.native, first + hits.start, first + hits.end, hits.minus)
        return bases, offsets_of(hits.end - hits.start)
    at, minus, offsets = hits.positions(offsets)
    return np.where(minus, COMPLEMENTS[text[at]], text[at]), offsets


def selected(params: SearchParams, patterns: Patterns, found: FoundHits) -> FoundHits:
    """The hits of whole targets that are asked for, in their order."""
    if params.merge:
        found = found.only(merged(found.hits, found.hits.end)[0])
    if params.best_per_target:
        return found.only(_best_of_targets(params, patterns, found.hits))
    return one_of_each(params, found) if params.hits in ("best", "first") else found


def one_of_each(params: SearchParams, found: FoundHits) -> FoundHits:
    """The first hit of each pattern in each target, or of those with the fewest errors."""
    hits = found.hits
    if not len(hits):
        return found
    number = np.arange(len(hits))
    first = (number,) if params.hits == "first" else (number, hits.distance)
    order = np.lexsort((*first, hits.pattern, hits.target))
    target, pattern = hits.target[order], hits.pattern[order]
    leads = np.concatenate([[True], (target[1:] != target[:-1]) | (pattern[1:] != pattern[:-1])])
    return found.only(np.sort(order[leads]))


def _best_of_targets(params: SearchParams, patterns: Patterns, hits: SearchHits) -> NDArray[np.int64]:
    """One hit a target: of the pattern with the fewest errors, where every other pattern has ``margin`` more."""
    order = np.lexsort((np.arange(len(hits)), hits.distance, hits.target))
    target = hits.target[order]
    leads = np.flatnonzero(np.concatenate([[True], target[1:] != target[:-1]])) if len(order) else np.zeros(0, np.int64)
    best = order[leads]
    group = np.repeat(np.arange(len(leads)), np.diff(np.append(leads, len(order))))
    other = hits.pattern[order] != hits.pattern[best][group]
    second = np.full(len(leads), 1 << 30, np.int64)
    np.minimum.at(second, group[other], hits.distance[order][other])
    errors = hits.distance[best]
    return np.sort(best[(second - errors >= params.margin) & (errors <= patterns.kept[hits.pattern[best]])])


def merged(hits: SearchHits, reach: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One hit for each locus: hits of a pattern on a strand that overlap, each the next, are one. It is that with the
    fewest errors, of these the leftmost that the target has without variants.

    Args:
        reach: int64 (n,), where each hit ends, or the locus that it stands for.

    Returns:
        Numbers of the hits, int64 (m,) in their order, and where their loci end, int64 (m,).
    """
    if not len(hits):
        return np.zeros(0, np.int64), reach
    group = (hits.target.astype(np.int64) * (int(hits.pattern.max()) + 1) + hits.pattern) * 2 + hits.minus
    order = np.argsort(group, kind="stable")  # starts are in order already
    group, start = group[order], hits.start[order]
    shift = np.cumsum(np.diff(group, prepend=group[:1]) != 0) * (int(reach.max()) + 1)  # groups follow one another
    after = np.maximum.accumulate(reach[order] + shift)
    begins = np.flatnonzero(np.append([True], (start + shift)[1:] >= after[:-1]))
    rank = (2 * hits.distance.astype(np.int64) + hits.of_variants)[order] * len(hits) + np.arange(len(hits))
    chosen = order[np.minimum.reduceat(rank, begins) % len(hits)]
    ends = np.maximum.reduceat(reach[order], begins)
    back = np.argsort(chosen)
    return chosen[back], ends[back]


def merged_parts(batches: Iterable[FoundHits]) -> Iterator[FoundHits]:
    """Parts of records with one hit for each locus: those that the next part may change wait for it."""
    held, reach = SearchHits.none(), np.zeros(0, np.int64)
    for found in batches:
        if found.part is None:
            yield found
            continue
        hits = SearchHits.join([held, found.hits])
        chosen, reach = merged(hits, np.append(reach, found.hits.end))
        hits = hits.take(chosen) if len(chosen) < len(hits) else hits
        growing = np.flatnonzero(reach > found.part.end)
        done = int(growing[0]) if len(growing) and not found.part.last else len(hits)
        held, reach = hits.take(slice(done, None)), reach[done:]
        yield replace(found, hits=hits.take(slice(done)))


def joined_parts(parts: list[FoundHits]) -> FoundHits:
    """All parts of a record as one."""
    return replace(_joined(parts), symbols=sum(part.symbols for part in parts), part=None)


def joined_groups(found: list[FoundHits], groups: list[Patterns]) -> FoundHits:
    """The hits of groups of patterns in the same targets as those of all patterns, in their order."""
    firsts = offsets_of([len(group) for group in groups])
    numbered = [
        replace(one, hits=replace(one.hits, pattern=one.hits.pattern + np.int32(first)))
        for one, first in zip(found, firsts, strict=False)
    ]
    joined = _joined(numbered)
    hits = joined.hits
    return joined.only(np.lexsort((hits.minus, hits.pattern, hits.end, hits.start, hits.target)))


def _joined(parts: list[FoundHits]) -> FoundHits:
    return replace(parts[-1], hits=SearchHits.join([part.hits for part in parts]))
