"""The kernels of verify and pairwise against StringZillas on the same GPU: n x n distances and scores.

    pip install stringzillas-cuda
    python benchmarks/gpu_peers.py [--rounds 3]

Both get the same random sequences in memory and give n x n numbers in memory; the clock stops when they are there, so
copies count on both sides (StringZillas has no other clock), and preparing sequences on neither. CUPS are cells (query
length x target length x pairs) a second. Every distance and score is compared.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import numpy as np
from harness import gpu_names, interleave, machine, save, seconds

from gpualign import _native
from gpualign.engine.cuda import CudaBackend
from gpualign.engine.gpu.device import list_devices
from gpualign.engine.stage import Stage
from gpualign.pairwise.cpu import PairProblem
from gpualign.pairwise.stage import pairwise_stage
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.matrices import match_mismatch
from gpualign.sequences.pairs import PairBlock
from gpualign.sequences.reference import Reference
from gpualign.verify.cpu import MODES, VerifyPairs
from gpualign.verify.stage import STAGE, planned

LETTERS = np.frombuffer(b"ACGT", np.uint8)
#: length, sequences on either side
DISTANCES = ((100, 4096), (150, 4096), (256, 2048), (1000, 1024))
SCORES = ((100, 2048), (256, 2048), (1000, 768), (1536, 512))
MATCH, MISMATCH, GAP = 5, -4, 10


def distance_pairs(texts: np.ndarray, others: np.ndarray) -> VerifyPairs:
    """Every row of ``texts`` (n, length) against every row of ``others``, end to end and without a limit."""
    n, length = texts.shape
    packer = _native.ReferencePacker()
    packer.append(np.ascontiguousarray(others.reshape(-1)))
    reference = Reference(["others"], np.array([0, others.size], np.int64), *packer.finish())
    begin = np.tile(np.arange(len(others), dtype=np.uint32) * np.uint32(length), n)
    return VerifyPairs(
        reference,
        texts.reshape(-1),
        np.arange(n + 1, dtype=np.int64) * length,
        np.full(n, length, np.int32),
        np.repeat(np.arange(n, dtype=np.int32), len(others)),
        begin,
        begin + np.uint32(length),
        np.zeros(len(begin), np.uint8),
        MODES["global"],
    )


def score_problem(texts: np.ndarray, others: np.ndarray) -> tuple[PairProblem, PairBlock]:
    scoring = match_mismatch(MATCH, MISMATCH)
    sides = [
        encode([SequenceBatch.from_records([(str(i), row.tobytes().decode()) for i, row in enumerate(rows)])], scoring)
        for rows in (texts, others)
    ]
    problem = PairProblem(
        (sides[0],), sides[1], scoring, GAP, GAP, "global", (False,) * 4, traced=False, identity=None, definition=1,
        table_bytes=1 << 26,
    )  # fmt: skip
    first = np.repeat(np.arange(len(texts), dtype=np.int32), len(others))
    return problem, PairBlock(first, np.tile(np.arange(len(others), dtype=np.int32), len(texts)))


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


def compare(backend: CudaBackend, item: Any, stage: Stage[Any, Any], peer_call: Any, field: str, rounds: int) -> dict:
    """Both once to warm up and to compare, then in turns."""
    (ours,) = backend.run([item], stage)
    equal = bool((np.asarray(peer_call()).reshape(-1) == getattr(ours, field)).all())
    cases = {
        "gpualign": lambda: seconds(lambda: list(backend.run([item], stage))),
        "stringzillas": lambda: seconds(peer_call),
    }
    times = {name: statistics.median(values) for name, values in interleave(cases, rounds).items()}
    return {"seconds": times, "equal": equal}


def rows(rounds: int) -> list[dict[str, Any]]:
    rng, peer, table = np.random.default_rng(3), Peer(), []
    with CudaBackend(list_devices()[:1]) as backend:
        for kind, sizes in (("edit distances", DISTANCES), ("Needleman-Wunsch scores, linear gaps", SCORES)):
            for length, n in sizes:
                texts, others = (LETTERS[rng.integers(0, 4, (n, length), dtype=np.uint8)] for _ in range(2))
                a, b = peer.prepared(texts), peer.prepared(others)
                before = backend.devices[0].timeline.summary()["kernel_s"]
                if kind == "edit distances":
                    pairs = planned(distance_pairs(texts, others))
                    found = compare(
                        backend,
                        pairs,
                        STAGE,
                        lambda a=a, b=b: peer.distances(a, b, device=peer.scope),
                        "distance",
                        rounds,
                    )
                else:
                    problem, block = score_problem(texts, others)
                    found = compare(
                        backend, block, pairwise_stage(problem), lambda a=a, b=b: peer.scores(a, b, device=peer.scope),
                        "score", rounds,
                    )  # fmt: skip
                kernel = (backend.devices[0].timeline.summary()["kernel_s"] - before) / (rounds + 1)
                tcups = {name: length**2 * n**2 / taken / 1e12 for name, taken in found["seconds"].items()}
                table.append(
                    {
                        "work": kind,
                        "length": length,
                        "pairs": n * n,
                        "gpualign_tcups": round(tcups["gpualign"], 2),
                        "stringzillas_tcups": round(tcups["stringzillas"], 2),
                        "times": round(tcups["gpualign"] / tcups["stringzillas"], 2),
                        "gpualign_kernel_tcups": round(length**2 * n**2 / kernel / 1e12, 2),
                        "equal": found["equal"],
                    }
                )
                print(table[-1], flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    table = rows(arguments.rounds)
    facts = machine(packages=("pycuda", "stringzillas-cuda"), gpus=gpu_names())
    save("gpu-peers", facts, {"rounds": arguments.rounds, "rows": table})


if __name__ == "__main__":
    main()
