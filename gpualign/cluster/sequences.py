"""The sequences of a run: equal ones once, in the order in which they are taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.cluster.params import ClusterParams
from gpualign.run.malloc_tuning import return_memory
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring
from gpualign.sequences.offsets import joined, offsets_of
from gpualign.text.labels import sizes_of


@dataclass(frozen=True, eq=False)
class ClusterInput:
    """Sequences in the order in which they are taken.

    Attributes:
        names, name_offsets: uint8 and int64 (n + 1,), the names one after the other.
        number: int64 (n,), in the input, from 0.
        sizes: int64 (n,), abundances by ``;size=N``, else 1.
        distinct: int32 (n,), which of the distinct sequences it is.
        sequences: the distinct ones; with both strands then their reverse complements.
        text: uint8, the distinct ones as they are written, if they are, with the offsets of ``sequences``.
        left_out: by their lengths.
        total: in the input.
    """

    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    number: NDArray[np.int64]
    sizes: NDArray[np.int64]
    distinct: NDArray[np.int32]
    sequences: EncodedSequences
    text: NDArray[np.uint8] | None
    left_out: int
    total: int

    def __len__(self) -> int:
        return len(self.number)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 (n,)."""
        return self.sequences.lengths[self.distinct]

    def name(self, i: int) -> bytes:
        return self.names[self.name_offsets[i] : self.name_offsets[i + 1]].tobytes()

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
        InputError: a ``;size=N`` that is no number from 1 on, or that no 64 bits hold.
    """
    texts: list[NDArray[np.uint8]] = []
    names: list[tuple[NDArray[np.uint8], NDArray[np.int64]]] = [(np.zeros(0, np.uint8), np.zeros(1, np.int64))]
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
            names.append((some.names, some.name_offsets))
            if keep_text:
                texts.append(some.bases)
            yield replace(some, qualities=None)

    encoded = encode(chosen(), scoring, path, named=False)
    return_memory()  # that of the pieces; the sequences are soon there twice
    number = np.concatenate(numbers) if numbers else np.zeros(0, np.int64)
    all_names = joined(names)
    sizes = sizes_of(*all_names, path)
    order = _order(params, encoded.lengths, sizes, *all_names)
    text = np.concatenate(texts) if texts else None
    texts.clear()
    # where they are written, ambiguity codes count as well
    compared = encoded.codes if text is None else text
    offsets = encoded.offsets
    distinct, first = numbered_as_met(_native.first_equal(compared, offsets)[order])
    chosen_first = order[first]
    sequences = _taken(encoded.codes, offsets, chosen_first)
    del encoded, compared  # as large as all that is kept
    if params.both_strands:
        other = sequences.reverse_complement(scoring)
        both = joined([(sequences.codes, sequences.offsets), (other.codes, other.offsets)])
        sequences = EncodedSequences([], *both)
    return ClusterInput(
        names=_native.taken_sequences(*all_names, order),
        name_offsets=offsets_of(np.diff(all_names[1])[order]),
        number=number[order],
        sizes=sizes[order],
        distinct=distinct,
        sequences=sequences,
        text=None if text is None else _native.taken_sequences(text, offsets, chosen_first),
        left_out=total - len(number),
        total=total,
    )


def _order(
    params: ClusterParams,
    lengths: NDArray[np.int64],
    sizes: NDArray[np.int64],
    names: NDArray[np.uint8],
    name_offsets: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Longest first, or most abundant first; of equal ones the more abundant, then by name, then as in the input."""
    if params.order == "input":
        return np.arange(len(lengths))
    order: NDArray[np.int64] = _native.cluster_order(
        lengths if params.order == "length" else np.zeros(len(lengths), np.int64), sizes, names, name_offsets
    )
    return order


def numbered_as_met(values: NDArray[np.integer]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct values numbered as they are met: int32 (n,) of each, and where each number is met first."""
    _, first, which = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[which], np.sort(first)


def _taken(codes: NDArray[np.uint8], offsets: NDArray[np.int64], chosen: NDArray[np.int64]) -> EncodedSequences:
    lengths = np.diff(offsets)[chosen]
    return EncodedSequences([], _native.taken_sequences(codes, offsets, chosen), offsets_of(lengths))
