"""Queries of `mems`: batches of records, packed as the text that is matched."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.reads.reads import ReadSource
from gpualign.run.gpu.pinned_pool import pinned_copy
from gpualign.run.malloc_tuning import reuse_memory
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.pinned import Allocate
from gpualign.streaming.prefetch import Prefetch
from gpualign.streaming.timeline import STEPS
from gpualign.text.fastx import Chunk, LongRecord, parse

#: batches that wait to be taken
_AHEAD = 4
#: read of a long record at a time
_PART_BYTES = 1 << 18


class BatchSize(NamedTuple):
    """Target size of a batch of queries.

    Attributes:
        records, bases: numbers of them.
        non_acgt: it has bases other than A, C, G and T.
    """

    records: int
    bases: int
    non_acgt: bool


@dataclass(frozen=True, eq=False)
class QueryText:
    """The names of a batch of query records and the packed text of their strands.

    Attributes:
        names, name_offsets: as in :class:`SequenceBatch`.
        bases: of all records.
        text: native packed text; its positions number the strands one after the other.
        pinned: copies of a device's input in pinned memory, or None.
        pinned_records: the same for :attr:`records_printed`.
    """

    sent_once: ClassVar[bool] = True  # to a cluster's workers, apart from the items that hold it
    names: NDArray[np.uint8]
    name_offsets: NDArray[np.int64]
    bases: int
    text: _native.MemText
    pinned: tuple[NDArray[np.uint64], ...] | None = None
    pinned_records: tuple[NDArray[Any], ...] | None = None

    @property
    def packed(self) -> tuple[NDArray[Any], ...]:
        """The input of a device, in pinned memory if there is any: words and breaks; for a deferred text the
        words and breaks of the forward strands, and where records begin in them.
        """
        return self.pinned or self.text.forward or (self.text.words, self.text.breaks)

    @property
    def records_printed(self) -> tuple[NDArray[Any], ...]:
        """Further input of a device that prints matches: names, where they begin, and where records do."""
        return self.pinned_records or (self.names, self.name_offsets, self.text.begins)

    def staged(self, allocate: Allocate, printed: bool) -> QueryText:
        """The input of a device in pinned memory, so that the device's thread copies nothing.

        Args:
            printed: the device prints its matches.
        """
        return replace(
            self,
            pinned=tuple(pinned_copy(array, allocate) for array in self.packed),
            pinned_records=tuple(pinned_copy(array, allocate) for array in self.records_printed) if printed else None,
        )

    @property
    def records(self) -> int:
        return len(self.name_offsets) - 1

    @property
    def size(self) -> BatchSize:
        return BatchSize(self.records, self.bases, bool(self.text.non_acgt))


#: records still to be parsed, or packed, or both
Batch = Chunk | SequenceBatch | QueryText


@STEPS.at("parse")
def pack_batch(batch: Batch, strands: int, deferred: bool = False) -> QueryText:
    """Parse and pack, where that is not done yet.

    Args:
        strands: 1 forward, 2 reverse, 3 both.
        deferred: a device makes the reverse strands from the forward ones.

    Raises:
        InputError: a malformed record, or one too long.
    """
    if isinstance(batch, QueryText):
        return batch
    if isinstance(batch, Chunk):
        packed = batch.packed(_native.pack_query_text, strands, deferred)
        if packed is not None:
            names, name_offsets, text = packed
            return QueryText(names, name_offsets, text.bases, text)
    records = batch.columns()  # which says what is wrong with it
    longest = int(records.lengths.max(initial=0))
    if longest > _native.LONGEST_MEM_QUERY:
        raise InputError(_too_long(longest))
    text = _native.pack_mem_text(records.bases, records.base_offsets, strands, deferred)
    return QueryText(records.names, records.name_offsets, len(records.bases), text)


def pack_record(record: LongRecord, strands: int, deferred: bool) -> QueryText:
    """Read, parse and pack a long record, without ever holding its text.

    Raises:
        InputError: malformed, or too long.
    """
    builder = _native.MemTextBuilder()
    first: Chunk | None = None
    for chunk in record.chunks(_PART_BYTES):
        first, part = first or chunk, parse(chunk)
        try:
            builder.append(part.bases)
        except ValueError:
            what = _too_long(builder.length + len(part.bases))
            raise InputError(what, record.path, first.first_line()) from None
    return QueryText(part.names, part.name_offsets, builder.length, builder.finish(strands, deferred))


def _too_long(bases: int) -> str:
    return f"a query record has {bases} bases or more, the limit is {_native.LONGEST_MEM_QUERY} (cut it)"


def bases_of(batch: Chunk | SequenceBatch) -> int:
    """About how many."""
    return len(batch.data) // 2 if isinstance(batch, Chunk) else len(batch.bases)


@dataclass(frozen=True)
class QueryFiles:
    """Inputs of the queries.

    Attributes:
        paths: "-" is standard input.
        strands: as for :func:`pack_batch`.
        deferred: called to find whether texts are, likewise.
        batch_bases: called to find about how many bases a batch should have.
    """

    paths: Sequence[str]
    strands: int
    batch_bases: Callable[[], int]
    deferred: Callable[[], bool] = lambda: False

    def batches(self) -> Generator[Batch, None, None]:
        """The records in batches; those larger than a batch are packed.

        Raises:
            InputError: a file cannot be read.
        """
        for path in self.paths:
            with ReadSource(path) as source:
                maximum = self.batch_bases()
                for item in source.items(maximum):
                    if isinstance(item, LongRecord):
                        yield pack_record(item, self.strands, self.deferred())
                    elif bases_of(item) <= 2 * maximum:
                        yield item
                    else:
                        yield pack_batch(item, self.strands, self.deferred())


@contextmanager
def batches_ahead(files: QueryFiles, packed: Callable[[], bool], threads: int) -> Iterator[Iterator[Batch]]:
    """Their batches, of files on disk some ahead in a thread of its own. Not of pipes: where nobody writes, it could
    not be stopped.

    Args:
        packed: called to find by how many threads they are parsed and packed ahead, as devices want them.
    """
    if not all(map(os.path.isfile, files.paths)):
        yield files.batches()
        return

    def batches() -> Generator[Batch, None, None]:
        if packed():
            reuse_memory()
            yield from run_ordered(files.batches(), partial(pack_batch, strands=files.strands, deferred=True), threads)
        else:
            yield from files.batches()

    with Prefetch(batches(), _AHEAD) as ahead:
        yield ahead
