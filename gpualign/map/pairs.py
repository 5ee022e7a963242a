"""The pairs of `map`: what a library of pairs looks like, given or seen in its first pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import UsageError
from gpualign.io.mates import Reads, parsed, to_reads
from gpualign.map.records import Alignments
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.ordered import run_ordered

#: how the mates of a pair lie: "fr" facing each other (Illumina), "rf" facing away (mate pairs), "ff" on one strand
ORIENTATIONS = ("fr", "rf", "ff")
#: pairs that are looked at to estimate insert sizes: the first ones of the input, whatever the batches, so many at a
#: time, until enough lie alike or the most were looked at
_PAIRS_AT_ONCE, _ENOUGH_PAIRS, _MOST_PAIRS = 1000, 800, 5000
_MIN_PAIRS = 25
_SAMPLE_MAPQ = 20
#: of the pairs of an orientation, those of other sizes that make a second kind of inserts
_SECOND_KIND = 0.1


@dataclass(frozen=True)
class PairModel:
    """Insert sizes (outer distances of the mates) in bases, and what a pair that does not fit costs.

    Attributes:
        mean, sd: of the insert sizes.
        min, max: bounds of a proper pair.
        orientation: one of :data:`ORIENTATIONS`.
        unpaired_penalty: score that an unpaired alignment must make up for.
    """

    mean: float = 300.0
    sd: float = 100.0
    min: int = 1
    max: int = 1000
    orientation: str = "fr"
    unpaired_penalty: int = 17

    def __post_init__(self) -> None:
        if self.orientation not in ORIENTATIONS:
            raise UsageError(f"orientation must be one of {', '.join(ORIENTATIONS)}, not {self.orientation!r}")
        if self.mean <= 0 or self.sd <= 0 or not 0 <= self.min <= self.max:
            raise UsageError("insert size needs mean and sd above 0 and min at most max")
        if self.max > 1 << 20:
            raise UsageError(f"insert size must be at most {1 << 20:,}, not {self.max:,}")

    @property
    def reported(self) -> dict[str, float | str]:
        """As --json shows it."""
        fields = asdict(self)
        fields["unpaired"] = fields.pop("unpaired_penalty")
        return fields

    @property
    def native(self) -> dict[str, Any]:
        """As native functions take it."""
        return {**asdict(self), "orientation": ORIENTATIONS.index(self.orientation), "penalties": self.penalties}

    @cached_property
    def penalties(self) -> NDArray[np.int32]:
        """int32 (max + 1,): score units that each insert size costs."""
        penalties: NDArray[np.int32] = _native.pair_penalties(self.mean, self.sd, self.max)
        return penalties


def parse_insert_size(text: str, orientation: str, unpaired_penalty: int) -> PairModel:
    """``mean[,sd[,max[,min]]]`` as in bwa's -I; sd is a tenth of the mean, max and min four sd away where not given.

    Raises:
        UsageError: not one to four numbers.
    """
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 4:
        raise UsageError(f"insert size must be MEAN[,SD[,MAX[,MIN]]], not {text!r}")
    mean = numbers[0]
    sd = numbers[1] if len(numbers) > 1 else mean / 10
    longest = numbers[2] if len(numbers) > 2 else mean + 4 * sd
    shortest = numbers[3] if len(numbers) > 3 else mean - 4 * sd
    return PairModel(mean, sd, max(1, int(shortest)), int(longest), orientation, unpaired_penalty)


def estimate_pairs(
    items: Iterator[Any],
    map_alone: Callable[[SequenceBatch], Alignments],
    library: PairModel,
    orientation: str | None = None,
    threads: int = 1,
) -> tuple[PairModel | None, Iterator[Any]]:
    """Orientation and insert sizes from the first pairs whose mates both align with confidence, each by itself.

    Once for the whole run, from the first pairs whatever the batches, so that the output does not depend on them. The
    orientation is that of most pairs. Quartile fences as in bwa mem: mean and sd from the sizes within two
    interquartile ranges of the quartiles, a proper pair within three, and at least four sd from the mean. Where many
    of the others have a size of their own, as where two libraries were mixed, both kinds are proper.

    Args:
        items: reads as :func:`to_reads` takes them, pairs among them.
        library: penalty, and orientation where too few pairs could be mapped.
        orientation: of the library; None: the most frequent one.

    Returns:
        The model, None where too few pairs could be mapped, and the items from the first one on.
    """
    held: list[Reads] = []
    pairs = 0
    asked = ORIENTATIONS if orientation is None else (orientation,)
    found = {each: np.zeros(0, np.int64) for each in asked}

    def sizes_of(part: SequenceBatch) -> dict[str, NDArray[np.int64]]:
        found = map_alone(part)
        return {each: _sizes(part, found, each) for each in asked}

    for sample in _first_pairs(items, held):
        for sizes in run_ordered(_cut(sample, threads), sizes_of, threads):
            found = {each: np.append(found[each], sizes[each]) for each in asked}
        pairs += _count(sample)
        if pairs % _PAIRS_AT_ONCE == 0 and max(map(len, found.values())) >= _ENOUGH_PAIRS:
            break
    maximum = max(asked, key=lambda each: len(found[each]))  # of equally frequent ones the first
    return _fit(found[maximum], replace(library, orientation=maximum)), itertools.chain(held, items)


def _count(batch: SequenceBatch) -> int:
    return 0 if batch.mates is None else int(np.count_nonzero(batch.mates == 2))


def _first_pairs(items: Iterator[Any], held: list[Reads]) -> Iterator[SequenceBatch]:
    """The first pairs, in parts that end with a batch or a multiple of so many at once; ``held`` gets the items."""
    pairs = 0
    for item in items:
        held.append(parsed(item))
        batch = to_reads(held[-1])
        seconds = np.zeros(0, np.int64) if batch.mates is None else np.flatnonzero(batch.mates == 2)
        start = begun = 0
        while begun < len(seconds):
            count = min(_PAIRS_AT_ONCE - pairs % _PAIRS_AT_ONCE, len(seconds) - begun)
            begun, pairs = begun + count, pairs + count
            end = int(seconds[begun - 1]) + 1
            yield batch.part(start, end)
            if pairs >= _MOST_PAIRS:
                return
            start = end


def _cut(batch: SequenceBatch, parts: int) -> Iterator[SequenceBatch]:
    """About equal parts, pairs whole."""
    assert batch.mates is not None
    starts = np.append(np.flatnonzero(batch.mates != 2), len(batch))
    cuts = starts[np.linspace(0, len(starts) - 1, parts + 1).astype(np.int64)].tolist()
    return (batch.part(start, end) for start, end in itertools.pairwise(cuts) if end > start)


def _sizes(batch: SequenceBatch, found: Alignments, orientation: str) -> NDArray[np.int64]:
    sizes: NDArray[np.int64] = _native.insert_sizes(
        batch.mates, found.native, _SAMPLE_MAPQ, ORIENTATIONS.index(orientation)
    )
    return sizes


def _fit(sizes: NDArray[np.int64], library: PairModel) -> PairModel | None:
    if len(sizes) < _MIN_PAIRS:
        return None
    model = _fit_kind(sizes, library)
    others = sizes[(sizes < model.min) | (sizes > model.max)]
    if len(others) < max(_MIN_PAIRS, _SECOND_KIND * len(sizes)):
        return model
    second = _fit_kind(others, library)
    shortest, longest = min(model.min, second.min), max(model.max, second.max)
    near = np.count_nonzero((others >= second.min) & (others <= second.max))
    if near < 0.75 * len(others) or 3 * second.sd > second.mean:
        return model  # they are scattered
    both = sizes[(sizes >= shortest) & (sizes <= longest)]
    return replace(model, mean=float(both.mean()), sd=max(1.0, float(both.std())), min=shortest, max=longest)


def _fit_kind(sizes: NDArray[np.int64], library: PairModel) -> PairModel:
    """As if all but a few were of one kind."""
    # the quartile itself, not an interpolation: the same number on every machine
    lower, upper = (int(np.sort(sizes)[len(sizes) * share // 4]) for share in (1, 3))
    spread = max(1, upper - lower)
    inside = sizes[(sizes >= lower - 2 * spread) & (sizes <= upper + 2 * spread)]
    mean, sd = float(inside.mean()), max(1.0, float(inside.std()))
    shortest = max(1, int(min(lower - 3 * spread, mean - 4 * sd)))
    longest = min(1 << 20, int(max(upper + 3 * spread, mean + 4 * sd)))
    return replace(library, mean=mean, sd=sd, min=min(shortest, longest), max=longest)
