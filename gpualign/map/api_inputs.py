"""Inputs of :class:`gpualign.Mapper` as items of a stage."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from gpualign import _native
from gpualign.engine.work import Work
from gpualign.errors import UsageError, counted
from gpualign.io.files import open_together
from gpualign.io.in_memory import as_batch, checked_reads, is_bytes, is_path, parts_of, symbols_in
from gpualign.io.mate_names import SAMPLED_NAMES, files_have_dots, names_of
from gpualign.io.paths import are_same
from gpualign.io.reads import Reads, ReadSource
from gpualign.map.lanes import interleaved_reads, paired_reads, single_reads
from gpualign.map.read_objects import bases_of_reads, batch_of, batched
from gpualign.map.tuning import KERNELS
from gpualign.sequences.batch import SequenceBatch

_NUCLEOTIDES = re.compile("[ACGTUNRYSWKMBDHVacgtunryswkmbdhv]*")  # also matches a read without bases
#: longer texts of nucleotide codes are not file names
_LONGEST_NAME = 64


def is_sequence(reads: object) -> bool:
    """Whether the argument is one read, not a path or several reads."""
    if is_bytes(reads):
        return True
    if not isinstance(reads, str) or not _NUCLEOTIDES.fullmatch(reads):
        return False
    return len(reads) > _LONGEST_NAME or not os.path.exists(reads)


def is_whole(reads: object) -> bool:
    """Whether the argument is a file or a batch, not an iterable of reads."""
    return is_path(reads) or isinstance(reads, SequenceBatch)


def work_of_reads(*reads: Any) -> Work:
    """The estimated work of mapping these reads."""
    sizes: list[float | None] = []
    for some in reads:
        if isinstance(some, list | tuple):
            sizes.append(bases_of_reads(some))
        elif some is not None:
            sizes.append(symbols_in(some))
    return Work.of(KERNELS, None if None in sizes else sum(each for each in sizes if each is not None))


@dataclass(frozen=True)
class Given:
    """Reads, and their mates or None.

    Attributes:
        held: collects the original objects of each batch, unless reads are files.
        unnamed: leave reads that are not files unnamed.
    """

    reads: Any
    mates: Any
    held: deque[list[Any]] | None = None
    unnamed: bool = True

    def items(self, bases: int, stack: ExitStack) -> tuple[Iterator[Reads], bool]:
        """Batches of about ``bases``, and whether neighbours are mates; files stay open as long as ``stack``."""
        if self.mates is not None:
            return self._paired(bases, stack), True
        if is_path(self.reads):
            source = stack.enter_context(ReadSource(os.fspath(self.reads)))
            return (interleaved_reads if source.paired else single_reads)(source, bases), source.paired
        if isinstance(self.reads, SequenceBatch):
            return map(_reads, parts_of(self.reads, bases)), False
        return self._batches(bases), False

    def _batches(self, bases: int) -> Iterator[Reads]:
        first = 0
        for some in batched(self.reads, bases):
            self._hold(some)
            yield _reads(batch_of(some, first, self.unnamed))
            first += len(some)

    def _paired(self, bases: int, stack: ExitStack) -> Iterator[Reads]:
        reads, mates = self.reads, self.mates
        if is_path(reads) and is_path(mates):
            paths = [os.fspath(path) for path in (reads, mates)]
            if are_same(*paths):
                raise UsageError(f"reads and mates are one file: {paths[0]}")
            opened = open_together(paths, stack)
            first, second = (
                stack.enter_context(ReadSource(path, opened=raw)) for path, raw in zip(paths, opened, strict=True)
            )
            return paired_reads(first, second, bases)
        if is_whole(reads) or is_whole(mates):
            ends = [as_batch(ends) for ends in (reads, mates)]
            _check_mates(len(ends[0]), len(ends[1]))
            return iter([_reads(_joined(*ends))])
        return self._pair_batches(bases // 2)

    def _pair_batches(self, bases: int) -> Iterator[Reads]:
        if hasattr(self.reads, "__len__") and hasattr(self.mates, "__len__"):
            _check_mates(len(self.reads), len(self.mates))
        first, mates = 0, checked_reads(self.mates)
        for some in batched(self.reads, bases):
            second = list(islice(mates, len(some)))
            _check_mates(first + len(some), first + len(second))
            self._hold(list(zip(some, second, strict=True)))
            yield _reads(_joined(*(batch_of(ends, first, self.unnamed) for ends in (some, second))))
            first += len(some)
        _check_mates(first, first + len(list(islice(mates, 1))))

    def _hold(self, reads: list[Any]) -> None:
        if self.held is not None:
            self.held.append(reads)


def _reads(batch: SequenceBatch) -> Reads:
    return Reads((batch,))


def _check_mates(first: int, second: int) -> None:
    if first != second:
        raise UsageError(f"{counted(first, 'read')} but {counted(second, 'mate')}")


def _joined(first: SequenceBatch, second: SequenceBatch) -> SequenceBatch:
    """The two mates of each pair as neighbours."""
    if first.qualities is None or second.qualities is None:
        first, second = replace(first, qualities=None), replace(second, qualities=None)
    all_dots = files_have_dots(list(zip(*(names_of(ends, 0, SAMPLED_NAMES) for ends in (first, second)), strict=True)))
    return SequenceBatch(*_native.join_pairs(first.native, second.native, False, all_dots))
