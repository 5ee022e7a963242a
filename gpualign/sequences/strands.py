"""The other strand of nucleotide sequences."""

from __future__ import annotations

import numpy as np

#: IUPAC codes to the codes of the other strand
COMPLEMENT = bytes.maketrans(b"ACGTURYSWKMBDHVNacgturyswkmbdhvn", b"TGCAAYRSWMKVHDBNtgcaayrswmkvhdbn")
#: the same as an array to index, uint8 (256,)
COMPLEMENTS = np.frombuffer(COMPLEMENT, np.uint8)


def reverse_complement(bases: bytes) -> bytes:
    """The other strand; characters that are not nucleotide codes stay."""
    return bases.translate(COMPLEMENT)[::-1]
