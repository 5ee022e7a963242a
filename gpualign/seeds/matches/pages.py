"""A reference cut into overlapping pages, for devices that cannot hold it and its index at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from gpualign.seeds.index.minimizers import MinimizerIndex, build_index
from gpualign.sequences.reference import Reference

_WORD_BASES = 32  # bases of a packed word; pages begin at multiples


@dataclass(frozen=True)
class Page:
    """An interval of the reference with an index of its own.

    Attributes:
        begin: reference position of the page's first base.
        own_begin, own_end: page positions of the seeds that are this page's; those in the margins are its neighbours'.
        index: index of the page; positions count from its begin.
    """

    begin: int
    own_begin: int
    own_end: int
    index: MinimizerIndex

    @property
    def end(self) -> int:
        """Reference position after the page's last base."""
        return self.begin + self.index.reference.bases


def index_bytes(index: MinimizerIndex) -> int:
    """Bytes of an index and its packed reference."""
    return index.reference.words.nbytes + index.offsets.nbytes + index.entries.nbytes


def cut_pages(index: MinimizerIndex, max_bytes: int, margin: int, threads: int = 1) -> list[Page]:
    """Pages whose indexes take about ``max_bytes`` each; the index itself where it fits.

    Args:
        margin: bases that a page has beyond what it owns, on both sides; at least ``w + k`` so that every window
            and every left side is seen whole, and the least length of a match, so that a match cut short at a
            page's end is still found there.
    """
    bases = index.reference.bases
    count = -(-index_bytes(index) // max(1, max_bytes))
    if count <= 1:
        return [Page(0, 0, bases, index)]
    margin = max(margin, index.params.w + index.params.k)
    size = max(_WORD_BASES, -(-bases // count // _WORD_BASES) * _WORD_BASES)
    pages = []
    for start in range(0, bases, size):
        stop = min(start + size, bases)
        begin = max(0, start - margin) // _WORD_BASES * _WORD_BASES
        part = _part(index.reference, begin, min(bases, stop + margin))
        pages.append(Page(begin, start - begin, stop - begin, build_index(part, index.params, threads)))
    return pages


def _part(reference: Reference, begin: int, end: int) -> Reference:
    """Positions [begin, end) as a reference; ``begin`` is a multiple of 32."""
    offsets = reference.contig_offsets
    inner = offsets[(offsets > begin) & (offsets < end)]
    offsets = np.concatenate(([0], inner - begin, [end - begin])).astype(np.int64)
    names = [str(i) for i in range(len(offsets) - 1)]
    return replace(reference.part(begin, end), names=names, contig_offsets=offsets)
