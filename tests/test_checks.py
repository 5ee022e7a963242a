"""Rules of numbers that all commands and Python functions share: signs of penalties, whole numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpualign
from gpualign.align.score.gap_penalties import parse_penalty
from gpualign.cluster.params import ClusterParams
from gpualign.map.params import MapParams
from gpualign.search.params import SearchParams
from tests.helpers.files import write_fasta

FIRST, SECOND = ["GATTACAGG", "GATTTACA"], ["GATCACAGG"]
PENALTIES = {"mismatch": 3, "gap_open": 7, "gap_extend": 2}
NEGATIVE = {name: -value for name, value in PENALTIES.items()}


@pytest.mark.parametrize(
    "more",
    [{}, {"mode": "local"}, {"max_gaps": 1}, {"end_gap_open": 2, "end_gap_extend": 1}],
    ids=["global", "local", "bounded gaps", "end gaps"],
)
def test_a_penalty_has_no_sign(more: dict[str, Any]) -> None:
    ends = {name: -value for name, value in more.items() if name.startswith("end")}
    wanted = gpualign.pairwise(FIRST, SECOND, **PENALTIES, **more)
    assert gpualign.pairwise(FIRST, SECOND, **NEGATIVE, **{**more, **ends}).tolist() == wanted.tolist()


def test_mismatches_are_never_rewarded() -> None:
    """Eight matches of 5 and one mismatch of -4."""
    for mismatch in (4, -4):
        assert gpualign.pairwise(FIRST[:1], SECOND, mismatch=mismatch)["score"].tolist() == [36]
        assert gpualign.scores(FIRST[:1], SECOND, mismatch=mismatch).values.tolist() == [[36]]
    with pytest.raises(gpualign.UsageError, match="match must not be negative"):
        gpualign.pairwise(FIRST, SECOND, match=-5)


def test_penalties_of_each_params_class() -> None:
    names = ["mismatch", "gap_open", "gap_extend", "clip_penalty", "unpaired_penalty"]
    positive, negative = (MapParams.of_preset("sr", **dict.fromkeys(names, sign * 9)) for sign in (1, -1))
    assert positive == negative
    assert (positive.scoring.clip_penalty, positive.pairing.unpaired_penalty) == (9, 9)
    of_cluster = [ClusterParams(identity=0.9, **given).alignment for given in (NEGATIVE, PENALTIES)]  # type: ignore[arg-type]
    assert of_cluster[0] == of_cluster[1]
    assert parse_penalty("-20I/2E") == parse_penalty("20I/-2E") == parse_penalty("20I/2E")
    free = {"max_errors": 1, "ends": "free"}
    assert SearchParams(overhang_cost=-0.25, **free) == SearchParams(overhang_cost=0.25, **free)  # type: ignore[arg-type]


def test_penalties_of_each_command(tmp_path: Path, cli: Callable[..., tuple[int, bytes, str]]) -> None:
    """The same output for both spellings, options after which a value begins with a minus among them."""
    genome = "ACGTTGCATTAGGCTAACCGTATTCGAGTCCATGCAAGCTTGACCGTACGATTGCAGCTATTTGCGCGATATCTTGATC"
    reference = write_fasta(tmp_path / "r.fa", [genome])
    reads = write_fasta(tmp_path / "q.fa", [genome[5:40] + "G" + genome[41:70], genome[20:60]])
    of_map = ["-B", "-O", "-E", "-L"]
    commands = [
        (["pairwise", reads, reference], ["--mismatch", "--gapopen", "--gapext"]),
        (["pairwise", reads, reference, "--max-gaps", "1"], ["--mismatch", "--gapopen", "--gapext"]),
        (["pairwise", "--top", "1", reads, reference], ["--mismatch", "--gapopen", "--gapext"]),
        (["cluster", "--id", "0.5", reads], ["--mismatch", "--gapopen", "--gapext"]),
        (["map", reference, reads], of_map),
        (["mem", "-v", "1", reference, reads], [*of_map, "-U"]),
    ]
    for arguments, options in commands:
        outputs = []
        for sign in ("", "-"):
            given = [word for option in options for word in (option, f"{sign}3")]
            status, output, errors = cli(*arguments, *given)
            assert status == 0, errors
            outputs.append([line for line in output.splitlines() if not line.startswith(b"@PG")])
        assert outputs[0] == outputs[1], arguments
        assert len(outputs[0]) > 1


def test_both_spellings_in_one_option(tmp_path: Path) -> None:
    """bwa's -O INT,INT with two signs is one penalty, so that no line says that the second has no effect."""
    from gpualign.map.mem_command import BwaOptions

    options = BwaOptions({"gap_open": "-6,6"})
    assert options.pair_of("gap_open", "O") == 6
    assert options.ignored == {}


FRACTIONS: dict[str, Callable[[Any], Any]] = {
    "distances": lambda n: gpualign.distances(FIRST, SECOND, max_errors=n).values.tolist(),
    "nearest": lambda n: gpualign.distances(FIRST, SECOND, nearest=n).value.tolist(),
    "scores": lambda n: gpualign.scores(FIRST, SECOND, gap_open=n).values.tolist(),
    "verify": lambda n: gpualign.verify(SECOND, SECOND, max_errors=n).tolist(),
    "candidates": lambda n: gpualign.verify(SECOND, FIRST, [[0, 0, 0, n]]).tolist(),
    "search": lambda n: gpualign.search(["GATT"], FIRST, n).tolist(),
    "bulges": lambda n: gpualign.search(["GATT"], FIRST, 3, max_bulges=n).tolist(),
    "iter_search": lambda n: [part.tolist() for part in gpualign.iter_search(["GATT"], FIRST, 3, margin=1, within=n)],
    "find_mems": lambda n: gpualign.find_mems(FIRST, SECOND, n).tolist(),
    "lcs_filter": lambda n: gpualign.lcs_filter("GATT", FIRST, top=n).tolist(),
    "cluster": lambda n: gpualign.cluster(FIRST, 0.9, min_length=n).labels.tolist(),
    "derep": lambda n: gpualign.derep(FIRST, top=n).labels.tolist(),
    "nearest targets": lambda n: gpualign.pairwise(FIRST, FIRST, identity=0.5, top=n).tolist(),
    "chimeras": lambda n: gpualign.chimeras(FIRST, min_differences=n).tolist(),
    "pairwise": lambda n: gpualign.pairwise(FIRST, mismatch=n, max_memory=2.0**20).tolist(),
    "end gaps": lambda n: gpualign.pairwise(FIRST, end_gap_open=[n, 2, 2, 2]).tolist(),
    "bounded gaps": lambda n: gpualign.pairwise(FIRST, SECOND, max_gaps=n).tolist(),
    "pairs": lambda n: gpualign.pairwise(FIRST * 2, pairs=[[0, n]]).tolist(),
    "Mapper": lambda n: gpualign.Mapper(["ACGT" * 20], max_hits=n).map(["ACGT"]).tolist(),
    "threads": lambda n: gpualign.verify(SECOND, SECOND, threads=n).tolist(),
}


@pytest.mark.parametrize("name", FRACTIONS)
def test_numbers_are_whole(name: str) -> None:
    call = FRACTIONS[name]
    wanted = repr(call(2))
    assert repr(call(2.0)) == repr(call(np.int64(2))) == repr(call(np.float32(2))) == wanted
    for wrong in (1.9, float("nan"), float("inf"), "2.5"):
        with pytest.raises(gpualign.UsageError, match="whole number"):
            call(wrong)


def test_a_share_where_a_number_is_wanted() -> None:
    with pytest.raises(gpualign.UsageError, match=r"not 0\.1 \(a share of the length is error_rate\)"):
        gpualign.verify(SECOND, SECOND, max_errors=0.1)  # type: ignore[arg-type]


def test_integer_fields_stay_what_they_are() -> None:
    params = MapParams.of_preset("ont", k=15.0)
    assert type(params.seeding.k) is int
    assert dataclasses.replace(params) == params
