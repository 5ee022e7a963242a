"""The LCS filter's output: a table, or the kept records as FASTA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import check_count
from gpualign.io import table
from gpualign.io.table_output import Kind, TableSink
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams
from gpualign.lcs.query import QueryStrands
from gpualign.sequences.batch import SequenceBatch
from gpualign.streaming.timeline import STEPS

#: characters that would break a line of the table
_ESCAPES = str.maketrans({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"})


class Hit(NamedTuple):
    """A subject that passed.

    Attributes:
        lcs: length of the longest common subsequence with the query.
        number: in the input, over all files.
        strand: "+" or "-", the strand of the query.
        name: the subject's name.
        comment: text after the name, where records are written.
        length: the subject's length.
        sequence: the subject, where it is written or traced.
        subsequence: in the query's symbols, where it is asked for.
    """

    lcs: int
    number: int
    strand: str
    name: str
    comment: str
    length: int
    sequence: bytes | None = None
    subsequence: bytes | None = None

    def with_subsequence(self, text: bytes) -> Hit:
        """The hit with its subsequence; the subject itself is released."""
        return self._replace(subsequence=text, sequence=None)


Row = tuple["int | None", QueryStrands, Hit]


@dataclass(frozen=True)
class Passed:
    """All hits of a batch where nothing is ranked, by subject, then by query.

    Attributes:
        batch: the subjects.
        query, subject: int64 (h,), which query, and which of the batch.
        lcs: int32 (h,).
        minus: bool (h,), the query's strand.
    """

    batch: SequenceBatch
    query: NDArray[np.int64]
    subject: NDArray[np.int64]
    lcs: NDArray[np.int32]
    minus: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.query)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}" if whole else "*"


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
        self._out, self._params, self._files = out, params, files
        self._names = table.Names([query.name for query in queries])
        self._lengths = np.array([query.length for query in queries], np.int64)
        self.rows = 0

    def write(self, rows: Sequence[Row] | Passed) -> None:
        """Write (rank or None, query, hit) rows, or hits that have no rank."""
        if rows:
            with STEPS.at("format"):
                text = self._lines(rows) if isinstance(rows, Passed) else self._text(rows)
            check_count("lines", (1 + self._params.whole_records) * len(rows), text.count(b"\n"))
            self._out.write(text)
            self.rows += len(rows)

    def _lines(self, hits: Passed) -> bytes:
        batch, query_lengths, lengths = hits.batch, self._lengths[hits.query], hits.batch.lengths[hits.subject]
        columns = [
            table.constant("*", len(hits)),
            self._names.column(hits.query),
            table.texts(batch.names, batch.name_offsets, hits.subject),
            table.integers(hits.lcs),
            table.integers(query_lengths),
            table.integers(lengths),
            table.percents(hits.lcs, query_lengths),
            table.percents(hits.lcs, lengths),
        ]
        if self._params.strand == "both":
            columns.append(table.signs(hits.minus))
        return table.format_rows(columns, len(hits))

    def _text(self, rows: Sequence[Row]) -> bytes:
        line = self._record if self._params.whole_records else self._line
        return "".join(line(*row) for row in rows).encode("latin-1")

    def _line(self, rank: int | None, query: QueryStrands, hit: Hit) -> str:
        fields = [
            "*" if rank is None else str(rank),
            query.name,
            hit.name,
            str(hit.lcs),
            str(query.length),
            str(hit.length),
            _percent(hit.lcs, query.length),
            _percent(hit.lcs, hit.length),
        ]
        if self._params.strand == "both":
            fields.append(hit.strand)
        if self._params.subsequence:
            text = (hit.subsequence or b"").decode("latin-1")
            fields.append(text.translate(_ESCAPES) or "*")
        return "\t".join(fields) + "\n"

    def _record(self, rank: int | None, query: QueryStrands, hit: Hit) -> str:
        """FASTA, the sequence unchanged on one line; what was found goes after the description, never into the ID."""
        notes = [hit.comment] if hit.comment else []
        notes.append(f"lcs={hit.lcs}")
        notes += [] if rank is None else [f"rank={rank}"]
        notes += [f"strand={hit.strand}"] if self._params.strand == "both" else []
        notes += [f"query={query.name}"] if self._files.multi_query else []
        return f">{hit.name} {' '.join(notes)}\n{(hit.sequence or b'').decode('latin-1')}\n"
