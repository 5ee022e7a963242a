"""Libraries of two kinds of pairs: what is estimated of them, next to bwa mem's estimate, and what is proper."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import gpualign
from gpualign.map.api_inputs import batch_of
from gpualign.map.cpu import map_batch
from gpualign.map.library import Library, estimate_pairs
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.reads.in_memory import as_batch, packed
from gpualign.reads.reads import Reads
from gpualign.seeds.index.minimizers import MinimizerIndex, build_index
from gpualign.seeds.index.run import choose_index_params
from tests.helpers.files import write_fasta, write_fastq
from tests.helpers.libraries import FACTS, READ, TESTED, Maker, Pair
from tests.helpers.sam import records, tags, without_program
from tests.helpers.sequences import random_genome, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
Ends = tuple[str, str]
PAIRED, PROPER = 1, 2
#: bwa takes for the library what lies within 10,000 bases or is nearest to the quartiles; here it is the size that most
#: pairs share, or both
UNLIKE_BWA = {
    *(("read-through, 40 to 145", percent) for percent in (25, 75, 90)),
    *(("inserts of 2,500 ± 150", percent) for percent in (25, 75)),
    *(("introns between mates", percent) for percent in (50, 75, 90, 100)),
    *(("facing away, 20,000 ± 1,500", percent) for percent in (50, 75, 90)),
}


@pytest.fixture(scope="module")
def maker() -> Maker:
    return Maker()


@pytest.fixture(scope="module")
def index(maker: Maker) -> MinimizerIndex:
    reference = packed(as_batch([maker.genome]))
    return build_index(reference, choose_index_params(reference.bases), 2)


def of_bwa() -> dict[tuple[str, int, int], tuple[float, float] | None]:
    """Mean and sd of pairs that face each other; None: none were accepted."""
    found: dict[tuple[str, int, int], tuple[float, float] | None] = {}
    with FACTS.open() as file:
        for row in csv.DictReader(file, delimiter="\t"):
            case = row["kind"], int(row["percent"]), int(row["pairs"])
            found.setdefault(case, None)
            if row["orientation"] == "fr":
                found[case] = float(row["mean"]), float(row["sd"])
    return found


def estimated(index: MinimizerIndex, pairs: list[Pair]) -> Library:
    batch = batch_of([end for pair in pairs for end in pair.ends])
    batch = replace(batch, mates=np.tile(np.array([1, 2], np.uint8), len(pairs)))
    params = MapParams.of_preset()
    return estimate_pairs(iter([Reads((batch,))]), lambda part: map_batch(index, part, params), PairModel(), None, 2)[0]


@pytest.mark.parametrize(("kind", "percent", "count"), TESTED)
def test_estimates(maker: Maker, index: MinimizerIndex, kind: str, percent: int, count: int) -> None:
    pairs = maker.library(kind, percent, count)
    library, bwa = estimated(index, pairs), of_bwa()[kind, percent, count]
    if count < 25:
        assert (library.source, library.model) == ("default", PairModel())
        return
    scattered = kind in ("mates anywhere", "contacts (Hi-C)", "microsatellites")
    if scattered and percent == 100:
        assert (library.source, library.model) == ("none", None)
        return
    model, usual = library.model, sum(not pair.other for pair in pairs)
    assert model is not None
    if 0 < usual < 25:  # too few, most of which fit what is taken then
        assert library.source == "default"
        return
    assert library.source == "estimated"
    assert library.sampled <= count
    if (kind, percent) not in UNLIKE_BWA and kind != "contacts (Hi-C)" and percent < 100:
        assert bwa is not None
        assert model.orientation == "fr"
        assert abs(model.mean - bwa[0]) < 8
        assert abs(model.sd - bwa[1]) < 8
    if kind.startswith("facing away") and 2 * usual < count:
        assert model.orientation == "rf"
        assert abs(model.mean - 20_000) < 4 * 1500 / sqrt(count / 2)
        assert model.min < 15_000
        assert 25_000 < model.max <= 1 << 15
        return
    assert (model.orientation, model.min) == ("fr", 1)  # however short
    if scattered or percent == 0 or (kind.startswith("facing away") and percent < 50):
        assert abs(model.mean - 400) < 4 * 50 / sqrt(usual)
        assert 560 < model.max < 760
        assert abs(library.fitting - usual) < 0.08 * count
    elif kind.startswith("read-through"):
        assert model.max > 580
        assert library.share > 0.99
    elif kind.startswith("inserts") and percent >= 50:
        assert 2900 < model.max < 10_000
        assert library.share > 0.99
    else:
        assert 560 < model.max <= 1 << 15
        assert library.share > 0.4


class Files:
    """Reads of pairs next to their reference, to be mapped."""

    def __init__(self, cli: Cli, folder: Path, genome: str) -> None:
        self.cli, self.folder, self.reference = cli, folder, write_fasta(folder / "r.fa", g=genome)

    def write(self, pairs: list[Ends]) -> list[Path]:
        return [
            write_fastq(
                self.folder / f"{mate}.fq",
                *((f"p{i}", ends[mate], "I" * len(ends[mate])) for i, ends in enumerate(pairs)),
            )
            for mate in (0, 1)
        ]

    def map(self, pairs: list[Ends], *options: object) -> tuple[list[list[str]], dict[str, object], str]:
        """(records, --json, what a user sees)."""
        report = self.folder / "report.json"
        code, sam, seen = self.cli("map", "--json", report, *options, self.reference, *self.write(pairs))
        assert code == 0
        return records(sam), json.loads(report.read_text()), seen


@pytest.fixture
def files(cli: Cli, tmp_path: Path, maker: Maker) -> Files:
    return Files(cli, tmp_path, maker.genome[:100_000])


def fragments(genome: str, sizes: list[int], seed: int = 1) -> list[Ends]:
    """Reads of 150 bases of fragments of either strand; what follows a short one the genome does not have."""
    rng, foreign, pairs = random.Random(seed), random_genome(99, 5000), []
    for size in sizes:
        start = rng.randrange(60_000 - size)
        fragment = genome[start : start + size]
        ends = [fragment, reverse_complement(fragment)]
        rng.shuffle(ends)
        adapter = foreign[rng.randrange(4000) :]
        pairs.append(((ends[0] + adapter)[:READ] if size < READ else ends[0][:READ], (ends[1] + adapter)[:READ]))
    return [(one, two[:READ]) for one, two in pairs]


def test_read_through_faces_each_other(files: Files, maker: Maker) -> None:
    """By their 5' ends, which clipping leaves: an insert of 100 is one of 100, whatever of the adapter aligns."""
    rows, report, seen = files.map(fragments(maker.genome, [100] * 60))
    assert "in proper pairs (fr, insert size 100 ± 1, 1 to 1000, 100 % of the first " in seen
    size = report["insert_size"]
    assert (size["orientation"], size["mean"], size["min"]) == ("fr", 100, 1)
    assert all(int(row[1]) & PROPER for row in rows)
    assert {abs(int(row[8])) for row in rows} == {100}


@pytest.mark.parametrize("short_first", [True, False])
def test_a_kind_that_the_first_pairs_lack_is_proper_as_well(files: Files, maker: Maker, short_first: bool) -> None:
    rng = random.Random(3)
    short, usual = [rng.randint(40, 145) for _ in range(1100)], [int(rng.gauss(400, 50)) for _ in range(1100)]
    sizes = short + usual[:100] if short_first else usual + short[:100]
    rows, _, _ = files.map(fragments(maker.genome, sizes))
    proper = [i for i, size in enumerate(sizes) if int(rows[2 * i][1]) & PROPER and int(rows[2 * i + 1][1]) & PROPER]
    assert len(proper) >= len(sizes) - 4  # of inserts of 40 one mate may be too short to be sure of


def test_mates_anywhere_are_mapped_each_by_itself(files: Files, maker: Maker) -> None:
    rng = random.Random(7)
    pairs = [(maker.genome[a : a + READ], maker.genome[b : b + READ]) for a, b in _two_places(rng, 300)]
    rows, report, seen = files.map(pairs)
    assert "insert_size" not in report
    sure = sum(min(int(one[4]), int(two[4])) >= 20 for one, two in zip(rows[::2], rows[1::2], strict=True))
    assert report["pairing"] == {"source": "none", "sampled_pairs": sure, "proper_share": 0}
    assert f"the first {sure} pairs share no insert size" in seen
    assert "0 in proper pairs (the pairs share no insert size)" in seen
    assert all(int(row[1]) & (PAIRED | PROPER) == PAIRED for row in rows)
    alone = [
        records(files.cli("map", files.reference, files.folder / f"{mate}.fq")[1]) for mate in (0, 1)
    ]  # position, MAPQ and CIGAR of single reads
    assert [row[2:6] for row in rows[::2]] == [row[2:6] for row in alone[0]]
    assert [row[2:6] for row in rows[1::2]] == [row[2:6] for row in alone[1]]
    assert all(tags(one)["MQ"] == two[4] for one, two in zip(rows[::2], rows[1::2], strict=True))


def test_what_is_found_does_not_depend_on_threads_or_batches(files: Files, maker: Maker) -> None:
    rng = random.Random(11)
    for usual in (0, 40):
        pairs = [(maker.genome[a : a + READ], maker.genome[b : b + READ]) for a, b in _two_places(rng, 250)]
        pairs += fragments(maker.genome, [int(rng.gauss(400, 50)) for _ in range(usual)])
        rng.shuffle(pairs)
        ends = files.write(pairs)
        outputs = {
            without_program(files.cli("map", "-t", threads, "--batch-size", batch, files.reference, *ends)[1])
            for threads, batch in ((1, "4M"), (2, "9K"), (3, "2K"))
        }
        assert len(outputs) == 1


def _two_places(rng: random.Random, count: int) -> list[tuple[int, int]]:
    return [(rng.randrange(99_000), rng.randrange(99_000)) for _ in range(count)]


def test_python_maps_them_alike(files: Files, maker: Maker) -> None:
    rng = random.Random(13)
    pairs = [(maker.genome[a : a + READ], maker.genome[b : b + READ]) for a, b in _two_places(rng, 100)]
    rows, _, _ = files.map(pairs)
    mapper = gpualign.Mapper([maker.genome[:100_000]])
    table = mapper.map([one for one, _ in pairs], [two for _, two in pairs])
    assert table["flag"].tolist() == [int(row[1]) for row in rows]


def damaged(read: str) -> str:
    """Without a seed: a base in eight is another."""
    return "".join("CGTA"["ACGT".index(base)] if i % 8 == 4 else base for i, base in enumerate(read))


@pytest.mark.parametrize(
    ("library", "insert", "found"),
    [
        ("300,80,60000,1", 400, True),
        ("300,80,60000,1", 32_700, True),
        ("300,80,60000,1", 40_000, False),  # beyond 32,768 from the lower bound
        ("20000,2000", 27_000, True),
        ("45000,2500", 40_000, True),  # from 35,000 to 55,000
        ("45000,2500", 52_000, True),
    ],
)
def test_a_mate_is_looked_for_in_a_window_of_limited_size(
    files: Files, maker: Maker, library: str, insert: int, found: bool
) -> None:
    text = maker.genome[1000 : 1000 + insert]
    for ends in (
        (text[:READ], damaged(reverse_complement(text)[:READ])),
        (damaged(text[:READ]), reverse_complement(text)[:READ]),
    ):
        rows, report, _ = files.map([ends], "-k", 15, "-w", 5, "-I", library)
        assert [row[5] == f"{READ}M" for row in rows].count(True) == 1 + found
        assert report["pairing"]["source"] == "given"
