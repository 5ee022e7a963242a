"""BGZF blocks (SAM specification, section 4.1): how they begin, and their sizes."""

from __future__ import annotations

#: bytes of a block, and of its content
LARGEST_BLOCK = 1 << 16
#: content of every block but the last, as htslib cuts it: it fits a block even if it cannot be compressed
BLOCK_CONTENT = 0xFF00
#: the empty block that marks the end of a file
BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
#: the first bytes of BAM, inflated
BAM_MAGIC = b"BAM\x01"
#: one extra field, BC, whose value, two bytes after this, is the block's size less one; htslib writes the same
_HEADER = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0"


def is_bgzf(head: bytes) -> bool:
    """Whether a file with this beginning is BGZF."""
    return head[:4] == _HEADER[:4] and head[len(_HEADER) - 6 : len(_HEADER)] == _HEADER[-6:]
