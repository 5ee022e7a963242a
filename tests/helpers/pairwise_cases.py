"""``pairwise`` as its tests run it: the command line, the native engine, and what every alignment has to keep."""

from __future__ import annotations

import functools

import numpy as np
import parasail
import pytest

from gpualign import _native
from gpualign.cli import main
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from tests.helpers.sam import cigar_text
from tests.reference.pairwise import replay

NO_BAND = np.zeros(0, np.int32)


def run(arguments: list[str], expect: int = 0) -> None:
    with pytest.raises(SystemExit) as done:
        main(["pairwise", "--device", "cpu", "-q", *arguments])
    assert done.value.code == expect


def align(
    scoring, queries, targets, gap_open, gap_extend, local=False, free=0, traced=True, table=1 << 26, end_gaps=None
):
    """Every query against every target, straight from the native engine; ends that are not free cost ``end_gaps``."""
    a = encode([SequenceBatch.from_records([(str(i), s) for i, s in enumerate(queries)])], scoring)
    b = encode([SequenceBatch.from_records([(str(i), s) for i, s in enumerate(targets)])], scoring)
    query = np.repeat(np.arange(len(queries), dtype=np.int32), len(targets))
    target = np.tile(np.arange(len(targets), dtype=np.int32), len(queries))
    each = end_gaps or [(gap_open, gap_extend)] * 4
    costs = [(0, 0) if local or free >> end & 1 else each[end] for end in range(4)]
    return _native.align_pairs(
        a.codes, a.offsets, b.codes, b.offsets, query, target, band_low=NO_BAND, band_high=NO_BAND,
        scores=scoring.scores.ravel(), symbols=len(scoring), identical=scoring.identical,
        match_mismatch=scoring.name == "match/mismatch", open=gap_open, extend=gap_extend, local=local, free_ends=free,
        end_gaps=np.array(costs, np.int32).ravel(), traced=traced, table_bytes=table,
    )  # fmt: skip


def score_of(scoring):
    """Each pair of symbols looked up once: plain programs ask a million times."""
    return functools.cache(lambda x, y: int(scoring.scores[scoring.codes[ord(x)], scoring.codes[ord(y)]]))


def check_alignments(scoring, queries, targets, gap_open, gap_extend, local, free, table, expected, end_gaps=None):
    common = (scoring, queries, targets, gap_open, gap_extend, local, free)
    scores, spans, _, cigar, offsets = align(*common, True, table, end_gaps)
    alone = align(*common, False, end_gaps=end_gaps)[0]
    for pair in range(len(scores)):
        a, b = queries[pair // len(targets)], targets[pair % len(targets)]
        assert scores[pair] == alone[pair] == expected(a, b), (a, b)
        query_start, query_end, target_start, target_end = spans.reshape(-1, 4)[pair].tolist()
        part_a, part_b = a[query_start:query_end], b[target_start:target_end]
        path = cigar_text(cigar[offsets[pair] : offsets[pair + 1]].tolist())
        if end_gaps:  # what free ends leave out, so that gaps at the ends of the parts are not taken for end gaps
            before, after = ((target_start, query_start), (len(b) - target_end, len(a) - query_end))
            path = "{}D{}I".format(*before) + path + "{}D{}I".format(*after)
            part_a, part_b = a, b
        replayed = replay(part_a, part_b, path, score_of(scoring), gap_open, gap_extend, end_gaps)
        assert replayed == (scores[pair], len(part_a), len(part_b))
        if not local and a and b:
            assert query_start == 0 or free & 1
            assert query_end == len(a) or free & 2
            assert target_start == 0 or free & 4
            assert target_end == len(b) or free & 8


def parasail_matrix(scoring):
    matrix = parasail.matrix_create(scoring.symbols, 1, -1)
    for i in range(len(scoring)):
        for j in range(len(scoring)):
            matrix[i, j] = int(scoring.scores[i, j])
    return matrix
