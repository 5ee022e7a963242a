#!/usr/bin/env python3
"""The verify command as a user runs it, and its CPU kernel against edlib on one core.

The command: reads with 20 candidates each, TSV in, TSV out, on each device asked for, with the report's bytes, kernel
and copy seconds. The core: pairs per second of the native call and of edlib, in turns on the same pairs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from harness import record

from gpualign import _native
from gpualign.align.edit.cpu import MODES, VerifyPairs, verify_on_cpu
from gpualign.params import available_cores
from gpualign.sequences.reference import Reference

LETTERS = np.frombuffer(b"ACGT", np.uint8)
CANDIDATES, READ, WINDOW = 20, 100, 140
#: query length, window, limit of the rows against edlib
CORE_ROWS = ((100, 140, 20), (150, 190, 15), (250, 274, 12), (1000, 1200, 50))


def write_part(folder: str, part: int, first: int, count: int, sequence: bytes) -> tuple[str, str]:
    """Reads and candidates of one part; a read's first candidate is its own locus."""
    rng = np.random.default_rng(part)
    loci = rng.integers(0, len(sequence) - WINDOW, count)
    others = rng.integers(0, len(sequence) - WINDOW, (count, CANDIDATES))
    others[:, 0] = loci
    reads, candidates = Path(folder) / f"reads{part}", Path(folder) / f"candidates{part}"
    with open(reads, "wb") as out:
        for i in range(count):
            read = bytearray(sequence[loci[i] + 20 : loci[i] + 20 + READ])
            read[int(loci[i]) % READ] = 65
            out.write(b">read%d\n%s\n" % (first + i, bytes(read)))
    with open(candidates, "w") as text:
        for i in range(count):
            name = f"read{first + i}\trandom\t"
            text.write("".join(f"{name}{at + 1}\t{at + WINDOW}\t+\n" for at in others[i].tolist()))
    return str(reads), str(candidates)


def make_input(folder: Path, reads: int, bases: int) -> None:
    sequence = LETTERS[np.random.default_rng(0).integers(0, 4, bases, dtype=np.uint8)].tobytes()
    (folder / "ref.fa").write_bytes(b">random\n" + sequence + b"\n")
    parts = available_cores()
    borders = np.linspace(0, reads, parts + 1).astype(int)
    with ProcessPoolExecutor(parts) as pool:
        jobs = [
            pool.submit(
                write_part, str(folder), part, int(borders[part]), int(borders[part + 1] - borders[part]), sequence
            )
            for part in range(parts)
        ]
        files = [job.result() for job in jobs]
    for name, column in (("reads.fa", 0), ("candidates.tsv", 1)):
        subprocess.run(["sh", "-c", f"cat {' '.join(pair[column] for pair in files)} > {folder / name}"], check=True)
    for pair in files:
        for name in pair:
            Path(name).unlink()


def run_command(folder: Path, device: str) -> dict[str, Any]:
    report, output = folder / "report.json", folder / f"out-{device.replace(':', '-')}.tsv"
    command = [sys.executable, "-m", "gpualign", "verify", "ref.fa", "reads.fa", "-c", "candidates.tsv", "-e", "0.2"]
    command += ["--device", device, "-o", str(output), "--json", str(report)]
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=folder)
    wall = time.perf_counter() - start
    digest = hashlib.md5(output.read_bytes()).hexdigest()
    output.unlink()
    facts = json.loads(report.read_text())
    return {"device": device, "wall_s": round(wall, 3), "candidates": facts["candidates"], "md5": digest}


def core_rows(repeats: int = 3) -> list[dict[str, Any]]:
    """One thread: gpualign and edlib in turns; half of the pairs are true loci, 20 candidates a query."""
    import edlib

    rng = np.random.default_rng(2)
    sequence = LETTERS[rng.integers(0, 4, 1 << 22, dtype=np.uint8)]
    packer = _native.ReferencePacker()
    packer.append(sequence)
    reference = Reference(["random"], np.array([0, len(sequence)], np.int64), *packer.finish())
    table = []
    for length, window, limit in CORE_ROWS:
        count = 20 * int(2e6 / length)
        loci = rng.integers(0, len(sequence) - window, count // CANDIDATES)
        inset = (window - length) // 2
        bases = np.concatenate([sequence[at + inset : at + inset + length] for at in loci])
        changed = rng.random(len(bases)) < 0.02
        bases[changed] = LETTERS[rng.integers(0, 4, int(changed.sum()))]
        query = np.repeat(np.arange(len(loci), dtype=np.int32), CANDIDATES)
        begin = rng.integers(0, len(sequence) - window, len(query)).astype(np.uint32)
        begin[::CANDIDATES] = loci
        offsets = np.arange(len(loci) + 1, dtype=np.int64) * length
        limits = np.full(len(loci), limit, np.int32)
        strand = np.zeros(len(query), np.uint8)
        end = (begin + window).astype(np.uint32)
        pairs = VerifyPairs(reference, bases, offsets, limits, query, begin, end, strand, MODES["infix"])
        few = 2000 if length < 500 else 400
        texts = [
            (bases[offsets[q] : offsets[q + 1]].tobytes().decode(), sequence[b : b + window].tobytes().decode())
            for q, b in zip(query[:few].tolist(), begin[:few].tolist(), strict=True)
        ]
        ours, theirs = [], []
        for _ in range(repeats):
            start = time.perf_counter()
            result = verify_on_cpu(pairs)
            ours.append(len(query) / (time.perf_counter() - start))
            start = time.perf_counter()
            answers = [edlib.align(*text, mode="HW", task="distance", k=limit)["editDistance"] for text in texts]
            theirs.append(few / (time.perf_counter() - start))
        assert answers == result.distance[:few].tolist()
        line = {
            "query": length,
            "window": window,
            "limit": limit,
            "pairs": len(query),
            "gpualign_pairs_per_s": round(float(np.median(ours))),
            "edlib_pairs_per_s": round(float(np.median(theirs))),
        }
        line["ratio"] = round(line["gpualign_pairs_per_s"] / line["edlib_pairs_per_s"], 2)
        table.append(line)
        print(line, flush=True)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reads", type=int, default=1_000_000)
    parser.add_argument("--bases", type=int, default=1 << 26, help="of the reference")
    parser.add_argument("--devices", default="cpu", help="what to give --device, separated by spaces")
    parser.add_argument("--no-core", action="store_true", help="leave out the comparison with edlib")
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    if not arguments.no_core:
        results["core"] = core_rows()
    if arguments.reads:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_input(folder, arguments.reads, arguments.bases)
            results["command"] = []
            for device in arguments.devices.split():
                results["command"].append(run_command(folder, device))
                print(results["command"][-1], flush=True)
            digests = {line["md5"] for line in results["command"]}
            print("outputs are equal" if len(digests) == 1 else f"OUTPUTS DIFFER: {digests}")
    record("verify", results)


if __name__ == "__main__":
    main()
