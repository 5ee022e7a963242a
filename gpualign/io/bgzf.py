"""BGZF, the gzip blocks of BAM files (SAM specification, section 4.1), compressed by ISA-L.

htslib compresses with zlib unless it was built with libdeflate, and zlib takes longer over a BAM file than the mapper.
So htslib writes stored blocks, and here they are compressed, 20 times as fast as zlib's default for 4 % more bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import IO

from isal import isal_zlib

from gpualign.stream.runner import run_ordered

_GROUP_BYTES = 1 << 20
#: htslib's blocks have one extra field, BC, whose value is the block's size less one
_HEADER_BYTES = 18
_TRAILER_BYTES = 8
_SIZE_AT = 16
_LARGEST_BLOCK = 1 << 16
_LEVEL = 2
_RAW_DEFLATE = -15


def compress_blocks(stream: IO[bytes], write: Callable[[bytes], None], threads: int) -> None:
    """Write the BGZF blocks of ``stream`` (stored or compressed in any way) compressed by ISA-L, in order.

    Raises:
        ValueError: not whole BGZF blocks.
    """
    for group in run_ordered(_groups(stream), _compress_group, threads):
        write(group)


def _groups(stream: IO[bytes]) -> Iterator[bytes]:
    """Whole blocks, about a MiB at a time."""
    rest = b""
    while data := stream.read(_GROUP_BYTES):
        data = rest + data
        end = 0
        while (size := _block_size(data, end)) and end + size <= len(data):
            end += size
        rest = data[end:]
        if end:
            yield data[:end]
    if rest:
        raise ValueError("a BGZF block is cut short")


def _block_size(data: bytes, at: int) -> int:
    """Bytes of the block that begins at ``at``; 0 where its header is not all there yet."""
    if len(data) < at + _HEADER_BYTES:
        return 0
    if data[at : at + 4] != b"\x1f\x8b\x08\x04":
        raise ValueError("not a BGZF block")
    return int.from_bytes(data[at + _SIZE_AT : at + _HEADER_BYTES], "little") + 1


def _compress_group(group: bytes) -> bytes:
    blocks = []
    at = 0
    while at < len(group):
        size = _block_size(group, at)
        blocks.append(_compress_block(group[at : at + size]))
        at += size
    return b"".join(blocks)


def _compress_block(block: bytes) -> bytes:
    """The block with the same content; as it was where compression gains nothing (the empty end marker, noise)."""
    content = zlib.decompress(block[_HEADER_BYTES:-_TRAILER_BYTES], _RAW_DEFLATE, _LARGEST_BLOCK)
    deflated = isal_zlib.compress(content, _LEVEL, _RAW_DEFLATE)
    size = _HEADER_BYTES + len(deflated) + _TRAILER_BYTES
    if size >= len(block):
        return block
    # the trailer, CRC and length of the content, stays as it was
    return block[:_SIZE_AT] + (size - 1).to_bytes(2, "little") + deflated + block[-_TRAILER_BYTES:]
