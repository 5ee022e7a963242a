"""Which mate a name says a read is: by /1 and /2, and by .1 and .2 where those cannot be spots' numbers."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gpualign
from gpualign import _native
from gpualign.reads.fastq_text import FastqText
from gpualign.reads.reads import Reads
from gpualign.text.fastx import Chunk
from gpualign.text.text import HeldText
from tests.helpers.fastq import read_in_scalar_code
from tests.helpers.files import write_bgzf, write_fasta, write_fastq
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
PAIRS = 120
GENOME = random_genome(5, 30_000)
#: a name, the mate's, whether all names end in .1 or .2, and what they are by that
NAMES = [
    ("r", "r", False, "mates"),
    ("r/1", "r/2", False, "mates"),
    ("r/1", "r", False, "mates"),
    ("r/2", "r/1", False, "second first"),
    ("r/1", "r/1", False, "one mate twice"),
    ("r/2", "r/2", True, "one mate twice"),
    ("r/1", "s/2", False, "two templates"),
    ("/1", "/2", False, "two templates"),
    ("SRR1.1", "SRR1.2", False, "two templates"),  # spots
    ("SRR1.1", "SRR1.1", False, "mates"),
    ("SRR1.7.1", "SRR1.7.2", False, "mates"),
    ("SRR1.7.2", "SRR1.7.1", False, "second first"),
    ("SRR1.7.1", "SRR1.7.1", False, "mates"),  # of spot 1 of SRR1.7, for all that one knows
    ("SRR1.7.1", "SRR1.7.1", True, "one mate twice"),
    ("x.1", "x.2", True, "mates"),
    ("x.2", "x.1", True, "second first"),
    ("x.1", "x.1", True, "one mate twice"),
    ("x.1", "y.2", True, "two templates"),
    ("a.b.1", "a.b/2", False, "two templates"),
]


@pytest.mark.parametrize(("one", "two", "all_dots", "expected"), NAMES)
def test_two_names(one: str, two: str, all_dots: bool, expected: str) -> None:
    assert _native.compare_names(one.encode(), two.encode(), all_dots) == expected


@pytest.mark.parametrize(("one", "two", "all_dots", "expected"), NAMES)
def test_the_device_pairs_the_same_names(one: str, two: str, all_dots: bool, expected: str) -> None:
    """What is wrong it leaves to the host, which says so."""
    data = [np.frombuffer(f"@{name}\nACGT\n+\nIIII\n".encode(), np.uint8) for name in (one, two)]
    texts = [FastqText.of(Chunk(HeldText((each,)), "fastq", "r.fq", 1)) for each in data]
    assert texts[0] is not None
    assert texts[1] is not None
    reads = Reads((texts[0], texts[1]), ("1.fq", "2.fq"), True, all_dots)
    found = read_in_scalar_code(reads)
    assert (found is not None) == (expected in ("mates", "second first"))
    if found is None:
        with pytest.raises(gpualign.InputError, match=one):
            reads.columns()
    else:
        expected_names = [reads.columns().name(i) for i in range(2)]
        assert [found.batch.name(i) for i in range(2)] == expected_names


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "g.fa", g=GENOME)


def ends(name_of: Callable[[int, int], str], count: int = PAIRS) -> tuple[list[tuple[str, str, str]], ...]:
    """Reads of both mates; ``name_of``: a pair and its mate."""
    rng = random.Random(3)
    sides: tuple[list[tuple[str, str, str]], ...] = ([], [])
    for i in range(count):
        at = rng.randrange(29_000)
        for side, bases in enumerate((GENOME[at : at + 100], reverse_complement(GENOME[at + 200 : at + 300]))):
            sides[side].append((name_of(i, side + 1), bases, "I" * 100))
    return sides


def files_of(folder: Path, name_of: Callable[[int, int], str], count: int = PAIRS) -> tuple[Path, Path]:
    first, second = ends(name_of, count)
    return write_fastq(folder / "1.fq", *first), write_fastq(folder / "2.fq", *second)


def interleaved(folder: Path, name_of: Callable[[int, int], str], count: int = PAIRS) -> Path:
    return write_fastq(folder / "i.fq", *(end for pair in zip(*ends(name_of, count), strict=True) for end in pair))


def names(sam: bytes) -> list[str]:
    return [row[0] for row in records(sam)]


@pytest.mark.parametrize("batch", ["4M", "1K"])
def test_spots_are_no_mates(cli: Cli, tmp_path: Path, reference: Path, batch: str) -> None:
    """SRR1.1 and SRR1.2 are two spots: no pair of a file of single reads, and none of two files that are shifted."""
    spots = [(f"SRR1.{i + 1}", bases, quality) for i, (_, bases, quality) in enumerate(ends(lambda i, mate: "")[0])]
    single = write_fastq(tmp_path / "s.fq", *spots)
    code, _, error = cli("map", "-p", "--batch-size", batch, reference, single)
    assert code == 3
    assert f"of the first {PAIRS} reads no two neighbours have one name" in error
    code, _, error = cli("map", reference, single, write_fastq(tmp_path / "t.fq", *spots[1:], spots[0]))
    assert code == 3
    assert "named 'SRR1.1' and 'SRR1.2'" in error
    code, sam, _ = cli(
        "map", "--batch-size", batch, "-I", "300,30", reference, *files_of(tmp_path, lambda i, mate: f"SRR1.{i + 1}")
    )
    assert code == 0
    assert names(sam) == [f"SRR1.{i + 1}" for i in range(PAIRS) for _ in (1, 2)]


@pytest.mark.parametrize("batch", ["4M", "1K"])
@pytest.mark.parametrize("count", [1, 2, PAIRS])
def test_all_names_end_in_a_mates_number(cli: Cli, tmp_path: Path, reference: Path, batch: str, count: int) -> None:
    options = ("map", "--batch-size", batch, "-I", "300,30", reference)
    expected = [f"x{i}" for i in range(count) for _ in (1, 2)]
    assert names(cli(*options, *files_of(tmp_path, lambda i, mate: f"x{i}.{mate}", count))[1]) == expected
    assert names(cli(*options, "-p", interleaved(tmp_path, lambda i, mate: f"x{i}.{mate}", count))[1]) == expected


@pytest.mark.parametrize("count", [1, 2])
def test_few_spots_in_two_files(cli: Cli, tmp_path: Path, reference: Path, count: int) -> None:
    """Their numbers are 1 and 2, and still those of spots."""
    options = ("map", "-I", "300,30", reference)
    expected = [f"SRR1.{i + 1}" for i in range(count) for _ in (1, 2)]
    assert names(cli(*options, *files_of(tmp_path, lambda i, mate: f"SRR1.{i + 1}", count))[1]) == expected
    assert names(cli(*options, "-p", interleaved(tmp_path, lambda i, mate: f"SRR1.{i + 1}", count))[1]) == expected


@pytest.mark.parametrize("name", ["r{}/1", "SRR1.{}.1", "x{}.1"])
@pytest.mark.parametrize("command", ["map", "mem"])
def test_one_mate_in_both_files(cli: Cli, tmp_path: Path, reference: Path, command: str, name: str) -> None:
    code, out, error = cli(command, reference, *files_of(tmp_path, lambda i, mate: name.format(i)))
    assert (code, out) == (3, b"")
    assert f"both named '{name.format(0)}'" in error


@pytest.mark.parametrize("at", [0, PAIRS - 1])
@pytest.mark.parametrize("command", ["map", "mem"])
def test_one_mate_twice_in_one_file(cli: Cli, tmp_path: Path, reference: Path, command: str, at: int) -> None:
    made = interleaved(tmp_path, lambda i, mate: f"r{i}/{1 if i == at else mate}")
    code, out, error = cli(command, "-p", reference, made)
    assert (code, out) == (3, b"")
    assert f"i.fq: two reads that should be mates are both named 'r{at}/1'" in error
    with pytest.raises(gpualign.InputError, match="two reads that should be mates"):
        list(gpualign.Mapper(reference).map(*files_of(tmp_path, lambda i, mate: f"r{i}/1")))


@pytest.mark.parametrize("name", ["r{}/{}", "SRR1.{}.{}", "x{}.{}"])
@pytest.mark.parametrize("command", ["map", "mem"])
def test_the_second_mate_first(cli: Cli, tmp_path: Path, reference: Path, command: str, name: str) -> None:
    """A warning, as pairs are pairs; in the right order there is none."""
    first, second = files_of(tmp_path, name.format)
    both = interleaved(tmp_path, lambda i, mate: name.format(i, 3 - mate))
    for arguments in ((second, first), ("-p", both)):
        code, _, error = cli(command, "-I", "300,30", reference, *arguments)
        assert code == 0
        assert error.count("warning: ") == 1
        assert f"'{name.format(0, 2)}' comes before '{name.format(0, 1)}'" in error
    assert "warning: " not in cli(command, "-I", "300,30", reference, first, second)[2]
    assert "warning: " not in cli("map", "-q", "-I", "300,30", reference, second, first)[2]


def test_names_that_are_not_checked(cli: Cli, tmp_path: Path, reference: Path) -> None:
    twice = files_of(tmp_path, lambda i, mate: f"r{i}/1")
    code, sam, error = cli("map", "--no-check-names", "-I", "300,30", reference, *twice)
    assert code == 0
    assert "warning: " not in error
    assert len(records(sam)) == 2 * PAIRS


def test_pairs_in_blocks(tmp_path: Path) -> None:
    """Chunks of bgzf end anywhere, also between the mates of a pair."""
    from gpualign.reads.lanes import interleaved_reads
    from gpualign.reads.reads import ReadSource

    for name in ("x{}.{}", "SRR1.{}.{}"):
        text = interleaved(tmp_path, name.format).read_bytes()
        path = write_bgzf(tmp_path / "i.fq.gz", text, 900)
        with ReadSource(path, threads=2) as source:
            batches = [item.columns() for item in interleaved_reads(source, 1500)]
        assert len(batches) > 3
        assert all((batch.mates != 0).all() for batch in batches)
        assert sum(map(len, batches)) == 2 * PAIRS
    twice = write_bgzf(
        tmp_path / "t.fq.gz", interleaved(tmp_path, lambda i, mate: f"r{i}/{1 if i == 119 else mate}").read_bytes(), 900
    )
    with ReadSource(twice, threads=2) as source, pytest.raises(gpualign.InputError, match="r119/1"):
        [item.columns() for item in interleaved_reads(source, 1500)]


#: what bwa mem 0.7.17 writes for single reads of these names
SINGLE = {"x/1": "x", "y/2": "y", "a.b.1": "a.b.1", "SRR1.2": "SRR1.2", "w": "w"}


@pytest.mark.parametrize("command", ["map", "mem"])
@pytest.mark.parametrize("form", ["sam", "bam"])
def test_single_reads_have_no_number(cli: Cli, tmp_path: Path, reference: Path, command: str, form: str, device: str):
    reads = write_fastq(tmp_path / "r.fq", *((name, GENOME[100:200], "I" * 100) for name in SINGLE))
    code, _, error = cli(command, reference, reads, "-o", tmp_path / f"o.{form}", device=device)
    assert code == 0, error
    import pysam

    with pysam.AlignmentFile(str(tmp_path / f"o.{form}")) as file:
        assert [record.query_name for record in file] == list(SINGLE.values())


def test_paf_keeps_the_names_of_single_reads(cli: Cli, tmp_path: Path, reference: Path) -> None:
    """As minimap2 does."""
    reads = write_fastq(tmp_path / "r.fq", *((name, GENOME[100:200], "I" * 100) for name in SINGLE))
    rows = cli("map", reference, reads, "-o", tmp_path / "o.paf")
    assert rows[0] == 0
    assert [line.split("\t")[0] for line in (tmp_path / "o.paf").read_text().splitlines()] == list(SINGLE)


def test_reads_of_python_programs() -> None:
    """Their names count as in files."""
    from gpualign.map.api_inputs import MapperInput

    with contextlib.ExitStack() as stack:
        items, _ = MapperInput(*ends(lambda i, mate: f"x{i}.{mate}", 3), unnamed=False).items(1 << 20, stack)
        batches = [item.columns() for item in items]
    assert [batch.name(i) for batch in batches for i in range(len(batch))] == ["x0", "x0", "x1", "x1", "x2", "x2"]
