"""`gpualign map` through its command line: truth, records, determinism, indexes."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import edlib
import pytest

import gpualign
from gpualign.text.chunks import read_batches
from tests.helpers.commands import program
from tests.helpers.files import read_fasta, write_fasta, write_fastq
from tests.helpers.implementations import LEVELS
from tests.helpers.paths import GENOMES
from tests.helpers.sam import records, tags, without_program
from tests.helpers.sequences import random_genome, reverse_complement
from tests.reference.alignment import affine_score, replay

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]


# --- what is found


def test_reported_distance_is_the_true_best_of_brute_force(cli: Cli, some_reads: Path) -> None:
    """edlib against both strands of all genomes is the truth; at most one read in a thousand may miss it."""
    genomes = read_fasta(GENOMES)
    code, sam, _ = cli("map", GENOMES, some_reads, "--end-to-end")
    assert code == 0
    within = missed = 0
    for record in records(sam)[::2]:
        forward = record[9] if not int(record[1]) & 16 else reverse_complement(record[9])
        forward = forward.replace("N", "n")  # edlib's N would match the genome's
        backward = reverse_complement(forward)
        unknown = forward.count("n")
        limit = math.floor(0.085 * len(forward) + 1e-9) + (unknown if 4 * unknown <= len(forward) else 0)
        found = [
            edlib.align(query, genome, mode="HW", task="distance", k=limit)["editDistance"]
            for genome in genomes.values()
            for query in (forward, backward)
        ]
        best = min((distance for distance in found if distance >= 0), default=None)
        reported = int(tags(record)["ed"]) if "ed" in tags(record) else None
        if best is None:
            assert reported is None
            continue
        within += 1
        missed += reported != best
        assert reported is None or reported >= best
    assert within > 1000
    assert missed <= within // 1000


def test_every_record_replays(cli: Cli, some_reads: Path) -> None:
    """CIGARs consume SEQ; NM, MD and AS follow from SEQ, CIGAR and the reference; the alignment lies in its contig."""
    genomes = read_fasta(GENOMES)
    given = {batch.name(i): batch for batch in read_batches(str(some_reads)) for i in range(len(batch))}
    originals = {
        batch.name(i): (batch.sequence(i).decode(), batch.quality(i).decode())
        for batch in read_batches(str(some_reads))
        for i in range(len(batch))
    }
    _, sam, _ = cli("map", "-Y", GENOMES, some_reads)
    mapped = 0
    rows = records(sam)
    assert [row[0] for row in rows if not int(row[1]) & 0x800] == list(given)
    for row in rows:
        flag, sequence, quality = int(row[1]), row[9], row[10]
        bases, qualities = originals[row[0]]
        assert (sequence, quality) == (
            (reverse_complement(bases), qualities[::-1]) if flag & 16 else (bases, qualities)
        )
        assert row[6:9] == ["*", "0", "0"]
        if flag & 4:
            assert row[2:6] == ["*", "0", "0", "*"]
            continue
        mapped += 1
        edits, md, columns = replay(sequence, genomes[row[2]], int(row[3]) - 1, row[5])
        assert (tags(row)["NM"], tags(row)["MD"]) == (str(edits), md)
        assert int(tags(row)["AS"]) == affine_score(columns, (1, 4, 6, 1, 5))
        if "S" not in columns and "ed" in tags(row):
            assert edits >= int(tags(row)["ed"])
        aligned = [c for c in columns if c != "S"]
        assert aligned[0] in "=X"
        assert aligned[-1] in "=X"
        assert 0 <= int(row[4]) <= 60
    assert mapped > 2000


def test_recombinants_leave_repeats_ambiguous(cli: Cli, tmp_path: Path) -> None:
    """Reads of a stretch that two genomes share base by base have MAPQ 0; unique ones have more."""
    shared, left, right = random_genome(1, 2000), random_genome(2, 2000), random_genome(3, 2000)
    reference = write_fasta(tmp_path / "r.fa", one=left + shared, two=shared + right)
    reads = [("both", shared[500:600], "I" * 100), ("one", left[700:800], "I" * 100), ("two", right[9:109], "I" * 100)]
    _, sam, _ = cli("map", reference, write_fastq(tmp_path / "r.fq", *reads))
    both, one, two = records(sam)
    assert (both[2], both[3], both[4]) == ("one", "2501", "0")  # ties: the first locus
    assert (one[2], one[3]) == ("one", "701")
    assert (two[2], two[3]) == ("two", "2010")
    assert min(int(one[4]), int(two[4])) > 30


def test_read_made_of_repeats_alone_is_mapped_with_mapq_0(cli: Cli, tmp_path: Path) -> None:
    unit = random_genome(4, 171)
    reference = write_fasta(tmp_path / "r.fa", satellite=random_genome(5, 500) + unit * 3000 + random_genome(6, 500))
    reads = write_fastq(tmp_path / "r.fq", ("r", (unit * 2)[20:170], "I" * 150))
    _, sam, _ = cli("map", "--max-hits", 100, reference, reads)
    (record,) = records(sam)
    assert (record[4], record[5], tags(record)["NM"]) == ("0", "150M", "0")


@pytest.mark.parametrize("length", [30, 63, 64, 65, 100, 129, 250, 513, 999])
def test_both_strands_indels_and_ends(cli: Cli, tmp_path: Path, length: int) -> None:
    genome = random_genome(length, 20_000)
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    loci = [0, 5000, 20_000 - length]
    reads = []
    for at in loci:
        text = genome[at : at + length]
        middle = length // 2
        for name, bases in (
            ("exact", text),
            ("reverse", reverse_complement(text)),
            ("deletion", text[:middle] + text[middle + 1 :]),
            ("insertion", text[:middle] + ("A" if text[middle] != "A" else "C") + text[middle:]),
        ):
            reads.append((f"{at}_{name}", bases, "I" * len(bases)))
    _, sam, _ = cli("map", reference, write_fastq(tmp_path / "r.fq", *reads))
    for record in records(sam):
        at, kind = record[0].split("_")
        assert abs(int(record[3]) - 1 - int(at)) <= 1, record
        assert bool(int(record[1]) & 16) == (kind == "reverse")
        assert tags(record)["ed"] == ("0" if kind in ("exact", "reverse") else "1")


def test_a_deletion_counts_in_full_next_to_a_short_tandem_repeat(cli: Cli, tmp_path: Path) -> None:
    """Seeds that the repeat shifts by its period, the limit, must not hide the diagonal after the deletion."""
    genome = random_genome(109, 300) + (random_genome(110, 11) * 5)[:51] + random_genome(111, 300)
    read = genome[301:439] + genome[441:453]
    for strand, mutated in (("+", read), ("-", reverse_complement(read))):
        reads = write_fastq(tmp_path / "r.fq", (strand, mutated, "I" * 150))
        _, sam, _ = cli("map", write_fasta(tmp_path / "r.fa", g=genome), reads)
        (row,) = records(sam)
        assert (row[3], row[5], tags(row)["ed"]) == ("302", "138M2D12M", "2")


def test_n_matches_nothing(cli: Cli, tmp_path: Path) -> None:
    genome = random_genome(8, 3000)
    reference = write_fasta(tmp_path / "r.fa", g=genome[:1000] + "N" * 4 + genome[1004:])
    read = genome[960:1060]
    with_n = read[:10] + "NN" + read[12:]
    _, sam, _ = cli("map", reference, write_fastq(tmp_path / "r.fq", ("a", read, "I" * 100), ("b", with_n, "I" * 100)))
    a, b = records(sam)
    assert (a[3], a[5], tags(a)["NM"], tags(a)["MD"]) == ("961", "100M", "4", "40N0N0N0N56")
    assert (b[3], b[9], tags(b)["NM"]) == ("961", with_n, "6")
    assert tags(b)["MD"] == f"10{read[10]}0{read[11]}28N0N0N0N56"


def test_error_rate_is_the_limit(cli: Cli, tmp_path: Path) -> None:
    genome = random_genome(9, 5000)
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    mutated = list(genome[100:200])
    for i in (20, 45, 70):
        mutated[i] = "A" if mutated[i] != "A" else "C"
    reads = write_fastq(tmp_path / "r.fq", ("r", "".join(mutated), "I" * 100))
    assert [records(cli("map", "--end-to-end", "-e", e, reference, reads)[1])[0][1] for e in ("0.02", "0.03")] == [
        "4",
        "0",
    ]


def test_error_rate_is_rounded_down_as_in_verify(cli: Cli, tmp_path: Path) -> None:
    """0.05 * 72 is 3.6: three edits pass, four do not. 0.07 * 100, which is a little more than 7 in binary, is 7."""
    genome = random_genome(9, 5000)
    reference = write_fasta(tmp_path / "r.fa", g=genome)

    def read(length: int, edits: int) -> str:
        mutated = list(genome[100 : 100 + length])
        for i in range(edits):
            at = 8 + i * (length - 16) // edits
            mutated[at] = "ACGT"[("ACGT".index(mutated[at]) + 1) % 4]
        return "".join(mutated)

    for rate, length, maximum in (("0.05", 72, 3), ("0.07", 100, 7), ("0.29", 100, 29), ("0.01", 99, 0)):
        reads = [(f"r{edits}", read(length, edits), "I" * length) for edits in (maximum, maximum + 1)]
        path = write_fastq(tmp_path / "r.fq", *reads)
        (tmp_path / "c.tsv").write_text("".join(f"{name}\tg\t90\t210\t+\n" for name, _, _ in reads))
        command = ("verify", reference, path, "-e", rate, "-c", tmp_path / "c.tsv", "--no-header", "--device", "cpu")
        assert [line.split(b"\t")[0].decode() for line in cli(*command)[1].splitlines()] == [f"r{maximum}"]
        if maximum < 10:  # more would not be found by seeds
            _, sam, _ = cli("map", "--end-to-end", "-e", rate, "--sensitivity", "full", reference, path)
            assert [record[1] for record in records(sam)] == ["0", "4"]


# --- golden output


def test_golden_sam(cli: Cli, tmp_path: Path) -> None:
    genome = random_genome(10, 400)
    reference = write_fasta(tmp_path / "r.fa", chr=genome)
    mismatch = "A" if genome[150] != "A" else "C"
    changed = genome[101:150] + mismatch + genome[151:171]
    reads = write_fastq(
        tmp_path / "r.fq",
        ("exact comment", genome[40:110], "I" * 70),
        ("rev", reverse_complement(changed), "".join(chr(33 + i) for i in range(70))),
        ("none", "ACGT" * 10, "#" * 40),
        ("empty", "", ""),
    )
    code, sam, error = cli("map", reference, reads, "-R", r"@RG\tID:g1\tSM:s")
    assert code == 0
    assert "4 reads, 2 mapped (50.00 %)" in error
    lines = sam.decode().splitlines()
    assert lines[:3] == ["@HD\tVN:1.6\tSO:unsorted\tGO:query", "@SQ\tSN:chr\tLN:400", "@RG\tID:g1\tSM:s"]
    assert lines[3].startswith("@PG\tID:gpualign\tPN:gpualign\tVN:")
    backwards = "".join(chr(33 + i) for i in reversed(range(70)))
    assert lines[4:] == [
        f"exact\t0\tchr\t41\t60\t70M\t*\t0\t0\t{genome[40:110]}\t{'I' * 70}\tNM:i:0\tMD:Z:70\tAS:i:70\ted:i:0\tRG:Z:g1",
        f"rev\t16\tchr\t102\t60\t70M\t*\t0\t0\t{changed}\t{backwards}"
        f"\tNM:i:1\tMD:Z:49{genome[150]}20\tAS:i:65\ted:i:1\tRG:Z:g1",
        f"none\t4\t*\t0\t0\t*\t*\t0\t0\t{'ACGT' * 10}\t{'#' * 40}\tRG:Z:g1",
        "empty\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\tRG:Z:g1",
    ]


def test_eqx(cli: Cli, tmp_path: Path) -> None:
    genome = random_genome(11, 2000)
    read = genome[50:90] + ("A" if genome[90] != "A" else "C") + genome[91:130]
    reference = write_fasta(tmp_path / "r.fa", g=genome)
    _, sam, _ = cli("map", "--eqx", reference, write_fastq(tmp_path / "r.fq", ("r", read, "I" * 80)))
    assert records(sam)[0][5] == "40=1X39="


# --- the same bytes


def test_output_does_not_depend_on_threads_or_batches(cli: Cli, some_reads: Path) -> None:
    outputs = {
        without_program(cli("map", GENOMES, some_reads, "-t", threads, "--batch-size", batch)[1])
        for threads, batch in ((1, "4M"), (2, "4M"), (2, "20K"), (3, "1K"))
    }
    assert len(outputs) == 1


def test_every_instruction_set_gives_the_same_bytes(fifty: Path, some_reads: Path) -> None:
    outputs = set()
    for level in LEVELS:
        done = subprocess.run(
            program("map", GENOMES, some_reads),
            env={**os.environ, "GPUALIGN_ISA": level},
            capture_output=True,
            check=True,
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


def test_unknown_instruction_set_is_refused(fifty: Path) -> None:
    done = subprocess.run(
        program("map", GENOMES, fifty),
        env={**os.environ, "GPUALIGN_ISA": "z80"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "GPUALIGN_ISA=z80" in done.stderr


# --- indexes


def test_saved_index_gives_the_same_output(cli: Cli, tmp_path: Path, fifty: Path) -> None:
    _, expected, _ = cli("map", GENOMES, fifty, "-d", tmp_path / "a.gpi")
    assert cli("index", GENOMES, "-d", tmp_path / "b.gpi")[0] == 0
    for index in ("a.gpi", "b.gpi"):
        assert without_program(cli("map", tmp_path / index, fifty)[1]) == without_program(expected)


def test_saved_index_of_other_parameters_is_refused(cli: Cli, tmp_path: Path, fifty: Path) -> None:
    cli("index", GENOMES, "-k", 13, "-w", 2, "-d", tmp_path / "a.gpi")
    assert cli("map", tmp_path / "a.gpi", fifty, "-k", 13)[0] == 0
    code, out, error = cli("map", tmp_path / "a.gpi", fifty, "-k", 15)
    assert (code, out) == (3, b"")
    assert error == f"gpualign map: error: {tmp_path}/a.gpi: the index was built with k = 13, not 15 (build it again)\n"


def test_report(cli: Cli, tmp_path: Path, fifty: Path) -> None:
    _, sam, _ = cli("map", GENOMES, fifty, "--json", tmp_path / "r.json")
    report = json.loads((tmp_path / "r.json").read_text())
    mapped = [row for row in records(sam) if row[2] != "*"]
    assert (report["tool"], report["command"], report["reads"]) == ("gpualign", "map", 50)
    assert (report["mapped"], report["unmapped"]) == (len(mapped), 50 - len(mapped))
    histogram = report["edit_distance_histogram"]
    assert [sum(tags(row).get("ed") == str(d) for row in mapped) for d in range(len(histogram))] == histogram


def test_quiet_and_summary(cli: Cli, fifty: Path) -> None:
    assert cli("map", "-q", GENOMES, fifty)[2] == ""
    assert cli("map", GENOMES, fifty)[2].startswith("gpualign map: 50 reads, ")


def test_empty_reads_give_a_header_and_a_warning(cli: Cli, tmp_path: Path) -> None:
    for name, content in (("empty", b""), ("empty.gz", gzip.compress(b"")), ("blank", b"\n\n")):
        (tmp_path / name).write_bytes(content)
        code, sam, error = cli("map", GENOMES, tmp_path / name)
        assert code == 0
        assert len(sam.splitlines()) == 6
        assert error.count("warning") == 1
    assert io.BytesIO(sam).readline().startswith(b"@HD")


def test_parameters_of_the_mapper() -> None:
    """By the names that its documentation has; an unknown one is refused."""
    genome = "".join(random.Random(1).choices("ACGT", k=3000))
    read = "TTTTTTTT" + genome[1000:1100]
    for clip, cigar in ((0, "8S100M"), (100, "8I100M")):  # a gap costs 6 + 8, eight mismatches 32
        mapper = gpualign.Mapper([genome], device="cpu", clip=clip, most_hits=20, most_candidates=3, unpaired=9)
        assert mapper.map([read])["cigar"].tolist() == [cigar]
    with pytest.raises(gpualign.UsageError, match="reads"):
        gpualign.Mapper([genome], reads="")
