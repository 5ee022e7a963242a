"""What `search` writes: tables, BED, PAF, files of targets for each pattern, and counts."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.align.patterns.cpu import Patterns, SearchHits
from gpualign.errors import GpualignError, UsageError
from gpualign.search.offtargets import Genes, Score, with_lower_case
from gpualign.search.params import SearchFiles, SearchParams
from gpualign.search.select import FoundHits
from gpualign.sequences.offsets import offsets_of
from gpualign.text.annotation import read_annotation
from gpualign.text.output_file import OutputFile, open_output
from gpualign.text.table import Column, Names, cigars, constant, format_rows, integers, signs, texts, texts_or_star
from gpualign.text.table_output import Kind

_UNASSIGNED = "unassigned"
_MATCH = 7  # '=' of a CIGAR


def columns_of(params: SearchParams, files: SearchFiles) -> dict[str, Kind]:
    """Names of the table's columns and what they hold."""
    columns: dict[str, Kind] = {"pattern": "text", "target": "text", "strand": "text", "tstart": "integer"}
    columns |= {"tend": "integer", "plen": "integer"}
    if params.ends == "free":
        columns |= {"pstart": "integer", "pend": "integer"}
    columns |= {"distance": "integer"}
    columns |= {"cigar": "text", "matched": "text"} if params.path else {}
    columns |= {"score": "number"} if files.score is not None else {}
    columns |= {"variants": "text"} if files.variants is not None else {}
    genes: dict[str, Kind] = {"gene": "text", "feature": "text", "gene_distance": "integer"}
    return columns | (genes if files.annotate is not None else {})


class Writer:
    """Lines of hits in one of three forms."""

    def __init__(self, params: SearchParams, patterns: Patterns, files: SearchFiles) -> None:
        self._params, self._patterns, self._form = params, patterns, files.form
        self._of_variants = files.variants is not None
        self._names, self._lower = Names(patterns.names), files.matched == "lower"
        self._score = None if files.score is None else Score(files.score)
        self._genes = None if files.annotate is None else Genes(read_annotation(files.annotate))

    def rows(self, found: FoundHits) -> tuple[FoundHits, NDArray[np.float64] | None, bytes]:
        """A batch with the scores of its hits, float64 (n,), or None if they are not asked for, and its lines."""
        pam = self._params.pam or ""
        after = 0 if pam.startswith("5:") else len(pam.split(":")[-1])
        scores = None if self._score is None else self._score.of(self._patterns, found.hits, after)
        return found, scores, self._lines(found, scores)

    def _lines(self, found: FoundHits, scores: NDArray[np.float64] | None) -> bytes:
        hits = found.hits
        if not len(hits):
            return b""
        target = texts(found.names, found.name_offsets, hits.target)
        make = {"table": self._table, "bed": self._bed, "paf": self._paf}[self._form]
        columns = make(found, hits, target)
        if scores is not None:
            columns.append(_numbers_or_star(scores))
        if self._of_variants:
            columns.append(texts_or_star(hits.variants, hits.variants_offsets))
        if self._genes is not None:
            names = found.names.tobytes()
            ends = found.name_offsets.tolist()
            columns += self._genes.columns([names[a:b] for a, b in itertools.pairwise(ends)], hits)
        return format_rows(columns, len(hits))

    def _table(self, found: FoundHits, hits: SearchHits, target: Column) -> list[Column]:
        columns = [self._names.column(hits.pattern), target, signs(hits.minus.astype(bool))]
        columns += [integers(hits.start + 1), integers(hits.end), integers(self._patterns.lengths[hits.pattern])]
        if self._params.ends == "free":
            columns += [integers(hits.pattern_start + 1), integers(hits.pattern_end)]
        columns.append(integers(hits.distance))
        if self._params.path:
            columns.append(cigars(hits.operations, hits.operation_offsets))
            matched = with_lower_case(hits) if self._lower else hits.matched
            columns.append(texts(matched, hits.matched_offsets, np.arange(len(hits))))
        return columns

    def _bed(self, found: FoundHits, hits: SearchHits, target: Column) -> list[Column]:
        names = self._names.column(hits.pattern)
        where = [target, integers(hits.start), integers(hits.end)]
        return [*where, names, integers(hits.distance), signs(hits.minus.astype(bool))]

    def _paf(self, found: FoundHits, hits: SearchHits, target: Column) -> list[Column]:
        sizes = (hits.operations >> 4).astype(np.int64)
        matches = _sums(np.where(hits.operations & 15 == _MATCH, sizes, 0), hits.operation_offsets)
        query = [self._names.column(hits.pattern), integers(self._patterns.lengths[hits.pattern])]
        query += [integers(hits.pattern_start), integers(hits.pattern_end), signs(hits.minus.astype(bool))]
        where = [target, integers(found.lengths[hits.target]), integers(hits.start), integers(hits.end)]
        numbers = [integers(matches), integers(_sums(sizes, hits.operation_offsets)), constant("255", len(hits))]
        operations = _forward(hits)
        return [
            *query,
            *where,
            *numbers,
            integers(hits.distance, "NM:i:"),
            cigars(operations, hits.operation_offsets, "cg:Z:"),
        ]


def _numbers_or_star(values: NDArray[np.float64]) -> Column:
    known = np.unique(values[~np.isnan(values)])
    at = np.where(np.isnan(values), len(known), np.searchsorted(known, values))
    return Names([*(f"{value:.4f}" for value in known.tolist()), "*"]).column(at)


def _sums(values: NDArray[np.int64], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    total = offsets_of(values)
    sums: NDArray[np.int64] = total[offsets[1:]] - total[offsets[:-1]]
    return sums


def _forward(hits: SearchHits) -> NDArray[np.uint32]:
    """CIGARs in the target's direction."""
    lengths = np.diff(hits.operation_offsets)
    at = np.arange(len(hits.operations))
    backward = np.repeat(hits.operation_offsets[:-1] + hits.operation_offsets[1:] - 1, lengths) - at
    return hits.operations[np.where(np.repeat(hits.minus.astype(bool), lengths), backward, at)]


def check_split(names: list[str]) -> None:
    """
    Raises:
        UsageError: patterns cannot give files their names.
    """
    bad = [name for name in names if not name or "/" in name or name in (".", "..") or "\0" in name]
    if bad or len({*names, _UNASSIGNED}) <= len(names):
        what = f"'{bad[0]}' cannot be a file's name" if bad else f"two patterns have one name, or one is {_UNASSIGNED}"
        raise UsageError(f"--split names files as patterns: {what}")


@contextlib.contextmanager
def made_folder(path: str) -> Iterator[None]:
    """A folder that is gone again if it was made for a run that fails."""
    there = os.path.isdir(path)
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise GpualignError(f"{path}: {error.strerror}") from error
    try:
        yield
    except BaseException:
        if not there:
            with contextlib.suppress(OSError):
                os.rmdir(path)
        raise


class Splitter:
    """A file for each pattern with the targets that have it, and one of those that have none."""

    def __init__(self, folder: str, patterns: Patterns, threads: int, stack: contextlib.ExitStack, kind: str) -> None:
        self._files: dict[int, OutputFile] = {}
        names = [*patterns.names, _UNASSIGNED]
        stack.enter_context(made_folder(folder))
        for number, name in enumerate(names):
            self._files[number] = stack.enter_context(open_output(os.path.join(folder, f"{name}.{kind}"), threads))
        self._unassigned = len(patterns)

    def write(self, found: FoundHits) -> None:
        """The targets of a batch, each to the pattern of its hit."""
        records = found.records
        assert records is not None
        pattern = np.full(len(records), self._unassigned)
        pattern[found.hits.target] = found.hits.pattern
        order = np.argsort(pattern, kind="stable")
        numbers, begins = np.unique(pattern[order], return_index=True)
        records, ends = records.take(order), [*begins[1:].tolist(), len(records)]
        for number, begin, end in zip(numbers.tolist(), begins.tolist(), ends, strict=True):
            self._files[number].write(_native.format_fastx(records.part(begin, end).native, None, False).data)


class HitCounts:
    """Hits of each pattern by distance."""

    def __init__(self, patterns: Patterns) -> None:
        self.names = patterns.names
        self.hits = np.zeros((len(patterns), int(patterns.limits.max()) + 1), np.int64)
        self.targets = self.targets_with_hits = self.symbols = 0
        self._part_had_hits = False  # of a target whose parts are still coming

    def add(self, found: FoundHits) -> None:
        distances = self.hits.shape[1]
        cells = found.hits.pattern.astype(np.int64) * distances + found.hits.distance
        cell, count = np.unique(cells, return_counts=True)
        self.hits.reshape(-1)[cell] += count
        self.symbols += found.symbols
        if found.part is None:
            self.targets += len(found)
            self.targets_with_hits += len(np.unique(found.hits.target))
            return
        self._part_had_hits |= len(found.hits) > 0
        if found.part.last:
            self.targets += 1
            self.targets_with_hits += self._part_had_hits
            self._part_had_hits = False

    @property
    def by_pattern(self) -> dict[str, list[int]]:
        """For the report; of patterns with hits, in order, those of one name together."""
        counts: dict[str, NDArray[np.int64]] = {}
        for number in np.flatnonzero(self.hits.any(axis=1)).tolist():
            name = self.names[number]
            counts[name] = counts.get(name, 0) + self.hits[number]
        return {name: row.tolist() for name, row in counts.items()}

    def table(self) -> bytes:
        """A row for each pattern: all its hits, and those with 0, 1, ... errors."""
        rows, distances = self.hits.shape
        columns = [Names(self.names).column(np.arange(rows)), integers(self.hits.sum(axis=1))]
        columns += [integers(self.hits[:, distance]) for distance in range(distances)]
        header = "\t".join(["pattern", "hits", *(f"d{distance}" for distance in range(distances))])
        return f"{header}\n".encode() + format_rows(columns, rows)
