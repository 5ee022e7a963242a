"""`map --samples`: every output is the one of a run of its own; what is wrong with a sample stops no other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pysam
import pytest

from tests.helpers.files import Record, write_fasta, write_fastq
from tests.helpers.sam import records, tags, without_program

Cli = Callable[..., tuple[int, bytes, str]]
Library = list[tuple[Record, Record]]


class Samples:
    """A reference, and samples of pairs and of single reads cut from one library."""

    def __init__(self, folder: Path, genome: str, library: Library) -> None:
        self.folder = folder
        self.reference = write_fasta(folder / "r.fa", g=genome)
        self.rows: list[str] = []
        for name, begin, end in (("a", 0, 100), ("b", 100, 250), ("c", 250, 400)):
            self.write(name, library[begin:end])
            self.rows.append(f"{name},{folder}/{name}_1.fq,{folder}/{name}_2.fq")

    def write(self, name: str, pairs: Library) -> None:
        for number in (0, 1):
            write_fastq(self.folder / f"{name}_{number + 1}.fq", *(pair[number] for pair in pairs))

    def sheet(self, *rows: str, header: str = "sample,fastq_1,fastq_2") -> Path:
        path = self.folder / "sheet.csv"
        path.write_text("\n".join([header, *(rows or self.rows)]) + "\n")
        return path

    @property
    def out(self) -> Path:
        return self.folder / "out"


@pytest.fixture
def samples(tmp_path: Path, genome: str, library: Library) -> Samples:
    return Samples(tmp_path, genome, library)


def text(bam: Path) -> bytes:
    """SAM, without @PG."""
    return without_program(pysam.view("-h", "--no-PG", str(bam)).encode())


def of_its_own(cli: Cli, samples: Samples, name: str, *reads: str, group: str = "") -> bytes:
    """What a run of its own writes."""
    group = group or rf"@RG\tID:{name}\tSM:{name}"
    code, out, error = cli("map", samples.reference, *reads, "-R", group)
    assert code == 0, error
    return without_program(out)


@pytest.mark.parametrize("ways", [(), ("-t", "2"), ("-t", "2", "--batch-size", "5000"), ("-t", "3", "--sort")])
def test_outputs_are_those_of_single_runs(cli: Cli, samples: Samples, ways: tuple[str, ...]) -> None:
    code, out, error = cli("map", samples.reference, "--samples", samples.sheet(), "-o", samples.out, *ways)
    assert (code, out) == (0, b""), error
    assert sorted(os.listdir(samples.out)) == ["a.bam", "b.bam", "c.bam"]
    for name in "abc":
        reads = [f"{samples.folder}/{name}_{end}.fq" for end in (1, 2)]
        if "--sort" in ways:
            code, _, error = cli(
                *("map", samples.reference, *reads, "--sort", "-o", samples.folder / "one.bam"),
                *("-R", rf"@RG\tID:{name}\tSM:{name}"),
            )
            assert code == 0, error
            expected = text(samples.folder / "one.bam")
        else:
            expected = of_its_own(cli, samples, name, *reads)
        assert text(samples.out / f"{name}.bam") == expected


def test_coverage_and_metrics_of_each_sample(cli: Cli, samples: Samples) -> None:
    """Those of runs of its own, next to its output."""
    words = ("--sort", "--mark-duplicates", "-t", "2")
    ends = ("--coverage", ".mosdepth.summary.txt", "--duplicate-metrics", ".metrics.txt")
    code, _, error = cli("map", samples.reference, "--samples", samples.sheet(), "-o", samples.out, *words, *ends)
    assert code == 0, error
    one = samples.folder / "one"
    for name in "abc":
        reads = [f"{samples.folder}/{name}_{end}.fq" for end in (1, 2)]
        group = rf"@RG\tID:{name}\tSM:{name}"
        outputs = ("--coverage", one, "--duplicate-metrics", f"{one}.metrics.txt", "-o", f"{one}.bam")
        assert cli("map", samples.reference, *reads, "-R", group, *words, *outputs)[0] == 0
        for ending in (".mosdepth.summary.txt", ".mosdepth.global.dist.txt", ".metrics.txt"):
            found, expected = (Path(f"{stem}{ending}").read_text() for stem in (samples.out / name, one))
            assert found.split("\n\n", 1)[-1] == expected.split("\n\n", 1)[-1]  # the metrics begin with the command
            assert len(found) > 50


@pytest.mark.parametrize("option", ["--coverage", "--duplicate-metrics"])
@pytest.mark.parametrize("name", ["x.bedgraph", "./x"])
def test_names_that_are_no_endings(cli: Cli, samples: Samples, option: str, name: str) -> None:
    words = ("--sort", "--mark-duplicates", option, name)
    code, _, error = cli("map", samples.reference, "--samples", samples.sheet(), "-o", samples.out, *words)
    assert code == 2
    assert f"{option} is the ending of each sample's file, such as ." in error


def test_large_samples_are_mapped_by_all_threads(cli: Cli, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same outputs: here every sample counts as large."""
    monkeypatch.setattr("gpualign.map.tuning.SMALL_SAMPLE_BATCHES", 0)
    monkeypatch.setattr("gpualign.map.tuning.LARGE_SAMPLE_SHARE", 0.0)
    code, _, error = cli("map", samples.reference, "--samples", samples.sheet(), "-o", samples.out, "-t", "2")
    assert code == 0, error
    for name in "abc":
        reads = [f"{samples.folder}/{name}_{end}.fq" for end in (1, 2)]
        assert text(samples.out / f"{name}.bam") == of_its_own(cli, samples, name, *reads)


def test_lanes_become_one_output_with_read_groups(cli: Cli, samples: Samples) -> None:
    f = samples.folder
    sheet = samples.sheet(
        f"x\tL1\t{f}/a_1.fq\t{f}/a_2.fq\tILLUMINA\t{f}/x.sam",
        f"y\tL1\t{f}/b_1.fq\t{f}/b_2.fq\tILLUMINA\t",
        f"x\tL2\t{f}/c_1.fq\t{f}/c_2.fq\tILLUMINA\t",
        header="sample\tlane\tfastq_1\tfastq_2\tplatform\toutput",
    )
    code, _, error = cli("map", samples.reference, "--samples", sheet, "-o", samples.out)
    assert code == 0, error
    assert os.listdir(samples.out) == ["y.bam"]
    sam = (f / "x.sam").read_bytes()
    groups = [line for line in sam.decode().splitlines() if line.startswith("@RG")]
    assert groups == ["@RG\tID:x.L1\tSM:x\tPL:ILLUMINA", "@RG\tID:x.L2\tSM:x\tPL:ILLUMINA"]
    found = records(sam)
    assert [tags(record)["RG"] for record in found] == ["x.L1"] * 200 + ["x.L2"] * 300
    # as the lanes of one input, apart from the read groups
    lanes = [f"{f}/a_{end}.fq,{f}/c_{end}.fq" for end in (1, 2)]
    expected = records(of_its_own(cli, samples, "x", *lanes))
    assert [[field for field in record if not field.startswith("RG:Z:")] for record in found] == [
        [field for field in record if not field.startswith("RG:Z:")] for record in expected
    ]


def test_a_bad_sample_stops_no_other(cli: Cli, samples: Samples) -> None:
    f = samples.folder
    (f / "bad.fq").write_text("@r\nACGT\n+\nII\n")
    sheet = samples.sheet(f"bad,{f}/bad.fq,", *samples.rows[:2], f"gone,{f}/gone.fq,")
    report, page = f / "all.json", f / "all.html"
    code, _, error = cli(
        *("map", samples.reference, "--samples", sheet, "-o", samples.out, "--json", report, "--report", page)
    )
    assert code == 3
    assert f"gpualign map: error: sample 'bad': {f}/bad.fq:" in error
    assert f"gpualign map: error: sample 'gone': {f}/gone.fq: No such file" in error
    assert error.splitlines()[-1] == "gpualign map: error: 2 of 4 samples failed: bad, gone"
    assert sorted(os.listdir(samples.out)) == ["a.bam", "b.bam"]
    fields = json.loads(report.read_text())
    assert [sample["sample"] for sample in fields["samples"]] == ["bad", "a", "b", "gone"]
    assert ["error" in sample for sample in fields["samples"]] == [True, False, False, True]
    assert (fields["failed"], fields["reads"], fields["mapped"]) == (2, 500, 500)
    assert sum(fields["mapq_histogram"]) == 500
    cells = [cell.text for cell in ElementTree.parse(page).iter() if cell.tag.endswith("}td")]
    assert [name for name in cells if name in ("bad", "a", "b", "gone")] == ["bad", "a", "b", "gone"]


def test_resume_skips_what_is_finished(cli: Cli, samples: Samples, library: Library) -> None:
    run = ("map", samples.reference, "--samples", samples.sheet(), "-o", samples.out)
    kept = ("--resume", samples.folder / "kept", "--json", samples.folder / "r.json")

    def report(*more: object) -> tuple[int, list[str]]:
        assert cli(*run, *kept, *more)[0] == 0
        fields = json.loads((samples.folder / "r.json").read_text())
        assert [sample["sample"] for sample in fields["samples"]] == ["a", "b", "c"]
        return fields["finished_before"], [sample["reads"] for sample in fields["samples"]]

    assert report() == (0, [200, 300, 300])
    before = {name: (samples.out / f"{name}.bam").stat().st_mtime_ns for name in "abc"}
    assert report() == (3, [200, 300, 300])
    samples.write("b", library[:150])  # another input
    (samples.out / "c.bam").unlink()  # no output
    assert report("-t", "2") == (1, [200, 300, 300])
    after = {name: (samples.out / f"{name}.bam").stat().st_mtime_ns for name in "abc"}
    assert [name for name in "abc" if before[name] == after[name]] == ["a"]
    assert report("-e", "0.05") == (0, [200, 300, 300])  # other parameters
    (samples.out / "a.bam").write_bytes(b"")  # not the output that was written
    assert report("-e", "0.05") == (2, [200, 300, 300])


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("READS",), "not by both"),
        (("-R", r"@RG\tID:x"), "-R is for one sample"),
        (("--un", "un.fq"), "--un is for one sample"),
        (("--sensitivity", "full"), "one by one"),
    ],
)
def test_what_is_said_for_each_sample(cli: Cli, samples: Samples, words: tuple[str, ...], says: str) -> None:
    code, _, error = cli("map", samples.reference, *words, "--samples", samples.sheet(), "-o", samples.out)
    assert (code, says in error) == (2, True), error


def test_resume_makes_a_missing_index(cli: Cli, samples: Samples) -> None:
    run = ("map", samples.reference, "--samples", samples.sheet(), "-o", samples.out, "--sort", "--write-index")
    kept = ("--resume", samples.folder / "kept")
    assert cli(*run, *kept)[0] == 0
    bytes_before = (samples.out / "b.bam.bai").read_bytes()
    (samples.out / "b.bam.bai").unlink()
    code, _, error = cli(*run, *kept)
    assert (code, "2 samples finished before" in error) == (0, True), error
    assert (samples.out / "b.bam.bai").read_bytes() == bytes_before
    assert "3 samples finished before" in cli(*run, *kept)[2]


def test_resume_wants_samples(cli: Cli, samples: Samples) -> None:
    assert cli("map", samples.reference, samples.folder / "a_1.fq", "--resume", samples.folder)[0] == 2


def test_outputs_that_are_inputs(cli: Cli, samples: Samples) -> None:
    f = samples.folder
    (f / "link.sam").symlink_to(f / "a_1.fq")
    sheet = samples.sheet(f"a,{f}/a_1.fq,{f}/link.sam", header="sample,fastq_1,output")
    code, _, error = cli("map", samples.reference, "--samples", sheet)
    assert (code, "is also an input" in error) == (2, True)
    sheet = samples.sheet(f"a,{f}/a_1.fq,", f"b,{f}/b_1.fq,{f}/a.bam", header="sample,fastq_1,output")
    code, _, error = cli("map", samples.reference, "--samples", sheet, "-o", f)
    assert (code, "two outputs are named" in error) == (2, True)


def test_bam_keeps_its_read_groups(cli: Cli, samples: Samples) -> None:
    f = samples.folder
    source = f / "u.bam"
    with pysam.AlignmentFile(str(source), "wb", header={"HD": {"VN": "1.6"}, "RG": [{"ID": "own", "SM": "s"}]}) as out:
        record = pysam.AlignedSegment(out.header)
        record.query_name, record.flag, record.query_sequence = "r", 4, "ACGTACGTAC" * 8
        record.query_qualities = pysam.qualitystring_to_array("I" * 80)
        record.set_tag("RG", "own")
        out.write(record)
    assert cli("map", samples.reference, "--samples", samples.sheet(f"u,{source},"), "-o", samples.out)[0] == 0
    with pysam.AlignmentFile(str(samples.out / "u.bam")) as bam:
        assert [group["ID"] for group in bam.header.to_dict()["RG"]] == ["own"]
        assert [record.get_tag("RG") for record in bam] == ["own"]
