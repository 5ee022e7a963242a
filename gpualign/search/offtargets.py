"""Sites of guides: mismatches and bulges, scores, the genes where they lie, and their sums for each guide."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns.cpu import Patterns, SearchHits
from gpualign.errors import InputError, UsageError
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.strands import COMPLEMENT
from gpualign.text.annotation import Annotation
from gpualign.text.files import InputFile
from gpualign.text.table import Column, Names, fixed, format_rows, integers

#: operations of CIGARs as BAM numbers them
_INSERTION, _DELETION, _DIFFERENT = 1, 2, 8
#: weights of mismatches at positions 1 to 20 (Hsu et al. 2013, Nat. Biotechnol. 31:827, and crispr.mit.edu/about)
_MIT = (
    0,
    0,
    0.014,
    0,
    0,
    0.395,
    0.317,
    0,
    0.389,
    0.079,
    0.445,
    0.508,
    0.613,
    0.851,
    0.732,
    0.828,
    0.615,
    0.804,
    0.685,
    0.583,
)
_BASES = b"ACGT"
_CODES = np.full(256, 4, np.uint8)
_CODES[list(_BASES)] = range(4)
_KEY = re.compile(r"(?:r?([ACGTU]):?(d?)([ACGT])[,_]?)?(\d{1,3})", re.IGNORECASE)
_HELP = "a line is a mismatch and its factor (AC12 0.26, or rA:dG,12 0.26, or 12 0.26), or a PAM's end (AG 0.26)"


class Score:
    """How likely a site is cut: 1 is the guide's own.

    ``mit``: the product of 1 - weight of each mismatch, over the square of their number m and over 4 (19 - d) / 19 + 1,
    where d is their mean distance. A table of factors (such as CFD's, Doench et al. 2016): their product, and the
    factor of the last two bases of the PAM.

    Args:
        name: "mit", or the table's file.

    Raises:
        InputError: the table cannot be read, or a line is malformed.
    """

    def __init__(self, name: str) -> None:
        self._mit, self._path = name == "mit", name
        self._factors: dict[tuple[int, int, int], float] = {}  # of guide's base, site's base, position from 0
        self._pam = np.ones((5, 5)) if self._mit else np.full((5, 5), np.nan)
        if self._mit:
            return
        with InputFile(name) as file:
            text = file.read(1 << 24).decode("latin-1")
        for number, line in enumerate(text.splitlines(), start=1):
            fields = line.replace("\t", " ").split()
            if not fields or line.startswith("#"):
                continue
            try:
                self._add(fields[0], float(fields[1]))
            except (ValueError, IndexError):
                raise InputError(_HELP, name, number) from None
        if np.isnan(self._pam).all():
            self._pam[:] = 1

    def _add(self, key: str, factor: float) -> None:
        if re.fullmatch("[ACGT]{2}", key.upper()):
            first, second = (_BASES.index(ord(base)) for base in key.upper())
            self._pam[first, second] = factor
            return
        match = _KEY.fullmatch(key)
        if match is None:
            raise ValueError
        guide, of_dna, site, position = match.groups()
        guides = range(4) if guide is None else [_BASES.index(ord(guide.upper().replace("U", "T")))]
        if site is None:
            sites = list(range(4))
        else:  # d names the base of the DNA strand that pairs with the guide
            base = site.upper().encode()
            sites = [_BASES.index(base.translate(COMPLEMENT) if of_dna else base)]
        self._factors |= {(g, s, int(position) - 1): factor for g in guides for s in sites if g != s}

    def of(self, patterns: Patterns, hits: SearchHits, pam: int) -> NDArray[np.float64]:
        """float64 (n,), NaN where a site has a bulge.

        Args:
            pam: bases after each guide that are its PAM.

        Raises:
            UsageError: a guide that the score is not for.
        """
        scores = np.full(len(hits), np.nan)
        plain = (bulges_of(hits) == 0) & (np.diff(hits.matched_offsets) == patterns.lengths[hits.pattern])
        for size in np.unique(patterns.lengths).tolist():
            if size - pam < 1 or (self._mit and size - pam != len(_MIT)):
                raise UsageError(f"--score mit is for guides of {len(_MIT)} bases, not {size - pam} (and --pam NGG)")
            rows = np.flatnonzero(plain & (patterns.lengths[hits.pattern] == size))
            some = hits if len(rows) == len(hits) else hits.take(rows)
            site = _CODES[some.matched].reshape(len(rows), size)
            of_size = patterns.lengths == size
            symbols = _CODES[patterns.symbols[np.repeat(of_size, patterns.lengths)]].reshape(-1, size)
            guide = symbols[(np.cumsum(of_size) - 1)[some.pattern]]
            spacer = size - pam
            differ = guide[:, :spacer] != site[:, :spacer]
            if self._mit:
                found = _mit(differ)
            else:
                table = self._table(spacer)
                found = np.where(differ, table[guide[:, :spacer], site[:, :spacer], np.arange(spacer)], 1).prod(axis=1)
            if pam >= 2:
                found = found * self._pam[site[:, -2], site[:, -1]]
            scores[rows] = found
        return scores

    def _table(self, size: int) -> NDArray[np.float64]:
        table = np.full((5, 5, size), np.nan)
        for (guide, site, position), factor in self._factors.items():
            if position < size:
                table[guide, site, position] = factor
        return table


def _mit(differ: NDArray[np.bool_]) -> NDArray[np.float64]:
    count = differ.sum(axis=1)
    first, last = np.argmax(differ, axis=1), differ.shape[1] - 1 - np.argmax(differ[:, ::-1], axis=1)
    distance = np.where(count > 1, (last - first) / np.maximum(count - 1, 1), 19)
    product = np.exp(differ.astype(np.float64) @ np.log1p(-np.array(_MIT)))
    return np.where(count, product / np.maximum(count, 1) ** 2 / ((19 - distance) / 19 * 4 + 1), 1)


def _counted(hits: SearchHits, *operations: int) -> NDArray[np.int64]:
    """int64 (n,): bases of these operations in each hit's alignment."""
    sizes = np.where(np.isin(hits.operations & 15, operations), hits.operations >> 4, 0).astype(np.int64)
    total = offsets_of(sizes)
    counts: NDArray[np.int64] = total[hits.operation_offsets[1:]] - total[hits.operation_offsets[:-1]]
    return counts


def bulges_of(hits: SearchHits) -> NDArray[np.int64]:
    """int64 (n,): inserted and deleted bases of each hit."""
    return _counted(hits, _INSERTION, _DELETION)


def with_lower_case(hits: SearchHits) -> NDArray[np.uint8]:
    """The matched text with what differs from the pattern in lower case."""
    kinds = hits.operations & 15
    sizes = np.where(kinds == _INSERTION, 0, hits.operations >> 4)
    differs = np.repeat((kinds == _DIFFERENT) | (kinds == _DELETION), sizes)
    return np.where(differs, hits.matched | 32, hits.matched)


class Genes:
    """Where sites lie among genes: in an exon, else in an intron, else the nearest gene and how far it is.

    Args:
        annotation: exons of transcripts.

    Attributes:
        names: of the genes, and *.
    """

    def __init__(self, annotation: Annotation) -> None:
        self.names = [*annotation.gene_names, "*"]
        exons = np.diff(annotation.exon_offsets)
        of_exon = np.repeat(np.arange(len(annotation)), exons)
        self._contigs = {name.encode("latin-1"): number for number, name in enumerate(annotation.contigs)}
        rows = (annotation.contig, annotation.starts, annotation.ends, np.arange(len(annotation)))
        self._exons = [
            _Intervals(of_exon[some], annotation.exon_starts[some], annotation.exon_ends[some])
            for some in (annotation.contig[of_exon] == number for number in range(len(annotation.contigs)))
        ]
        self._transcripts = [
            _Intervals(rows[3][some], rows[1][some], rows[2][some])
            for some in (rows[0] == number for number in range(len(annotation.contigs)))
        ]

    def columns(self, names: list[bytes], hits: SearchHits) -> list[Column]:
        """Columns gene, feature and gene_distance (0 within a gene, 1 next to it). ``names``: of the hits' targets."""
        gene, feature, distance = self.located(names, hits)
        known = np.unique(distance[distance >= 0])
        at = np.where(distance < 0, len(known), np.searchsorted(known, distance))
        far_away = Names([*map(str, known.tolist()), "*"])
        shown = Names(["exon", "intron", "intergenic"])
        return [Names(self.names).column(gene), shown.column(feature), far_away.column(at)]

    def located(self, names: list[bytes], hits: SearchHits) -> tuple[NDArray[np.int64], ...]:
        """int64 (n,) each: the gene's number among the names; 0: in an exon, 1: intron, 2: between genes; the distance,
        -1: there is no gene.
        """
        gene = np.full(len(hits), len(self.names) - 1)
        feature, distance = np.full(len(hits), 2), np.full(len(hits), -1, np.int64)
        for target in np.unique(hits.target).tolist():
            number = self._contigs.get(names[target])
            if number is None:
                continue
            rows = np.flatnonzero(hits.target == target)
            start, end = hits.start[rows], hits.end[rows]
            nearest, far = self._transcripts[number].nearest(start, end)
            exon, beside = self._exons[number].nearest(start, end)
            gene[rows] = np.where(beside == 0, exon, nearest)
            feature[rows] = np.where(beside == 0, 0, np.where(far == 0, 1, 2))
            distance[rows] = far
        return gene, feature, distance


class _Intervals:
    """Intervals of a contig with their owners."""

    def __init__(self, owner: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> None:
        order = np.lexsort((end, start))
        self._owner, self._start, self._end = owner[order], start[order], end[order]
        reach = np.maximum.accumulate(self._end)
        # of the intervals up to each, the first that reaches farthest
        self._farthest = np.maximum.accumulate(
            np.where(self._end == reach, np.append(True, np.diff(reach) > 0), 0) * np.arange(len(order))
        )

    def nearest(self, start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Owners of the nearest intervals, and how far they are: 0 is an overlap, 1 the next base."""
        after = np.searchsorted(self._start, end)
        left = self._farthest[np.maximum(after - 1, 0)]
        right = np.minimum(after, len(self._start) - 1)
        none = np.int64(1) << 60
        before = np.where(after > 0, np.maximum(start - self._end[left] + 1, 0), none)
        behind = np.where(after < len(self._start), self._start[right] - end + 1, none)
        return np.where(before <= behind, self._owner[left], self._owner[right]), np.minimum(before, behind)


class GuideSums:
    """Loci of each guide by mismatches and bulges, and the sum of their scores.

    Args:
        bulges: most of a site.
        scored: there are scores.
        known: further columns.
    """

    def __init__(self, patterns: Patterns, bulges: int, scored: bool, known: dict[str, Column]) -> None:
        self._names, self._scored, self._known = patterns.names, scored, known
        most = int(patterns.limits.max())
        self._shape = (most + 1, (most if bulges < 0 else min(most, bulges)) + 1)
        self._loci = np.zeros((len(patterns), *self._shape), np.int64)
        self._sums = np.zeros(len(patterns))

    def add(self, hits: SearchHits, scores: NDArray[np.float64] | None) -> None:
        """Add the hits of a batch."""
        np.add.at(self._loci, (hits.pattern, _counted(hits, _DIFFERENT), bulges_of(hits)), 1)
        if scores is not None:
            np.add.at(self._sums, hits.pattern, np.nan_to_num(scores))

    def table(self) -> bytes:
        """A row for each guide. Its specificity is 1 / (1 + the scores of all sites but one without errors)."""
        rows = len(self._names)
        cells = [(m, b) for b in range(self._shape[1]) for m in range(self._shape[0] - b)]
        columns = [Names(self._names).column(np.arange(rows)), *self._known.values()]
        columns += [integers(self._loci.sum(axis=(1, 2))), *(integers(self._loci[:, m, b]) for m, b in cells)]
        names = ["pattern", *self._known, "loci", *(f"m{m}b{b}" for m, b in cells)]
        if self._scored:
            others = np.maximum(self._sums - (self._loci[:, 0, 0] > 0), 0)
            columns += [fixed(others, 4), fixed(1 / (1 + others), 4)]
            names += ["off_target_score", "specificity"]
        return "\t".join(names).encode() + b"\n" + format_rows(columns, rows)
