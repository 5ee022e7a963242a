"""UMIs: their spellings, errors in them, duplex ones, and the tag MI."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import pytest

from tests.helpers.duplicate_cases import CONTIGS, pair, single
from tests.helpers.record_files import records_of, write_sam

Cli = Callable[..., tuple[int, bytes, str]]
HEAD = ["@HD\tVN:1.6\tSO:unsorted\tGO:query", *(f"@SQ\tSN:{name}\tLN:1000" for name in CONTIGS)]


def molecules(cli: Cli, folder: Path, lines: Sequence[str], *options: object) -> dict[str, str]:
    """MI of each name."""
    path = write_sam(folder / "in.sam", lines, HEAD)
    code, _, error = cli("markdup", path, "-o", folder / "out.sam", "--group", *options)
    assert code == 0, error
    found: dict[str, str] = {}
    for line in records_of(folder / "out.sam"):
        tags = [tag[5:] for tag in line.split("\t")[11:] if tag.startswith("MI:Z:")]
        assert found.setdefault(line.split("\t")[0], tags[0] if tags else "") == (tags[0] if tags else "")
    return found


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("M:1:F:1:1:1:1:AAAA+CCCC", "M:1:F:1:1:2:2:AAAA+CCCC", "M:1:F:1:1:3:3:AAAT+CCCC"),
        ("M:1:F:1:1:1:1:rAAAA+rCCCC", "M:1:F:1:1:2:2:rAAAA+rCCCC", "M:1:F:1:1:3:3:rAAAA+rCCCG"),
        ("M:1:F:1:1:1:1_AAAA", "M:1:F:1:1:2:2_AAAA", "M:1:F:1:1:3:3_AAAT"),
        ("read1_AAAA_CCCC", "read2_AAAA_CCCC", "read3_AATA_CCCC"),
        ("read1:AAAA-1", "read2:AAAA-1", "read3:AAAA-2"),
        ("SRR1.1_AAAA", "SRR1.2_AAAA", "SRR1.3_CCCC"),
    ],
)
@pytest.mark.parametrize("distance", [[], ["--duplex"]])
def test_spellings(cli: Cli, tmp_path: Path, one: str, same: str, other: str, distance: list[str]) -> None:
    lines = [line for name in (one, same, other) for line in pair(name, 100, 200)]
    found = molecules(cli, tmp_path, lines, "--barcode-name", *distance)
    assert [found[name].split("/")[0] for name in (one, same, other)] == ["0", "0", "1"]


def test_templates_without_a_umi_are_counted(cli: Cli, tmp_path: Path) -> None:
    lines = [*single("a_ACGT", 100), *single("b", 100), *single("c", 100)]
    path = write_sam(tmp_path / "in.sam", lines, HEAD)
    error = cli("markdup", path, "-o", tmp_path / "out.sam", "--barcode-name")[2]
    assert "warning: no barcode was found for 2 templates: these were compared with each other" in error
    assert "1 duplicate (33.33 %), 2 templates without a barcode" in error


def directional(umis: Sequence[str], distance: int) -> list[int]:
    """The cluster of each read by UMI-tools' directional method, as its documentation tells it."""
    counts = Counter(umis)
    edges: dict[str, list[str]] = {umi: [] for umi in counts}
    for a, b in combinations(counts, 2):
        if sum(x != y for x, y in zip(a, b, strict=True)) <= distance:
            if counts[a] >= 2 * counts[b] - 1:
                edges[a].append(b)
            if counts[b] >= 2 * counts[a] - 1:
                edges[b].append(a)
    of: dict[str, int] = {}
    for umi in sorted(counts, key=lambda umi: (-counts[umi], ["ACGTN".index(c) for c in umi])):
        waiting = [] if umi in of else [umi]
        number = len(set(of.values()))
        while waiting:
            at = waiting.pop()
            if at not in of:
                of[at] = number
                waiting += edges[at]
    return [of[umi] for umi in umis]


@pytest.mark.parametrize(("distance", "bases", "reads"), [(1, 3, 300), (1, 6, 900), (2, 8, 600)])
def test_umis_with_errors(cli: Cli, tmp_path: Path, seed: int, distance: int, bases: int, reads: int) -> None:
    """Few and many UMIs at one place."""
    rng = random.Random(seed)
    true = ["".join(rng.choices("ACGT", k=bases)) for _ in range(reads // 9)]
    umis = ["".join(rng.choice("ACGTN") if rng.random() < 0.05 else c for c in rng.choice(true)) for _ in range(reads)]
    lines = [line for i, umi in enumerate(umis) for line in single(f"r{i}", 100, tags=f"RX:Z:{umi}")]
    found = molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--umi-distance", distance)
    expected: dict[int, set[int]] = {}
    ours: dict[str, set[int]] = {}
    for i, cluster in enumerate(directional(umis, distance)):
        expected.setdefault(cluster, set()).add(i)
        ours.setdefault(found[f"r{i}"], set()).add(i)
    assert sorted(map(sorted, ours.values())) == sorted(map(sorted, expected.values()))
    assert set(ours) == set(map(str, range(len(ours))))


@pytest.mark.parametrize("options", [["--umi-distance", "1"], ["--duplex"], ["--umi-distance", "1", "--duplex"]])
def test_molecules_do_not_depend_on_the_order_of_the_input(
    cli: Cli, tmp_path: Path, seed: int, options: list[str]
) -> None:
    """Pairs and single reads elsewhere, some without a UMI, some with it in R2 alone."""
    rng = random.Random(seed)
    lines = []
    for i in range(400):
        umi = "".join(rng.choices("AC", k=3)) + "+" + "".join(rng.choices("AC", k=3))
        tags = rng.choice(["", *[f"RX:Z:{umi}"] * 9])
        kind = pair(f"r{i}", 100, rng.choice([200, 201]), tags=tags, swapped=rng.random() < 0.5)
        lines.append(kind if rng.random() < 0.8 else single(f"r{i}", 300, tags=tags))
        if len(lines[-1]) == 2 and rng.random() < 0.2:
            lines[-1][0] = lines[-1][0].split("\tRX")[0]

    def sets(found: dict[str, str]) -> set[frozenset[str]]:
        return {frozenset(name for name in found if found[name] == number) for number in set(found.values())}

    expected = sets(
        molecules(cli, tmp_path, [line for both in lines for line in both], "--barcode-tag", "RX", *options)
    )
    mixed = [line for both in lines for line in both]
    rng.shuffle(mixed)
    for mates in ("--mate-tags", "--no-mate-tags"):
        assert sets(molecules(cli, tmp_path, mixed, "--barcode-tag", "RX", *options, mates)) == expected
    assert 20 < len(expected) < 350


def test_the_rule_of_counts(cli: Cli, tmp_path: Path) -> None:
    """3 reads are errors of 5 (2 * 3 - 1), 4 are not."""
    for n, molecules_found in ((3, 1), (4, 2)):
        lines = [line for i in range(5) for line in single(f"a{i}", 100, tags="RX:Z:AAAA")]
        lines += [line for i in range(n) for line in single(f"b{i}", 100, tags="RX:Z:AAAT")]
        found = molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--umi-distance", "1")
        assert len(set(found.values())) == molecules_found


def test_strands_of_a_duplex(cli: Cli, tmp_path: Path) -> None:
    """A: R1 begins first. On the other strand the parts of the UMI are the other way round."""
    lines = [
        *pair("top", 100, 200, tags="RX:Z:AAC+GGT"),
        *pair("bottom", 100, 200, "5", tags="RX:Z:GGT+AAC", swapped=True),
        *pair("other", 100, 200, "6", tags="RX:Z:GGT+AAC"),
    ]
    found = molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--duplex")
    assert found == {"top": "0/A", "bottom": "0/B", "other": "1/A"}
    assert molecules(cli, tmp_path, lines, "--barcode-tag", "RX") == {"top": "0", "bottom": "1", "other": "1"}
    flags = {line.split("\t")[0]: int(line.split("\t")[1]) & 0x400 for line in records_of(tmp_path / "out.sam")}
    assert flags == {"top": 0, "bottom": 0x400, "other": 0}


def test_a_single_read_belongs_to_the_pair_that_begins_there(cli: Cli, tmp_path: Path) -> None:
    lines = [*single("s", 100, tags="RX:Z:AAAT"), *pair("p", 100, 200, tags="RX:Z:AAAA"), *single("t", 300)]
    found = molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--umi-distance", "1")
    assert found == {"s": "0", "p": "0", "t": "1"}


def test_of_several_tags_the_last_is_the_umi(cli: Cli, tmp_path: Path) -> None:
    tags = ("CB:Z:AAAA-1\tUB:Z:CCCC", "CB:Z:AAAA-1\tUB:Z:CCCG", "CB:Z:AAAC-1\tUB:Z:CCCC")
    lines = [line for i, tag in enumerate(tags) for line in single(f"r{i}", 100, tags=tag)]
    found = molecules(cli, tmp_path, lines, "--barcode-tag", "CB,UB", "--umi-distance", "1")
    assert found == {"r0": "0", "r1": "0", "r2": "1"}
