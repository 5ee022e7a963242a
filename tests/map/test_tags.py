"""Tags on top of the usual ones: XA, XB, XS and HN are what the secondary records say, cs spells the alignment, ms is
samtools'."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.files import Record, write_fasta, write_fastq
from tests.helpers.sam import records, tags
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]


def edited(rng: random.Random, text: str, edits: int) -> str:
    bases = list(text)
    for _ in range(edits):
        at = rng.randrange(1, len(bases) - 1)
        kind = rng.randrange(3)
        if kind == 0:
            bases[at] = {"A": "C", "C": "G", "G": "T", "T": "A"}.get(bases[at], "A")
        elif kind == 1:
            bases[at] += rng.choice("ACGT")
        else:
            bases[at] = ""
    return "".join(bases)


@pytest.fixture(scope="module")
def genome() -> str:
    """With a stretch in four copies, the fourth reversed, each a little different, one in nine copies, and some N."""
    rng = random.Random(3)
    copied, frequent = random_genome(31, 400), random_genome(32, 300)
    parts = [random_genome(33, 2000)]
    for i in range(4):
        copy = edited(rng, copied, 2 * i)
        parts += [reverse_complement(copy) if i == 3 else copy, random_genome(40 + i, 1000)]
    for i in range(9):
        parts += [frequent, random_genome(50 + i, 500)]
    return "".join([*parts, "N" * 5, random_genome(60, 500)])


@pytest.fixture(scope="module")
def reads(genome: str) -> list[Record]:
    rng = random.Random(4)
    made = []
    for i in range(600):
        start = rng.randrange(0, len(genome) - 110) if i % 2 else rng.randrange(1900, 7000)
        read = edited(rng, genome[start : start + 100], rng.randrange(4))
        quality = "".join(chr(33 + rng.randrange(2, 41)) for _ in read)
        made.append((f"r{i}", reverse_complement(read) if i % 3 == 0 else read, quality))
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, genome: str, reads: list[Record]) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tags")
    return write_fasta(folder / "g.fa", g=genome), write_fastq(folder / "r.fq", *reads)


def by_read(sam: bytes) -> dict[str, list[list[str]]]:
    found: dict[str, list[list[str]]] = {}
    for record in records(sam):
        found.setdefault(record[0], []).append(record)
    return found


def hit(record: list[str], scored: bool) -> str:
    sign = "-" if int(record[1]) & 16 else "+"
    fields = [record[2], sign + record[3], record[5], tags(record)["NM"]]
    return ",".join([*fields, *([tags(record)["AS"], record[4]] if scored else [])]) + ";"


@pytest.mark.parametrize("maximum", [1, 3, 5])
def test_xa_is_what_secondary_records_say(cli: Cli, files: tuple[Path, Path], maximum: int) -> None:
    expected = by_read(cli("map", *files, "-N", maximum + 1)[1])
    with_xa = by_read(cli("map", *files, "--xa", maximum, "--tags", "XS,HN")[1])
    assert list(with_xa) == list(expected)
    numbers = set()
    for name, (primary, *others) in expected.items():
        secondary = [record for record in others if int(record[1]) & 0x100]
        assert len(with_xa[name]) == len(others) + 1 - len(secondary)
        found = tags(with_xa[name][0])
        if primary[2] == "*":
            assert not {"XA", "XS", "HN"} & set(found)
            continue
        near = [r for r in secondary if int(tags(r)["AS"]) >= 0.8 * int(tags(primary)["AS"])]
        assert found["HN"] == str(1 + len(near))
        assert found["XS"] == str(max([int(tags(record)["AS"]) for record in secondary], default=0))
        assert found.get("XA", "") == ("".join(hit(r, False) for r in near) if len(near) <= maximum else "")
        numbers.add(len(near))
        assert with_xa[name][0][:11] == primary[:11]
    assert numbers >= {0, 1, maximum + 1}


def test_tags_alone_write_no_more_records(cli: Cli, files: tuple[Path, Path]) -> None:
    plain, tagged = (records(cli("map", *files, *more)[1]) for more in ((), ("--tags", "XS")))
    assert [record[:11] for record in tagged] == [record[:11] for record in plain]
    assert all(("XS" in tags(record)) == (record[2] != "*") for record in tagged)
    assert not any("XA" in tags(record) for record in tagged)


def spelt(cs: str, query: str) -> tuple[str, str]:
    """The reference's and the read's bases that cs speaks of, the same ones from ``query``."""
    reference = read = ""
    for kind, text in re.findall(r"([:=*+-])([0-9]+|[A-Za-z]+)", cs):
        at = len(read)
        same = query[at : at + int(text)] if kind == ":" else text
        if kind in ":=":
            assert same == query[at : at + len(same)]
        reference += {"*": text[:1].upper(), "+": ""}.get(kind, same.upper())
        read += {"*": text[1:].upper(), "-": ""}.get(kind, same.upper())
    return reference, read


@pytest.mark.parametrize("form", ["short", "long"])
@pytest.mark.parametrize("kind", ["sam", "paf"])
def test_cs_spells_the_alignment(
    cli: Cli, files: tuple[Path, Path], genome: str, reads: list[Record], form: str, kind: str
) -> None:
    _, out, _ = cli("map", *files, "--cs", form, "-N", "2", "--output-format", kind)
    sequences = {name: text for name, text, _ in reads}
    checked = 0
    for line in out.decode().splitlines():
        fields = line.split("\t")
        found = re.search(r"\tcs:Z:(\S+)", line)
        if found is None:
            assert line.startswith("@") or fields[2] == "*"
            continue
        assert (":" in found[1]) == (form == "short")
        whole = sequences[fields[0]]
        if kind == "paf":
            reverse, start, end = fields[4] == "-", int(fields[7]), int(fields[8])
            query = whole[int(fields[2]) : int(fields[3])]
            query = reverse_complement(query) if reverse else query
        else:
            start = int(fields[3]) - 1
            spans = [(int(n), op) for n, op in re.findall(r"(\d+)([MIDSH])", fields[5])]
            end = start + sum(n for n, op in spans if op in "MD")
            clips = [n if op in "SH" else 0 for n, op in (spans[0], spans[-1])]
            oriented = reverse_complement(whole) if int(fields[1]) & 16 else whole
            query = oriented[clips[0] : len(oriented) - (clips[1] if len(spans) > 1 else 0)]
        assert spelt(found[1], query) == (genome[start:end], query)
        checked += 1
    assert checked > 700


def test_cs_as_minimap2_writes_it(cli: Cli, tmp_path: Path) -> None:
    """By hand, from its manual's example of an insertion, a deletion and a mismatch."""
    left, right = random_genome(1, 60), random_genome(2, 60)
    write_fasta(tmp_path / "g.fa", g=left + "ACGTTGCA" + right)
    for read, short in (
        (left + "ACGTTGCA" + right, ":128"),
        (left + "ACGATGCA" + right, ":63*ta:64"),
        (left + "ACGTCCTGCA" + right, ":64+cc:64"),
    ):
        write_fasta(tmp_path / "r.fa", r=read)
        (record,) = records(cli("map", tmp_path / "g.fa", tmp_path / "r.fa", "--cs", "short")[1])
        assert tags(record)["cs"] == short
        (record,) = records(cli("map", tmp_path / "g.fa", tmp_path / "r.fa", "--cs", "long")[1])
        assert re.sub(r"=([A-Z]+)", lambda same: f":{len(same[1])}", tags(record)["cs"]) == short


def test_ms_is_samtools(cli: Cli, files: tuple[Path, Path], reads: list[Record], tmp_path: Path) -> None:
    """fixmate -m writes the same numbers."""
    firsts, seconds = reads[0:400:2], reads[1:400:2]
    paths = [
        write_fastq(tmp_path / f"{end}.fq", *((f"p{i}", *read[1:]) for i, read in enumerate(ends)))
        for end, ends in ((1, firsts), (2, seconds))
    ]
    code, sam, error = cli("map", files[0], *paths, "--tags", "ms")
    assert code == 0, error
    fixed = subprocess.run(["samtools", "fixmate", "-m", "-", "-"], input=sam, capture_output=True, check=False)
    if fixed.returncode:
        pytest.skip("needs samtools")
    expected = subprocess.run(["samtools", "view", "-"], input=fixed.stdout, capture_output=True, check=True).stdout
    ours = [(record[0], record[1], tags(record)["ms"]) for record in records(sam)]
    assert ours == [(record[0], record[1], tags(record)["ms"]) for record in records(expected)]
    assert len({score for _, _, score in ours}) > 100


@pytest.mark.parametrize("words", [("--xa", "2", "-N", "3"), ("--tags", "XY"), ("--cs", "brief"), ("--xa", "-1")])
def test_options_that_contradict(cli: Cli, files: tuple[Path, Path], words: tuple[str, ...]) -> None:
    assert cli("map", *files, *words)[0] == 2


def test_hic_mates_know_of_each_other(cli: Cli, files: tuple[Path, Path], genome: str, tmp_path: Path) -> None:
    """A read across a ligation is split; the part at its 5' end is primary, whichever is longer."""
    a, b = genome[100:180], genome[1500:1560]
    reads = [("x", a + b), ("y", b + a), ("z", reverse_complement(a + b)), ("w", a)]
    mates = [(name, reverse_complement(genome[1700:1800])) for name, _ in reads]
    paths = [
        write_fastq(tmp_path / f"{end}.fq", *((name, text, "I" * len(text)) for name, text in ends))
        for end, ends in ((1, reads), (2, mates))
    ]
    code, sam, error = cli("map", files[0], *paths, "--hic", "-I", "400,50")
    assert code == 0, error
    found = {(r[0], int(r[1]) & 0xC0, bool(int(r[1]) & 0x800)): r for r in records(sam)}
    first = {name: found[name, 0x40, False] for name in "xyzw"}
    assert {name: (record[3], record[5]) for name, record in first.items()} == {
        "x": ("101", "80M60S"),
        "y": ("1501", "60M80S"),
        "z": ("1501", "80S60M"),
        "w": ("101", "80M"),
    }
    assert {(name, found[name, 0x40, True][3]) for name in "xyz"} == {("x", "1501"), ("y", "101"), ("z", "101")}
    for name, record in first.items():
        mate = found[name, 0x80, False]
        assert (record[6], record[7], mate[7]) == ("=", "1701", record[3])
        assert not (int(record[1]) | int(mate[1])) & 2
        assert bool(int(mate[1]) & 0x20) == bool(int(record[1]) & 0x10)
        assert int(record[1]) & 0x21 == 0x21
