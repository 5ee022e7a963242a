"""Speed of bounded-gap alignment: GapsMis' own experiment on a GPU, and the CPU backend compared with a plain C++ loop.

    python benchmarks/gapsmis.py [gpu] [cpu]

Texts of 250 symbols × 2,048 and patterns of 50, 100, 150 and 200 symbols × 100, every pattern against every text, as in
GPUGapsMis (Carroll, Ojiaku and Wong), section 3. CUPS are cells (pattern length × text length, summed over pairs) × the
K+1 layers, per second. "kernel" is the kernels' time by events, "call" that of a whole batch from host memory to host
memory. The hybrid traceback copies the directions to the host and walks there, as the paper's comparison does.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import record

from gpualign.align.gaps.cpu import GapAlignments, GapModel, GapProblem, align_on_cpu
from gpualign.run.gpu.buffers import slots_of
from gpualign.sequences.encoded import EncodedSequences
from gpualign.sequences.matrices import match_mismatch
from gpualign.sequences.pairs import PairBlock

HERE = Path(__file__).resolve().parent
ROUNDS = 5
TEXTS, TEXT_LENGTH, PATTERNS = 2048, 250, 100


class Pairs(NamedTuple):
    """Pairs of sequences, whatever they are aligned by."""

    patterns: EncodedSequences
    texts: EncodedSequences
    block: PairBlock

    def problem(self, gaps: int, traceback: bool) -> GapProblem:
        return GapProblem(self.patterns, self.texts, model_for(gaps, traceback))

    def take(self, where: slice | np.ndarray) -> Pairs:
        return self._replace(block=self.block.take(where))

    @property
    def cells(self) -> float:
        lengths = self.patterns.lengths[self.block.queries] * self.texts.lengths[self.block.targets]
        return float(lengths.sum())


def paper_pairs(pattern_length: int | None = None, texts: int = TEXTS, seed: int = 1) -> Pairs:
    """Random texts of 250 symbols and patterns of 50 to 200 (or one length), mutated prefixes of some of the texts."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 4, (texts, TEXT_LENGTH)).astype(np.uint8)
    lengths = [pattern_length or (50, 100, 150, 200)[k % 4] for k in range(PATTERNS)]
    patterns = []
    for k, length in enumerate(lengths):
        pattern = np.delete(codes[k % texts], slice(20, 20 + k % 7))[:length].copy()
        changed = rng.random(length) < 0.03
        pattern[changed] = rng.integers(0, 4, int(changed.sum()))
        patterns.append(pattern)
    names = [str(i) for i in range(max(texts, PATTERNS))]
    return Pairs(
        EncodedSequences(names[:PATTERNS], np.concatenate(patterns), np.cumsum([0, *lengths]).astype(np.int64)),
        EncodedSequences(names[:texts], codes.reshape(-1), np.arange(texts + 1, dtype=np.int64) * TEXT_LENGTH),
        PairBlock(
            np.repeat(np.arange(PATTERNS, dtype=np.int32), texts), np.tile(np.arange(texts, dtype=np.int32), PATTERNS)
        ),
    )


def model_for(gaps: int, traceback: bool) -> GapModel:
    """Match 5, mismatch -4, gaps 10 + 1 for each further symbol."""
    table = match_mismatch(5, -4).scores.astype(np.int16).reshape(-1)
    return GapModel(table, 5, gaps, 10, 1, traceback=traceback)


def time_kernels(device: Any, kernel: Any, block: PairBlock, repeats: int = 5) -> float:
    """Median seconds of a batch's kernels, without copies."""
    slot = slots_of(device, 1)[0]
    times = []
    for _ in range(repeats + 1):
        kernel.submit(slot, block)
        slot.submitted()
        before = device.timeline.summary()["kernel_s"]
        slot.wait()
        times.append(device.timeline.summary()["kernel_s"] - before)
    return float(np.median(times[1:]))


def build_plain() -> ctypes.CDLL:
    """The plain loop, compiled for this processor."""
    library = Path(tempfile.mkdtemp()) / "plain.so"
    flags = ["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-I", str(HERE.parent / "cuda")]
    subprocess.run(["g++", *flags, "-o", str(library), str(HERE / "gapsmis_plain.cpp")], check=True)
    return ctypes.CDLL(str(library))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def seconds_of(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# -- CPU


def run_cpu(plain: ctypes.CDLL) -> dict[str, Any]:
    """Two cores of the CPU backend against the plain loop on one, interleaved; scores compared."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, cores)
    pairs = paper_pairs(texts=128)
    few = pairs.take(slice(0, len(pairs.block), 16))
    results: dict[str, Any] = {"cores": len(cores), "pairs": len(pairs.block)}
    with ThreadPoolExecutor(2) as pool:
        for gaps in range(4):
            ours: list[float] = []
            traced: list[float] = []
            theirs: list[float] = []
            scores = np.zeros(len(few.block), np.int32)
            for _ in range(ROUNDS):
                theirs.append(seconds_of(partial(plain_scores, plain, few, gaps, scores)))
                ours.append(seconds_of(partial(on_threads, pool, pairs.problem(gaps, False), pairs.block)))
                traced.append(seconds_of(partial(on_threads, pool, pairs.problem(gaps, True), pairs.block)))
            assert np.array_equal(align_on_cpu(few.problem(gaps, False), few.block).score, scores)
            rates = [
                part.cells * (gaps + 1) / statistics.median(times) / 1e9
                for part, times in ((few, theirs), (pairs, ours), (pairs, traced))
            ]
            results[f"K={gaps}"] = {
                "plain_one_core_gcups": round(rates[0], 3),
                "scores_gcups": round(rates[1], 2),
                "traceback_gcups": round(rates[2], 2),
                "scores_times_plain": round(rates[1] / rates[0], 1),
            }
            print(f"CPU K={gaps}", results[f"K={gaps}"], flush=True)
    return results


def on_threads(pool: ThreadPoolExecutor, problem: GapProblem, block: PairBlock) -> None:
    list(pool.map(lambda k: align_on_cpu(problem, block.take(slice(k, None, 4))), range(4)))


def plain_scores(plain: ctypes.CDLL, pairs: Pairs, gaps: int, scores: np.ndarray) -> None:
    sequences = (pairs.patterns.codes, pairs.patterns.offsets, pairs.texts.codes, pairs.texts.offsets)
    ids = (np.ascontiguousarray(pairs.block.queries), np.ascontiguousarray(pairs.block.targets))
    arrays = [pointer(array) for array in (*sequences, *ids)]
    assert plain.plain_gapsmis(*arrays, ctypes.c_int64(len(pairs.block)), gaps, 5, -4, 10, 1, pointer(scores)) == 0


# -- GPU


def run_gpu(plain: ctypes.CDLL) -> dict[str, Any]:
    from gpualign.run.gpu.device import Device, list_devices

    with Device(list_devices()[0]) as device:
        return device.call(_run_gpu, device, plain).result()


def _run_gpu(device: Any, plain: ctypes.CDLL) -> dict[str, Any]:
    from gpualign.align.gaps.device import GapsmisKernel

    pairs = paper_pairs()
    results: dict[str, Any] = {"pairs": len(pairs.block)}
    for gaps in range(5):
        for traceback in (False, True):
            kernel = GapsmisKernel(device, pairs.problem(gaps, traceback))
            check(kernel, device, pairs.block)
            row = timed(kernel, device, pairs, gaps)
            results[f"K={gaps} {'traceback' if traceback else 'scores'}"] = row
            print(f"GPU K={gaps} traceback={traceback}", row, flush=True)
    for length in (50, 100, 150, 200):
        row = traceback_table(device, plain, length)
        results[f"traceback table, patterns of {length}"] = row
        print(f"patterns of {length}:", row, flush=True)
    return results


def align(kernel: Any, device: Any, block: PairBlock) -> GapAlignments:
    slot = slots_of(device, 1)[0]
    kernel.submit(slot, block)
    slot.wait()
    return kernel.collect(slot, block)


def check(kernel: Any, device: Any, block: PairBlock) -> None:
    """The CPU backend's answers for a spread-out sample."""
    sample = block.take(slice(0, len(block), 199))
    ours, theirs = align(kernel, device, block), align_on_cpu(kernel.problem, sample)
    for field in ("score", "gaps", "start", "end"):
        assert np.array_equal(getattr(ours, field)[::199], getattr(theirs, field)), field


def timed(kernel: Any, device: Any, pairs: Pairs, gaps: int) -> dict[str, float]:
    kernels = time_kernels(device, kernel, pairs.block, ROUNDS)
    call = statistics.median(seconds_of(lambda: align(kernel, device, pairs.block)) for _ in range(ROUNDS))
    work = pairs.cells * (gaps + 1)
    return {
        "kernel_ms": round(kernels * 1e3, 3),
        "kernel_tcups": round(work / kernels / 1e12, 3),
        "call_ms": round(call * 1e3, 3),
        "call_tcups": round(work / call / 1e12, 3),
    }


def traceback_table(device: Any, plain: ctypes.CDLL, length: int, gaps: int = 2) -> dict[str, Any]:
    """Milliseconds as in the paper's Table 1: alignment only, hybrid and GPU traceback; one text, and all texts."""
    from gpualign.align.gaps.device import GapsmisKernel

    pairs = paper_pairs(length)
    scores, traced = (GapsmisKernel(device, pairs.problem(gaps, traceback)) for traceback in (False, True))
    row: dict[str, Any] = {}
    for name, part in (("one text", pairs.block.take(pairs.block.targets == 0)), ("all texts", pairs.block)):
        fill = Hybrid(device, pairs.problem(gaps, True), plain)
        times: dict[str, list[float]] = {"alignment only": [], "hybrid": [], "gpu": []}
        for _ in range(ROUNDS + 1):
            times["alignment only"].append(seconds_of(lambda part=part: align(scores, device, part)))
            times["hybrid"].append(seconds_of(lambda part=part, fill=fill: fill.align(part)))
            times["gpu"].append(seconds_of(lambda part=part: align(traced, device, part)))
        row[name] = {key: round(statistics.median(values[1:]) * 1e3, 3) for key, values in times.items()}
        assert np.array_equal(fill.align(part), align(traced, device, part).gap_list), "hybrid and GPU differ"
    return row


class Hybrid:
    """Directions on the GPU, copied to the host in parts, walked there by all cores."""

    PART = 1 << 14

    def __init__(self, device: Any, problem: GapProblem, plain: ctypes.CDLL) -> None:
        from gpualign.align.gaps import device as gapsmis
        from gpualign.align.gaps import tuning

        class Filling(gapsmis.GapsmisKernel):
            """Every task has memory of its own, so that all directions are there at the end."""

            def memory(self, launch: Any, function: Any) -> Any:
                tasks = -(-len(launch.order) // launch.per_warp)
                self.launched = launch
                self.space = gapsmis.workspace(launch, self.model, -(-tasks // 4) * 4, self.device.budget)
                return self.space

        self.device, self.problem, self.plain = device, problem, plain
        self.kernel = Filling(device, problem)
        self.kernel.numbers = tuning.Gapsmis(16, 16, 16, 16, thread_pairs=0)
        defines = {**gapsmis.defines(problem.model, self.kernel.numbers), "WALK": "0"}
        self.kernel.module = device.module("bounded_gaps", defines)
        self.pool = ThreadPoolExecutor()

    def align(self, block: PairBlock) -> np.ndarray:
        lists = [self._part(block.part(k, k + self.PART)) for k in range(0, len(block), self.PART)]
        return np.concatenate(lists)

    def _part(self, block: PairBlock) -> np.ndarray:
        slot = slots_of(self.device, 1)[0]
        self.kernel.submit(slot, block)
        space, launch, gaps = self.kernel.space, self.kernel.launched, self.problem.model.max_gaps
        directions = slot.download("directions", space.directions * space.warps, np.uint32)
        slot.wait()
        answer = self.kernel.collect(slot, block)
        gap_list = np.zeros((len(block), gaps, 3), np.int32)
        starts, rows = np.zeros(len(block), np.int32), self.problem.patterns.lengths[block.queries].astype(np.int32)
        words = 16 * 4 * gaps // 32
        shape = (ctypes.c_int64(space.directions), space.band, words, 16, 4 * gaps, gaps)
        arrays = [pointer(a) for a in (rows, answer.gaps, answer.end, gap_list, starts)]

        def walk(first: int) -> None:
            span = (ctypes.c_int64(first), ctypes.c_int64(min(first + 512, len(block))))
            self.plain.walk_back(pointer(directions), *shape, pointer(launch.order), *span, *arrays)

        list(self.pool.map(walk, range(0, len(block), 512)))
        return gap_list


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=["gpu", "cpu", []], help="what to measure (both)")
    arguments = parser.parse_args()
    plain = build_plain()
    results = {}
    if not arguments.parts or "gpu" in arguments.parts:
        results["gpu"] = run_gpu(plain)
    if not arguments.parts or "cpu" in arguments.parts:
        results["cpu"] = run_cpu(plain)
    record("gapsmis", results)


if __name__ == "__main__":
    main()
