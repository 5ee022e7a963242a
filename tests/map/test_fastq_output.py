"""What `map` takes along and leaves out: comments as tags, unmapped reads, files of reads, PAF, read groups."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pysam
import pytest

from gpualign import _native
from gpualign.records.sam_header import dropped_tags
from gpualign.sequences.batch import SequenceBatch, join_bytes
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.paths import ROOT
from tests.helpers.sam import records, tags
from tests.helpers.sequences import random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
NOWHERE = random_genome(99, 100)


@pytest.fixture(scope="module")
def genome() -> str:
    return random_genome(31, 20_000)


@pytest.fixture
def reference(tmp_path: Path, genome: str) -> Path:
    return write_fasta(tmp_path / "ref.fa", chr=genome)


# --- comments


def comment_tags(*comments: str, dropped: str = "NM*XM*tsA", groups: tuple[str, ...] = ()) -> tuple[list[str], int]:
    text, offsets = join_bytes([comment.encode("latin-1") for comment in comments])
    tags, tag_offsets, invalid = _native.comment_tags(text, offsets, dropped, list(groups))
    ends = tag_offsets.tolist()
    return [tags[a:b].tobytes().decode() for a, b in pairwise(ends)], invalid


VALID = [
    *("BC:Z:AC GT", "aa:A:x", "x1:i:-12", "ff:f:-1.5e-3", "fg:f:.5", "ZZ:Z:", "HH:H:0AF9", "BB:B:c,-1,2", "BE:B:f"),
    "BF:B:f,1.5,2",
]
NOT_VALID = [
    *("1:N:0:ACGT", "length=100", "BC:Z", "BC:Z:x\x01", "B_:Z:x", "1B:Z:x", "BC:Q:x", "", "x", "BC Z:x"),
    *("BC:i:", "BC:i:1.5", "BC:i:+", "BC:A:", "BC:A:xy", "BC:f:x", "BC:f:1.", "BC:f:1e", "BC:H:0", "BC:H:0g"),
    *("BC:B:", "BC:B:x,1", "BC:B:c1", "BC:B:c,", "BC:B:c,1.5"),
]


@pytest.mark.parametrize("tag", VALID)
def test_a_comment_that_is_a_tag(tag: str) -> None:
    assert comment_tags(tag) == ([tag], 0)


@pytest.mark.parametrize("text", NOT_VALID)
def test_a_comment_that_is_no_tag(text: str) -> None:
    assert comment_tags(text, f"AA:Z:x\t{text}\tBB:Z:y", f"{text}\tAA:i:1") == (
        ["", "AA:Z:x\tBB:Z:y", "AA:i:1"],
        3 if text else 2,  # an empty comment is none
    )


def test_several_tags_and_those_that_are_ours() -> None:
    assert comment_tags("BC:Z:a\tNM:i:1\tRX:Z:b", "", "XM:Z:x\tBC:Z:a\tts:A:+\tts:i:7") == (
        ["BC:Z:a\tRX:Z:b", "", "BC:Z:a\tts:i:7"],
        0,
    )
    assert comment_tags("BC:Z:a\tBC:Z:b\tAA:Z:x\tBC:i:1") == (["BC:Z:a\tAA:Z:x"], 2)
    assert comment_tags("RG:Z:a\tBC:Z:a", "BC:Z:a\tRG:Z:b", "RG:i:1", groups=("b", "c")) == (
        ["BC:Z:a", "BC:Z:a\tRG:Z:b", ""],
        2,
    )
    assert comment_tags("RG:Z:b", dropped="RG*", groups=("b",)) == ([""], 0)


def test_copy_comments(cli: Cli, tmp_path: Path, reference: Path, genome: str) -> None:
    reads = write_fastq(
        tmp_path / "r.fq",
        ("a BC:Z:ACGT\tRX:Z:T T", genome[100:200], "I" * 100),
        ("b 1:N:0:ACGT\tRX:Z:AC", genome[200:300], "I" * 100),
        ("c", genome[300:400], "I" * 100),
        ("d AS:i:5\tRG:Z:other\tcc:i:3", NOWHERE, "I" * 100),
    )
    code, sam, error = cli("map", "-C", "-R", r"@RG\tID:x", reference, reads)
    assert code == 0
    assert [set(row[11:]) >= {"RG:Z:x"} for row in records(sam)] == [True] * 4
    extra = [sorted(t for t in row[11:] if t[:2] not in ("NM", "MD", "AS", "ed", "RG")) for row in records(sam)]
    assert extra == [["BC:Z:ACGT", "RX:Z:T T"], ["RX:Z:AC"], [], ["cc:i:3"]]
    assert error.count("warning: not copied: 1 field of comments, not a SAM tag (XX:T:value) or an RG that the") == 1
    assert "BC" not in tags(records(cli("map", reference, reads)[1])[0])


def test_read_groups_of_comments_are_those_of_the_header(cli: Cli, tmp_path: Path, genome: str) -> None:
    """Picard refuses a file with others."""
    reference = write_fasta(tmp_path / "ref.fa", chr=genome)
    reads = write_fastq(
        tmp_path / "r.fq",
        ("a RG:Z:other\tBC:Z:A", genome[100:200], "I" * 100),
        ("b RG:Z:lane", genome[200:300], "I" * 100),
    )
    code, sam, error = cli("map", "-C", reference, reads)
    assert code == 0
    assert not any("RG" in tags(row) for row in records(sam))
    assert tags(records(sam)[0])["BC"] == "A"
    assert "not copied: 2 fields of comments, not a SAM tag" in error
    code, sam, error = cli("mem", "-C", "-H", r"@RG\tID:lane\tSM:s", reference, reads)
    assert code == 0
    assert [tags(row).get("RG") for row in records(sam)] == [None, "lane"]
    assert "not copied: 1 field of comments" in error


def test_comments_of_pairs_from_two_files(cli: Cli, tmp_path: Path, reference: Path, genome: str) -> None:
    first = write_fastq(tmp_path / "1.fq", ("p/1 BC:Z:one", genome[100:200], "I" * 100))
    second = write_fastq(tmp_path / "2.fq", ("p/2 BC:Z:two", reverse_complement(genome[300:400]), "I" * 100))
    code, sam, _ = cli("map", "-C", "-I", "300", reference, first, second)
    assert code == 0
    assert [(row[0], tags(row)["BC"]) for row in records(sam)] == [("p", "one"), ("p", "two")]


def test_tags_of_two_bam_files(cli: Cli, tmp_path: Path, reference: Path, genome: str) -> None:
    """Tags of both are carried; those of an earlier alignment are not, and none stands there twice."""
    for end, bases in enumerate((genome[100:200], reverse_complement(genome[300:400]))):
        with pysam.AlignmentFile(str(tmp_path / f"{end}.bam"), "wb", header={"HD": {"VN": "1.6"}}) as out:
            record = pysam.AlignedSegment(out.header)
            record.query_name, record.flag, record.query_sequence = "p", 4, bases
            record.query_qualities = pysam.qualitystring_to_array("I" * 100)
            for tag, value in (("RX", f"U{end}"), ("MC", "50M"), ("MQ", 7), ("SA", "x,1,+,5M,3,0;"), ("XA", "y")):
                record.set_tag(tag, value)
            out.write(record)
    code, sam, _ = cli("map", "-I", "300", reference, tmp_path / "0.bam", tmp_path / "1.bam")
    assert code == 0
    one, two = records(sam)
    assert (tags(one)["RX"], tags(two)["RX"]) == ("U0", "U1")
    assert (tags(one)["MC"], tags(one)["MQ"]) == ("100M", two[4])
    assert not {"SA", "XA"} & set(tags(one))
    assert len(tags(one)) == len(one) - 11


OF_FORMER_ALIGNMENTS = [
    *(
        "cs:Z::100",
        "de:f:0.1",
        "dv:f:0.1",
        "tp:A:P",
        "cm:i:9",
        "s1:i:9",
        "s2:i:9",
        "ms:i:9",
        "nn:i:0",
        "rl:i:0",
        "zd:i:1",
    ),
    *(
        "cg:Z:100M",
        "ts:A:+",
        "HN:i:3",
        "NM:i:7",
        "MD:Z:100",
        "AS:i:1",
        "XS:i:1",
        "XA:Z:x",
        "XB:Z:x",
        "SA:Z:x,1,+,9M,3,0;",
    ),
    *(
        "MC:Z:50M",
        "MQ:i:9",
        "mc:i:1",
        "ed:i:7",
        "pa:f:0.5",
        "NH:i:2",
        "YT:Z:UU",
        "YS:i:1",
        "XM:i:1",
        "XO:i:1",
        "DT:Z:LB",
    ),
    *("dt:Z:SQ", "do:Z:x", "UQ:i:1", "PG:Z:x", "nM:i:1"),
]
OF_READS = [
    *(
        "RX:Z:AC",
        "MM:Z:A+a,1;",
        "ML:B:C,9",
        "ts:i:7",
        "pa:B:i,1,2",
        "XM:Z:AC",
        "RG:Z:g",
        "qs:f:9.5",
        "ch:i:4",
        "OQ:Z:I",
    ),
    *("xx:i:70000", "CR:Z:AC"),
]


@pytest.mark.parametrize("form", ["sam", "bam", "cram", "comment"])
def test_tags_of_a_former_alignment_are_left_out(
    cli: Cli, tmp_path: Path, reference: Path, genome: str, form: str
) -> None:
    """Those of the read stay, and of those that we write there is one."""
    given = tmp_path / "in.sam"
    all_tags = "\t".join([*OF_READS[:5], *OF_FORMER_ALIGNMENTS, *OF_READS[5:]])
    given.write_text(
        f"@HD\tVN:1.6\n@SQ\tSN:chr\tLN:{len(genome)}\n@RG\tID:g\tSM:s\n"
        f"r\t0\tchr\t1001\t60\t100M\t*\t0\t0\t{genome[1000:1100]}\t{'I' * 100}\t{all_tags}\n"
    )
    reads = tmp_path / f"in.{form}"
    options: list[str] = ["--tags", "XS,HN", "--cs", "short"]
    if form in ("bam", "cram"):
        pysam.samtools.view("-T", str(reference), "-O", form, "-o", str(reads), str(given), catch_stdout=False)
    elif form == "comment":
        reads = write_fastq(tmp_path / "in.fq", (f"r {all_tags}", genome[1000:1100], "I" * 100))
        options += ["-C"]
    for command in (["map", *options], ["mem", *(["-C"] if form == "comment" else [])]):
        code, sam, error = cli(*command, reference, reads)
        assert code == 0, error
        (row,) = records(sam)
        assert len(tags(row)) == len(row) - 11
        ours = {"NM:i:0", "MD:Z:100", "AS:i:100", "ed:i:0", "XS:i:0", "HN:i:1", "cs:Z::100"}
        assert set(row[11:]) <= {*OF_READS, *ours}
        assert set(row[11:]) >= {tag for tag in OF_READS if form != "comment" or tag[:2] != "RG"}


def test_the_tags_of_an_alignment_are_those_that_docs_list() -> None:
    page = (ROOT / "docs" / "commands" / "map.md").read_text()
    section = page.split("### Tags that are not copied")[1].split("With a type")[0]
    listed = set(re.findall(r"`(\w\w(?::\w)?)`", section)) - {"-C", "-R"}
    dropped = dropped_tags(keep_read_groups=False)
    assert {f"{tag[:2]}{tag[3:] or '*'}" for tag in listed} == {dropped[i : i + 3] for i in range(0, len(dropped), 3)}


# --- mapped and unmapped reads


@pytest.fixture
def pairs(tmp_path: Path, genome: str) -> tuple[Path, Path]:
    """Both ends from the genome, the first only, the second only, none."""
    left = genome[100:200], genome[500:600], NOWHERE, NOWHERE
    right = [reverse_complement(text) for text in (genome[300:400], NOWHERE, genome[900:1000], NOWHERE)]
    names = ("both", "first", "second", "none")
    return (
        write_fastq(tmp_path / "1.fq", *((f"{n}/1", text, "I" * 100) for n, text in zip(names, left, strict=True))),
        write_fastq(tmp_path / "2.fq", *((f"{n}/2", text, "5" * 100) for n, text in zip(names, right, strict=True))),
    )


def names_of(fastq: bytes) -> list[str]:
    return [line[1:].decode() for line in fastq.splitlines()[::4]]


@pytest.mark.parametrize("option", ["-U", "--no-unal", "--sam-hit-only"])
def test_unmapped_pairs_are_left_out_whole(cli: Cli, reference: Path, pairs: tuple[Path, Path], option: str) -> None:
    _, everything, _ = cli("map", "-I", "300", reference, *pairs)
    code, sam, error = cli("map", "-I", "300", option, reference, *pairs)
    assert code == 0
    assert [row[0] for row in records(sam)] == ["both", "both", "first", "first", "second", "second"]
    assert records(sam) == records(everything)[:6]
    assert "8 reads, 4 mapped" in error


def test_unmapped_single_reads_are_left_out(cli: Cli, reference: Path, pairs: tuple[Path, Path]) -> None:
    _, sam, _ = cli("map", "-U", reference, pairs[0])
    assert [row[0] for row in records(sam)] == ["both", "first"]


@pytest.mark.parametrize("extension", ["fq", "fq.gz"])
def test_files_of_reads(cli: Cli, tmp_path: Path, reference: Path, pairs: tuple[Path, Path], extension: str) -> None:
    un, al = tmp_path / f"un.{extension}", tmp_path / f"al.{extension}"
    code, _, _ = cli("map", "-I", "300", reference, *pairs, "--un", un, "--al", al)
    assert code == 0
    unmapped, mapped = (path.read_bytes() for path in (un, al))
    if extension.endswith("gz"):
        unmapped, mapped = gzip.decompress(unmapped), gzip.decompress(mapped)
    assert names_of(unmapped) == ["none/1", "none/2"]
    assert names_of(mapped) == ["both/1", "both/2", "first/1", "first/2", "second/1", "second/2"]
    given = [path.read_bytes().splitlines() for path in pairs]
    lines = mapped.splitlines()
    assert [lines[0:4], lines[4:8]] == [given[0][:4], given[1][:4]]  # as they were read, not as they lie
    code, again, _ = cli("map", "-p", "-I", "300", reference, al)
    assert code == 0
    assert [row[0] for row in records(again)] == ["both"] * 2 + ["first"] * 2 + ["second"] * 2


def test_files_of_fasta_reads(cli: Cli, tmp_path: Path, reference: Path, genome: str) -> None:
    reads = write_fasta(tmp_path / "r.fa", inside=genome[:80], outside=NOWHERE)
    un, al = tmp_path / "un.fa", tmp_path / "al.fa"
    assert cli("map", reference, reads, "--un", un, "--al", al)[0] == 0
    assert un.read_text() == f">outside\n{NOWHERE}\n"
    assert al.read_text() == f">inside\n{genome[:80]}\n"


def test_files_of_reads_do_not_depend_on_batches(cli: Cli, tmp_path: Path, some_reads: Path, reference: Path) -> None:
    outputs = []
    for threads, batch in ((1, "4M"), (3, "20K")):
        un = tmp_path / f"{threads}.fq.gz"
        options = ["-t", threads, "--batch-size", batch, "--un", un, "-o", tmp_path / "out.sam"]
        assert cli("map", reference, some_reads, *options)[0] == 0
        outputs.append(un.read_bytes())
    assert outputs[0] == outputs[1]
    # bee viruses are not in a random genome; comments are kept
    lines, given = (text.splitlines() for text in (gzip.decompress(outputs[0]), some_reads.read_bytes()))
    assert [line for i, line in enumerate(lines) if i % 4 != 2] == [line for i, line in enumerate(given) if i % 4 != 2]


def test_a_file_of_reads_is_refused_where_it_is_an_input(cli: Cli, reference: Path, pairs: tuple[Path, Path]) -> None:
    before = pairs[0].read_bytes()
    code, _, error = cli("map", reference, pairs[0], "--un", pairs[0])
    assert code == 2
    assert "is also an input" in error
    assert pairs[0].read_bytes() == before


def test_a_failed_run_leaves_no_files_of_reads(cli: Cli, tmp_path: Path, reference: Path) -> None:
    reads = tmp_path / "cut.fq"
    reads.write_text(f"@a\n{NOWHERE}\n+\n{'I' * 100}\n@b\nAC")
    code, _, _ = cli("map", reference, reads, "--un", tmp_path / "un.fq", "--al", tmp_path / "al.fq.gz")
    assert code == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.fq", "ref.fa"]


def test_a_full_disk_under_a_file_of_reads(cli: Cli, reference: Path, some_reads: Path) -> None:
    code, _, error = cli("map", reference, some_reads, "--un", "/dev/full")
    assert code == 1
    assert error == "gpualign map: error: cannot write /dev/full: No space left on device\n"


# --- PAF


def test_paf(cli: Cli, tmp_path: Path, reference: Path, genome: str) -> None:
    """By hand: a mismatch and a deletion on the reverse strand, a clipped end, an unmapped read."""
    middle = "A" if genome[1030] != "A" else "C"
    changed = genome[1000:1030] + middle + genome[1031:1060] + genome[1062:1100]
    clipped = random_genome(7, 20) + genome[2000:2080]
    reads = write_fastq(
        tmp_path / "r.fq",
        ("rev", reverse_complement(changed), "I" * 98),
        ("clip", clipped, "I" * 100),
        ("none", NOWHERE, "I" * 100),
    )
    code, paf, error = cli("map", "--paf", "-e", "0.2", reference, reads)
    assert code == 0
    rows = {row[0]: row[1:] for row in (line.split("\t") for line in paf.decode().splitlines())}
    assert list(rows) == ["rev", "clip"]
    assert rows["rev"][:10] == ["98", "0", "98", "-", "chr", "20000", "1000", "1100", "97", "100"]
    assert rows["rev"][11:] == ["NM:i:3", "AS:i:85", "tp:A:P", "cg:Z:" + cigar_of(cli, reference, reads, "rev")]
    start = int(rows["clip"][1])
    assert start >= 17  # bases before the 20th may match by chance
    expected = [str(n) for n in (100, start, 100)] + ["+", "chr", "20000", str(1980 + start), "2080"]
    assert rows["clip"][:8] == expected
    assert rows["clip"][-1] == f"cg:Z:{100 - start}M"
    assert "3 reads, 2 mapped" in error


def cigar_of(cli: Cli, reference: Path, reads: Path, name: str) -> str:
    rows = records(cli("map", "-e", "0.2", reference, reads)[1])
    return next(row[5] for row in rows if row[0] == name)


def test_paf_names_the_ends_of_pairs(cli: Cli, tmp_path: Path, reference: Path, pairs: tuple[Path, Path]) -> None:
    out = tmp_path / "out.paf"
    assert cli("map", "-I", "300", reference, *pairs, "-o", out)[0] == 0
    names = [line.split("\t")[0] for line in out.read_text().splitlines()]
    assert names == ["both/1", "both/2", "first/1", "second/2"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [(["--paf", "--sort"], "PAF is not sorted"), (["--paf", "--bam"], "only one form of output can be written")],
)
def test_paf_contradicts(cli: Cli, reference: Path, some_reads: Path, options: list[str], sentence: str) -> None:
    code, _, error = cli("map", reference, some_reads, *options)
    assert code == 2
    assert sentence in error


# --- read groups


def test_read_group_by_fields(cli: Cli, reference: Path, pairs: tuple[Path, Path]) -> None:
    code, sam, _ = cli("map", "--rg-id", "x", "--rg", "SM:bee", "--rg", "PL:ILLUMINA", reference, pairs[0])
    assert code == 0
    assert b"\n@RG\tID:x\tSM:bee\tPL:ILLUMINA\n" in sam
    assert {tags(row)["RG"] for row in records(sam)} == {"x"}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--rg", "SM:y"], "--rg needs --rg-id"),
        (["--rg-id", "x", "-R", r"@RG\tID:x"], "not both"),
        (["--rg-id", "x", "--rg", "SM"], "is not TAG:VALUE"),
        (["--rg-id", ""], "read group field 'ID:' is not"),
    ],
)
def test_read_groups_that_are_none(
    cli: Cli, reference: Path, pairs: tuple[Path, Path], options: list[str], sentence: str
) -> None:
    code, _, error = cli("map", *options, reference, pairs[0])
    assert code == 2
    assert sentence in error


def test_native_arrays_are_checked() -> None:
    batch = SequenceBatch.from_records([("a", "ACGT", "IIII")])
    with pytest.raises(ValueError, match="one choice per read"):
        _native.format_fastx(batch.native, join_bytes([b"ab"])[0], True)
    with pytest.raises(ValueError, match="reads differ in length"):
        _native.format_fastx((batch.names, batch.name_offsets[:1], *batch.native[2:]), None, True)
