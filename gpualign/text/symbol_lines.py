"""Finds the line of a record's name or of an unknown symbol, for the error message."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from gpualign.errors import InputError, RecordError
from gpualign.text.chunks import read_chunks
from gpualign.text.files import InputFile
from gpualign.text.text import Streamed

_CHUNK_BYTES = 1 << 20


@contextlib.contextmanager
def with_symbol_lines() -> Iterator[None]:
    """Add the line to errors about records and their symbols, if the file can be read again."""
    try:
        yield
    except RecordError as error:
        if error.path is None or not os.path.isfile(error.path):
            raise
        line = None
        with contextlib.suppress(InputError):  # a database
            line = _line_of(error.path, error.record, error.symbol)
        raise InputError(error.what, error.path, line) from None


def _line_of(path: str, record: str, symbol: str | None) -> int | None:
    """Of the symbol in the record, or without one of the record's name."""
    name = record.encode("latin-1")
    wanted = {case.encode("latin-1") for case in (symbol.upper(), symbol.lower())} if symbol is not None else set()
    with InputFile(path) as file:
        for chunk in read_chunks(Streamed(file), _CHUNK_BYTES):
            inside = False
            for i, line in enumerate(bytes(chunk.text()).split(b"\n")):
                if line.startswith(b">") if chunk.kind == "fasta" else i % 4 == 0:
                    inside = line[1:].split(maxsplit=1)[:1] == [name]
                    if inside and symbol is None:
                        return chunk.first_line() + i
                elif inside and (chunk.kind == "fasta" or i % 4 == 1) and any(one in line for one in wanted):
                    return chunk.first_line() + i
    return None
