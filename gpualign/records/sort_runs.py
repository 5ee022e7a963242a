"""The runs of the external sort in its temporary file, and where the records between two keys are in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.sequences.offsets import offsets_of

#: where a record stands in an order: its key of two numbers and, in orders by name, the record
#: (gpualign/native/records/sorted_batches.hpp)
Key = tuple[int, int, bytes]
#: columns of a table of blocks: keys of the first record and of the last; bytes of keys, and of all;
#: where the block's first BGZF block begins and its last one ends, and bytes of content before and after it in these
_FIRST_KEY, _LAST_KEY, _SIZES = slice(0, 2), slice(2, 4), slice(4, 6)
SIZE, _BEGIN, _END, _BEFORE, _AFTER = range(5, 10)


@dataclass
class Run:
    """A run of the external sort: a part of the temporary file, blocks of keys and records, in order, as BGZF
    (``gpualign/native/records/sorted_batches.hpp``).

    Attributes:
        level: how often its records have been merged before.
    """

    file: BinaryIO
    samples: Any
    by_name: bool
    begin: int
    level: int = 0
    _tables: list[NDArray[np.uint64]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.end = self._released = self.begin

    def append(self, data: bytes | memoryview, table: NDArray[np.uint64], samples: Any) -> None:
        """Append blocks with their table, uint64 (n, 10), in which they begin and end as in ``data``."""
        self.samples.add_all(samples)
        rest = memoryview(data)
        while rest:
            rest = rest[self.file.write(rest) :]
        table[:, [_BEGIN, _END]] += np.uint64(self.end)
        self._tables.append(table)
        self.end += len(data)

    # -- once it is complete

    @cached_property
    def table(self) -> NDArray[np.uint64]:
        return np.concatenate(self._tables)

    @cached_property
    def _bounds(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The first and the last key of each block."""
        firsts, lasts = (list(map(tuple, self.table[:, key].tolist())) for key in (_FIRST_KEY, _LAST_KEY))
        return firsts, lasts

    def between(self, low: Key, high: Key) -> tuple[tuple[int, int, int], NDArray[np.uint64]]:
        """The blocks with records from ``low`` up to ``high``: (descriptor, offset, bytes) of all of them together, and
        (bytes of keys, bytes) of each. Other content in between is given as blocks without keys.
        """
        firsts, lasts = self._bounds
        begin = bisect_left(lasts, low[:2])
        end_of = bisect_right if self.by_name else bisect_left  # records of one key may be on both sides
        found = self.table[begin : end_of(firsts, high[:2])]
        if not len(found):
            return (self.file.fileno(), 0, 0), np.zeros((0, 2), np.uint64)
        offset = int(found[0, _BEGIN])
        others = np.array([(0, found[0, _BEFORE]), (0, found[-1, _AFTER])], np.uint64)
        place = self.file.fileno(), offset, int(found[-1, _END]) - offset
        return place, np.concatenate([others[:1], found[:, _SIZES], others[1:]])

    def release(self, low: Key) -> None:
        """Give back the space of all before the blocks with records from ``low`` on."""
        _, lasts = self._bounds
        begin = bisect_left(lasts, low[:2])
        end = int(self.table[begin, _BEGIN]) if begin < len(lasts) else self.end
        _native.release_file(self.file.fileno(), self._released, end - self._released)
        self._released = end


def places_in(blocks: bytes | memoryview, sizes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Where pieces of these sizes are, which BGZF blocks hold one after the other, uint64 (n, 4): where the first block
    of each begins and its last one ends, bytes of content before and after it in these.
    """
    ends, text_ends = map(offsets_of, _native.bgzf_block_sizes(np.frombuffer(blocks, np.uint8)))
    pieces = offsets_of(sizes.astype(np.int64))
    first = np.searchsorted(text_ends, pieces[:-1], "right") - 1
    after = np.searchsorted(text_ends, pieces[1:], "left")
    places = [ends[first], ends[after], pieces[:-1] - text_ends[first], text_ends[after] - pieces[1:]]
    return np.stack(places, axis=1).astype(np.uint64)
