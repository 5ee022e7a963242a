"""The reads of a sample: single ones, and pairs from two files or from an interleaved one."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gpualign.errors import UsageError
from gpualign.index.file import is_index
from gpualign.io.alignment import parse_read_group
from gpualign.io.bgzf import BgzfCodec
from gpualign.io.files import open_together
from gpualign.io.paired_reads import interleaved_reads, paired_reads, single_reads
from gpualign.io.reads import Reads, ReadSource, joined_header
from gpualign.map import tuning
from gpualign.map.inputs import Sample
from gpualign.params import available_cores
from gpualign.streaming.pinned import Allocate, no_pinned


class Lanes:
    """The reads of a sample, one file or two per lane, open as long as ``stack``.

    Args:
        remote: parsers are on other machines.
    """

    def __init__(self, sample: Sample, stack: contextlib.ExitStack, remote: bool = False) -> None:
        files, records = sample.files, sample.records
        self._stack = stack
        self.remote = remote

        def open_reads(path: str, opened: Any = None) -> ReadSource:
            source = ReadSource(
                path,
                _cram_reference(files.reference),
                not records.groups,
                records.copy_comments or files.write_reads,
                sample.options.threads,
                remote=remote,
                interleaved=files.interleaved,
                opened=opened,
            )
            return stack.enter_context(contextlib.closing(source))

        self.first: list[ReadSource] = []
        self.second: list[ReadSource] = []
        for paths in itertools.zip_longest(files.read_files, files.mate_files):
            opened = open_together([path for path in paths if path is not None], stack)
            for sources, path, raw in zip((self.first, self.second), paths, opened, strict=False):
                sources.append(open_reads(path, raw))
        self.check_names, self._threads = files.check_names, min(sample.options.threads, tuning.PARSERS)
        threads = min(sample.options.threads, available_cores())  # with more threads than cores one per file is faster
        inflaters = min(threads // (2 if self.second else 1), tuning.MAX_INFLATERS)
        self._inflaters = inflaters if inflaters >= tuning.MIN_INFLATERS else 1
        self._groups = [parse_read_group(line)[1] for line in records.lane_groups]
        self.header = joined_header(self.first, not records.groups)
        self.tagged = self.header is not None
        if (
            records.duplicates is not None
            and records.duplicates.barcode_tags
            and not (self.tagged or records.copy_comments)
        ):
            raise UsageError(
                "reads of FASTA and FASTQ files have no tags for --barcode-tag (-C copies them from comments)"
            )
        self.paired = bool(self.second) or files.interleaved or any(source.paired for source in self.first)
        if self.paired:
            sample.params.check_pairs()

    def inflate_by(self, codec: BgzfCodec) -> None:
        """See :meth:`InputFile.inflate_by`."""
        for source in (*self.first, *self.second):
            source.file.inflate_by(codec)

    def reads(self, batch_bases: int, unparsed: bool = False, allocate: Allocate = no_pinned) -> Iterator[Reads]:
        """All reads in order. The generator is closed with ``stack``, as its end waits for threads that parse; left to
        the garbage collector, it would end in any thread.

        Args:
            unparsed: leave FASTQ text that devices can parse unparsed.
            allocate: allocates memory for that text.
        """
        if unparsed:
            for source in (*self.first, *self.second):
                source.inflaters, source.allocate = self._inflaters, allocate
        return self._stack.enter_context(contextlib.closing(self._all_reads(batch_bases, unparsed and not self.tagged)))

    def _all_reads(self, batch_bases: int, unparsed: bool) -> Generator[Reads, None, None]:
        for lane in range(len(self.first)):
            reads = self._of_lane(lane, batch_bases, unparsed)
            yield from (replace(item, read_group=self._groups[lane]) for item in reads) if self._groups else reads

    def _of_lane(self, lane: int, batch_bases: int, unparsed: bool) -> Iterator[Reads]:
        first = self.first[lane]
        if self.second:
            second, as_text = self.second[lane], unparsed or self.remote
            return paired_reads(first, second, batch_bases, self.check_names, self._threads, as_text)
        if self.paired:
            return interleaved_reads(first, batch_bases, self._threads, self.check_names)
        return single_reads(first, batch_bases, self._threads, unparsed)


@lru_cache(1)  # one reference for all samples
def _cram_reference(reference: str) -> str | None:
    """The reference if it is a file that htslib can use to decode CRAM."""
    return None if not os.path.isfile(reference) or is_index(reference) else reference
