"""What a batch of `map` holds on a device: the table in docs/internals/design-notes.md is what is allocated."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpualign.engine.gpu.buffers import Slot
from gpualign.engine.gpu.device import Device, list_devices
from gpualign.index.minimizers import IndexParams, build_index
from gpualign.map import tuning
from gpualign.map.device.target import resident_bytes, resident_target
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.paths import GENOMES, ROOT
from tests.helpers.sequences import make_reference, reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
_LENGTH, _NAME = 150, 24


def documented() -> dict[str, tuple[int, str]]:
    """{array: (bytes a read, whose)} of the table."""
    rows = re.findall(
        r"^\| `([^`]+)` \| (\d+) \| (\w+)", (ROOT / "docs" / "internals" / "design-notes.md").read_text(), re.MULTILINE
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


@pytest.mark.parametrize(("gibibytes", "factor"), [(80, 8), (48, 8), (24, 4), (3, 4), (2.9, 2), (-1, 2)])
def test_batches_are_smaller_where_the_index_leaves_less_memory(gibibytes: float, factor: int) -> None:
    assert tuning.device_batch(int(gibibytes * (1 << 30))) == factor


def test_the_memory_of_an_index_is_what_a_device_allocates(use: Callable[[FakeDriver], FakeDriver]) -> None:
    use(FakeDriver())
    index = build_index(make_reference("ACGGTTCA" * 5000), IndexParams(15, 5))
    with Device(list_devices()[0]) as device:
        device.call(resident_target, device, index).result()
        padding = device.allocated - resident_bytes(index)
    assert 0 < padding < 4096  # of the text, and the contigs' offsets
