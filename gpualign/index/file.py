"""The index file, `.gpi`: a small JSON header, then arrays that are mapped, not read.

Layout: magic (8 bytes), format version, header length, header CRC-32 (three little-endian uint32), the header, then
each array at a multiple of 64 bytes. The header names contigs, parameters, arrays and the CRC-32 of the packed
reference. A file is untrusted: sizes, order and every subscript are checked before use.
"""

from __future__ import annotations

import json
import os
import re
import struct
import zlib
from typing import Any

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, UsageError
from gpualign.index.minimizers import IndexParams, MinimizerIndex
from gpualign.index.reference import Reference
from gpualign.io.files import is_special, open_output

MAGIC = b"gpualign"
VERSION = 1
_PREFIX = struct.Struct("<8sIII")
_ALIGNMENT = 64
#: names and letters reach the output as they are, so none may hold a tab or a line end
_NAME = re.compile(r"[!-~\x80-\xff]+")
_RUN_LETTERS = frozenset(b"NRYSWKMBDHV")
_ARRAYS = {
    "contig_offsets": "<i8",
    "words": "<u8",
    "run_starts": "<u4",
    "run_ends": "<u4",
    "run_letters": "|u1",
    "offsets": "<u4",
    "entries": "<u8",
}


def is_index(path: str) -> bool:
    """Whether a file begins like an index. False for what cannot be opened: the reader will say why; and for pipes,
    which would not give what was read of them again."""
    if path == "-" or is_special(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def save_index(index: MinimizerIndex, path: str) -> None:
    """Write an index; the file appears whole or not at all.

    Raises:
        GpualignError: it cannot be written.
    """
    arrays = _arrays_of(index)
    table: dict[str, tuple[int, int]] = {}
    at = 0
    for name, array in arrays.items():
        table[name] = (at, len(array))
        at += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    header = json.dumps(
        {
            "names": index.reference.names,
            "k": index.params.k,
            "w": index.params.w,
            "bucket_bits": index.bucket_bits,
            "reference_crc32": _reference_checksum(arrays),
            "arrays": table,
        }
    ).encode()
    with open_output(path) as out:
        out.write(_PREFIX.pack(MAGIC, VERSION, len(header), zlib.crc32(header)) + header)
        out.write(bytes(-out.bytes_written % _ALIGNMENT))
        for array in arrays.values():
            out.write(memoryview(array).cast("B"))  # type: ignore[arg-type]
            out.write(bytes(-array.nbytes % _ALIGNMENT))


def load_index(path: str, threads: int = 1) -> MinimizerIndex:
    """Map an index file and check it, on several threads.

    Raises:
        InputError: not an index, written in another format version, damaged or cut short.
    """
    try:
        data = np.memmap(path, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as an index: {error}", path) from error
    header, start = _read_header(data, path)
    try:
        arrays = {name: _array(data, start, header["arrays"][name], kind) for name, kind in _ARRAYS.items()}
        names, k, w, bits = header["names"], header["k"], header["w"], header["bucket_bits"]
        if not (isinstance(names, list) and all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)):
            raise ValueError("contig names")
        if not all(isinstance(value, int) for value in (k, w, bits)):
            raise ValueError("parameters")
        reference = Reference(names, *(arrays[name] for name in list(_ARRAYS)[:5]))
        if len(names) != len(reference.contig_offsets) - 1 or len(set(names)) != len(names):
            raise ValueError("contig names")
        if not set(reference.run_letters.tolist()) <= _RUN_LETTERS:
            raise ValueError("a letter that is no nucleotide code")
        if header["reference_crc32"] != _reference_checksum(arrays):
            raise ValueError("checksum of the reference")
        problem = _native.check_index(reference.native, arrays["offsets"], arrays["entries"], k, bits, threads)
        if problem:
            raise ValueError(problem)
        params = IndexParams(k, w)
    except (KeyError, TypeError, ValueError, OverflowError, UsageError) as error:
        raise InputError(f"the index is damaged: {error} (build it again with gpualign index)", path) from error
    return MinimizerIndex(reference, params, arrays["offsets"], arrays["entries"], bits, os.path.abspath(path))


def _arrays_of(index: MinimizerIndex) -> dict[str, NDArray[Any]]:
    owners = {name: index if name in ("offsets", "entries") else index.reference for name in _ARRAYS}
    return {name: np.ascontiguousarray(getattr(owner, name), _ARRAYS[name]) for name, owner in owners.items()}


def _reference_checksum(arrays: dict[str, NDArray[Any]]) -> int:
    checksum = 0
    for name in list(_ARRAYS)[:5]:
        checksum = isal_zlib.crc32(arrays[name].data, checksum)  # several times as fast as zlib's
    return checksum


def _read_header(data: NDArray[np.uint8], path: str) -> tuple[dict[str, Any], int]:
    prefix = data[: _PREFIX.size].tobytes()
    if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
        raise InputError("not a gpualign index", path)
    _, version, length, checksum = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise InputError(
            f"the index has format version {version}, this gpualign reads {VERSION} (build it again)", path
        )
    text = data[_PREFIX.size : _PREFIX.size + length].tobytes()
    if len(text) != length or zlib.crc32(text) != checksum:
        raise InputError("the index is damaged: its header is cut short or altered (build it again)", path)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise InputError("the index is damaged: its header is no table (build it again)", path)
    return header, -(-(_PREFIX.size + length) // _ALIGNMENT) * _ALIGNMENT


def _array(data: NDArray[np.uint8], start: int, place: list[int], kind: str) -> NDArray[Any]:
    at, count = place
    size = np.dtype(kind).itemsize
    if at < 0 or count < 0 or at % _ALIGNMENT or start + at + count * size > len(data):
        raise ValueError("an array lies outside the file")
    return np.asarray(data[start + at : start + at + count * size]).view(kind)
