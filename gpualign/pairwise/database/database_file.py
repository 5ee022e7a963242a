"""The database file, `.gpdb`: sequences parsed once, for many searches.

Layout: magic (8 bytes), format version, header length, header CRC-32 (three little-endian uint32), a JSON header, then
pieces one after the other, each with a few million residues: name offsets and residue offsets (int64, n + 1), names and
residues (upper-case ASCII). The header lists each piece's sequences, bytes of names, residues and CRC-32. A file is
untrusted: sizes, checksums and offsets are checked as it is read.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from gpualign.errors import InputError, UsageError
from gpualign.sequences.batch import SequenceBatch
from gpualign.text.output_file import open_output
from gpualign.text.paths import is_packed, temporary_folder

MAGIC = b"gpaligdb"
VERSION = 1


class _DamagedDatabase(ValueError):
    """What is wrong with a file, in our words; Python has its own for a header with other keys or types."""


_PREFIX = struct.Struct("<8sIII")
_COPIED_AT_ONCE = 1 << 22
_AGAIN = "make it again with gpualign makedb"


def is_database(path: str) -> bool:
    """Whether a regular file begins as a database does."""
    try:
        if path == "-" or not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def write_database(batches: Iterable[SequenceBatch], path: str, tmp_dir: str | None = None) -> tuple[int, int]:
    """Write all sequences; the file appears whole or not at all. Returns how many there are, and their residues.

    Args:
        tmp_dir: folder for temporary files; None: :func:`temporary_folder`.

    Raises:
        UsageError: the name asks for compression.
        GpualignError: it cannot be written.
    """
    if is_packed(path) or path == "-":
        raise UsageError("a database is a plain file: name one that ends in .gpdb")
    pieces: list[list[int]] = []
    # the header lists the pieces, so it is known last and stands first
    with tempfile.TemporaryFile(dir=temporary_folder(path, tmp_dir)) as held:
        for batch in batches:
            data = b"".join(array.tobytes() for array in _arrays_of(batch))
            pieces.append([len(batch), len(batch.names), len(batch.bases), isal_zlib.crc32(data)])
            held.write(data)
        sequences, residues = (sum(piece[field] for piece in pieces) for field in (0, 2))
        header = json.dumps({"sequences": sequences, "residues": residues, "pieces": pieces}).encode()
        with open_output(path) as out:
            out.write(_PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header)) + header)
            held.seek(0)
            while data := held.read(_COPIED_AT_ONCE):
                out.write(data)
    return sequences, residues


def _arrays_of(batch: SequenceBatch) -> tuple[NDArray[Any], ...]:
    offsets = (np.ascontiguousarray(each, "<i8") for each in (batch.name_offsets, batch.base_offsets))
    return *offsets, batch.names, batch.bases


def read_database(path: str) -> Iterator[SequenceBatch]:
    """The sequences, piece by piece.

    Raises:
        InputError: not a database, one of another version, or not byte for byte what was written.
    """
    try:
        with open(path, "rb") as file:
            pieces = _read_header(file, path)
            for count, names, residues, checksum in pieces:
                yield _read_piece(file, count, names, residues, checksum)
    except OSError as error:
        raise InputError(f"cannot be read as a database: {error.strerror}", path) from error
    except _DamagedDatabase as error:
        raise InputError(f"the database is damaged: {error} ({_AGAIN})", path) from error
    except (TypeError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise InputError(f"the database is damaged: it has no header of a database ({_AGAIN})", path) from error


def _read_header(file: BinaryIO, path: str) -> list[list[int]]:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
        raise InputError("not a gpualign database", path)
    _, version, length, checksum = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise InputError(f"the database has format version {version}, this gpualign reads {VERSION} ({_AGAIN})", path)
    size = os.fstat(file.fileno()).st_size
    text = file.read(min(length, size))  # no more memory than the file accounts for
    if len(text) != length or zlib.crc32(text) != checksum:
        raise _DamagedDatabase("its header is cut short or altered")
    pieces = json.loads(text)["pieces"]
    for piece in pieces:
        if len(piece) != 4 or not all(isinstance(number, int) and number >= 0 for number in piece):
            raise _DamagedDatabase("the list of pieces")
    stored = size - _PREFIX.size - length
    wanted = sum(16 * (count + 1) + names + residues for count, names, residues, _ in pieces)
    if stored != wanted:
        raise _DamagedDatabase(f"{stored:,} bytes after the header instead of {wanted:,}")
    return list(pieces)


def _read_piece(file: BinaryIO, count: int, names: int, residues: int, checksum: int) -> SequenceBatch:
    offsets = 8 * (count + 1)
    data = np.frombuffer(file.read(2 * offsets + names + residues), np.uint8)
    if len(data) != 2 * offsets + names + residues:
        raise _DamagedDatabase("it became shorter while it was read")
    if isal_zlib.crc32(data) != checksum:
        raise _DamagedDatabase(f"checksum of the bytes before {file.tell():,}")
    name_offsets, base_offsets = (data[at : at + offsets].view("<i8") for at in (0, offsets))
    for each, total in ((name_offsets, names), (base_offsets, residues)):
        if each[0] != 0 or each[-1] != total or (np.diff(each) < 0).any():
            raise _DamagedDatabase("offsets that do not ascend")
    text = data[2 * offsets :]
    return SequenceBatch(text[:names], name_offsets, text[names:], base_offsets)
