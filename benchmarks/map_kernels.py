"""The kernel of `map` alone: reads a second by size of batch, single and in pairs, and where its time goes.

    python benchmarks/map_kernels.py [--reads 1000000] [--profile]

Reads of 150 bases from chr20 as in map_devices.py, times by the device's events, best of four runs. --profile runs the
kernel once more under Nsight Compute (ncu) and prints its samples and instructions by source file.
"""

from __future__ import annotations

import argparse
import collections
import csv
import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np
from bases import bases_of
from map_devices import LENGTH, draw, known_starts, reverse, single
from numpy.typing import NDArray

from gpualign.map.device.batch import MapBatch
from gpualign.map.device.kernel import MapKernel
from gpualign.map.pairs import PairModel
from gpualign.map.params import MapParams
from gpualign.run.gpu.buffers import slots_of
from gpualign.run.gpu.device import Device, list_devices
from gpualign.seeds.index.run import open_index
from gpualign.sequences.batch import SequenceBatch

BATCHES = (27_000, 110_000)  # the command's, and one four times as large
PROFILED = 200_000
INSERT = PairModel(400, 50, 200, 600)
_METRICS = {
    "sm__inst_executed.sum": "warp_instructions",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "lanes_at_work",
    "sm__inst_executed.avg.per_cycle_elapsed": "instructions_a_cycle_and_multiprocessor",
    "dram__bytes.sum": "dram_bytes",
    "gpu__time_duration.sum": "ns",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_percent",
    "l1tex__t_sector_hit_rate.pct": "l1_hits_percent",
    "lts__t_sector_hit_rate.pct": "l2_hits_percent",
}


def batch_of(reads: NDArray[np.uint8], paired: bool) -> SequenceBatch:
    offsets = np.arange(0, LENGTH * len(reads) + 1, LENGTH, dtype=np.int64)
    mates = np.tile(np.array([1, 2], np.uint8), len(reads) // 2) if paired else None
    return SequenceBatch(
        np.zeros(0, np.uint8), np.zeros(len(offsets), np.int64), reads.reshape(-1), offsets, mates=mates
    )


def drawn(genome: NDArray[np.uint8], count: int, paired: bool) -> NDArray[np.uint8]:
    rng = np.random.default_rng(5)
    starts = known_starts(genome, count, rng)
    if not paired:
        return single(genome, starts, rng)
    reads = np.empty((count, LENGTH), np.uint8)
    reads[0::2] = draw(genome, starts[: count // 2], rng)
    reads[1::2] = reverse(draw(genome, starts[: count // 2] + 400 - LENGTH, rng))
    return reads


def kernel_seconds(device: Device, kernel: MapKernel, batch: SequenceBatch, runs: int) -> tuple[float, int]:
    """Seconds of the best run, and the reads that were left to the CPU."""
    slot, best, left = slots_of(device, 1)[0], float("inf"), 0
    item = MapBatch.of(batch, kernel.pairs is not None)
    for _ in range(runs):
        before = device.timeline.kernel_s
        kernel.submit(slot, item)
        slot.submitted()
        slot.wait()
        device.timeline.fold()
        best = min(best, device.timeline.kernel_s - before)
        left = kernel.collect(slot, item).on_host_count
    return best, left


def profile(index: Path) -> dict[str, Any]:
    """Counters of one launch, and shares of samples and instructions by source file, by ncu."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "map.ncu-rep"
        what = ["--section", "SourceCounters", "--metrics", ",".join(_METRICS), "--import-source", "yes"]
        script = [sys.executable, __file__, "--index", str(index), "--reads", str(PROFILED), "--once"]
        command = ["ncu", "--clock-control", "none", "-k", "find_loci", "-c", "1", *what, "-f", "-o", str(report)]
        subprocess.run([*command, *script], check=True, stdout=subprocess.DEVNULL)

        def page(*options: str) -> str:
            return subprocess.run(
                ["ncu", "-i", str(report), *options, "--csv"], check=True, capture_output=True, text=True
            ).stdout

        counters = {}
        for row in csv.DictReader(
            io.StringIO(page("--page", "details", "--print-units", "base", "--print-details", "all"))
        ):
            name = _METRICS.get(row.get("Metric Name", ""))
            if name:
                counters[name] = float(row["Metric Value"].replace(",", ""))
        raw = csv.reader(io.StringIO(page("--page", "raw", "--print-units", "base")))
        names, _, values = next(raw), next(raw), next(raw)
        for metric, name in _METRICS.items():
            if metric in names:
                counters[name] = float(values[names.index(metric)].replace(",", ""))
        return {
            "reads": PROFILED,
            **counters,
            "by_file": by_file(page("--page", "source", "--print-source", "cuda,sass")),
        }


def by_file(text: str) -> dict[str, dict[str, float]]:
    """Percent of samples and instructions, and lanes at work, of each source file."""
    sums: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    name, columns = "", {}
    for row in csv.reader(io.StringIO(text)):
        if row[:1] == ["File Path"]:
            name = Path(row[1]).name
        elif row[:1] == ["Line No"]:
            columns = {
                "samples": row.index("# Samples"),
                "instructions": row.index("Instructions Executed"),
                "lanes": row.index("Thread Instructions Executed"),
            }
        elif row and row[0].isdigit():
            for kind, column in columns.items():
                sums[name][kind] += int(row[column] or 0) if row[column].isdigit() else 0
    all_samples = sum(counts["samples"] for counts in sums.values()) or 1
    all_instructions = sum(counts["instructions"] for counts in sums.values()) or 1
    return {
        name: {
            "samples_percent": round(100 * counts["samples"] / all_samples, 1),
            "instructions_percent": round(100 * counts["instructions"] / all_instructions, 1),
            "lanes": round(counts["lanes"] / max(1, counts["instructions"]), 1),
        }
        for name, counts in sorted(sums.items(), key=lambda item: -item[1]["samples"])
        if counts["samples"] >= 0.005 * all_samples
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=int, default=1_000_000)
    parser.add_argument("--index", type=Path, help="of chr20, instead of making one")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--once", action="store_true", help="one launch, for a profiler")
    arguments = parser.parse_args()
    genome = data.genome("chr20")
    bases = bases_of(genome)
    index = open_index(str(arguments.index or genome), None, None, 16)
    figures: dict[str, Any] = {}
    with Device(list_devices()[0]) as device:
        for paired in (False,) if arguments.once else (False, True):
            reads = drawn(bases, arguments.reads, paired)
            kernel = MapKernel(device, index, MapParams(), INSERT if paired else None)
            for count in (arguments.reads,) if arguments.once else (*BATCHES, arguments.reads):
                batch, runs = batch_of(reads[:count], paired), 1 if arguments.once else 4
                best, left = device.call(kernel_seconds, device, kernel, batch, runs).result()
                name = f"{'pairs' if paired else 'single'} {count:,}"
                figures[name] = {"reads_per_s": round(count / best), "left_to_cpu": left}
                print(f"{name:<18} {count / best / 1e6:6.2f} M reads/s, {left} left to the CPU", flush=True)
    if arguments.once:
        return
    if arguments.profile:
        with tempfile.TemporaryDirectory() as folder:
            from gpualign.seeds.index.file import save_index

            saved = Path(folder) / "chr20.gpi"
            save_index(index, str(saved))
            for name, row in profile(arguments.index or saved).items():
                print(name, row)
    harness.save("map-kernels", harness.machine((), ("pycuda",), harness.gpu_names()), {"map_kernels": figures})


if __name__ == "__main__":
    main()
