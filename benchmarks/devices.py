"""How a command's speed grows with the devices of one machine: 1 … n GPUs, and n GPUs beside the cores.

    python benchmarks/devices.py [--rounds 3] [--reads 400000] [--sequences 6000] [--commands pairwise,verify]

Needs gpualign[cuda] and one or more GPUs. Inputs are random with a fixed seed, so that nothing is fetched. Rounds are
interleaved; a case's speed is its ratio to one GPU within a round, then the median. Outputs are compared byte for byte.
"""

from __future__ import annotations

import argparse
import filecmp
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np

from gpualign.gpu.device import list_devices

LETTERS = np.frombuffer(b"ACGT", np.uint8)


def write_sequences(path: Path, prefix: str, sequences: list[Any]) -> None:
    with open(path, "wb") as out:
        for i, sequence in enumerate(sequences):
            out.write(f">{prefix}{i}\n".encode() + sequence.tobytes() + b"\n")


def mutated(sequence: Any, rate: float, random: np.random.Generator) -> Any:
    """A copy with substitutions."""
    copy = sequence.copy()
    places = random.random(len(copy)) < rate
    copy[places] = LETTERS[random.integers(0, 4, int(places.sum()))]
    return copy


def make_inputs(folder: Path, reads: int, sequences: int) -> dict[str, list[str | Path]]:
    """The commands, with their inputs written."""
    random = np.random.default_rng(11)
    reference = LETTERS[random.integers(0, 4, 1 << 24)]
    write_sequences(folder / "reference.fa", "chromosome", [reference])
    starts = random.integers(0, len(reference) - 400, reads)
    write_sequences(folder / "reads.fa", "r", [mutated(reference[s + 50 : s + 350], 0.03, random) for s in starts])
    with open(folder / "candidates.tsv", "w") as out:
        for i, start in enumerate(starts):
            for shift in (-20, 0, 20):
                out.write(f"r{i}\tchromosome0\t{max(1, start + 50 + shift)}\t{start + 350 + shift}\t+\n")
    family = LETTERS[random.integers(0, 4, 400)]
    write_sequences(folder / "family.fa", "s", [mutated(family, 0.2, random) for _ in range(sequences)])
    write_sequences(folder / "query.fa", "q", [reference[:2000]])
    return {
        "verify": ["verify", folder / "reference.fa", folder / "reads.fa", "-c", folder / "candidates.tsv"],
        "pairwise": ["pairwise", folder / "family.fa", "--score-only"],
        "lcs-filter": ["lcs-filter", "-q", folder / "query.fa", folder / "reads.fa", "-n", "100"],
    }


def measure(command: list[str | Path], devices: list[str], folder: Path, rounds: int) -> dict[str, Any]:
    program = [sys.executable, "-m", "gpualign", *command, "--quiet", "--device"]
    outputs = {device: folder / f"{device.replace(':', '-').replace(',', '-')}.out" for device in devices}
    cases = {device: partial(harness.run_timed, [*program, device], outputs[device]) for device in devices}
    timings = harness.interleave(cases, rounds)
    first = devices[0]
    return {
        device: harness.summary(runs)
        | {
            "speed_to_one": harness.ratio([t.wall_s for t in runs], [t.wall_s for t in timings[first]]),
            "same_bytes": filecmp.cmp(outputs[first], outputs[device], shallow=False),
        }
        for device, runs in timings.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--reads", type=int, default=400_000)
    parser.add_argument("--sequences", type=int, default=6000)
    parser.add_argument("--commands", default="pairwise,lcs-filter,verify")
    arguments = parser.parse_args()
    infos = list_devices()
    devices = ["cuda:" + ",".join(str(i) for i in range(count)) for count in range(1, len(infos) + 1)]
    devices.append(devices[-1] + ",cpu")
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = make_inputs(folder, arguments.reads, arguments.sequences)
        for command in arguments.commands.split(","):
            figures[command] = measure(every[command], devices, folder, arguments.rounds)
            for device, row in figures[command].items():
                same = "same bytes" if row["same_bytes"] else "OTHER BYTES"
                print(f"{command:<11} {device:<20} {row['wall_s']:8.2f} s  speed {row['speed_to_one']:.2f}  {same}")
    facts = harness.machine(packages=("pycuda",), gpus=[info.name for info in infos])
    harness.save("devices", facts, {"commands": figures}, harness.slug(infos[0].name))


if __name__ == "__main__":
    main()
