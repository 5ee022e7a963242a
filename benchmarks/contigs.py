"""Genomes against genomes, `map -x asm5`, `asm10`, `asm20`: bases that are aligned, identity and time, beside minimap2.

    python benchmarks/contigs.py [--rounds 3] [--sets coli|aureus] [--presets asm5,asm10,asm20] [--gpualign PROGRAM]

Three genomes of E. coli against each other, and four of S. aureus against a fifth, which only the loss that ends an
alignment (`zdrop`) was chosen on. Counted are the query's bases that a column of some alignment has beside a base of
the reference (a long insertion within an alignment is not aligned), and the share of those columns that match.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import data
import harness
import numpy as np

SETS = {
    "coli": list(combinations(("ecoli_mg1655", "ecoli_dh1", "ecoli_536"), 2)),
    "aureus": [("saureus_n315", f"saureus_{other}") for other in ("col", "jkd6008", "rf122", "usa300_fpr3757")],
}
PRESETS = ("asm5", "asm10", "asm20")
COMMANDS = {
    "gpualign": "{program} map {reference} {query} -x {preset} -t 2 --device cpu -q --paf",
    "minimap2": "minimap2 -c -x {preset} -t 2 {reference} {query}",
}
_OPERATION = re.compile(r"(\d+)([MID])")


def judge(paf: Path) -> dict[str, float]:
    """Aligned bases of the query, identity, alignments, the longest one's bases of the query."""
    aligned: dict[str, np.ndarray] = {}
    matches = columns = longest = alignments = 0
    for line in paf.read_text().splitlines():
        fields = line.split("\t")
        tags = {field[:2]: field[5:] for field in fields[12:]}
        if tags["tp"] != "P":
            continue
        alignments += 1
        of_query = aligned.setdefault(fields[0], np.zeros(int(fields[1]), bool))
        if fields[4] == "-":
            of_query = of_query[::-1]
        at = int(fields[2]) if fields[4] == "+" else int(fields[1]) - int(fields[3])
        longest = max(longest, int(fields[3]) - int(fields[2]))
        for text, operation in _OPERATION.findall(tags["cg"]):
            length = int(text)
            if operation == "M":
                of_query[at : at + length] = True
                columns += length
            at += length * (operation != "D")
        matches += int(fields[9])
    return {
        "aligned": sum(int(mask.sum()) for mask in aligned.values()),
        "identity": round(matches / columns, 5),
        "alignments": alignments,
        "longest": longest,
    }


def compare(program: Path, preset: str, query: str, reference: str, rounds: int) -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory() as scratch:
        commands = {
            tool: command.format(
                program=program, preset=preset, query=data.genome(query), reference=data.genome(reference)
            ).split()
            for tool, command in COMMANDS.items()
        }
        timings = harness.interleave(
            {
                tool: lambda tool=tool: harness.run_timed(commands[tool], Path(scratch) / f"{tool}.paf")
                for tool in COMMANDS
            },
            rounds,
        )
        cpu_s = {tool: [one.cpu_s for one in of_tool] for tool, of_tool in timings.items()}
        for tool, of_tool in timings.items():
            row = {"query": query, "against": reference, "preset": preset, "tool": tool}
            row |= judge(Path(scratch) / f"{tool}.paf")
            row["cpu_s"] = harness.summary(of_tool)["cpu_s"]
            yield row | {"times_minimap2": harness.ratio(cpu_s[tool], cpu_s["minimap2"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--presets", default=",".join(PRESETS))
    parser.add_argument("--gpualign", type=Path, default=Path(sys.executable).with_name("gpualign"))
    options = parser.parse_args()
    rows = []
    for reference, query in (pair for name in options.sets.split(",") for pair in SETS[name]):
        for preset in options.presets.split(","):
            for row in compare(options.gpualign, preset, query, reference, options.rounds):
                print(*(f"{key}={value}" for key, value in row.items()), flush=True)
                rows.append(row)
    harness.save("contigs", harness.machine(["minimap2"]), {"rows": rows})


if __name__ == "__main__":
    main()
