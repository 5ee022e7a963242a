"""The records of a file template by template, as `markdup` looks at them: as they come where they are grouped, and
collated where they are not."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError
from gpualign.markdup.params import Marking
from gpualign.params import RunOptions
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.records.observer import RecordObserver
from gpualign.records.record_input import RecordChunk, RecordInput
from gpualign.records.record_sorter import RecordBatch, Records, RecordSorter, TemplateNumbers, usual_memory
from gpualign.streaming.ordered import run_ordered
from gpualign.streaming.timeline import STEPS
from gpualign.text.bgzf import BgzfCodec
from gpualign.text.paths import temporary_folder

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
class MarkingPlan:
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
    def of(cls, source: RecordInput, marking: Marking, chunk: int, warn: Callable[[str], None]) -> MarkingPlan:
        """By the header, and by a look at the first records, a chunk of ``chunk`` bytes."""
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
        """How templates are recognized."""
        return "names" if self.grouped or self.collated(marking) else "records"


#: records, and their numbers in the input if they come in another order -> a batch, and hashes of the names of its
#: templates that lack a read
Prepare = Callable[[Records, "NDArray[np.uint64] | None"], tuple[RecordBatch, NDArray[np.uint64]]]


def preparer(
    plan: MarkingPlan, marking: Marking, layout: AlignmentLayout, take: Callable[[Records], Any] | None
) -> Prepare:
    """What makes batches of records template by template; from any thread.

    Args:
        layout: of the output, in whose order the batches are sorted.
        take: what is taken of a batch's records to find duplicates.
    """
    own_tags, added, templates = marking.own_tags, marking.added, plan.numbers(marking)

    @STEPS.at("mark")
    def prepared(records: Records, numbers: NDArray[np.uint64] | None) -> tuple[RecordBatch, NDArray[np.uint64]]:
        changed, incomplete = _native.prepare_templates(records, plan.mate_tags, own_tags, added, plan.grouped)
        if changed is None:
            changed = records if numbers is None else records.copy()  # which are in memory that is used again
        marks = None if take is None else take(changed)
        return RecordBatch.of(changed, layout.order, marks, templates, numbers, keep=True), incomplete

    return prepared


def prepared_batches(
    source: RecordInput,
    plan: MarkingPlan,
    marking: Marking,
    observer: RecordObserver,
    layout: AlignmentLayout,
    options: RunOptions,
    codec: BgzfCodec,
) -> Generator[RecordBatch, None, None]:
    """Batches of all prepared records, with what is taken of them to find duplicates, in no order but their numbers'.
    Close it.

    Args:
        layout: of the output, in whose order the batches are sorted.

    Raises:
        InputError: a damaged file, or one whose templates are not together where it seemed so.
    """
    prepared = preparer(plan, marking, layout, observer.take)
    if plan.collated(marking):  # by way of a sorter of its own, which has half of the memory
        memory = (layout.sort_memory or usual_memory(options.threads)) // 2
        folder = temporary_folder(options.output, layout.tmp_dir)

        def by_template(chunk: RecordChunk) -> RecordBatch:
            return RecordBatch.of(chunk.records(), "template", templates="none")

        with RecordSorter(folder, memory, options.threads, "template", codec) as sorter:
            with closing(run_ordered(plan.chunks, by_template, options.threads)) as batches:
                for batch in batches:
                    sorter.add(batch)
            ranges = sorter.collated(lambda records, numbers: prepared(records, numbers)[0])
            with closing(ranges):  # type: ignore[type-var]
                yield from ranges
        return
    incomplete = [np.zeros(0, np.uint64)]
    with closing(run_ordered(plan.chunks, lambda chunk: prepared(chunk.records(), None), options.threads)) as work:
        for batch, names in work:
            incomplete.append(names)
            yield batch
    names, times = np.unique(np.concatenate(incomplete), return_counts=True)
    if plan.grouped and len(names) and times.max() > 1:
        raise InputError(
            "the records of a template are not next to each other, as they seemed to be (gpualign sort --template "
            "puts them together)",
            source.path,
        )
