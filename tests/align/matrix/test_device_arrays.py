"""Arrays on a GPU, in and out: by ``__cuda_array_interface__`` and by DLPack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpualign import distances, scores
from gpualign.align.matrix.foreign import device_array
from gpualign.errors import InputError, UsageError
from tests.helpers.distance_cases import DNA, expected


class Foreign:
    """What says that it lies on a GPU."""

    def __init__(
        self, address: int, shape: tuple[int, ...], typestr: str, strides: tuple[int, ...] | None = None
    ) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "typestr": typestr,
            "strides": strides,
            "version": 3,
        }


def test_what_an_array_says_of_itself() -> None:
    array = device_array(Foreign(4096, (3, 5), "|u1"))
    assert array is not None
    assert (array.address, array.shape, array.dtype, len(array), array.nbytes) == (4096, (3, 5), np.uint8, 15, 15)
    assert device_array(Foreign(4096, (3, 5), "<i4", (20, 4))) is not None
    with pytest.raises(UsageError, match="C-contiguous"):
        device_array(Foreign(4096, (3, 5), "<i4", (4, 12)))
    for other in (None, np.zeros(3), ["ACGT"], "x.fa"):
        assert device_array(other) is None


def test_dlpack_gives_the_address_shape_and_type() -> None:
    from gpualign import _native

    for array, kind in ((np.zeros((2, 3), np.int32), "i"), (np.zeros(4, np.uint8), "u"), (np.zeros(2), "f")):
        found = _native.dlpack_array(array)
        assert found == (array.ctypes.data, list(array.shape), kind, 8 * array.itemsize)


def test_arrays_on_a_gpu_are_refused_without_one() -> None:
    with pytest.raises(UsageError, match="need that GPU"):
        distances(Foreign(4096, (3, 5), "|u1"), device="cpu")
    with pytest.raises(UsageError, match="need that GPU"):
        distances(["A"], ["C"], out=Foreign(4096, (1, 1), "<i4"), device="cpu")
    with pytest.raises(UsageError, match=r"a \(n, length\) array of bytes"):
        distances(Foreign(4096, (3,), "|u1"), device="cpu")
    with pytest.raises(UsageError, match="nucleotides are distinguished on the host"):
        distances(Foreign(4096, (3, 5), "|u1"), alphabet="nucleotide", device="cpu")


@pytest.fixture
def driver() -> Iterator[Any]:
    """PyCUDA in a context of its own, as another library has it."""
    import pycuda.driver as driver

    driver.init()
    context = driver.Device(0).make_context()
    try:
        yield driver
    finally:
        context.pop()
        context.detach()


@pytest.mark.gpu
def test_sequences_and_matrix_stay_on_the_gpu(driver: Any) -> None:
    rng = np.random.default_rng(1)
    queries, targets = (np.frombuffer(DNA.encode(), np.uint8)[rng.integers(0, 4, (n, 90))] for n in (70, 40))
    memory = [driver.to_device(array) for array in (queries, targets)]
    on_gpu = [Foreign(int(at), array.shape, "|u1") for at, array in zip(memory, (queries, targets), strict=True)]
    out = driver.mem_alloc(4 * 70 * 40)
    distances(*on_gpu, out=Foreign(int(out), (70, 40), "<i4"), device="cuda:0")
    matrix = driver.from_device(out, (70, 40), np.int32)
    texts = [[row.tobytes().decode() for row in array] for array in (queries, targets)]
    assert np.array_equal(matrix, expected(*texts))
    assert np.array_equal(distances(on_gpu[0], texts[1], device="cuda:0"), expected(*texts))
    unsorted = ["ACGT" * 30, "A", "ACG"]
    few = driver.mem_alloc(4 * 9)
    distances(unsorted, out=Foreign(int(few), (3, 3), "<i4"), device="cuda:0")
    assert np.array_equal(driver.from_device(few, (3, 3), np.int32), expected(unsorted, unsorted))
    with pytest.raises(UsageError, match="int32 of shape"):
        distances(unsorted, out=Foreign(int(few), (3, 2), "<i4"), device="cuda:0")


@pytest.mark.gpu
def test_scores_stay_on_the_gpu(driver: Any) -> None:
    rng = np.random.default_rng(2)
    queries, targets = (np.frombuffer(DNA.encode(), np.uint8)[rng.integers(0, 4, (n, 70))] for n in (30, 200))
    memory = [driver.to_device(array) for array in (queries, targets)]
    on_gpu = [Foreign(int(at), array.shape, "|u1") for at, array in zip(memory, (queries, targets), strict=True)]
    out = driver.mem_alloc(4 * 30 * 200)
    scores(*on_gpu, out=Foreign(int(out), (30, 200), "<i4"), device="cuda:0")
    assert np.array_equal(driver.from_device(out, (30, 200), np.int32), scores(queries, targets, device="cpu"))
    queries[3, 5] = ord("!")
    bad = driver.to_device(queries)
    driver.Context.synchronize()  # a small copy may go on after its call, and who shares an array must have finished it
    with pytest.raises(InputError, match="does not score '!'"):
        scores(Foreign(int(bad), queries.shape, "|u1"), on_gpu[1], device="cuda:0")
