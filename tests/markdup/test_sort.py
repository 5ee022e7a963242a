"""`gpualign sort`: the orders of samtools and Picard, headers, formats, and bad input."""

from __future__ import annotations

import gzip
import random
import subprocess
from collections.abc import Callable
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import pysam
import pytest

import gpualign
from gpualign.records import alignment_output
from gpualign.records.record_sorter import RecordSorter
from gpualign.text.paths import temporary_folder
from tests.helpers.bam import random_templates
from tests.helpers.commands import program
from tests.helpers.files import write_bgzf
from tests.helpers.record_files import CONTIG_LINES, header_of, records_of, write_sam

Cli = Callable[..., tuple[int, bytes, str]]
LENGTHS = (300, 100_000, 40)
#: samtools' own examples of its natural order, in order; later versions take numbers with zeros before them for equal
NATURAL = ["#01", "#2", ".1", ".09", "a001", "a01", "a01z", "a1", "a1a"]


def renamed(rng: random.Random, lines: list[str]) -> list[str]:
    """With names of several flow cells and of other kinds, in any order."""
    kinds = (
        lambda n: f"A00:{n % 3}:FC{n % 2}:1:{1101 + n % 7}:{n % 97}:{n:05d}",
        lambda n: f"A00:{n % 3}:FC:1:{n}",
        lambda n: f"{n % 5}x{n % 11}y{n}",
        lambda n: f"read.{n:03d}",
    )
    mixed = [(rng.choice(kinds)(int(line.split("\t")[0][1:])), line.split("\t", 1)[1]) for line in lines]
    rng.shuffle(mixed)
    return [f"{name}\t{rest}" for name, rest in mixed]


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(3)
    lines = renamed(rng, list(chain(*random_templates(rng, 3000, LENGTHS))))
    return write_sam(tmp_path_factory.mktemp("shuffled") / "in.sam", lines)


@pytest.mark.parametrize("memory", ["1G", "1M"])
@pytest.mark.parametrize(("ours", "theirs"), [([], []), (["-n"], ["-n"]), (["--name-order", "lexicographic"], ["-N"])])
def test_the_order_is_that_of_samtools(
    cli: Cli, tmp_path: Path, shuffled: Path, ours: list[str], theirs: list[str], memory: str
) -> None:
    out, expected = tmp_path / "out.bam", str(tmp_path / "expected.bam")
    options = ("--sort-memory", memory, "--batch-size", "3K", "-t", "3")
    assert cli("sort", shuffled, "-o", out, *ours, *options)[0] == 0
    pysam.samtools.sort(*theirs, "-o", expected, str(shuffled), catch_stdout=False)
    found, wanted = records_of(out), records_of(expected)
    if ours:  # later versions of samtools put primary records of a name first, which Debian's does not
        found, wanted = ([line.split("\t")[0] for line in lines] for lines in (found, wanted))
    assert found == wanted
    assert sorted(records_of(out)) == sorted(records_of(shuffled))


@pytest.fixture(scope="module")
def with_mates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Templates with the tag MC of their mates, in libraries, cells and molecules, at few positions."""
    rng, folder = random.Random(4), tmp_path_factory.mktemp("mates")
    lines = [
        line.rstrip("\n").replace("\t3S7M\t", rng.choice(["\t3S7M\t", "\t2H3S7M\t", "\t7M3S2H\t"])) + tags
        for template in random_templates(rng, 1500, (60, 100_000, 40))
        for tags in [rng.choice(["", "\tRG:Z:a", "\tRG:Z:b", "\tRG:Z:c", "\tRG:Z:gone\tMI:Z:7"])]
        for tags in [tags + rng.choice(["", "\tCB:Z:AC", "\tCB:Z:A"]) * (rng.random() < 0.5)]
        for tags in [tags + ("" if "MI" in tags else rng.choice(["", "\tMI:Z:12/A", "\tMI:Z:12/B", "\tMI:Z:2"]))]
        for line in template
    ]
    contigs = [f"@SQ\tSN:c{contig}\tLN:200000" for contig in range(3)]
    groups = ("@RG\tID:a\tSM:s\tLB:z", "@RG\tID:b\tSM:s\tLB:m", "@RG\tID:c\tSM:s")
    grouped = write_sam(folder / "grouped.sam", lines, (*contigs, *groups))
    pysam.samtools.fixmate("-m", str(grouped), str(folder / "fixed.sam"), catch_stdout=False)
    flagged = ((line, int(line.split("\t")[1])) for line in records_of(folder / "fixed.sam"))
    fixed = [
        line for line, flag in flagged if not flag & 1 or flag & 8 or "\tMC:Z:" in line
    ]  # not all secondary have it
    assert len(fixed) > 2500
    rng.shuffle(fixed)
    return write_sam(folder / "in.sam", fixed, (*contigs, *groups))


@pytest.mark.parametrize("memory", ["1G", "1M"])
def test_template_coordinates_are_those_of_samtools(cli: Cli, tmp_path: Path, with_mates: Path, memory: str) -> None:
    out, expected = tmp_path / "out.bam", str(tmp_path / "expected.bam")
    options = ("--sort-memory", memory, "--batch-size", "3K", "-t", "3")
    assert cli("sort", "--template-coordinate", with_mates, "-o", out, *options)[0] == 0
    pysam.samtools.sort("--template-coordinate", "-o", expected, str(with_mates), catch_stdout=False)
    assert records_of(out) == records_of(expected)
    assert header_of(out)[0] == "@HD\tVN:1.6\tSO:unsorted\tGO:query\tSS:unsorted:template-coordinate"


def test_template_coordinates_need_the_mates_cigars(cli: Cli, tmp_path: Path) -> None:
    path = write_sam(tmp_path / "in.sam", ["r\t65\tc0\t5\t60\t1M\t=\t9\t0\tA\tI"])
    code, _, error = cli("sort", "--template-coordinate", path)
    assert code == 3
    what = "record 'r' has no tag MC, the CIGAR of its mate (samtools fixmate writes it)"
    assert error == f"gpualign sort: error: {path}: {what}\n"


def test_records_of_one_name_are_in_the_order_of_their_reads(cli: Cli, tmp_path: Path) -> None:
    """R1 before R2, and otherwise as they came."""
    flags = [129, 65, 2177, 321, 2113, 0]
    path = write_sam(
        tmp_path / "in.sam", [f"r\t{flag}\tc0\t{9 - i}\t60\t1M\t*\t0\t0\tA\tI" for i, flag in enumerate(flags)]
    )
    assert cli("sort", "-n", path, "-o", tmp_path / "out.sam")[0] == 0
    assert [int(line.split("\t")[1]) for line in records_of(tmp_path / "out.sam")] == [0, 65, 321, 2113, 129, 2177]


def test_natural_order_of_names(cli: Cli, tmp_path: Path) -> None:
    path = write_sam(tmp_path / "in.sam", [f"{name}\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI" for name in reversed(NATURAL)])
    assert cli("sort", "-n", path, "-o", tmp_path / "out.sam")[0] == 0
    assert [line.split("\t")[0] for line in records_of(tmp_path / "out.sam")] == NATURAL


def test_picards_order_of_records_of_one_name(cli: Cli, tmp_path: Path) -> None:
    """Pairs before others, R1 before R2, forward before reverse, secondary after others, then supplementary after
    others, HI: as Picard 2.27 sorts these."""
    expected = [65, 2113, 321, 81, 129, 0, 256, 256, 16]
    tags = {6: "", 7: "\tHI:i:2"}
    lines = [f"r\t{flag}\tc0\t1\t60\t1M\t*\t0\t0\tA\tI{tags.get(i, '')}" for i, flag in enumerate(expected)]
    path = write_sam(tmp_path / "in.sam", [*reversed(lines), "Z\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI"])
    assert cli("sort", "--name-order", "picard", path, "-o", tmp_path / "out.sam")[0] == 0
    assert records_of(tmp_path / "out.sam")[1:] == lines
    assert "SS:queryname:lexicographical" in header_of(tmp_path / "out.sam")[0]


@pytest.mark.parametrize("memory", ["1G", "1M"])
def test_records_of_a_template_are_together(cli: Cli, tmp_path: Path, shuffled: Path, memory: str) -> None:
    out = tmp_path / "out.bam"
    assert cli("sort", "--template", shuffled, "-o", out, "--sort-memory", memory, "--batch-size", "3K")[0] == 0
    names = [line.split("\t")[0] for line in records_of(out)]
    groups = [name for name, _ in groupby(names)]
    assert len(groups) == len(set(groups)) == len({line.split("\t")[0] for line in records_of(shuffled)})
    assert sorted(records_of(out)) == sorted(records_of(shuffled))
    assert header_of(out)[0] == "@HD\tVN:1.6\tSO:unsorted\tGO:query"


def test_the_header_says_the_order_and_the_program(cli: Cli, tmp_path: Path) -> None:
    head = [
        "@HD\tVN:1.5\tSO:queryname\tSS:queryname:natural\tzz:kept",
        *CONTIG_LINES,
        "@PG\tID:bwa\tPN:bwa",
        "@CO\ta: b",
    ]
    path = write_sam(tmp_path / "in.sam", [], head)
    assert cli("sort", path, "-o", tmp_path / "out.bam")[0] == 0
    first, *rest, last = header_of(tmp_path / "out.bam")
    assert first == "@HD\tVN:1.5\tSO:coordinate\tzz:kept"
    assert rest == head[1:]
    assert last.startswith("@PG\tID:gpualign\tPN:gpualign\tVN:")
    assert last.endswith("\tPP:bwa")


def test_formats_and_pipes(tmp_path: Path, shuffled: Path) -> None:
    expected = records_of(shuffled)
    bam = subprocess.run(program("sort", "-", "-O", "bam", "-q"), input=shuffled.read_bytes(), capture_output=True)
    (tmp_path / "a.bam").write_bytes(bam.stdout)
    sam = subprocess.run(program("sort", "-n", tmp_path / "a.bam", "-t", "1"), capture_output=True)
    assert (bam.returncode, sam.returncode) == (0, 0)
    (tmp_path / "a.sam").write_bytes(sam.stdout)
    assert sorted(records_of(tmp_path / "a.sam")) == sorted(expected)


def test_cram_with_its_reference(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ref.fa").write_text(">c0\n" + "ACGTTGCA" * 20 + "\n")
    fields = "60\t8M\t*\t0\t0\tACGTTGCA\tIIIIIIII\tMD:Z:8\tNM:i:0"  # CRAM leaves MD and NM out, as they are right
    lines = [f"r{i}\t0\tc0\t{at}\t{fields}" for i, at in enumerate((17, 9, 1))]
    path = write_sam(tmp_path / "in.sam", lines, ["@SQ\tSN:c0\tLN:160"])
    reference = ("--reference", tmp_path / "ref.fa")
    assert cli("sort", path, *reference, "-o", tmp_path / "a.cram", "--write-index")[0] == 0
    assert (tmp_path / "a.cram.crai").exists()
    assert cli("sort", "-n", tmp_path / "a.cram", *reference, "-o", tmp_path / "b.sam")[0] == 0
    assert [sorted(line.split("\t")) for line in records_of(tmp_path / "b.sam")] == [
        sorted(line.split("\t")) for line in lines
    ]


def test_cram_of_few_reads_without_a_reference(cli: Cli, tmp_path: Path) -> None:
    """htslib would make a reference of all bases in between, and store it."""
    lines = [f"r{i}\t0\tc0\t{at}\t60\t8M\t*\t0\t0\tACGTTGCA\tIIIIIIII" for i, at in enumerate((1, 90_000))]
    path = write_sam(tmp_path / "in.sam", lines, ["@SQ\tSN:c0\tLN:100000"])
    assert cli("sort", path, "-o", tmp_path / "a.cram")[0] == 0
    with pytest.raises(pysam.SamtoolsError):
        pysam.samtools.reference("-e", "-q", str(tmp_path / "a.cram"))
    assert cli("sort", tmp_path / "a.cram", "-o", tmp_path / "b.sam")[0] == 0
    assert [line.split("\t")[:10] for line in records_of(tmp_path / "b.sam")] == [
        line.split("\t")[:10] for line in lines
    ]


def test_the_default_level_of_bam_is_6(tmp_path: Path, shuffled: Path) -> None:
    for level in (None, 1, 6):
        gpualign.sort(shuffled, tmp_path / f"{level}.bam", device="cpu", compression_level=level)
    default, fast, small = ((tmp_path / f"{level}.bam").read_bytes() for level in (None, 1, 6))
    assert default == small
    assert len(small) < len(fast)


def test_an_index_finds_the_records(cli: Cli, tmp_path: Path, shuffled: Path) -> None:
    assert cli("sort", shuffled, "-o", tmp_path / "out.bam", "--write-index", "--compression-level", "5")[0] == 0
    region = "c1:1000-50000"
    pysam.samtools.sort("-o", str(tmp_path / "s.bam"), str(shuffled), catch_stdout=False)
    pysam.samtools.index(str(tmp_path / "s.bam"))
    of_region = [pysam.samtools.view(str(tmp_path / name), region) for name in ("out.bam", "s.bam")]
    assert of_region[0] == of_region[1] != ""


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("r\t0\tc0\t1\t60\t3M\t*\t0\t0\tAC\tII", "CIGAR is of 3 bases, SEQ of 2"),
        ("r\t0\tc9\t1\t60\t2M\t*\t0\t0\tAC\tII", "RNAME is 'c9', which no @SQ line of the header names"),
        ("r\t0\tc0\t1\t60\t2Q\t*\t0\t0\tAC\tII", "CIGAR is '2Q', which is none"),
        ("r\t0\tc0\t1\t60\tM\t*\t0\t0\tAC\tII", "CIGAR is 'M', which is none"),
        ("r\t0\tc0\t1\t60\t2M", "a record of SAM has 11 columns, and this one 6"),
    ],
)
def test_a_malformed_line_is_named(cli: Cli, tmp_path: Path, line: str, why: str) -> None:
    good = "r\t0\tc0\t1\t60\t2M\t*\t0\t0\tAC\tII"
    path = write_sam(tmp_path / "in.sam", [good, line, good])
    code, _, error = cli("sort", path, "-o", tmp_path / "out.bam")
    assert (code, error) == (3, f"gpualign sort: error: {path}:5: {why}\n")
    assert not (tmp_path / "out.bam").exists()


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_headers_as_they_are(cli: Cli, tmp_path: Path, ending: str) -> None:
    """Characters that Python takes for ends of lines, ends of DOS, no end, and more than is read at once."""
    comments = [f"@CO\tone\u2028two\x85three {i:0{size}}" for i, size in enumerate([0, 10, 70_000])]
    path = tmp_path / "in.sam"
    path.write_bytes("".join(f"{line}\n" for line in ("@SQ\tSN:c\tLN:9", *comments)).encode())
    if ending != "\n":
        path.write_bytes(path.read_bytes()[:-1] + ending.encode())
    assert cli("sort", path, "-o", tmp_path / "out.bam")[0] == 0
    assert cli("sort", tmp_path / "out.bam", "-o", tmp_path / "again.sam")[0] == 0
    again = (tmp_path / "again.sam").read_bytes().decode().split("\n")
    assert [line for line in again if line.startswith("@CO")] == comments


@pytest.mark.parametrize("packed", [False, True])
def test_chunks_of_any_size(cli: Cli, tmp_path: Path, packed: bool) -> None:
    """Records of one name stay together, wherever text is cut, and records may be longer than a chunk."""
    rng, lines = random.Random(1), ["@SQ\tSN:c\tLN:9"]
    for i in range(300):
        text = "x" * rng.choice([10, 1000, 1000, 300_000 if i % 100 == 50 else 10])
        lines += [f"r{i}\t{flag}\t*\t0\t0\t*\t*\t0\t0\tA\tI\tXX:Z:{text}" for flag in (77, 141)]
    path = tmp_path / ("in.sam.gz" if packed else "in.sam")
    text = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    assert cli("sort", path, "-o", tmp_path / "in.bam", "--sort-memory", "1M")[0] == 0
    for given in (path, tmp_path / "in.bam"):
        out = tmp_path / "out.sam"
        assert cli("markdup", given, "-o", out, "--batch-size", "1K", "--sort-memory", "1M", "-t", "3")[0] == 0
        found = [line.partition("\tms:i:")[0] for line in out.read_text().splitlines() if line[0] != "@"]
        assert found == lines[1:]


def test_bad_files(cli: Cli, tmp_path: Path, shuffled: Path) -> None:
    (tmp_path / "reads.fq").write_text("@r\nACGT\n+\nIIII\n")
    for command in ("sort", "markdup"):
        assert "reads.fq: is not SAM, BAM or CRAM" in cli(command, tmp_path / "reads.fq")[2]
        assert cli(command, tmp_path / "reads.fq")[0] == 3
    (tmp_path / "empty").write_text("")
    assert "is empty, without even a header" in cli("sort", tmp_path / "empty")[2]
    assert cli("sort", tmp_path / "nowhere.bam")[0] == 3
    assert cli("sort", shuffled, "-o", tmp_path / "whole.bam")[0] == 0
    whole = (tmp_path / "whole.bam").read_bytes()
    for size in (len(whole) - 28, len(whole) // 2):
        (tmp_path / "cut.bam").write_bytes(whole[:size])
        code, _, error = cli("sort", tmp_path / "cut.bam", "-o", tmp_path / "out.bam")
        assert (code, "truncated or damaged" in error or "ended early" in error) == (3, True)
    assert not (tmp_path / "out.bam").exists()
    assert cli("sort", shuffled, "-O", "bam", "-o", "/dev/full")[0] == 1
    assert cli("sort", shuffled, "-n", "--write-index", "-o", tmp_path / "out.bam")[0] == 2
    assert cli("sort", shuffled, "-o", shuffled)[0] == 2


def test_no_records(cli: Cli, tmp_path: Path) -> None:
    path = write_sam(tmp_path / "in.sam", [])
    for order in ([], ["-n"], ["--template"]):
        assert cli("sort", path, *order, "-o", tmp_path / "out.bam")[0] == 0
        assert records_of(tmp_path / "out.bam") == []


def test_python_function(tmp_path: Path, shuffled: Path) -> None:
    gpualign.sort(shuffled, tmp_path / "out.bam", order="natural", write_index=False)
    assert "SS:queryname:natural" in header_of(tmp_path / "out.bam")[0]
    with pytest.raises(gpualign.UsageError, match="order must be one of"):
        gpualign.sort(shuffled, tmp_path / "out.bam", order="nonsense")


@pytest.mark.parametrize("words", [("sort",), ("sort", "--template"), ("markdup",), ("markdup", "--mate-tags")])
def test_damaged_tags(cli: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    """A text without its end."""
    path = write_sam(tmp_path / "in.sam", ["r\t0\tc0\t1\t60\t1M\t*\t0\t0\tA\tI\tXX:Z:text"], ["@SQ\tSN:c0\tLN:160"])
    assert cli("sort", path, "-o", tmp_path / "in.bam")[0] == 0
    content = gzip.decompress((tmp_path / "in.bam").read_bytes())
    assert content.endswith(b"XXZtext\0")
    write_bgzf(tmp_path / "damaged.bam", content[:-1] + b"!", 1000)
    code, _, error = cli(*words, tmp_path / "damaged.bam", "-o", tmp_path / "out.sam")
    assert code == 3
    assert error.startswith(f"gpualign {words[0]}: error: {tmp_path / 'damaged.bam'}: is damaged: a BAM record's tags")
    assert not (tmp_path / "out.sam").exists()


@pytest.mark.gpu
@pytest.mark.parametrize(
    "words", [("sort",), ("sort", "-n"), ("markdup", "--sort"), ("markdup", "--order", "template")]
)
def test_a_gpu_inflates_and_deflates(cli: Cli, tmp_path: Path, shuffled: Path, words: tuple[str, ...]) -> None:
    assert cli("sort", shuffled, "-o", tmp_path / "in.bam")[0] == 0
    found = []
    for device in ("cpu", "cuda"):
        assert cli(*words, tmp_path / "in.bam", "-o", tmp_path / f"{device}.bam", device=device)[0] == 0
        found.append(records_of(tmp_path / f"{device}.bam"))
    assert found[0] == found[1] != []


def test_options_of_samtools(cli: Cli, tmp_path: Path, shuffled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-m is for each thread; -@ of markdup does not count the main one; -T is a folder, or a prefix in one."""
    seen: list[tuple[str, int, int]] = []

    class Sorter(RecordSorter):
        def __init__(self, folder: str, memory: int, threads: int, *rest: Any) -> None:
            seen.append((folder, memory, threads))
            super().__init__(folder, memory, threads, *rest)

    monkeypatch.setattr(alignment_output, "RecordSorter", Sorter)
    for command, prefix in (("sort", tmp_path), ("markdup", tmp_path / "prefix")):
        options = ("-@", 2, "-m", "3M", "-T", prefix)
        assert cli(command, shuffled, "-o", "/dev/null", "-O", "bam", *options)[0] == 0
    assert seen == [(str(tmp_path), 6 << 20, 2), (str(tmp_path), 9 << 20, 3)]
    for option, ours in (("-@", "--threads"), ("-m", "--sort-memory"), ("-T", "--tmp-dir")):
        value = {"-@": 2, "-m": "1M", "-T": tmp_path}[option]
        code, _, error = cli("sort", shuffled, option, value, ours, value)
        assert code == 2
        assert f"{option} and {ours} are one option" in error


@pytest.mark.parametrize("words", [("sort",), ("markdup", "--mate-tags", "--no-progress")])
def test_folder_of_temporary_files(
    cli: Cli, tmp_path: Path, shuffled: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """--tmp-dir, else TMPDIR, else that of the output."""
    monkeypatch.delenv("TMPDIR", raising=False)
    assert temporary_folder(str(tmp_path / "x.bam")) == str(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    assert temporary_folder(str(tmp_path / "x.bam")) == str(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "a"))
    assert temporary_folder(str(tmp_path / "x.bam")) == str(tmp_path / "a")
    assert temporary_folder(str(tmp_path / "x.bam"), str(tmp_path / "b")) == str(tmp_path / "b")
    code, _, error = cli(*words, shuffled, "--tmp-dir", tmp_path / "none", "-o", tmp_path / "x.bam")
    assert code == 2
    assert "there is no folder" in error
    for function in (gpualign.sort, gpualign.mark_duplicates):
        with pytest.raises(gpualign.UsageError, match="there is no folder"):
            function(shuffled, tmp_path / "x.bam", tmp_dir=tmp_path / "none")
        assert function(shuffled, tmp_path / "x.bam", tmp_dir=tmp_path)["records"] > 0
