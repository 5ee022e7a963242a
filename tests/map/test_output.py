"""The forms of `map`'s output: BAM, CRAM, sorted, indexed; whole or absent, the same bytes whatever the threads."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO

import pysam
import pytest
from Bio import SeqIO
from Bio.Seq import Seq

from gpualign.ending import undo_all
from gpualign.errors import GpualignError
from gpualign.map.inputs import MapFiles, RecordOptions, Sample
from gpualign.map.params import MapParams
from gpualign.map.run import run_map
from gpualign.params import RunOptions
from gpualign.records.alignment_output import AlignmentLayout
from gpualign.records.cram import _private_folder
from gpualign.records.samtools import run_samtools
from tests.helpers.bam import parsed_index
from tests.helpers.commands import program
from tests.helpers.paths import GENOMES
from tests.helpers.sam import records

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
DEADLINE = 60  # seconds a test waits for a process


@pytest.mark.parametrize("others", ["", "N", "RYSWKMBDHVN"])
@pytest.mark.parametrize("length", [97, 98, 128, 131, 200])
def test_a_reverse_read_is_printed_as_it_lies_on_the_reference(
    cli: Cli, tmp_path: Path, length: int, others: str
) -> None:
    with GENOMES.open() as file:
        genome = next(SeqIO.parse(file, "fasta")).seq
    read = str(genome[500 : 500 + length].reverse_complement())
    read = read[: length // 2] + others + read[length // 2 + len(others) :]
    qualities = "".join(chr(ord("!") + 7 * i % 94) for i in range(length))
    (tmp_path / "reads.fq").write_text(f"@r\n{read}\n+\n{qualities}\n")
    status, out, _ = cli("map", GENOMES, tmp_path / "reads.fq", "-q", "--error-rate", "0.2")
    assert status == 0
    (fields,) = records(out)
    assert fields[1] == "16"
    # the genome has an N there, where the other one has another base than the read: both are an edit
    assert (fields[2], fields[3]) in {("NC_004830.2", "501"), ("HM067437.1", "500")}
    assert fields[9] == str(Seq(read).reverse_complement())
    assert fields[10] == qualities[::-1]


def body(path: Path, *options: str) -> list[str]:
    """Records as samtools prints them."""
    text = pysam.samtools.view(*options, str(path))
    assert isinstance(text, str)
    return text.splitlines()


def header(path: Path, *options: str) -> list[str]:
    text = pysam.samtools.view("-H", "--no-PG", *options, str(path))
    assert isinstance(text, str)
    return [line for line in text.splitlines() if not line.startswith("@PG\tID:gpualign")]


@pytest.fixture
def sam(cli: Cli, tmp_path: Path, some_reads: Path) -> Path:
    """What `map` writes as text."""
    path = tmp_path / "plain.sam"
    assert cli("map", GENOMES, some_reads, "-o", path, "-R", r"@RG\tID:x\tSM:y")[0] == 0
    return path


def by_coordinate(path: Path) -> list[str]:
    """Records in order of reference, position and strand; those without a position at the end; else as they were."""
    order = {name: i for i, name in enumerate(pysam.AlignmentFile(str(path)).references)}

    def key(line: str) -> tuple[int, int, int]:
        fields = line.split("\t")
        return (order.get(fields[2], len(order)), int(fields[3]), int(fields[1]) & 16)

    return sorted((line for line in path.read_text().splitlines() if line[0] != "@"), key=key)


@pytest.mark.parametrize("named", ["extension", "--bam", "--output-format", "standard output"])
def test_bam_holds_the_text_s_records(cli: Cli, tmp_path: Path, some_reads: Path, sam: Path, named: str) -> None:
    path = tmp_path / ("out.bam" if named == "extension" else "out.data")
    options = {"--bam": ["--bam"], "--output-format": ["--output-format", "BAM"], "standard output": ["--bam"]}
    target = [] if named == "standard output" else ["-o", path]
    code, out, _ = cli("map", GENOMES, some_reads, *target, *options.get(named, []), "-R", r"@RG\tID:x\tSM:y")
    assert code == 0
    if named == "standard output":
        path.write_bytes(out)
    assert body(path) == body(sam)
    assert header(path) == header(sam)
    assert header(path)[0] == "@HD\tVN:1.6\tSO:unsorted\tGO:query"
    pysam.samtools.quickcheck(str(path))
    assert len([line for line in pysam.samtools.view("-H", "--no-PG", str(path)).splitlines() if "@PG" in line]) == 1


def test_sorted_bam_and_its_index(cli: Cli, tmp_path: Path, some_reads: Path, sam: Path) -> None:
    path = tmp_path / "out.bam"
    options = ["--sort", "--write-index", "-R", r"@RG\tID:x\tSM:y"]
    assert cli("map", GENOMES, some_reads, *options, "-o", path)[0] == 0
    expected = by_coordinate(sam)
    assert body(path) == expected
    assert header(path) == ["@HD\tVN:1.6\tSO:coordinate", *header(sam)[1:]]
    with pysam.AlignmentFile(str(path)) as file:
        assert file.check_index()
        name = file.references[0]
        assert file.count(name, 1000, 1200) == len(
            [
                1
                for line in records(sam.read_bytes())
                if line[2] == name
                and int(line[3]) - 1 < 1200
                and int(line[3]) - 1 + pysam.AlignedSegment.from_dict(as_dict(line), file.header).reference_length
                > 1000
            ]
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.bam", "out.bam.bai", "plain.sam"]
    assert os.stat(path).st_mode & 0o777 == os.stat(sam).st_mode & 0o777


@pytest.mark.parametrize("level", ["0", "1", "2", "3", "6", "9"])
@pytest.mark.parametrize("sort", [[], ["--sort", "--write-index"]])
def test_compression_level(cli: Cli, tmp_path: Path, some_reads: Path, sam: Path, level: str, sort: list[str]) -> None:
    usual, path = tmp_path / "usual.bam", tmp_path / "out.bam"
    group = ["-R", r"@RG\tID:x\tSM:y"]
    assert cli("map", GENOMES, some_reads, *group, *sort, "-o", usual)[0] == 0
    assert cli("map", GENOMES, some_reads, *group, *sort, "--compression-level", level, "-o", path)[0] == 0
    assert body(path) == (by_coordinate(sam) if sort else body(sam))
    pysam.samtools.quickcheck(str(path))
    size, usual_size = path.stat().st_size, usual.stat().st_size
    if level == "0":
        assert size > len(gzip.decompress(path.read_bytes()))
    else:
        assert size == usual_size if level in "12" else size < usual_size
    if sort:
        pysam.samtools.index("-o", str(tmp_path / "theirs"), str(path))
        assert parsed_index(tmp_path / "out.bam.bai") == parsed_index(tmp_path / "theirs")


def test_compression_level_of_cram(cli: Cli, tmp_path: Path, some_reads: Path) -> None:
    outputs = [tmp_path / f"{level}.cram" for level in (0, 9)]
    for level, path in zip((0, 9), outputs, strict=True):
        options = ["--sort", "--write-index", "--compression-level", level]
        assert cli("map", GENOMES, some_reads, *options, "-o", path)[0] == 0
    assert body(outputs[0], "-T", str(GENOMES)) == body(outputs[1], "-T", str(GENOMES))
    assert outputs[0].stat().st_size > 1.5 * outputs[1].stat().st_size


def as_dict(fields: list[str]) -> dict[str, object]:
    keys = ["name", "flag", "ref_name", "ref_pos", "map_quality", "cigar", "next_ref_name", "next_ref_pos", "length"]
    return {**dict(zip(keys, fields, strict=False)), "seq": fields[9], "qual": fields[10], "tags": fields[11:]}


def test_sorted_text(cli: Cli, tmp_path: Path, some_reads: Path, sam: Path) -> None:
    path = tmp_path / "out.sam"
    assert cli("map", GENOMES, some_reads, "--sort", "-R", r"@RG\tID:x\tSM:y", "-o", path)[0] == 0
    assert [line for line in path.read_text().splitlines() if line[0] != "@"] == by_coordinate(sam)


@pytest.mark.parametrize("reference", ["plain", "gzip", "index"])
def test_cram_needs_no_more_than_the_reference(
    cli: Cli, tmp_path: Path, some_reads: Path, sam: Path, reference: str
) -> None:
    """Whatever file the reference came from. htslib's own copy of the FASTA decodes it."""
    given = {"plain": GENOMES, "gzip": tmp_path / "ref.fa.gz", "index": tmp_path / "ref.gpi"}[reference]
    if reference == "gzip":
        given.write_bytes(gzip.compress(GENOMES.read_bytes()))
    elif reference == "index":
        assert cli("index", GENOMES, "-d", given)[0] == 0
    fasta = tmp_path / "decode.fa"
    fasta.write_bytes(GENOMES.read_bytes())
    path = tmp_path / "out.cram"
    options = ["--sort", "--write-index", "-R", r"@RG\tID:x\tSM:y"]
    assert cli("map", given, some_reads, *options, "-o", path)[0] == 0
    assert path.read_bytes()[:6] == b"CRAM\x03\x00", "3.1 is not read by all"
    decoded = body(path, "-T", str(fasta), "--input-fmt-option", "decode_md=0")
    # htslib writes NM and MD into CRAM only where they differ from what it would compute
    assert [line.split("\t")[:11] for line in decoded] == [line.split("\t")[:11] for line in by_coordinate(sam)]
    tags = [sorted(line.split("\t")[11:]) for line in body(path, "-T", str(fasta))]
    assert tags == [sorted(line.split("\t")[11:]) for line in by_coordinate(sam)]
    sequences = [line for line in header(path) if line.startswith("@SQ")]
    assert all("\tM5:" in line for line in sequences)
    assert [f"\tUR:{GENOMES}" in line for line in sequences] == [reference == "plain"] * len(sequences)
    pysam.samtools.index(str(path), str(tmp_path / "samtools.crai"))
    assert (tmp_path / "out.cram.crai").read_bytes() == (tmp_path / "samtools.crai").read_bytes()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "layout", [AlignmentLayout("bam"), AlignmentLayout("bam", order="coordinate"), AlignmentLayout("cram")]
)
def test_bytes_do_not_depend_on_threads_batches_or_memory(
    tmp_path: Path, some_reads: Path, layout: AlignmentLayout
) -> None:
    outputs = []
    for threads, batch_size, memory in ((1, 1 << 22, 1 << 30), (3, 20_000, 1 << 20)):
        out = tmp_path / f"{threads}.out"
        options = RunOptions(str(out), threads, "cpu", batch_size=batch_size, quiet=True)
        form = replace(layout, sort_memory=memory if layout.sort else None)
        run_map(Sample(MapFiles(str(GENOMES), (str(some_reads),)), MapParams(), RecordOptions(), form, options))
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]


def test_no_reads_give_a_header(cli: Cli, tmp_path: Path) -> None:
    reads, path = tmp_path / "none.fq", tmp_path / "out.bam"
    reads.write_bytes(b"")
    code, _, error = cli("map", GENOMES, reads, "--sort", "--write-index", "-o", path)
    assert code == 0
    assert "no reads in" in error
    assert body(path) == []
    assert header(path)[0] == "@HD\tVN:1.6\tSO:coordinate"


@pytest.mark.parametrize("options", [[], ["--sort", "--write-index"], ["--mark-duplicates"]])
def test_no_records_give_a_header(cli: Cli, tmp_path: Path, options: list[str]) -> None:
    reads, path = tmp_path / "alien.fq", tmp_path / "out.bam"
    reads.write_text("@r\n" + "AC" * 50 + "\n+\n" + "I" * 100 + "\n")
    assert cli("map", GENOMES, reads, "-U", *options, "-o", path)[0] == 0
    assert body(path) == []
    pysam.samtools.quickcheck(str(path))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--write-index", "-o", "x.bam"], "an index needs records in the order of coordinates (add --sort)"),
        (["--write-index", "--sort", "-o", "x.sam"], "only BAM and CRAM have an index"),
        (["--write-index", "--sort", "--bam"], "an index needs an output file (give -o)"),
        (["--bam", "--output-format", "cram"], "only one form of output can be written, not bam and cram"),
        (["--output-format", "vcf"], "'vcf' is not one of"),
        (["--sort", "--sort-memory", "10K"], "memory for sorting must be at least 1M"),
        (["--sort-memory", "1G", "-o", "x.bam"], "memory for sorting needs sorting or marking"),
        (["--compression-level", "10", "-o", "x.bam"], "compression level must be from 0 to 9, not 10"),
        (["--compression-level", "5"], "only BAM and CRAM have a compression level"),
    ],
)
def test_contradicting_options(cli: Cli, some_reads: Path, options: list[str], sentence: str) -> None:
    code, out, error = cli("map", GENOMES, some_reads, *options)
    assert (code, out) == (2, b"")
    assert sentence in error


@pytest.mark.parametrize("options", [["-o", "out.bam"], ["--sort", "-o", "out.bam"], ["--sort", "-o", "out.cram"]])
def test_bad_reads_leave_nothing(cli: Cli, tmp_path: Path, some_reads: Path, options: list[str]) -> None:
    reads = tmp_path / "cut.fq"
    reads.write_bytes(some_reads.read_bytes()[:-100])
    code, _, error = cli("map", GENOMES, reads, *options[:-1], tmp_path / options[-1])
    assert code == 3
    assert error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["cut.fq"]


@pytest.mark.parametrize("sort", [[], ["--sort"]])
def test_full_disk(cli: Cli, some_reads: Path, sort: list[str]) -> None:
    code, _, error = cli("map", GENOMES, some_reads, "--bam", *sort, "-o", "/dev/full")
    assert code == 1
    assert error == "gpualign map: error: cannot write /dev/full: No space left on device\n"


def feed(arguments: list[str], drain: Callable[[IO[bytes]], None], folder: Path) -> None:
    """Write more to a samtools command than pipes hold."""
    with run_samtools(arguments, drain, str(folder), {}) as command:
        for _ in range(100):
            command.write(b"@CO\ttext\n" + b"r\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI\n" * 10_000)


def test_a_failed_command_says_why(tmp_path: Path) -> None:
    with pytest.raises(GpualignError, match=r"samtools ended with status 1: .*no-such-file"):
        feed(["view", "-h", "-L", "/no-such-file", "-"], lambda stream: None, tmp_path)


def test_an_output_that_fails_ends_the_command(tmp_path: Path) -> None:
    def fail(stream: IO[bytes]) -> None:
        raise GpualignError("no space")

    with pytest.raises(GpualignError, match="no space"):
        feed(["view", "-h", "-"], fail, tmp_path)


@pytest.mark.parametrize(
    ("options", "name", "files"),
    [
        (["--sort", "--sort-memory", "1M"], "x.bam", 1),  # temporary files have no names
        ([], "x.cram", 2),  # the file to be, and a folder for the reference
    ],
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_run_leaves_nothing(
    tmp_path: Path, some_reads: Path, number: int, options: list[str], name: str, files: int
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    command = program("map", GENOMES, "-", *options, "-t", "2", "-o", out / name)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(some_reads.read_bytes() * 20)  # more than it reads ahead: it maps, and waits for more
        process.stdin.flush()
        assert len(list(out.iterdir())) == files
        process.send_signal(number)
        _, error = process.communicate(timeout=DEADLINE)
    assert process.returncode == 128 + number
    assert error.count(b"\n") == 1
    assert list(out.iterdir()) == []


def test_a_reader_that_goes_away(some_reads: Path) -> None:
    command = program("map", GENOMES, some_reads, "--bam")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        error = process.stderr.read()
        assert process.wait(timeout=DEADLINE) == 141
    assert b"rror" not in error


def test_a_signal_while_the_folder_is_removed_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest moment: a reference of many contigs takes longer to remove than a signal leaves time for."""
    remove, removed = shutil.rmtree, []

    def ended(path: str, ignore_errors: bool = False) -> None:
        removed.append(path)
        if len(removed) == 1:
            undo_all()  # and the process is gone
        else:
            remove(path, ignore_errors)

    monkeypatch.setattr("gpualign.records.cram.shutil.rmtree", ended)
    with _private_folder(str(tmp_path / "a.cram")) as folder:
        (Path(folder) / "contig").touch()
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_the_folder_is_made_leaves_none(
    cli: Cli, tmp_path: Path, some_reads: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The earliest moment: the folder is there, and nobody has been told."""
    make = os.mkdir

    def made_and_interrupted(path: str, mode: int = 0o777) -> None:
        make(path, mode)
        raise KeyboardInterrupt

    def at_once(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr("gpualign.records.cram.os.mkdir", made_and_interrupted)
    monkeypatch.setattr("gpualign.cli._exit_at_once", at_once)
    assert cli("map", GENOMES, some_reads, "-o", tmp_path / "a.cram")[0] == 130
    assert list(tmp_path.iterdir()) == []
