"""Sites that variants make: targets with the alleles of a VCF, searched besides the targets as they are.

Substitutions are IUPAC codes, so that a site may have any of their combinations. Each other allele makes a sequence of
its own, with the substitutions around it. Genotypes and phases are not looked at.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpualign.align.patterns.cpu import Patterns, SearchHits, TargetText, search_on_cpu
from gpualign.errors import InputError
from gpualign.reads.in_memory import packed_pieces
from gpualign.search.targets import TargetBatch
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.offsets import offsets_of
from gpualign.sequences.strands import COMPLEMENTS

#: longest alleles; longer ones are structural variants
LONGEST_ALLELE = 1000
#: codes of all sets of bases (bits 0 to 3: A, C, G, T), and the set of each symbol
_CODES = np.frombuffer(b".ACMGRSVTWYHKDBN", np.uint8)
_SETS = np.zeros(256, np.uint8)
_SETS[_CODES[1:]] = np.arange(1, 16)
_KNOWN = np.isin(np.arange(256), list(b"ACGT"))
#: operations of CIGARs as BAM numbers them
_INSERTION, _DELETION, _EQUAL = 1, 2, 7


@dataclass(frozen=True)
class _Allele:
    """An allele that is not the substitution of a base: of the bases from ``at`` on (0-based), ``ref`` became ``alt``,
    without the bases that both share; ``label`` is what is written.
    """

    at: int
    ref: bytes
    alt: bytes
    label: str


@dataclass(frozen=True, eq=False)
class _OnContig:
    """Variants of a contig. Attributes: ``at``, ``bases``, ``refs``: of positions with substitutions, 0-based and in
    order, the set of their other bases, and REF; ``alleles`` in order of ``allele_at``.
    """

    at: NDArray[np.int64]
    bases: NDArray[np.uint8]
    refs: NDArray[np.uint8]
    alleles: list[_Allele]
    allele_at: NDArray[np.int64]


class Variants:
    """The variants of a VCF or BCF file.

    Attributes:
        left_out: number of alleles that are symbolic or longer than ``LONGEST_ALLELE``.
        longest: bases of the longest REF.

    Raises:
        InputError: the file cannot be read.
    """

    sent_once: ClassVar[bool] = True  # to a cluster's workers

    def __init__(self, path: str) -> None:
        self._path, self.left_out, self.longest = path, 0, 1
        columns: dict[bytes, tuple[array[int], bytearray, bytearray, list[_Allele]]] = {}
        for contig, position, ref, alt in self._rows():
            if not (0 < len(ref) <= LONGEST_ALLELE and len(alt) <= LONGEST_ALLELE and set(ref + alt) <= set("ACGT")):
                self.left_out += 1
                continue
            at, bases, refs, alleles = columns.setdefault(
                contig.encode("latin-1"), (array("q"), bytearray(), bytearray(), [])
            )
            before = _shared(ref, alt)
            behind = _shared(ref[before:][::-1], alt[before:][::-1])
            old, new = (text[before : len(text) - behind].encode() for text in (ref, alt))
            if len(old) == len(new) == 1:
                at.append(position + before)
                bases += new
                refs += old
            elif old or new:
                alleles.append(_Allele(position + before, old, new, f"{position + 1}{ref}>{alt}"))
                self.longest = max(self.longest, len(old))
        self._contigs = {name: _in_order(*rows) for name, rows in columns.items()}

    def _rows(self) -> Iterator[tuple[str, int, str, str]]:
        """Contig, 0-based position, REF and each ALT."""
        import pysam

        loud, last = pysam.set_verbosity(0), "the header"
        try:
            with pysam.VariantFile(self._path) as file:
                for record in file:
                    last = f"{record.contig}:{record.pos}"
                    for alt in record.alts or ():
                        yield record.contig, record.pos - 1, (record.ref or "").upper(), alt.upper()
        except (ValueError, OSError) as error:
            reason = (
                "it is neither VCF nor BCF" if isinstance(error, ValueError) else f"no record can be read after {last}"
            )
            raise InputError(reason, self._path) from None
        finally:
            pysam.set_verbosity(loud)

    def on(self, names: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
        """Whether any of these contigs has variants."""
        text = names.tobytes()
        return any(text[begin:end] in self._contigs for begin, end in itertools.pairwise(offsets.tolist()))

    def with_sites(self, patterns: Patterns, targets: TargetBatch, hits: SearchHits) -> SearchHits:
        """The hits that count, and those that only variants make or that have fewer errors with them, with their text.

        Args:
            hits: in ``targets`` as they are, and around what counts of them.

        Raises:
            InputError: a base of the targets is not REF.
        """
        windows = _Windows(patterns.context)
        text, offsets = targets.sequence(), targets.text.offsets
        for number, target in enumerate(targets.target.tolist()):
            name = targets.names[targets.name_offsets[target] : targets.name_offsets[target + 1]].tobytes()
            if (variants := self._contigs.get(name)) is not None:
                symbols, first = text[offsets[number] : offsets[number + 1]], int(targets.origin[number])
                if wrong := windows.add(number, symbols, first, variants):
                    raise InputError(f"{name.decode('latin-1')}:{wrong} (is it of another genome?)", self._path)
        begin, end = targets.text.begin[hits.target], targets.text.end[hits.target]
        counted = hits.take((begin <= hits.start) & (hits.start < end))
        if not windows.sequence:
            return counted
        found = windows.sites(patterns, targets.text)
        joined = SearchHits.join([counted, found.take(_better(hits, found))])
        return joined.take(np.lexsort((joined.minus, joined.pattern, joined.end, joined.start, joined.target)))


def _shared(first: str, second: str) -> int:
    """Symbols at the beginning of both."""
    shared = zip(first, second, strict=False)
    return next((at for at, (a, b) in enumerate(shared) if a != b), min(len(first), len(second)))


def _in_order(at: array[int], bases: bytearray, refs: bytearray, alleles: list[_Allele]) -> _OnContig:
    positions, firsts, number = np.unique(np.array(at, np.int64), return_index=True, return_inverse=True)
    sets = np.zeros(len(positions), np.uint8)
    np.bitwise_or.at(sets, number.reshape(-1), _SETS[np.frombuffer(bases, np.uint8)])
    alleles.sort(key=lambda allele: allele.at)
    starts = np.array([allele.at for allele in alleles], np.int64)
    return _OnContig(positions, sets, np.frombuffer(refs, np.uint8)[firsts], alleles, starts)


def _better(hits: SearchHits, found: SearchHits) -> NDArray[np.bool_]:
    """Which of the sites found have fewer errors than all hits of the same pattern and strand that begin or end where
    they do.
    """
    better = np.ones(len(found), bool)
    for edge in ("start", "end"):
        parts = [
            np.concatenate([getattr(part, name) for part in (hits, found)]).astype(np.int64)
            for name in ("target", "pattern", "minus", edge)
        ]
        key = parts[0]
        for part in parts[1:]:
            key = np.unique(key, return_inverse=True)[1].reshape(-1) * (int(part.max(initial=0)) + 1) + part
        keys, number = np.unique(key, return_inverse=True)
        fewest = np.full(len(keys), 1 << 30)
        np.minimum.at(fewest, number[: len(hits)], hits.distance)
        better &= found.distance < fewest[number[len(hits) :]]
    return better


def _other_base(at: int, ref: bytes, there: bytes) -> str:
    return f"{at + 1}: REF is {ref.decode()}, but the target has {there.decode()} there"


class _Windows:
    """Sequences with other alleles, and as many bases of the target on either side as decide what is a hit.

    Args:
        context: this number of bases.
    """

    def __init__(self, context: int) -> None:
        self._context = context
        self.sequence: list[int] = []  # the number in the targets' text of the sequence of each
        self._codes: list[NDArray[np.uint8]] = []
        self._plain: list[NDArray[np.uint8]] = []  # with REF in place of codes
        self._at: list[NDArray[np.int64]] = []  # the position in the sequence of each base
        self._open: list[int] = []
        self._alleles: list[tuple[int, int, str]] = []  # where it begins and ends; its label, empty for codes
        self._contig_at: dict[int, int] = {}  # where each sequence begins in its contig

    def add(self, number: int, symbols: NDArray[np.uint8], first: int, variants: _OnContig) -> str | None:
        """Add windows of all variants in a sequence.

        Args:
            first: position in the contig where the sequence begins.

        Returns:
            What is wrong with a variant.
        """
        size, context = len(symbols), self._context
        self._contig_at[number] = first
        known = _KNOWN[symbols]
        some = slice(*np.searchsorted(variants.at, [first, first + size]).tolist())
        at, refs = variants.at[some] - first, variants.refs[some]
        if (wrong := np.flatnonzero(known[at] & (symbols[at] != refs))).size:
            return _other_base(first + int(at[wrong[0]]), bytes(refs[wrong[:1]]), bytes(symbols[at[wrong[:1]]]))
        codes = np.where(known, symbols, _CODES[0])  # elsewhere nothing matches
        codes[at] = _CODES[_SETS[refs] | variants.bases[some]]
        begins, ends = np.maximum(at - context, 0), np.minimum(at + context + 1, size)
        heads = np.flatnonzero(np.append(True, begins[1:] > ends[:-1])[: len(at)])
        for begin, end in zip(begins[heads].tolist(), ends[np.append(heads, len(at))[1:] - 1].tolist(), strict=True):
            self._append(number, codes, symbols, (begin, begin), b"", (begin, end), "")
        for allele in variants.alleles[slice(*np.searchsorted(variants.allele_at, [first, first + size + 1]).tolist())]:
            begin = allele.at - first
            end = begin + len(allele.ref)
            there = symbols[begin:end].tobytes()
            if end <= size and there != allele.ref and known[begin:end].all():
                return _other_base(allele.at, allele.ref, there)
            if end <= size:
                around = max(0, begin - context), min(size, end + context)
                self._append(number, codes, symbols, (begin, end), allele.alt, around, allele.label)
        return None

    def _append(
        self,
        number: int,
        codes: NDArray[np.uint8],
        symbols: NDArray[np.uint8],
        removed: tuple[int, int],
        alt: bytes,
        around: tuple[int, int],
        label: str,
    ) -> None:
        """A window ``around`` a change: an interval of the sequence, of which a part is ``removed``, for ``alt``."""
        (begin, end), (first, after), added = removed, around, np.frombuffer(alt, np.uint8)
        # an added base lies where the one that it replaces does; one more, where the base before it does
        places = np.minimum(np.arange(len(added)), max(0, end - begin - 1)) + begin - (begin == end and begin > 0)
        self.sequence.append(number)
        self._codes += [codes[first:begin], added, codes[end:after]]
        self._plain += [symbols[first:begin], added, symbols[end:after]]
        self._at += [np.arange(first, begin), places, np.arange(end, after)]
        self._open.append((first > 0) + 2 * (after < len(symbols)))
        self._alleles.append((begin - first, begin - first + len(added), label))

    def sites(self, patterns: Patterns, text: TargetText) -> SearchHits:
        """Hits with another allele, at their positions in the text, with their bases and the alleles."""
        codes, plain, at = np.concatenate(self._codes), np.concatenate(self._plain), np.concatenate(self._at)
        offsets = offsets_of([sum(map(len, self._codes[i : i + 3])) for i in range(0, len(self._codes), 3)])
        sequence, opened = np.array(self.sequence), np.array(self._open, np.uint8)
        packed, sizes = packed_pieces([""], offsets[[0, -1]], (codes,)), np.diff(offsets)
        windows = TargetText(packed, offsets, np.zeros_like(sizes), sizes + 1, opened | text.open[sequence])
        hits = search_on_cpu(patterns.in_codes, windows)
        hits = hits.take(hits.start < hits.end)
        window, last = hits.target, offsets[hits.target] + hits.end - 1
        start, end = at[offsets[window] + hits.start], at[last] + 1
        begins, ends, labels = (np.array(column) for column in zip(*self._alleles, strict=True))
        of_allele = (labels[window] != "") & (hits.start < ends[window]) & (hits.end > begins[window])
        matched, matched_offsets, changes = _resolved(patterns, hits, offsets, codes, plain)
        of_codes = np.bincount(changes[0], minlength=len(hits)) > 0
        names: list[list[str]] = [[label] if label else [] for label in labels[window].tolist()]
        for hit, place, ref, base in zip(*(column.tolist() for column in changes), strict=True):
            position = int(at[place]) + self._contig_at[int(sequence[window[hit]])] + 1
            names[hit].append(f"{position}{chr(ref)}>{chr(base)}")
        counted = (start >= text.begin[sequence[window]]) & (start < text.end[sequence[window]])
        written, written_offsets = join_bytes([",".join(each).encode() for each in names])
        sites = replace(
            hits,
            target=sequence[window].astype(np.int32),
            start=start,
            end=end,
            matched=matched,
            matched_offsets=matched_offsets,
            variants=written,
            variants_offsets=written_offsets,
        )
        return sites.take(counted & np.where(labels[window] != "", of_allele, of_codes))


def _resolved(
    patterns: Patterns, hits: SearchHits, offsets: NDArray[np.int64], codes: NDArray[np.uint8], plain: NDArray[np.uint8]
) -> tuple[NDArray[np.uint8], NDArray[np.int64], tuple[NDArray[Any], ...]]:
    """Hits with one base for each code: REF unless only another one matches.

    Returns:
        The text of the hits as the patterns read it; where each begins; and of all bases that are not REF the hit, the
        position in the windows, REF and the base, both on the forward strand, in order of hits and positions.
    """
    places, minus, text_offsets = hits.positions(offsets)
    sizes = hits.operations >> 4
    kinds = np.repeat(hits.operations & 15, sizes)
    consumes = kinds != _DELETION
    before = np.cumsum(consumes) - consumes  # symbols of patterns before each operation's base
    first = np.append(before, 0)[offsets_of(sizes)[hits.operation_offsets[:-1]]]
    shift = patterns.offsets[hits.pattern] + hits.pattern_start - first
    of_hit = np.repeat(np.arange(len(hits)), np.diff(offsets_of(sizes)[hits.operation_offsets]))
    symbols = patterns.symbols[np.minimum(before + shift[of_hit], len(patterns.symbols) - 1)]
    in_text = kinds != _INSERTION
    wanted, of_hit = np.where(kinds == _EQUAL, _SETS[symbols], 0)[in_text], of_hit[in_text]
    wanted = np.where(minus, _SETS[COMPLEMENTS[_CODES[wanted]]], wanted)
    there, ref = _SETS[codes[places]], _SETS[plain[places]]
    common = wanted & there
    other = (there & (there - 1) > 0) & (common > 0) & (wanted & ref == 0)
    bases = np.where(other, _CODES[common & (~common + np.uint8(1))], plain[places])
    order = np.flatnonzero(other)
    order = order[np.lexsort((places[order], of_hit[order]))]
    changes = of_hit[order], places[order], plain[places[order]], bases[order]
    return np.where(minus, COMPLEMENTS[bases], bases), text_offsets, changes
