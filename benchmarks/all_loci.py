"""Every locus within the error limit: `map --sensitivity full --all` and RazerS 3 and Yara, which promise the same.

    python benchmarks/all_loci.py [--sets ecoli,pf,chr20] [--tools gpualign,razers3,yara] [--threads 2] [--share 1]

The loci of all mappers are put together. One counts where edlib finds the read there within the limit; those of a read
that lie within the limit of each other, on one strand, are one locus. A mapper misses a locus where it reports none of
them. Result: benchmarks/results/all-places-<machine>.json. Needs Debian's seqan-apps, and edlib.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import data
import edlib
import harness
import map as map_benchmark
import simulate

PERCENT = 5
SETS = {
    "ecoli": simulate.ReadModel(("ecoli_mg1655",), 100_000, 100, 0.02, 21),
    "pf": simulate.ReadModel(("pf",), 500, 100, 0.02, 22),
    "chr20": simulate.ReadModel(("chr20",), 2_000, 100, 0.02, 23),
}
#: {out}: SAM; {percent} of errors; {index}: a prefix in a scratch folder. Index commands are not timed.
COMMANDS = {
    "gpualign": "{gpualign} map {fasta} {reads} --sensitivity full --all -e {rate} --end-to-end --clip 100 "
    "--device cpu -t {threads} -q -o {out}",
    "razers3": "razers3 -i {identity} -rr 100 -m 100000000 -ds -tc {threads} -o {out} {fasta} {reads}",
    "yara": "yara_mapper -e {percent} -s {percent} -y full -sa record -t {threads} -o {out} {index} {reads}",
}
INDEXES = {"yara": "yara_indexer -o {index} {fasta}"}
PROGRAMS = {"gpualign": map_benchmark.GPUALIGN, "razers3": "razers3", "yara": "yara_mapper"}
_END_TAG = re.compile(r"XP:i:(\d+)")
#: a read's name, contig and strand ("+", "-")
Strand = tuple[str, str, str]
Loci = dict[Strand, list[tuple[int, int]]]


def loci(sam: Path) -> Loci:
    """Half-open intervals of the contigs to which whole reads are aligned, clipped ends included."""
    found: Loci = defaultdict(list)
    for flag, (name, _, contig, position, _, cigar, *rest) in data.sam_records(sam, without=4):
        start = int(position) - 1
        if cigar == "*":  # Yara's secondary records have their last base in a tag instead
            end = int(_END_TAG.search("\t".join(rest))[1])
        else:
            operations = data.parse_cigar(cigar)
            start -= operations[0][0] if operations[0][1] in "SH" else 0
            end = start + sum(count for count, operation in operations if operation in "MDN=XSH")
        found[name, contig, "-" if flag & 16 else "+"].append((start, end))
    return found


def limit(read: bytes) -> int:
    return math.floor(PERCENT * len(read) / 100)


def judge(by_tool: Mapping[str, Loci], reads: Mapping[str, bytes], contigs: Mapping[str, bytes]) -> dict[str, Any]:
    """For each tool the loci that it reports, those that are wrong, and those that it misses."""
    table: dict[str, Any] = {tool: {"reported": 0, "beyond_the_limit": 0, "missed": 0} for tool in by_tool}
    total = alone = 0
    for key in sorted(set().union(*by_tool.values())):
        read, contig = reads[key[0]], contigs[key[1]]
        bases = read if key[2] == "+" else data.reverse_complement(read)
        for group in _groups(key, by_tool, limit(read)):
            true_of = {tool for tool, start, end in group if _within_limit(bases, contig, start, end)}
            total += bool(true_of)
            alone += len(true_of) == 1
            for tool in by_tool:
                own = sum(1 for other, _, _ in group if other == tool)
                table[tool]["reported"] += own
                table[tool]["beyond_the_limit"] += own if not true_of else 0
                table[tool]["missed"] += bool(true_of) and tool not in true_of
    for row in table.values():
        row["found_percent"] = round(100 * (1 - row["missed"] / total), 5)
    return {"places": total, "of_one_tool_alone": alone, "tools": table}


def _groups(key: Strand, by_tool: Mapping[str, Loci], apart: int) -> Iterator[list[tuple[str, int, int]]]:
    """(tool, start, end) of a read on one strand, in groups of those whose middles follow each other closely."""
    found = [(tool, *locus) for tool, its in by_tool.items() for locus in its.get(key, ())]
    group: list[tuple[str, int, int]] = []
    for one in sorted(found, key=lambda locus: locus[1] + locus[2]):
        if group and one[1] + one[2] - (group[-1][1] + group[-1][2]) > 2 * apart:
            yield group
            group = []
        group.append(one)
    yield group


def _within_limit(bases: bytes, contig: bytes, start: int, end: int) -> bool:
    maximum = limit(bases)
    window = contig[max(0, start - maximum) : end + maximum]
    return bool(edlib.align(bases, window, mode="HW", task="distance", k=maximum)["editDistance"] >= 0)


def compare(fasta: Path, fastq: Path, tools: list[str], threads: int, scratch: Path) -> dict[str, Any]:
    """Run all tools on a set and judge them."""
    local = scratch / "reference.fa"  # tools write next to it
    local.write_bytes(fasta.read_bytes())
    values = {"gpualign": map_benchmark.GPUALIGN, "fasta": local, "reads": fastq, "index": scratch / "index"}
    values |= {"threads": threads, "percent": PERCENT, "identity": 100 - PERCENT, "rate": PERCENT / 100}
    found, timings = {}, {}
    for tool in tools:
        if tool in INDEXES:
            harness.run_timed(INDEXES[tool].format(**values).split())
        sam = scratch / f"{tool}.sam"
        timings[tool] = harness.run_timed(COMMANDS[tool].format(out=sam, **values).split())
        found[tool] = loci(sam)
    reads = {name: bases.upper() for name, bases, _ in data.read_fastq(fastq)}
    table = judge(found, reads, data.read_fasta(fasta))
    for tool, row in table["tools"].items():
        row |= {"wall_s": round(timings[tool].wall_s, 2), "cpu_s": round(timings[tool].cpu_s, 2)}
        row["peak_mib"] = round(timings[tool].peak_mib, 1)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--tools", default=",".join(COMMANDS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--share", type=float, default=1.0, help="of each set's reads")
    arguments = parser.parse_args()
    os.environ["PATH"] += os.pathsep + str(data.MASON)  # where Debian puts programs of SeqAn
    installed = harness.have(PROGRAMS[tool] for tool in arguments.tools.split(","))
    tools = [tool for tool in arguments.tools.split(",") if installed[PROGRAMS[tool]]]
    figures: dict[str, Any] = {"threads": arguments.threads, "error_limit_percent": PERCENT, "all_places": {}}
    for name in arguments.sets.split(","):
        model = dataclasses.replace(SETS[name], reads=int(arguments.share * SETS[name].reads))
        reads = simulate.made(f"places-{name}", model, data.folder() / "accuracy") / "reads.fq"
        with tempfile.TemporaryDirectory(dir=data.folder()) as scratch:
            row = compare(data.genome(model.genomes[0]), reads, tools, arguments.threads, Path(scratch))
        figures["all_places"][name] = {"reads": model.reads, "length": model.length, **row}
        print(name, figures["all_places"][name], flush=True)
    peers = [PROGRAMS[tool] for tool in tools if tool != "gpualign"]
    harness.save("all-places", harness.machine(peers, ["edlib"]), figures)


if __name__ == "__main__":
    main()
