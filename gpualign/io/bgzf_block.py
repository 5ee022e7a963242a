"""One BGZF block (SAM specification, section 4.1), in Python."""

from __future__ import annotations

import zlib

from isal import isal_zlib
from isal.isal_zlib import IsalError

#: bytes of a block, and of its content
LARGEST_BLOCK = 1 << 16
#: content of every block but the last, as htslib cuts it: it fits a block even where it cannot be compressed
BLOCK_CONTENT = 0xFF00
#: one extra field, BC, whose value, two bytes after this, is the block's size less one; htslib writes the same
_HEADER = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"
_HEADER_BYTES = len(_HEADER) + 2
_LEVEL = 2
_AHEAD = 512
#: wbits of a gzip member: its checksum is made and compared in the same call, outside the interpreter's lock
_GZIP = 31
_GZIP_HEADER_BYTES = 10
#: of those that fit a block; zlib-ng's fast levels make some larger than what they are given
_LARGEST_MEMBER = LARGEST_BLOCK - _HEADER_BYTES + _GZIP_HEADER_BYTES


def is_bgzf(head: bytes) -> bool:
    """Whether a file that begins so is BGZF."""
    return head[:4] == _HEADER[:4] and head[len(_HEADER) - 6 : len(_HEADER)] == _HEADER[-6:]


def block_size(data: bytes | memoryview, at: int) -> int:
    """Bytes of the block that begins at ``at``."""
    return int.from_bytes(data[at + len(_HEADER) : at + _HEADER_BYTES], "little") + 1


def inflated_block(block: memoryview) -> bytes:
    """Its content.

    Raises:
        zlib.error: it is damaged.
    """
    try:
        content: bytes = isal_zlib.decompress(block, _GZIP, LARGEST_BLOCK)
    except IsalError as error:  # type: ignore[misc]
        raise zlib.error(str(error)) from None
    if int.from_bytes(block[-4:], "little") != len(content):
        raise zlib.error("a block ends elsewhere than it says")
    return content


def made_block(content: bytes | memoryview, level: int | None = None) -> bytes:
    """The block of up to BLOCK_CONTENT bytes; ``level`` as for ``bgzf_writer``."""
    member = memoryview(_gzip_member(content, level))[_GZIP_HEADER_BYTES:]
    return b"".join((_HEADER, (_HEADER_BYTES + len(member) - 1).to_bytes(2, "little"), member))


def _gzip_member(content: bytes | memoryview, level: int | None) -> bytes:
    made: bytes
    if level is not None:
        from zlib_ng import zlib_ng  # few outputs need it

        made = zlib_ng.compress(content, level, _GZIP)
        return made if len(made) <= _LARGEST_MEMBER else zlib_ng.compress(content, 0, _GZIP)
    # ISA-L looks beyond the end, and its choices depend on what is there
    padded = memoryview(b"".join((content, bytes(_AHEAD))))[: len(content)]
    made = isal_zlib.compress(padded, _LEVEL, _GZIP)
    return made
