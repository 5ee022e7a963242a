"""The device's mapper, in scalar CPU code and on a GPU, against the CPU's: two programs, the same records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpualign import _native
from gpualign.map import tuning
from gpualign.map.cpu import map_batch
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.kernel import Workspace
from gpualign.map.inputs import MapFiles, RecordOptions, Sample
from gpualign.map.params import ALL_LOCI, MapParams
from gpualign.run.gpu.device import Device
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from gpualign.sequences.batch import SequenceBatch
from tests.helpers.map_cases import BASES, PAIRS, assert_same, kernel_records, repetitive_reference
from tests.helpers.paths import GENOMES, READS
from tests.helpers.scalar_kernels import map_scalar, same_records
from tests.helpers.sequences import batch_of, reverse_complement

pytestmark = pytest.mark.usefixtures("level")


def read_from(
    contigs: list[NDArray[np.uint8]], rng: np.random.Generator, length: int, rate: float
) -> tuple[bytes, int, int]:
    """A read with substitutions, gaps and now and then an N, on either strand; its contig and start."""
    contig = int(rng.choice(len(contigs), p=[0.5, 0.2, 0.05, 0.05, 0.2]))
    text = contigs[contig]
    start = int(rng.integers(0, max(1, len(text) - length)))
    read = text[start : start + length].copy()
    changed = rng.random(len(read)) < rate
    read[changed] = BASES[rng.integers(0, 4, int(changed.sum()))]
    mutated = bytes(read)
    if rng.random() < 0.3 and len(mutated) > 40:
        at = int(rng.integers(5, len(mutated) - 5))
        gap = int(rng.integers(1, 5))
        mutated = (
            mutated[:at] + (bytes(BASES[rng.integers(0, 4, gap)]) if rng.random() < 0.5 else b"") + mutated[at + gap :]
        )
    if rng.random() < 0.05 and mutated:
        mutated = b"N" + mutated[1:]
    return (reverse_complement(mutated) if rng.random() < 0.5 else mutated), contig, start


def make_reads(contigs: list[NDArray[np.uint8]], seed: int, count: int, longest: int) -> SequenceBatch:
    rng = np.random.default_rng(seed)
    reads = [
        read_from(contigs, rng, int(rng.integers(20, longest)), float(rng.choice([0, 0.01, 0.05])))[0]
        for _ in range(count)
    ]
    reads += [b"", b"A", b"ACGT", b"N" * 60, bytes(BASES[rng.integers(0, 4, 120)])]
    chimera = bytes(contigs[0][100:160]) + bytes(contigs[4][500:560])
    return batch_of([*reads, chimera, *[bytes(contigs[1][2000 + i : 2120 + i]) for i in range(20)]])


def make_pairs(contigs: list[NDArray[np.uint8]], seed: int, count: int) -> SequenceBatch:
    """Pairs of 100-base ends, inserts about 300; some with an end of noise, some far apart, some reads are single."""
    rng = np.random.default_rng(seed)
    reads: list[bytes] = []
    mates: list[int] = []
    for _ in range(count):
        insert = int(rng.normal(300, 30))
        fragment, _, _ = read_from(contigs[:1] * 4 + contigs[4:], rng, max(120, insert), 0.01)
        ends = [fragment[:100], reverse_complement(fragment[-100:])]
        kind = rng.random()
        if kind < 0.1:
            spoilt = np.frombuffer(ends[1], np.uint8).copy()
            spoilt[::17] = BASES[rng.integers(0, 4, len(spoilt[::17]))]
            ends[1] = bytes(spoilt)
        elif kind < 0.15:
            ends[1] = bytes(BASES[rng.integers(0, 4, 100)])
        elif kind < 0.2:
            ends[1] = read_from(contigs, rng, 100, 0.01)[0]
        if kind > 0.95:
            reads.append(ends[0])
            mates.append(0)
        else:
            reads += ends
            mates += [1, 2]
    return batch_of(reads, np.array(mates, np.uint8))


@pytest.fixture(scope="module")
def world(level: str) -> tuple[MinimizerIndex, list[NDArray[np.uint8]]]:
    reference, contigs = repetitive_reference(3)
    return build_index(reference, IndexParams(15, 8)), contigs


CASES = {
    "plain": MapParams(),
    "secondary": MapParams.of_preset(secondary=3, strata=2),
    "whole": MapParams.of_preset(end_to_end=True, error_rate=0.12),
    "few hits": MapParams.of_preset(max_hits=20, max_candidates=3, secondary=2),
    "many hits": MapParams.of_preset("sr-sensitive"),
    "all": MapParams.of_preset(secondary=ALL_LOCI, strata=8),
    "long cigars": MapParams.of_preset(match=2, mismatch=3, gap_open=0, gap_extend=1, error_rate=0.3, end_to_end=True),
    "scores": MapParams.of_preset(match=2, mismatch=3, gap_open=1, gap_extend=1, clip_penalty=0),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("longest", [150, 300])
def test_one_lane_reads(world: tuple[MinimizerIndex, list[NDArray[np.uint8]]], case: str, longest: int) -> None:
    index, contigs = world
    batch = make_reads(contigs, 7, 300, longest)
    found = map_scalar(index, batch, CASES[case])
    assert_same(found, index, batch, CASES[case], None)


@pytest.mark.parametrize("error_rate", [0.085, 0.12])
def test_one_lane_full(world: tuple[MinimizerIndex, list[NDArray[np.uint8]]], error_rate: float) -> None:
    """Of unique reads, repeats with more hits than are taken at once, reads too short to share a seed, and noise."""
    index, contigs = world
    params = MapParams.of_preset(full=True, secondary=ALL_LOCI, error_rate=error_rate)
    repeat = bytes(contigs[1][2003:2103])
    reads = [
        bytes(contigs[0][1500:1600]),
        repeat,
        reverse_complement(repeat),
        bytes(contigs[4][600:622]),
        b"",
        b"A" * 60,
    ]
    batch = batch_of([*reads, b"GAT" + bytes(contigs[4][3050:3150]), b"N" * 40 + bytes(contigs[4][200:290])])
    found = map_scalar(index, batch, params)
    assert_same(found, index, batch, params, None)
    counts = np.diff(found.alignments(batch, None, lambda left: map_batch(index, left, params)).record_offsets)
    assert counts[1] == counts[2] > 100
    assert counts[0] > 5


def edited_at_an_end(contigs: list[NDArray[np.uint8]], seed: int, count: int) -> SequenceBatch:
    """Reads of 100 bases with two substitutions or a gap of 1 to 4 close to an end: whether a gap, a clipped end or
    neither is best hangs on a base."""
    rng = np.random.default_rng(seed)
    reads = []
    for _ in range(count):
        text = contigs[int(rng.choice([0, 1]))]
        start = int(rng.integers(0, len(text) - 110))
        read = text[start : start + 100].copy()
        kind, at = rng.integers(0, 3), int(rng.integers(1, 14))
        if kind == 0:
            for locus in rng.integers(0, 14, 2):
                read[locus] = BASES[(int(np.searchsorted(BASES, read[locus])) + rng.integers(1, 4)) % 4]
        elif kind == 1:  # bases of the reference that the read has not
            read = np.concatenate([text[start : start + at], text[start + at + int(rng.integers(1, 5)) :][: 100 - at]])
        else:
            read = np.concatenate([read[:at], BASES[rng.integers(0, 4, int(rng.integers(1, 5)))], read[at:]])
        mutated = bytes(read)
        reads.append(mutated if rng.random() < 0.5 else reverse_complement(mutated))
    return batch_of(reads)


@pytest.mark.parametrize(
    "scores", [(1, 4, 6, 1, 5), (2, 3, 5, 2, 5), (1, 1, 2, 1, 3), (1, 9, 16, 1, 9), (1, 4, 5, 1, 4)]
)
def test_one_lane_edits_at_an_end(
    world: tuple[MinimizerIndex, list[NDArray[np.uint8]]], scores: tuple[int, ...]
) -> None:
    index, contigs = world
    names = ("match", "mismatch", "gap_open", "gap_extend", "clip_penalty")
    params = MapParams.of_preset(**dict(zip(names, scores, strict=True)))
    batch = edited_at_an_end(contigs, 3, 600)
    assert_same(map_scalar(index, batch, params), index, batch, params, None)


@pytest.mark.parametrize("library", PAIRS)
@pytest.mark.parametrize("case", ["plain", "secondary", "few hits"])
def test_one_lane_pairs(world: tuple[MinimizerIndex, list[NDArray[np.uint8]]], case: str, library: str) -> None:
    index, contigs = world
    batch = make_pairs(contigs, 5, 250)
    found = map_scalar(index, batch, CASES[case], PAIRS[library])
    assert_same(found, index, batch, CASES[case], PAIRS[library])


def long_ones(contigs: list[NDArray[np.uint8]], mates: bool) -> SequenceBatch:
    """Reads of 512 to 9,000 bases, whole, with errors, gaps and split, on both strands; or in pairs with short ones."""
    rng = np.random.default_rng(13)
    reads: list[bytes] = []
    for size in (512, 513, 600, 600, 1000, 1000, 1001, 3000, 9000):
        at = int(rng.integers(0, 30_000))
        read = contigs[0][at : at + size].copy()
        for rate in (0.0, 0.01, 0.04):
            changed = rng.random(size) < rate
            mutated = read.copy()
            mutated[changed] = BASES[rng.integers(0, 4, int(changed.sum()))]
            if rate == 0.01:
                mutated = np.delete(mutated, np.arange(100, size, 130))
            reads.append(bytes(mutated) if rng.random() < 0.5 else reverse_complement(bytes(mutated)))
            if mates:
                reads.append(reverse_complement(bytes(contigs[0][at + 200 : at + 300])))
        if not mates:
            half = size // 2
            reads.append(bytes(read[:half]) + bytes(read[half + 70 :]))
            reads.append(bytes(read[:half]) + reverse_complement(bytes(contigs[4][200 : 200 + half])))
            reads.append(bytes(BASES[rng.integers(0, 4, half)]) + bytes(read[half:]))
    return batch_of(reads, np.tile(np.array([1, 2], np.uint8), len(reads) // 2) if mates else None)


@pytest.mark.parametrize("mates", [False, True])
@pytest.mark.parametrize("case", ["plain", "secondary", "whole"])
def test_reads_of_any_length(world: tuple[MinimizerIndex, list[NDArray[np.uint8]]], case: str, mates: bool) -> None:
    index, contigs = world
    batch, pairs = long_ones(contigs, mates), PAIRS["fr"] if mates else None
    found = map_scalar(index, batch, CASES[case], pairs)
    assert_same(found, index, batch, CASES[case], pairs)
    merged = found.alignments(batch, batch.mates, lambda left: map_batch(index, left, CASES[case], pairs))
    assert max(np.diff(merged.cigar_offsets)) > 16


@pytest.mark.parametrize(("paired", "firsts"), [(True, [0, 2, 3, 5]), (False, [0, 1, 2, 3, 4, 5])])
def test_templates(paired: bool, firsts: list[int]) -> None:
    item = MapBatch.of(batch_of([b"A"] * 5, np.array([1, 2, 0, 1, 2], np.uint8)), paired)
    templates = item.addresses(0)["templates"]
    assert item.block[templates : templates + 4 * len(firsts)].view(np.uint32).tolist() == firsts
    assert item.templates == len(firsts) - 1
    assert [half.templates for half in item.halves()] == [
        item.templates // 2,
        item.templates - item.templates // 2,
    ]


@pytest.mark.parametrize("lengths", [[], [0], [3, 0, 5, 700], [600, 1001], [100] * 31])
@pytest.mark.parametrize("dirt", [0, 255])
def test_a_block_holds_the_batch(lengths: list[int], dirt: int) -> None:
    """In memory with whatever content."""
    rng = np.random.default_rng(3)
    bases = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, sum(lengths))]
    offsets = np.cumsum([0, *lengths]).astype(np.int64)
    batch = SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), bases, offsets, bases + np.uint8(1))
    item = MapBatch.of(batch, False, lambda nbytes: np.full(nbytes, dirt, np.uint8))

    def found(at: int, count: int, dtype: type) -> list[int]:
        return item.block[at : at + count * np.dtype(dtype).itemsize].view(dtype).tolist()

    mutated, qualities, starts, tie_breaks, templates, slow_count, counters = item.addresses(0).values()
    assert found(mutated, len(bases), np.uint8) == bases.tolist()
    assert found(qualities, len(bases), np.uint8) == (bases + 1).tolist()
    assert MapBatch.of(replace(batch, qualities=None), False).addresses(0)["qualities"] == 0
    assert found(starts, len(offsets), np.int64) == offsets.tolist()
    assert found(templates, len(offsets), np.uint32) == list(range(len(offsets)))
    assert found(slow_count, 1 + int(_native.MAP_COUNTERS), np.uint32) == [0] * (1 + int(_native.MAP_COUNTERS))
    assert (mutated % 256, starts % 8, tie_breaks % 4, templates % 4, counters - slow_count) == (0, 0, 0, 0, 4)
    assert len(set(found(tie_breaks, len(lengths), np.uint32))) == len({batch.sequence(i) for i in range(len(lengths))})
    assert item.templates == len(lengths)
    longest = [max([1, *(length for length in lengths if length <= maximum)]) for maximum in (512, 1000, 1 << 40)]
    assert list(item.longest) == longest
    assert item.batch.bases.tobytes() == bases.tobytes()
    halves = item.halves()
    assert [half.templates for half in halves] == (
        [len(lengths) // 2, -(-len(lengths) // 2)] if len(lengths) > 1 else [len(lengths)]
    )
    assert b"".join(half.batch.bases.tobytes() for half in halves) == bases.tobytes()


def test_workspace() -> None:
    params = MapParams()
    assert [Workspace.of(params, longest).words for longest in (1, 160, 161, 256, 384, 512, 9000)] == [
        5,
        5,
        8,
        8,
        12,
        16,
        16,
    ]
    workspace = Workspace.of(params, 150)
    assert (workspace.hits, workspace.loci) == (4096, 512)
    # 12 edits, so 25 diagonals: a row of 16-byte cells, 8 bytes an operation, 388 steps (5 rounds of 65, and 62 until
    # the last lane ends; in words of four) of 32 lanes, and encoded bases; a multiple of 16 bytes
    assert workspace.band == -(-(25 * 16 + 8 * 154 + 388 * 32 + 2 * 150 + 25) // 16) * 16
    assert Workspace.of(MapParams.of_preset(max_hits=10_000), 150).hits == 1 << 14
    assert tuning.MAP_LONGEST == 512


def test_penalties() -> None:
    # half the squared deviation over log 4, rounded: 2 sd cost 2 / 1.386 = 1.44, 3 sd 3.25, 100 sd more than the most
    penalties = _native.pair_penalties(300.0, 10.0, 1300)
    assert len(penalties) == 1301
    assert penalties[[300, 280, 320, 330, 1300]].tolist() == [0, 1, 1, 3, 1000]


@pytest.mark.gpu
class TestOnGpu:
    """The same cases by the kernel."""

    @pytest.mark.parametrize("case", CASES)
    @pytest.mark.parametrize("longest", [150, 250, 300, 500])
    def test_reads(
        self, gpu: Device, world: tuple[MinimizerIndex, list[NDArray[np.uint8]]], case: str, longest: int
    ) -> None:
        index, contigs = world
        batch = make_reads(contigs, 7, 3000, longest)
        found = kernel_records(gpu, index, batch, CASES[case], None)
        assert same_records(found, map_scalar(index, batch, CASES[case]))
        assert_same(found, index, batch, CASES[case], None)

    def test_kernels_one_after_the_other(
        self, gpu: Device, world: tuple[MinimizerIndex, list[NDArray[np.uint8]]]
    ) -> None:
        """Each with its own limits, although the one before is gone and may have left its place in memory."""
        index, contigs = world
        batch = make_reads(contigs, 7, 200, 150)
        right = {case: map_scalar(index, batch, CASES[case]) for case in ("plain", "whole")}
        for case in ("plain", "whole") * 20:
            assert same_records(kernel_records(gpu, index, batch, CASES[case], None), right[case]), case

    @pytest.mark.parametrize("library", PAIRS)
    @pytest.mark.parametrize("case", ["plain", "secondary", "few hits"])
    def test_pairs(
        self, gpu: Device, world: tuple[MinimizerIndex, list[NDArray[np.uint8]]], case: str, library: str
    ) -> None:
        index, contigs = world
        batch = make_pairs(contigs, 5, 2500)
        found = kernel_records(gpu, index, batch, CASES[case], PAIRS[library])
        assert same_records(found, map_scalar(index, batch, CASES[case], PAIRS[library]))
        assert_same(found, index, batch, CASES[case], PAIRS[library])

    def test_files(self, tmp_path: Path) -> None:
        """Whole runs over the bundled reads: the same bytes, in small batches too."""
        from gpualign.map.run import run_map
        from gpualign.params import RunOptions
        from gpualign.records.alignment_output import AlignmentLayout

        files = MapFiles(str(GENOMES), (str(READS),))
        texts = []
        for number, (device, batch) in enumerate([("cpu", 1 << 22), ("cuda", 1 << 22), ("cuda", 1 << 18)]):
            output = tmp_path / f"{number}.sam"
            options = RunOptions(output=str(output), device=device, batch_size=batch, threads=4, quiet=True)
            run_map(Sample(files, MapParams(), RecordOptions(), AlignmentLayout("sam"), options))
            texts.append(output.read_bytes())
        assert texts[0].count(b"\n") > 25_000
        assert all(text == texts[0] for text in texts)
