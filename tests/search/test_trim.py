"""`search --trim`: reads without adapters, by hand and by a naive oracle; pairs, barcodes, UMIs, reports, messages."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pysam
import pytest

from gpualign import _native
from gpualign.search.adapters import groups_of, native_set
from gpualign.search.params import SearchParams
from gpualign.search.trim_params import TrimParams
from gpualign.sequences.batch import SequenceBatch
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.sequences import reverse_complement

ADAPTER = "AGATCGGAAGAGC"
INSERT = "TTGCATTACGGCTATGCCATTGAC"


def trimmed(cli: Any, folder: Path, *reads: str, options: str) -> list[str]:
    """The sequences that are written, one a read."""
    path = write_fasta(folder / "reads.fa", reads)
    status, out, errors = cli("search", path, *options.split(), "-q")
    assert status == 0, errors
    return out.decode().split("\n")[1::2]


@pytest.mark.parametrize(
    ("options", "read", "expected"),
    [
        (f"-P {ADAPTER} --trim 3", INSERT + ADAPTER + "TTT", INSERT),
        (f"-P {ADAPTER} --trim 3", INSERT + ADAPTER[:3], INSERT),
        (f"-P {ADAPTER} --trim 3", INSERT + ADAPTER[:2], INSERT + ADAPTER[:2]),  # fewer than 3 bases
        (f"-P {ADAPTER} --trim 3 --min-overlap 2", INSERT + ADAPTER[:2], INSERT),
        (f"-P {ADAPTER} --trim 3", INSERT + ADAPTER[:5] + ADAPTER[6:], INSERT),  # one error of 13 bases
        (f"-P {ADAPTER} --trim 3 --mismatches-only", INSERT + ADAPTER[:5] + ADAPTER[6:], None),
        (f"-P {ADAPTER} --trim 3 -e 0", INSERT + ADAPTER[:5] + "T" + ADAPTER[6:] + "TTT", None),
        (f"-P {ADAPTER} --trim 3 -k 2", INSERT + "T" + ADAPTER[1:5] + "T" + ADAPTER[6:], INSERT),
        (f"-P {ADAPTER} --trim 3", ADAPTER + INSERT, ""),
        (f"-P {ADAPTER} --trim 5", "TTT" + ADAPTER + INSERT, INSERT),
        (f"-P {ADAPTER} --trim 5", ADAPTER[-4:] + INSERT, INSERT),
        (f"-P {ADAPTER} --trim any", ADAPTER[-4:] + INSERT, INSERT),
        (f"-P {ADAPTER} --trim any", "C" + INSERT + ADAPTER, "C" + INSERT),
        (f"-P {ADAPTER} --trim both", ADAPTER + INSERT + reverse_complement(ADAPTER), INSERT),
        (f"-P {ADAPTER} --trim both", INSERT + reverse_complement(ADAPTER)[:6], INSERT),
        (f"-P ^{ADAPTER} --trim 5", ADAPTER + INSERT, INSERT),
        (f"-P ^{ADAPTER} --trim 5", "T" + ADAPTER[1:] + INSERT, INSERT),
        (f"-P ^{ADAPTER} --trim 5", "TT" + ADAPTER + INSERT, None),
        (f"-P {ADAPTER}$ --trim 3", INSERT + ADAPTER, INSERT),
        (f"-P {ADAPTER}$ --trim 3", INSERT + ADAPTER + "TT", None),
        (f"-P {ADAPTER}X --trim 3", INSERT + ADAPTER[:6], INSERT),
        (f"-P {ADAPTER}X --trim 3", INSERT + ADAPTER + "TTTT", None),
        (f"-P X{ADAPTER} --trim 5", ADAPTER[-6:] + INSERT, INSERT),
        (f"-P X{ADAPTER} --trim 5", "TTTT" + ADAPTER + INSERT, None),
        ("-P ^GGCC...AATT --trim 3", "GGCC" + INSERT + "AATTCC", INSERT),
        ("-P ^GGCC...AATT --trim 3", INSERT + "AATTCC", None),  # the anchored one must be found
        ("-P GGCC...AATT --trim 5", "GGCC" + INSERT, None),  # both must
        ("-P T{9} --trim 3 -e 0", INSERT + "T" * 9 + "C", INSERT),
        ("-P GATNNNATC --trim 3 -e 0", INSERT + "GATCCCATC", INSERT),
        (f"-P {ADAPTER.lower()} --trim 3", (INSERT + ADAPTER).lower(), INSERT.lower()),
        (f"-P {ADAPTER} --trim 3 --action mask", INSERT + ADAPTER, INSERT + "N" * 13),
        (f"-P {ADAPTER} --trim 3 --action none", INSERT + ADAPTER, None),
        (f"-P {ADAPTER} --trim 3 --times 2", INSERT + ADAPTER + ADAPTER, INSERT),
        (f"-P TTTT,{ADAPTER} --trim 3 -e 0", INSERT + ADAPTER + "TTTT", INSERT),  # the higher score
        ("--poly-a", INSERT + "AAAAAAAAGAAA", INSERT),
        ("--poly-a", INSERT + "AA", None),
    ],
)
def test_one_read(cli, tmp_path: Path, options: str, read: str, expected: str | None) -> None:
    assert trimmed(cli, tmp_path, read, options=options) == [read if expected is None else expected]


def test_which_reads_are_written(cli, tmp_path: Path) -> None:
    reads = [INSERT, INSERT + ADAPTER, ADAPTER]
    how = f"-P {ADAPTER} --trim 3"
    assert trimmed(cli, tmp_path, *reads, options=f"{how} --min-length 1") == [INSERT, INSERT]
    assert trimmed(cli, tmp_path, *reads, options=f"{how} --discard untrimmed") == [INSERT, ""]
    assert trimmed(cli, tmp_path, *reads, options=f"{how} --discard trimmed") == [INSERT]


def test_qualities(cli, tmp_path: Path) -> None:
    # 20 less each quality, summed from the end: -20, 18, 38, 58, of which the last is most
    path = write_fastq(tmp_path / "r.fq", ("r some text", "ACGTACGT", 'I#I#&"5"'))
    out = cli("search", path, "--quality-cutoff", "20", "-q")[1].decode().splitlines()
    assert out == ["@r some text", "ACG", "+", "I#I"]
    assert cli("search", path, "--quality-cutoff", "20,0", "-q")[1] == path.read_bytes()


def edits(one: str, two: str) -> int:
    row = list(range(len(two) + 1))
    for i, a in enumerate(one, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(two, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@pytest.mark.parametrize(("marks", "where"), [("", "3"), ("$", "3"), ("X", "3"), ("^", "5")])
def test_an_adapter_is_found_where_there_is_one(marks: str, where: str) -> None:
    """A naive oracle: every part of the read against every part of the adapter that the rule allows."""
    rng = random.Random(marks)
    rate, overlap = 0.25, 4
    found = 0
    for size in (5, 9):
        adapter = "".join(rng.choices("AC", k=size))
        text = f"^{adapter}" if marks == "^" else adapter + marks
        params, trim = SearchParams(error_rate=rate), TrimParams(trim=where, min_overlap=overlap)  # type: ignore[arg-type]
        groups = native_set(groups_of([("a", text.encode(), None)], params, trim), True)
        reads = ["".join(rng.choices("AC", k=rng.randint(4, 14))) for _ in range(40)]
        batch = SequenceBatch.from_records([("r", read) for read in reads])
        hits = _native.trim_reads(batch.native, groups, 0, 1, 0, 0, 0)[-1].reshape(-1, 6)
        expected = set()
        for number, read in enumerate(reads):
            n = len(read)
            for end in range(n + 1) if marks in ("", "^") else [n]:
                starts = [0] if marks == "^" else range(end + 1)
                for rows in range(overlap, size + 1) if marks in ("", "X") and end == n else [size]:
                    if any(edits(adapter[:rows], read[start:end]) <= rate * rows for start in starts):
                        expected.add(number)
        assert set(hits[:, 0].tolist()) == expected
        found += len(expected)
    assert 10 < found < 70


@pytest.fixture
def pairs(tmp_path: Path) -> tuple[Path, Path]:
    """Pairs r0 to r3 with barcodes AACC, AACC, GGTT and none in R1, and TTTTG, CCCCA, CCCCA and CCCCA in R2."""
    firsts = ["AACC" + INSERT, "AACC" + INSERT[1:], "GGTT" + INSERT, "CTCTCT"]
    seconds = [f"{code}{INSERT[::-1]}" for code in ("TTTTG", "CCCCA", "CCCCA", "CCCCA")]
    paths = (tmp_path / "r_1.fq.gz", tmp_path / "r_2.fq.gz")
    for mate, (path, reads) in enumerate(zip(paths, (firsts, seconds), strict=True), start=1):
        text = "".join(f"@r{i}/{mate} more\n{read}\n+\n{'I' * len(read)}\n" for i, read in enumerate(reads))
        path.write_bytes(gzip.compress(text.encode()))
    return paths


def names_in(folder: Path) -> dict[str, list[str]]:
    files = {path.name: gzip.decompress(path.read_bytes()).decode().split("\n") for path in folder.iterdir()}
    return {name: [line[1:3] for line in lines[:-1:4]] for name, lines in sorted(files.items())}


BARCODES = ("-P", "a=^AACC,b=^GGTT", "--pattern2", "a=^TTTTG,b=^CCCCA", "--trim", "5", "-e", "0", "-q")


def test_combinations_of_barcodes(cli, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    assert cli("search", *pairs, *BARCODES, "--split", tmp_path / "by")[0] == 0
    found = names_in(tmp_path / "by")
    assert found == {
        **{f"a-a_{mate}.fastq.gz": ["r0"] for mate in (1, 2)},
        **{f"a-b_{mate}.fastq.gz": ["r1"] for mate in (1, 2)},
        **{f"b-b_{mate}.fastq.gz": ["r2"] for mate in (1, 2)},
        **{f"unassigned_{mate}.fastq.gz": ["r3"] for mate in (1, 2)},
    }
    text = gzip.decompress((tmp_path / "by" / "a-b_2.fastq.gz").read_bytes()).decode()
    assert text == f"@r1/2 more\n{INSERT[::-1]}\n+\n{'I' * len(INSERT)}\n"


def test_unique_dual_barcodes(cli, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    assert cli("search", *pairs, *BARCODES, "--unique-dual", "--split", tmp_path / "by")[0] == 0
    found = names_in(tmp_path / "by")
    assert found == {
        **{f"a_{mate}.fastq.gz": ["r0"] for mate in (1, 2)},
        **{f"b_{mate}.fastq.gz": ["r2"] for mate in (1, 2)},
        **{f"unassigned_{mate}.fastq.gz": ["r1", "r3"] for mate in (1, 2)},
    }
    text = gzip.decompress((tmp_path / "by" / "unassigned_1.fastq.gz").read_bytes()).decode()
    assert text.split("\n")[1] == "AACC" + INSERT[1:]  # untouched


def test_umis_and_barcodes_in_bam(cli, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    bam = tmp_path / "out.bam"
    how = ("--umi", "3M1S,2M", "--umi-to", "RX", "-P", "^TTGC", "--in-mates", "1", "--trim", "5", "--barcode-tag")
    assert cli("search", *pairs, *how, "-e", "0", "-q", "-o", bam)[0] == 0
    with pysam.AlignmentFile(str(bam), check_sq=False) as file:
        records = list(file)
        assert file.header["PG"][-1]["PN"] == "gpualign"
    assert [(record.query_name, record.flag) for record in records[:2]] == [("r0", 77), ("r0", 141)]
    assert records[0].query_sequence == INSERT[4:]
    assert records[0].get_tag("RX") == "AAC-TT"
    found = [record.get_tag("BC") if record.has_tag("BC") else None for record in records]
    assert found == ["TTGC", "TTGC", None, None, "TTGC", "TTGC", None, None]
    again = tmp_path / "again.bam"
    status, _, errors = cli("search", bam, "--min-length", "20", "-q", "-o", again)
    assert (status, "its first read is one of a pair" in errors, again.exists()) == (3, True, False)
    assert cli("search", bam, "--interleaved", "--min-length", "20", "-q", "-o", again)[0] == 0
    with pysam.AlignmentFile(str(again), check_sq=False) as file:
        assert [record.to_string() for record in file] == [records[i].to_string() for i in (0, 1, 2, 3, 4, 5)]


def test_a_umi_in_the_name(cli, tmp_path: Path) -> None:
    path = write_fastq(tmp_path / "r.fq", ("r some", "ACGTTTGG", "IJKLMNOP"))
    assert cli("search", path, "--umi", "2M1S1M", "-q")[1] == b"@r_ACT some\nTTGG\n+\nMNOP\n"
    status, _, errors = cli("search", path, "--umi", "9M", "-q")
    assert (status, "read 'r' has 8 bases, but --umi cuts off 9" in errors) == (3, True)


def test_the_same_for_threads_and_batches(cli, tmp_path: Path) -> None:
    rng = random.Random(2)
    reads = []
    for i in range(3000):
        read = "".join(rng.choices("ACGT", k=rng.randint(20, 60))) + ADAPTER[: rng.randint(0, 13)]
        reads.append((f"r{i}", read, "".join(rng.choices("#5I", k=len(read)))))
    one = write_fastq(tmp_path / "1.fq", *reads)
    two = write_fastq(tmp_path / "2.fq", *reversed([(f"r{2999 - i}", *read[1:]) for i, read in enumerate(reads)]))
    written = set()
    for threads, batch in ((1, "4M"), (2, "1K"), (3, "50K")):
        paths = [tmp_path / f"{mate}_{threads}.fq.gz" for mate in (1, 2)]
        how = ("-P", ADAPTER, "--trim", "3", "--quality-cutoff", "20", "--min-length", "20", "-q")
        where = ("-o", paths[0], "--paired-output", paths[1], "-t", threads, "--batch-size", batch)
        assert cli("search", one, two, *how, *where)[0] == 0
        written.add(tuple(gzip.decompress(path.read_bytes()) for path in paths))
    assert len(written) == 1
    first, second = (text.count(b"\n") for text in written.pop())
    assert 4 * 500 < first == second < 4 * 3000


def test_interleaved_in_and_out(cli, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    joined = tmp_path / "joined.fq"
    how = ("-P", "^AACC", "--in-mates", "1", "--trim", "5", "-q")
    assert cli("search", *pairs, *how, "-o", joined)[0] == 0
    assert [line[:5] for line in joined.read_text().split("\n")[:-1:4]] == [
        f"@r{i}/{m}" for i in range(4) for m in "12"
    ]
    out = tmp_path / "o_1.fq", tmp_path / "o_2.fq"
    assert (
        cli("search", joined, "--interleaved", "--min-length", "1", "-q", "-o", out[0], "--paired-output", out[1])[0]
        == 0
    )
    assert cli("search", *pairs, *how, "-o", tmp_path / "1.fq", "--paired-output", tmp_path / "2.fq")[0] == 0
    assert [path.read_bytes() for path in out] == [(tmp_path / f"{mate}.fq").read_bytes() for mate in (1, 2)]


def test_the_report(cli, pairs: tuple[Path, Path], tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    how = ("-P", "a=^AACC,b=^GGTT", "--in-mates", "1", "--trim", "5", "--min-length", "7")
    status, _, errors = cli("search", *pairs, *how, "-o", tmp_path / "o.fq", "--json", report)
    assert (status, "4 pairs, 3 reads with adapters, 3 written" in errors) == (0, True)
    found = json.loads(report.read_text())
    assert (found["tool"], found["tag"]) == ("gpualign", "Cutadapt report")
    counts = found["read_counts"]
    assert (counts["input"], counts["output"], counts["filtered"]["too_short"]) == (4, 3, 1)
    assert (counts["read1_with_adapter"], counts["read2_with_adapter"]) == (3, None)
    bases = found["basepair_counts"]
    assert (bases["input_read1"], bases["output_read1"], bases["quality_trimmed"]) == (28 + 27 + 28 + 6, 71, None)
    adapter = found["adapters_read1"][0]
    assert (adapter["name"], adapter["total_matches"]) == ("a", 2)
    assert adapter["five_prime_end"]["trimmed_lengths"] == [{"len": 4, "expect": 4 * 0.25**4, "counts": [2]}]
    assert adapter["five_prime_end"]["type"] == "anchored_five_prime"


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("-P ^ACG$ --trim 3", 3, "^ and X stand before an adapter"),
        ("-P AC...GT --trim any", 3, "linked adapters say themselves where they are"),
        ("-P AC!T --trim 3", 3, "'!' is not a nucleotide code"),
        ("-P ACGT --trim 3 --unique-dual", 2, "only pairs have an R2"),
        ("-P ACGT --trim 3 --pam NGG", 2, "adapters are dna without --pam"),
        ("-P ACGT --trim 3 --bed", 2, "--trim writes reads"),
        ("-P ACGT --trim 3 --split by -o x.fq", 2, "--split writes reads by their barcodes"),
        ("-P ACGT --trim 3 --action mask --poly-a", 2, "--poly-a cuts what adapters leave"),
        ("-P ACGT --quality-cutoff 20", 2, "are cut off where --trim says"),
        ("-k 1 --min-length 5", 2, "are cut off where --trim says"),
        ("--umi 4S", 2, "a UMI is bases (M)"),
        ("--umi 4M,4M", 2, "--umi needs one part"),
        ("-P ACGT --trim 3 --device cuda", 2, "reads are trimmed on the CPU"),
        ("--quality-cutoff 20,x", 2, "a quality cutoff is a number"),
        ("--umi 8Q", 2, "a UMI is bases (M)"),
        ("-P ACGT -k 1 --discard trimmed", 2, "--discard is for reads with adapters"),
        ("-P ACGT -k 1 --interleaved", 2, "options of mates are for reads that are trimmed"),
    ],
)
def test_options_that_do_not_go_together(cli, tmp_path: Path, options: str, status: int, message: str) -> None:
    path = write_fasta(tmp_path / "r.fa", ["ACGTACGT"])
    found, out, errors = cli("search", *options.split(), path, device=None)
    assert (found, out) == (status, b"")
    assert message in errors


def test_mates_that_do_not_belong_together(cli, tmp_path: Path) -> None:
    one = write_fastq(tmp_path / "1.fq", ("a", "ACGT", "IIII"))
    two = write_fastq(tmp_path / "2.fq", ("b", "ACGT", "IIII"))
    status, _, errors = cli("search", one, two, "--min-length", "1", "-o", tmp_path / "o.fq")
    assert (status, "'a'" in errors, (tmp_path / "o.fq").exists()) == (3, True, False)
    status, _, errors = cli("search", one, "--interleaved", "--min-length", "1")
    assert (status, "the last read, 'a', has no mate" in errors) == (3, True)


def test_no_reads(cli, tmp_path: Path) -> None:
    path = tmp_path / "r.fq"
    path.write_bytes(b"")
    assert cli("search", "-P", "ACGT", "--trim", "3", path, "-q")[:2] == (0, b"")
