"""The fuzzers' inputs: small good ones of every kind, and those that earlier runs found new ground with.

    python fuzz/corpus.py seeds FOLDER     all of them, for a run to begin with
    python fuzz/corpus.py keep FOLDER      FOLDER/TARGET into fuzz/corpus/TARGET.zip

A finding is kept as fuzz/findings/TARGET-NAME once it is mended.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tempfile
import zipfile
from pathlib import Path

import zstandard

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tests.helpers import bad_input, good_input

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
        "zst": zstandard.compress(FASTA),
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


CORPUS, FINDINGS = (Path(__file__).resolve().parent / name for name in ("corpus", "findings"))
#: a date for all, so that the same inputs make the same archive
_DATE = (2000, 1, 1, 0, 0, 0)


def kept(fuzzer: str) -> dict[str, bytes]:
    """Name -> bytes, of the corpus and of the findings."""
    inputs = {path.name: path.read_bytes() for path in sorted(FINDINGS.glob(f"{fuzzer}-*"))}
    if (CORPUS / f"{fuzzer}.zip").exists():
        with zipfile.ZipFile(CORPUS / f"{fuzzer}.zip") as archive:
            inputs |= {name: archive.read(name) for name in archive.namelist()}
    return inputs


def write_seeds(folder: Path) -> None:
    for fuzzer, files in seeds().items():
        (folder / fuzzer).mkdir(parents=True, exist_ok=True)
        for name, data in (files | kept(fuzzer)).items():
            (folder / fuzzer / name).write_bytes(data)


def keep(folder: Path) -> None:
    CORPUS.mkdir(exist_ok=True)
    for found in sorted(path for path in folder.iterdir() if path.is_dir()):
        with zipfile.ZipFile(CORPUS / f"{found.name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(found.iterdir()):
                archive.writestr(zipfile.ZipInfo(path.name, _DATE), path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    {"seeds": write_seeds, "keep": keep}[sys.argv[1]](Path(sys.argv[2]))
