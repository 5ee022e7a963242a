"""Long reads with one planted event each, deletions, insertions and inversions of 20 bases to 10 kb, against minimap2.

python benchmarks/planted_gaps.py [--genome FASTA] [--reads N] [--seed S]

A gap is whole where one operation of a record's CIGAR has nine tenths of its length or more; a breakpoint is found
where an alignment (a gap's side, or a record's end) comes within 50 bases of it. Needs Debian's minimap2. Result:
benchmarks/results/planted-gaps-<machine>.json.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import numpy as np
from bases import BASES, complement
from data import genome, parse_cigar, read_fasta, sam_records
from numpy.typing import NDArray
from simulate_long import ONT, with_errors

LENGTHS = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
KINDS = ("deletion", "insertion", "inversion")
RATES = {0.01: "hifi", 0.05: "ont", 0.08: "ont"}
FLANK = 6000
NEAR = 50


@dataclass(frozen=True)
class Event:
    """Breakpoints are on the reference; a deletion and an inversion have two."""

    name: str
    kind: str
    length: int
    breakpoints: tuple[int, ...]


def plant(
    text: NDArray[np.uint8], reads: int, rate: float, rng: np.random.Generator
) -> Iterator[tuple[Event, NDArray[np.uint8]]]:
    """Reads of either strand, an event in the middle of each; no base of them is ambiguous."""
    known = np.isin(text, BASES)
    for kind in KINDS:
        for length in LENGTHS:
            if kind == "inversion" and length < 500:
                continue
            for number in range(reads):
                while True:
                    at = int(rng.integers(FLANK, len(text) - FLANK - length))
                    if known[at - FLANK : at + FLANK + length].all():
                        break
                left, right = text[at - FLANK : at], text[at + (0 if kind == "insertion" else length) :][:FLANK]
                middle: NDArray[np.uint8] = np.zeros(0, np.uint8)
                if kind == "insertion":
                    middle = BASES[rng.integers(0, 4, length)]
                if kind == "inversion":
                    middle = complement(text[at : at + length])[::-1]
                read = with_errors(np.concatenate([left, middle, right]), rate, ONT, rng)
                breakpoints = (at,) if kind == "insertion" else (at, at + length)
                event = Event(f"{kind}-{length}-{rate}-{number}", kind, length, breakpoints)
                yield event, complement(read)[::-1] if rng.integers(2) else read


def judge(sam: Path, events: dict[str, Event]) -> dict[str, set[str]]:
    """The reads whose gap is whole, and those all of whose breakpoints are found."""
    whole: set[str] = set()
    seen: dict[str, set[int]] = {}
    for _, (name, _, _, position, _, cigar, *_) in sam_records(sam, without=0x104):
        event, at = events[name], int(position) - 1
        edges = {at}
        for size, operation in parse_cigar(cigar):
            if operation in "ID" and size >= 0.9 * event.length:
                whole.add(name)
                edges |= {at, at + size * (operation == "D")}
            at += size * (operation in "MDN=X")
        edges.add(at)
        near = {point for point in event.breakpoints for edge in edges if abs(edge - point) <= NEAR}
        seen.setdefault(name, set()).update(near)
    return {
        "whole": whole,
        "breakpoints": {name for name, near in seen.items() if len(near) == len(events[name].breakpoints)},
    }


def rows_of(rate: float, events: dict[str, Event], judged: dict[str, dict[str, set[str]]]) -> list[dict[str, Any]]:
    """Counts by kind and length; "both": of the reads that minimap2 has right gpualign has so many right."""
    names: dict[tuple[str, int], set[str]] = {}
    for event in events.values():
        names.setdefault((event.kind, event.length), set()).add(event.name)
    rows = []
    for (kind, length), group in sorted(names.items()):
        row: dict[str, Any] = {"errors": rate, "kind": kind, "length": length, "reads": len(group)}
        for what in ("whole", "breakpoints"):
            right = {tool: found[what] & group for tool, found in judged.items()}
            row |= {f"{tool}_{what}": len(found) for tool, found in right.items()}
            row[f"both_{what}"] = len(set.intersection(*right.values()))
        rows.append(row)
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Of the reads that minimap2 has right, percent that gpualign has right, and percent that each has right."""
    result = {}
    for what, kinds in {"whole": KINDS[:2], "breakpoints": KINDS}.items():
        chosen = [row for row in rows if row["kind"] in kinds]
        total = {name: sum(row[name] for row in chosen) for name in chosen[0] if name.endswith(what) or name == "reads"}
        result[f"{what} of minimap2's, %"] = round(100 * total[f"both_{what}"] / max(1, total[f"minimap2_{what}"]), 2)
        for tool in ("gpualign", "minimap2"):
            result[f"{tool} {what}, %"] = round(100 * total[f"{tool}_{what}"] / total["reads"], 2)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--genome", type=Path)
    parser.add_argument("--reads", type=int, default=50, help="of each kind, length and error rate")
    parser.add_argument("--seed", type=int, default=71)
    parser.add_argument("--keep", type=Path, help="folder for reads and SAM")
    options = parser.parse_args()
    reference = options.genome or genome("chr20")
    text = np.frombuffer(next(iter(read_fasta(reference).values())), np.uint8)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for rate, preset in RATES.items():
            reads, events = Path(folder) / f"{rate}.fa", {}
            with reads.open("wb") as out:
                for event, read in plant(
                    text, options.reads, rate, np.random.default_rng([options.seed, int(rate * 1000)])
                ):
                    events[event.name] = event
                    out.write(b">%s\n%s\n" % (event.name.encode(), read.tobytes()))
            tools = {
                "gpualign": ["gpualign", "map", "-q", "-x", preset, str(reference), str(reads)],
                "minimap2": ["minimap2", "-a", "-t", "2", "-x", f"map-{preset}", str(reference), str(reads)],
            }
            judged = {}
            for tool, command in tools.items():
                sam = Path(folder) / f"{tool}.sam"
                with sam.open("wb") as out:
                    subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)
                judged[tool] = judge(sam, events)
            for row in rows_of(rate, events, judged):
                rows.append(row)
                print(" ".join(f"{key}={value}" for key, value in row.items()), flush=True)
            if options.keep:
                for source in (reads, *(Path(folder) / f"{tool}.sam" for tool in tools)):
                    shutil.copy(source, options.keep / f"{rate}-{source.name}")
    print(summary(rows))
    figures = {"seed": options.seed, "summary": summary(rows), "rows": rows}
    harness.save("planted-gaps", harness.machine(["minimap2"]), figures)


if __name__ == "__main__":
    sys.exit(main())
