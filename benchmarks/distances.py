"""Distances and scores of all pairs, and of long pairs, on the CPU or a GPU, against RapidFuzz, edlib and StringZillas.

    python benchmarks/distances.py [--device cpu|cuda:0] [--rounds 3] [--threads 2]

All pairs: random DNA, every second target a query with 5 % errors; sequences in memory, an int32 matrix in the host's
memory out. On the CPU str in, against RapidFuzz's cdist with as many threads and a loop over edlib, a call a pair, as
it is used from Python; on a GPU prepared sequences, against StringZillas where it is there. Within a limit: pairs a
second.
One pair, and on a GPU many at once: 5 % errors, no limit, against edlib on one core. Seconds are of the processor on
the
CPU, so of all its threads, and of the clock on a GPU. Distances are compared with the peer's, on a GPU the first rows
with the CPU's. CUPS are cells (query length x target length x pairs) a second. Results: distances-cpu and
distances-devices.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from gpu_peers import Peer
from harness import gpu_names, interleave, machine, ratio, save, seconds, slug

from gpualign import distances, scores
from gpualign.distances.device.session import close_devices
from gpualign.distances.symbols import symbols_of
from gpualign.engine.gpu.device import list_devices

LETTERS = np.frombuffer(b"ACGT", np.uint8)
RATE = 0.05
SCHEME: dict[str, Any] = {"match": 5, "mismatch": -4, "gap_open": 10}
#: length, sequences on either side: on the CPU, and on a GPU of distances and of scores
CPU_SIZES = ((32, 1500), (100, 1000), (150, 800), (256, 600), (1000, 250))
DISTANCES = ((100, 16384), (150, 16384), (256, 8192), (1000, 4096))
SCORES = ((100, 8192), (256, 4096), (1000, 2048))
WITHIN = (150, 100_000)
#: of edlib's loop, and of StringZillas
LOOPED, PEER_ROWS = 40, 4096
#: length, sequences on either side
PAIRS = ((10_000, 1), (100_000, 1), (1_000_000, 1))
BATCHES = ((10_000, 32), (100_000, 8))
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


def taken(
    cases: dict[str, Call], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each round, after a call of each to warm up."""
    for call in cases.values():
        call()
    return interleave({name: lambda call=call: seconds(call, clock) for name, call in cases.items()}, rounds)


def edlib_loop(texts: Sequence[str], others: Sequence[str]) -> list[list[int]]:
    import edlib

    return [[edlib.align(a, b, mode="NW", task="distance")["editDistance"] for b in others] for a in texts]


def rates(times: dict[str, list[float]], cells: dict[str, float], unit: float, name: str) -> dict[str, float]:
    """Cells, or pairs, a second."""
    return {f"{who}_{name}": round(cells[who] / statistics.median(times[who]) / unit, 2) for who in times}


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
    times = taken(cases, rounds, time.process_time)
    looped = len(a) * len(b) / LOOPED**2
    cells = dict.fromkeys(cases, float(length) ** 2 * len(a) * len(b))
    times = {name: [value * (looped if name == "edlib_loop" else 1) for value in each] for name, each in times.items()}
    return shown(
        {
            "work": work,
            "length": length,
            "pairs": len(a) * len(b),
            "equal": bool(np.array_equal(found, expected)),
            **rates(times, cells, 1e9, "gcups"),
            **{f"vs_{name}": ratio(times["gpualign"], times[name]) for name in times if name != "gpualign"},
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
    times = taken({"gpualign": ours, "parasail_loop": loop}, rounds, time.process_time)
    times["parasail_loop"] = [value * len(a) * len(b) / LOOPED**2 for value in times["parasail_loop"]]
    cells = dict.fromkeys(times, float(length) ** 2 * len(a) * len(b))
    row = {"work": "Needleman-Wunsch scores, linear gaps", "length": length, "pairs": len(a) * len(b), "equal": equal}
    vs = ratio(times["gpualign"], times["parasail_loop"])
    return shown({**row, **rates(times, cells, 1e9, "gcups"), "vs_parasail_loop": vs})


def cpu_rows(rng: np.random.Generator, rounds: int, threads: int) -> list[dict[str, Any]]:
    table = []
    for length, n in CPU_SIZES:
        a, b = related(rng, n, length)
        for work in ("Levenshtein", "indel", "LCS", "within 5 %"):
            table.append(cpu_row(work, a, b, rounds, threads))
        table.append(cpu_scores_row(a, b, rounds, threads))
    return table


# -- all pairs on a GPU


class PeerOfRows(Peer):
    def call(self, texts: list[str], others: list[str]) -> Call:
        a, b = self.strings(texts[:PEER_ROWS]), self.strings(others[:PEER_ROWS])
        return lambda: self.distances(a, b, device=self.scope)


def peer() -> PeerOfRows | None:
    try:
        return PeerOfRows()
    except ImportError:
        return None


def gpu_row(
    work: str,
    call: Callable[..., Any],
    length: int,
    texts: tuple[list[str], list[str]],
    rounds: int,
    other: Call | None,
) -> dict[str, Any]:
    a, b = map(symbols_of, texts)
    n = len(a)
    out = np.zeros((n, n), np.int32)
    cases: dict[str, Call] = {"gpualign": partial(call, a, b), "gpualign_out": partial(call, a, b, out=out)}
    if other is not None:
        cases["stringzillas"] = other
    times = taken(cases, rounds)
    cells = dict.fromkeys(cases, float(length) ** 2 * n * n)
    cells["stringzillas"] = float(length) ** 2 * min(n, PEER_ROWS) ** 2
    equal = bool(np.array_equal(out[:8], call(texts[0][:8], b, device="cpu")))
    row = {"work": work, "length": length, "pairs": n * n, **rates(times, cells, 1e12, "tcups"), "equal": equal}
    return shown({**row, "slowest_tcups": round(cells["gpualign"] / max(times["gpualign_out"]) / 1e12, 2)})


def gpu_rows(rng: np.random.Generator, device: str, rounds: int) -> list[dict[str, Any]]:
    table, other = [], peer()
    for length, n in DISTANCES:
        texts = random_texts(rng, n, length), random_texts(rng, n, length)
        call = partial(_on, distances, device)
        table.append(gpu_row("edit distances", call, length, texts, rounds, other and other.call(*texts)))
    for length, n in SCORES:
        texts = random_texts(rng, n, length), random_texts(rng, n, length)
        call = partial(_on, partial(scores, **SCHEME), device)
        table.append(gpu_row("Needleman-Wunsch scores, linear gaps", call, length, texts, rounds, None))
    length, n = WITHIN
    texts = random_texts(rng, n, length), random_texts(rng, n, length)
    for i in range(0, n, 10):
        texts[1][i] = with_errors(rng, texts[0][i], 0.03)
    a, b = map(symbols_of, texts)
    near = partial(_on, distances, device, a, error_rate=RATE, sparse=True)
    found, expected = near(b), near(texts[1][:1000], device="cpu")
    times = taken({"gpualign": partial(near, b)}, rounds)
    row = {"work": "pairs within a limit", "length": length, "rate": RATE, "pairs": n * n, "found": len(found)}
    equal = bool(np.array_equal(found.value[found.target < 1000], expected.value))
    table.append(shown({**row, **rates(times, {"gpualign": float(n) ** 2}, 1e9, "gpairs_per_s"), "equal": equal}))
    return table


def _on(function: Callable[..., Any], device: str, *sets: Any, **more: Any) -> Any:
    return function(*sets, **{"device": device, **more})


# -- long pairs


def pair_row(rng: np.random.Generator, length: int, count: int, device: str, rounds: int) -> dict[str, Any]:
    """``count`` x ``count`` copies of one sequence, whose errors are 5 % of it in each pair."""
    (ancestor,) = random_texts(rng, 1, length)
    a, b = ([with_errors(rng, ancestor, RATE / 2) for _ in range(count)] for _ in range(2))
    ours = partial(distances, a, b, device=device, threads=1)
    found, expected = int(ours()[0, 0]), edlib_loop(a[:1], b[:1])[0][0]
    # so that a case takes some hundredths of a second
    repeats = max(1, 200_000 // (length * count**2))
    cases: dict[str, Call] = {
        "gpualign": lambda: [ours() for _ in range(repeats)],
        "edlib": lambda: [edlib_loop(a[:1], b[:1]) for _ in range(repeats)],
    }
    times = taken(cases, rounds, time.process_time if device == "cpu" else time.perf_counter)
    each = {"gpualign": repeats * count**2, "edlib": repeats}
    times = {name: [value / each[name] for value in values] for name, values in times.items()}
    row = {"work": "long pairs", "length": length, "pairs": count**2, "distance": found, "equal": found == expected}
    took = {f"{name}_ms_a_pair": round(statistics.median(values) * 1e3, 4) for name, values in times.items()}
    return shown({**row, **took, "vs_edlib": ratio(times["gpualign"], times["edlib"])})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    rng, device, rounds = np.random.default_rng(11), arguments.device, arguments.rounds
    figures: dict[str, Any] = {"rounds": rounds, "threads": arguments.threads}
    if device == "cpu":
        rows = cpu_rows(rng, rounds, arguments.threads)
        rows += [pair_row(rng, *size, device, rounds) for size in PAIRS]
        save("distances-cpu", machine(packages=("rapidfuzz", "edlib", "parasail")), {**figures, "rows": rows})
        return
    rows = gpu_rows(rng, device, rounds)
    rows += [pair_row(rng, *size, device, rounds) for size in PAIRS + BATCHES]
    close_devices()
    facts = machine(packages=("pycuda", "stringzillas-cuda", "edlib"), gpus=gpu_names())
    save("distances-devices", facts, {**figures, "rows": rows}, slug(list_devices()[0].name))


if __name__ == "__main__":
    main()
