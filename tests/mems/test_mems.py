"""`mems`: the search against its definition, and borders, other characters, strands, pieces."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gpualign import _native
from gpualign.mems import loop
from gpualign.mems.run import run_mems
from gpualign.params import RunOptions
from gpualign.run import run_context
from gpualign.seeds.index.minimizers import IndexParams, build_index
from gpualign.seeds.matches.cpu import MemColumns, Piece, Search, sort_tiles
from gpualign.seeds.matches.index import index_for
from gpualign.seeds.matches.params import MemsParams, choose_index
from gpualign.seeds.matches.suffix_array import SuffixArray, build_suffix_array
from gpualign.sequences.batch import SequenceBatch
from tests.helpers import native as native_tests
from tests.helpers.files import write_fasta
from tests.helpers.sequences import make_reference, reverse_complement
from tests.helpers.stand_ins import DeviceStandIn
from tests.reference.mems import Match, matches

SIGNS = {"forward": "+", "reverse": "-", "both": "+-"}
#: kinds of matches, with the most occurrences
KINDS = st.sampled_from(
    [("maxmatch", None), ("maxmatch", 1), ("maxmatch", 2), ("maxmatch", 5), ("mumreference", None), ("mum", None)]
)
#: those that need not know all of a query's matches
STREAMED = KINDS.filter(lambda kind: kind[0] != "mum")


def search_for(contigs: list[str], params: MemsParams, k: int | None = None, w: int | None = None) -> Search:
    reference = make_reference(*contigs)
    index = choose_index(params.min_length, reference.bases) if k is None or w is None else IndexParams(k, w)
    return Search(build_index(reference, index), params)


def found(search: Search, queries: list[str], step: int = 1 << 30, limit: int = 1 << 30) -> list[Match]:
    """The native search's matches, in pieces of ``step`` positions that pause after ``limit`` matches."""
    source = search.prepare(SequenceBatch.from_records([(f"q{i}", query) for i, query in enumerate(queries)]))
    strands = SIGNS[search.params.strands]
    blocks, begin = [], 1
    for (number, query), strand in itertools.product(enumerate(queries), strands):
        blocks.append((begin, number, strand))
        begin += len(query) + 1
    starts = np.array([block[0] for block in blocks])
    offsets = search.index.reference.contig_offsets
    result = []
    for piece_start in range(0, source.text.length, step):
        at, stop = piece_start, min(piece_start + step, source.text.length)
        while at < stop:
            matches = search.find(Piece(source, at, stop), search.max_occurrences, limit)
            columns, at = matches.columns, matches.reached
            assert columns is not None
            for start, position, length in zip(*(column.tolist() for column in columns), strict=True):
                begin, number, strand = blocks[int(np.searchsorted(starts, start, "right")) - 1]
                contig = int(np.searchsorted(offsets, position, "right")) - 1
                result.append(Match(number, strand, start - begin, contig, position - int(offsets[contig]), length))
    return result


def text(alphabet: str, maximum: int) -> st.SearchStrategy[str]:
    return st.text(alphabet, max_size=maximum)


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[str], list[str], int, int, int]:
    """Contigs, queries that share parts with them, least length, k and w."""
    alphabet = draw(st.sampled_from(["ACGT", "AC", "A", "ACGTN", "AAAAN", "ACGTRY"]))
    contigs = draw(st.lists(st.text(alphabet, min_size=1, max_size=60), min_size=1, max_size=3))
    queries = draw(st.lists(text(alphabet, 50), min_size=1, max_size=3))
    for contig in contigs:
        if draw(st.booleans()):
            cut = draw(st.integers(0, len(contig)))
            part = contig[cut:] + draw(text(alphabet, 5)) + contig[:cut]
            queries.append(reverse_complement(part) if draw(st.booleans()) else part)
    minimum = draw(st.integers(1, 14))
    k = draw(st.sampled_from(range(1, minimum + 1, 2)))
    return contigs, queries, minimum, k, draw(st.integers(1, minimum - k + 1))


@settings(max_examples=250, deadline=None)
@given(problems(), st.sampled_from(sorted(SIGNS)), STREAMED)
@example((["A" * 60], ["A" * 50, ""], 5, 3, 3), "both", ("maxmatch", None))
@example((["ACAC" * 15], ["CACA" * 12], 9, 5, 5), "both", ("maxmatch", 7))
def test_search_finds_every_match_once_in_order(
    problem: tuple[list[str], list[str], int, int, int], strands: str, kind: tuple[str, int | None]
) -> None:
    contigs, queries, minimum, k, w = problem
    search = search_for(contigs, MemsParams(min_length=minimum, strands=strands, kind=kind[0], max_occ=kind[1]), k, w)
    assert found(search, queries) == matches(contigs, queries, minimum, SIGNS[strands], *kind)


@settings(max_examples=200, deadline=None)
@given(problems(), st.integers(1, 40), st.integers(1, 5), STREAMED)
def test_pieces_and_pauses_change_nothing(
    problem: tuple[list[str], list[str], int, int, int], step: int, limit: int, kind: tuple[str, int | None]
) -> None:
    contigs, queries, minimum, k, w = problem
    search = search_for(contigs, MemsParams(min_length=minimum, strands="both", kind=kind[0], max_occ=kind[1]), k, w)
    assert found(search, queries, step, limit) == found(search, queries)


def sorted_search_for(contigs: list[str], params: MemsParams) -> Search:
    search = Search(index_for(make_reference(*contigs), params), params)
    assert isinstance(search.index, SuffixArray)
    return search


@settings(max_examples=250, deadline=None)
@given(problems(), st.sampled_from(sorted(SIGNS)), st.integers(1, 70), st.integers(1, 5))
def test_a_suffix_array_give_the_unique_matches(
    problem: tuple[list[str], list[str], int, int, int], strands: str, step: int, limit: int
) -> None:
    contigs, queries, minimum, _, _ = problem
    search = sorted_search_for(contigs, MemsParams(min_length=minimum, strands=strands))
    assert found(search, queries, step, limit) == matches(contigs, queries, minimum, SIGNS[strands], "mumreference")
    check_by_start(search, queries)


@pytest.mark.parametrize("unit_length", [505, 525, 540, 900])
def test_repeats_longer_than_positions_are_sorted(unit_length: int) -> None:
    generator = np.random.default_rng(unit_length)
    unit, other = ("".join(generator.choice(list("ACGT"), n)) for n in (unit_length, 150))
    contigs = [unit + "A" + unit + "CG", "G" + unit, other + unit[:-3], "A" * 620]
    queries = [unit + "CGT", "G" + unit + "A", other[-20:] + unit, unit[7:], "A" * 640, "C" + "A" * 560]
    every = matches(contigs, queries, 5, "+", "mumreference")
    for minimum in (5, 14, 25, 31):
        search = sorted_search_for(contigs, MemsParams(min_length=minimum))
        expected = [match for match in every if match.length >= minimum]
        assert len([match for match in expected if match.length > unit_length - 10]) >= 3
        assert found(search, queries, 97, 2) == expected
        check_by_start(search, queries)


def check_by_start(search: Search, queries: list[str]) -> None:
    """The device's threads, which know of no other start, find what the CPU finds."""
    source = search.prepare(SequenceBatch.from_records([("q", query) for query in queries]))
    span = (source.text, 0, source.text.length)
    by_start = native_tests.find_mems_by_start(search.native, *span, min_length=search.params.min_length)
    expected = search.find(Piece(source, 0, source.text.length), limit=1 << 30).columns
    assert np.array_equal(np.stack(by_start), np.stack(expected))


def test_a_suffix_array_do_not_depend_on_threads() -> None:
    generator = np.random.default_rng(4)
    text = "".join(generator.choice(list("ACGT"), 300_000))
    reference = make_reference(text, "N" * 9, text[:2000] * 3, "ACGT")
    for k in (1, 4, 9):
        one, three = build_suffix_array(reference, k, 1), build_suffix_array(reference, k, 3)
        assert np.array_equal(one.offsets, three.offsets)
        assert np.array_equal(one.positions, three.positions)


@pytest.mark.parametrize("threads", [1, 3])
def test_unique_in_the_query_whatever_the_threads(threads: int) -> None:
    rng = np.random.default_rng(6)
    n = 5000
    starts = np.sort(rng.integers(1, 20_000, n)).astype(np.uint32)
    references, lengths = (rng.integers(1, maximum, n).astype(np.uint32) for maximum in (40_000, 12))
    lengths[rng.integers(0, n, 3)] = 3000
    search = search_for(["ACGTACGTTT"], MemsParams(min_length=5), 3, 3)
    records = [("q", "A" * 9999), ("r", "A" * 10_000)]
    source = search.prepare(SequenceBatch.from_records(records))
    expected = []
    for block in (starts <= 10_000, starts > 10_000):
        rows = list(zip(starts[block].tolist(), references[block].tolist(), lengths[block].tolist(), strict=True))
        begin, end = references[block].astype(np.int64), references[block].astype(np.int64) + lengths[block]
        covering = [int(np.sum((begin <= r) & (end >= r + length))) for _, r, length in rows]
        expected += [row for row, count in zip(rows, covering, strict=True) if count == 1]
    kept = _native.keep_unique(source.text, (starts, references, lengths), threads=threads)
    assert 0 < len(expected) < n
    assert list(zip(*(column.tolist() for column in kept), strict=True)) == expected


@settings(max_examples=80, deadline=None)
@given(problems(), KINDS, st.sampled_from(sorted(SIGNS)), st.integers(1, 9))
def test_the_whole_command_against_the_definition(
    tmp_path_factory: pytest.TempPathFactory,
    problem: tuple[list[str], list[str], int, int, int],
    kind: tuple[str, int | None],
    strands: str,
    piece: int,
) -> None:
    contigs, queries, minimum, _, _ = problem
    folder = tmp_path_factory.mktemp("mems")
    write_fasta(folder / "ref.fa", contigs, prefix="c")
    write_fasta(folder / "query.fa", queries, prefix="q")
    params = MemsParams(min_length=minimum, kind=kind[0], max_occ=kind[1], strands=strands, table=True, header=False)
    options = RunOptions(output=str(folder / "out"), device="cpu", threads=2, quiet=True, batch_size=piece * 64)
    run_mems(str(folder / "ref.fa"), (str(folder / "query.fa"),), params, options)
    rows = [line.split("\t") for line in (folder / "out").read_text().splitlines()]
    expected = []
    for m in matches(contigs, queries, minimum, SIGNS[strands], *kind):
        size = len(queries[m.query])
        begin = m.start if m.strand == "+" else size - m.start - m.length
        query_columns = (f"q{m.query}", size, m.strand, begin + 1, begin + m.length)
        expected.append((*query_columns, f"c{m.contig}", m.position + 1, m.position + m.length, m.length))
    assert rows == [[str(field) for field in row] for row in expected]


def test_matches_stop_at_record_borders_and_at_other_bases() -> None:
    # the contigs, and the parts around N, would give one match of 12 if a border were crossed
    search = search_for(["ACGTTG", "CATTCC", "ACGNTTG"], MemsParams(min_length=3, kind="maxmatch"))
    assert found(search, ["ACGTTGCATTCC"]) == [
        Match(0, "+", 0, 0, 0, 6),
        Match(0, "+", 0, 2, 0, 3),
        Match(0, "+", 3, 2, 4, 3),
        Match(0, "+", 6, 1, 0, 6),
    ]


def test_other_bases_do_not_match_themselves() -> None:
    search = search_for(["ACGNNNNNNNNACG"], MemsParams(min_length=2, kind="maxmatch"))
    assert {m.length for m in found(search, ["NNNNNNNNNN", "ACGNNNNNNNNNNN", "RYRYACGRY"])} == {3}


@pytest.mark.parametrize("length", [31, 32, 33, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 9000])
def test_lengths_at_word_and_block_borders(length: int) -> None:
    generator = np.random.default_rng(length)
    shared = "".join(generator.choice(list("ACGT"), length))
    contig, query = f"A{shared}C", f"C{shared}A"
    for minimum in (length - 1, length, length + 1):
        search = search_for([contig, "ACGT"], MemsParams(min_length=minimum, kind="maxmatch"))
        expected = [Match(0, "+", 1, 0, 1, length)] if minimum <= length else []
        assert found(search, [query]) == expected


def test_every_diagonal_of_a_homopolymer() -> None:
    n, m, minimum = 300, 200, 20
    search = search_for(["A" * n], MemsParams(min_length=minimum, kind="maxmatch"))
    result = found(search, ["A" * m], step=64, limit=10)
    assert result == matches(["A" * n], ["A" * m], minimum)
    assert len(result) == n + m - 2 * minimum + 1


@pytest.mark.parametrize("minimum", [*range(1, 41), 50, 64, 100, 1000, 100_000])
@pytest.mark.parametrize("bases", [1, 100, 5_000_000, 4_000_000_000])
def test_the_chosen_index_holds_every_match(minimum: int, bases: int) -> None:
    params = choose_index(minimum, bases)
    assert params.w + params.k - 1 <= minimum


def test_an_index_too_sparse_is_refused_by_the_search() -> None:
    search = search_for(["ACGTACGTTT"], MemsParams(min_length=5), 3, 4)
    source = search.prepare(SequenceBatch.from_records([("q", "ACGT")]))
    with pytest.raises(ValueError, match="too sparse"):
        search.find(Piece(source, 0, source.text.length))
    with pytest.raises(IndexError):
        search.find(Piece(source, 0, source.text.length + 1))


def test_numbers_take_eight_columns_or_more() -> None:
    lengths = [
        0,
        *(10**power + more for power in range(10) for more in (-1, 0, 1, 234_567) if 10**power + more < 2**32),
    ]
    columns = MemColumns(*(np.array(values, np.uint32) for values in ([1] * len(lengths), [0] * len(lengths), lengths)))
    search = search_for(["ACGTACGTTT"], MemsParams(min_length=5), 3, 3)
    source = search.prepare(SequenceBatch.from_records([("q", "ACGT")]))
    printed = search.report(Piece(source, 0, source.text.length), columns)
    expected = "> q\n" + "".join(f"{1:8d}  {1:8d}  {length:8d}\n" for length in lengths)
    assert printed.text.tobytes().decode() == expected
    assert printed.headers == 1


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("ACGTNRacgtn", max_size=150), max_size=4), st.sampled_from([1, 2, 3]), st.booleans())
def test_packed_text(sequences: list[str], strands: int, deferred: bool) -> None:
    batch = SequenceBatch.from_records([("q", sequence) for sequence in sequences])
    packed = _native.pack_mem_text(batch.bases, batch.base_offsets, strands, deferred)
    assert (packed.forward is not None) == (deferred and strands != 1)
    assert packed.bases == sum(map(len, sequences))
    expected = "|"
    for sequence in sequences:
        if strands & 1:
            expected += sequence.upper() + "|"
        if strands & 2:
            expected += reverse_complement(sequence.upper()) + "|"
    assert packed.length == len(expected)
    for i, base in enumerate(expected):
        broken = int(packed.breaks[i // 64]) >> (i % 64) & 1
        assert broken == (base not in "ACGT")
        if not broken:
            assert "ACGT"[int(packed.words[i // 32]) >> (2 * (i % 32)) & 3] == base


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problems(), KINDS, st.integers(1, 9), st.integers(1, 5))
def test_the_devices_pipeline_gives_the_cpus_bytes(
    tmp_path: Path,
    problem: tuple[list[str], list[str], int, int, int],
    kind: tuple[str, int | None],
    limit: int,
    piece: int,
) -> None:
    contigs, queries, minimum, _, _ = problem
    write_fasta(tmp_path / "ref.fa", contigs, prefix="c")
    write_fasta(tmp_path / "query.fa", queries, prefix="q")
    files = (str(tmp_path / "ref.fa"), (str(tmp_path / "query.fa"),))
    params = MemsParams(min_length=minimum, kind=kind[0], max_occ=kind[1], strands="both", strings=True, only_acgt=True)
    options = RunOptions(output=str(tmp_path / "out"), device="cpu", threads=2, quiet=True, batch_size=piece * 16)
    run_mems(*files, params, options)
    expected = (tmp_path / "out").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_context, "open_backend", lambda *_: DeviceStandIn(limit))
        patch.setattr(loop, "_REPORTED", 3)
        for sizes in ("DEVICE_PIECES", "SUFFIX_PIECES"):
            patch.setattr(loop, sizes, loop.DEVICE_PIECES._replace(first=1 << 6, maximum=1 << 6))
        run_mems(*files, params, options)
    assert (tmp_path / "out").read_bytes() == expected


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("sizes", [[0], [5], [0, 3, 0, 0, 2000, 1, 0], [1] * 40, [0, 0, 900]])
def test_tiles_are_sorted_each_for_itself(threads: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(len(sizes))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    tile = np.repeat(np.arange(len(sizes)), sizes)
    starts = (100 * tile + rng.integers(0, 100, len(tile))).astype(np.uint32)
    references = rng.permutation(len(tile)).astype(np.uint32)
    columns = MemColumns(starts, references, references + 7)
    expected = sorted(zip(starts.tolist(), references.tolist(), strict=True))
    sort_tiles(columns, offsets, threads)
    assert list(zip(columns.starts.tolist(), columns.references.tolist(), strict=True)) == expected
    assert np.array_equal(columns.lengths, columns.references + 7)
