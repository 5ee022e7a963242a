"""LCS lengths and paths of the native code against RapidFuzz and a naive dynamic program."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import LCSseq

from gpualign import _native
from gpualign.align.lcs.query import LcsQuery, common_subsequences, encode_query
from gpualign.lcs.run import lcs_stage
from gpualign.sequences.batch import join_bytes
from gpualign.sequences.strands import reverse_complement
from tests.helpers import native as native_tests
from tests.helpers.paths import TESTS
from tests.helpers.sequences import batch_of, mutate, random_codes
from tests.reference.lcs import is_subsequence, lcs_length


class Lengths:
    """LCS lengths of a query and subjects, by one of the implementations."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend

    def __call__(self, query: bytes, subjects: list[bytes], alphabet: str = "bytes") -> list[int]:
        encoded = encode_query("q", query, alphabet)  # type: ignore[arg-type]
        stage = lcs_stage([encoded], lambda item: item)
        (scored,) = self._backend.run([batch_of(subjects)], stage)
        return scored.lengths[0].tolist()  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def lengths(backend: Any) -> Lengths:
    return Lengths(backend)


BORDERS = [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129]


def test_worked_by_hand(lengths: Lengths) -> None:
    subjects = [b"A", b"GATC", b"CTAG", b"GGTTCC", b"", b"XXXX", b"TTGAXTXC"]
    assert lengths(b"GATC", subjects) == [1, 4, 1, 3, 0, 0, 4]


@pytest.mark.parametrize("symbols", [2, 4, 20, 256])
def test_word_borders_against_the_naive_program(lengths: Lengths, symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    for m in BORDERS:
        query = random_codes(rng, m, symbols)
        subjects = [random_codes(rng, n, symbols) for n in BORDERS] + [mutate(rng, query, 0.2, bytes(range(symbols)))]
        assert lengths(query, subjects) == [lcs_length(query, subject) for subject in subjects]


@pytest.mark.parametrize("symbols", [2, 3, 4, 8, 12, 16, 20, 26, 96, 255, 256])
def test_alphabets_against_rapidfuzz(lengths: Lengths, symbols: int) -> None:
    rng = np.random.default_rng(symbols)
    for m in (5, 200, 700, 1000, 1500):
        query = random_codes(rng, m, symbols)
        subjects = [random_codes(rng, int(n), symbols) for n in rng.integers(0, 2 * m, 19)]
        subjects += [mutate(rng, query, rate, bytes(range(symbols))) for rate in (0.01, 0.1, 0.5)]
        assert lengths(query, subjects) == [LCSseq.similarity(query, subject) for subject in subjects]


def test_every_tile_width(lengths: Lengths) -> None:
    """Queries of 1 to 40 words take every way of cutting words into tiles."""
    rng = np.random.default_rng(7)
    subjects = [random_codes(rng, n, 4) for n in (64, 100, 190)]
    for words in range(1, 41):
        query = random_codes(rng, 64 * words - int(rng.integers(64)), 4)
        assert lengths(query, subjects) == [LCSseq.similarity(query, subject) for subject in subjects]


def test_paper_size(lengths: Lengths) -> None:
    rng = np.random.default_rng(4096)
    query = random_codes(rng, 4096, 4)
    subjects = [random_codes(rng, 4096, 4), mutate(rng, query, 0.3, bytes(range(4)))]
    expected = [LCSseq.similarity(query, subject) for subject in subjects]
    assert lengths(query, subjects) == expected


@settings(max_examples=200, deadline=None)
@given(
    query=st.binary(max_size=150),
    subjects=st.lists(st.binary(max_size=150), max_size=20),
)
def test_any_bytes(lengths: Lengths, query: bytes, subjects: list[bytes]) -> None:
    assert lengths(query, subjects) == [LCSseq.similarity(query, subject) for subject in subjects]


def test_repeats_carry_through_every_word(lengths: Lengths) -> None:
    for n in (64, 1000, 4097):
        assert lengths(b"A" * n, [b"A" * n, b"A" * (n - 1), b"A" * (n + 5), b"CA" * n]) == [n, n - 1, n, n]


def test_subjects_too_long_to_keep_interleaved(lengths: Lengths) -> None:
    rng = np.random.default_rng(10)
    query = random_codes(rng, 1100, 4)
    subjects = [random_codes(rng, n, 4) for n in ((1 << 20) + 77, 100, 0, 3000)]
    expected = [LCSseq.similarity(query, subject) for subject in subjects]
    assert lengths(query, subjects) == expected


def test_dna_bases(lengths: Lengths) -> None:
    query = b"ACGTNacgtu"
    assert lengths(query, [b"ACGTNACGTT", b"acguNACGUu", b"NNNNNNN", b"RYSW-"], alphabet="dna") == [9, 9, 0, 0]


def test_protein_residues(lengths: Lengths) -> None:
    assert lengths(b"MKXw*", [b"mkxW*", b"XXXX", b"M K"], alphabet="protein") == [3, 0, 2]


def test_query_that_matches_nothing(lengths: Lengths) -> None:
    assert lengths(b"NNN", [b"ACGT", b"NNN", b""], alphabet="dna") == [0, 0, 0]


def test_reverse_complement() -> None:
    assert reverse_complement(b"ACGTUNRYSWKMBDHVacgt-") == b"-acgtBDHVKMWSRYNAACGT"


@pytest.mark.parametrize("row_bytes", [0, 32, 1 << 10, 1 << 13, 1 << 22])
@pytest.mark.parametrize("symbols", [2, 4, 26, 256])
@pytest.mark.usefixtures("level")
def test_paths_are_common_subsequences(symbols: int, row_bytes: int) -> None:
    """Replays the path; the smallest budgets halve down to single subject symbols."""
    rng = np.random.default_rng(symbols)
    for m in (0, 1, 2, 63, 64, 65, 255, 256, 257, 600):
        query = encode_query("q", random_codes(rng, m, symbols), "bytes")
        for subject in (
            random_codes(rng, max(1, m - 3), symbols),
            mutate(rng, query.text, 0.2, bytes(range(symbols))),
            b"",
        ):
            bases, offsets = join_bytes([subject])
            positions, ends = _native.lcs_paths(query.codes, query.symbols, bases, offsets, query.table, row_bytes)
            assert ends.tolist() == [0, len(positions)]
            part = np.frombuffer(query.text, np.uint8)[positions].tobytes()
            assert is_subsequence(part, query.text)
            assert is_subsequence(part, subject)
            assert len(part) == LCSseq.similarity(query.text, subject)


def leftmost_positions(query: bytes, subject: bytes) -> list[int]:
    """Query positions of the path that has the smallest optimal column after every subject symbol, by brute force."""
    m, n = len(query), len(subject)
    before = [[lcs_length(query[:i], subject[:j]) for i in range(m + 1)] for j in range(n + 1)]
    after = [[lcs_length(query[i:], subject[j:]) for i in range(m + 1)] for j in range(n + 1)]
    columns = [min(i for i in range(m + 1) if a[i] + b[i] == before[n][m]) for a, b in zip(before, after, strict=True)]
    steps = [before[j + 1][columns[j + 1]] - before[j][columns[j]] for j in range(n)]
    return [column - 1 for column, step in zip(columns[1:], steps, strict=True) if step]


@pytest.mark.parametrize("symbols", [2, 3, 5])
@pytest.mark.usefixtures("level")
def test_the_leftmost_path_comes_out(symbols: int) -> None:
    """Whatever is halved, and from the device's algorithm as well."""
    rng = np.random.default_rng(symbols)
    for _ in range(30):
        text, subject = (random_codes(rng, int(n), symbols) for n in rng.integers(0, 14, 2))
        query = encode_query("q", text, "bytes")
        expected = leftmost_positions(text, subject)
        bases, offsets = join_bytes([subject])
        for row_bytes in (0, 300, 1 << 19):
            positions, _ = _native.lcs_paths(query.codes, query.symbols, bases, offsets, query.table, row_bytes)
            assert positions.tolist() == expected
        assert traced_on_a_lane(query, subject) == expected


def traced_on_a_lane(query: LcsQuery, subject: bytes) -> list[int]:
    """Query positions, modulo 256, that the device's algorithm matches."""
    numbers = np.arange(len(query)).astype(np.uint8)
    codes = query.table[np.frombuffer(subject, np.uint8)].astype(np.uint8)
    found: list[int] = native_tests.lcs_trace(query.codes, query.symbols, numbers, codes).tolist()
    return found


@pytest.mark.parametrize("symbols", [1, 2, 4, 26, 255])
@pytest.mark.usefixtures("level")
def test_every_way_to_a_path_is_the_same(symbols: int) -> None:
    """Budgets, and the device's tiles, at the borders of words and tiles."""
    rng = np.random.default_rng(symbols)
    for m in (1, 31, 32, 33, 127, 128, 129, 256, 700):
        query = encode_query("q", random_codes(rng, m, symbols), "bytes")
        subjects = [random_codes(rng, int(n), symbols) for n in (1, 3, 4, 5, 63, 64, 65, 700)]
        subjects += [query.text, mutate(rng, query.text, 0.2, bytes(range(symbols))), b""]
        bases, offsets = join_bytes(subjects)
        paths = [
            _native.lcs_paths(query.codes, query.symbols, bases, offsets, query.table, row_bytes)
            for row_bytes in (0, 1 << 10, 1 << 22)
        ]
        for positions, ends in paths[1:]:
            assert np.array_equal(positions, paths[0][0])
            assert np.array_equal(ends, paths[0][1])
        for k, subject in enumerate(subjects):
            start, end = paths[0][1][k : k + 2]
            assert traced_on_a_lane(query, subject) == (paths[0][0][start:end] % 256).tolist()


def test_thirty_two_lanes_find_the_leftmost_subsequence(tmp_path: Path) -> None:
    """The device's algorithm as its lanes run it; queries of several tiles and passes."""
    program = tmp_path / "lanes"
    sources = TESTS
    compiled = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I", str(sources.parent / "cuda")]
    subprocess.run([*compiled, "-o", str(program), str(sources / "native" / "lcs_lanes.cpp")], check=True)
    rng = np.random.default_rng(9)
    allowed = np.frombuffer(b"ACGTN", np.uint8)
    cases = []
    for m in (1, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 4096, 4097, 8200):
        for n in (1, 7, 8, 9, 31, 32, 33, 64, 500):
            cases.append(tuple(allowed[rng.integers(0, 5, length)].tobytes() for length in (m, n)))
    related = allowed[rng.integers(0, 4, 1500)].tobytes()
    cases += [(related, related), (related, related[:700]), (related, related[800:]), (related[:300], related * 2)]
    cases += [(b"A" * 600, b"A" * 601), (b"A" * 600 + b"C", b"C" + b"A" * 300), (b"G" * 700, b"T" * 90)]
    given = b"".join(query + b" " + subject + b"\n" for query, subject in cases)
    found = subprocess.run([program], input=given, capture_output=True, check=True, timeout=120).stdout.split(b"\n")
    for (text, subject), traced in zip(cases, found, strict=False):
        query = encode_query("q", text, "dna")
        bases, offsets = join_bytes([subject])
        positions, _ = _native.lcs_paths(query.codes, query.symbols, bases, offsets, query.table, 1 << 12)
        assert traced == np.frombuffer(text, np.uint8)[positions].tobytes(), (text, subject)
    assert len(found) == len(cases) + 1


def test_a_path_of_another_length_is_refused() -> None:
    query = encode_query("q", b"ACGT", "bytes")
    assert common_subsequences(query, [b"AxC", b"", b"GT"], [2, 0, 2]) == [b"AC", b"", b"GT"]
    with pytest.raises(AssertionError, match=r"lengths \[2\] instead of \[3\]"):
        common_subsequences(query, [b"AxC"], [3])


def test_bad_arguments_are_refused() -> None:
    codes = np.zeros(3, np.uint16)
    offsets = np.zeros(1, np.int64)
    table = np.zeros(256, np.uint16)
    with pytest.raises(ValueError, match="symbols"):
        _native.lcs_lengths(codes, 257, np.zeros(0, np.uint8), offsets, table)
    with pytest.raises(ValueError, match="code"):
        _native.lcs_lengths(codes + 9, 4, np.zeros(0, np.uint8), offsets, table)
