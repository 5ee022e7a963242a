"""UMIs: their spellings, errors in them, duplex ones, and the tag MI."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import ceil, comb
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


def with_far_errors(places: Sequence[Sequence[str]]) -> list[list[int]]:
    """The clusters of each place by --umi-distance auto, as docs/internals/algorithms.md tells it."""
    bases, templates = len(places[0][0]), sum(map(len, places))

    def chance(distance: int) -> float:
        return comb(bases, distance) * 3**distance / 4**bases

    def distance(a: str, b: str) -> int:
        return sum(x != y for x, y in zip(a, b, strict=True))

    clusters = [directional(umis, 1) for umis in places]
    roots = [  # of each molecule the UMI that was seen most often, and how often all of its UMIs were
        [
            (min(Counter(of).items(), key=lambda seen: (-seen[1], seen[0]))[0], len(of))
            for number in range(max(cluster) + 1)
            for of in [[umi for umi, mine in zip(umis, cluster, strict=True) if mine == number]]
        ]
        for umis, cluster in zip(places, clusters, strict=True)
    ]
    found: Counter[int] = Counter()
    compared: Counter[int] = Counter()

    def reach(molecules: list[tuple[str, int]], rates: dict[int, float]) -> int:
        """The farthest distance at which an error of the largest molecule may be likelier than chance."""
        alone, most = sum(n == 1 for _, n in molecules), max(n for _, n in molecules)
        likely = [d for d in (2, 3) if alone and rates[d] > 0 and most * rates[d] >= alone * chance(d)]
        return max(likely, default=0)

    for molecules in roots:
        limit = reach(molecules, {2: 0.1, 3: 0.1})
        for i, (umi, n) in enumerate(molecules):
            if n > 1 or i == 0:
                continue
            for d in range(2, limit + 1):
                compared[d] += i
            nearest = min(distance(umi, other) for other, _ in molecules[:i])
            found[nearest] += nearest <= limit
    rates = {d: max(0, found[d] - ceil(compared[d] * chance(d))) / templates for d in (2, 3)}
    for molecules, cluster in zip(roots, clusters, strict=True):
        limit, into = reach(molecules, rates), list(range(len(molecules)))
        alone = sum(n == 1 for _, n in molecules)
        for i, (umi, n) in enumerate(molecules):
            others = [(distance(umi, molecules[j][0]), j) for j in range(i) if into[j] == j]
            if n == 1 and others and (nearest := min(others))[0] <= limit:
                size = molecules[nearest[1]][1]
                if size * rates[nearest[0]] >= alone * chance(nearest[0]) and rates[nearest[0]] > 0:
                    into[i] = nearest[1]
        cluster[:] = [into[number] for number in cluster]
    return clusters


@pytest.mark.parametrize(("bases", "places", "share"), [(6, 30, 0.05), (8, 40, 0.03), (10, 60, 0.02), (12, 2, 0.03)])
def test_errors_of_several_bases(cli: Cli, tmp_path: Path, seed: int, bases: int, places: int, share: float) -> None:
    """At places of few UMIs, and of more than 64."""
    rng = random.Random(seed)
    true = [["".join(rng.choices("ACGT", k=bases)) for _ in range(320 // places)] for _ in range(places)]
    seen = [
        [
            "".join(rng.choice("ACGT") if rng.random() < share else c for c in rng.choice(umis))
            for _ in range(5 * len(umis))
        ]
        for umis in true
    ]
    lines = [
        line
        for at, umis in enumerate(seen)
        for i, umi in enumerate(umis)
        for line in single(f"r{at}_{i}", 100 + at, tags=f"RX:Z:{umi}")
    ]
    rng.shuffle(lines)
    found = molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--umi-distance", "auto")
    expected: dict[tuple[int, int], set[str]] = {}
    for at, clusters in enumerate(with_far_errors(seen)):
        for i, cluster in enumerate(clusters):
            expected.setdefault((at, cluster), set()).add(f"r{at}_{i}")
    ours: dict[str, set[str]] = {}
    for name, molecule in found.items():
        ours.setdefault(molecule, set()).add(name)
    assert sorted(map(sorted, ours.values())) == sorted(map(sorted, expected.values()))


def test_two_errors_are_joined_where_they_are_likelier_than_chance(cli: Cli, tmp_path: Path) -> None:
    """Two of three UMIs seen once have two errors of one seen often; at distance 1 each is a molecule."""
    umis = ["ACGTACGTAC"] * 20 + ["ACGTACGTTT", "TTGTACGTAC", "GGGGGGGGGG"]
    lines = [line for i, umi in enumerate(umis) for line in single(f"r{i}", 100, tags=f"RX:Z:{umi}")]
    number = {
        distance: len(set(molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--umi-distance", distance).values()))
        for distance in ("1", "auto")
    }
    assert number == {"1": 4, "auto": 2}


def test_a_distance_that_is_none(cli: Cli, tmp_path: Path) -> None:
    path = write_sam(tmp_path / "in.sam", single("a", 100), HEAD)
    code, _, error = cli("markdup", path, "-o", tmp_path / "out.sam", "--barcode-tag", "RX", "--umi-distance", "far")
    assert code == 2
    assert "'far' is neither a whole number nor auto" in error
    code, _, error = cli("markdup", path, "-o", tmp_path / "out.sam", "--umi-distance", "auto")
    assert code == 2
    assert "UMIs must be found to be compared" in error


@pytest.mark.parametrize(
    "options",
    [
        ["--umi-distance", "1"],
        ["--duplex"],
        ["--umi-distance", "1", "--duplex"],
        ["--umi-distance", "auto", "--duplex"],
    ],
)
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


@pytest.mark.parametrize("mates", ["--mate-tags", "--no-mate-tags"])
@pytest.mark.parametrize(("distance", "expected"), [("0", 1), ("1", 2), ("auto", 2)])
def test_the_end_of_r1_is_part_of_a_molecule(
    cli: Cli, tmp_path: Path, distance: str, expected: int, mates: str
) -> None:
    """As in UMI-tools (--paired), if UMIs are compared base by base; else as with Picard's BARCODE_TAG."""
    lines = [
        line
        for i in range(4)
        for swapped in (False, True)
        for line in pair(f"r{i}{swapped}", 100, 200, tags="RX:Z:ACGTAC", swapped=swapped)
    ]
    lines += single("s", 100, tags="RX:Z:ACGTAC")
    for given in (lines, random.Random(1).sample(lines, len(lines))):
        found = molecules(cli, tmp_path, given, "--barcode-tag", "RX", "--umi-distance", distance, mates)
        assert len(set(found.values())) == expected
        assert len({name[2:] + number for name, number in found.items() if name != "s"}) == 2


@pytest.mark.parametrize("umi", ["ACGTAC", "ACGTAC+", "AC+GT+AC"])
def test_a_duplex_needs_umis_of_two_parts(cli: Cli, tmp_path: Path, umi: str) -> None:
    """Where there are none, no strands are named or joined, and a warning counts the templates."""
    lines = [
        line
        for i, swapped in enumerate((False, True, True))
        for line in pair(f"r{i}", 100, 200, tags=f"RX:Z:{umi}", swapped=swapped)
    ]
    lines += [*pair("two", 100, 200, tags="RX:Z:AAA+CCC"), *pair("none", 300, 400)]
    found = molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--duplex")
    assert found == {"r0": "0", "r1": "1", "r2": "1", "two": "2/A", "none": "3"}
    error = cli("markdup", tmp_path / "in.sam", "-o", tmp_path / "out.sam", "--barcode-tag", "RX", "--duplex")[2]
    assert "warning: the UMIs of 3 templates do not have two parts (AAAA+CCCC): their strands stay apart" in error
    assert "warning: no barcode was found for 1 template" in error


@pytest.mark.parametrize("empty", ["RX:Z:", "RX:Z:-", "RX:Z:+", "XX:i:1"])
@pytest.mark.parametrize("order", ["SO:unsorted\tGO:query", "SO:coordinate"])
@pytest.mark.parametrize("distance", ["0", "1"])
def test_an_empty_umi_is_none(cli: Cli, tmp_path: Path, empty: str, order: str, distance: str) -> None:
    """It is that of templates without the tag, and no error of a UMI of one base."""
    lines = [
        line for name, tag in (("a", empty), ("b", "XX:i:1"), ("c", "RX:Z:A")) for line in single(name, 9, tags=tag)
    ]
    path = write_sam(tmp_path / "in.sam", lines, [f"@HD\tVN:1.6\t{order}", *HEAD[1:]])
    words = ("--barcode-tag", "RX", "--umi-distance", distance)
    code, _, error = cli("markdup", path, "-o", tmp_path / "out.sam", *words)
    assert code == 0
    assert "warning: no barcode was found for 2 templates" in error
    assert [int(line.split("\t")[1]) for line in records_of(tmp_path / "out.sam")] == [0, 0x400, 0]


def test_an_empty_part_is_not_a_longer_umi(cli: Cli, tmp_path: Path) -> None:
    lines = [line for i, umi in enumerate(("A+", "A", "A+C")) for line in single(f"r{i}", 9, tags=f"RX:Z:{umi}")]
    found = molecules(cli, tmp_path, lines, "--barcode-tag", "RX", "--umi-distance", "2")
    assert len(set(found.values())) == 3
