"""Candidate lines: one by one, and in runs with the same names, which are read in another way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualign import _native
from gpualign.sequences.batch import join_bytes

QUERIES, TARGETS = [b"q", b"q2", b"read", b""], [b"t", b"chr1", b"t\x20u"]


def names(of: list[bytes]):
    return _native.NameIndex(*join_bytes(of))


def parsed(text: bytes) -> list[list[int]] | str:
    """Rows of columns, or what is wrong."""
    try:
        columns = _native.parse_candidates(np.frombuffer(text, np.uint8), "t", names(QUERIES), names(TARGETS))
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
