"""Distances on the CPU: all pairs beside RapidFuzz's cdist and a loop over edlib, and one long pair beside edlib.

    python benchmarks/distances.py [--rounds 3] [--threads 2]

All pairs: random DNA, every second target a query with 5 % errors; str in, an int32 matrix out, the same threads;
edlib has one thread and a call a pair, as it is used from Python. Within a limit: 5 % errors, RapidFuzz with
score_cutoff. One pair: 5 % errors, no limit, one thread, processor time. Every distance is compared. CUPS are cells
(query length x target length x pairs) a second.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import edlib
import numpy as np
from harness import interleave, machine, ratio, save, seconds
from rapidfuzz.distance import Indel, LCSseq, Levenshtein
from rapidfuzz.process import cdist

from gpualign import distances, scores

LETTERS = np.frombuffer(b"ACGT", np.uint8)
#: length, sequences on either side
SIZES = ((32, 3000), (100, 1500), (150, 1200), (256, 800), (1000, 300))
LOOPED = 40
PAIRS = (10_000, 100_000, 1_000_000)
RATE = 0.05


def random_texts(rng: np.random.Generator, count: int, length: int) -> list[str]:
    return [row.tobytes().decode() for row in LETTERS[rng.integers(0, 4, (count, length))]]


def with_errors(rng: np.random.Generator, text: str, rate: float) -> str:
    """Substitutions, insertions and deletions, a third of ``rate`` each."""
    codes, kind = np.frombuffer(text.encode(), np.uint8).copy(), rng.random(len(text))
    changed = kind < rate / 3
    codes[changed] = LETTERS[rng.integers(0, 4, int(changed.sum()))]
    copies = np.ones(len(text), np.int64)
    copies[(kind >= rate / 3) & (kind < 2 * rate / 3)] = 0
    copies[(kind >= 2 * rate / 3) & (kind < rate)] = 2
    return np.repeat(codes, copies).tobytes().decode()


def taken(cases: dict[str, Callable[[], Any]], rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Seconds of each round, after a call of each to warm up."""
    for call in cases.values():
        call()
    return interleave({name: lambda call=call: seconds(call, clock) for name, call in cases.items()}, rounds)


def edlib_loop(texts: list[str], others: list[str]) -> list[list[int]]:
    return [[edlib.align(a, b, mode="NW", task="distance")["editDistance"] for b in others] for a in texts]


def works(
    a: list[str], b: list[str], limit: int, threads: int
) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Ours and RapidFuzz's."""

    def peer(scorer: Any, **more: Any) -> Any:
        return cdist(a, b, scorer=scorer, workers=threads, dtype=np.int32, **more)

    ours: dict[str, Any] = {"device": "cpu", "threads": threads}
    return {
        "Levenshtein": (lambda: distances(a, b, **ours), lambda: peer(Levenshtein.distance)),
        "indel": (lambda: distances(a, b, mode="indel", **ours), lambda: peer(Indel.distance)),
        "LCS": (lambda: scores(a, b, mode="lcs", **ours), lambda: peer(LCSseq.similarity)),
        "within 5 %": (
            lambda: distances(a, b, max_errors=limit, **ours),
            lambda: peer(Levenshtein.distance, score_cutoff=limit),
        ),
    }


def matrix_row(work: str, a: list[str], b: list[str], rounds: int, threads: int) -> dict[str, Any]:
    length, limit = len(a[0]), int(RATE * len(a[0]))
    ours, theirs = works(a, b, limit, threads)[work]
    found, expected = np.asarray(ours()), theirs()
    if work == "within 5 %":
        expected = np.where(expected > limit, -1, expected)
    cases = {"gpualign": ours, "rapidfuzz": theirs}
    if work == "Levenshtein":
        cases["edlib"] = lambda: edlib_loop(a[:LOOPED], b[:LOOPED])
    times = taken(cases, rounds, time.perf_counter)
    row: dict[str, Any] = {"work": work, "length": length, "pairs": len(a) * len(b)}
    row["equal"] = bool(np.array_equal(found, expected))
    for name in ("gpualign", "rapidfuzz"):
        cells = float(length) ** 2 * len(a) * len(b)
        row[f"{name}_gcups"] = round(cells / statistics.median(times[name]) / 1e9, 1)
    row["vs_rapidfuzz"] = ratio(times["gpualign"], times["rapidfuzz"])
    if "edlib" in times:
        share = len(a) * len(b) / LOOPED**2
        row["vs_edlib_loop"] = ratio(times["gpualign"], [value * share for value in times["edlib"]])
    print(row, flush=True)
    return row


def matrix_rows(rng: np.random.Generator, rounds: int, threads: int) -> list[dict[str, Any]]:
    table = []
    for length, n in SIZES:
        a, b = random_texts(rng, n, length), random_texts(rng, n, length)
        b[::2] = [with_errors(rng, text, RATE) for text in a[::2]]
        table += [matrix_row(work, a, b, rounds, threads) for work in works(a, b, 0, threads)]
    return table


def pair_rows(rng: np.random.Generator, rounds: int) -> list[dict[str, Any]]:
    table = []
    for length in PAIRS:
        (a,) = random_texts(rng, 1, length)
        b = with_errors(rng, a, RATE)
        cases = {
            "gpualign": lambda a=a, b=b: int(distances([a], [b], device="cpu", threads=1)[0, 0]),
            "edlib": lambda a=a, b=b: edlib.align(a, b, mode="NW", task="distance")["editDistance"],
        }
        found = {name: call() for name, call in cases.items()}
        repeats = max(1, 200_000 // length)
        often = {name: lambda call=call, r=repeats: [call() for _ in range(r)] for name, call in cases.items()}
        times = taken(often, rounds, time.process_time)
        row = {
            "work": "one pair",
            "length": length,
            "distance": found["gpualign"],
            "equal": found["gpualign"] == found["edlib"],
            **{f"{name}_ms": round(statistics.median(values) / repeats * 1e3, 4) for name, values in times.items()},
            "vs_edlib": ratio(times["gpualign"], times["edlib"]),
        }
        table.append(row)
        print(row, flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    rng = np.random.default_rng(11)
    table = matrix_rows(rng, arguments.rounds, arguments.threads) + pair_rows(rng, arguments.rounds)
    facts = machine(packages=("rapidfuzz", "edlib"))
    save("distances-cpu", facts, {"rounds": arguments.rounds, "threads": arguments.threads, "rows": table})


if __name__ == "__main__":
    main()
