"""The CUDA runtime without a GPU: buffers, budgets, order, errors, and the end, on a fake driver."""

from __future__ import annotations

import contextlib
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from gpualign.errors import DeviceError, GpualignError, OutOfMemoryError, UsageError
from gpualign.params import RunOptions
from gpualign.run.cuda import CudaBackend, pinned_allocator
from gpualign.run.gpu import compiler
from gpualign.run.gpu import device as device_module
from gpualign.run.gpu.buffers import scratch_of, slots_of
from gpualign.run.gpu.device import Device, DeviceInfo, DeviceMemoryExceeded, list_devices
from gpualign.run.gpu.device_arrays import DeviceArrays
from gpualign.run.gpu.pinned_pool import is_pinned, pinned_copy
from gpualign.run.gpu.runner import WorkQueue, run_on_devices
from gpualign.run.run_context import Opening
from gpualign.run.select import open_backend
from gpualign.run.stage import Stage
from gpualign.streaming.timeline import union
from tests.helpers.fake_cuda import FakeDriver, Stream
from tests.helpers.stand_ins import Doubler, batches


@pytest.fixture
def fake(monkeypatch):
    driver = FakeDriver(devices=(("Fake A", (9, 0)), ("Fake B", (8, 0))))
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    return driver


def test_results_keep_the_order_on_several_devices(fake):
    with CudaBackend(list_devices()) as backend:
        items = batches(50)
        results = list(backend.run(iter(items), Stage(on_cpu=lambda item: item * 2, make_kernel=Doubler)))
        assert len(results) == 50
        for item, result in zip(items, results, strict=True):
            np.testing.assert_array_equal(result, item * 2)
        # a second run reuses the devices
        assert len(list(backend.run(items[:3], Stage(on_cpu=lambda item: item * 2, make_kernel=Doubler)))) == 3
        report = backend.report()
        assert report["device"] == "cuda:0,1"
        assert report["gpu_batches"] == 53
        assert sum(device["bytes_to_device"] for device in report["devices"]) == sum(
            item.nbytes for item in items + items[:3]
        )
    assert fake.contexts == []


@pytest.fixture
def second(fake, monkeypatch):
    """What the second device does before it has a context."""
    before, make = [], fake.Device.make_context

    def context(device, flags):
        if device.index == 1:
            before[0]()
        return make(device, flags)

    monkeypatch.setattr(fake.Device, "make_context", context)
    return before


def double(items, backend):
    return backend.run(iter(items), Stage(on_cpu=lambda item: item * 2, make_kernel=Doubler))


def test_a_device_computes_while_another_one_opens(second):
    begin = threading.Event()
    second.append(lambda: begin.wait(timeout=60))
    with CudaBackend(list_devices()) as backend:
        assert not backend.devices[1].is_open
        results = double(batches(20), backend)
        for _ in range(5):
            next(results)
        assert pinned_allocator(backend.devices)(100) is not None
        assert not backend.devices[1].is_open
        begin.set()
        assert len(list(results)) == 15
        assert backend.devices[1].is_open


def refuse():
    raise FakeDriver.Error("busy")


def test_a_second_device_that_cannot_be_used_ends_the_run(second):
    second.append(refuse)
    with (
        CudaBackend(list_devices()) as backend,
        pytest.raises(DeviceError, match=r"cuda:1 \(Fake B\) cannot be used: busy"),
    ):
        list(double(batches(20), backend))


def test_or_is_left_out(second, fake):
    second.append(refuse)
    told = []
    with CudaBackend(list_devices(), without=told.append) as backend:
        assert len(list(double(batches(20), backend))) == 20
        assert [str(error) for error in told] == ["cuda:1 (Fake B) cannot be used: busy"]
        assert backend.report()["device"] == "cuda:0"
        assert len(list(double(batches(3), backend))) == 3
    assert len(told) == 1
    assert fake.contexts == []


class Held:
    """An item whose data is on a device."""

    def __init__(self, device):
        self.device = device


def test_a_device_takes_items_whose_data_it_holds_before_others(fake):
    with CudaBackend(list_devices()) as backend:
        first, second = backend.devices
        queue = WorkQueue(backend.devices)
        items = Held(None), Held(first), Held(second)
        futures = [queue.put(item) for item in items]
        assert queue.take(second) == (items[2], futures[2])
        assert queue.take(second) == (items[0], futures[0])
        assert queue.take(second) is None
        assert queue.take(first) == (items[1], futures[1])


def test_what_a_device_has_left_others_take(fake):
    with CudaBackend(list_devices()) as backend:
        first, second = backend.devices
        queue = WorkQueue(backend.devices)
        before = Held(first)
        queue.put(before)
        queue.leave(first)
        after = Held(first)
        queue.put(after)
        assert [queue.take(second)[0] for _ in range(2)] == [before, after]
        failed = queue.put(Held(first)), queue.put(Held(second))
        queue.leave(second)
        for future in failed:
            with pytest.raises(GpualignError, match="before all work was done"):
                future.result(timeout=60)


def test_no_items(fake):
    with CudaBackend(list_devices()) as backend:
        assert list(backend.run([], Stage(on_cpu=abs, make_kernel=Doubler))) == []


def test_an_item_that_does_not_fit_is_halved(fake):
    with Device(list_devices()[0], max_memory=4096) as device:
        items = [np.arange(3000, dtype=np.int32), np.arange(5, dtype=np.int32)]
        results = list(run_on_devices(items, Doubler, [device]))
        np.testing.assert_array_equal(results[0], items[0] * 2)
        np.testing.assert_array_equal(results[1], items[1] * 2)
        assert device.peak_allocated <= 4096


def test_an_item_that_cannot_be_halved_far_enough_is_out_of_memory(fake):
    class Hungry(Doubler):
        def launch(self, slot, item):
            slot.device_array("huge", 1 << 40)

    with Device(list_devices()[0]) as device, pytest.raises(OutOfMemoryError, match=r"Fake A.*too little memory"):
        list(run_on_devices(batches(2), Hungry, [device]))
    assert fake.contexts == []


def test_a_kernel_divides_what_other_processes_left(fake):
    """They took most of the memory once this one had looked at how much is free."""

    class Sharing(Doubler):
        def launch(self, slot, item):
            slot.device_array("workspace", slot.device.budget // 4)
            super().launch(slot, item)

    with Device(list_devices()[0]) as device:
        fake.memory >>= 10
        (result,) = run_on_devices(batches(1), Sharing, [device])
        np.testing.assert_array_equal(result, batches(1)[0] * 2)
        assert device.budget < fake.memory


def test_what_stays_on_the_device_may_not_fit(fake):
    class Holding(Doubler):
        def __init__(self, device):
            device.resident("much", lambda: DeviceArrays(device, np.zeros(1000, np.uint8), np.zeros(1 << 20, np.uint8)))

    with Device(list_devices()[0], max_memory=1 << 20) as device:
        with pytest.raises(OutOfMemoryError, match=r"Fake A.*too little memory"):
            list(run_on_devices(batches(2), Holding, [device]))
        assert device.allocated == 0  # not even the first array


def test_what_stays_on_the_device_is_its_owners(fake):
    """Objects that come and go have the same identity now and then; what stays keeps its owner."""

    class Owner:
        pass

    with Device(list_devices()[0]) as device:
        made = [device.resident("number", lambda number=number: [number], Owner()) for number in range(20)]
        assert made == [[number] for number in range(20)]
        owner, other = Owner(), Owner()
        kept = device.resident("number", lambda: [20], owner, other)
        assert device.resident("number", lambda: [21], owner, other) is kept
        assert device.resident("number", lambda: [21], owner) == [21]
        assert device.resident("another", lambda: [22], owner, other) == [22]


def test_a_run_ends_at_once(fake):
    """The device's thread wakes up when there are no more items, not when it looks next."""
    with Device(list_devices()[0]) as device:
        list(run_on_devices(batches(1), Doubler, [device]))
        start = time.perf_counter()
        for _ in range(20):
            list(run_on_devices(batches(1), Doubler, [device]))
        assert time.perf_counter() - start < 0.5


def test_a_driver_out_of_memory_is_the_same_as_the_budget(fake):
    fake.memory = 1 << 20
    with Device(list_devices()[0]) as device:
        slot = device.call(slots_of, device, 1).result()[0]
        device.budget = 1 << 40
        with pytest.raises(DeviceMemoryExceeded):
            device.call(slot.device_array, "x", 1 << 21).result()


def test_an_array_that_grows_frees_nothing_before_the_space_is_needed(fake):
    """To free memory waits for all kernels of the device."""
    with Device(list_devices()[0], max_memory=1 << 20) as device:
        slot = device.call(slots_of, device, 1).result()[0]
        first = device.call(slot.device_array, "x", 1 << 16).result()
        second = device.call(slot.device_array, "x", 1 << 17).result()
        assert (first.freed, second.freed) == (False, False)
        assert device.allocated == len(first.data) + len(second.data)
        device.call(slot.device_array, "y", (1 << 20) - len(second.data)).result()
        assert (first.freed, second.freed) == (True, False)
        assert device.allocated <= device.budget
        device.call(device.release_buffers).result()
        assert device.allocated == 0
    assert fake.contexts == []


def test_errors_come_in_order(fake):
    class Failing(Doubler):
        def launch(self, slot, item):
            if item[0] == 3:
                raise ValueError("item 3")
            super().launch(slot, item)

    with Device(list_devices()[0]) as device:
        seen = []
        with pytest.raises(ValueError, match="item 3"):
            seen.extend(run_on_devices(batches(10), Failing, [device]))
        assert len(seen) == 3


def test_a_kernel_that_cannot_be_made_is_reported(fake):
    def broken(device):
        raise DeviceError("no kernel image")

    with Device(list_devices()[0]) as device, pytest.raises(DeviceError, match="no kernel image"):
        list(run_on_devices(batches(10), broken, [device]))


def test_errors_of_the_reader_pass_through(fake):
    def items():
        yield from batches(4)
        raise KeyError("reader")

    with Device(list_devices()[0]) as device, pytest.raises(KeyError, match="reader"):
        list(run_on_devices(items(), Doubler, [device]))


def test_a_consumer_may_stop_early(fake):
    before = threading.active_count()
    with Device(list_devices()[0]) as device:
        results = run_on_devices(iter(batches(100)), Doubler, [device])
        next(results)
        results.close()
    assert threading.active_count() == before
    assert fake.contexts == []


def test_closing_a_device_ends_an_abandoned_run(fake):
    device = Device(list_devices()[0])
    results = run_on_devices(iter(batches(100)), Doubler, [device])
    next(results)
    device.close()
    device.close()
    with contextlib.suppress(RuntimeError):
        results.close()
    assert fake.contexts == []


def test_a_kernel_keeps_the_most_shared_memory_that_it_was_given(fake, monkeypatch):
    class Kernel:
        def __init__(self):
            self.given = []

        def set_attribute(self, attribute, value):
            self.given.append(value)

    monkeypatch.setattr(compiler, "compile_module", lambda *_: b"")
    kernel = Kernel()
    fake.functions["kernel"] = kernel

    def asked(device):
        for shared in (1000, 60_000, 60_000, 50_000, 70_000):
            assert device.function("module", "kernel", {"WARPS": "4"}, shared) is kernel

    with Device(list_devices()[0]) as device:
        device.call(asked, device).result()
    assert kernel.given == [60_000, 70_000]


def test_buffers_grow_and_are_reused(fake):
    with Device(list_devices()[0]) as device:
        slot = device.call(slots_of, device, 2).result()[0]

        def exercise():
            first = slot.device_array("a", 1000)
            assert slot.device_array("a", 900) is first
            assert slot.device_array("a", 5000) is not first
            assert not first.freed
            a = slot.pinned("p", (10, 3), np.int32)
            b = slot.pinned("p", 7, np.int16)
            assert a.shape == (10, 3)
            assert b.shape == (7,)
            assert np.shares_memory(a, b)
            # batches that differ a little share a buffer, and one that is outgrown is followed by one of twice the size
            sizes = [100_000, 100_001, 120_000, 229_000, 230_000]
            c, slightly_more, d, doubled, e = (slot.pinned("q", size, np.uint8) for size in sizes)
            assert np.shares_memory(c, slightly_more)
            assert not np.shares_memory(c, d)
            assert np.shares_memory(d, doubled)
            assert not np.shares_memory(d, e)
            assert slot.pinned("empty", 0, np.int32).shape == (0,)
            slot.upload("nothing", np.zeros(0, np.int8))
            slot.clear("z", 16)
            assert slot.download("z", 16, np.uint8).sum() == 0
            # an array that already lies in pinned memory is not copied onto itself
            staged = slot.pinned("q", 4, np.int32)
            staged[:] = [1, 2, 3, 4]
            slot.upload("q", staged)
            assert slot.download("q", 4, np.int32).tolist() == [1, 2, 3, 4]

        device.call(exercise).result()
        assert device.allocated <= device.peak_allocated


def test_old_devices_are_refused(fake):
    with pytest.raises(DeviceError, match=r"6\.1; gpualign needs 7\.0"):
        Device(DeviceInfo(0, "Old", (6, 1), 1 << 30, "11.0"))


def test_devices_are_chosen_by_index(fake):
    with open_backend(RunOptions(device="cuda:1"), "verify") as backend:
        assert backend.name == "cuda:1"
    with pytest.raises(DeviceError, match="no device cuda:2"):
        open_backend(RunOptions(device="cuda:2"), "verify")


def test_a_gpu_that_was_asked_for_by_name_must_work(monkeypatch):
    def missing():
        raise DeviceError("PyCUDA is not installed (pip install 'gpualign[cuda]')")

    monkeypatch.setattr(device_module, "load_driver", missing)
    with pytest.raises(DeviceError, match="PyCUDA is not installed"):
        open_backend(RunOptions(device="cuda"), "verify")


def test_cuda_without_a_gpu_exits_4(monkeypatch, fake):
    fake.devices = ()
    with pytest.raises(DeviceError, match="shows no device"):
        open_backend(RunOptions(device="cuda"), "verify")


def test_a_backend_opens_in_its_callers_thread_and_is_closed_after_it(fake, monkeypatch):
    began = threading.Event()
    load = device_module.load_driver
    monkeypatch.setattr(device_module, "load_driver", lambda: began.wait(10) and load())

    def fail():
        with Opening(RunOptions(device="cuda:0"), "verify") as opening:
            began.set()  # it would wait for ever in the caller's thread
            assert opening.backend().name == "cuda:0"
            assert len(fake.contexts) == 1
            raise ValueError("bad input")

    with pytest.raises(ValueError, match="bad input"):
        fail()
    assert fake.contexts == []
    with (
        Opening(RunOptions(device="cuda:7"), "verify") as opening,
        pytest.raises(DeviceError, match="no device cuda:7"),
    ):
        opening.backend()
    with Opening(RunOptions(device="cpu"), "verify") as opening:
        assert opening.backend().name == "cpu"
    with pytest.raises(UsageError, match="device"):
        Opening(RunOptions(device="gpu"), "verify")


def test_a_run_tells_when_the_host_waited(fake):
    class Slow(Doubler):
        def launch(self, slot, item):
            super().launch(slot, item)
            end = slot.stream.wait
            slot.stream.wait = lambda *arguments: [time.sleep(0.05), end(*arguments)][1]

    with Device(list_devices()[0]) as device:
        list(run_on_devices(batches(1), Slow, [device]))
        worked = union(list(device.timeline.host_work))
        waited = [later[0] - before[1] for before, later in pairwise(worked)]
    assert worked
    assert 0.04 < max(waited) < 1


def test_what_an_owner_has_uploaded_stays_until_another_comes(fake) -> None:
    first, second = np.arange(5, dtype=np.int32), np.arange(7, dtype=np.int32)

    def uploads(device: Device) -> list[int]:
        slot, copied = slots_of(device, 1)[0], []
        for array, owner in ((first, "a"), (first, "a"), (second, "b"), (first, "a")):
            before = device.timeline.bytes_to_device
            pointer = slot.upload_once("text", array, owner)
            copied.append(device.timeline.bytes_to_device - before)
            assert np.array_equal(pointer.data[: array.nbytes].view(np.int32), array)
        device.release_buffers()
        before = device.timeline.bytes_to_device
        slot.upload_once("text", first, "a")
        return [*copied, device.timeline.bytes_to_device - before]

    with Device(list_devices()[0]) as device:
        assert device.call(uploads, device).result() == [20, 0, 28, 20, 20]


def test_what_is_uploaded_once_takes_no_pinned_memory_where_it_is_large(fake, monkeypatch) -> None:
    monkeypatch.setattr("gpualign.run.tuning.MAX_STAGED", 100)
    arrays = [np.arange(size, dtype=np.uint8) for size in (100, 101)]

    def upload(device: Device) -> list[bool]:
        slot = slots_of(device, 1)[0]
        for name, array in zip("ab", arrays, strict=True):
            pointer = slot.upload_once(name, array, array)
            assert np.array_equal(pointer.data[: len(array)], array)
        return [slot.detach_pinned(name) is None for name in "ab"]

    with Device(list_devices()[0]) as device:
        assert device.call(upload, device).result() == [False, True]


def test_allocating_is_no_kernel_time(fake, monkeypatch) -> None:
    """A kernel that ends at once, and host and device memory whose copies take their time."""
    lock, allocate = fake.pagelocked_empty, fake.allocate
    monkeypatch.setattr(fake, "pagelocked_empty", lambda *args, **flags: (time.sleep(0.1), lock(*args, **flags))[1])
    monkeypatch.setattr(fake, "allocate", lambda size: (time.sleep(0.1), allocate(size))[1])

    def run(device: Device) -> float:
        slot = slots_of(device, 1)[0]
        slot.device_array("small", 10)
        slot.launch(lambda *_, **__: None, 1, 32)
        slot.device_array("more", 10)
        slot.launch(lambda *_, **__: None, 1, 32)
        slot.download("small", 10, np.uint8)
        slot.submitted()
        slot.wait()
        return device.timeline.summary()["kernel_s"]

    with Device(list_devices()[0]) as device:
        assert device.call(run, device).result() < 0.05


def test_what_host_threads_have_filled_is_copied_from_where_it_is(fake) -> None:
    def rounds(device: Device) -> list[bool]:
        (slot,), staged = slots_of(device, 1), []
        for value in range(4):
            array = pinned_copy(np.full(5000, value, np.uint8), device.pinned_pool.allocate)
            assert is_pinned(array)
            pointer = slot.upload("text", array)
            slot.wait()
            assert (pointer.data[:5000] == value).all()
            staged.append(slot.detach_pinned("text") is not None)
        return staged

    with Device(list_devices()[0]) as device:
        assert device.call(rounds, device).result() == [False] * 4


def test_memory_that_is_copied_in_full_begins_as_zeros(fake):
    """Kernels write only a part of it; what they have written stays."""
    with Device(list_devices()[0]) as device:

        def copies():
            slot = slots_of(device, 1)[0]
            slot.device_array("results", 1000, zeroed=True)
            new = slot.download("results", 1000, np.uint8).copy()
            slot.upload("results", np.full(500, 7, np.uint8))
            slot.device_array("results", 1000, zeroed=True)
            used = slot.download("results", 1000, np.uint8).copy()
            slot.device_array("results", 5000, zeroed=True)
            return new, used, slot.download("results", 5000, np.uint8).copy()

        new, used, grown = device.call(copies).result()
    assert not new.any()
    assert used[:500].tolist() == [7] * 500
    assert not used[500:].any()
    assert not grown.any()


@pytest.mark.parametrize(("budget", "memories"), [(30, 3), (22, 2), (17, 1), (13, 1)])
def test_slots_share_scratch_memory_where_it_is_too_little_for_all(fake, budget, memories):
    """In MiB: 10 are resident, and a slot takes 2.5, two arrays of 1 with a quarter for growth, of half of the rest."""

    def addresses():
        resident, used = device.allocate(10 << 20), []
        for slot in slots_of(device, 3):
            first, second = scratch_of(slot, ["first", "second"], 0.5)
            with slot.using(first):
                used.append(int(slot.scratch_array("x", 1 << 20)))
                with slot.using(second):
                    slot.scratch_array("x", 1 << 20)
                assert int(slot.scratch_array("x", 1 << 20)) == used[-1]
        assert device.allocated == (10 << 20) + len(set(used)) * (5 << 19)
        device.free(resident, 10 << 20)
        return used

    with Device(list_devices()[0], max_memory=budget << 20) as device:
        device.call(slots_of, device, 3).result()
        assert len(set(device.call(addresses).result())) == memories
    assert fake.contexts == []


def test_kernels_with_scratch_memory_wait_for_those_launched_before(fake, monkeypatch):
    said = []
    monkeypatch.setattr(Stream, "wait_for", lambda stream, event: said.append(("waits", event)))
    monkeypatch.setattr(Stream, "record", lambda stream, event: said.append(("records", event)))

    def kernel(number, **_):
        said.append(("kernel", number))

    def launched():
        for slot in slots_of(device, 2):
            (scratch,) = scratch_of(slot, ["only"], 0.0)  # memory for one
            slot.launch(kernel, 1, 1, 1)
            with slot.using(scratch):
                slot.scratch_array("x", 1)
                slot.launch(kernel, 1, 1, 2)
            slot.launch(kernel, 1, 1, 3)
        return scratch.event

    with Device(list_devices()[0]) as device:
        device.call(slots_of, device, 2).result()
        event = device.call(launched).result()
    of_slot = [("kernel", 1), ("waits", event), ("kernel", 2), ("records", event), ("kernel", 3)]
    assert said == 2 * of_slot


def test_scratch_memory_is_one_block_from_the_second_turn_on(fake):
    """Each array of the first turn has a block of its own. Another scratch memory begins with the size of the first.
    What a later turn lacks is one more block.
    """

    def turns():
        counts, slots = [], slots_of(device, 2)
        for number, slot in enumerate((slots[0], slots[0], slots[1], slots[1], slots[1])):
            (scratch,) = scratch_of(slot, ["only"], 1.0)
            sizes = [("a", 1000), ("b", 100_000), ("c", 3_000_000 if number < 3 else 4_000_000)]
            before = len(fake.allocations)
            with slot.using(scratch):
                arrays = [(slot.scratch_array(key, nbytes), nbytes) for key, nbytes in sizes]
                assert slot.scratch_array("b", 10) == arrays[1][0]
            arrays.sort()
            assert all(start + nbytes <= end for (start, nbytes), (end, _) in pairwise(arrays))
            assert all(fake.memory_at(*array) for array in arrays)
            counts.append(len(fake.allocations) - before)
        assert scratch.held < 2 * 1.25 * 8_000_000
        return counts

    with Device(list_devices()[0]) as device:
        device.call(slots_of, device, 2).result()
        assert device.call(turns).result() == [3, 1, 1, 1, 1]
    assert fake.contexts == []


def test_scratch_memory_is_freed_with_the_slots_buffers(fake):
    def freed():
        (slot,) = slots_of(device, 1)
        (scratch,) = scratch_of(slot, ["only"], 0.5)
        with slot.using(scratch):
            slot.scratch_array("x", 1000)
        held = device.allocated
        device.release_buffers()
        assert scratch_of(slot, ["only"], 0.5) != [scratch]
        return held, device.allocated

    with Device(list_devices()[0]) as device:
        held, left = device.call(freed).result()
    assert held >= 1000
    assert left == 0
