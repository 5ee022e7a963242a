"""TLEN: from an end's first sequenced base to its mate's, as samtools fixmate has it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
#: an end on the reference: from, to, strand
End = tuple[int, int, str]
SHAPES: dict[str, tuple[End, End, int]] = {
    "facing each other": ((1000, 1100, "+"), (1200, 1300, "-"), 300),
    "one start, forward first": ((1000, 1100, "+"), (1000, 1100, "-"), 100),
    "one start, the reverse one shorter": ((1000, 1100, "+"), (1000, 1060, "-"), 60),
    "one start, the reverse one longer": ((1000, 1060, "+"), (1000, 1100, "-"), 100),
    "one end": ((1000, 1100, "+"), (1040, 1100, "-"), 100),
    "dovetailed": ((1000, 1100, "+"), (980, 1080, "-"), 80),
    "facing away": ((1000, 1100, "+"), (800, 900, "-"), -100),
    "back to back": ((1000, 1100, "+"), (900, 1000, "-"), 0),
    "both forward": ((1000, 1100, "+"), (1200, 1300, "+"), 200),
    "both reverse": ((1000, 1100, "-"), (1200, 1290, "-"), 190),
    "twice the same": ((1000, 1100, "+"), (1000, 1100, "+"), 0),
}
#: htslib 1.16 has four pairs for each of two rules (test/xx#tlen.sam, xx#tlen2.sam): from the leftmost base to the
#: rightmost, and between 5' ends, as these. Its reads have 5 bases and begin at 1 to 16; here 20 bases stand for each.
OF_HTSLIB: dict[str, tuple[End, End, int]] = {
    "apart, facing each other": ((1000, 1100, "+"), (1300, 1400, "-"), 20),
    "overlapping": ((1120, 1220, "+"), (1180, 1280, "-"), 8),
    "dovetailed": ((1180, 1280, "+"), (1120, 1220, "-"), 2),
    "facing away": ((1300, 1400, "+"), (1000, 1100, "-"), -10),
}
SHAPES |= {f"htslib: {shape}": (one, two, 20 * length) for shape, (one, two, length) in OF_HTSLIB.items()}


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(81, 20_000)


def read(genome: str, end: End) -> str:
    begin, after, strand = end
    return genome[begin:after] if strand == "+" else reverse_complement(genome[begin:after])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turned", [False, True], ids=["as read", "ends exchanged"])
def test_shapes(cli: Cli, tmp_path: Path, genome: str, shape: str, turned: bool) -> None:
    one, two, expected = SHAPES[shape]
    ends = (two, one) if turned else (one, two)
    files = [
        write_fastq(tmp_path / f"{i}.fq", ("p", (bases := read(genome, end)), "I" * len(bases)))
        for i, end in enumerate(ends)
    ]
    rows = records(cli("map", "-I", "300,30", write_fasta(tmp_path / "r.fa", g=genome), *files)[1])
    assert [int(row[3]) for row in rows] == [end[0] + 1 for end in ends]
    assert [int(row[8]) for row in rows] == ([-expected, expected] if turned else [expected, -expected])


def test_as_samtools_fixmate(cli: Cli, tmp_path: Path, genome: str) -> None:
    """Random ends, with gaps and clipped ones among them, two contigs and ends without a position."""
    rng = random.Random(3)
    contigs = {"g": genome, "h": random_genome(82, 5000)}
    ends: list[list[tuple[str, str, str]]] = [[], []]
    for number in range(400):
        contig = contigs[rng.choice("ggggh")]
        middle = rng.randrange(600, len(contig) - 600)
        for side in ends:
            text = contig if rng.random() < 0.95 else contigs[rng.choice("gh")]
            begin = min(middle + rng.choice([0, 0, rng.randrange(-300, 300)]), len(text) - 150)
            bases = read(text, (begin, begin + rng.choice([60, 100, 120]), rng.choice("+-")))
            if rng.random() < 0.2:
                bases = bases[:50] + bases[50 + rng.randrange(8) :]
            if rng.random() < 0.1:
                bases = random_genome(number, rng.choice([20, 60])) + bases[: rng.choice([0, 60])]
            side.append((f"p{number}", bases, "I" * len(bases)))
    files = [write_fastq(tmp_path / f"{i}.fq", *side) for i, side in enumerate(ends)]
    out, fixed = tmp_path / "o.bam", tmp_path / "fixed.bam"
    assert cli("map", "-I", "300,30", "-o", out, write_fasta(tmp_path / "r.fa", **contigs), *files)[0] == 0
    pysam.samtools.fixmate(str(out), str(fixed))

    def lengths(path: Path) -> list[tuple[str | None, bool, int]]:
        with pysam.AlignmentFile(str(path)) as file:
            rows = [row for row in file if not row.is_secondary and not row.is_supplementary]
        return [(row.query_name, row.is_read1, row.template_length) for row in rows]

    ours = lengths(out)
    assert ours == lengths(fixed)
    assert len(ours) == 800
    assert sum(length != 0 for _, _, length in ours) > 400
