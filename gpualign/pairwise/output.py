"""The layouts of ``pairwise``: columns by name, PAF, BLAST's twelve columns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from gpualign.align.score.alignments import Measures, PairAlignments
from gpualign.align.score.params import PairwiseParams
from gpualign.pairwise.params import DEFAULT_COLUMNS, SCORE_COLUMNS, SEARCH_FIELDS, PairwiseOutput, column_of
from gpualign.sequences.matrices import Scoring
from gpualign.streaming.timeline import STEPS
from gpualign.text import table
from gpualign.text.table import Column, Names
from gpualign.text.table_output import Kind

#: minimap2's value for "no mapping quality"
_PAF_QUALITY = 255
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("query", "target", "strand", "qstrand", "tstrand", "cigar", "caln"), "text"),
    **dict.fromkeys(
        ("score", "identity", "id0", "id1", "id2", "id3", "id4", "pctgaps", "qcov", "tcov", "pident"), "number"
    ),
    **dict.fromkeys(SEARCH_FIELDS, "number"),
}
_DELETE_INSERT = np.array([0, 2, 1], np.uint32)


def names_of(output: PairwiseOutput, params: PairwiseParams) -> tuple[str, ...]:
    """The table's columns, as they are called."""
    return output.columns or (SCORE_COLUMNS if params.score_only else DEFAULT_COLUMNS)


def columns_of(output: PairwiseOutput, params: PairwiseParams) -> dict[str, Kind]:
    """The lines and their number."""
    return {name: _KINDS.get(column_of(name), "integer") for name in names_of(output, params)}


class PairFormat:
    """Turns alignments into lines of the layout that the parameters ask for.

    Args:
        significance: gives the columns ``evalue`` and ``bits``, where they are known.
    """

    def __init__(
        self,
        output: PairwiseOutput,
        params: PairwiseParams,
        scoring: Scoring,
        queries: list[str],
        targets: list[str],
        significance: Callable[[PairAlignments], dict[str, Column]] | None = None,
    ) -> None:
        self._output, self._params, self._scoring, self._significance = output, params, scoring, significance
        self._queries, self._targets = Names(queries), Names(targets)
        self._columns = names_of(output, params)

    @STEPS.at("format")
    def lines(self, alignments: PairAlignments) -> bytes:
        """One line per alignment."""
        known = {} if self._significance is None else self._significance(alignments)
        rows = _Rows(alignments, self._params, self._scoring, self._queries, self._targets, known)
        if self._output.layout == "paf":
            columns = rows.paf()
        elif self._output.layout == "blast6":
            columns = rows.blast6()
        else:
            columns = [rows.column(column_of(name), name) for name in self._columns]
        return table.format_rows(columns, len(alignments))


class _Rows:
    def __init__(
        self,
        alignments: PairAlignments,
        params: PairwiseParams,
        scoring: Scoring,
        queries: Names,
        targets: Names,
        known: dict[str, Column],
    ) -> None:
        self.all, self.params, self.scoring, self.known = alignments, params, scoring, known
        self.queries, self.targets = queries, targets
        self.measures = Measures(alignments, params.mode) if alignments.spans is not None else None

    def _measured(self) -> Measures:
        assert self.measures is not None
        return self.measures

    def column(self, field: str, asked: str) -> Column:
        """One column by its own name; ``asked`` is the name the user gave, which for qs and ts is all the same."""
        simple: dict[str, Callable[[], Column]] = {
            "query": lambda: self.queries.column(self.all.query),
            "target": lambda: self.targets.column(self.all.target),
            "score": self.score,
            "qlen": lambda: table.integers(self.all.lengths[:, 0]),
            "tlen": lambda: table.integers(self.all.lengths[:, 1]),
            "strand": lambda: table.signs(self.all.minus),
            # vsearch calls the query plus and gives the target the strand
            "qstrand": lambda: table.constant("+", len(self.all)),
            "tstrand": lambda: table.signs(self.all.minus),
        }
        if field in simple:
            return simple[field]()
        if field in self.known:
            return self.known[field]
        return self._alignment_column(field)

    def _alignment_column(self, field: str) -> Column:
        measures = self._measured()
        start, end = measures.query_span()
        whole: dict[str, NDArray[np.int64]] = {
            "alnlen": measures.columns,
            "matches": measures.matches,
            "mismatches": measures.mismatches,
            "gapopens": measures.openings,
            "gaps": measures.gaps,
            "gapexts": measures.gaps - measures.openings,
            "pairs": measures.matches + measures.mismatches,
            "qstart": np.where(end > start, start + 1, 0),
            "qend": np.where(end > start, end, 0),
            "tstart": np.where(measures.target_end > measures.target_start, measures.target_start + 1, 0),
            "tend": np.where(measures.target_end > measures.target_start, measures.target_end, 0),
        }
        if field in whole:
            return table.integers(whole[field])
        if field == "identity":
            return table.fixed(100 * measures.identity(self.params.identity_definition), 2)
        if field.startswith("id") and field[2:].isdigit():
            return table.fixed(100 * measures.identity(int(field[2:])), 2)
        if field == "pident":  # BLAST has three decimals
            return table.fixed(100 * measures.identity(1), 3)
        if field in ("cigar", "caln"):
            return self.cigar(swapped=field == "caln")
        aligned = (measures.matches + measures.mismatches).astype(np.float64)
        shares = {
            "pctgaps": (measures.gaps, measures.columns),
            "qcov": (aligned, measures.n),
            "tcov": (aligned, measures.m),
        }
        part, of = shares[field]
        return table.fixed(100 * part / np.maximum(of, 1), 1)

    def score(self, prefix: str = "") -> Column:
        if self.scoring.scale == 1:
            return table.integers(self.all.score, prefix)
        decimals = len(str(self.scoring.scale)) - 1
        return table.fixed(self.all.score / self.scoring.scale, decimals, prefix)

    def cigar(self, prefix: str = "", swapped: bool = False) -> Column:
        cigar, offsets = self.all.cigar, self.all.cigar_offsets
        assert cigar is not None
        assert offsets is not None
        if swapped:
            cigar = (cigar & ~np.uint32(15)) | _DELETE_INSERT[cigar & 15]
        return table.cigars(cigar, offsets, prefix)

    def paf(self) -> list[Column]:
        measures = self._measured()
        start, end = measures.query_span()
        return [
            self.queries.column(self.all.query),
            table.integers(measures.n),
            table.integers(start),
            table.integers(end),
            table.signs(self.all.minus),
            self.targets.column(self.all.target),
            table.integers(measures.m),
            table.integers(measures.target_start),
            table.integers(measures.target_end),
            table.integers(measures.matches),
            table.integers(measures.columns),
            table.integers(np.full(len(self.all), _PAF_QUALITY)),
            table.integers(measures.mismatches + measures.gaps, "NM:i:"),
            self.score("AS:i:" if self.scoring.scale == 1 else "AS:f:"),
            self.cigar("cg:Z:"),
        ]

    def blast6(self) -> list[Column]:
        measures, minus = self._measured(), self.all.minus
        start, end = measures.query_span()
        first, last = measures.target_start + 1, measures.target_end
        return [
            self.queries.column(self.all.query),
            self.targets.column(self.all.target),
            table.fixed(100 * measures.identity(self.params.identity_definition), 3),
            table.integers(measures.columns),
            table.integers(measures.mismatches),
            table.integers(measures.openings),
            table.integers(start + 1),
            table.integers(end),
            table.integers(np.where(minus, last, first)),
            table.integers(np.where(minus, first, last)),
            self.known.get("evalue", table.constant("-1", len(self.all))),
            self.known.get("bits", table.constant("0", len(self.all))),
        ]
