"""The records of a file template by template, as `markdup` looks at them: as they come where they are grouped, and
collated where they are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.io.alignment_output import AlignmentLayout
from gpualign.io.bgzf import BgzfCodec
from gpualign.io.paths import folder_next_to
from gpualign.io.record_input import RecordChunk, RecordInput
from gpualign.io.record_sorter import RecordBatch, Records, RecordSorter, TemplateNumbers, usual_memory
from gpualign.markdup.params import Marking
from gpualign.params import RunOptions
from gpualign.records.observer import RecordObserver
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS

Value = TypeVar("Value")
#: bytes of records for each base of a batch that is asked for; chunks that a thread's share of the memory is for
_BYTES_PER_BASE, _CHUNKS_IN_SHARE, _SMALLEST_CHUNK = 4, 8, 1 << 16


def chunk_bytes(options: RunOptions, layout: AlignmentLayout) -> int:
    """Bytes of records that a thread takes at a time."""
    share = (layout.sort_memory or usual_memory(options.threads)) // options.threads
    return max(_SMALLEST_CHUNK, min(options.batch_size * _BYTES_PER_BASE, share // _CHUNKS_IN_SHARE))


def peeked(items: Iterator[Value]) -> tuple[Value | None, Iterator[Value]]:
    """The first item, and all of them."""
    first = next(items, None)
    return first, items if first is None else chain([first], items)


def said_order(header: Sequence[str]) -> str:
    """What @HD says of the records: "coordinate", "grouped" by name, or nothing."""
    fields = header[0].split("\t") if header and header[0].startswith("@HD\t") else []
    if "SO:coordinate" in fields:
        return "coordinate"
    return "grouped" if {"SO:queryname", "GO:query"} & set(fields) else ""


@dataclass(frozen=True)
class Plan:
    """How a file's templates are found.

    Attributes:
        chunks: all records.
        grouped: they come template by template.
        mate_tags: are added.
    """

    chunks: Iterator[RecordChunk]
    grouped: bool
    mate_tags: bool

    @classmethod
    def of(cls, source: RecordInput, marking: Marking, chunk: int, warn: Callable[[str], None]) -> Plan:
        """By the header, and by a look at the first records, a chunk of so many bytes."""
        first, chunks = peeked(source.chunks(chunk, templates=True))
        said = said_order(source.header)
        adjacent, apart = (0, 0) if first is None else _native.adjacent_mates(first.records())
        if said == "grouped" and apart > adjacent:
            warn("the header says that records are grouped by name, which they are not: they are collated first")
            said = ""
        mate_tags = said != "coordinate" if marking.mate_tags is None else marking.mate_tags
        return cls(chunks, said == "grouped" or (said == "" and not apart), mate_tags)

    def collated(self, marking: Marking) -> bool:
        """Whether records must be put together first; otherwise it is enough to know their names."""
        return not self.grouped and (self.mate_tags or marking.duplicates.duplex)

    def numbers(self, marking: Marking) -> TemplateNumbers:
        """What tells templates apart."""
        return "names" if self.grouped or self.collated(marking) else "records"


class Templates:
    """Batches of prepared records, with what is taken of them to find duplicates. Use it in ``closing``.

    Args:
        layout: of the output, in whose order the batches are sorted.
    """

    def __init__(
        self,
        source: RecordInput,
        plan: Plan,
        marking: Marking,
        observer: RecordObserver,
        layout: AlignmentLayout,
        options: RunOptions,
        codec: BgzfCodec,
    ) -> None:
        self._source, self._plan, self._marking, self._observer = source, plan, marking, observer
        self._layout, self._options, self._codec = layout, options, codec
        self._incomplete: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]
        self._stack = ExitStack()

    def batches(self) -> Iterator[RecordBatch]:
        """All records, in no order but their numbers'.

        Raises:
            InputError: a damaged file, or one whose templates are not together where it seemed so.
        """
        if self._plan.collated(self._marking):
            yield from self._collated(self._plan.chunks)
            return
        work = run_ordered(self._plan.chunks, self._grouped, self._options.threads)
        for batch, incomplete in self._stack.enter_context(closing(work)):
            self._incomplete.append(incomplete)
            yield batch
        names, times = np.unique(np.concatenate(self._incomplete), return_counts=True)
        if self._plan.grouped and len(names) and times.max() > 1:
            raise InputError(
                "the records of a template are not next to each other, as they seemed to be (gpualign sort --template "
                "puts them together)",
                self._source.path,
            )

    def _grouped(self, chunk: RecordChunk) -> tuple[RecordBatch, NDArray[np.uint64]]:
        return self._prepared(chunk.records(), None)

    def _collated(self, chunks: Iterator[RecordChunk]) -> Iterator[RecordBatch]:
        """By way of a sorter of its own, which has half of the memory."""
        options = self._options
        memory = (self._layout.sort_memory or usual_memory(options.threads)) // 2
        folder = folder_next_to(options.output)
        sorter = RecordSorter(folder, memory, options.threads, "template", self._codec)
        self._stack.enter_context(sorter)

        def sort(chunk: RecordChunk) -> RecordBatch:
            return RecordBatch.of(chunk.records(), "template", templates="none")

        for batch in self._stack.enter_context(closing(run_ordered(chunks, sort, options.threads))):
            sorter.add(batch)
        ranges = sorter.collated(lambda records, numbers: self._prepared(records, numbers)[0])
        yield from self._stack.enter_context(closing(ranges))  # type: ignore[type-var]

    @STEPS.at("mark")
    def _prepared(self, records: Records, numbers: NDArray[np.uint64] | None) -> tuple[RecordBatch, NDArray[np.uint64]]:
        """A batch, and hashes of the names of its templates that lack a read."""
        marking, plan = self._marking, self._plan
        tags = marking.own_tags, marking.added
        prepared, incomplete = _native.prepare_templates(records, plan.mate_tags, *tags, plan.grouped)
        if prepared is None:
            prepared = records if numbers is None else records.copy()  # which are in memory that is used again
        marks = None if self._observer.take is None else self._observer.take(prepared)
        templates = plan.numbers(marking)
        return RecordBatch.of(prepared, self._layout.order, marks, templates, numbers, keep=True), incomplete

    def close(self) -> None:
        """Give up what was not taken."""
        self._stack.close()
