"""The kernels of ``cuda/map_fastq.cu``, compiled for the host, with all lanes of a warp: the arrays of the scalar code,
and so the host's parser's."""

from __future__ import annotations

import ctypes
import random

import numpy as np
import pytest

from gpualign.map.device.fastq import KERNELS
from gpualign.reads.fastq_text import FastqText
from gpualign.reads.reads import Reads
from gpualign.text.fastx import Chunk
from gpualign.text.text import HeldText
from tests.helpers.emulated import Emulated, emulated_library
from tests.helpers.fastq import Found, read_by_kernels, read_in_scalar_code


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return emulated_library(tmp_path_factory, "map_fastq", {})


def counted(records: list[str]) -> FastqText:
    data = np.frombuffer("".join(records).encode(), np.uint8)
    text = FastqText.of(Chunk(HeldText((data,)), "fastq", "reads.fq", 1))
    assert text is not None
    return text


def fastq_records(count: int, end: int) -> list[str]:
    rng = random.Random(end)
    made = []
    for i in range(count):
        length = rng.choice((1, 31, 32, 33, 70))
        bases, qualities = "".join(rng.choices("ACGTNacgu", k=length)), "".join(rng.choices("!I~@+", k=length))
        made.append(f"@r{i}/{end} comment\n{bases}\n+\n{qualities}\n")
    return made


def same(found: Found | None, expected: Found | None) -> bool:
    if found is None or expected is None:
        return found is expected
    pairs = [*zip(found.batch.native, expected.batch.native, strict=True), (found.tie_breaks, expected.tie_breaks)]
    return found.longest == expected.longest and all(
        (a is None and b is None) or np.array_equal(a, b) for a, b in [*pairs, (found.templates, expected.templates)]
    )


@pytest.mark.parametrize("start", [0, 1, 500])
@pytest.mark.parametrize("paired", [False, True])
def test_reads(library: ctypes.CDLL, start: int, paired: bool) -> None:
    """More than a block of the scan has."""
    kernels = [Emulated(library, name, 1 << 30) for name in KERNELS]
    texts = tuple(counted(fastq_records(1700, end)) for end in ((1, 2) if paired else (1,)))
    reads = Reads(tuple(text.part(start, start + 1100) for text in texts), ("1.fq", "2.fq"))
    found = read_by_kernels(kernels, reads)
    assert found is not None
    assert same(found, read_in_scalar_code(reads))
    assert found.batch.base_offsets[-1] > 20_000


def test_what_the_host_must_read(library: ctypes.CDLL) -> None:
    kernels = [Emulated(library, name, 1 << 30) for name in KERNELS]
    names = ("@\nACGT\n+\nIIII\n", "@r\xe9\nACGT\n+\nIIII\n", "@r@\nACGT\n+\nIIII\n")
    for broken in ("@r\nACGT\n+\nIII\n", "@r\nAC-T\n+\nIIII\n", "@r\nACGT\n+\nII I\n", *names):
        made = fastq_records(70, 1)
        made[33] = broken
        assert read_by_kernels(kernels, Reads((counted(made),))) is None
    reads = Reads((counted(fastq_records(70, 1)),))
    assert same(read_by_kernels(kernels, reads, longest=69), read_in_scalar_code(reads, longest=69))
