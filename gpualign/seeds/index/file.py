"""The index file, `.gpi`: a small JSON header, then arrays.

Layout: magic (8 bytes), format version, header length, header CRC-32 (three little-endian uint32), the header, then
each array at a multiple of 64 bytes, zeros between them. The header names contigs, parameters, what the index was built
from (source.py), arrays, how many bytes are after it, and the CRC-32 of each piece of them. A file is untrusted: sizes,
order and every subscript are checked before use. Unless it is to be shared it is read, not mapped: what happens to a
file in use cannot change what has been checked, nor end the process. Of a shared one the large arrays are mapped, and
whether the file was changed is looked at afterwards (shared.py).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from gpualign import _native
from gpualign.errors import InputError, UsageError
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex
from gpualign.seeds.index.shared import SharedFile
from gpualign.seeds.index.source import is_source
from gpualign.sequences.reference import Reference
from gpualign.streaming.ordered import run_ordered
from gpualign.text.output_file import open_output
from gpualign.text.paths import is_packed, is_special
from gpualign.text.streams import read_at

MAGIC = b"gpualign"
#: of the format; an index of bisulfite reads has another one, as programs that know no such seeds must refuse it
VERSION, METH_VERSION = 3, 4


class _Damaged(ValueError):
    """What is wrong with a file, in our words; Python has its own for a header with other keys or types."""


_PREFIX = struct.Struct("<8sIII")
_ALIGNMENT = 64
#: bytes that have a checksum of their own: what a thread reads at a time, so that it is summed while it is in the cache
_PIECE = 1 << 23
#: threads that read, at most; a few are as fast as memory
_MAX_READERS = 8
#: names and bases reach the output as they are, so none may hold a tab or a line end
_NAME = re.compile(r"[!-~\x80-\xff]+")
_AMBIGUITY_CODES = frozenset(b"NRYSWKMBDHV")
_ARRAYS = {
    "contig_offsets": "<i8",
    "words": "<u8",
    "run_starts": "<u4",
    "run_ends": "<u4",
    "run_letters": "|u1",
    "offsets": "<u4",
    "entries": "<u8",
}


#: the first arrays, which are the reference
_REFERENCE = tuple(_ARRAYS)[:5]
#: arrays that stay in a shared file
_MAPPED = ("words", "entries")


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


def check_index_path(path: str | None) -> None:
    """Refuse names of an index that belong to another format.

    Raises:
        UsageError: the name says that it is compressed.
    """
    if is_packed(path):
        raise UsageError(f"{path}: an index is not compressed (leave the extension out)")


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
    parts = [part for array in arrays.values() for part in (_bytes_of(array), bytes(-array.nbytes % _ALIGNMENT))]
    header = json.dumps(
        {
            "names": index.reference.names,
            "k": index.params.k,
            "w": index.params.w,
            "meth": index.params.meth,
            "bucket_bits": index.bucket_bits,
            "source": None if index.source is None else index.source.recorded(),
            "arrays": table,
            "bytes": at,
            "checksums": _checksums(parts),
        }
    ).encode()
    with open_output(path) as out:
        version = METH_VERSION if index.params.meth else VERSION
        out.write(_PREFIX.pack(MAGIC, version, len(header), zlib.crc32(header)) + header)
        out.write(bytes(-out.bytes_written % _ALIGNMENT))
        for part in parts:
            out.write(part)


def is_index_of(path: str, reference: str) -> bool:
    """Whether an index was built from a file with the content of ``reference``.

    Raises:
        InputError: its header is damaged or of another format version.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            header, _ = _read_header(file, path)
            return is_source(header.get("source"), reference)
    except OSError as error:
        raise InputError(f"cannot be read as an index: {error.strerror}", path) from error


def load_index(path: str, threads: int = 1, shared: bool = False) -> MinimizerIndex:
    """Read an index file and check it, on several threads.

    Args:
        shared: map its large arrays, so that processes share them.

    Raises:
        InputError: not an index, written in another format version, or not byte for byte what was written.
    """
    with _opened(path) as file:
        header, start = _read_header(file, path)
        mapped = SharedFile(file, path) if shared else None
        data = _read_arrays(file, start, header, threads, header["bytes"], mapped)
        return _checked_index(header, data, path, threads, mapped)


def load_reference(path: str, threads: int = 1) -> Reference:
    """Read the reference of an index file, without its minimizers, and check it.

    Raises:
        InputError: as :func:`load_index`.
    """
    with _opened(path) as file:
        header, start = _read_header(file, path)
        data = _read_arrays(file, start, header, threads, header["arrays"]["offsets"][0])
        return _checked_reference(
            header, {name: _array(data, header["arrays"][name], _ARRAYS[name]) for name in _REFERENCE}
        )


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """An index file; what is found wrong with it is an InputError."""
    try:
        with open(path, "rb", buffering=0) as file:
            yield file
    except OSError as error:
        raise InputError(f"cannot be read as an index: {error.strerror}", path) from error
    except (_Damaged, UsageError) as error:
        raise InputError(f"the index is damaged: {error} (build it again with gpualign index)", path) from error
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = "it has no header of an index (build it again with gpualign index)"
        raise InputError(f"the index is damaged: {what}", path) from error


def _checked_index(
    header: dict[str, Any], data: NDArray[np.uint8], path: str, threads: int, mapped: SharedFile | None
) -> MinimizerIndex:
    """Raises what :func:`load_index` takes for damage."""
    arrays = {name: _array(data, header["arrays"][name], kind) for name, kind in _ARRAYS.items()}
    if mapped is not None:  # an index that changes meanwhile must be refused
        arrays |= {name: array.copy() for name, array in arrays.items() if name not in _MAPPED}
    k, w, bits = header["k"], header["w"], header["bucket_bits"]
    if not all(isinstance(value, int) for value in (k, w, bits)):
        raise _Damaged("parameters")
    reference = _checked_reference(header, arrays)
    problem = _native.check_index(reference.native, arrays["offsets"], arrays["entries"], k, bits, threads)
    if problem:
        raise _Damaged(problem)
    params = IndexParams(k, w, header.get("meth") is True)
    location = os.path.abspath(path)
    return MinimizerIndex(
        *(reference, params, arrays["offsets"], arrays["entries"], bits), path=location, load=load_index, shared=mapped
    )


def _checked_reference(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Reference:
    """Raises what :func:`load_index` takes for damage."""
    names = header["names"]
    if not (isinstance(names, list) and all(isinstance(name, str) and _NAME.fullmatch(name) for name in names)):
        raise _Damaged("contig names")
    reference = Reference(names, *(arrays[name] for name in _REFERENCE))
    if len(names) != len(reference.contig_offsets) - 1 or len(set(names)) != len(names):
        raise _Damaged("contig names")
    if not set(reference.run_bases.tolist()) <= _AMBIGUITY_CODES:
        raise _Damaged("a character that is not a nucleotide code")
    return reference


def _arrays_of(index: MinimizerIndex) -> dict[str, NDArray[Any]]:
    """The arrays that :data:`_ARRAYS` names."""
    reference = index.reference
    runs = reference.run_starts, reference.run_ends, reference.run_bases
    arrays = reference.contig_offsets, reference.words, *runs, index.offsets, index.entries
    return {name: np.ascontiguousarray(array, _ARRAYS[name]) for name, array in zip(_ARRAYS, arrays, strict=True)}


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.data.cast("B")


def _checksums(parts: Iterable[bytes | memoryview]) -> list[int]:
    """CRC-32 of each piece of the parts, put one after the other."""
    sums: list[int] = []
    left = 0
    for part in parts:
        rest = memoryview(part)
        while rest:
            if left == 0:
                sums, left = [*sums, 0], _PIECE
            sums[-1] = isal_zlib.crc32(rest[:left], sums[-1])  # several times as fast as zlib's
            rest, left = rest[left:], max(0, left - len(rest))
    return sums


def _read_arrays(
    file: BinaryIO, start: int, header: dict[str, Any], threads: int, wanted: int, mapped: SharedFile | None = None
) -> NDArray[np.uint8]:
    """What is after the header, ``wanted`` bytes at least.

    Raises:
        _Damaged: it is not what was written.
    """
    size, sums = header["bytes"], header["checksums"]
    stored = os.fstat(file.fileno()).st_size - start
    if size != stored:
        raise _Damaged(f"{stored:,} bytes after the header instead of {size:,}")
    if len(sums) != -(-size // _PIECE):
        raise _Damaged("number of checksums")
    size = min(size, -(-wanted // _PIECE) * _PIECE)  # whole pieces
    if mapped is not None:
        data = mapped.data[start:]
        read = partial(_checksum, data)
    else:
        buffer: NDArray[np.uint8] = np.empty(size + _ALIGNMENT, np.uint8)
        data = buffer[-buffer.ctypes.data % _ALIGNMENT :][:size]
        read = partial(_read_piece, file.fileno(), start, data)
    found = list(run_ordered(range(0, size, _PIECE), read, min(threads, _MAX_READERS)))
    if found != sums[: len(found)]:
        wrong = next(i for i, pair in enumerate(zip(found, sums, strict=False)) if pair[0] != pair[1])
        raise _Damaged(f"checksum of the bytes from {start + wrong * _PIECE:,} on")
    return data


def _checksum(data: NDArray[np.uint8], at: int) -> int:
    return int(isal_zlib.crc32(data[at : at + _PIECE].data))


def _read_piece(descriptor: int, start: int, data: NDArray[np.uint8], at: int) -> int:
    """Fill a piece of ``data``; returns its checksum."""
    piece = data[at : at + _PIECE].data
    if read_at(descriptor, piece, start + at) < len(piece):
        raise _Damaged("it became shorter while it was read")
    return int(isal_zlib.crc32(piece))


def _read_header(file: BinaryIO, path: str) -> tuple[dict[str, Any], int]:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or not prefix.startswith(MAGIC):
        raise InputError("not a gpualign index (give the file that `gpualign index` wrote, not compressed)", path)
    _, version, length, checksum = _PREFIX.unpack(prefix)
    if version not in (VERSION, METH_VERSION):
        known = f"{VERSION} and {METH_VERSION}"
        raise InputError(f"the index has format version {version}, this gpualign reads {known} (build it again)", path)
    start = -(-(_PREFIX.size + length) // _ALIGNMENT) * _ALIGNMENT
    text = file.read(min(length, os.fstat(file.fileno()).st_size))  # no more memory than the file accounts for
    zeros = file.read(start - _PREFIX.size - length)
    if len(text) != length or zlib.crc32(text) != checksum or any(zeros):
        raise InputError("the index is damaged: its header is cut short or altered (build it again)", path)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise InputError("the index is damaged: its header is not a table (build it again)", path)
    return header, start


def _array(data: NDArray[np.uint8], location: list[int], kind: str) -> NDArray[Any]:
    at, count = location
    size = np.dtype(kind).itemsize
    if at < 0 or count < 0 or at % _ALIGNMENT or at + count * size > len(data):
        raise _Damaged("an array lies outside the file")
    return data[at : at + count * size].view(kind)
