"""Candidate lines: one by one, and in runs with the same names, which are read in another way."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign import _native
from gpualign.sequences.batch import join_bytes
from tests.helpers import native as native_tests

QUERIES, TARGETS = [b"q", b"q2", b"read", b""], [b"t", b"chr1", b"t\x20u"]


def names(of: list[bytes]):
    return _native.NameIndex(*join_bytes(of))


def parsed(text: bytes) -> list[list[int]] | str:
    """Rows of columns, or what is wrong."""
    named = [[name.decode() for name in some] for some in (QUERIES, TARGETS)]
    try:
        columns = native_tests.parse_candidates(np.frombuffer(text, np.uint8), "t", *named)
    except ValueError as error:
        return str(error)
    return [list(map(int, row)) for row in zip(*columns, strict=True)]


def one_by_one(lines: list[bytes]) -> list[list[int]] | str:
    """The same of each line alone, before which there is none with its names."""
    rows: list[list[int]] = []
    for number, line in enumerate(lines):
        found = parsed(line)
        if isinstance(found, str):
            return f"{number}\t" + found.split("\t", 1)[1]
        rows += found
    return rows


numbers = st.one_of(
    st.integers(0, 300).map(lambda n: b"%d" % n),
    st.sampled_from([b"", b"0", b"x", b"-1", b"1" * 18, b"1" * 19, b"007", b"2 ", b"+3"]),
)
usual = st.tuples(
    st.sampled_from(QUERIES[:3]),
    st.sampled_from(TARGETS[:2]),
    st.integers(1, 99),
    st.integers(99, 200),
    st.sampled_from([b"+", b"-", b"."]),
)
lines = st.one_of(
    usual.map(lambda given: b"%s\t%s\t%d\t%d\t%s" % given),
    st.tuples(
        st.sampled_from([*QUERIES, b"#q", b"query", b"other"]),
        st.sampled_from([*TARGETS, b"target"]),
        numbers,
        numbers,
        st.sampled_from([b"", b"\t", b"\t+", b"\t-", b"\t.", b"\t*", b"\t+\tmore", b"\t++"]),
    ).map(lambda given: b"%s\t%s\t%s\t%s%s" % given),
    st.sampled_from([b"", b"# remark", b"query\ttarget\tstart\tend\tstrand", b"q\tt\t1"]),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(lines, st.integers(1, 4)), max_size=8), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_runs_of_lines_are_read_as_their_lines(runs, line_end: bytes, ended: bool) -> None:
    repeated = [line + line_end for line, times in runs for _ in range(times)]
    if repeated and not ended:
        repeated[-1] = repeated[-1].removesuffix(line_end)
    assert parsed(b"".join(repeated)) == one_by_one(repeated)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        (b"q\tt\t1\t5\t-\n", [[0, 0, 0, 5, 0, 0, 1]]),
        (b"q\tt\t6\t5\t.\n", [[0, 0, 5, 5, 0, 0, 2]]),
        (b"q\tt\t7\t5\t+\n", "1\tthe end lies before the start"),
        (b"q\tt\t0\t5\t+\n", "1\tstart is 0 (positions count from 1)"),
        (b"q\tt\t1\t5\t?\n", "1\tstrand is '?' (expected +, - or .)"),
        (b"q\tchr1\t1\t5\t+\n", [[0, 1, 0, 5, 0, 0, 0]]),
        (b"q2\tt\t1\t5\t+\n", [[1, 0, 0, 5, 0, 0, 0]]),
    ],
)
def test_the_line_after_one_with_the_same_names(second: bytes, expected: list[list[int]] | str) -> None:
    found = parsed(b"q\tt\t2\t3\t+\n" + second)
    assert found == (expected if isinstance(expected, str) else [[0, 0, 1, 3, 0, 0, 0], *expected])


def test_names_are_found_among_many() -> None:
    many = [b"read%d" % i for i in range(30_000)]
    index = names(many)
    assert [index.find(name.decode()) for name in many[::997]] == list(range(0, 30_000, 997))
    assert index.find("read30000") == index.find("") == -1
    assert index.repeated == -1
    assert names([*many, b"x", b"read7", b"read8"]).repeated == 30_001
    assert names([]).find("x") == -1


BASES, LIMITS, CONTIGS = [4, 0, 3, 5], [1, 0, 2, 9], [0, 10, 40, 200]


def texts():
    offsets = np.concatenate([[0], np.cumsum(BASES)])
    bases = np.frombuffer(b"ACGTGGGTTTTT", np.uint8)
    return _native.NamedTexts(bases, offsets, np.array(LIMITS, np.int32), np.array(CONTIGS, np.int64))


def windows_by_hand(rows: list[list[int]], strands: int, widen: bool) -> tuple[list[list[int]], int, int]:
    """(candidate, begin, end, strand) of each pair, how many reach beyond their target, and cells."""
    pairs, clipped, cells = [], 0, 0
    for number, (query, target, begin, end, before, after, strand) in enumerate(rows):
        start, length = CONTIGS[target], CONTIGS[target + 1] - CONTIGS[target]
        if widen:
            margin = min(LIMITS[query], BASES[query])
            begin, end = begin - before - margin, end + after + margin
        else:
            clipped += end > length
        begin = min(max(begin, 0), length)
        end = min(max(end, begin), length)
        strand = strand if strands == 3 else strands
        for each in (0, 1) if strand == 2 else (strand,):
            pairs.append([number, start + begin, start + end, each])
            cells += BASES[query] * (end - begin)
    return pairs, clipped, cells


def check_windows(found, rows: list[list[int]], strands: int, widen: bool) -> None:
    query, target, first, local, begin, end, strand, bases, offsets, limits, clipped, cells = found
    owner = [i for i in range(len(rows)) for _ in range(first[i + 1] - first[i] if len(first) else 1)]
    pairs = [list(map(int, row)) for row in zip(owner, begin, end, strand, strict=True)]
    assert (pairs, clipped, cells) == windows_by_hand(rows, strands, widen)
    assert [query.tolist(), target.tolist()] == [[row[i] for row in rows] for i in (0, 1)]
    occurring = list(dict.fromkeys(query.tolist()))  # in the order in which they occur
    assert [occurring[i] for i in local] == [rows[i][0] for i in owner]
    assert np.diff(offsets).tolist() == [BASES[q] for q in occurring]
    assert limits.tolist() == [LIMITS[q] for q in occurring]
    assert len(bases) == offsets[-1]


def intervals(longest: int):
    return st.integers(0, 3), st.integers(0, 2), st.integers(0, 220), st.integers(1, longest)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(*intervals(50)), max_size=12), st.integers(0, 2))
def test_windows_are_those_by_hand(given_rows, strands: int) -> None:
    rows = [[q, t, begin, begin + size, 0, 0, 0] for q, t, begin, size in given_rows]
    columns = [np.array([row[i] for row in rows], d) for i, d in enumerate(("i4", "i4", "i8", "i8"))]
    check_windows(_native.windows_of(*columns, texts(), strands), rows, strands, widen=False)


@settings(max_examples=200, deadline=None)
@given(st.lists(lines, max_size=8), st.integers(0, 3))
def test_windows_of_lines_are_those_by_hand(some: list[bytes], strands: int) -> None:
    text = np.frombuffer(b"".join(line + b"\n" for line in some), np.uint8)
    index = names(QUERIES), names(TARGETS)
    rows = parsed(text.tobytes())
    if isinstance(rows, str):
        with pytest.raises(ValueError, match=f"^{re.escape(rows)}$"):
            _native.windows_of_lines(text, "t", *index, texts(), strands)
    else:
        check_windows(_native.windows_of_lines(text, "t", *index, texts(), strands), rows, strands, widen=False)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(*intervals(50), st.integers(0, 9), st.integers(0, 9), st.integers(0, 1)), max_size=12),
    st.integers(0, 3),
)
def test_windows_of_records_are_those_by_hand(given_rows, strands: int) -> None:
    """With clips, soft and hard, and records without an alignment between them."""
    rows = [[q, t, begin, begin + size, before, after, s] for q, t, begin, size, before, after, s in given_rows]
    queries, text = [b"q", b"q2", b"read", b"x/1"], ""
    for q, t, begin, end, before, after, strand in rows:
        clips = f"{before}S" * (before > 0), f"{after}H" * (after > 0)
        cigar, name = f"{clips[0]}{end - begin - 1}M1D{clips[1]}", queries[q].decode().removesuffix("/1")
        text += f"{name}\t{16 * strand}\t{TARGETS[t].decode()}\t{begin + 1}\t60\t{cigar}\t*\t0\t0\t*\t*\n"
        text += f"none\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*\nnone\t0\t{TARGETS[0].decode()}\t1\t0\t*\t*\t0\t0\t*\t*\n"
    contigs = join_bytes(TARGETS)
    records = _native.bam_records(text.encode(), *contigs)[0]
    found = _native.windows_of_records(records, *contigs, names(queries), names(TARGETS), texts(), strands)
    check_windows(found, rows, strands, widen=True)


@pytest.mark.parametrize(
    ("flag", "queries", "what"),
    [
        (0, [b"y", b"r/1", b"r/2"], "two queries are named 'r', 'r/1' or 'r/2'"),
        (65, [b"y", b"r/2"], "no query is named 'r', 'r/1' or 'r/2'"),
        (129, [b"y", b"r/1", b"r/2"], None),
        (0, [b"y", b"r/2"], None),
    ],
)
def test_queries_of_records_with_their_mates_numbers(flag: int, queries: list[bytes], what: str | None) -> None:
    contigs = join_bytes(TARGETS)
    records = _native.bam_records(f"r\t{flag}\tt\t1\t60\t4M\t*\t0\t0\t*\t*\n".encode(), *contigs)[0]
    how = *contigs, names(queries), names(TARGETS), texts(), 3
    if what is not None:
        with pytest.raises(ValueError, match=what):
            _native.windows_of_records(records, *how)
    else:
        assert _native.windows_of_records(records, *how)[0].tolist() == [len(queries) - 1]
    for name, shown in ((b"t", "t"), (b"\xe9", "\\?")):
        with pytest.raises(ValueError, match=f"no target is named '{shown}'"):
            _native.windows_of_records(records, *join_bytes([name]), names(queries), names([b"u"]), texts(), 3)


def test_the_better_strand_is_chosen() -> None:
    """Forward when equal; a candidate without a hit on either is left out, or all are kept."""
    first = np.array([0, 1, 3, 5, 7, 9], np.int64)
    distance = np.array([4, 3, 2, 2, 2, -1, 5, -1, -1], np.int32)
    kept, pairs, hits = _native.choose_pairs(distance, first, 5, False)
    assert (kept.tolist(), pairs.tolist(), hits) == ([0, 1, 2, 3], [0, 2, 3, 6], 4)
    kept, pairs, hits = _native.choose_pairs(distance, first, 5, True)
    assert (kept.tolist(), pairs.tolist(), hits) == ([0, 1, 2, 3, 4], [0, 2, 3, 6, 7], 4)
    kept, pairs, hits = _native.choose_pairs(distance, np.zeros(0, np.int64), 9, False)
    assert (kept.tolist(), pairs.tolist(), hits) == ([0, 1, 2, 3, 4, 6], [0, 1, 2, 3, 4, 6], 6)
    with pytest.raises(ValueError, match="not those of the candidates"):
        _native.choose_pairs(distance, first, 4, False)


def test_windows_of_what_is_not_named_are_refused() -> None:
    one = [np.array([value], kind) for value, kind in ((4, "i4"), (0, "i4"), (0, "i8"), (1, "i8"))]
    with pytest.raises(ValueError, match="names no query"):
        _native.windows_of(*one, texts(), 0)
