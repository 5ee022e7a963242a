"""The LCS filter's output: a table, or the kept records as FASTA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpualign.align.lcs.query import QueryStrands
from gpualign.errors import check_count
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.sequences.offsets import offsets_of
from gpualign.streaming.timeline import STEPS
from gpualign.text import table
from gpualign.text.table_output import Kind, TableSink

#: characters that would break a line of the table
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


@dataclass(frozen=True)
class LcsHits:
    """Subjects that passed.

    Attributes:
        batch: the subjects, maybe among others.
        subject: int64 (h,), which of the batch.
        number: int64 (h,), in the input, over all files.
        lengths: int64 (h,), of the subjects.
        query: int64 (h,), which query.
        lcs: int32 (h,), length of the longest common subsequence with it.
        minus: bool (h,), the query's strand.
        rank: int64 (h,), among the query's; None: nothing is ranked.
        subsequences: in the query's symbols, where they are asked for.
    """

    batch: SequenceBatch
    subject: NDArray[np.int64]
    number: NDArray[np.int64]
    lengths: NDArray[np.int64]
    query: NDArray[np.int64]
    lcs: NDArray[np.int32]
    minus: NDArray[np.bool_]
    rank: NDArray[np.int64] | None = None
    subsequences: Sequence[bytes] | None = None

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, chosen: NDArray[np.int64]) -> LcsHits:
        """The hits with these numbers, not traced yet."""
        columns = (getattr(self, name) for name in _HIT_COLUMNS)
        taken: list[Any] = [None if column is None else column[chosen] for column in columns]
        return LcsHits(self.batch, *taken)

    def alone(self, whole: bool) -> LcsHits:
        """With a batch of no other subjects, which has their sequences if these are wanted ``whole``."""
        batch, nothing = self.batch, (np.zeros(0, np.uint8), np.zeros(len(self.batch) + 1, np.int64))
        occurs = np.zeros(len(batch), bool)
        occurs[self.subject] = True
        bases = (batch.bases, batch.base_offsets) if whole else nothing
        comments = nothing if batch.comments is None else (batch.comments, batch.comment_offsets)
        batch = SequenceBatch(batch.names, batch.name_offsets, *bases, None, *comments).take(np.flatnonzero(occurs))
        return replace(self, batch=batch, subject=(np.cumsum(occurs) - 1)[self.subject])

    @classmethod
    def join(cls, parts: Sequence[LcsHits], batch: SequenceBatch | None = None) -> LcsHits:
        """All of at least one, one after the other; ``batch``: that of all."""
        columns = ([getattr(part, name) for part in parts] for name in _HIT_COLUMNS)
        joined: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
        if batch is None:
            batch = join_batches([part.batch for part in parts])
            starts = offsets_of([len(part.batch) for part in parts])[:-1]
            joined[0] += np.repeat(starts, [len(part) for part in parts])
        return cls(batch, *joined)


_HIT_COLUMNS = ("subject", "number", "lengths", "query", "lcs", "minus", "rank")
_NONE = np.zeros(0, np.int64)
NO_HITS = LcsHits(join_batches([]), _NONE, _NONE, _NONE, _NONE, np.zeros(0, np.int32), np.zeros(0, bool)).alone(True)


_COLUMNS: dict[str, Kind] = {
    "rank": "integer",
    "query": "text",
    "subject": "text",
    "lcs": "integer",
    "qlen": "integer",
    "slen": "integer",
    "qcov": "number",
    "scov": "number",
}


def columns_of(params: LcsFilterParams) -> dict[str, Kind]:
    """The table's columns."""
    more = {"strand": params.strand == "both", "subsequence": params.subsequence}
    return _COLUMNS | {name: "text" for name, there in more.items() if there}


class LcsWriter:
    """Formats rows; ``rows`` counts them."""

    def __init__(
        self, out: TableSink, params: LcsFilterParams, files: LcsFilterFiles, queries: Sequence[QueryStrands]
    ) -> None:
        self._out, self._params, self._files, self._queries = out, params, files, queries
        self._names = table.Names([query.name for query in queries])
        self._lengths = np.array([query.length for query in queries], np.int64)
        self.rows = 0

    def write(self, hits: LcsHits) -> None:
        """Write hits in their order."""
        if len(hits):
            with STEPS.at("format"):
                text = self._records(hits) if self._params.whole_records else self._lines(hits)
            check_count("lines", (1 + self._params.whole_records) * len(hits), text.count(b"\n"))
            self._out.write(text)
            self.rows += len(hits)

    def _lines(self, hits: LcsHits) -> bytes:
        batch, query_lengths = hits.batch, self._lengths[hits.query]
        columns = [
            table.constant("*", len(hits)) if hits.rank is None else table.integers(hits.rank),
            self._names.column(hits.query),
            table.texts(batch.names, batch.name_offsets, hits.subject),
            table.integers(hits.lcs),
            table.integers(query_lengths),
            table.integers(hits.lengths),
            table.percents(hits.lcs, query_lengths),
            table.percents(hits.lcs, hits.lengths),
        ]
        if self._params.strand == "both":
            columns.append(table.signs(hits.minus))
        if hits.subsequences is not None:
            texts = [text.decode("latin-1").translate(_ESCAPES) or "*" for text in hits.subsequences]
            columns.append(table.Names(texts).column(np.arange(len(texts))))
        return table.format_rows(columns, len(hits))

    def _records(self, hits: LcsHits) -> bytes:
        """FASTA, sequences unchanged on one line; what was found goes after the description, never into the ID."""
        batch, records = hits.batch, []
        for i, subject in enumerate(hits.subject.tolist()):
            notes = []
            if batch.comments is not None and batch.comment_offsets is not None:
                start, end = batch.comment_offsets[subject : subject + 2]
                notes += [batch.comments[start:end].tobytes().decode("latin-1")] if end > start else []
            notes.append(f"lcs={hits.lcs[i]}")
            notes += [] if hits.rank is None else [f"rank={hits.rank[i]}"]
            notes += [f"strand={'-' if hits.minus[i] else '+'}"] if self._params.strand == "both" else []
            notes += [f"query={self._queries[hits.query[i]].name}"] if self._files.multi_query else []
            header = f">{batch.name(subject)} {' '.join(notes)}\n".encode("latin-1")
            records.append(header + batch.sequence(subject) + b"\n")
        return b"".join(records)
