"""Mates by names and flags: how they are numbered, whether they are neighbours, and which one is R1."""

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

#: reads or pairs whose names decide whether .1 and .2 number mates; few, as they are parsed twice
SAMPLED_NAMES = 50
_DOTS = (b".1", b".2")
#: SAM's flags
_PAIRED, _R1, _R2 = 0x1, 0x40, 0x80
NamePair = tuple[bytes, bytes]
Item = TypeVar("Item")
Name = TypeVar("Name", bytes, NamePair)


def names_of(batch: SequenceBatch, start: int, count: int) -> list[bytes]:
    """Names of up to ``count`` reads."""
    ends = batch.name_offsets[start : start + count + 1].tolist()
    return [bytes(batch.names[begin:end]) for begin, end in itertools.pairwise(ends)]


def first_names(items: Iterator[Item], names: Callable[[Item, int], list[Name]]) -> tuple[list[Name], Iterator[Item]]:
    """Names of the first reads, or of one if that does not end in .1 or .2; and all items, from the first.

    Args:
        names: (item, count) -> names of its first reads.
    """
    held: list[Item] = []
    found: list[Name] = []
    while len(found) < SAMPLED_NAMES and (item := next(items, None)) is not None:
        held.append(item)
        found += names(item, SAMPLED_NAMES - len(found))
        if found and not (found[0] if isinstance(found[0], bytes) else found[0][0]).endswith(_DOTS):
            break
    return found, itertools.chain(held, items)


def files_have_dots(names: Sequence[NamePair]) -> bool:
    """Whether .1 and .2 number the mates in two files: all names of a file end alike, and there is more than a single
    pair with one name, which may be a spot's.
    """
    ends = [{name[-2:] for name in side} for side in zip(*names, strict=True)]
    if not ends or any(len(end) != 1 or not end <= set(_DOTS) for end in ends):
        return False
    return ends[0] != ends[1] or len(names) > 1 or names[0][0].count(b".") > 1


def neighbours_have_dots(names: Sequence[bytes]) -> bool:
    """Whether .1 and .2 number the mates in an interleaved file; equal neighbouring names show that they do not."""
    return all(name.endswith(_DOTS) for name in names) and all(a != b for a, b in itertools.pairwise(names))


def warn_of_order(names: Sequence[NamePair], all_dots: bool, files: str) -> None:
    """Print a notice if the names of a pair show that R2 comes before R1."""
    for first, second in names:
        if _native.compare_names(first, second, all_dots) == "second first":
            both = f"'{first.decode('latin-1')}' comes before '{second.decode('latin-1')}'"
            notice(f"{files}: {both}: by their names R2 is where R1 should be")


def pair_neighbours(batch: SequenceBatch, path: str, all_dots: bool) -> SequenceBatch:
    """Pair neighbours of one name; flags, if any, say which mate a read is.

    Raises:
        InputError: both reads of a pair are the same mate.
    """
    try:
        arrays = _native.pair_neighbours(batch.native, all_dots, batch.flags is None)
    except ValueError as error:
        raise InputError(str(error), path) from None
    return replace(SequenceBatch(*arrays), flags=batch.flags)


def not_adjacent(name: str, path: str) -> InputError:
    """The error of a read whose mate is not next to it."""
    return InputError(
        f"mates are not adjacent: '{name}' is not next to its mate (sort by name or run samtools collate)", path
    )


def r1_first(batch: SequenceBatch, path: str) -> SequenceBatch:
    """The batch with R1 before R2 by their flags; unchanged if there are no flags."""
    if batch.flags is None:
        return batch
    assert batch.mates is not None
    firsts = np.flatnonzero(batch.mates == 1)
    which = batch.flags & (_R1 | _R2)
    alone = (batch.flags & _PAIRED != 0) & (batch.mates == 0)
    alone[firsts] |= (which[firsts] == which[firsts + 1]) & (which[firsts] != 0)  # the same mate twice
    if alone.any():
        raise not_adjacent(batch.name(int(np.argmax(alone))), path)
    swapped = firsts[(which[firsts] == _R2) | (which[firsts + 1] == _R1)]
    if not len(swapped):
        return batch
    order = np.arange(len(batch))
    order[swapped], order[swapped + 1] = swapped + 1, swapped
    return replace(batch.take(order), mates=batch.mates)
