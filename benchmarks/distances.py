"""Distances and scores of all pairs, and of long pairs, on the CPU, against RapidFuzz, edlib and parasail.

    python benchmarks/distances.py [--rounds 3] [--threads 2]

All pairs: random DNA, every second target a query with 5 % errors; str in, an int32 matrix out, against RapidFuzz's
cdist with as many threads and loops over edlib and parasail, a call a pair, as they are used from Python. One pair: 5 %
errors, no limit, against edlib on one core. Seconds are of the processor, so of all threads. Distances are compared
with the peer's. CUPS are cells (query length x target length x pairs) a second. Result: distances-cpu-<machine>.json.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from harness import interleave, machine, save, seconds

from gpualign import distances, scores

LETTERS = np.frombuffer(b"ACGT", np.uint8)
RATE = 0.05
SCHEME: dict[str, Any] = {"match": 5, "mismatch": -4, "gap_open": 10}
#: length, sequences on either side
SIZES = ((32, 1500), (100, 1000), (150, 800), (256, 600), (1000, 250))
#: sequences on either side in the loops over edlib and parasail
LOOPED = 40
LONG = (10_000, 100_000, 1_000_000)
Call = Callable[[], Any]


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


def related(rng: np.random.Generator, count: int, length: int) -> tuple[list[str], list[str]]:
    a, b = random_texts(rng, count, length), random_texts(rng, count, length)
    b[::2] = [with_errors(rng, text, RATE) for text in a[::2]]
    return a, b


def taken(cases: dict[str, Call], rounds: int) -> dict[str, list[float]]:
    """Seconds of the processor in each round, after a call of each to warm up."""
    for call in cases.values():
        call()
    timed = {name: lambda call=call: seconds(call, time.process_time) for name, call in cases.items()}
    return interleave(timed, rounds)


def edlib_loop(texts: Sequence[str], others: Sequence[str]) -> list[list[int]]:
    import edlib

    return [[edlib.align(a, b, mode="NW", task="distance")["editDistance"] for b in others] for a in texts]


def rates(times: dict[str, list[float]], cells: float) -> dict[str, float]:
    return {f"{who}_gcups": round(cells / statistics.median(times[who]) / 1e9, 2) for who in times}


def shown(row: dict[str, Any]) -> dict[str, Any]:
    print(row, flush=True)
    return row


# -- all pairs on the CPU


def cpu_row(work: str, a: list[str], b: list[str], rounds: int, threads: int) -> dict[str, Any]:
    from rapidfuzz.distance import Indel, LCSseq, Levenshtein
    from rapidfuzz.process import cdist

    length, limit = len(a[0]), int(RATE * len(a[0]))
    mine: dict[str, Any] = {"device": "cpu", "threads": threads}
    peer = partial(cdist, a, b, workers=threads, dtype=np.int32)
    ours, theirs = {
        "Levenshtein": (partial(distances, a, b, **mine), partial(peer, scorer=Levenshtein.distance)),
        "indel": (partial(distances, a, b, mode="indel", **mine), partial(peer, scorer=Indel.distance)),
        "LCS": (partial(scores, a, b, mode="lcs", **mine), partial(peer, scorer=LCSseq.similarity)),
        "within 5 %": (
            partial(distances, a, b, max_errors=limit, **mine),
            partial(peer, scorer=Levenshtein.distance, score_cutoff=limit),
        ),
    }[work]
    found, expected = np.asarray(ours()), theirs()
    if work == "within 5 %":
        expected = np.where(expected > limit, -1, expected)
    cases: dict[str, Call] = {"gpualign": ours, "rapidfuzz": theirs}
    if work == "Levenshtein":
        cases["edlib_loop"] = partial(edlib_loop, a[:LOOPED], b[:LOOPED])
    times = taken(cases, rounds)
    looped = len(a) * len(b) / LOOPED**2
    cells = float(length) ** 2 * len(a) * len(b)
    times = {name: [value * (looped if name == "edlib_loop" else 1) for value in each] for name, each in times.items()}
    return shown(
        {
            "work": work,
            "length": length,
            "pairs": len(a) * len(b),
            "equal": bool(np.array_equal(found, expected)),
            **rates(times, cells),
        }
    )


def cpu_scores_row(a: list[str], b: list[str], rounds: int, threads: int) -> dict[str, Any]:
    """Needleman-Wunsch with linear gaps, against parasail, a call a pair (its striped kernels differ in some
    scores)."""
    import parasail

    length, matrix = len(a[0]), parasail.matrix_create("ACGT", SCHEME["match"], SCHEME["mismatch"])
    gap = SCHEME["gap_open"]

    def loop() -> list[list[int]]:
        return [[parasail.nw_scan_sat(q, t, gap, gap, matrix).score for t in b[:LOOPED]] for q in a[:LOOPED]]

    ours = partial(scores, a, b, device="cpu", threads=threads, **SCHEME)
    equal = bool(np.array_equal(np.asarray(ours())[:LOOPED, :LOOPED], loop()))
    times = taken({"gpualign": ours, "parasail_loop": loop}, rounds)
    times["parasail_loop"] = [value * len(a) * len(b) / LOOPED**2 for value in times["parasail_loop"]]
    row = {"work": "Needleman-Wunsch scores, linear gaps", "length": length, "pairs": len(a) * len(b), "equal": equal}
    return shown({**row, **rates(times, float(length) ** 2 * len(a) * len(b))})


def cpu_rows(rng: np.random.Generator, rounds: int, threads: int) -> list[dict[str, Any]]:
    table = []
    for length, n in SIZES:
        a, b = related(rng, n, length)
        for work in ("Levenshtein", "indel", "LCS", "within 5 %"):
            table.append(cpu_row(work, a, b, rounds, threads))
        table.append(cpu_scores_row(a, b, rounds, threads))
    return table


# -- long pairs


def pair_row(rng: np.random.Generator, length: int, rounds: int) -> dict[str, Any]:
    """Two copies of one sequence, with errors in 5 % of it."""
    (ancestor,) = random_texts(rng, 1, length)
    a, b = ([with_errors(rng, ancestor, RATE / 2)] for _ in range(2))
    ours = partial(distances, a, b, device="cpu", threads=1)
    found, expected = int(ours()[0, 0]), edlib_loop(a, b)[0][0]
    repeats = max(1, 200_000 // length)  # so that a case takes some hundredths of a second
    cases: dict[str, Call] = {
        "gpualign": lambda: [ours() for _ in range(repeats)],
        "edlib": lambda: [edlib_loop(a, b) for _ in range(repeats)],
    }
    times = taken(cases, rounds)
    row = {"work": "long pairs", "length": length, "pairs": 1, "distance": found, "equal": found == expected}
    took = {f"{name}_ms_a_pair": round(statistics.median(times[name]) * 1e3 / repeats, 4) for name in times}
    return shown(row | took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    rng = np.random.default_rng(11)
    rows = cpu_rows(rng, arguments.rounds, arguments.threads)
    rows += [pair_row(rng, length, arguments.rounds) for length in LONG]
    facts = machine(packages=("rapidfuzz", "edlib", "parasail"))
    save("distances-cpu", facts, {"rounds": arguments.rounds, "threads": arguments.threads, "rows": rows})


if __name__ == "__main__":
    main()
