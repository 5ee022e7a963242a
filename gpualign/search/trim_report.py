"""What was trimmed, in numbers, and in the form of cutadapt's JSON report, which MultiQC reads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.params import RunOptions
from gpualign.search.adapters import KINDS, Adapter, Group
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.trim_params import TrimParams

#: the version of cutadapt whose report this is like
_CUTADAPT, _SCHEMA = "5.2", [0, 3]


@dataclass(frozen=True)
class Found:
    """What one batch adds to the counts; arrays of two have a number for each mate.

    Attributes:
        hits: int32 (n, 6) of each mate: read, group, bases removed (-1: nothing found) and errors at the 5' end, and at
            the 3' end.
    """

    reads: int
    written: int
    filtered: dict[str, int]
    bases: list[int]
    low_quality: list[int]
    poly_a: list[int]
    bases_written: list[int]
    with_adapter: list[int]
    hits: list[NDArray[np.int32]]


class TrimCounts:
    """Sums over all batches; lists have a number for each mate.

    Attributes:
        hits: (mate, group, end, bases removed, errors) -> how many; end 0 is 5', 1 is 3'.
    """

    def __init__(self, sides: int) -> None:
        self.reads = self.written = 0
        self.filtered: Counter[str] = Counter()
        self.bases, self.low_quality, self.poly_a, self.bases_written, self.with_adapter = np.zeros(
            (5, sides), np.int64
        )
        self.hits: Counter[tuple[int, ...]] = Counter()
        self.groups: Counter[tuple[int, int]] = Counter()

    def add(self, found: Found) -> None:
        """Add what one batch had."""
        self.reads += found.reads
        self.written += found.written
        self.filtered.update(found.filtered)
        for name in ("bases", "low_quality", "poly_a", "bases_written", "with_adapter"):
            getattr(self, name).__iadd__(getattr(found, name))
        for side, hits in enumerate(found.hits):
            numbers, times = np.unique(hits[:, 1], return_counts=True)
            self.groups.update({(side, g): n for g, n in zip(numbers.tolist(), times.tolist(), strict=True)})
            for end in (0, 1):
                group, length, errors = hits[hits[:, 2 + 2 * end] >= 0][:, [1, 2 + 2 * end, 3 + 2 * end]].T.astype(
                    np.int64
                )
                if not len(group):
                    continue
                shape = tuple(int(numbers.max()) + 1 for numbers in (group, length, errors))
                keys, times = np.unique(np.ravel_multi_index((group, length, errors), shape), return_counts=True)
                rows = zip(
                    *(numbers.tolist() for numbers in np.unravel_index(keys, shape)), times.tolist(), strict=True
                )
                self.hits.update({(side, g, end, removed, wrong): n for g, removed, wrong, n in rows})


def cutadapt_report(
    counts: TrimCounts,
    groups: list[list[Group]],
    params: SearchParams,
    trim: TrimParams,
    files: SearchFiles,
    options: RunOptions,
) -> dict[str, Any]:
    """The report's fields; what cutadapt counts and this program does not do is None."""
    paired = len(groups) == 2
    paths = [*files.targets, None][:2]

    def by_mate(name: str, values: NDArray[np.int64], wanted: bool = True) -> dict[str, Any]:
        numbers = [int(value) for value in values] if wanted else [None, None]
        total = sum(filter(None, numbers)) if wanted else None
        return {name: total, f"{name}_read1": numbers[0], f"{name}_read2": numbers[1] if paired else None}

    filtered = {"too_short": counts.filtered["too_short"] if trim.min_length else None, "too_long": None}
    filtered |= dict.fromkeys(("too_many_n", "too_many_expected_errors", "casava_filtered"))
    for kind in ("trimmed", "untrimmed"):
        filtered[f"discard_{kind}"] = counts.filtered[f"discard_{kind}"] if trim.discard == kind else None
    with_adapter = [*counts.with_adapter.tolist(), None][:2]
    bases = by_mate("input", counts.bases) | by_mate("quality_trimmed", counts.low_quality, any(trim.cutoffs))
    bases |= by_mate("poly_a_trimmed", counts.poly_a, trim.poly_a) | by_mate("output", counts.bases_written)
    report: dict[str, Any] = {
        "tag": "Cutadapt report",
        "schema_version": _SCHEMA,
        "cutadapt_version": _CUTADAPT,
        "command_line_arguments": (options.command_line or "").split(),
        "cores": options.threads,
        "input": {"path1": paths[0], "path2": paths[1] if paired else None, "paired": paired},
        "read_counts": {
            "input": counts.reads,
            "filtered": filtered,
            "output": counts.written,
            "reverse_complemented": None,
            "read1_with_adapter": with_adapter[0] if groups[0] else None,
            "read2_with_adapter": with_adapter[1] if groups[-1] and paired else None,
        },
        "basepair_counts": bases,
    }
    for side, of_mate in enumerate(groups):
        report[f"adapters_read{side + 1}"] = [
            {
                "name": group.name,
                "total_matches": counts.groups[side, number],
                "on_reverse_complement": None,
                "linked": bool(group.front and group.back and group.front is not group.back),
                "five_prime_end": _end(counts, side, number, 0, group.front, params),
                "three_prime_end": _end(counts, side, number, 1, group.back, params),
            }
            for number, group in enumerate(of_mate)
        ]
    return report if paired else report | {"adapters_read2": None}


def _end(
    counts: TrimCounts, side: int, number: int, end: int, adapter: Adapter | None, params: SearchParams
) -> dict[str, Any] | None:
    """One end of an adapter, with the bases that were removed by length, and how many are expected by chance."""
    if adapter is None:
        return None
    lengths: dict[int, list[int]] = {}
    for (mate, group, where, length, errors), times in counts.hits.items():
        if (mate, group, where) == (side, number, end):
            row = lengths.setdefault(length, [])
            row += [0] * (errors + 1 - len(row))
            row[errors] += times
    size = len(adapter.symbols)
    limits = [int(adapter.rate * (length + 1)) for length in range(size)]
    return {
        "type": KINDS[adapter.ends],
        "sequence": adapter.symbols.decode(),
        "error_rate": adapter.rate,
        "indels": params.bulges != 0,
        "error_lengths": [length for length in range(1, size) if limits[length] > limits[length - 1]] + [size],
        "matches": sum(map(sum, lengths.values())),
        "adjacent_bases": None,
        "dominant_adjacent_base": None,
        "trimmed_lengths": [
            {"len": length, "expect": counts.reads * 0.25 ** min(length, size), "counts": lengths[length]}
            for length in sorted(lengths)
        ],
    }
