"""`gpualign markdup`: records of any aligner and order, fields of mates, options, and bad input."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from itertools import chain, islice, product
from pathlib import Path

import pysam
import pytest

import gpualign
from tests.helpers.duplicate_cases import CONTIGS, HEADER, joined, pair, random_lines, record, single
from tests.helpers.paths import EXAMPLES
from tests.helpers.record_files import header_of, records_of, without_tags, write_sam

Cli = Callable[..., tuple[int, bytes, str]]
CONTIG_LINES = [f"@SQ\tSN:{name}\tLN:1000" for name in CONTIGS]
HEAD = ["@HD\tVN:1.6\tSO:unsorted\tGO:query", *CONTIG_LINES, *HEADER[1:]]
MATE_TAGS = ("MC", "MQ", "ms")


def marked(cli: Cli, path: Path, *options: object) -> list[str]:
    """The records of the output."""
    out = path.with_name("out.bam")
    code, _, error = cli("markdup", path, "-o", out, *options)
    assert code == 0, error
    return records_of(out)


def flags_of(lines: list[str]) -> dict[tuple[str, int], int]:
    """0x400 of each record, by its name and other flags."""
    fields = [line.split("\t") for line in lines]
    return {(name, int(flag) & ~0x400): int(flag) & 0x400 for name, flag, *_ in fields}


@pytest.fixture
def templates(seed: int) -> list[list[str]]:
    return random_lines(random.Random(seed), 600, ties=False)


@pytest.mark.parametrize("memory", ["1G", "1M"])
def test_marks_do_not_depend_on_the_order_of_the_input(
    cli: Cli, tmp_path: Path, templates: list[list[str]], memory: str
) -> None:
    grouped = write_sam(tmp_path / "grouped.sam", joined(templates), HEAD)
    expected = flags_of(marked(cli, grouped))
    assert 100 < sum(map(bool, expected.values())) < len(expected) - 100
    pysam.samtools.sort("-o", str(tmp_path / "sorted.bam"), str(grouped), catch_stdout=False)
    mixed = joined(templates)
    random.Random(2).shuffle(mixed)
    others = [tmp_path / "sorted.bam", write_sam(tmp_path / "mixed.sam", mixed, ["@HD\tVN:1.6", *HEAD[1:]])]
    for path, mates in product(others, (["--mate-tags"], ["--no-mate-tags"])):
        found = marked(cli, path, *mates, "--sort-memory", memory, "--batch-size", "2K", "-t", "3")
        assert flags_of(found) == expected
        assert [line.split("\t")[0] for line in found] == [line.split("\t")[0] for line in records_of(path)]
    reports = [gpualign.mark_duplicates(path, tmp_path / "out.bam")["duplicates"] for path in (grouped, *others)]
    assert reports[0] == reports[1] == reports[2]


def test_mates_get_what_fixmate_gives_them(cli: Cli, tmp_path: Path, templates: list[list[str]]) -> None:
    """But for mates of unmapped ones, which get MC:Z:* there."""
    path = write_sam(tmp_path / "in.sam", joined(templates), HEAD)
    pysam.samtools.fixmate("-m", str(path), str(tmp_path / "fixed.bam"), catch_stdout=False)

    def tags(lines: list[str]) -> dict[tuple[str, int], list[str]]:
        fields = [line.split("\t") for line in lines]
        wanted = [field for field in fields if not int(field[1]) & 0x904]
        return {
            (name, int(flag) & 0xC0): sorted(tag for tag in rest if tag[:2] in MATE_TAGS and tag != "MC:Z:*")
            for name, flag, *rest in wanted
        }

    assert tags(marked(cli, path)) == tags(records_of(tmp_path / "fixed.bam"))
    assert not any(tag in line for line in marked(cli, path, "--no-mate-tags") for tag in ("MC:Z", "MQ:i", "ms:i"))


def test_records_stay_as_they_are(cli: Cli, tmp_path: Path, templates: list[list[str]]) -> None:
    """But for the flag, and tags of an earlier marking."""
    lines = [f"{line}\tXX:Z:kept\tDT:Z:LB\tYY:B:c,1,-2" for line in joined(templates)]
    old = [line.split("\t", 2) for line in lines]
    path = write_sam(tmp_path / "in.sam", [f"{name}\t{int(flag) | 0x400}\t{rest}" for name, flag, rest in old], HEAD)
    expected = marked(cli, write_sam(tmp_path / "new.sam", lines, HEAD))
    found = marked(cli, path)
    assert found == expected
    pairs = zip(found, joined(templates), strict=True)
    for line, given in pairs:
        name, flag, rest = without_tags(line, *MATE_TAGS).split("\t", 2)
        assert f"{name}\t{int(flag) & ~0x400}\t{rest}" == f"{given}\tXX:Z:kept\tYY:B:c,1,-2"


def test_any_order_of_a_templates_records(cli: Cli, tmp_path: Path) -> None:
    """Supplementary ones first or last, R2 before R1, names with /1 and /2: the worse of two pairs is marked whole."""
    split = record("b", 0x841, "c1", 500, "4M6H")
    first, second = pair("b", 100, 200, "5")
    good = pair("a", 100, 200)
    for lines in ([first, second, split], [split, second, first], [second, split, first]):
        found = marked(cli, write_sam(tmp_path / "in.sam", [*good, *lines], HEAD))
        assert [int(line.split("\t")[1]) & 0x400 for line in found] == [0, 0, 0x400, 0x400, 0x400]
    named = [line.replace("b\t", f"b/{1 + i}\t", 1) for i, line in enumerate((first, second))]
    found = marked(cli, write_sam(tmp_path / "in.sam", [*good, *named], HEAD))
    assert [int(line.split("\t")[1]) & 0x400 for line in found] == [0, 0, 0x400, 0x400]


def test_orphans_and_names_that_are_used_twice(cli: Cli, tmp_path: Path) -> None:
    """A read whose mate is not there counts as single; two single reads of one name are two templates."""
    lines = [pair("a", 100, 200)[0], *single("s", 100, "5"), *single("s", 100, "6"), *single("s", 300)]
    found = marked(cli, write_sam(tmp_path / "in.sam", lines, HEAD))
    assert [int(line.split("\t")[1]) & 0x400 for line in found] == [0, 0x400, 0x400, 0]


def test_a_name_of_many_orphans_in_a_row(cli: Cli, tmp_path: Path) -> None:
    """They are next to each other, so the file is grouped (samtools' tests have such files)."""
    lines = [*(pair("a", 100 + i, 200)[0] for i in range(5)), *pair("b", 300, 400)]
    lines[2:2] = pair("a", 500, 600)
    found = marked(cli, write_sam(tmp_path / "in.sam", lines, HEAD), "--batch-size", "1K")
    assert [line.split("\t")[0] for line in found] == ["a"] * 7 + ["b"] * 2
    path = write_sam(tmp_path / "in.sam", [*lines, lines[0]], HEAD)
    assert cli("markdup", path, "-o", tmp_path / "out.bam")[0] == 3


@pytest.mark.parametrize("length", [1, 31, 32, 33, 64, 100, 8191, 8192, 8225])
def test_sums_of_qualities(cli: Cli, tmp_path: Path, length: int) -> None:
    """ms: qualities of at least 15 count."""
    qualities = [random.Random(length + i).choices(range(94), k=length) for i in range(2)]
    lines = [
        f"a\t{flag}\tc1\t100\t60\t{length}M\t=\t100\t0\t{'A' * length}\t{''.join(chr(33 + q) for q in of)}"
        for flag, of in zip((65, 129), qualities, strict=True)
    ]
    found = marked(cli, write_sam(tmp_path / "in.sam", lines, [HEAD[0], "@SQ\tSN:c1\tLN:9999"]))
    expected = [sum(q for q in of if q >= 15) for of in reversed(qualities)]
    assert [line.split("\tms:i:")[1] for line in found] == [str(total) for total in expected]


@pytest.mark.parametrize("order", ["SO:unsorted\tGO:query", "SO:coordinate", "SO:unknown"])
def test_read_group_of_all_records(cli: Cli, tmp_path: Path, order: str) -> None:
    """-R replaces that of each record and of the header, and names the library of the metrics."""
    lines = [*pair("a", 100, 200, tags="RG:Z:old\tXX:i:1"), *pair("b", 100, 200)]
    lines = sorted(lines, key=lambda line: int(line.split("\t")[3])) if "coordinate" in order else lines
    path = write_sam(tmp_path / "in.sam", lines, [f"@HD\tVN:1.6\t{order}", *CONTIG_LINES, "@RG\tID:old\tLB:l"])
    words = ("-R", r"@RG\tID:new\tLB:lib", "--no-mate-tags", "--duplicate-metrics", tmp_path / "m.txt")
    found = marked(cli, path, *words)
    given = [line.replace("\tRG:Z:old", "") + "\tRG:Z:new" for line in lines]
    assert sorted(without_flag(line) for line in found) == sorted(without_flag(line) for line in given)
    assert sum(int(line.split("\t")[1]) & 0x400 for line in found) == 2 * 0x400
    assert [line for line in header_of(path.with_name("out.bam")) if "@RG" in line] == ["@RG\tID:new\tLB:lib"]
    assert "\nlib\t0\t2\t" in (tmp_path / "m.txt").read_text()
    assert "RG:Z:y" in marked(cli, path, "--rg-id", "y", "--rg", "SM:x")[0]
    assert cli("markdup", path, "-o", tmp_path / "x.bam", "-R", "RG")[0] == 2


def without_flag(line: str) -> str:
    name, _, rest = line.split("\t", 2)
    return f"{name}\t{rest}"


def test_counts_are_those_of_samtools(cli: Cli, tmp_path: Path, templates: list[list[str]]) -> None:
    """dc of pairs that face each other, of one library, without failed reads."""
    kept = [
        t for t in templates if "RG:Z:g1" in t[0] and len(t) == 2 and not int(t[0].split("\t")[1]) & 0x20C
        and (int(t[0].split("\t")[1]) ^ int(t[1].split("\t")[1])) & 0x10
    ]  # fmt: skip
    path = write_sam(tmp_path / "in.sam", joined(kept), HEAD)
    pysam.samtools.fixmate("-m", str(path), str(tmp_path / "f.bam"), catch_stdout=False)
    pysam.samtools.sort("-o", str(tmp_path / "s.bam"), str(tmp_path / "f.bam"), catch_stdout=False)
    markdup = ("--duplicate-count", str(tmp_path / "s.bam"), str(tmp_path / "m.bam"))
    pysam.samtools.markdup(*markdup, catch_stdout=False)

    def counts(lines: list[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for line in lines:
            found.setdefault(line.split("\t")[0], set()).update(t for t in line.split("\t")[11:] if t[:2] == "dc")
        return found

    assert counts(marked(cli, path, "--duplicate-count")) == counts(records_of(tmp_path / "m.bam"))


def test_the_first_is_kept_on_request(cli: Cli, tmp_path: Path) -> None:
    lines = [*single("a", 100, "5"), *single("b", 100, "I"), *single("c", 100, "6")]
    path = write_sam(tmp_path / "in.sam", lines, HEAD)
    assert [int(line.split("\t")[1]) for line in marked(cli, path)] == [0x400, 0, 0x400]
    assert [int(line.split("\t")[1]) for line in marked(cli, path, "--keep", "first")] == [0, 0x400, 0x400]


def test_removal_metrics_and_orders(cli: Cli, tmp_path: Path, templates: list[list[str]]) -> None:
    path = write_sam(tmp_path / "in.sam", joined(templates), HEAD)
    every = marked(cli, path)
    expected = [line for line in every if not int(line.split("\t")[1]) & 0x400]
    assert marked(cli, path, "--remove-duplicates") == expected
    metrics, bedgraph = tmp_path / "m.txt", tmp_path / "c.bedgraph"
    found = marked(cli, path, "--sort", "--write-index", "--duplicate-metrics", metrics, "--coverage", bedgraph)
    assert sorted(found) == sorted(every)
    assert header_of(tmp_path / "out.bam")[0] == "@HD\tVN:1.6\tSO:coordinate"
    assert "picard.sam.DuplicationMetrics" in metrics.read_text()
    assert bedgraph.read_text().startswith("c1\t0\t")
    assert (tmp_path / "out.bam.bai").exists()
    names = [line.split("\t")[0] for line in marked(cli, path, "--order", "lexicographic")]
    assert names == sorted(names)


def test_it_is_what_map_does(cli: Cli, tmp_path: Path) -> None:
    """`map --sort --mark-duplicates` writes the records that `map | markdup --sort` writes."""
    with gzip.open(EXAMPLES / "SRR059298_25k.fastq.gz", "rt") as file:
        text = "".join(islice(file, 8000))
    (tmp_path / "reads.fq").write_text(text + text[:4000].rpartition("\n@")[0].replace("@SRR", "@copy") + "\n")
    words = ("map", EXAMPLES / "genomes.fa", tmp_path / "reads.fq")
    assert cli(*words, "--sort", "--mark-duplicates", "-o", tmp_path / "map.bam")[0] == 0
    assert cli(*words, "-o", tmp_path / "mapped.sam")[0] == 0
    found = marked(cli, tmp_path / "mapped.sam", "--sort", "--tag-duplicates", "--no-mate-tags")
    assert found == records_of(tmp_path / "map.bam")
    assert any("DT:Z:" in line for line in found)


def test_a_file_that_only_seems_grouped(cli: Cli, tmp_path: Path) -> None:
    """The first mates are neighbours, and later ones are not: that is said, and nothing is written."""
    near = list(chain(*(pair(f"a{i}", 100 + i, 200) for i in range(200))))
    far = [*(pair(f"b{i}", 100 + i, 200)[0] for i in range(200)), *(pair(f"b{i}", 100 + i, 200)[1] for i in range(200))]
    path = write_sam(tmp_path / "in.sam", [*near, *far], HEAD)
    code, _, error = cli("markdup", path, "-o", tmp_path / "out.bam", "--batch-size", "1K")
    assert (code, "are not next to each other" in error) == (3, True)
    assert not (tmp_path / "out.bam").exists()


def test_usage(cli: Cli, tmp_path: Path) -> None:
    path = write_sam(tmp_path / "in.sam", pair("a", 100, 200), HEAD)
    for words in (["--write-index"], ["--coverage", tmp_path / "c.bg"], ["--umi-distance", "1"], ["--duplex"]):
        assert cli("markdup", path, "-o", tmp_path / "out.bam", *words)[0] == 2
    assert cli("markdup", path, "--sort", "--order", "natural")[0] == 2
    assert cli("markdup", path, "-o", tmp_path / "out.bam", "--dask", "local:1")[0] == 2


def test_python_function(tmp_path: Path) -> None:
    path = write_sam(tmp_path / "in.sam", [*pair("a", 100, 200), *pair("b", 100, 200, "5")], HEAD)
    report = gpualign.mark_duplicates(path, tmp_path / "out.bam", order="coordinate", write_index=True, tag_kind=True)
    assert (report["records"], report["duplicates"]["reads"]) == (4, 2)
    assert [line.split("\t")[-1] for line in records_of(tmp_path / "out.bam") if "\tDT:Z:" in line] == ["DT:Z:LB"] * 2
