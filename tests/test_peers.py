"""Published results of other programs, whole: WFA2-lib's scores and MUMmer's MUMs (tests/helpers/peers.py)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gpualign
from tests.helpers.peers import PEERS, lines_of, needs_peers

Cli = Callable[..., tuple[int, bytes, str]]
pytestmark = needs_peers

#: of each file with gap-affine scores: match, mismatch, and what opens and extends a gap, whose first base costs both
AFFINE = {
    "affine": (0, -4, 6, 2),
    "affine.p0": (0, -1, 2, 1),
    "affine.p1": (0, -3, 1, 4),
    "affine.p2": (0, -5, 3, 2),
    "affine.p3": (5, -1, 2, 1),
    "affine.p4": (2, -3, 1, 4),
    "affine.p5": (3, -5, 3, 2),
}


@pytest.fixture(scope="module")
def pairs() -> tuple[list[str], list[str]]:
    lines = lines_of("wfa2/pairs.seq.gz")
    return [line[1:] for line in lines[::2]], [line[1:] for line in lines[1::2]]


def expected(name: str) -> list[int]:
    scores = [int(line) for line in lines_of(f"wfa2/{name}.scores")]
    assert len(scores) == 305
    return scores


@pytest.mark.parametrize("name", AFFINE)
def test_affine_scores(pairs: tuple[list[str], list[str]], name: str) -> None:
    match, mismatch, gap_open, gap_extend = AFFINE[name]
    found = gpualign.pairwise(
        *pairs,
        pairs=[(i, i) for i in range(305)],
        match=match,
        mismatch=mismatch,
        gap_open=gap_open + gap_extend,
        gap_extend=gap_extend,
        score_only=True,
        device="cpu",
    )
    assert found["score"].tolist() == expected(name)


@pytest.mark.parametrize(("name", "mode"), [("edit", "global"), ("indel", "indel")])
def test_distances(pairs: tuple[list[str], list[str]], name: str, mode: str) -> None:
    found = [
        int(gpualign.distances([query], [target], mode=mode, device="cpu").values[0, 0])
        for query, target in zip(*pairs, strict=True)
    ]
    assert found == [abs(score) for score in expected(name)]


def test_unique_matches_of_genomes(cli: Cli) -> None:
    """`mummer -mum -b -c` of two pieces of H. pylori genomes, as a set: MUMmer has another order."""

    def matches(lines: list[str]) -> set[tuple[str, ...]]:
        strand, found = "", []
        for line in lines:
            if line.startswith(">"):
                strand = line
            else:
                found.append((strand, *line.split()))
        assert len(found) == len(set(found)) == 4031
        return set(found)

    code, out, error = cli("mems", "-mum", "-b", "-c", PEERS / "mummer/r.fa.gz", PEERS / "mummer/q.fa.gz")
    assert code == 0, error
    assert matches(out.decode().splitlines()) == matches(lines_of("mummer/exp.mums.gz"))
