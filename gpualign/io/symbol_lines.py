"""Finds the line of an unknown symbol, for the error message."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from gpualign.errors import InputError, UnknownSymbolError
from gpualign.io.chunks import read_chunks
from gpualign.io.files import InputFile
from gpualign.io.text import Streamed

_CHUNK_BYTES = 1 << 20


@contextlib.contextmanager
def with_symbol_lines() -> Iterator[None]:
    """Add the line to errors about symbols, if the file can be read again."""
    try:
        yield
    except UnknownSymbolError as error:
        if error.path is None or not os.path.isfile(error.path):
            raise
        line = None
        with contextlib.suppress(InputError):  # a database
            line = _line_of(error.path, error.record, error.symbol)
        raise InputError(error.what, error.path, line) from None


def _line_of(path: str, record: str, symbol: str) -> int | None:
    name, wanted = record.encode("latin-1"), {symbol.upper().encode("latin-1"), symbol.lower().encode("latin-1")}
    with InputFile(path) as file:
        for chunk in read_chunks(Streamed(file), _CHUNK_BYTES):
            inside = False
            for i, line in enumerate(bytes(chunk.text()).split(b"\n")):
                if line.startswith(b">") if chunk.kind == "fasta" else i % 4 == 0:
                    inside = line[1:].split(maxsplit=1)[:1] == [name]
                elif inside and (chunk.kind == "fasta" or i % 4 == 1) and any(one in line for one in wanted):
                    return chunk.first_line() + i
    return None
