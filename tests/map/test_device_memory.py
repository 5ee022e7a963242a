"""What a batch of `map` holds on a device: the table in docs/internals/algorithms.md is what is allocated."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpualign.map import tuning
from gpualign.map.device import target
from gpualign.map.device.target import index_arrays, is_packed, packed_bits, resident_bytes, resident_target
from gpualign.run.gpu.buffers import Slot
from gpualign.run.gpu.device import Device, list_devices
from gpualign.run.gpu.device_arrays import Computed
from gpualign.run.tuning import RESIDENT_SHARE
from gpualign.seeds.index.minimizers import IndexParams, MinimizerIndex, build_index
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.paths import GENOMES, ROOT
from tests.helpers.sequences import make_reference, reverse_complement
from tests.reference.minimizers import minimizer_positions, mix, packed

Cli = Callable[..., tuple[int, bytes, str]]
_LENGTH, _NAME = 150, 24


def documented() -> dict[str, tuple[int, str]]:
    """{array: (bytes a read, whose)} of the table."""
    rows = re.findall(
        r"^\| `([^`]+)` \| (\d+) \| (\w+)", (ROOT / "docs" / "internals" / "algorithms.md").read_text(), re.MULTILINE
    )
    return {name: (int(nbytes), whose) for name, nbytes, whose in rows}


def write_pairs(folder: Path, pairs: int) -> tuple[Path, Path]:
    """2 x 150 bases with names of 24 characters."""
    genome = GENOMES.read_text().split(">")[1].split("\n", 1)[1].replace("\n", "")
    rng = np.random.default_rng(3)
    paths = folder / "1.fq", folder / "2.fq"
    with open(paths[0], "w") as first, open(paths[1], "w") as second:
        for i in range(pairs):
            start = int(rng.integers(0, len(genome) - 400))
            fragment = genome[start : start + 350]
            for out, bases in ((first, fragment[:_LENGTH]), (second, reverse_complement(fragment[-_LENGTH:]))):
                out.write(f"@{i:0{_NAME}}\n{bases}\n+\n{'I' * _LENGTH}\n")
    return paths


def test_a_batch_holds_what_the_notes_say(
    cli: Cli, use: Callable[[FakeDriver], FakeDriver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the difference of two batches, so that what no batch changes counts as nothing."""
    own, scratch = Slot.device_array, Slot.scratch_array
    sizes: dict[str, tuple[int, str]] = {}

    def note(key: str, nbytes: int, whose: str) -> None:
        if nbytes > sizes.get(key, (0, ""))[0]:
            sizes[key] = nbytes, whose

    def device_array(slot: Slot, key: str, nbytes: int, zeroed: bool = False) -> object:
        note(key, nbytes, "own")
        return own(slot, key, nbytes, zeroed)

    def scratch_array(slot: Slot, key: str, nbytes: int) -> object:
        note(key, nbytes, "shared")
        return scratch(slot, key, nbytes)

    monkeypatch.setattr(Slot, "device_array", device_array)
    monkeypatch.setattr(Slot, "scratch_array", scratch_array)
    of_batch = []
    for pairs in (1000, 1500):
        sizes.clear()
        use(FakeDriver())
        reads = write_pairs(tmp_path, pairs)
        words = ("-1", reads[0], "-2", reads[1], "--insert-size", "350,30", "--device", "cuda", "--quiet")
        status, _, errors = cli("map", GENOMES, *words)
        assert status == 0, errors
        of_batch.append(dict(sizes))
    smaller, larger = of_batch
    more_reads = (larger["fastq sizes"][0] - smaller["fastq sizes"][0]) // 8
    assert more_reads > 100
    grown = {key: ((nbytes - smaller[key][0]) / more_reads, whose) for key, (nbytes, whose) in larger.items()}
    del grown["template states"]  # of templates that take the slow path
    measured = {key: (nbytes, whose) for key, (nbytes, whose) in grown.items() if nbytes >= 20}
    expected = documented()
    assert measured.keys() == expected.keys()
    for key, (nbytes, whose) in expected.items():
        assert measured[key] == (pytest.approx(nbytes, abs=2), whose), key


@pytest.mark.parametrize(
    ("gibibytes", "bases", "binary", "expected"),
    [
        (80, 1e9, False, (4, 4)),
        (80, 3e9, False, (8, 6)),
        (80, None, False, (8, 6)),  # a pipe, which may have any number
        (80, 1e9, True, (8, 6)),
        (48, 3e9, False, (8, 6)),
        (47, 3e9, True, (4, 4)),
        (3, 3e9, True, (4, 4)),
        (2.9, 3e9, True, (2, 4)),
        (-1, 1e9, False, (2, 4)),
    ],
)
def test_batches_suit_the_memory_and_the_input(
    gibibytes: float, bases: float | None, binary: bool, expected: tuple[int, int]
) -> None:
    assert tuning.batches_of(int(gibibytes * (1 << 30)), bases, binary) == expected


def text_of(bases: int, seed: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list("ACGT"), bases))


def whole(index: MinimizerIndex) -> dict[str, np.ndarray]:
    """The arrays of an index as a device has them."""
    types = {"offsets": np.uint32, "tags": np.uint16, "positions": np.uint32, "entries": np.uint64}
    return {
        name: array.whole().view(types[name]) if isinstance(array, Computed) else array
        for name, array in index_arrays(index, packed=True).items()
    }


LARGE = pytest.param(19, 1, 8_500_000, marks=pytest.mark.slow)


@pytest.mark.parametrize(("k", "w", "bases"), [(11, 1, 20_000), (15, 5, 200_000), LARGE])
def test_a_packed_index_has_every_minimizer(k: int, w: int, bases: int) -> None:
    """By a search of the documented layout, for some windows of the reference."""
    text = text_of(bases, k)
    index = build_index(make_reference(text), IndexParams(k, w))
    arrays = whole(index)
    assert {name: array.nbytes for name, array in arrays.items()} == {
        "offsets": 4 * ((1 << packed_bits(index)) + 1),
        "tags": 2 * len(index.entries),
        "positions": 4 * len(index.entries),
    }
    rest = 2 * k - packed_bits(index)
    assert rest <= 15
    for start in np.random.default_rng(1).integers(0, bases - 200, 50).tolist():
        window = text[start : start + 200]
        inner = minimizer_positions(window, k, w, lambda kmer: mix(k, packed(kmer)))
        assert inner
        for at in inner:
            kmer = window[at : at + k]
            canonical = min(kmer, reverse_complement(kmer), key=packed)
            value = mix(k, packed(canonical))
            begin, end = arrays["offsets"][value >> rest : (value >> rest) + 2]
            found = [
                (int(position), int(tag) & 1)
                for tag, position in zip(arrays["tags"][begin:end], arrays["positions"][begin:end], strict=True)
                if tag >> 1 == value & (1 << rest) - 1
            ]
            assert (start + at, int(canonical != kmer)) in found
            for position, reverse in found:
                there = text[position : position + k]
                assert (reverse_complement(there) if reverse else there) == canonical


@pytest.mark.parametrize(("k", "packs"), [(15, True), (17, True), (19, False), (31, False)])
def test_long_k_mers_keep_their_fingerprints(k: int, packs: bool) -> None:
    """A tag has 15 bits: an index of 2^20 buckets is packed up to 2 k = 35."""
    index = build_index(make_reference(text_of(1_100_000, k)), IndexParams(k, 1))
    assert index.bucket_bits == 20
    assert is_packed(index, 0) == packs


def test_an_index_is_packed_if_it_would_leave_too_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    index = build_index(make_reference(text_of(200_000, 1)), IndexParams(15, 5))
    whole = index.offsets.nbytes + index.entries.nbytes + index.reference.words.nbytes + 4 * index.reference.mask_words
    monkeypatch.setattr(target, "SMALL_DEVICE", 10 * whole)
    assert not is_packed(index, 11 * whole)
    assert is_packed(index, 11 * whole - 1)
    monkeypatch.setattr(target, "SMALL_DEVICE", 0)  # then it is the share of arrays that stay that decides
    fits = math.ceil(whole / RESIDENT_SHARE)
    assert not is_packed(index, fits)
    assert is_packed(index, fits - 1)
    packed, plain = resident_bytes(index, fits - 1), resident_bytes(index, fits)
    assert plain == whole
    assert plain - packed == 2 * len(index.entries) + 4 * ((1 << index.bucket_bits) - (1 << packed_bits(index)))


@pytest.mark.parametrize("part", [4, 12, 20, 60, 1 << 20])
def test_tags_are_made_in_parts(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    """A repeat fills buckets with many entries, which parts cut anywhere."""
    index = build_index(make_reference("ACGGTTCAGATC" * 40 + text_of(60_000, 5)), IndexParams(13, 3))
    rest, bits = 26 - index.bucket_bits, packed_bits(index)
    bucket = np.repeat(np.arange(len(index.offsets) - 1), np.diff(index.offsets))
    own = (bucket & (1 << index.bucket_bits - bits) - 1) << rest | (index.entries >> np.uint64(33)).astype(np.int64)
    monkeypatch.setattr("gpualign.run.tuning.PART_BYTES", part)
    tags = whole(index)["tags"]
    assert tags.tolist() == (own << 1 | (index.entries & np.uint64(1)).astype(np.int64)).tolist()


def test_positions_leave_the_device_first(use: Callable[[FakeDriver], FakeDriver]) -> None:
    use(FakeDriver())
    index = build_index(make_reference(text_of(200_000, 1)), IndexParams(15, 5))
    largest = 4 * len(index.entries)
    limit = int((resident_bytes(index, 0) - largest // 2) / RESIDENT_SHARE)
    with Device(list_devices()[0], max_memory=limit) as device:
        device.call(resident_target, device, index).result()
        assert device.mapped == largest


def test_the_memory_of_an_index_is_what_a_device_allocates(use: Callable[[FakeDriver], FakeDriver]) -> None:
    use(FakeDriver())
    index = build_index(make_reference("ACGGTTCA" * 5000), IndexParams(15, 5))
    with Device(list_devices()[0]) as device:
        device.call(resident_target, device, index).result()
        padding = device.allocated - resident_bytes(index, device.budget)
    assert 0 < padding < 4096  # of the text, and the contigs' offsets
