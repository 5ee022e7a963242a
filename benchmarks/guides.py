"""Guides scored and summed in a genome: whole commands on a GPU, and sums against brute force by NumPy.

    python benchmarks/guides.py gpu [--bases 3100000000]        312 guides, k = 3, --score mit --summary
    python benchmarks/guides.py many [--bases 3100000000]       100,000 guides, k = 4 with one bulge
    python benchmarks/guides.py check [--bases 60000000]        30 guides, k = 3: all sites, sums of a made-up table

The genome is made up, with repeats like the human one's (synthetic_genome.py). Half of the guides are from it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from bases import BASES
from data import read_fasta, reverse_complement
from harness import gpu_names, machine, save
from synthetic_genome import indexed

PAM_FACTORS = {"GG": 1.0, "AG": 0.26}


def drawn(fasta: Path, count: int) -> list[bytes]:
    """Guides of 20 bases, half of them before NGG in the first contig."""
    with fasta.open("rb") as file:
        text = b"".join(file.read(min(20_000_000, 400 * count + 4_000_000)).split(b"\n")[1:-1]).upper()
    rng = np.random.default_rng(8)
    guides: list[bytes] = []
    while len(guides) < count:
        at = int(rng.integers(0, len(text) - 23))
        if len(guides) % 2:
            guides.append(BASES[rng.integers(0, 4, 20)].tobytes())
        elif text[at + 21 : at + 23] == b"GG" and b">" not in text[at : at + 23] and b"N" not in text[at : at + 23]:
            guides.append(text[at : at + 20])
    return guides


def searched(where: Path, guides: list[bytes], target: Path, device: str, *more: object) -> dict[str, Any]:
    """The report of one whole command, and its seconds."""
    (where / "guides.txt").write_bytes(b"".join(b"g%d\t%s\n" % named for named in enumerate(guides)))
    line = ["search", where / "guides.txt", target, "--pam", "NGG", "--summary", where / "sums.tsv", "--device", device]
    line += [*more, "-o", where / "sites.tsv", "--json", where / "report.json"]
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "gpualign", *map(str, line)], check=True, stderr=subprocess.DEVNULL)
    return json.loads((where / "report.json").read_text()) | {"whole_s": time.perf_counter() - start}


def on_gpu(given: argparse.Namespace, count: int, *options: object) -> dict[str, Any]:
    fasta, index = indexed(given.bases)
    guides = drawn(fasta, count)
    index.read_bytes()  # into the page cache
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        if count < 1000:  # the first run compiles the kernels
            searched(where, guides, index, given.device, *options)
        runs = [searched(where, guides, index, given.device, *options) for _ in range(given.rounds)]
        sites = (where / "sites.tsv").stat().st_size
    whole = [round(run["whole_s"], 2) for run in runs]
    row = {"guides": count, "options": " ".join(map(str, options)), "Gbp": given.bases / 1e9, "whole_s": whole}
    return (
        row
        | {"median_s": statistics.median(whole), "hits": runs[0]["hits"], "table_bytes": sites}
        | {"device": runs[0]["device"]}
    )


def brute_force(text: bytes, guides: list[bytes], k: int, factors: dict[str, float]) -> dict[str, list[float]]:
    """Sites of each guide by mismatches, and the sum of their products of factors."""
    sums = {}
    codes = np.full(256, 4, np.int64)
    codes[list(b"ACGT")] = range(4)
    table = np.ones((4, 5, 20))
    for key, factor in factors.items():
        table[b"ACGT".index(key[0].encode()), b"ACGT".index(key[1].encode()), int(key[2:]) - 1] = factor
    strands = []
    for whole in (text, reverse_complement(text)):
        bases = codes[np.frombuffer(whole, np.uint8)].astype(np.uint8)
        at = np.flatnonzero((bases[21:-1] == 2) & (bases[22:] == 2))
        strands.append((bases, at))
    for number, guide in enumerate(guides):
        wanted = codes[np.frombuffer(guide, np.uint8)].astype(np.uint8)
        counts, total = np.zeros(k + 1, int), 0.0
        for bases, at in strands:
            errors = np.zeros(len(at), np.uint8)
            for i in range(20):
                errors += bases[at + i] != wanted[i]
            rows = at[errors <= k]
            site = bases[rows[:, None] + np.arange(20)]
            site_factors = table[wanted, site, np.arange(20)]
            total += float(np.where(site == wanted, 1, site_factors).prod(axis=1).sum())
            counts += np.bincount(errors[errors <= k], minlength=k + 1)
        sums[f"g{number}"] = [*counts.tolist(), total - (counts[0] > 0)]
    return sums


def check(given: argparse.Namespace) -> dict[str, Any]:
    fasta, _ = indexed(given.bases)
    text = max(read_fasta(fasta).values(), key=len).upper()
    guides, rng = drawn(fasta, 30), np.random.default_rng(9)
    factors = {
        f"{a}{b}{i + 1}": round(float(rng.random()), 4) for a, b in itertools.permutations("ACGT", 2) for i in range(20)
    }
    expected = brute_force(text, guides, 3, factors)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        (where / "target.fa").write_bytes(b">c\n" + text + b"\n")
        (where / "factors").write_text("".join(f"{key} {factor}\n" for key, factor in factors.items()))
        options = ("-k", 3, "--mismatches-only", "--hits", "all", "--no-merge", "--score", where / "factors")
        took = searched(where, guides, where / "target.fa", given.device, *options)["whole_s"]
        header, *rows = (line.split("\t") for line in (where / "sums.tsv").read_text().splitlines())
    worst, missed = 0.0, 0
    for row in rows:
        found = dict(zip(header, row, strict=True))
        *counts, total = expected[found["pattern"]]
        missed += sum(abs(int(found[f"m{m}b0"]) - count) for m, count in enumerate(counts))
        worst = max(worst, abs(float(found["off_target_score"]) - total))
    return {
        "Mbp": len(text) / 1e6,
        "sites": sum(sum(row[:4]) for row in expected.values()),
        "missed_or_more": missed,
    } | {"largest_difference_of_sums": worst, "whole_s": round(took, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("gpu", "many", "check"))
    parser.add_argument("--bases", type=int)
    parser.add_argument("--guides", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--device")
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results")
    given = parser.parse_args()
    given.bases = given.bases or (60_000_000 if given.what == "check" else 3_100_000_000)
    given.rounds = given.rounds or (1 if given.what == "many" else 3)
    given.device = given.device or ("auto" if given.what == "check" else "cuda:0")
    scored = ("-k", 3, "--mismatches-only", "--score", "mit", "--matched", "lower")
    cases = {
        "gpu": lambda: on_gpu(given, given.guides or 312, *scored),
        "many": lambda: on_gpu(given, given.guides or 100_000, "-k", 4, "--max-bulges", 1),
        "check": lambda: check(given),
    }
    row = cases[given.what]()
    print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if given.save:
        save(f"guides-{given.what}", machine(gpus=gpu_names()), {"results": [row]})


if __name__ == "__main__":
    main()
