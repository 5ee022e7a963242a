"""The device's form of chaining, run in scalar code, gives the records of the CPU's: hostile reads and plain ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch
from gpualign.map.params import LONG_READS, MapParams
from tests.helpers.long_read_cases import index_of
from tests.helpers.scalar_kernels import map_chains_scalar
from tests.helpers.sequences import batch_of, random_genome, reverse_complement, with_errors

GENOME = random_genome(41, 120_000)
REPEATS = GENOME[:30_000] + with_errors(3, GENOME[10_000:14_000], 0.01) * 3 + random_genome(42, 20_000) + "AC" * 400
TANDEM = "ACGGTCATTGCA" * 300


def plain(errors: float) -> list[str]:
    rng = np.random.default_rng(int(errors * 1000))
    reads = []
    for seed in range(25):
        length = int(rng.integers(300, 9000))
        at = int(rng.integers(0, len(GENOME) - length))
        read = with_errors(seed, GENOME[at : at + length], errors)
        reads.append(reverse_complement(read) if seed % 2 else read)
    return reads


def split() -> list[str]:
    return [
        GENOME[1000:5000] + GENOME[60_000:64_000],
        GENOME[1000:4000] + reverse_complement(GENOME[20_000:22_000]) + GENOME[6000:9000],
        GENOME[1000:5000] + GENOME[13_000:17_000],
        GENOME[1000:5000] + random_genome(9, 6000) + GENOME[5000:9000],
        random_genome(8, 3000) + GENOME[70_000:73_000] + random_genome(7, 3000),
        GENOME[1000:3000] + GENOME[2500:3000] * 4 + GENOME[3000:5000],
    ]


def hostile() -> list[str]:
    return [
        "",
        "A",
        "N" * 500,
        "ACGT" * 5,
        GENOME[500:520],
        "A" * 3000,
        "AC" * 2000,
        TANDEM,
        GENOME[2000:3000] + "N" * 300 + GENOME[3300:4300],
        with_errors(4, GENOME[2000:4000], 0.3),
        GENOME[:100] + "acgtn" * 20,
        with_errors(5, GENOME[100:100_000], 0.05),
    ]


@pytest.mark.parametrize(("preset", "secondary"), [("ont", 0), ("ont", 5), ("hifi", 5)])
@pytest.mark.parametrize(
    "reads", [plain(0.0), plain(0.05), plain(0.12), split(), hostile()], ids=["exact", "5%", "12%", "split", "hostile"]
)
def test_same_records(preset: str, secondary: int, reads: list[str]) -> None:
    params = MapParams.of_preset(preset, secondary=secondary)
    for contigs in ((GENOME,), (REPEATS, TANDEM + GENOME[40_000:60_000], "N" * 100 + GENOME[60_000:] + "N" * 50)):
        index = index_of(*contigs, k=15 if preset == "ont" else 19, w=10)
        batch = batch_of(read.encode() for read in reads)
        expected = map_batch(index, batch, params)
        found = map_chains_scalar(index, MapBatch.of(batch, False), params)
        for name in expected.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_one_price_for_gaps() -> None:
    params = MapParams.of_preset("ont", long_gap_open=0, long_gap_extend=0, chaining=replace(LONG_READS, zdrop=50))
    index, batch = index_of(GENOME), batch_of(read.encode() for read in (*plain(0.05), *split()))
    expected = map_batch(index, batch, params)
    found = map_chains_scalar(index, MapBatch.of(batch, False), params)
    np.testing.assert_array_equal(found.cigar, expected.cigar)
    np.testing.assert_array_equal(found.mapq, expected.mapq)
    np.testing.assert_array_equal(found.record_offsets, expected.record_offsets)
