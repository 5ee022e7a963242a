"""Speed of lcs-filter: the GPU kernel by shape, alphabet and length; the CPU backend and the command against RapidFuzz.

    python benchmarks/lcs.py kernel               needs a GPU
    python benchmarks/lcs.py cpu
    python benchmarks/lcs.py command [--device cuda]

CUPS are cells of the dynamic program (query length × subject length, summed over subjects) per second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import record

from gpualign.align.lcs.cpu import score_on_cpu
from gpualign.align.lcs.query import LcsQuery, encode_query
from gpualign.run.gpu.buffers import slots_of
from gpualign.sequences.batch import SequenceBatch

LETTERS = np.frombuffer(bytes(range(33, 33 + 200)), np.uint8)
CHECKED = 48  # subjects of each case that the CPU backend scores again


def random_codes(rng: np.random.Generator, count: int, symbols: int) -> np.ndarray:
    return LETTERS[rng.integers(0, symbols, count, dtype=np.uint8)]


def make_case(
    symbols: int, query_length: int, subjects: int, lengths: int | tuple[int, int], seed: int = 1
) -> tuple[LcsQuery, SequenceBatch]:
    """A random query and a batch of random subjects, of one length or of lengths spread evenly over a range.

    The text repeats after 64 Mi symbols, so that making it takes no longer than running it.
    """
    rng = np.random.default_rng(seed)
    query = encode_query("q", random_codes(rng, query_length, symbols).tobytes(), "bytes")
    each = np.full(subjects, lengths) if isinstance(lengths, int) else rng.integers(*lengths, subjects, endpoint=True)
    offsets = np.zeros(subjects + 1, np.int64)
    np.cumsum(each, out=offsets[1:])
    pool = random_codes(rng, min(int(offsets[-1]), 1 << 26), symbols)
    bases = np.resize(pool, int(offsets[-1]))
    return query, SequenceBatch(np.zeros(0, np.uint8), np.zeros(subjects + 1, np.int64), bases, offsets)


def sample_is_right(query: LcsQuery, batch: SequenceBatch, lengths: np.ndarray) -> bool:
    """The CPU backend's lengths of a spread-out sample."""
    chosen = np.unique(np.linspace(0, len(batch) - 1, CHECKED).astype(int))
    parts = [batch.bases[batch.base_offsets[i] : batch.base_offsets[i + 1]] for i in chosen]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    sample = SequenceBatch(np.zeros(0, np.uint8), np.zeros(len(chosen) + 1, np.int64), np.concatenate(parts), offsets)
    return bool((score_on_cpu([query], sample).lengths[0] == lengths[chosen]).all())


# -- the kernel


class KernelBench:
    """Times the kernel alone with events; copies and encoding happen before."""

    def __init__(self, index: int = 0) -> None:
        from gpualign.run.gpu.device import Device, list_devices

        self.device = Device(list_devices()[index])

    def run(self, query: LcsQuery, batch: SequenceBatch, shape: Any = None) -> dict:
        return self.device.call(self._run, query, batch, shape).result()

    def _run(self, query: LcsQuery, batch: SequenceBatch, shape: Any) -> dict:
        from gpualign.align.lcs.device.lengths import LcsKernel

        kernel = LcsKernel(self.device, [query], shape)
        slot = slots_of(self.device, 1)[0]
        kernel.submit(slot, batch)
        slot.submitted()
        slot.wait()
        lengths = kernel.collect(slot, batch).lengths[0]
        shape = kernel.shape_for(0, len(batch))
        classes = kernel.upload_classes(slot, batch, np.arange(len(batch)), shape)
        encode = self._median(slot, lambda: kernel.encode(slot, 0, classes))
        score = self._median(slot, lambda: kernel.score(slot, 0, classes, len(batch)))
        cells = len(query) * int(batch.base_offsets[-1])
        return {
            "shape": f"{shape.tile}x{shape.lanes} t{shape.threads} b{shape.blocks}",
            "encode_ms": round(encode, 3),
            "kernel_ms": round(score, 3),
            "tcups": round(cells / score / 1e9, 1),
            "correct": sample_is_right(query, batch, lengths),
        }

    def _median(self, slot: Any, launch: Callable[[], None], repeats: int = 3) -> float:
        driver = self.device.driver
        times = []
        for _ in range(repeats):
            start, end = driver.Event(), driver.Event()
            start.record(slot.stream)
            launch()
            end.record(slot.stream)
            end.synchronize()
            times.append(end.time_since(start))
        slot.submitted()
        slot.wait()
        return statistics.median(times)


#: name -> (symbols, query length, subjects, lengths)
KERNEL_CASES: dict[str, tuple[int, int, int, int | tuple[int, int]]] = {
    "paper: 720,000 x 4096, 4 letters": (4, 4096, 720_000, 4096),
    **{f"{a} letters, 200,000 x 4096": (a, 4096, 200_000, 4096) for a in (4, 8, 12, 16, 20, 26, 96)},
    "1024 x 1024": (4, 1024, 1_500_000, 1024),
    "query 1024, lengths 100 to 10,000": (4, 1024, 150_000, (100, 10_000)),
    "query 4096, lengths 100 to 10,000": (4, 4096, 150_000, (100, 10_000)),
    "query 100, 2,000,000 x 150": (4, 100, 2_000_000, 150),
    "query 16384, 20,000 x 4096": (4, 16_384, 20_000, 4096),
    "few: 2,000 x 4096": (4, 4096, 2000, 4096),
    "long: 200 x 200,000": (4, 4096, 200, 200_000),
}


def bench_kernel(arguments: argparse.Namespace) -> Iterator[dict]:
    bench = KernelBench()
    with contextlib.closing(bench.device):
        for name, case in KERNEL_CASES.items():
            if arguments.only and arguments.only not in name:
                continue
            query, batch = make_case(*case)
            yield {"case": name, "formulation": "crochemore", **bench.run(query, batch)}


# -- the CPU backend


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def bench_cpu(arguments: argparse.Namespace) -> Iterator[dict]:
    """Two threads of ours against RapidFuzz's cdist with two workers, interleaved."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist

    from gpualign.streaming.ordered import run_ordered

    for length, symbols in ((100, 4), (1000, 4), (4096, 4), (1000, 26), (4096, 26)):
        count = max(64, 2_000_000_000 // (length * length)) if length > 100 else 100_000
        query, batch = make_case(symbols, length, count, length)
        texts = [batch.sequence(i).decode("latin-1") for i in range(count)]
        halves = [part(batch, 0, count // 2), part(batch, count // 2, count)]

        def ours(query: LcsQuery = query, halves: list[SequenceBatch] = halves) -> Any:
            return list(run_ordered(halves, lambda half: score_on_cpu([query], half), 2))

        def rapidfuzz(query: LcsQuery = query, texts: list[str] = texts) -> Any:
            return cdist([query.text.decode("latin-1")], texts, scorer=LCSseq.similarity, workers=2)

        speeds = interleaved(
            {"crochemore": ours, "rapidfuzz": rapidfuzz}, length * length * count / 1e9, arguments.repeats
        )
        yield {
            "case": f"{length} x {length}, {symbols} letters, 2 threads",
            **{f"{name}_gcups": round(speed, 1) for name, speed in speeds.items()},
            "ratio": round(speeds["crochemore"] / speeds["rapidfuzz"], 2),
        }


def interleaved(runs: dict[str, Callable[[], Any]], work: float, repeats: int) -> dict[str, float]:
    """Work per second of each, by the median of rounds in which every one runs once."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            times[name].append(timed(run))
    return {name: work / statistics.median(values) for name, values in times.items()}


def part(batch: SequenceBatch, start: int, end: int) -> SequenceBatch:
    offsets = batch.base_offsets[start : end + 1]
    return SequenceBatch(
        np.zeros(0, np.uint8),
        np.zeros(end - start + 1, np.int64),
        batch.bases[offsets[0] : offsets[-1]],
        offsets - offsets[0],
    )


# -- the whole command


def bench_command(arguments: argparse.Namespace) -> Iterator[dict]:
    """Plain FASTA in, table out, in a process of its own each time."""
    import subprocess
    import sys

    subjects, length = arguments.subjects, 4096
    rng = np.random.default_rng(2)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        query, targets = Path(folder) / "query.fa", Path(folder) / "subjects.fa"
        alphabet = np.frombuffer(b"ACGT", np.uint8)
        query.write_bytes(b">query\n" + alphabet[rng.integers(0, 4, length)].tobytes() + b"\n")
        with targets.open("wb") as out:
            for i in range(subjects):
                out.write(b">s%d\n%s\n" % (i, alphabet[rng.integers(0, 4, length, dtype=np.uint8)].tobytes()))
        walls = []
        for _ in range(arguments.repeats):
            report = Path(folder) / "report.json"
            command = [sys.executable, "-m", "gpualign", "lcs-filter", "-Q", query, targets, "-n", "100", "-o"]
            command += [Path(folder) / "out.tsv", "--device", arguments.device, "--json", report, "--subsequence"]
            walls.append(timed(lambda command=command: subprocess.run(command, check=True)))
            devices = json.loads(report.read_text()).get("devices", ())
            kernel_s = max((device["kernel_s"] for device in devices), default=None)
        yield {
            "case": f"query 4096, {subjects} x 4096 from plain FASTA, top 100 with subsequences",
            "wall_s": round(statistics.median(walls), 3),
            "kernel_s": kernel_s,
        }


def bench_paths(arguments: argparse.Namespace) -> Iterator[dict]:
    """Subsequences of 100 winners as the command traces them: on all CPU threads and on a GPU."""
    from gpualign.align.lcs.query import QueryStrands
    from gpualign.lcs.output import LcsHits
    from gpualign.lcs.run import trace
    from gpualign.params import available_cores

    query, batch = make_case(4, 4096, 100, 4096)
    lengths = score_on_cpu([query], batch).lengths[0]
    numbers, zeros = np.arange(100), np.zeros(100, np.int64)
    hits = LcsHits(batch, numbers, numbers, batch.lengths, zeros, lengths, zeros.astype(bool))
    queries, threads = [QueryStrands("q", 4096, (query,))], available_cores()

    def traced(backend: Any) -> Any:
        return trace(queries, hits, threads, backend).subsequences

    case = {"case": "100 subsequences, 4096 x 4096"}
    on_cores = statistics.median(timed(lambda: traced(None)) for _ in range(7))
    yield case | {"device": "cpu", "threads": threads, "s": on_cores}
    if arguments.device == "cpu":
        return
    from gpualign.run.cuda import CudaBackend
    from gpualign.run.gpu.device import list_devices

    with CudaBackend(list_devices()[:1]) as backend:
        timeline = backend.devices[0].timeline
        traced(backend)  # loads the kernel and allocates
        times, kernels = [], []
        for _ in range(15):
            timeline.fold()
            before = timeline.kernel_s
            times.append(timed(lambda: traced(backend)))
            timeline.fold()
            kernels.append(timeline.kernel_s - before)
        same = traced(backend) == traced(None)
    measured = {"s": statistics.median(times), "kernel_s": statistics.median(kernels)}
    yield case | {"device": "cuda", **measured, "same": same}


MODES: dict[str, Callable[[argparse.Namespace], Iterator[dict]]] = {
    "kernel": bench_kernel,
    "cpu": bench_cpu,
    "command": bench_command,
    "paths": bench_paths,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--only", help="kernel: only cases with this in their name")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda", help="command: as --device of gpualign")
    parser.add_argument("--subjects", type=int, default=188_000, help="command: how many")
    parser.add_argument("--folder", help="command: where to put the files")
    arguments = parser.parse_args()
    rows = []
    for row in MODES[arguments.mode](arguments):
        rows.append(row)
        print(json.dumps(row), flush=True)
    record(f"lcs-{arguments.mode}", {"rows": rows})


if __name__ == "__main__":
    main()
