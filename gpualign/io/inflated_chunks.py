"""Chunks of a bgzf file whose blocks other threads inflate."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpualign import _native
from gpualign.io.blocks import TextOfPieces
from gpualign.io.fastx import Chunk, is_wrapped, read_chunks
from gpualign.io.fastx_format import FastxFormat, sniff
from gpualign.io.files import InputFile
from gpualign.io.text import HeldText

#: of a piece's rest: less is copied to where it keeps no more alive
_KEPT_WHOLE = 1 << 16


def inflated_chunks(file: InputFile, chunk_bytes: int) -> Iterator[Chunk]:
    """As :func:`gpualign.io.fastx.read_chunks`, of pieces that are not joined yet: up to ``chunk_bytes``, unless
    records are longer, so that both files of pairs are cut at the same records where they are equally long.

    Raises:
        InputError: neither FASTA nor FASTQ, or damaged compression.
    """
    kind: FastxFormat | None = None
    held: list[NDArray[np.uint8]] = []
    size, newlines, line = 0, 0, 1
    pieces = file.pieces()
    for text, count in pieces:
        held.append(text)
        size, newlines = size + len(text), newlines + count
        if kind is None:
            head = np.concatenate(held)
            kind = sniff(head.tobytes(), file.path)
            if kind == "fastq" and is_wrapped(head):
                rest = (piece for piece, _ in pieces)
                yield from read_chunks(TextOfPieces(file.path, itertools.chain(held, rest)), chunk_bytes)
                return
        while kind and (over := size - chunk_bytes) >= 0 and (cut := _cut_of(text, len(text) - over, kind == "fastq")):
            yield Chunk(HeldText((*held[:-1], text[:cut])), kind, file.path, line)
            behind = newlines - count + int(_native.count_newlines(text[:cut]))
            line, newlines, count = line + behind, newlines - behind, newlines - behind
            text = text[cut:] if len(text) - cut > _KEPT_WHOLE else text[cut:].copy()
            held, size = [text], len(text)
    if kind and size:
        yield Chunk(HeldText(tuple(held)), kind, file.path, line)


def _cut_of(text: NDArray[np.uint8], wanted: int, fastq: bool) -> int:
    """Behind the last whole record of the first ``wanted`` bytes, or of all where those hold none; 0: nowhere."""
    cut = _native.last_record_border(text[:wanted], fastq) if wanted > 0 else 0
    return int(cut or _native.last_record_border(text, fastq))
