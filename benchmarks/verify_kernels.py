#!/usr/bin/env python3
"""The verification kernels alone on a GPU: cells per second against the integer units' limit, the shapes' ablation.

Every pair's whole matrix is computed (no limit, so no column is left out) unless a row says "limit". Times are those of
events around the launch. A sample of pairs is compared with edlib, distance and end.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import record

from gpualign import _native
from gpualign.align.edit import tuning
from gpualign.align.edit.cpu import MODES, VerifyPairs
from gpualign.align.edit.device import plan as verify_plan
from gpualign.align.edit.device.kernel import STAGE, VerifyKernel, planned
from gpualign.align.edit.device.plan import Group, plan
from gpualign.run.abi import filled
from gpualign.run.cuda import CudaBackend
from gpualign.run.gpu import compiler
from gpualign.run.gpu.buffers import slots_of
from gpualign.run.gpu.device import Device, DeviceInfo, list_devices
from gpualign.sequences.reference import Reference
from gpualign.streaming.timeline import DeviceTimeline

#: rows of the table: query length, window, pairs
WORK = (
    (100, 140, 20_000_000),
    (150, 190, 10_000_000),
    (250, 300, 6_000_000),
    (400, 480, 3_000_000),
    (600, 720, 2_000_000),
    (1000, 1200, 1_000_000),
    (10_000, 12_000, 20_000),
)
#: of the ablation
LENGTHS = [100, 150, 250, 400, 600, 1000]
CANDIDATES_PER_QUERY = 20
#: warp instructions, and warps resident as percent of the most
METRICS = ("smsp__inst_executed.sum", "sm__warps_active.avg.pct_of_peak_sustained_active")
PROFILED_PAIRS = 200_000
#: lanes and words tried on the longest queries
Work = tuple[int, int, int]
LETTERS = np.frombuffer(b"ACGT", np.uint8)


def random_reference(rng: np.random.Generator, bases: int) -> tuple[Reference, np.ndarray]:
    sequence = LETTERS[rng.integers(0, 4, bases, dtype=np.uint8)]
    packer = _native.ReferencePacker()
    packer.append(sequence)
    return Reference(["random"], np.array([0, bases], np.int64), *packer.finish()), sequence


def make_pairs(
    rng: np.random.Generator,
    reference: Reference,
    sequence: np.ndarray,
    work: tuple[int, int, int],
    limit: int,
    true_share: float,
) -> VerifyPairs:
    """Queries with 2 % substitutions; a ``true_share`` of the candidates is the query's own locus."""
    length, window, count = work
    queries = max(1, count // CANDIDATES_PER_QUERY)
    loci = rng.integers(0, len(sequence) - window, queries)
    inset = (window - length) // 2
    bases = np.concatenate([sequence[locus + inset : locus + inset + length] for locus in loci])
    changed = rng.random(len(bases)) < 0.02
    bases[changed] = LETTERS[rng.integers(0, 4, int(changed.sum()))]
    query = np.repeat(np.arange(queries, dtype=np.int32), CANDIDATES_PER_QUERY)[:count]
    begin = rng.integers(0, len(sequence) - window, len(query))
    true = rng.random(len(query)) < true_share
    begin[true] = loci[query[true]]
    return VerifyPairs(
        reference,
        bases,
        np.arange(queries + 1, dtype=np.int64) * length,
        np.full(queries, limit, np.int32),
        query,
        begin.astype(np.uint32),
        (begin + window).astype(np.uint32),
        np.zeros(len(query), np.uint8),
        MODES["infix"],
    )


def time_verify(device: Device, pairs: VerifyPairs, repeats: int = 5) -> dict[str, Any]:
    """Median seconds of the launches that give distances and ends (not starts); with registers and occupancy."""
    return device.call(_time_verify, device, pairs, repeats).result()


def _time_verify(device: Device, pairs: VerifyPairs, repeats: int) -> dict[str, Any]:
    driver, kernel, slot = device.driver, VerifyKernel(device), slots_of(device, 1)[0]
    made = plan(pairs)
    batch = filled("VerifyArrays", **kernel._arrays(slot, pairs, made))
    times = []
    for _ in range(repeats + 1):
        start, end = driver.Event(), driver.Event()
        slot.clear("hit counts", 4 * len(made.groups))
        start.record(slot.stream)
        for group in made.groups:
            kernel.launch_distances(slot, group, pairs.mode, batch)
        end.record(slot.stream)
        end.synchronize()
        times.append(end.time_since(start) * 1e-3)
        slot.wait()
    if not repeats:
        return {}
    function = kernel._function(made.groups[0], "infix")
    registers = function.num_regs
    distances, _, ends = slot.download("results", (3, len(made.tasks)), np.int32)
    slot.wait()
    return {
        "seconds": float(np.median(times[1:])),
        "spread": float((max(times[1:]) - min(times[1:])) / np.median(times[1:])),
        "registers": registers,
        "occupancy": occupancy(device, registers, made.groups[0]),
        "distances": distances.copy(),
        "ends": ends.copy(),
    }


def occupancy(device: Device, registers: int, group: Group) -> float:
    """Resident warps of a multiprocessor as a share of the most it can hold, from registers and shared memory."""
    attributes = device.driver.Device(device.info.index).get_attributes()
    names = {str(key).split(".")[-1]: value for key, value in attributes.items()}
    by_registers = names.get("MAX_REGISTERS_PER_MULTIPROCESSOR", 65536) // (-(-registers // 8) * 8 * 128)
    by_shared = names.get("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", 65536) // (group.shared_bytes + 1024)
    by_threads = names.get("MAX_THREADS_PER_MULTIPROCESSOR", 2048) // 128
    return min(by_registers, by_shared, by_threads, 32) / by_threads


def row(device: Device, pairs: VerifyPairs, work: Work, label: str) -> dict[str, Any]:
    length, window, _ = work
    measured = time_verify(device, pairs)
    shape = tuning.verify_shape(length)
    count = len(pairs)
    return {
        "label": label,
        "query": length,
        "window": window,
        "pairs": count,
        "lanes": shape.lanes,
        "words": shape.words,
        "seconds": round(measured["seconds"], 6),
        "spread": round(measured["spread"], 4),
        "tcups": round(length * window * count / measured["seconds"] / 1e12, 2),
        "gpairs_per_s": round(count / measured["seconds"] / 1e9, 4),
        "registers": measured["registers"],
        "occupancy": round(measured["occupancy"], 3),
    }


def check_with_edlib(device: Device, pairs: VerifyPairs, sequence: np.ndarray, sample: int) -> dict[str, int]:
    """Compare a sample with edlib, distance and end."""
    import edlib

    measured = time_verify(device, pairs, repeats=1)
    rng = np.random.default_rng(5)
    chosen = rng.choice(len(pairs), min(sample, len(pairs)), replace=False)
    made = plan(pairs)  # results come in its order
    position = np.empty(len(pairs), np.int64)
    position[made.order] = np.arange(len(made.order))
    different = 0
    for pair in chosen:
        q = pairs.query[pair]
        query = pairs.bases[pairs.offsets[q] : pairs.offsets[q + 1]].tobytes()
        text = sequence[pairs.begin[pair] : pairs.end[pair]].tobytes()
        result = edlib.align(query, text, mode="HW", task="distance")
        distance, end = result["editDistance"], result["locations"][0][1] + 1
        got = int(measured["distances"][position[pair]]), int(measured["ends"][position[pair]])
        expected = (distance, end) if distance <= pairs.limits[q] else (-1, 0)
        different += got != expected
    return {"pairs": len(chosen), "different": different}


def sweep(
    device: Device, rng: np.random.Generator, reference: Reference, sequence: np.ndarray, lengths: list[int]
) -> list[dict[str, Any]]:
    """The ablation: for each length all numbers of lanes a pair, with the words that this takes."""
    table = []
    shapes = tuning.VERIFY_SHAPES
    pairs, last = None, None
    for work, shape in ablation(lengths):
        if pairs is None or work != last:
            pairs, last = make_pairs(rng, reference, sequence, work, work[0], 0.05), work
        _use_only(shape)
        table.append(row(device, pairs, work, "ablation") | {"lanes": shape.lanes, "words": shape.words})
    _use_all(shapes)
    return table


def band_rows(
    device: Device, rng: np.random.Generator, reference: Reference, sequence: np.ndarray, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """The same pairs with a limit of 5 %, in the band's kernel and in the full columns' (without a limit)."""
    table = []
    share = tuning.VERIFY_BAND_SHARE
    for length, count in ((100, 10_000_000), (150, 10_000_000), (250, 6_000_000), (400, 3_000_000)):
        limit = length // 20
        work = (length, length + 2 * limit, max(1000, int(count * arguments.scale)))
        for true_share in (0.05, 1.0):
            pairs = make_pairs(rng, reference, sequence, work, limit, true_share)
            tuning.VERIFY_BAND_SHARE = 10.0
            band = row(device, pairs, work, "band")
            words = plan(pairs).groups[0].band
            if length == 250:
                print("compared with edlib:", check_with_edlib(device, pairs, sequence, arguments.sample // 5))
            tuning.VERIFY_BAND_SHARE = 0.0
            object.__setattr__(pairs, "limits", np.full_like(pairs.limits, length))
            full = row(device, pairs, work, "full columns")
            ratio = full["seconds"] / band["seconds"]
            line = {"true_share": true_share, "words": words, "limit": limit, "full_over_band": round(ratio, 2)}
            table.append(band | line | {"full_gpairs_per_s": full["gpairs_per_s"]})
            print(table[-1], flush=True)
    tuning.VERIFY_BAND_SHARE = share
    return table


def _use_only(shape: tuning.VerifyShape) -> None:
    verify_plan._shape_index.cache_clear()
    tuning.VERIFY_SHAPES = (shape,)


def _use_all(shapes: tuple[tuning.VerifyShape, ...]) -> None:
    _use_only(shapes[0])
    tuning.VERIFY_SHAPES = shapes


def counted(lengths: list[int]) -> list[dict[str, Any]]:
    """What the profiler counts in each line of the ablation."""
    table = []
    for (work, shape), numbers in zip(ablation(lengths), counters(lengths), strict=True):
        cells = float(work[0]) * work[1] * PROFILED_PAIRS
        line = {"query": work[0], "window": work[1], "lanes": shape.lanes, "words": shape.words}
        line["instructions_per_cell"] = round(numbers[METRICS[0]] * 32 / cells, 4)
        line["achieved_occupancy"] = round(numbers[METRICS[1]] / 100, 3)
        table.append(line)
        print(line, flush=True)
    return table


def counters(lengths: list[int]) -> list[dict[str, float]]:
    """Executed warp instructions and achieved occupancy of each line of the ablation, by Nsight Compute.

    Raises:
        RuntimeError: it is missing or not allowed to count.
    """
    if shutil.which("ncu") is None:
        raise RuntimeError("ncu (Nsight Compute) is not on the path")
    command = [
        "ncu",
        "--clock-control",
        "none",
        "--csv",
        "--kernel-name",
        "regex:^verify$",
        "--metrics",
        ",".join(METRICS),
    ]
    child = [sys.executable, __file__, "--launch-only", ",".join(map(str, lengths))]
    done = subprocess.run([*command, *child], capture_output=True, text=True, check=False)
    rows: dict[str, dict[str, float]] = {}
    for line in csv.DictReader(text for text in done.stdout.splitlines() if text.startswith('"')):
        if line.get("Metric Name") in METRICS:
            rows.setdefault(line["ID"], {})[line["Metric Name"]] = float(line["Metric Value"].replace(",", ""))
    if not rows:
        raise RuntimeError(f"the profiler counted nothing: {done.stdout[-500:]} {done.stderr[-500:]}")
    return list(rows.values())


def launch_only(device: Device, rng: np.random.Generator, lengths: list[int]) -> None:
    """One launch of each line of the ablation, for :func:`counters`."""
    reference, sequence = random_reference(rng, 1 << 22)
    for work, shape in ablation(lengths):
        _use_only(shape)
        work = (work[0], work[1], PROFILED_PAIRS)
        time_verify(device, make_pairs(rng, reference, sequence, work, work[0], 0.05), repeats=0)


def ablation(lengths: list[int]) -> Iterator[tuple[Work, tuning.VerifyShape]]:
    for length in lengths:
        work = (length, length + length // 5, int(4e11 / length**2))
        for lanes in (1, 2, 4, 8, 16, 32):
            words = -(-length // (32 * lanes))
            if words <= 32:
                yield work, tuning.VerifyShape(lanes, words)


def stream_rows(device_info: DeviceInfo, rng: np.random.Generator, reference: Reference, sequence: np.ndarray) -> Any:
    """Batches through the runner with two slots: how much of the copying is hidden by kernels (starts included)."""
    table = []
    for length, window, count, batches in (
        (100, 140, 1_000_000, 24),
        (250, 300, 500_000, 24),
        (1000, 1200, 200_000, 24),
    ):
        pairs = planned(make_pairs(rng, reference, sequence, (length, window, count), length // 5, 0.05))
        with CudaBackend([device_info]) as backend:
            list(backend.run([pairs] * STAGE.slots, STAGE))  # the reference goes to the device, the buffers grow
            device = backend.devices[0]
            device.timeline = DeviceTimeline(origin=device.timeline.origin)  # count from here
            results = sum(1 for _ in backend.run([pairs] * batches, STAGE))
            summary = device.timeline.summary()
        line = {"query": length, "pairs": count * results}
        line |= {key: summary[key] for key in ("kernel_s", "copy_s", "copies_hidden")}
        table.append(line)
        print(line, flush=True)
    return table


def compile_all(device: Device, shapes: set[tuning.VerifyShape]) -> float:
    """Compile side by side, so that the device does not wait for one module after the other."""
    start = time.perf_counter()
    compiler.compile_modules([("verify", shape.defines("infix")) for shape in shapes], device.info.architecture)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=100_000, help="pairs compared with edlib")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the pairs of each row")
    parser.add_argument("--no-sweep", action="store_true")
    parser.add_argument("--counters", action="store_true", help="only instructions a cell and occupancy, by ncu")
    parser.add_argument("--streams", action="store_true", help="only how much of the copying costs time")
    parser.add_argument("--launch-only", help="lengths: launch the ablation's kernels once and leave (for a profiler)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(1)
    if arguments.launch_only:
        with Device(list_devices()[0]) as device:
            launch_only(device, rng, [int(text) for text in arguments.launch_only.split(",")])
        return
    if arguments.counters:
        record("verify-counters", counted(LENGTHS))
        return
    reference, sequence = random_reference(rng, 1 << 26)
    if arguments.streams:
        record("verify-streams", stream_rows(list_devices()[0], rng, reference, sequence))
        return
    shapes = {tuning.verify_shape(work[0]) for work in WORK}
    if not arguments.no_sweep:
        shapes |= {shape for _, shape in ablation(LENGTHS)}
    with Device(list_devices()[0]) as device:
        results: dict[str, Any] = {"compile_s": round(compile_all(device, shapes), 2), "rows": []}
        for work in WORK:
            work = (work[0], work[1], max(1000, int(work[2] * arguments.scale)))
            full = make_pairs(rng, reference, sequence, work, work[0], 0.05)
            results["rows"].append(row(device, full, work, "full columns"))
            print(results["rows"][-1], flush=True)
            if work[0] == 100:
                results["sample"] = check_with_edlib(device, full, sequence, arguments.sample)
                print("compared with edlib:", results["sample"], flush=True)
            limited = make_pairs(rng, reference, sequence, work, work[0] // 5, 0.05)
            results["rows"].append(row(device, limited, work, "limit 0.2"))
            print(results["rows"][-1], flush=True)
        results["band"] = band_rows(device, rng, reference, sequence, arguments)
        if not arguments.no_sweep:
            results["ablation"] = sweep(device, rng, reference, sequence, LENGTHS)
            for line in results["ablation"]:
                print({key: line[key] for key in ("query", "lanes", "words", "tcups", "registers", "occupancy")})
    record("verify-kernels", results)


if __name__ == "__main__":
    main()
