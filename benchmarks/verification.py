"""The verification loop alone, one thread, against edlib: 100-bp queries against 140-bp windows, k = 20.

    python benchmarks/verification.py [--pairs 100000] [--rounds 5]

edlib is called once a pair through its Python package. A call costs time whatever it aligns; that cost is measured on
one-base inputs, and figures are given with it (what a Python program gets) and with it taken off (the loop alone, in
edlib's favour: the one-base calls do a little alignment too). Ours is one call for all pairs, its packing of the
queries included. Distance and end alone (edlib's task "distance"; what `map` asks of every candidate) and with the
start as well (edlib's task "locations"; what `verify` prints) are timed each against its like. Distances are compared.
Seconds are of the thread's own computing, so that what else the machine does disturbs little.

Windows of two kinds: "near" hold the query with 0 to 20 edits, as a mapper's good candidates do; "random" do not hold
it, as its bad ones, where edlib may stop early and we do not.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import edlib
import harness
import numpy as np

from gpualign import _native
from gpualign.align.edit.cpu import MODES
from gpualign.text.references import read_reference

QUERY, WINDOW, K = 100, 140, 20


def mutate(bases: str, edits: int, rng: random.Random) -> str:
    """The bases after so many random substitutions, insertions and deletions."""
    changed = list(bases)
    for _ in range(edits):
        at = rng.randrange(len(changed))
        kind = rng.random()
        if kind < 0.6:
            changed[at] = rng.choice("ACGT")
        elif kind < 0.8:
            changed.insert(at, rng.choice("ACGT"))
        else:
            del changed[at]
    return "".join(changed)


def make_pairs(count: int, near: bool, seed: int) -> tuple[list[str], list[str]]:
    """Queries of QUERY bases and windows of WINDOW bases."""
    rng = random.Random(seed)
    windows = ["".join(rng.choices("ACGT", k=WINDOW)) for _ in range(count)]
    if not near:
        return ["".join(rng.choices("ACGT", k=QUERY)) for _ in range(count)], windows
    queries = []
    for window in windows:
        mutated = mutate(window[10 : 10 + QUERY + 10], rng.randint(0, K), rng)
        queries.append((mutated + "".join(rng.choices("ACGT", k=QUERY)))[:QUERY])
    return queries, windows


class Ours:
    """The windows packed one after another as a reference; the native loop in the calling thread."""

    def __init__(self, queries: list[str], windows: list[str], starts: bool) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            fasta = Path(scratch) / "windows.fa"
            fasta.write_text(">windows\n" + "".join(windows) + "\n")
            reference = read_reference(str(fasta))
        count = len(queries)
        begin = np.arange(count, dtype=np.uint32) * np.uint32(WINDOW)
        self._arguments = (
            reference.native,
            np.frombuffer("".join(queries).encode(), np.uint8),
            np.arange(count + 1, dtype=np.int64) * QUERY,
            np.arange(count, dtype=np.int32),
            begin,
            begin + np.uint32(WINDOW),
            np.zeros(count, np.uint8),
            np.full(count, K, np.int32),
            MODES["infix"],
            starts,
        )
        self.distances = np.zeros(0, np.int32)

    def __call__(self) -> None:
        self.distances, _, _ = _native.verify_pairs(*self._arguments)


class Edlib:
    def __init__(self, queries: list[str], windows: list[str], task: str = "distance") -> None:
        self._pairs = list(zip(queries, windows, strict=True))
        self._task = task
        self.distances = np.zeros(0, np.int32)

    def __call__(self) -> None:
        align, task = edlib.align, self._task
        found = [align(query, window, mode="HW", task=task, k=K)["editDistance"] for query, window in self._pairs]
        self.distances = np.array(found, np.int32)


def bench(kind: str, count: int, rounds: int) -> dict[str, Any]:
    queries, windows = make_pairs(count, kind == "near", seed=1)
    contenders = {
        "gpualign": Ours(queries, windows, starts=False),
        "gpualign_locations": Ours(queries, windows, starts=True),
        "edlib": Edlib(queries, windows),
        "edlib_locations": Edlib(queries, windows, "locations"),
        "edlib_call": Edlib(["A"] * count, ["A"] * count),
    }
    for contender in contenders.values():
        contender()
    ours, theirs = contenders["gpualign"].distances, contenders["edlib"].distances
    if not (ours == theirs).all():
        raise SystemExit(f"{kind}: distances differ for {(ours != theirs).sum()} of {count} pairs")
    gc.disable()
    cases = {
        name: lambda contender=contender: harness.seconds(contender, time.thread_time)
        for name, contender in contenders.items()
    }
    taken = harness.interleave(cases, rounds)
    gc.enable()
    rivals = {"edlib": "gpualign", "edlib_locations": "gpualign_locations"}
    for task, ours_of_task in list(rivals.items()):
        rivals[task + "_without_calls"] = ours_of_task
        calls = zip(taken[task], taken["edlib_call"], strict=True)
        taken[task + "_without_calls"] = [whole - call for whole, call in calls]
    row = {
        "pairs": count,
        "within_k_percent": round(100 * float((ours >= 0).mean()), 1),
        "pairs_per_s": {
            name: round(count / statistics.median(times)) for name, times in taken.items() if name != "edlib_call"
        },
        "edlib_call_ns": round(1e9 * statistics.median(taken["edlib_call"]) / count),
        "ratio_to": {name: harness.ratio(taken[ours_of_task], taken[name]) for name, ours_of_task in rivals.items()},
    }
    print(kind, {key: row[key] for key in ("pairs_per_s", "edlib_call_ns", "ratio_to")}, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"query": QUERY, "window": WINDOW, "k": K, "threads": 1}
    for kind in ("near", "random"):
        figures[kind] = bench(kind, arguments.pairs, arguments.rounds)
    harness.save("verification", harness.machine(packages=["edlib"]), figures)


if __name__ == "__main__":
    main()
