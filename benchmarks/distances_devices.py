"""All pairs of two sets on a GPU, whole calls of the Python functions, beside StringZillas where it is there.

    python benchmarks/distances_devices.py [--rounds 3] [--cuda N]

Both get prepared sequences in memory and give n x n numbers in the host's memory; the clock stops when they are there.
CUPS are cells (query length x target length x pairs) a second. Within a limit it is pairs a second, of two sets of
reads of which a share are copies with errors. The first rows, and the pairs of the first targets, are the CPU's.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import gpu_names, interleave, machine, save, seconds, slug

from gpualign import distances, scores
from gpualign.distances.device.session import close_devices
from gpualign.distances.symbols import SymbolSet, symbols_of
from gpualign.engine.gpu.device import list_devices

LETTERS = np.frombuffer(b"ACGT", np.uint8)
#: length, sequences on either side
DISTANCES = ((100, 16384), (150, 16384), (256, 8192), (1000, 4096))
SCORES = ((100, 8192), (256, 4096), (1000, 2048))
WITHIN = ((150, 100_000, 0.05),)
SCHEME: dict[str, Any] = {"match": 5, "mismatch": -4, "gap_open": 10}


def random_rows(rng: np.random.Generator, count: int, length: int) -> np.ndarray:
    return LETTERS[rng.integers(0, 4, (count, length), dtype=np.uint8)]


def reads_of(rng: np.random.Generator, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Reads, and as many of which every tenth is a copy of one of them with up to six substitutions."""
    reads, others = random_rows(rng, count, length), random_rows(rng, count, length)
    copies = rng.integers(0, count, count // 10)
    others[: len(copies)] = reads[copies]
    places = rng.integers(0, length, (len(copies), 6))
    others[np.arange(len(copies))[:, None], places] = LETTERS[rng.integers(0, 4, places.shape)]
    return reads, others


class Peer:
    """StringZillas on the first GPU."""

    def __init__(self) -> None:
        import stringzilla
        import stringzillas

        self.strings = stringzilla.Strs
        self.scope = stringzillas.DeviceScope(gpu_device=0)
        self.distances = stringzillas.LevenshteinDistances(capabilities=self.scope)

    def call(self, texts: np.ndarray, others: np.ndarray) -> Callable[[], Any]:
        a, b = (self.strings([row.tobytes().decode() for row in rows]) for rows in (texts, others))
        return lambda: self.distances(a, b, device=self.scope)


def peer() -> Peer | None:
    try:
        return Peer()
    except ImportError:
        return None


def timed(cases: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, after one call to warm up."""
    for call in cases.values():
        call()
    turns = interleave({name: lambda call=call: seconds(call) for name, call in cases.items()}, rounds)
    return {name: statistics.median(values) for name, values in turns.items()}


def checked(rows: SymbolSet, columns: SymbolSet, found: Any, call: Callable[..., Any]) -> bool:
    """Whether the first rows are the CPU's."""
    some = SymbolSet(rows.symbols[: rows.offsets[8]], rows.offsets[:9])
    return bool(np.array_equal(np.asarray(found)[:8], call(some, columns, device="cpu")))


def matrix_rows(rng: np.random.Generator, device: str, rounds: int, other: Peer | None) -> list[dict[str, Any]]:
    table = []
    for work, sizes, call in (
        ("edit distances", DISTANCES, distances),
        ("Needleman-Wunsch scores, linear gaps", SCORES, lambda *a, **more: scores(*a, **SCHEME, **more)),
    ):
        for length, n in sizes:
            texts, others = random_rows(rng, n, length), random_rows(rng, n, length)
            a, b = symbols_of(texts), symbols_of(others)
            out = np.zeros((n, n), np.int32)
            cases: dict[str, Callable[[], Any]] = {
                "gpualign": lambda a=a, b=b, call=call: call(a, b, device=device),
                "gpualign_out": lambda a=a, b=b, call=call, out=out: call(a, b, device=device, out=out),
            }
            if other is not None and work == "edit distances":
                cases["stringzillas"] = other.call(texts[:4096], others[:4096])
            taken = timed(cases, rounds)
            row: dict[str, Any] = {"work": work, "length": length, "pairs": n * n}
            for name, value in taken.items():
                pairs = n * n if name != "stringzillas" else min(n, 4096) ** 2
                row[f"{name}_tcups"] = round(length**2 * pairs / value / 1e12, 2)
            row["equal"] = checked(a, b, out, call)
            table.append(row)
            print(row, flush=True)
    return table


def within_rows(rng: np.random.Generator, device: str, rounds: int) -> list[dict[str, Any]]:
    table = []
    for length, n, rate in WITHIN:
        a, b = (symbols_of(rows) for rows in reads_of(rng, n, length))

        def call(a: SymbolSet = a, b: SymbolSet = b, rate: float = rate) -> Any:
            return distances(a, b, error_rate=rate, sparse=True, device=device)

        found, taken = call(), timed({"gpualign": call}, rounds)
        some = SymbolSet(b.symbols[: b.offsets[2000]], b.offsets[:2001])
        expected: Any = distances(a, some, error_rate=rate, sparse=True, device="cpu")
        near = found.target < 2000
        row = {
            "work": "pairs within a limit",
            "length": length,
            "rate": rate,
            "pairs": n * n,
            "found": len(found),
            "gpairs_per_s": round(n * n / taken["gpualign"] / 1e9, 2),
            "equal": bool(np.array_equal(found.value[near], expected.value)),
        }
        table.append(row)
        print(row, flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cuda", type=int, default=0)
    arguments = parser.parse_args()
    rng, device = np.random.default_rng(3), f"cuda:{arguments.cuda}"
    table = matrix_rows(rng, device, arguments.rounds, peer())
    table += within_rows(rng, device, arguments.rounds)
    close_devices()
    facts = machine(packages=("pycuda", "stringzillas-cuda"), gpus=gpu_names())
    save("distances-devices", facts, {"rounds": arguments.rounds, "rows": table}, slug(list_devices()[0].name))


if __name__ == "__main__":
    main()
