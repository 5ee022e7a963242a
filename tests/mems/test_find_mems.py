"""``gpualign.find_mems`` against the definition, its queries in one piece and in many."""

from __future__ import annotations

import numpy as np
import pytest

import gpualign
from gpualign.mems import api, loop
from tests.reference.mems import matches, reverse_complement

pytestmark = pytest.mark.usefixtures("level")

SIGNS = {"forward": "+", "reverse": "-", "both": "+-"}


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    """Contigs with repeats and other characters, one without bases; queries, of which the second is long."""
    generator = np.random.default_rng(12)
    first, second = ("".join(generator.choice(list("ACGT"), size)) for size in (300, 200))
    contigs = [first + "N" + second[:120], "NN", second + "AC" * 9, first[100:250]]
    long = second + "N" + reverse_complement(first) * 2 + first * 2 + "CA" * 9
    return contigs, [first[200:260], long, "", reverse_complement(second)[5:], "ACG"]


@pytest.mark.parametrize(
    ("kind", "maximum", "minimum"),
    [("maxmatch", None, 11), ("maxmatch", 2, 11), ("mumreference", None, 11), ("mum", None, 11), ("mum", None, 33)],
)
@pytest.mark.parametrize("strands", sorted(SIGNS))
@pytest.mark.parametrize("positions", [None, 256])
def test_against_the_definition(
    texts: tuple[list[str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    maximum: int | None,
    minimum: int,
    strands: str,
    positions: int | None,
) -> None:
    contigs, queries = texts
    if positions is not None:
        monkeypatch.setattr(loop, "CPU_PIECES", loop.CPU_PIECES._replace(first=positions, maximum=positions))
        monkeypatch.setattr(loop, "_REPORTED", 7)
        monkeypatch.setattr(api, "_BATCH", positions)
    expected = []
    for m in matches(contigs, queries, minimum, SIGNS[strands], kind, maximum):
        start = m.start if m.strand == "+" else len(queries[m.query]) - m.start - m.length
        expected.append((m.query, m.strand, start, m.contig, m.position, m.length))
    rows = gpualign.find_mems(
        contigs, queries, minimum, kind=kind, strands=strands, max_occ=maximum, device="cpu", threads=2
    )
    assert expected
    assert rows.tolist() == [(*match, str(match[0]), str(match[3])) for match in expected]  # numbers as names
