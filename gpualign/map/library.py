"""The library of paired reads: insert sizes and orientation, given or estimated from the first pairs, which are mapped
for that one by one before the run maps all of them as pairs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map.alignments import Alignments
from gpualign.map.cpu import map_batch
from gpualign.map.pairs import ORIENTATIONS, PairModel
from gpualign.map.params import MapParams
from gpualign.reads.reads import Reads
from gpualign.seeds.index.minimizers import MinimizerIndex
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.columns import Arrays
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS

#: pairs sampled from the beginning of the input: so many at a time, until enough share an orientation, up to a maximum
_PAIRS_AT_ONCE, _ENOUGH_PAIRS, _MAX_PAIRS = 1000, 800, 5000
_MIN_PAIRS = 25
_SAMPLE_MAPQ = 20
#: share of an orientation's pairs with other sizes that makes a second kind of inserts
_SECOND_KIND = 0.1
#: minimum share of all pairs that an insert size must fit, as in bwa; and minimum ratio to the pairs of another
#: orientation at the same distance, as random mates have
_MIN_SHARE, _CONTRAST = 0.05, 2
#: if fewer than :data:`_MIN_PAIRS` fit, the share that must fit the default bounds to use them
_SHARE_OF_FEW = 0.25
#: longest insert to estimate: above long mate pairs (20,000), but few random mates are as close
_LONGEST_INSERT = 1 << 15
#: ORIENTATIONS, and pairs on one strand with R1 ahead, which no library has; higher numbers: pairs on two contigs
_SEEN_ORIENTATIONS = 4


@dataclass(frozen=True)
class Library:
    """The pairs of a sample.

    Attributes:
        model: the pair model; None: pairs share no insert size, and mates are mapped one by one.
        source: of the model: "given", "estimated", or "default" if there were too few pairs.
        sampled: number of sampled pairs, whose mates both align with confidence.
        fitting: number of sampled pairs that are proper.
    """

    model: PairModel | None
    source: str
    sampled: int = 0
    fitting: int = 0

    @property
    def share(self) -> float:
        """Proper share of the sampled pairs."""
        return self.fitting / max(1, self.sampled)

    @property
    def reported(self) -> dict[str, Any]:
        """Fields of --json."""
        found: dict[str, Any] = {"source": self.source}
        if self.source != "given":
            found |= {"sampled_pairs": self.sampled, "proper_share": round(self.share, 4)}
        return {"pairing": found} | ({} if self.model is None else {"insert_size": self.model.reported})

    @property
    def summary(self) -> str:
        """The summary's clause on pairs."""
        if self.model is None:
            return "the pairs share no insert size"
        size = f"insert size {self.model.mean:.0f} ± {self.model.sd:.0f}, {self.model.min} to {self.model.max}"
        share = f", {100 * self.share:.0f} % of the first {self.sampled:,} pairs" if self.sampled else ""
        return f"{self.model.orientation}, {size}{share}"


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


def estimate_pairs(
    items: Iterator[Reads],
    map_alone: Callable[[SequenceBatch], Alignments],
    library: PairModel,
    orientation: str | None = None,
    threads: int = 1,
) -> tuple[Library, Iterator[Reads]]:
    """Estimate orientation and insert sizes from the first pairs whose mates both align with confidence by themselves.

    This is done once per run, from a number of pairs that does not depend on batches, so that the output does not
    either. Quartile fences as in bwa mem: mean and sd from the sizes within two interquartile ranges of the quartiles,
    a proper pair within three, and at least four sd from the mean. If many of the others share a size of their own, as
    in a mixture of two libraries, both kinds are proper. Pairs that face each other are proper at any shorter size, as
    fragments shorter than the reads may occur anywhere in a file.

    Args:
        items: reads, with pairs.
        library: the penalty, and default bounds for too few pairs.
        orientation: of the library; None: the most frequent one.

    Returns:
        The library, and all items.
    """
    held: list[Reads] = []
    orientations = ORIENTATIONS if orientation is None else (orientation,)
    none = np.zeros(0, np.uint8)
    found = _Sizes(none, np.zeros(0, np.int64), none)

    def sizes_of(part: SequenceBatch) -> _Sizes:
        assert part.mates is not None
        return _Sizes(*_native.insert_sizes(part.mates, map_alone(part).native, _SAMPLE_MAPQ))

    for sample, pairs in _first_pairs(items, held):
        found = _Sizes.join([found, *run_ordered(_cut(sample, threads), sizes_of, threads)])
        if pairs % _PAIRS_AT_ONCE == 0 and found.most_frequent(orientations) >= _ENOUGH_PAIRS:
            break
    return _library(found, orientations, library), itertools.chain(held, items)


@dataclass(frozen=True)
class _Sizes(Arrays):
    """Orientations and sizes of confidently aligned pairs, from ``_native.insert_sizes``."""

    orientations: NDArray[np.uint8]
    sizes: NDArray[np.int64]
    read_through: NDArray[np.uint8]

    def of(self, number: int) -> NDArray[np.int64]:
        """Sorted sizes of the pairs of an orientation, up to the longest insert."""
        return np.sort(self.sizes[(self.orientations == number) & (self.sizes <= _LONGEST_INSERT)])

    def most_frequent(self, orientations: tuple[str, ...]) -> int:
        """Number of pairs of the most frequent orientation."""
        return max(len(self.of(ORIENTATIONS.index(each))) for each in orientations)

    def fitting(self, model: PairModel) -> NDArray[np.bool_]:
        """Which pairs are proper."""
        alike = self.orientations == ORIENTATIONS.index(model.orientation)
        fitting: NDArray[np.bool_] = alike & (self.sizes >= model.min) & (self.sizes <= model.max)
        return fitting


def _first_pairs(items: Iterator[Reads], held: list[Reads]) -> Iterator[tuple[SequenceBatch, int]]:
    """The first pairs, cut at batches and at multiples of :data:`_PAIRS_AT_ONCE`, each time with their number so far;
    ``held`` gets the items.
    """
    pairs = 0
    for item in items:
        held.append(item.parsed())
        batch = held[-1].columns()
        seconds = np.zeros(0, np.int64) if batch.mates is None else np.flatnonzero(batch.mates == 2)
        start = begun = 0
        while begun < len(seconds):
            count = min(_PAIRS_AT_ONCE - pairs % _PAIRS_AT_ONCE, len(seconds) - begun)
            begun, pairs = begun + count, pairs + count
            end = int(seconds[begun - 1]) + 1
            yield batch.part(start, end), pairs
            if pairs >= _MAX_PAIRS:
                return
            start = end


def _cut(batch: SequenceBatch, parts: int) -> Iterator[SequenceBatch]:
    """Cut into about equal parts that split no pair."""
    assert batch.mates is not None
    starts = np.append(np.flatnonzero(batch.mates != 2), len(batch))
    cuts = starts[np.linspace(0, len(starts) - 1, parts + 1).astype(np.int64)].tolist()
    return (batch.part(start, end) for start, end in itertools.pairwise(cuts) if end > start)


def _library(found: _Sizes, orientations: tuple[str, ...], default: PairModel) -> Library:
    sampled = len(found.sizes)
    model = _fit(found, orientations, default)
    if model is not None:
        return Library(model, "estimated", sampled, int(np.count_nonzero(found.fitting(model))))
    fitting = int(np.count_nonzero(found.fitting(default)))
    few = sampled < _MIN_PAIRS or (fitting < _MIN_PAIRS and fitting >= _SHARE_OF_FEW * sampled)
    return Library(default if few else None, "default" if few else "none", sampled, fitting if few else 0)


def _fit(found: _Sizes, orientations: tuple[str, ...], default: PairModel) -> PairModel | None:
    """The fitted model; None if too few pairs share a size."""
    by_orientation = [found.of(number) for number in range(_SEEN_ORIENTATIONS)]
    best = max((_mode(by_orientation, ORIENTATIONS.index(each)) for each in orientations), key=lambda mode: mode[0])
    _, number, size = best  # ties: the first orientation
    sizes = by_orientation[number]
    near = sizes[sizes <= 4 * size]
    if len(near) < _MIN_PAIRS:
        return None
    library = replace(default, orientation=ORIENTATIONS[number], all_fit=True)
    model = _fit_kind(near, library)
    counts = [_within(each, model.min, model.max) for each in by_orientation]
    own = counts.pop(number)
    if own < max(_MIN_PAIRS, _MIN_SHARE * len(found.sizes), _CONTRAST * max(counts)):
        return None
    return _widened(_with_second_kind(sizes, model), found, default)


def _mode(by_orientation: list[NDArray[np.int64]], number: int) -> tuple[int, int, int]:
    """(pairs with sizes from s to 2 s minus those of another orientation, orientation, s) for the best s."""
    sizes = by_orientation[number]
    if len(sizes) == 0:
        return 0, number, 0
    counts = [_within(each, sizes, 2 * sizes) for each in by_orientation]
    own = counts.pop(number)
    more = own - np.max(counts, axis=0)
    best = int(more.argmax())
    return int(more[best]), number, int(sizes[best])


def _within(sizes: NDArray[np.int64], shortest: Any, longest: Any) -> Any:
    """Number of sizes within bounds, which may be arrays."""
    return np.searchsorted(sizes, longest, "right") - np.searchsorted(sizes, shortest, "left")


def _with_second_kind(sizes: NDArray[np.int64], model: PairModel) -> PairModel:
    others = sizes[(sizes < model.min) | (sizes > model.max)]
    if len(others) < max(_MIN_PAIRS, _SECOND_KIND * len(sizes)):
        return model
    second = _fit_kind(others, model)
    shortest, longest = min(model.min, second.min), max(model.max, second.max)
    near = np.count_nonzero((others >= second.min) & (others <= second.max))
    if near < 0.75 * len(others) or 3 * second.sd > second.mean:
        return model  # they are scattered
    both = sizes[(sizes >= shortest) & (sizes <= longest)]
    return replace(model, mean=float(both.mean()), sd=max(1.0, float(both.std())), min=shortest, max=longest)


def _widened(model: PairModel, found: _Sizes, default: PairModel) -> PairModel:
    """Widen the bounds for fragments that the sample may lack: short ones, and usual ones if most are short."""
    if model.orientation != "fr":
        return model
    fitting = found.fitting(model)
    through = np.count_nonzero(fitting & (found.read_through != 0))
    longest = max(model.max, default.max) if 2 * through >= np.count_nonzero(fitting) else model.max
    return replace(model, min=1, max=longest)


def _fit_kind(sizes: NDArray[np.int64], library: PairModel) -> PairModel:
    """Fit a model of one kind of inserts, with outliers."""
    # not interpolated, so that it is the same on every machine
    lower, upper = (int(np.sort(sizes)[len(sizes) * share // 4]) for share in (1, 3))
    spread = max(1, upper - lower)
    inside = sizes[(sizes >= lower - 2 * spread) & (sizes <= upper + 2 * spread)]
    mean, sd = float(inside.mean()), max(1.0, float(inside.std()))
    shortest = max(1, int(min(lower - 3 * spread, mean - 4 * sd)))
    longest = min(_LONGEST_INSERT, int(max(upper + 3 * spread, mean + 4 * sd)))
    return replace(library, mean=mean, sd=sd, min=min(shortest, longest), max=longest)
