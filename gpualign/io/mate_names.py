"""What names and flags say of mates: how they are numbered, whether they are neighbours, and which one is R1."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from gpualign import _native
from gpualign.errors import InputError
from gpualign.notices import notice
from gpualign.sequences.batch import SequenceBatch

#: reads after which a file without a pair is not taken for one of pairs
_BEGINNING = 10_000
#: reads or pairs whose names tell whether .1 and .2 number mates; few, as they are parsed twice
LOOKED_AT = 50
_DOTS = (b".1", b".2")
#: SAM's flags
_PAIRED, _FIRST_END, _SECOND_END = 0x1, 0x40, 0x80
_WHICH_END = _FIRST_END | _SECOND_END
NamePair = tuple[bytes, bytes]
Item = TypeVar("Item")
Name = TypeVar("Name", bytes, NamePair)


def names_of(batch: SequenceBatch, start: int, count: int) -> list[bytes]:
    """Of up to so many reads."""
    ends = batch.name_offsets[start : start + count + 1].tolist()
    return [bytes(batch.names[begin:end]) for begin, end in itertools.pairwise(ends)]


def first_names(items: Iterator[Item], names: Callable[[Item, int], list[Name]]) -> tuple[list[Name], Iterator[Item]]:
    """The names of the first reads, or of one if that does not end in .1 or .2; and the items, those looked at again.

    Args:
        names: those of up to so many reads of an item.
    """
    held: list[Item] = []
    found: list[Name] = []
    while len(found) < LOOKED_AT and (item := next(items, None)) is not None:
        held.append(item)
        found += names(item, LOOKED_AT - len(found))
        if found and not (found[0] if isinstance(found[0], bytes) else found[0][0]).endswith(_DOTS):
            break
    return found, itertools.chain(held, items)


def files_have_dots(names: Sequence[NamePair]) -> bool:
    """Whether .1 and .2 number the mates in two files: all names of one file end in one of them, and it is not a single
    pair of one name, which may be a spot's.
    """
    ends = [{name[-2:] for name in side} for side in zip(*names, strict=True)]
    if not ends or any(len(end) != 1 or not end <= set(_DOTS) for end in ends):
        return False
    return ends[0] != ends[1] or len(names) > 1 or names[0][0].count(b".") > 1


def neighbours_have_dots(names: Sequence[bytes]) -> bool:
    """The same of one file, where equal names of neighbours show that mates have no numbers."""
    return all(name.endswith(_DOTS) for name in names) and all(a != b for a, b in itertools.pairwise(names))


def warn_of_order(names: Sequence[NamePair], all_dots: bool, files: str) -> None:
    """Say where the names of the first pair tell that its second mate comes first."""
    for first, second in names:
        if _native.compare_names(first, second, all_dots) == "second first":
            both = f"'{first.decode('latin-1')}' comes before '{second.decode('latin-1')}'"
            notice(f"{files}: {both}: by their names R2 is where R1 should be")


def pair_neighbours(batch: SequenceBatch, path: str, all_dots: bool) -> SequenceBatch:
    """Neighbours of one name as pairs; where there are flags, these say which mate a read is.

    Raises:
        InputError: two of one name are one mate.
    """
    try:
        arrays = _native.pair_neighbours(batch.native, all_dots, batch.flags is None)
    except ValueError as error:
        raise InputError(str(error), path) from None
    return replace(SequenceBatch(*arrays), flags=batch.flags)


def not_adjacent(name: str, path: str) -> InputError:
    """What is wrong where the mate of ``name`` does not stand next to it."""
    return InputError(
        f"mates are not adjacent: '{name}' is not next to its mate (sort by name or run samtools collate)", path
    )


def first_ends_first(batch: SequenceBatch, path: str) -> SequenceBatch:
    """The batch with its pairs as their flags have them; reads of files without flags stay as they are."""
    if batch.flags is None:
        return batch
    assert batch.mates is not None
    firsts = np.flatnonzero(batch.mates == 1)
    ends = batch.flags & _WHICH_END
    alone = (batch.flags & _PAIRED != 0) & (batch.mates == 0)
    alone[firsts] |= (ends[firsts] == ends[firsts + 1]) & (ends[firsts] != 0)  # one end twice
    if alone.any():
        raise not_adjacent(batch.name(int(np.argmax(alone))), path)
    turned = firsts[(ends[firsts] == _SECOND_END) | (ends[firsts + 1] == _FIRST_END)]
    if not len(turned):
        return batch
    order = np.arange(len(batch))
    order[turned], order[turned + 1] = turned + 1, turned
    return replace(batch.take(order), mates=batch.mates)


class Beginning:
    """The first reads of a file that should be interleaved, as many as :data:`_BEGINNING`.

    Args:
        trusted: it is.
    """

    def __init__(self, path: str, trusted: bool) -> None:
        self._path, self._seen, self._pairs = path, 0, 0
        self._trusted = trusted
        self._singles: set[str] = set()

    @property
    def seen(self) -> bool:
        """Whether there is no more to look at."""
        return self._trusted or self._seen >= _BEGINNING

    def look_at(self, batch: SequenceBatch) -> None:
        """Raise InputError where two reads of one template are not neighbours, or none are."""
        if self.seen:
            return
        assert batch.mates is not None
        mates = batch.mates[: _BEGINNING - self._seen]
        self._seen += len(mates)
        self._pairs += int(np.count_nonzero(mates == 1))
        for i in np.flatnonzero(mates == 0).tolist():
            name = batch.name(i)
            if name.endswith(("/1", "/2")):
                if name[:-1] + ("2" if name.endswith("1") else "1") in self._singles:
                    raise not_adjacent(name, self._path)
                self._singles.add(name)
        if self._seen >= _BEGINNING:
            self.ended()

    def ended(self) -> None:
        if not self._trusted and self._seen > 1 and not self._pairs:
            raise InputError(
                f"it is not interleaved: of the first {self._seen:,} reads no two neighbours have one name "
                "(leave out -p, or give R2 as a second file)",
                self._path,
            )
