"""Sets of sequences for all-against-all."""

from __future__ import annotations

from gpualign.errors import proteins_want
from gpualign.io.fastx import read_batches
from gpualign.sequences.encoded import EncodedSequences, encode
from gpualign.sequences.matrices import Scoring


def read_encoded(path: str, scoring: Scoring) -> EncodedSequences:
    """Read and encode one FASTA or FASTQ file ("-" is standard input).

    Raises:
        InputError: the file cannot be read, or holds a letter that the scoring does not know.
    """
    with proteins_want("--matrix, such as --matrix BLOSUM62"):
        return encode(read_batches(path, alphabet="nucleotide" if scoring.nucleotide else "any"), scoring, path)
