"""The LCS kernel on a GPU: against RapidFuzz, and the command's bytes against the CPU's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rapidfuzz.distance import LCSseq

from gpualign.align.lcs.cpu import Winners, score_on_cpu
from gpualign.align.lcs.device.lengths import (
    LcsKernel,
    much_longer,
    profile_image,
    query_masks,
    sort_into_classes,
)
from gpualign.align.lcs.device.trace import LcsTraceKernel
from gpualign.align.lcs.query import common_subsequences, encode_query
from gpualign.align.lcs.tuning import LCS_TRACE_CELLS, VARIANTS, LcsShape, choose_lcs_shape
from gpualign.run.gpu.buffers import slots_of
from gpualign.run.gpu.runner import run_on_devices
from gpualign.sequences.batch import SequenceBatch, join_batches
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import batch_of, random_codes

SHAPES = [
    LcsShape(32, 1, 256, 4),
    LcsShape(4, 1, 128, 4),
    LcsShape(12, 1, 128, 2),
    LcsShape(8, 2, 128, 2),
    LcsShape(8, 4, 128, 2),
    LcsShape(16, 8, 256, 4),
    LcsShape(4, 16, 128, 2),
    LcsShape(4, 32, 128, 2),
    LcsShape(8, 32, 128, 2),
    LcsShape(64, 1, 128, 4),
    LcsShape(64, 2, 128, 4),
    LcsShape(48, 4, 160, 4),
]


def fits(query: bytes, shape: LcsShape) -> bool:
    """Into the shared memory of every device since compute capability 8.0."""
    return profile_image(encode_query("q", query, "bytes"), shape).nbytes <= 163 << 10


def test_masks_by_hand() -> None:
    masks = query_masks(encode_query("q", b"GATTACA", "dna"), 1)
    assert masks[:, 0].tolist() == [0b1010010, 0b0100000, 0b0000001, 0b0001100, 0]  # A C G T, absent


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("symbols", [4, 26])
def test_each_thread_finds_its_words(shape: LcsShape, symbols: int) -> None:
    """Looks up masks the way the kernel addresses them."""
    rng = np.random.default_rng(symbols)
    query = encode_query("q", rng.integers(0, symbols, 3000).astype(np.uint8).tobytes(), "bytes")
    image = profile_image(query, shape)
    masks = query_masks(query, image.passes * shape.words)
    step = 16 * max(8, shape.lanes)
    for number in range(image.passes):
        shared = image.words[number].tobytes()
        for thread in range(32):
            for row in range(symbols + 1):
                at = row * image.row_stride + thread % max(8, shape.lanes) * image.slot_stride
                found = [shared[at + w // 4 * step + 4 * (w % 4) :][:4] for w in range(shape.tile)]
                first = number * shape.words + thread % shape.lanes * shape.tile
                assert b"".join(found) == masks[row, first : first + shape.tile].tobytes()


@pytest.mark.parametrize("symbols", [3, 26])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_two_threads_meet_in_a_bank(shape: LcsShape, symbols: int) -> None:
    """The eight threads of one phase of a 128-bit load, whatever their symbols: other banks or the same address."""
    image = profile_image(encode_query("q", bytes(range(symbols)) * 9, "bytes"), shape)
    rng = np.random.default_rng(0)
    for first in (0, 8, 16, 24):
        thread = np.arange(first, first + 8)
        rows = rng.integers(0, symbols + 1, (50, 8))
        address = rows * image.row_stride + thread % max(8, shape.lanes) * image.slot_stride
        for addresses in address:
            assert len(set(addresses // 16 % 8)) == len(set(addresses))


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_classes(lanes: int) -> None:
    lengths = np.array([5, 0, 40, 16, 17, 300, 5, 9], np.int64)
    classes = sort_into_classes(lengths, np.arange(7), LcsShape(4, lanes, 128, 2))
    assert classes.order.tolist() == [5, 2, 4, 3, 0, 6, 1]
    width = 32 // lanes
    longest = [300, 40, 17, 16, 5, 5, 0][::width]
    assert classes.warp_chunks.tolist() == [-(-n // 16) for n in longest]
    assert classes.chunks == width * sum(-(-n // 16) for n in longest)
    assert classes.warp_start.tolist() == [0, *np.cumsum(classes.warp_chunks * width)[:-1]]


def test_outliers_of_length() -> None:
    assert not much_longer(np.array([0, 16_384, 10])).any()
    assert much_longer(np.array([100] * 99 + [20_000])).tolist() == [False] * 99 + [True]
    assert not much_longer(np.array([90_000, 100_000, 300_000])).any()


@pytest.mark.parametrize("limit", [48 << 10, 99 << 10, 163 << 10, 227 << 10])
@pytest.mark.parametrize("rows", [2, 5, 9, 27, 97, 256])
@pytest.mark.parametrize("length", [1, 100, 1024, 4096, 4100, 100_000])
def test_chosen_shapes_fit(length: int, rows: int, limit: int) -> None:
    for subjects in (1, 100, 5000, 50_000, 1_000_000):
        shape = choose_lcs_shape(length, rows, subjects, 132, limit)
        assert shape.tile % 4 == 0
        assert shape.threads % 32 == 0
        assert 128 <= shape.threads <= 1024
        assert ("lcs", shape.defines) in VARIANTS  # so prebuilt
        query = bytes(np.resize(np.arange(rows - 1), max(length, rows - 1)).astype(np.uint8))
        if len(query) == length:
            assert profile_image(encode_query("q", query, "bytes"), shape).nbytes * shape.blocks <= limit


def test_many_subjects_get_a_thread_each_and_few_share() -> None:
    assert choose_lcs_shape(4096, 5, 720_000, 132, 227 << 10).lanes == 1
    assert choose_lcs_shape(4096, 5, 2000, 132, 227 << 10).lanes >= 16
    assert choose_lcs_shape(4096, 5, 1, 132, 227 << 10).lanes == 32


def test_halves_of_a_batch_join_again() -> None:
    records = [(f"name{i}", "ACGT" * i, "IIII" * i) for i in range(5)]
    batch = SequenceBatch.from_records(records)
    whole = join_batches([batch.part(0, 2), batch.part(2, 5)])
    assert [(whole.name(i), whole.sequence(i), whole.quality(i)) for i in range(5)] == [
        (name, text.encode(), quality.encode()) for name, text, quality in records
    ]


def gpu_lengths(gpu: object, query: bytes, subjects: list[bytes], shape: LcsShape | None) -> list:
    def work() -> list:
        kernel = LcsKernel(gpu, [encode_query("q", query, "bytes")], shape)
        slot = slots_of(gpu, 1)[0]  # type: ignore[attr-defined]
        batch = batch_of(subjects)
        kernel.submit(slot, batch)
        slot.submitted()
        slot.wait()
        return kernel.collect(slot, batch).lengths[0].tolist()

    return gpu.call(work).result()  # type: ignore[attr-defined, no-any-return]


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [*SHAPES, None])
def test_shapes_against_rapidfuzz(gpu: object, shape: LcsShape | None) -> None:
    rng = np.random.default_rng(3)
    for symbols in (2, 4, 20, 96, 255):
        lengths = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 500, *rng.integers(0, 1200, 90)]
        subjects = [random_codes(rng, n, symbols) for n in lengths]
        for m in (1, 31, 32, 33, 63, 64, 65, 128, 129, 1000, 4096, 5000):
            query = random_codes(rng, m, symbols)
            if shape is not None and not fits(query, shape):
                continue
            expected = [LCSseq.similarity(query, subject) for subject in subjects]
            assert gpu_lengths(gpu, query, subjects, shape) == expected, (symbols, m)


@pytest.mark.gpu
def test_repeats_carry_through_every_word(gpu: object) -> None:
    for shape in SHAPES:
        for n in (64, 1000, 4097):
            subjects = [b"A" * n, b"A" * (n - 1), b"A" * (n + 5), b"CA" * n]
            assert gpu_lengths(gpu, b"A" * n, subjects, shape) == [n, n - 1, n, n]


@pytest.mark.gpu
def test_a_chromosome_among_reads(gpu: object) -> None:
    rng = np.random.default_rng(6)
    lengths = [*rng.integers(0, 200, 300), 70_000, *rng.integers(0, 200, 100), 30_001]
    subjects = [random_codes(rng, n, 4) for n in lengths]
    for m in (100, 3000):
        query = random_codes(rng, m, 4)
        expected = [LCSseq.similarity(query, subject) for subject in subjects]
        assert gpu_lengths(gpu, query, subjects, None) == expected


def test_what_the_device_does_not_trace() -> None:
    query = encode_query("q", b"ACGT", "dna")
    assert Winners(query, [b"ACG", b""], [3, 0]).fit_devices
    assert Winners(query, [], []).fit_devices
    assert not Winners(encode_query("q", bytes(range(128)), "bytes"), [b"A"], [1]).fit_devices
    half = encode_query("q", b"ACGT" * (1 << 16), "dna")
    assert Winners(half, [b"A" * (LCS_TRACE_CELLS >> 18)], [1]).fit_devices
    assert not Winners(half, [b"A" * ((LCS_TRACE_CELLS >> 18) + 1)], [1]).fit_devices


def gpu_traces(gpu: object, winners: Winners) -> list[bytes]:
    (found,) = run_on_devices([winners], LcsTraceKernel, [gpu])  # type: ignore[list-item]
    return found


@pytest.mark.gpu
@pytest.mark.parametrize("symbols", [1, 2, 4, 26, 96, 127])
def test_subsequences_are_the_cpus(gpu: object, symbols: int) -> None:
    """Queries and subjects of lengths about words and tiles, of several passes, alone and many."""
    rng = np.random.default_rng(symbols)
    for m in (0, 1, 31, 32, 33, 127, 128, 129, 1000, 4095, 4096, 4097, 9000, 16_384):
        query = encode_query("q", random_codes(rng, m, symbols), "bytes")
        lengths = [0, 1, 2, 3, 4, 5, 63, 64, 65, *rng.integers(0, 3000, 20), 10_000 if m < 5000 else 2000]
        subjects = [
            *(random_codes(rng, n, symbols) for n in lengths),
            query.text,
            query.text[: m // 2],
            query.text[m // 2 :] * 2,
        ]
        scored = score_on_cpu([query], batch_of(subjects)).lengths[0].tolist()
        expected = common_subsequences(query, subjects, scored)
        assert gpu_traces(gpu, Winners(query, subjects, scored)) == expected
        assert gpu_traces(gpu, Winners(query, subjects[-3:], scored[-3:])) == expected[-3:]
        many = Winners(query, subjects[:12] * 100, scored[:12] * 100)
        assert gpu_traces(gpu, many) == expected[:12] * 100


@pytest.mark.gpu
def test_subsequences_of_a_wrong_length_are_refused(gpu: object) -> None:
    query = encode_query("q", b"ACGTACGT", "bytes")
    with pytest.raises(AssertionError, match=r"lengths \[8\] instead of \[7\]"):
        gpu_traces(gpu, Winners(query, [b"ACGTACGT"], [7]))
    with pytest.raises(AssertionError, match=r"lengths \[8\] instead of \[9\]"):
        gpu_traces(gpu, Winners(query, [b"ACGTACGT"], [9]))
    assert gpu_traces(gpu, Winners(query, [], [])) == []


@pytest.mark.gpu
def test_256_symbols_and_empty_queries(gpu: object) -> None:
    rng = np.random.default_rng(4)
    query = bytes(range(256)) * 2
    subjects = [random_codes(rng, n, 256) for n in [0, 100, 1000]]
    expected = [LCSseq.similarity(query, subject) for subject in subjects]
    assert gpu_lengths(gpu, query, subjects, None) == expected
    assert gpu_lengths(gpu, b"", subjects, None) == [0, 0, 0]


@pytest.mark.gpu
@pytest.mark.parametrize(
    "options", [[], ["--strand", "both", "--subsequence"], ["--subsequence", "-n", "0"], ["-n", "0", "--input-order"]]
)
def test_command_writes_the_cpus_bytes(tmp_path: Path, options: list[str]) -> None:
    rng = np.random.default_rng(5)
    alphabet = np.frombuffer(b"ACGTN", np.uint8)
    query, subjects = tmp_path / "q.fa", tmp_path / "s.fa"
    query.write_bytes(b">q\n" + alphabet[rng.integers(0, 5, 1500)].tobytes() + b"\n")
    with subjects.open("wb") as out:
        for i, n in enumerate(rng.integers(0, 3000, 700)):
            out.write(b">s%d\n%s\n" % (i, alphabet[rng.integers(0, 5, n)].tobytes()))
    ways = [
        ("--device", "cuda"),
        ("--device", "cuda", "--batch-size", "1"),
        ("--device", "cuda", "--batch-size", "10K"),
    ]
    assert same_on_gpu("lcs-filter", "-Q", query, subjects, *options, output=tmp_path / "o.tsv", ways=ways)
