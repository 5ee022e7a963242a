"""Transcripts and their exons from GTF, GFF3 and BED, recognized by content.

GTF: rows ``exon`` with one ``transcript_id`` (GTF 2.2). GFF3: rows ``exon`` by ``Parent`` (GFF3 1.26). Where a
transcript has no exons its ``CDS`` rows stand for them, and a gene without either is one exon, as in annotations of
bacteria. BED: a transcript a line, with its blocks if there are twelve columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from gpualign.errors import InputError
from gpualign.sequences.offsets import offsets_of
from gpualign.text.files import InputFile

#: bytes that are read at a time
_READ = 1 << 22
_PARTS = frozenset((b"exon", b"CDS"))
_GENES = frozenset((b"gene", b"pseudogene", b"ncRNA_gene"))
_STRANDS = {b"+": 1, b"-": -1}
_GTF_ATTRIBUTE = re.compile(rb'(\w+)\s+"?([^";]*)"?')
_TRANSCRIPT_ID = re.compile(rb'\btranscript_id\s+"?([^";]+)')
_GFF3_ATTRIBUTE = re.compile(rb"\s*\w+=")


@dataclass(frozen=True, eq=False)
class Annotation:
    """``n`` transcripts in the order of their file, with ``m`` exons.

    Attributes:
        contigs: names, each once.
        contig: int32 (n,), number of the contig.
        strand: int8 (n,): 1, -1, and 0 where the file does not say.
        transcripts, gene_ids, gene_names: n names. A gene without a name has its id, a BED line without one its
            interval; in BED all three are the name.
        exon_offsets: int64 (n + 1,), where the exons of each transcript begin.
        exon_starts, exon_ends: int64 (m,), 0-based and half-open, in ascending order in each transcript; exons that
            overlap or touch are one.
    """

    contigs: list[str]
    contig: NDArray[np.int32]
    strand: NDArray[np.int8]
    transcripts: list[str]
    gene_ids: list[str]
    gene_names: list[str]
    exon_offsets: NDArray[np.int64]
    exon_starts: NDArray[np.int64]
    exon_ends: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.transcripts)

    @property
    def starts(self) -> NDArray[np.int64]:
        """int64 (n,), where transcripts begin, 0-based."""
        return self.exon_starts[self.exon_offsets[:-1]]

    @property
    def ends(self) -> NDArray[np.int64]:
        """int64 (n,), where they end, half-open."""
        return self.exon_ends[self.exon_offsets[1:] - 1]


def read_annotation(path: str, lines: Iterable[bytes] | None = None) -> Annotation:
    """Read a file of genes; gzip and other compression are recognized.

    Args:
        lines: its lines, if they are being read already (:func:`lines_of`).

    Raises:
        InputError: a line is malformed, or the file has no transcript.
    """
    rows: _Rows | None = None
    for number, line in enumerate(lines_of(path) if lines is None else lines, start=1):
        if line.startswith(b"##FASTA"):
            break
        if not line or line.startswith((b"#", b"track ", b"browser ")):
            continue
        try:
            fields = line.split(b"\t") if b"\t" in line else line.split()
            rows = rows or _rows_of(fields)
            rows.add(fields)
        except ValueError as error:
            raise InputError(str(error), path, number) from None
    transcripts = rows.transcripts() if rows else []
    if not transcripts:
        raise InputError("there are no transcripts (GTF and GFF3 need rows of exons or genes)", path)
    numbers: dict[bytes, int] = {}
    contig = [numbers.setdefault(each.contig, len(numbers)) for each in transcripts]
    exons = [each.exons() for each in transcripts]
    flat = np.array([exon for each in exons for exon in each], np.int64)
    names, genes, gene_names = (list(column) for column in zip(*(each.names for each in transcripts), strict=True))
    strand = np.array([each.strand for each in transcripts], np.int8)
    known = [_text(name) for name in numbers], np.array(contig, np.int32), strand, names, genes, gene_names
    return Annotation(*known, offsets_of([len(each) for each in exons]), flat[:, 0].copy(), flat[:, 1].copy())


def lines_of(path: str) -> Iterator[bytes]:
    """The lines of a file, which may be compressed, without their ends."""
    with InputFile(path) as file:
        rest = b""
        while text := file.read(_READ):
            *lines, rest = (rest + text).split(b"\n")
            yield from (line.rstrip(b"\r") for line in lines)
        yield rest.rstrip(b"\r")


def _rows_of(fields: list[bytes]) -> _Rows:
    """Rows of the format that the first line has."""
    if len(fields) >= 8 and fields[3].isdigit() and fields[4].isdigit():
        return _Gff3() if len(fields) > 8 and _GFF3_ATTRIBUTE.match(fields[8]) else _Gtf()
    if len(fields) >= 3 and fields[1].isdigit() and fields[2].isdigit():
        return _Bed()
    raise ValueError("neither GTF, GFF3 nor BED (columns are set apart by tabs)")


@dataclass
class _Transcript:
    contig: bytes
    strand: int
    names: tuple[str, ...] = ()  # its own, and the gene's ID and name
    parts: dict[bytes, list[tuple[int, int]]] = field(default_factory=dict)  # by feature

    def exons(self) -> list[tuple[int, int]]:
        """Exons, else what stands for them, in order and disjoint."""
        exons: list[tuple[int, int]] = []
        for start, end in sorted(self.parts.get(b"exon") or next(iter(self.parts.values()))):
            if exons and start <= exons[-1][1]:
                start, end = exons[-1][0], max(exons.pop()[1], end)
            exons.append((start, end))
        return exons


class _Bed:
    def __init__(self) -> None:
        self._all: list[_Transcript] = []

    def add(self, fields: list[bytes]) -> None:
        start, end = _interval(fields, 1, 0)
        exons = [(start, end)]
        if len(fields) >= 12:
            try:
                count, sizes, begins = ([int(number) for number in text.split(b",") if number] for text in fields[9:12])
            except ValueError:
                raise ValueError("columns 10 to 12 should be whole numbers, separated by commas") from None
            exons = [(start + begin, start + begin + size) for begin, size in zip(begins, sizes, strict=False)]
            if not [len(sizes)] == [len(begins)] == count:
                raise ValueError(f"{_text(fields[9])} blocks, but {len(sizes)} sizes and {len(begins)} starts")
            if not exons or any(not start <= begin < after <= end for begin, after in exons):
                raise ValueError("a block is empty or does not lie in the line's interval")
        name = _text(fields[3]) if len(fields) > 3 else f"{_text(fields[0])}:{start + 1}-{end}"
        strand = _STRANDS.get(fields[5], 0) if len(fields) > 5 else 0
        self._all.append(_Transcript(fields[0], strand, (name, name, name), {b"exon": exons}))

    def transcripts(self) -> list[_Transcript]:
        return self._all


class _Gff3:
    """Rows by their ID, joined to their parents at the end, as a child may come before its parent."""

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[dict[bytes, bytes], bytes]] = {}  # attributes and parent
        # by contig and strand too: some annotations have one ID in both pseudoautosomal regions
        self._parts: dict[tuple[bytes, bytes, bytes], _Transcript] = {}
        self._genes: dict[bytes, _Transcript] = {}

    def add(self, fields: list[bytes]) -> None:
        interval, kind = _interval(fields, 3, 1), fields[2]
        own, parents = self._named(fields[8] if len(fields) > 8 else b"", kind)
        strand = _STRANDS.get(fields[6], 0)
        if kind in _GENES and own.strip(b"\0"):
            self._genes.setdefault(own, _Transcript(fields[0], strand, parts={kind: [interval]}))
        elif kind in _PARTS:
            if not all(parents):
                raise ValueError(f"no transcript is named for the {_text(kind)} (transcript_id in GTF, Parent in GFF3)")
            for parent in parents:
                key = fields[0], fields[6], parent
                if (transcript := self._parts.get(key)) is None:
                    transcript = self._parts[key] = _Transcript(fields[0], strand)
                transcript.parts.setdefault(kind, []).append(interval)

    def _named(self, text: bytes, kind: bytes) -> tuple[bytes, list[bytes]]:
        """ID and parents of a row, which is kept."""
        attributes = {key.strip(): value for key, _, value in (pair.partition(b"=") for pair in text.split(b";"))}
        own, parents = attributes.get(b"ID", b""), attributes.get(b"Parent", b"").split(b",")
        if kind not in _PARTS or not any(parents):
            self._rows[own] = attributes, parents[0]
        return own, parents if any(parents) else [own]

    def transcripts(self) -> list[_Transcript]:
        with_parts = {self._name(transcript, own) for (_, _, own), transcript in self._parts.items()}
        genes = {own: gene for own, gene in self._genes.items() if own not in with_parts}
        for own, gene in genes.items():
            self._name(gene, own)
        return [*self._parts.values(), *genes.values()]

    def _name(self, transcript: _Transcript, own: bytes) -> bytes:
        """Name a transcript and its gene, the highest of its parents; returns the gene's ID."""
        top, seen = own, {own}
        while (above := self._rows.get(top, ({}, b""))[1]) and above not in seen:
            seen.add(above)
            top = above
        row, gene = self._rows.get(own, ({}, b""))[0], self._rows.get(top, ({}, b""))[0]
        gene_id = gene.get(b"gene_id") or top
        names = filter(None, (gene.get(key) for key in (b"gene_name", b"Name", b"gene", b"locus_tag")))
        shown = (row.get(b"transcript_id") or own, gene_id, next(names, gene_id))
        transcript.names = tuple(unquote(_text(name.rstrip(b"\0")), "latin-1") for name in shown)
        return top


class _Gtf(_Gff3):
    """GTF as GFF3: a transcript's parent is its gene, which may have the same name and is kept under another."""

    def _named(self, text: bytes, kind: bytes) -> tuple[bytes, list[bytes]]:
        if (found := _TRANSCRIPT_ID.search(text)) and found[1] in self._rows and kind in _PARTS:
            return b"", [found[1]]
        attributes: dict[bytes, bytes] = dict(_GTF_ATTRIBUTE.findall(text))
        transcript = found[1] if found else attributes.get(b"gene_id", b"")
        gene = attributes.setdefault(b"gene_id", transcript) + b"\0"
        self._rows.setdefault(gene, (attributes, b""))
        self._rows.setdefault(transcript, (attributes, gene))
        return gene, [transcript]


_Rows = _Bed | _Gff3


def _interval(fields: list[bytes], at: int, first: int) -> tuple[int, int]:
    """0-based and half-open, from two columns with positions that are counted from ``first``."""
    if len(fields) < (needed := 8 if first else 3):
        raise ValueError(f"{len(fields)} columns where there should be at least {needed}")
    start, end = fields[at : at + 2]
    if not (start.isdigit() and end.isdigit()):
        raise ValueError(f"'{_text(start)}' and '{_text(end)}' should be a start and an end")
    if not 0 <= int(start) - first < int(end):
        raise ValueError(f"the interval from {int(start)} to {int(end)} has no bases")
    return int(start) - first, int(end)


def _text(name: bytes) -> str:
    return name.decode("latin-1")
