"""The other strand of nucleotide sequences."""

from __future__ import annotations

#: IUPAC codes to the codes of the other strand
COMPLEMENT = bytes.maketrans(b"ACGTURYSWKMBDHVNacgturyswkmbdhvn", b"TGCAAYRSWMKVHDBNtgcaayrswmkvhdbn")


def reverse_complement(bases: bytes) -> bytes:
    """The other strand; characters that are not nucleotide codes stay."""
    return bases.translate(COMPLEMENT)[::-1]
