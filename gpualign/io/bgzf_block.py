"""One BGZF block (SAM specification, section 4.1), compressed by zlib-ng at a level."""

from __future__ import annotations

#: bytes of a block, and of its content
LARGEST_BLOCK = 1 << 16
#: content of every block but the last, as htslib cuts it: it fits a block even if it cannot be compressed
BLOCK_CONTENT = 0xFF00
#: the empty block that marks the end of a file
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
#: one extra field, BC, whose value, two bytes after this, is the block's size less one; htslib writes the same
_HEADER = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"
_HEADER_BYTES = len(_HEADER) + 2
#: wbits of a gzip member: its checksum is made in the same call
_GZIP = 31
_GZIP_HEADER_BYTES = 10
#: largest gzip member that fits a block; zlib-ng's fast levels may expand their input
_LARGEST_MEMBER = LARGEST_BLOCK - _HEADER_BYTES + _GZIP_HEADER_BYTES


def is_bgzf(head: bytes) -> bool:
    """Whether a file with this beginning is BGZF."""
    return head[:4] == _HEADER[:4] and head[len(_HEADER) - 6 : len(_HEADER)] == _HEADER[-6:]


def made_block(content: bytes | memoryview, level: int) -> bytes:
    """The block of up to BLOCK_CONTENT bytes; ``level``: see ``bgzf_writer``."""
    from zlib_ng import zlib_ng  # few outputs need it

    made = zlib_ng.compress(content, level, _GZIP)
    if len(made) > _LARGEST_MEMBER:
        made = zlib_ng.compress(content, 0, _GZIP)
    member = made[_GZIP_HEADER_BYTES:]
    return b"".join((_HEADER, (_HEADER_BYTES + len(member) - 1).to_bytes(2, "little"), member))
