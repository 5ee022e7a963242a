"""``gpualign.find_mems`` against the definition, its queries in one piece and in many."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gpualign
from gpualign.genomes.run import without_repeats
from gpualign.mems import api, loop
from gpualign.seeds.index.minimizers import IndexParams, build_index
from gpualign.seeds.matches.cpu import Piece, Search
from gpualign.seeds.matches.params import Kind, MemsParams
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.reference import Reference
from tests.helpers.genome_cases import mutated
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


@pytest.mark.parametrize(("kind", "maximum"), [("mumreference", 1), ("maxmatch", 2), ("maxmatch", 3)])
def test_what_lies_within_a_match_is_passed_over(kind: Kind, maximum: int) -> None:
    """In texts longer than what is searched at a time: against the definition, and where the index lacks frequent
    seeds the same matches as from all that it gives.
    """
    draw = random.Random(maximum)
    family = "".join(draw.choices("ACGT", k=400))
    parts = ["".join(draw.choices("ACGT", k=1500)) for _ in range(5)]
    text = "".join(part + mutated(draw, family, 0.03) + part[300:900] for part in parts)
    query = mutated(draw, text[:8000], 0.004) + parts[1] + text[9000:]
    params = MemsParams(32, kind=kind, strands="both", max_occ=maximum if kind == "maxmatch" else None)
    reference = Reference.packed(["r"], np.array([0, len(text)]), (np.frombuffer(text.encode(), np.uint8),))
    index = build_index(reference, IndexParams(13, 8))
    batch = SequenceBatch.from_records([("q", query)])
    for of in (index, without_repeats(index, 5)):
        search = Search(of, params)
        source = search.prepare(batch)
        for start in (0, 1500):
            piece = Piece(source, start, source.text.length)
            found, everything = search.find(piece, maximum).columns, search.find(piece).columns
            assert found is not None
            assert everything is not None
            expected = search.reduced(piece, everything, maximum, False)
            assert len(expected.starts) > 5
            assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
            if of is index and start == 0:
                strands = (len(query) + 1) * (found.starts > len(query)) + 1
                rows = zip(
                    (found.starts - strands).tolist(), found.references.tolist(), found.lengths.tolist(), strict=True
                )
                assert sorted(rows) == sorted(
                    (m.start, m.position, m.length) for m in matches([text], [query], 32, "+-", kind, maximum)
                )
