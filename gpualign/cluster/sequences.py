"""The sequences of a run: equal ones once, in the order in which they are taken."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.cluster.params import ClusterParams
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.offsets import join_offsets, offsets_of

_SIZE = re.compile(r"(?:^|;)size=(\d+)(?=;|$)")


@dataclass(frozen=True, eq=False)
class ClusterInput:
    """Sequences in the order in which they are taken.

    Attributes:
        names: of each.
        number: int64 (n,), in the input, from 0.
        sizes: int64 (n,), abundances by ``;size=N``, else 1.
        distinct: int32 (n,), which of the distinct sequences it is.
        sequences: the distinct ones; with both strands then their reverse complements.
        text: uint8, the distinct ones as they are written, if they are, with the offsets of ``sequences``.
        left_out: by their lengths.
        total: in the input.
    """

    names: list[str]
    number: NDArray[np.int64]
    sizes: NDArray[np.int64]
    distinct: NDArray[np.int32]
    sequences: EncodedSequences
    text: NDArray[np.uint8] | None
    left_out: int
    total: int

    def __len__(self) -> int:
        return len(self.names)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (n,)."""
        return self.sequences.lengths[self.distinct]

    def written(self, i: int) -> bytes:
        """The text of a sequence."""
        assert self.text is not None
        first, last = self.sequences.offsets[self.distinct[i]], self.sequences.offsets[self.distinct[i] + 1]
        return self.text[first:last].tobytes()


def read_input(
    batches: Iterable[SequenceBatch], scoring: Scoring, params: ClusterParams, path: str | None, keep_text: bool
) -> ClusterInput:
    """Read, leave out by length, order, and find equal sequences.

    Raises:
        UnknownSymbolError: a symbol that the scoring does not know.
    """
    texts: list[NDArray[np.uint8]] = []
    numbers: list[NDArray[np.int64]] = []
    total = 0

    def chosen() -> Iterator[SequenceBatch]:
        nonlocal total
        for batch in batches:
            longest = np.inf if params.max_length is None else params.max_length
            within = np.flatnonzero((batch.lengths >= params.min_length) & (batch.lengths <= longest))
            numbers.append(within + total)
            total += len(batch)
            some = batch if len(within) == len(batch) else batch.take(within)
            if keep_text:
                texts.append(some.bases)
            yield replace(some, qualities=None)

    encoded = encode(chosen(), scoring, path)
    sizes = np.array([abundance(name) for name in encoded.names], np.int64)
    number = np.concatenate(numbers) if numbers else np.zeros(0, np.int64)
    order = _order(params, encoded, sizes)
    text = np.concatenate(texts) if texts else None
    return _distinct(encoded, text, order, sizes, number, total, scoring if params.both_strands else None)


def abundance(name: str) -> int:
    """``;size=N`` of a name, else 1."""
    found = _SIZE.search(name)
    return 1 if found is None else int(found[1])


def _order(params: ClusterParams, sequences: EncodedSequences, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Longest first, or most abundant first; of equal ones the more abundant, then by name, then as in the input."""
    if params.order == "input":
        return np.arange(len(sequences))
    lengths = sequences.lengths if params.order == "length" else np.zeros(len(sequences), np.int64)
    known = np.lexsort((-sizes, -lengths))
    keys = np.stack([lengths[known], sizes[known]], axis=1)
    borders = np.flatnonzero(np.any(keys[1:] != keys[:-1], axis=1)) + 1
    names = sequences.names
    parts = np.split(known, borders) if len(known) else []
    for part in parts:
        if len(part) > 1:
            part[:] = sorted(part.tolist(), key=lambda i: (names[i], i))
    return known


def _distinct(
    all_of_them: EncodedSequences,
    text: NDArray[np.uint8] | None,
    order: NDArray[np.int64],
    sizes: NDArray[np.int64],
    number: NDArray[np.int64],
    total: int,
    both: Scoring | None,
) -> ClusterInput:
    # where they are written, ambiguity codes count as well
    first = _native.first_equal(all_of_them.codes if text is None else text, all_of_them.offsets)
    _, leads, kind = np.unique(first[order], return_index=True, return_inverse=True)
    taken = np.argsort(leads)
    rank = np.empty(len(leads), np.int32)
    rank[taken] = np.arange(len(leads), dtype=np.int32)
    distinct = rank[kind]
    chosen = order[np.sort(leads)]
    codes = _native.taken_sequences(all_of_them.codes, all_of_them.offsets, chosen)
    sequences = EncodedSequences([], codes, offsets_of(all_of_them.lengths[chosen]))
    written = None if text is None else _native.taken_sequences(text, all_of_them.offsets, chosen)
    if both is not None:
        other = sequences.reverse_complement(both)
        joined = np.concatenate([sequences.codes, other.codes]), join_offsets([sequences.offsets, other.offsets])
        sequences = EncodedSequences([], *joined)
    names = [all_of_them.names[i] for i in order.tolist()]
    return ClusterInput(names, number[order], sizes[order], distinct, sequences, written, total - len(number), total)
