"""`distances` and `scores` against StringZillas on the same GPU: n x n numbers from memory to memory in one call.

    pip install stringzillas-cuda
    python benchmarks/gpu_peers.py [--rounds 5]

Both get the same random sequences in host memory, as an array and as StringZilla's Strs, and give n x n numbers in host
memory; the clock stops when they are there, so copies count on both sides (StringZillas has no other clock), and what
prepares its Strs does not. Kernels are gpualign's alone, by the device's clock. CUPS are cells (query length x target
length x pairs) a second. Every number is compared.
"""

from __future__ import annotations

import argparse
import statistics
from functools import partial
from typing import Any

import numpy as np
from harness import gpu_names, interleave, machine, save, seconds

from gpualign import distances, scores
from gpualign.align.matrix.device.session import backend_for
from gpualign.align.matrix.tuning import KERNELS
from gpualign.params import RunOptions
from gpualign.run.select import Work

LETTERS = np.frombuffer(b"ACGT", np.uint8)
#: length, sequences on either side
DISTANCES = ((100, 4096), (150, 4096), (256, 2048), (1000, 1024))
SCORES = ((100, 2048), (256, 2048), (1000, 768), (1536, 512))
MATCH, MISMATCH, GAP = 5, -4, 10
DEVICE = "cuda:0"


class Peer:
    """StringZillas on the first GPU."""

    def __init__(self) -> None:
        import stringzilla
        import stringzillas

        self.strings = stringzilla.Strs
        self.scope = stringzillas.DeviceScope(gpu_device=0)
        self.distances = stringzillas.LevenshteinDistances(capabilities=self.scope)
        classes, costs = np.zeros(256, np.uint8), np.full((32, 32), MISMATCH, np.int8)
        for number, base in enumerate(b"ACGT"):
            classes[base] = number
            costs[number, number] = MATCH
        self.scores = stringzillas.NeedlemanWunschScores(
            classes, costs, open=-GAP, extend=-GAP, capabilities=self.scope
        )

    def prepared(self, rows: np.ndarray) -> Any:
        return self.strings([row.tobytes().decode() for row in rows])


def kernel_seconds() -> float:
    """Of all calls so far, on the device that they leave open."""
    (device,) = backend_for(RunOptions(device=DEVICE), Work.of(KERNELS, None)).devices
    return float(device.timeline.summary()["kernel_s"])


def row(work: str, length: int, n: int, rounds: int, peer: Peer, rng: np.random.Generator) -> dict[str, Any]:
    """Both once to warm up and to compare, then in turns."""
    a, b = (LETTERS[rng.integers(0, 4, (n, length), dtype=np.uint8)] for _ in range(2))
    if work == "edit distances":
        ours, theirs = partial(distances, a, b, device=DEVICE), peer.distances
    else:
        ours = partial(scores, a, b, match=MATCH, mismatch=MISMATCH, gap_open=GAP, device=DEVICE)
        theirs = peer.scores
    calls = {"gpualign": ours, "stringzillas": partial(theirs, peer.prepared(a), peer.prepared(b), device=peer.scope)}
    found, expected = (np.asarray(call()).reshape(-1) for call in calls.values())
    before = kernel_seconds()
    times = interleave({name: partial(seconds, call) for name, call in calls.items()}, rounds)
    kernel = (kernel_seconds() - before) / rounds
    tcups = {name: length**2 * n**2 / statistics.median(each) / 1e12 for name, each in times.items()}
    return {
        "work": work,
        "length": length,
        "pairs": n * n,
        "gpualign_tcups": round(tcups["gpualign"], 2),
        "stringzillas_tcups": round(tcups["stringzillas"], 2),
        "times": round(tcups["gpualign"] / tcups["stringzillas"], 2),
        "gpualign_kernel_tcups": round(length**2 * n**2 / kernel / 1e12, 2),
        "equal": bool(np.array_equal(found, expected)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    rng, peer, table = np.random.default_rng(3), Peer(), []
    for work, sizes in (("edit distances", DISTANCES), ("Needleman-Wunsch scores, linear gaps", SCORES)):
        for length, n in sizes:
            table.append(row(work, length, n, rounds, peer, rng))
            print(table[-1], flush=True)
    facts = machine(packages=("pycuda", "stringzillas-cuda"), gpus=gpu_names())
    save("gpu-peers", facts, {"rounds": rounds, "rows": table})


if __name__ == "__main__":
    main()
