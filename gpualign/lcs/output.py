"""The LCS filter's output: a table, or the kept records as FASTA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gpualign.errors import check_count
from gpualign.io.table_output import Kind, TableSink
from gpualign.lcs.params import LcsFilterFiles, LcsFilterParams

#: what would break a table's line, as text
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
        """The same hit, traced; the subject itself is let go."""
        return self._replace(subsequence=text, sequence=None)


class Query(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def length(self) -> int: ...


Row = tuple["int | None", Query, Hit]


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

    def __init__(self, out: TableSink, params: LcsFilterParams, files: LcsFilterFiles) -> None:
        self._out, self._params, self._files = out, params, files
        self.rows = 0

    def write(self, rows: Sequence[Row]) -> None:
        """Write (rank or None, query, hit) rows."""
        if rows:
            line, lines_a_row = (self._record, 2) if self._params.whole_records else (self._line, 1)
            text = "".join(line(*row) for row in rows)
            check_count("lines", lines_a_row * len(rows), text.count("\n"))
            self._out.write(text.encode("latin-1"))
            self.rows += len(rows)

    def _line(self, rank: int | None, query: Query, hit: Hit) -> str:
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

    def _record(self, rank: int | None, query: Query, hit: Hit) -> str:
        """FASTA, the sequence unchanged on one line; what was found goes after the description, never into the ID."""
        notes = [hit.comment] if hit.comment else []
        notes.append(f"lcs={hit.lcs}")
        notes += [] if rank is None else [f"rank={rank}"]
        notes += [f"strand={hit.strand}"] if self._params.strand == "both" else []
        notes += [f"query={query.name}"] if self._files.multi_query else []
        return f">{hit.name} {' '.join(notes)}\n{(hit.sequence or b'').decode('latin-1')}\n"
