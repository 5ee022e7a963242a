"""Hits of `search` against the textbook's matrix, Sassy and edlib: distances, rules of ends, alignments, borders."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

import gpualign
from gpualign.search import api, run
from tests.helpers.sequences import mutate
from tests.reference import search as reference


def found(patterns: list[str], texts: list[str], k: int, **options: Any) -> set[reference.Hit]:
    """As the oracle gives them; every alignment is replayed."""
    rows = gpualign.search(patterns, texts, k, path=True, device="cpu", **options)
    hits = set()
    for row in rows:
        minus = row.strand == "-"
        text = texts[row.target][row.start : row.end]
        assert row.matched == (reference.reverse_complement(text) if minus else text)
        if "ends" not in options:
            share = options.get("max_ambiguous", 0) > 0
            added = options.get("pam", "") or ""
            assert reference.replayed(row.cigar, patterns[row.pattern] + added, row.matched, share) == row.distance
        hits.add((row.pattern, row.target, row.strand, row.start if minus else row.end, row.distance))
    assert len(hits) == len(rows)
    order = [(row.target, row.start, row.end, row.pattern, row.strand) for row in rows]
    assert order == sorted(order, key=lambda at: (*at[:4], at[4] == "-"))
    return hits


def cases(seed: int, count: int, longest: int, symbols: str = "ACGT", text: int = 150) -> Any:
    """Patterns, most of them from a text with some errors; texts; a limit."""
    rng = random.Random(seed)
    for _ in range(count):
        texts = ["".join(rng.choices(symbols, k=rng.randrange(text))) for _ in range(rng.randrange(1, 4))]
        patterns = []
        for _ in range(rng.randrange(1, 4)):
            pattern = "".join(rng.choices(symbols, k=rng.randrange(1, longest)))
            source = rng.choice(texts)
            if rng.random() < 0.7 and len(source) > len(pattern):
                at = rng.randrange(len(source) - len(pattern))
                pattern = mutate(rng, source[at : at + len(pattern)], 0.1) or "A"
            patterns.append(pattern if rng.random() < 0.6 else reference.reverse_complement(pattern))
        yield patterns, texts, rng.randrange(6), rng.random() < 0.4


@pytest.mark.parametrize(
    ("longest", "symbols", "text"), [(40, "ACGT", 150), (30, "AC", 100), (100, "ACGT", 250), (30, "ACGTRYN", 120)]
)
def test_all_hits_of_the_matrix(longest: int, symbols: str, text: int) -> None:
    for patterns, texts, k, all_ends in cases(longest, 20, longest, symbols, text):
        expected = reference.search(patterns, texts, k, all_ends=all_ends)
        assert found(patterns, texts, k, hits="all" if all_ends else "local") == expected


@pytest.mark.parametrize("bulges", [0, 1, 2])
def test_limited_bulges(bulges: int) -> None:
    for patterns, texts, k, all_ends in cases(bulges, 12, 25):
        expected = reference.search(patterns, texts, k, all_ends=all_ends, bulges=bulges)
        hits: Any = "all" if all_ends else "local"
        assert found(patterns, texts, k, hits=hits, max_bulges=bulges) == expected
        if bulges == 0:
            assert found(patterns, texts, k, hits=hits, mismatches_only=True) == expected


def test_a_motif_must_match() -> None:
    for patterns, texts, k, _ in cases(8, 15, 25):
        whole = [pattern + "NRG" for pattern in patterns]
        fixed = [[0] * len(pattern) + [1, 1, 1] for pattern in patterns]
        limits = {len(pattern) for pattern in patterns}
        if k <= min(limits):
            assert found(patterns, texts, k, pam="NRG") == reference.search(whole, texts, k, fixed=fixed)


def test_fixed_positions() -> None:
    rng = random.Random(2)
    for patterns, texts, k, _ in cases(9, 15, 25):
        pattern = patterns[0]
        at = rng.randrange(len(pattern))
        last = min(len(pattern), at + rng.randrange(1, 4))
        fixed = [int(at <= i < last) for i in range(len(pattern))]
        expected = reference.search([pattern], texts, k, fixed=[fixed])
        assert found([pattern], texts, k, fixed=f"{at + 1}-{last}") == expected
        assert found([pattern], texts, k, fixed=f"3:{pattern[-1]}") == reference.search(
            [pattern], texts, k, fixed=[[0] * (len(pattern) - 1) + [1]]
        )


def test_patterns_over_the_ends() -> None:
    for patterns, texts, k, _ in cases(10, 15, 25):
        assert found(patterns, texts, k, ends="free") == reference.search(patterns, texts, k, overhang=0.5)
    (row,) = gpualign.search(["ACGTACGTCCGG"], ["GTCCGGTTTTTTT"], 3, ends="free", path=True, strand="plus")
    assert (row.start, row.end, row.pattern_start, row.pattern_end, row.distance, row.cigar) == (0, 6, 6, 12, 3, "6=")


def test_ambiguous_bases_of_targets() -> None:
    """By default they match what covers them; with a limit what shares a base."""
    text = ["ACGTNCGTRC"]
    assert found(["ACGTACGTAC"], text, 1, strand="plus") == set()
    assert found(["ACGTNCGTRC"], text, 0, strand="plus") == {(0, 0, "+", 10, 0)}
    assert found(["ACGTACGTAC"], text, 0, strand="plus", max_ambiguous=2) == {(0, 0, "+", 10, 0)}
    assert found(["ACGTACGTAC"], text, 0, strand="plus", max_ambiguous=1) == set()


def beside_ambiguous_runs(seed: int, count: int) -> Any:
    """Patterns that the bases of a text spell, without a few of them; texts with N runs; errors and limits."""
    rng = random.Random(seed)
    for _ in range(count):
        parts = [
            "".join(rng.choices("ACGT", k=rng.randrange(40))) + rng.choice("NNRY") * rng.choice([0, 1, 2, 3, 8, 30])
            for _ in range(4)
        ]
        text = "".join(parts) + "".join(rng.choices("ACGT", k=30))
        size = rng.choice([6, 12, 20, 24])
        at = rng.randrange(len(text) - size)
        site = "".join(base if base in "ACGT" else rng.choice("ACGT") for base in text[at : at + size])
        pattern = mutate(rng, site, 0.1) or "A"
        yield pattern, text, rng.randrange(5), rng.choice([1, 1, 2, 3, 5, 9, 1 << 20]), rng.random() < 0.5


@pytest.mark.parametrize("rules", ["", "bulges", "overhang", "fixed"])
def test_a_limit_of_ambiguous_bases(rules: str) -> None:
    """A hit is an end of any alignment that keeps both limits, and the one reported keeps them."""
    for pattern, text, k, most, all_ends in beside_ambiguous_runs(len(rules), 10):
        options: dict[str, Any] = {"hits": "all" if all_ends else "local", "max_ambiguous": most}
        expect: dict[str, Any] = {"all_ends": all_ends, "ambiguous": most if most < 10 else None}
        if rules == "bulges":
            options["max_bulges"] = expect["bulges"] = 1
        elif rules == "overhang":
            options["ends"], expect["overhang"] = "free", 0.5
        elif rules == "fixed":
            options["fixed"], expect["fixed"] = "1", [[1] + [0] * (len(pattern) - 1)]
        assert found([pattern], [text], k, **options) == reference.search([pattern], [text], k, share=True, **expect)
        for row in gpualign.search([pattern], [text], k, path=True, device="cpu", **options):
            assert sum(base not in "ACGT" for base in row.matched) <= most


def test_bases_left_out_beside_a_run() -> None:
    """Three bases of the pattern are missing, or three N match instead of them."""
    pattern, text = "ACGGTCATTGCAGGCTTACA", "N" * 20 + "GTCATTGCAGGCTTACAGGG"
    for most, distance, cigar, start in ((0, 3, "3X17=", 17), (1, 2, "", 19), (2, 1, "", 18), (3, 0, "20=", 17)):
        rows = gpualign.search([pattern], [text], 3, strand="plus", max_ambiguous=most, path=True)
        (row,) = [row for row in rows if row.end == 37]
        assert (row.distance, row.start, row.cigar) == (distance, start, cigar or row.cigar)


def test_a_pattern_inside_a_run() -> None:
    """It has as many ambiguous bases as it may have, wherever it lies."""
    rows = gpualign.search(["ACGTAC"], ["A" + "N" * 30 + "A"], 0, strand="plus", hits="all", max_ambiguous=6)
    assert rows["start"].tolist() == list(range(26))


@pytest.mark.parametrize("length", [1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 300])
def test_word_borders(length: int) -> None:
    """One error less than there are, as many, and one more."""
    rng = random.Random(length)
    pattern = "".join(rng.choices("ACGT", k=length))
    errors = min(3, length - 1)
    changed = list(pattern)
    for i in range(errors):
        at = (i + 1) * length // (errors + 1)
        changed[at] = "ACGT"["CGTA".index(changed[at])]
    text = "".join(rng.choices("ACGT", k=500)) + "".join(changed) + "".join(rng.choices("ACGT", k=200))
    for k in {max(0, errors - 1), errors, errors + 1}:
        expected = reference.search([pattern], [text], k, strands="+")
        assert found([pattern], [text], k, strand="plus") == expected
        at = (0, 0, "+", 500 + length, errors)
        assert (at in expected) == (k >= errors) or length == 1


def test_many_errors_up_to_the_length() -> None:
    for pattern in ("A", "ACG", "ACGTAC"):
        for k in (len(pattern) - 1, len(pattern), 50):
            expected = reference.search([pattern], ["ACCGTTA", "", "G"], k, all_ends=True)
            assert found([pattern], ["ACCGTTA", "", "G"], k, hits="all") == expected


def test_parts_of_a_long_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hits at the borders of parts are there once, also those of repeats."""
    rng = random.Random(3)
    text = "".join(rng.choices("ACGT", k=1500)) + "AC" * 300 + "A" * 600 + "".join(rng.choices("ACGT", k=1500))
    patterns = ["ACACACACACGT", "A" * 20, text[1000:1040], "CCACA", reference.reverse_complement(text[3000:3030])]
    whole = found(patterns, [text], 2)
    monkeypatch.setattr(api, "_BATCH", 37)
    assert found(patterns, [text], 2) == whole
    assert whole == reference.search(patterns, [text], 2)


@pytest.mark.parametrize("part", [37, 1 << 20])
def test_groups_of_patterns(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """Hits of all groups are in one order, and the best of a target is the best of all groups."""
    monkeypatch.setattr(run, "_GROUP", 3)
    monkeypatch.setattr(api, "_BATCH", part)
    rng = random.Random(12)
    texts = ["".join(rng.choices("ACGT", k=size)) for size in (900, 0, 60, 61)]
    patterns = [mutate(rng, texts[0][at : at + 20], 0.05) for at in range(0, 800, 50)] + [texts[2], "ACG"]
    assert found(patterns, texts, 2) == reference.search(patterns, texts, 2)
    rows = gpualign.search(patterns[:-1], texts, 3, best_per_target=True, margin=2, path=True)
    assert rows[["target", "pattern", "distance"]].tolist() == [(2, 16, 0)]
    assert rows["matched"].tolist() == [texts[2]]


def test_sassy_has_the_same_hits() -> None:
    sassy = pytest.importorskip("sassy")
    if not hasattr(sassy, "Searcher"):
        pytest.skip("another package of that name")
    rng = random.Random(4)
    text = "".join(rng.choices("ACGT", k=60_000))
    for length, k in ((12, 1), (20, 3), (24, 6), (64, 5), (150, 9)):
        at = rng.randrange(len(text) - length)
        pattern = mutate(rng, text[at : at + length], 0.03)
        expected = set()
        for match in sassy.Searcher("dna", rc=True).search(pattern.encode(), text.encode(), k):
            minus = str(match.strand).endswith(("-", "Rc"))
            end = match.text_start if minus else match.text_end
            expected.add((0, 0, "-" if minus else "+", end, match.cost))
        assert found([pattern], [text], k) == expected
        assert expected


def test_edlib_finds_the_best_ends_of_long_patterns() -> None:
    import edlib

    rng = random.Random(6)
    text = "".join(rng.choices("ACGT", k=30_000))
    for length, k in ((1000, 50), (3000, 200)):
        pattern = mutate(rng, text[9000 : 9000 + length], 0.04)
        best = edlib.align(pattern, text, mode="HW", task="locations")
        hits = found([pattern], [text], k, strand="plus")
        assert min(hit[4] for hit in hits) == best["editDistance"] <= k
        last = max(end for _, end in best["locations"]) + 1
        assert {hit[3] for hit in hits if hit[4] == best["editDistance"]} >= {last}


def test_other_alphabets() -> None:
    rows = gpualign.search(["MKXL", "BZ"], ["aamkvlDE", "NQ"], 0, alphabet="protein")
    assert rows[["pattern", "target", "start", "end"]].tolist() == [(0, 0, 2, 6), (1, 0, 6, 8), (1, 1, 0, 2)]
    rows = gpualign.search([b"needle"], [b"hay needl hay", b"NEEDLE"], 1, alphabet="bytes")
    assert rows[["target", "start", "end", "distance"]].tolist() == [(0, 4, 10, 1)]  # the last of equal ends


def test_which_hits() -> None:
    text = ["TTACGTACGGTTTTTACGTACGTTTTTACGTACTTT"]
    options: dict[str, Any] = {"strand": "plus"}
    assert gpualign.search(["ACGTACG"], text, 1, **options)["start"].tolist() == [2, 15, 27]
    assert gpualign.search(["ACGTACG"], text, 1, hits="first", **options)["start"].tolist() == [2]
    assert gpualign.search(["ACGTACC"], [text[0] + "ACGTACC"], 1, hits="best", **options)["start"].tolist() == [36]


def loci_of(rows: Any) -> list[tuple[int, int, str, int, int, int]]:
    """Each locus by a hit; loci are found by comparing all hits with each other."""
    groups: list[list[tuple[Any, ...]]] = []
    for hit in [(row.target, row.pattern, row.strand, row.distance, row.start, row.end) for row in rows]:
        near = [group for group in groups if any(hit[:3] == o[:3] and hit[4] < o[5] and o[4] < hit[5] for o in group)]
        groups = [group for group in groups if group not in near] + [[hit, *itertools.chain(*near)]]
    return sorted(min(group) for group in groups)


@pytest.mark.parametrize("part", [37, 1 << 20])
def test_overlapping_hits_are_one_locus(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """The same ones wherever targets are cut, and in groups of patterns."""
    rng = random.Random(12)
    text = "".join(rng.choices("ACGT", k=200)) + "AC" * 40 + "".join(rng.choices("ACGT", k=60)) + "A" * 40
    patterns = ["ACACACACACGT", "A" * 20, text[100:130], reference.reverse_complement(text[3:23]), "GATTTG"]
    texts = [text, "ACGT", text[90:140] + text[100:130]]
    for k, hits in ((2, "local"), (3, "all"), (3, "local")):
        every = loci_of(gpualign.search(patterns, texts, k, hits=hits))  # type: ignore[arg-type]
        with monkeypatch.context() as small:
            small.setattr(api, "_BATCH", part)
            small.setattr(run, "_GROUP", 2)
            rows = gpualign.search(patterns, texts, k, hits=hits, merge=True)  # type: ignore[arg-type]
        got = [(row.target, row.pattern, row.strand, row.distance, row.start, row.end) for row in rows]
        assert sorted(got) == every
        assert [(row.target, row.start) for row in rows] == sorted((row.target, row.start) for row in rows)
    rows = gpualign.search([text[100:130]], texts, 3, merge=True)
    assert rows[["target", "start", "distance"]].tolist() == [(0, 100, 0), (2, 10, 0), (2, 50, 0)]


def test_one_pattern_a_target() -> None:
    barcodes = ["ACGTACGTAC", "TTGGCCAATT", "ACGTACGTCC"]
    reads = ["GG" + barcodes[1] + "A" * 40, "GG" + barcodes[0] + "A" * 40, "C" * 50, "GGACGTACGTAA" + "C" * 40]
    rows = gpualign.search(barcodes, reads, 2, best_per_target=True, strand="plus")
    assert rows[["target", "pattern", "distance"]].tolist() == [(0, 1, 0), (1, 0, 0), (3, 0, 1)]
    rows = gpualign.search(barcodes, reads, 2, best_per_target=True, margin=2, strand="plus")
    assert rows["target"].tolist() == [0]
    # the other barcode has two errors, more than a hit may have
    rows = gpualign.search(barcodes, reads, 1, best_per_target=True, margin=2, strand="plus")
    assert rows["target"].tolist() == [0]
    rows = gpualign.search(barcodes, reads, 2, best_per_target=True, margin=0, strand="plus")
    assert rows["target"].tolist() == [0, 1, 3]


def test_near_the_ends_of_targets() -> None:
    reads = [
        "ACGTACGT" + "C" * 30 + "ACGTACGT" + "C" * 30 + "ACGTACGT",
        "CCACGTACGTCC",
        "C" * 30 + "ACGTACGT" + "C" * 30,
    ]
    rows = gpualign.search(["ACGTACGT"], reads, 0, within=10, strand="plus")
    assert rows[["target", "start"]].tolist() == [(0, 0), (0, 76), (1, 2)]


def test_batches_as_they_come() -> None:
    texts = (["ACGT" * 5, "TTTT"] for _ in range(1))
    tables = list(gpualign.iter_search(["ACGTA"], (text for some in texts for text in some), 0, strand="plus"))
    assert sum(len(table) for table in tables) == 4
    assert np.concatenate([table["target"] for table in tables]).tolist() == [0] * 4


@pytest.mark.parametrize(
    ("patterns", "options", "what"),
    [
        ([], {}, "no pattern"),
        ([""], {}, "pattern 1: it has no sequence"),
        (["ACGT", "AC-T"], {}, "pattern 2: '-' is not a nucleotide code"),
        (["A" * 10_001], {}, "10,001 symbols"),
        (["ACGT"], {"max_errors": None}, "give the most errors"),
        (["ACGT"], {"max_errors": -1}, "max errors must be"),
        (["ACGT"], {"error_rate": 20.0}, "not a percentage"),
        (["ACGT"], {"pam": "N-G"}, "a PAM is bases"),
        (["ACGT"], {"fixed": "3:CC"}, "does not end with CC"),
        (["ACGT"], {"fixed": "7"}, "no position 7"),
        (["ACGT"], {"fixed": "0-2"}, "counted from 1"),
        (["ACGT"], {"fixed": "x"}, "--fixed takes"),
        (["ACGT"], {"alphabet": "protein", "strand": "both"}, "only dna has another strand"),
        (["ACGT"], {"ends": "free", "pam": "NGG"}, "cannot hang over"),
        (["ACGT"], {"best_per_target": True, "hits": "all"}, "one hit a target"),
    ],
)
def test_what_is_wrong(patterns: list[str], options: dict[str, Any], what: str) -> None:
    with pytest.raises(gpualign.GpualignError, match=what):
        gpualign.search(patterns, ["ACGT"], **{"max_errors": 1} | options)


def test_targets_that_are_no_nucleotides() -> None:
    with pytest.raises(gpualign.InputError, match="sequence 1: '-' is not a nucleotide"):
        gpualign.search(["ACGT"], ["ACGT", "AC-T"], 0)
