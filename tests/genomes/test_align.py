"""`gpualign align`: nucmer's alignments, tables and filters; threads and batches; paths replayed; bad delta files."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.files import write_fasta
from tests.helpers.genome_cases import genome_pair
from tests.helpers.sequences import reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]

#: seed, divergence, options; alignments, and the MD5 sum of all but the first line of the delta file of nucmer 4.0.1
NUCMER = [
    (11, 0.002, "", 9, "f8534614651e9117d73545100b7c90ce"),
    (12, 0.02, "", 7, "757738969977aaa352c979c835571f05"),
    (13, 0.06, "", 7, "2045f2416da08390a41ef2a51f2acea8"),
    (14, 0.12, "", 6, "9ed82c39eb01d1fe23d0310675dee633"),
    (15, 0.02, "--mum", 6, "1fc34d25a4e70f73de17fe4c155cc4bb"),
    (16, 0.06, "--maxmatch", 15, "c0b65515629ded9c3c8ca356e91ba869"),
    (17, 0.06, "-b 40 -c 30 -g 200 -l 15", 11, "33ef67d5361b9a35142c873f3e958f55"),
    (18, 0.02, "--noextend", 10, "9b09bb6207ea2dc704ac722052cab8f5"),
    (19, 0.06, "--nooptimize", 10, "0d6d91d9fbc395a27c14405ca317f126"),
    (20, 0.02, "--nosimplify --maxmatch", 17, "c86488df7314fd83d1da7596ae2bd031"),
    (21, 0.06, "-D 20 -d 0.3 -L 500", 8, "3224264dfa3a93959867c101a7f1d330"),
    (22, 0.06, "-f", 2, "7e891bb53c5991d9638d99e47264e70a"),
    (23, 0.06, "-r", 2, "649227dd0ff34e354a6a8811d663633f"),
]
#: a reference of 60 bases; the query has a substitution, a missing and an additional base
REF = "GATTACAGCCTTAGGCATCGTTGACCATGGCTAACGTCAGTTCGATACCGGATTTCCAAG"
QUERY = f"{REF[:20]}A{REF[21:35]}{REF[36:48]}T{REF[48:]}"


def written(folder: Path, seed: int, divergence: float) -> tuple[Path, Path]:
    reference, query = genome_pair(seed, divergence)
    return write_fasta(folder / "ref.fa", reference, "r"), write_fasta(folder / "query.fa", query, "q")


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, Path]:
    return write_fasta(tmp_path / "a.fa", ref=REF), write_fasta(tmp_path / "b.fa", query=reverse_complement(QUERY))


SMALL = ("-l", "8", "-c", "8", "-q")


@pytest.mark.parametrize(("seed", "divergence", "options", "count", "digest"), NUCMER)
def test_the_delta_file_is_that_of_nucmer(
    cli: Cli, tmp_path: Path, seed: int, divergence: float, options: str, count: int, digest: str
) -> None:
    code, delta, _ = cli("align", *written(tmp_path, seed, divergence), *options.split(), "-q")
    assert code == 0
    assert sum(len(line.split()) == 7 for line in delta.splitlines()) == count
    assert hashlib.md5(delta.split(b"\n", 1)[1]).hexdigest() == digest


@pytest.mark.parametrize(
    ("seed", "options", "count", "digest"),
    [
        (24, "--maxmatch --nosimplify", 9, "83f447d41acd6af811eac6a3f51cec2d"),
        (25, "--maxmatch", 9, "788bd0fefa8e2071a6ebdce227ac23bd"),
        (27, "--mum --nosimplify", 3, "3ff848b4e8ce0e0055287b00a546fcc9"),
    ],
)
def test_a_genome_with_itself(cli: Cli, tmp_path: Path, seed: int, options: str, count: int, digest: str) -> None:
    """The delta file of nucmer 4.0.1: repeats lie off the diagonal."""
    path = write_fasta(tmp_path / "ref.fa", genome_pair(seed, 0.0)[0], "r")
    delta = cli("align", path, path, *options.split(), "-q")[1]
    assert sum(len(line.split()) == 7 for line in delta.splitlines()) == count
    assert hashlib.md5(delta.split(b"\n", 1)[1]).hexdigest() == digest


def test_n_matches_nothing(cli: Cli, tmp_path: Path) -> None:
    """An N, in either sequence or in both, is an error; an alignment goes over a few of them, and ends at many."""
    draw = random.Random(3)
    text = "".join(draw.choices("ACGT", k=3000))
    reference = f"{text[:1000]}{'N' * 20}{text[1020:2000]}{'n' * 300}{text[2300:]}"
    query = f"{text[:500]}R{text[501:1010]}{'N' * 20}{text[1030:]}"
    files = (
        write_fasta(tmp_path / "a.fa", r=reference, only="N" * 30),
        write_fasta(tmp_path / "b.fa", q=query, none="N"),
    )
    snps = tmp_path / "snps"
    code, delta, _ = cli("align", *files, "-q", "--snps", snps, "--snps-style", "H")
    assert code == 0
    assert delta.decode().split("\n", 2)[2] == (
        ">r q 3000 3000\n1 2000 1 2000 31 31 0\n0\n2301 3000 2301 3000 0 0 0\n0\n"
    )
    assert snps.read_bytes() == b""  # as show-snps: codes that have a base in common do not differ


@pytest.mark.parametrize("way", [("-t", "1"), ("-t", "3"), ("--batch-size", "1K")], ids=" ".join)
def test_threads_and_batches_change_nothing(cli: Cli, tmp_path: Path, way: tuple[str, ...]) -> None:
    files = written(tmp_path, 16, 0.06)
    assert cli("align", *files, "--maxmatch", "-q", *way)[1] == cli("align", *files, "--maxmatch", "-q")[1]


def test_a_run_goes_on_where_it_ended(cli: Cli, tmp_path: Path) -> None:
    draw = random.Random(6)
    contigs = ["".join(draw.choices("ACGT", k=70_000)) for _ in range(3)]
    reference = write_fasta(tmp_path / "a.fa", contigs)
    query = write_fasta(tmp_path / "b.fa", [contig[:30_000] + "C" + contig[30_000:] for contig in contigs])
    command, kept = ("align", reference, query, "-q", "--batch-size", "1K"), tmp_path / "kept"
    expected = cli(*command)[1]
    resumed = (*command, "--resume", kept)
    assert cli(*resumed)[1] == expected
    tiles = sorted(kept.glob("*.tile"), key=lambda tile: tile.stat().st_mtime_ns)
    assert len(tiles) == 3
    untouched = [tile.stat().st_mtime_ns for tile in tiles]
    tiles[1].write_bytes(b"damaged")
    tiles[2].unlink()
    code, out, errors = cli(*resumed[:3], *resumed[4:], "--filter", "1")
    assert (code, out.count(b"\n0\n"), "is damaged: computing it again" in errors) == (0, 3, True)
    assert cli(*resumed)[1] == expected
    assert [tile.stat().st_mtime_ns == before for tile, before in zip(tiles, untouched, strict=True)] == [
        True,
        False,
        False,
    ]
    write_fasta(query, [contig[:50_000] + contig[50_001:] for contig in contigs])  # other records are not in it
    assert cli(*resumed)[1] == cli(*command)[1] != expected
    code, _, errors = cli(*resumed, "-l", "30")
    assert (code, "tiles of another run" in errors) == (2, True)


def test_a_delta_file_by_hand(cli: Cli, small: tuple[Path, Path]) -> None:
    code, delta, _ = cli("align", *small, *SMALL)
    assert code == 0
    paths = f"{small[0].resolve()} {small[1].resolve()}"
    # the reference has base 36 alone, and the query one after 12 more pairs
    assert delta.decode() == f"{paths}\nNUCMER\n>ref query 60 60\n1 60 60 1 3 3 0\n36\n-13\n0\n"


def test_coordinates_by_hand(cli: Cli, small: tuple[Path, Path], tmp_path: Path) -> None:
    coords = tmp_path / "coords"
    assert cli("align", *small, *SMALL, "-o", "/dev/null", "--coords", coords, "--coords-style", "rclTH")[0] == 0
    assert coords.read_text() == "1\t60\t60\t1\t60\t60\t95.08\t60\t60\t100.00\t100.00\tref\tquery\n"


def test_differences_by_hand(cli: Cli, small: tuple[Path, Path], tmp_path: Path) -> None:
    snps = tmp_path / "snps"
    assert cli("align", *small, *SMALL, "-o", "/dev/null", "--snps", snps, "--snps-style", "CTH")[0] == 0
    rows = [line.split("\t") for line in snps.read_text().splitlines()]
    assert [row[:4] for row in rows] == [
        ["21", REF[20], "A", "40"],
        ["36", REF[35], ".", "25"],
        ["48", ".", "T", "13"],
    ]
    assert all(row[6:] == ["1", "-1", "ref", "query"] for row in rows)


@pytest.mark.parametrize("form", ["paf", "sam", "maf", "chain"])
def test_other_formats_have_the_same_alignments(cli: Cli, tmp_path: Path, form: str) -> None:
    files = written(tmp_path, 13, 0.06)
    delta, other = tmp_path / "x.delta", tmp_path / f"x.{form}"
    assert cli("align", *files, "-q", "-o", delta)[0] == 0
    assert cli("align", *files, "-q", "-o", other)[0] == 0
    from_delta = tmp_path / f"y.{form}"
    assert cli("align", delta, "-q", "-o", from_delta)[0] == 0
    rows = [line.split() for line in delta.read_text().splitlines() if len(line.split()) == 7]
    wanted = sorted((int(row[0]), int(row[1]), int(row[4])) for row in rows)
    lines = [line for line in other.read_text().splitlines() if not line.startswith("@PG")]
    assert lines == [line for line in from_delta.read_text().splitlines() if not line.startswith("@PG")]
    assert sorted(_ALIGNMENTS[form](lines)) == wanted


def _of_paf(lines: list[str]) -> list[tuple[int, int, int]]:
    rows = [line.split("\t") for line in lines]
    return [(int(row[7]) + 1, int(row[8]), int(row[12].split(":")[2])) for row in rows]


def _of_sam(lines: list[str]) -> list[tuple[int, int, int]]:
    import re

    found = []
    for line in lines:
        if line.startswith("@"):
            continue
        row = line.split("\t")
        path = [(int(length), kind) for length, kind in re.findall(r"(\d+)(\D)", row[5])]
        assert sum(length for length, kind in path if kind in "=XIS") == len(row[9])
        span = sum(length for length, kind in path if kind in "=XD")
        found.append((int(row[3]), int(row[3]) + span - 1, int(row[11].split(":")[2])))
    return found


def _of_maf(lines: list[str]) -> list[tuple[int, int, int]]:
    rows = [line.split() for line in lines if line.startswith("s ")]
    found = []
    for a, b in zip(rows[::2], rows[1::2], strict=True):
        differing = sum(one != other for one, other in zip(a[6], b[6], strict=True))
        assert len(a[6].replace("-", "")) == int(a[3])
        found.append((int(a[2]) + 1, int(a[2]) + int(a[3]), differing))
    return found


def _of_chain(lines: list[str]) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for block in "\n".join(lines).split("\n\n"):
        if not block.strip():
            continue
        head, *rows = block.strip().split("\n")
        words = head.split()
        numbers = [list(map(int, row.split())) for row in rows]
        pairs = sum(row[0] for row in numbers)
        gaps = sum(sum(row[1:]) for row in numbers)
        assert pairs + sum(row[1] for row in numbers[:-1]) == int(words[6]) - int(words[5])
        found.append((int(words[5]) + 1, int(words[6]), pairs - int(words[1]) + gaps))
    return found


_ALIGNMENTS = {"paf": _of_paf, "sam": _of_sam, "maf": _of_maf, "chain": _of_chain}


def test_the_best_alignments_by_hand(cli: Cli, tmp_path: Path) -> None:
    delta = tmp_path / "x.delta"
    # a query lies twice in the reference, the second time with more errors; the first copy lies in two queries
    delta.write_text(
        "r.fa q.fa\nNUCMER\n>r q1 1000 300\n1 300 1 300 3 3 0\n0\n501 800 1 300 9 9 0\n0\n"
        ">r q2 1000 250\n11 260 250 1 50 50 0\n0\n"
    )

    def kept(way: str) -> list[str]:
        text = cli("align", delta, "--filter", way, "-q")[1].decode()
        return [line for line in text.splitlines() if len(line.split()) == 7]

    first, second, third = "1 300 1 300 3 3 0", "501 800 1 300 9 9 0", "11 260 250 1 50 50 0"
    assert kept("q") == [first, third]
    assert kept("r") == [first, second]
    assert kept("1") == [first]
    assert kept("m") == [first, second, third]


@pytest.mark.skipif(shutil.which("show-coords") is None, reason="needs MUMmer")
def test_mummers_programs_read_it_and_agree(cli: Cli, tmp_path: Path) -> None:
    delta = tmp_path / "x.delta"
    coords, snps = tmp_path / "coords", tmp_path / "snps"
    assert cli("align", *written(tmp_path, 16, 0.06), "--maxmatch", "-q", "-o", delta)[0] == 0

    def theirs(*words: str) -> bytes:
        return subprocess.run(words, capture_output=True, check=True).stdout

    for style in ("", "rcl", "qT", "rcldTH", "d", "ldT"):
        assert cli("align", delta, "-q", "-o", "/dev/null", "--coords", coords, "--coords-style", style)[0] == 0
        assert coords.read_bytes() == theirs("show-coords", *(f"-{letter}" for letter in style), str(delta))
    for style in ("", "CTH", "rlT", "qI"):
        assert cli("align", delta, "-q", "-o", "/dev/null", "--snps", snps, "--snps-style", style)[0] == 0
        assert snps.read_bytes() == theirs("show-snps", *(f"-{letter}" for letter in style), str(delta))
    for way in "1qr":
        assert cli("align", delta, "-q", "--filter", way)[1] == theirs("delta-filter", f"-{way}", str(delta))


HEAD = "a.fa b.fa\nNUCMER\n>r q 100 100\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a delta file"),
        ("hello\n", "not a delta file"),
        ("a.fa b.fa\nPROMER\n", "x.delta:2: alignments of promer"),
        (f"{HEAD}1 10 1 10 0 0\n0\n", "x.delta:4: not a line of a delta file"),
        (f"{HEAD}1 10 1 x 0 0 0\n0\n", "x.delta:4: not a line of a delta file"),
        (f"{HEAD}1 101 1 101 0 0 0\n0\n", "x.delta:4: an alignment outside the reference"),
        (f"{HEAD}1 10 1 101 0 0 0\n0\n", "x.delta:4: an alignment outside the query"),
        (f"{HEAD}1 10 1 10 0 0 0\n", "ends within an alignment"),
        (f"{HEAD}>r q 99 100\n", "x.delta:4: 'r' has another length"),
        ("a.fa b.fa\nNUCMER\n>r q\n", "x.delta:3: not a line of a delta file"),
    ],
)
def test_bad_delta_files(cli: Cli, tmp_path: Path, text: str, message: str) -> None:
    delta = tmp_path / "x.delta"
    delta.write_text(text)
    code, out, errors = cli("align", delta)
    assert (code, out) == (3, b"")
    assert message in errors


def test_deltas_of_other_sequences(cli: Cli, small: tuple[Path, Path], tmp_path: Path) -> None:
    delta = tmp_path / "x.delta"
    delta.write_text(f"{small[0]} {small[1]}\nNUCMER\n>ref query 60 60\n1 60 60 1 0 0 0\n36\n0\n")
    code, _, errors = cli("align", delta, "-o", tmp_path / "x.paf")
    assert code == 3
    assert "the deltas do not end with their alignment" in errors
    delta.write_text(f"{small[0]} {small[1]}\nNUCMER\n>other query 60 60\n1 60 60 1 0 0 0\n0\n")
    code, _, errors = cli("align", delta, "-o", tmp_path / "x.paf")
    assert (code, "'other' is not in" in errors) == (3, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.fa", "b.fa", "--mum", "--maxmatch"), "mutually exclusive"),
        (("a.fa", "b.fa", "-f", "-r"), "mutually exclusive"),
        (("x.delta", "--maxmatch"), "FILE.delta holds alignments"),
        (("x.delta", "--resume", "kept"), "FILE.delta holds alignments"),
        (("a.fa", "b.fa", "c.fa"), "give REF and QUERY"),
        (("a.fa", "b.fa", "-o", "x.vcf"), "x.vcf is named as vcf (write it with --vcf)"),
        (("a.fa", "b.fa", "--coords", "c", "--coords-style", "x"), "'x' is none of"),
        (("a.fa", "b.fa", "-b", "0"), "-b"),
        (("-", "-"), "only one input"),
    ],
)
def test_wrong_options(cli: Cli, words: tuple[str, ...], message: str) -> None:
    code, _, errors = cli("align", *words)
    assert code == 2
    assert message in errors


def test_nothing_to_align(cli: Cli, tmp_path: Path) -> None:
    reference, empty = write_fasta(tmp_path / "a.fa", ref=REF), tmp_path / "b.fa"
    empty.write_bytes(b"")
    coords, snps = tmp_path / "c", tmp_path / "s"
    code, delta, errors = cli("align", reference, empty, "--coords", coords, "--snps", snps)
    assert (code, delta.decode().splitlines()[1:]) == (0, ["NUCMER"])
    assert "no query records" in errors
    assert snps.read_text().endswith("[TAGS]\n" + "=" * 80 + "\n")
    unlike = write_fasta(tmp_path / "d.fa", x="ACGT" * 3, empty="")
    assert cli("align", reference, unlike, "-q", "-o", tmp_path / "x.sam")[0] == 0
    assert [line.split("\t")[:2] for line in (tmp_path / "x.sam").read_text().splitlines() if line[0] != "@"] == [
        ["x", "4"],
        ["empty", "4"],
    ]
