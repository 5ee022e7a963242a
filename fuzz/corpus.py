"""Write the seeds of the fuzzers: good inputs of every kind, small.

python fuzz/corpus.py FOLDER
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests import bad_input, good_input

FASTA = b">a one\nACGTN\nRYacgu\n>b\n>chr\nTTTT\n"
FASTQ = b"@a 1:N\nACGT\n+\n@II+\n@b\n\n+\n\n@chr/1\nNN\n+a\n+@\n"
TSV = b"# places\nquery\ttarget\tstart\tend\na\tb\t1\t10\t+\na\tb\t5\t9\nb\ta\t2\t3\t-\n"
BED = b"a\t0\t10\tb\t0\t+\nb\t3\t5\ta\t.\t.\n"
PAF = b"a\t10\t0\t9\t-\tb\t20\t3\t12\t9\t9\t60\n"


def seeds() -> dict[str, dict[str, bytes]]:
    """Fuzzer -> name -> bytes."""
    reads = {
        "fasta": FASTA,
        "fastq": FASTQ,
        "gz": gzip.compress(FASTQ),
        "bz2": bz2.compress(FASTA),
        "xz": lzma.compress(FASTA),
    }
    role = bad_input.Role("reads", "query", "map {input}")
    bam = next(row for row in bad_input.ROWS if row.name == "BAM").make(role)
    assert bam is not None
    with tempfile.TemporaryDirectory() as folder:
        good_input.write_good_inputs(Path(folder))
        index = Path(folder, "ref.gpi").read_bytes()
    return {
        "fastx": {
            f"{name}{byte}": bytes([byte, 128]) + text
            for name, text in (("a", FASTA), ("q", FASTQ))
            for byte in range(8)
        },
        "candidates": {
            name: bytes([i]) + text for i, (name, text) in enumerate((("tsv", TSV), ("bed", BED), ("paf", PAF)))
        },
        "records": {"one read": bytes(range(1, 121))},
        "reads": {**reads, "bam": bam, "sam": b"@HD\tVN:1.6\na\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n"},
        "pairs": {"fastq": b"@a/1\nAC\n+\nII\n@a/2\nGT\n+\nII\n@b\nA\n+\nI\n"},
        "reference": {
            **reads,
            "genbank": b"LOCUS       a 4 bp DNA\nORIGIN\n        1 acgt\n//\n",
            "embl": b"ID   a; 4 BP.\nSQ   Sequence\n     acgt 4\n//\n",
        },
        "places": {"tsv": TSV, "bed": BED, "paf": PAF, "gz": gzip.compress(TSV)},
        "pair_list": {"list": b"# pairs\na a\nb\tc\n"},
        "matrix": {"dna": good_input.MATRIX, "decimals": b"# m\n   A  X\nA 0.5 -1\nX -1 1\n"},
        "index": {"index": index, "cut": index[:700]},
        "lines": {"lines": b"one\r\ntwo\n\nthree"},
    }


def main() -> None:
    for fuzzer, files in seeds().items():
        folder = Path(sys.argv[1], fuzzer)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
