"""`gpualign markdup` of merged lanes: names that several read groups use, or one uses again, and unknown libraries."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.helpers.record_files import records_of, write_sam

Cli = Callable[..., tuple[int, bytes, str]]
CONTIG = "@SQ\tSN:c1\tLN:100000"
LANES = [f"@RG\tID:lane{i}\tSM:s\tLB:l" for i in range(4)]
ORDERS = {"coordinate": "SO:coordinate", "grouped": "SO:unsorted\tGO:query", "mixed": "SO:unknown"}


def pair(name: str, left: int, right: int, quality: str, tags: str, mates_named: bool = True) -> list[str]:
    """Facing mates of 10 bases, and a supplementary record of R1."""
    ends = (("99", left, right), ("147", right, left), ("2145", left + 5000, right))
    lines = []
    for flag, at, mate in ends:
        mate_fields = f"=\t{mate}" if mates_named else "*\t0"
        lines.append(f"{name}\t{flag}\tc1\t{at}\t60\t10M\t{mate_fields}\t0\t{'A' * 10}\t{quality * 10}\t{tags}")
    return lines


def in_order(lines: Sequence[str], order: str) -> list[str]:
    if order == "mixed":
        return random.Random(3).sample(lines, len(lines))
    column = {"coordinate": 3, "grouped": 0}[order]
    return sorted(lines, key=lambda line: (int(line.split("\t")[3]) if column else 0, line.split("\t")[0]))


def marks(cli: Cli, path: Path, lines: Sequence[str], order: str, *options: object) -> list[str]:
    """The output of `lines` in an order."""
    given = write_sam(
        path.with_name("in.sam"), in_order(lines, order), [f"@HD\tVN:1.6\t{ORDERS[order]}", CONTIG, *LANES]
    )
    assert cli("markdup", given, "-o", path, *options)[0] == 0
    return records_of(path)


@pytest.mark.parametrize("same_group", [False, True])
@pytest.mark.parametrize("options", [("--no-mate-tags",), ("--mate-tags",)])
@pytest.mark.parametrize("order", list(ORDERS))
def test_names_that_are_used_again(
    cli: Cli, tmp_path: Path, seed: int, order: str, options: tuple[str, ...], same_group: bool
) -> None:
    """Every pair has a copy of lower quality at its two ends; its name is that of pairs elsewhere.

    Where they are all of one read group, RNEXT and PNEXT tell mates, also of the supplementary record.
    """
    rng = random.Random(seed)
    lines, expected = [], {}
    for i, left in enumerate(rng.sample(range(100, 3000, 20), 40)):
        right, group = left + 20 * rng.randrange(1, 30), "lane0" if same_group else f"lane{i % 4}"
        for kind, name in (("I", f"n{i // 4}"), ("5", f"copy{i // 4}")):
            lines += pair(name, left, right, kind, f"RG:Z:{group}\tXX:i:{i}")
            expected[name, i] = 0 if kind == "I" else 0x400
    found = defaultdict(set)
    for line in marks(cli, tmp_path / "out.sam", lines, order, *options):
        name, flag, *_ = line.split("\t")
        found[name, int(line.split("XX:i:")[1].split("\t")[0])].add(int(flag) & 0x400)
    assert found == {key: {value} for key, value in expected.items()}
    left_out = [line.split("\t")[0] for line in marks(cli, tmp_path / "out.sam", lines, order, "--remove-duplicates")]
    assert len(left_out) == len(lines) // 2
    assert not any(name.startswith("copy") for name in left_out)


@pytest.mark.parametrize("order", list(ORDERS))
def test_mates_that_do_not_name_each_other(cli: Cli, tmp_path: Path, order: str) -> None:
    """Read groups tell them all the same, and no half of a pair is left."""
    lines = []
    for i, left in enumerate((1000, 1100, 1200, 1050)):
        for quality, name in (("I", "n"), ("5", f"copy{i}")):
            lines += pair(name, left, left + 77 * (4 - i), quality, f"RG:Z:lane{i}", mates_named=False)
    found = marks(cli, tmp_path / "out.sam", lines, order, "--remove-duplicates")
    assert sorted(line.split("\t")[0] + line.rpartition("RG:Z:")[2][:5] for line in found) == sorted(
        f"n{lane}" for i in range(4) for lane in [f"lane{i}"] * 3
    )


def test_tags_of_mates_are_those_of_their_read_group(cli: Cli, tmp_path: Path) -> None:
    """R1 of two lanes, then R2 of both, as sorted by name; one mate of a third lane is not there."""
    lines = [
        f"n\t{flag}\tc1\t{at}\t{at % 60}\t{at % 7 + 4}M\t*\t0\t0\t*\t*\tRG:Z:lane{lane}"
        for flag, at, lane in ((65, 100, 0), (65, 201, 1), (65, 500, 2), (129, 302, 0), (129, 403, 1))
    ]
    path = write_sam(tmp_path / "in.sam", lines, ["@HD\tVN:1.6\tSO:queryname", CONTIG, *LANES])
    assert cli("markdup", path, "-o", tmp_path / "out.sam")[0] == 0
    found = [line.split("\t") for line in records_of(tmp_path / "out.sam")]
    assert [line[0] + line[3] for line in found] == ["n100", "n201", "n500", "n302", "n403"]
    tags = [[tag for tag in line[11:] if tag[:2] in ("MC", "MQ")] for line in found]
    of_mates = [(302, 0), (403, 1), None, (100, 3), (201, 4)]
    assert [set(of) for of in tags] == [
        set() if mate is None else {f"MQ:i:{mate[0] % 60}", f"MC:Z:{mate[0] % 7 + 4}M"} for mate in of_mates
    ]


def test_sort_by_template_keeps_read_groups_together(cli: Cli, tmp_path: Path) -> None:
    lines = [f"n\t{flag}\tc1\t5\t60\t4M\t*\t0\t0\t*\t*\tRG:Z:lane{i}" for flag in (65, 129) for i in (2, 0, 1)]
    path = write_sam(tmp_path / "in.sam", lines, [CONTIG, *LANES])
    assert cli("sort", "--template", path, "-o", tmp_path / "out.sam")[0] == 0
    found = [line.split("\t") for line in records_of(tmp_path / "out.sam")]
    assert [(line[1], line[11]) for line in found] == [(f, f"RG:Z:lane{i}") for i in range(3) for f in ("65", "129")]


@pytest.mark.parametrize("group", ["", "\tRG:Z:other"])
@pytest.mark.parametrize("order", ["coordinate", "grouped"])
@pytest.mark.parametrize("library", ["LB:l", "SM:s"])
def test_records_of_no_read_group_are_of_an_unknown_library(
    cli: Cli, tmp_path: Path, group: str, order: str, library: str
) -> None:
    """As a read group without LB is."""
    lines = [f"{name}\t0\tc1\t100\t60\t10M\t*\t0\t0\t{'A' * 10}\t{'I' * 10}" for name in "ab"]
    lines = [f"{lines[0]}\tRG:Z:a", lines[1] + group]
    header = [f"@HD\tVN:1.6\t{ORDERS[order]}", CONTIG, f"@RG\tID:a\t{library}"]
    path, metrics = write_sam(tmp_path / "in.sam", lines, header), tmp_path / "metrics.txt"
    assert cli("markdup", path, "-o", tmp_path / "out.sam", "--duplicate-metrics", metrics)[0] == 0
    flags = [int(line.split("\t")[1]) for line in records_of(tmp_path / "out.sam")]
    assert flags == ([0, 0] if library == "LB:l" else [0, 0x400])
    rows = [line.split("\t")[:2] for line in metrics.read_text().splitlines() if line.startswith(("l\t", "Unknown"))]
    assert rows == ([["l", "1"], ["Unknown Library", "1"]] if library == "LB:l" else [["Unknown Library", "2"]])
