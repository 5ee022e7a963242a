"""Small good inputs of every kind: what the table of bad input makes bad, and what other tests run every command on."""

from __future__ import annotations

import random
from pathlib import Path

from gpualign.pairwise.database.database_file import write_database
from gpualign.text.chunks import read_batches
from tests.helpers.files import Record, fasta, fastq
from tests.helpers.sequences import random_text, reverse_complement

_RNG = random.Random(11)
CONTIGS = [("chrA", random_text(_RNG, 900)), ("chrB", random_text(_RNG, 700))]
READS: list[Record] = [
    (f"read{i}", CONTIGS[i % 2][1][20 * i : 20 * i + 100], "".join(_RNG.choices("ABCDEFGHI", k=100))) for i in range(21)
]
MATES: list[Record] = [(name, reverse_complement(sequence), q) for name, sequence, q in READS]
REFERENCE: list[Record] = [(name, sequence, "") for name, sequence in CONTIGS]
PLACES = b"".join(
    b"%s\t%s\t%d\t%d\t+\n" % (name.encode(), CONTIGS[i % 2][0].encode(), 20 * i + 1, 20 * i + 120)
    for i, (name, _, _) in enumerate(READS)
)
PAIRS = b"".join(b"read%d\tread%d\n" % (i, i + 1) for i in range(20))
MATRIX = b"  A C G T\nA 2 -3 -3 -3\nC -3 2 -3 -3\nG -3 -3 2 -3\nT -3 -3 -3 2\n"


def renamed(records: list[Record]) -> list[Record]:
    """The second record has the first one's name."""
    return [records[0], (records[0][0], *records[1][1:]), *records[2:]] if len(records) > 1 else records


def write_good_inputs(folder: Path) -> None:
    """The files that the roles' and situations' arguments name. They are good but for their names' promises."""
    (folder / "ref.fa").write_bytes(fasta(REFERENCE, 60))
    (folder / "reads.fq").write_bytes(fastq(READS))
    (folder / "mates.fq").write_bytes(fastq(MATES))
    (folder / "one.fq").write_bytes(fastq(READS[:1]))
    (folder / "one.fa").write_bytes(fasta(REFERENCE[:1], 60))
    (folder / "twice.fq").write_bytes(fastq(renamed(READS)))
    (folder / "renamed.fq").write_bytes(fastq([*MATES[:-1], ("other", *MATES[-1][1:])]))
    (folder / "longname.fq").write_bytes(fastq([("n" * 255, *READS[0][1:])]))
    (folder / "protein.fa").write_bytes(b">p\nMKLVINGKTLKGEITVEG\n")
    (folder / "places.tsv").write_bytes(PLACES)
    (folder / "pairs.tsv").write_bytes(PAIRS)
    database = folder / "reads.gpdb"
    write_database(read_batches(str(folder / "reads.fq"), alphabet="any"), str(database))
    _write_damaged(database.read_bytes(), folder, "gpdb")
    _write_damaged(_index(folder / "ref.fa", folder / "ref.gpi"), folder, "gpi")


def _write_damaged(good: bytes, folder: Path, kind: str) -> None:
    middle = len(good) // 2
    (folder / f"old.{kind}").write_bytes(good[:8] + bytes(4) + good[12:])
    (folder / f"cut.{kind}").write_bytes(good[:middle])
    (folder / f"changed.{kind}").write_bytes(good[:middle] + bytes([good[middle] ^ 16]) + good[middle + 1 :])
    (folder / f"longer.{kind}").write_bytes(good + bytes(2))


def _index(reference: Path, path: Path) -> bytes:
    from gpualign.params import RunOptions
    from gpualign.seeds.index.run import run_index

    run_index(str(reference), str(path), RunOptions(threads=1, quiet=True), 11, 1)
    return path.read_bytes()
