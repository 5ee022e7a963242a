"""How a command's speed grows with the devices of one machine: 1 … n GPUs, and n GPUs with the CPU threads.

    python benchmarks/devices.py [--rounds 3] [--work 1.0] [--commands pairwise,lcs-filter,verify] [--devices cuda:0+…]

Each command has a result of its own, devices-<command>-<machine>.json.

Needs gpualign[cuda] and one or more GPUs. Inputs are random with a fixed seed, so that nothing is fetched; at --work 1
they keep one H200 busy for more than ten seconds, so that starting is a small part. Rounds are interleaved; a case's
speed is its ratio to the first case (one GPU) within a round, then the median: of whole commands by the clock, and of
the devices alone by the time in which the busiest of them ran kernels. Outputs are compared byte for byte.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
from bases import BASES
from numpy.typing import NDArray

from gpualign.run.gpu.device import list_devices

_NAME_DIGITS = 8
#: rows written at once
_PART = 200_000
#: of a read's candidates, bases from its true locus
_SHIFT = 40


def random_rows(rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.uint8]:
    return BASES[rng.integers(0, 4, (rows, columns), dtype=np.uint8)]


def mutated(rows: NDArray[np.uint8], rate: float, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A copy with a share of its bases drawn anew."""
    changed = rows.copy()
    loci = np.flatnonzero(rng.random(rows.size, dtype=np.float32) < rate)
    changed.reshape(-1)[loci] = BASES[rng.integers(0, 4, len(loci), dtype=np.uint8)]
    return changed


def write_fasta(path: Path, parts: Iterator[NDArray[np.uint8]]) -> Path:
    """Sequences of one length, named by their number, so that records are rows of one array."""
    first = 0
    with open(path, "wb") as out:
        for part in parts:
            rows = np.full((len(part), _NAME_DIGITS + 3 + part.shape[1]), ord("\n"), np.uint8)
            rows[:, 0] = ord(">")
            for digit in range(_NAME_DIGITS):
                rows[:, _NAME_DIGITS - digit] = ord("0") + np.arange(first, first + len(part)) // 10**digit % 10
            rows[:, _NAME_DIGITS + 2 : -1] = part
            out.write(rows.tobytes())
            first += len(part)
    return path


def name(number: int) -> str:
    return f"{number:0{_NAME_DIGITS}}"


def pairwise(folder: Path, work: float) -> list[str | Path]:
    """Genes of 1,500 bases, families of ten: all are scored against all, and families aligned."""
    rng = np.random.default_rng(11)
    families = random_rows(rng, max(1, round(1130 * work**0.5)), 1500)
    genes = mutated(np.repeat(families, 10, axis=0), 0.05, rng)
    return ["pairwise", write_fasta(folder / "genes.fa", iter([genes])), "--id", "0.8"]


def lcs_filter(folder: Path, work: float) -> list[str | Path]:
    """Three million subjects of 300 bases, and a query of two million bases."""
    rng = np.random.default_rng(12)
    subjects = max(1, round(3_000_000 * work))
    parts = (random_rows(rng, min(_PART, subjects - first), 300) for first in range(0, subjects, _PART))
    query = write_fasta(folder / "query.fa", iter([random_rows(rng, 1, 2_000_000)]))
    path = write_fasta(folder / "subjects.fa", parts)
    return ["lcs-filter", "-Q", query, path, "-n", "100", "--batch-size", "2M"]


def verify(folder: Path, work: float) -> list[str | Path]:
    """Reads of 20,000 bases with 300 candidate regions each, of which some hold the read."""
    rng = np.random.default_rng(13)
    length, candidates, reads = 20_000, 300, max(1, round(5000 * work))
    reference = random_rows(rng, 1, 1 << 24)
    starts = rng.integers(_SHIFT, reference.size - length - _SHIFT, reads)
    windows = np.lib.stride_tricks.sliding_window_view(reference[0], length)
    parts = (mutated(windows[starts[first : first + 500]], 0.03, rng) for first in range(0, reads, 500))
    path = folder / "candidates.tsv"
    with open(path, "w") as out:
        for read, start in enumerate(starts.tolist()):
            loci = rng.integers(1, reference.size - length - _SHIFT, candidates)
            loci[0] = start + 1 - _SHIFT // 2
            out.writelines(f"{name(read)}\t{name(0)}\t{at}\t{at + length + _SHIFT}\t+\n" for at in loci.tolist())
    files = write_fasta(folder / "reference.fa", iter([reference])), write_fasta(folder / "reads.fa", parts)
    return ["verify", *files, "-c", path, "-k", "-1", "--batch-size", "512K"]


COMMANDS = {"pairwise": pairwise, "lcs-filter": lcs_filter, "verify": verify}


def run(command: list[str | Path], device: str, folder: Path) -> tuple[harness.Timing, float]:
    """A run's times, and seconds in which the busiest device ran kernels."""
    report = folder / "report.json"
    program = [sys.executable, "-m", "gpualign", *command, "--quiet", "--json", report, "--device", device]
    timing = harness.run_timed(program, output_of(folder, device))
    devices = json.loads(report.read_text()).get("devices") or ()
    return timing, max((device["kernel_s"] for device in devices), default=0.0)


def output_of(folder: Path, device: str) -> Path:
    return folder / f"{device.replace(':', '-').replace(',', '-')}.out"


def measure(command: list[str | Path], devices: list[str], folder: Path, rounds: int) -> dict[str, Any]:
    cases = {device: partial(run, command, device, folder) for device in devices}
    runs = harness.interleave(cases, rounds)
    first = devices[0]
    walls = {device: [timing.wall_s for timing, _ in runs[device]] for device in devices}
    kernels = {device: [max(1e-9, kernel_s) for _, kernel_s in runs[device]] for device in devices}
    return {
        device: harness.summary([timing for timing, _ in runs[device]])
        | {
            "speed_to_one": harness.ratio(walls[device], walls[first]),
            "kernel_s": round(float(np.median(kernels[device])), 3),
            "kernel_speed_to_one": harness.ratio(kernels[device], kernels[first]),
            "same_bytes": filecmp.cmp(output_of(folder, first), output_of(folder, device), shallow=False),
        }
        for device in devices
    }


def show(command: str, device: str, row: dict[str, Any]) -> None:
    print(
        f"{command:<11} {device:<16} {row['wall_s']:8.2f} s  speed {row['speed_to_one']:5.2f}  "
        f"kernels {row['kernel_s']:8.2f} s  speed {row['kernel_speed_to_one']:5.2f}  "
        f"{'same bytes' if row['same_bytes'] else 'OTHER BYTES'}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", type=float, default=1.0, help="share of the work")
    parser.add_argument("--commands", default=",".join(COMMANDS))
    parser.add_argument("--devices", help="cases joined by +, the first the one to compare with; 1 … n GPUs by default")
    arguments = parser.parse_args()
    infos = list_devices() if arguments.devices != "cpu" else []
    counts = range(1, len(infos) + 1)
    devices = ["cuda:" + ",".join(str(info.index) for info in infos[:count]) for count in counts]
    devices = arguments.devices.split("+") if arguments.devices else [*devices, f"{devices[-1]},cpu"]
    facts = harness.machine(packages=("pycuda",), gpus=[info.name for info in infos])
    for command in arguments.commands.split(","):
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            words = COMMANDS[command](folder, arguments.work)
            cases = measure(words, devices, folder, arguments.rounds)
        for device, row in cases.items():
            show(command, device, row)
        results = {"command": command, "work": arguments.work, "cases": cases}
        harness.save(f"devices-{command}", facts, results)


if __name__ == "__main__":
    main()
