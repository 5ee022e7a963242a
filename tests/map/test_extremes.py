"""Reads that take more of a device than any real one: they are mapped there as long as there is memory."""

from __future__ import annotations

import struct
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest

from gpualign.map.cpu import map_batch
from gpualign.map.device import slow_path
from gpualign.map.device.batch import MappedBatch
from gpualign.map.params import MapParams
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from tests.helpers.map_cases import assert_same
from tests.helpers.scalar_kernels import map_scalar
from tests.helpers.sequences import batch_of, make_reference, random_genome, reverse_complement, with_errors

K = 11
UNIT = random_genome(41, 60)
ARRAY = "".join(with_errors(seed, UNIT, 0.01) for seed in range(3000))
FLANK = random_genome(42, 3000)
READS = [
    FLANK[-50:] + ARRAY[:48] + ARRAY[51:53],
    with_errors(9, ARRAY[1000:1100], 0.03),
    reverse_complement(ARRAY[50_000:50_100]),
    ARRAY[70_000:70_050] + "N" + ARRAY[70_051:70_090],
    ARRAY[900:920],
]


@pytest.fixture(scope="module")
def index() -> MinimizerIndex:
    return build_index(make_reference(FLANK + ARRAY + random_genome(43, 3000)), IndexParams(K, 1))


def kmers(text: str) -> list[str]:
    return [text[i : i + K] for i in range(len(text) - K + 1)]


@pytest.mark.parametrize(("max_hits", "max_candidates"), [(40_000, 64), (200_000, 512), (1_000_000, 20_000)])
def test_more_hits_than_windows(index: MinimizerIndex, max_hits: int, max_candidates: int) -> None:
    found = Counter(kmers(ARRAY))
    assert sum(found[kmer] for kmer in kmers(READS[1])) > 1 << 17
    batch = batch_of([read.encode() for read in READS])
    params = MapParams.of_preset(max_hits=max_hits, max_candidates=max_candidates, secondary=5)
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


def test_memory_for_an_alignment_grows(index: MinimizerIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_path, "_FIRST_BAND", 1 << 16)
    reads = [with_errors(1, FLANK[500:2500], 0.05), with_errors(2, ARRAY[1000:2000], 0.03), ARRAY[:100]]
    batch, params = batch_of([read.encode() for read in reads]), MapParams.of_preset(end_to_end=True)
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


@pytest.mark.parametrize(("edits", "known"), [(70_000, True), (65_535, True), (3, True), (0, False)])
def test_a_record_has_any_number_of_edits(edits: int, known: bool) -> None:
    """Of a long read, whose CIGAR lies in a further record."""
    distance = edits if known else (1 << 32) - 1
    record = struct.pack("<IIiHHHHIII", 0, 5, 1, distance & 0xFFFF, 0x2000, 60, distance >> 16, 0, 0, 0)
    cigar = struct.pack("<II", 1, 200_000 << 4)
    records = np.frombuffer(record.ljust(64, b"\0") + cigar.ljust(64, b"\0"), np.uint8)
    batch = MappedBatch(1, ((records, 1),))
    found = batch.alignments(None, None, lambda reads: pytest.fail("nothing is left"))
    assert found.distance.tolist() == [edits if known else -1]
    assert found.cigar.tolist() == [200_000 << 4]


@pytest.mark.parametrize(("limits", "left"), [({"HITS": 3000}, [1, 1, 1, 1, 1]), ({"BAND": 256}, [1, 1, 0, 0, 0])])
def test_what_no_memory_suffices_for_is_left_to_the_cpu(
    index: MinimizerIndex, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], left: list[int]
) -> None:
    for name, value in limits.items():
        monkeypatch.setattr(slow_path, f"_FIRST_{name}", value)
        monkeypatch.setattr(slow_path, f"_MAX_{name}", value)
    batch, params = batch_of([read.encode() for read in READS]), MapParams.of_preset(max_hits=40_000, end_to_end=True)
    found, expected = map_scalar(index, batch, params), map_batch(index, batch, params)
    assert found.on_host.tolist() == left
    merged = found.alignments(batch, None, lambda batch: map_batch(index, batch, params))
    assert all(np.array_equal(getattr(merged, field.name), getattr(expected, field.name)) for field in fields(expected))
