"""The pair model of `map`: orientation and insert sizes of proper pairs, and penalties of the others."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import UsageError

#: how the mates of a pair lie: "fr" facing each other (Illumina), "rf" facing away (mate pairs), "ff" on one strand
ORIENTATIONS = ("fr", "rf", "ff")
#: penalty of mates with an intron of unknown length between them: ten bits more than an insert size, in units of log 4
_INTRON_PENALTY = 5


@dataclass(frozen=True)
class PairModel:
    """Insert sizes (outer distances of the mates) in bases, and penalties of pairs that do not fit.

    Attributes:
        mean, sd: of the insert sizes.
        min, max: bounds of a proper pair.
        orientation: one of :data:`ORIENTATIONS`.
        unpaired_penalty: penalty of an unpaired alignment.
        all_fit: no size within the bounds has a larger penalty, as the bounds cover several kinds of inserts.
    """

    mean: float = 300.0
    sd: float = 100.0
    min: int = 1
    max: int = 1000
    orientation: str = "fr"
    unpaired_penalty: int = 17
    all_fit: bool = False

    def __post_init__(self) -> None:
        if self.orientation not in ORIENTATIONS:
            raise UsageError(f"orientation must be one of {', '.join(ORIENTATIONS)}, not {self.orientation!r}")
        if self.mean <= 0 or self.sd <= 0 or not 0 <= self.min <= self.max:
            raise UsageError("insert size needs mean and sd above 0 and min at most max")
        if self.max > 1 << 20:
            raise UsageError(f"insert size must be at most {1 << 20:,}, not {self.max:,}")

    @property
    def reported(self) -> dict[str, float | str]:
        """Fields of --json."""
        values = asdict(self)
        values["unpaired"] = values.pop("unpaired_penalty")
        del values["all_fit"]
        return values

    @cached_property
    def penalties(self) -> NDArray[np.int32]:
        """int32 (max + 2,): penalty of each insert size, and of mates with an intron between them."""
        penalties = _native.pair_penalties(self.mean, self.sd, self.max)
        if self.all_fit:
            penalties = np.minimum(penalties, np.int32(self.unpaired_penalty))
        return np.append(penalties, np.int32(min(_INTRON_PENALTY, self.unpaired_penalty)))


def parse_insert_size(text: str, orientation: str, unpaired_penalty: int) -> PairModel:
    """``mean[,sd[,max[,min]]]`` as in bwa's -I; by default sd is a tenth of the mean, and max and min are 4 sd away.

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
