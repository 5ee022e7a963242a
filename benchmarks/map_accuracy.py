"""Where simulated reads are mapped: gpualign against bwa mem, minimap2 (and bowtie2) on the sets of simulate.py.

    python benchmarks/map_accuracy.py [--sets pe150@0.2,…] [--alone se150,…] [--tools gpualign,bwa,…] [--threads 2]
                                      [--share 0.1]

A primary record is correct where it lies, within 8 bases, on one of the diagonals that the read came from, on the true
strand and contig. Result: benchmarks/results/map-accuracy-<machine>.json, with wrong and kept reads at each MAPQ, and
against each peer the reads that only one of the two has right: all that two mappers' accuracies differ by.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
import harness
import numpy as np
import simulate
from numpy.typing import NDArray

TOLERANCE = 8  # bases
_CIGAR = re.compile(r"(\d+)([MIDNSHPX=])")


@dataclass(frozen=True)
class Tool:
    """A mapper: its program and the templates of its commands; SAM goes to standard output."""

    program: str
    index: str
    map: str


@dataclass(frozen=True)
class Judged:
    """Per read: mapped, correct (bool) and MAPQ."""

    mapped: NDArray[np.bool_]
    correct: NDArray[np.bool_]
    mapq: NDArray[np.int64]

    def table(self) -> dict[str, Any]:
        levels = range(61)
        kept = [int((self.mapped & (self.mapq >= q)).sum()) for q in levels]
        wrong = [int((self.mapped & ~self.correct & (self.mapq >= q)).sum()) for q in levels]
        return {
            "reads": len(self.mapped),
            "mapped_percent": round(100 * float(self.mapped.mean()), 4),
            "correct_percent": round(100 * float(self.correct.mean()), 4),
            "kept_at_mapq": kept,
            "wrong_at_mapq": wrong,
        }

    def nearby(self, ours: Judged) -> dict[str, int]:
        """Reads that only one of the two mappers has right."""
        return {
            "correct_here_alone": int((self.correct & ~ours.correct).sum()),
            "correct_by_gpualign_alone": int((ours.correct & ~self.correct).sum()),
        }


def judge(sam: Path, truth_file: Path) -> Judged:
    with np.load(truth_file) as truth:
        contig, reverse, diagonals, names = (truth[k] for k in ("contig", "reverse", "diagonals", "names"))
    reads, ends, _ = diagonals.shape
    number = {str(name): i for i, name in enumerate(names)}
    mapped, correct = np.zeros((reads, ends), bool), np.zeros((reads, ends), bool)
    mapq = np.zeros((reads, ends), np.int64)
    for flag, (name, _, where, position, quality, cigar, *_) in data.sam_records(sam, without=0x904):
        i, end = int(name), 1 if flag & 128 else 0
        mapped[i, end] = True
        mapq[i, end] = int(quality)
        if number[where] != contig[i] or bool(flag & 16) != reverse[i, end]:
            continue
        first, last = _diagonals(int(position) - 1, cigar)
        known = diagonals[i, end]
        correct[i, end] = min(np.abs(known - first).min(), np.abs(known - last).min()) <= TOLERANCE
    return Judged(mapped.ravel(), correct.ravel(), mapq.ravel())


def _diagonals(position: int, cigar: str) -> tuple[int, int]:
    """Of the first and the last aligned base."""
    query, reference, first = 0, position, None
    for count, operation in _CIGAR.findall(cigar):
        n = int(count)
        if operation in "M=X":
            first = reference - query if first is None else first
            last = reference - query
        query += n if operation in "MIS=XH" else 0
        reference += n if operation in "MDN=X" else 0
    assert first is not None
    return first, last


#: {index}: of the tool for the sets' genomes; {reads}: one file or two
TOOLS = {
    "gpualign": Tool(
        "gpualign", "{gpualign} index {fasta} -d {index}.gpi", "{gpualign} map {index}.gpi {reads} -t {threads}"
    ),
    "bwa": Tool("bwa", "bwa index -p {index} {fasta}", "bwa mem -v 1 -t {threads} {index} {reads}"),
    "minimap2": Tool(
        "minimap2", "minimap2 -x sr -d {index}.mmi {fasta}", "minimap2 -ax sr -t {threads} {index}.mmi {reads}"
    ),
    "bowtie2": Tool(
        "bowtie2",
        "bowtie2-build -q --threads {threads} {fasta} {index}",
        "bowtie2 -p {threads} -x {index} {pair_or_single}",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(simulate.SETS), help="each with @SHARE where --share is not meant")
    parser.add_argument("--alone", default="", help="sets mapped by gpualign alone: more reads, to judge its MAPQ by")
    parser.add_argument("--tools", default="gpualign,bwa,minimap2")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--share", type=float, default=1.0, help="of each set's reads")
    arguments = parser.parse_args()
    installed = harness.have(TOOLS[tool].program for tool in arguments.tools.split(",") if tool != "gpualign")
    tools = [tool for tool in arguments.tools.split(",") if installed.get(TOOLS[tool].program, tool == "gpualign")]
    figures: dict[str, Any] = {"threads": arguments.threads, "tolerance_bases": TOLERANCE, "sets": {}}
    kept = data.folder() / "accuracy"
    wanted = [(text, text.partition("@")[0], tools) for text in arguments.sets.split(",")]
    wanted += [(text, f"{text.partition('@')[0]}, alone", ["gpualign"]) for text in arguments.alone.split(",") if text]
    for text, label, its_tools in wanted:
        name, _, share = text.partition("@")
        model = simulate.SETS[name]
        model = dataclasses.replace(model, reads=int(float(share or arguments.share) * model.reads))
        folder = simulate.made(name, model, kept)
        index = kept / "index" / "-".join(model.genomes)
        rows = figures["sets"][label] = {"model": dataclasses.asdict(model)}
        judged: dict[str, Judged] = {}
        for tool in its_tools:
            rows[tool], judged[tool] = map_and_judge(tool, index, model, folder, arguments.threads)
            row = rows[tool]
            if tool != "gpualign" and "gpualign" in judged:
                row |= judged[tool].nearby(judged["gpualign"])
            wrong = {q: row["wrong_at_mapq"][q] for q in (0, 1, 10, 20, 30, 60)}
            print(f"{label:8} {tool:9} correct {row['correct_percent']:8.4f} %  wrong at MAPQ {wrong}", flush=True)
        harness.save("map-accuracy", harness.machine([tool for tool in tools if tool != "gpualign"]), figures)


def map_and_judge(
    tool: str, index: Path, model: simulate.ReadModel, folder: Path, threads: int
) -> tuple[dict[str, Any], Judged]:
    reads = [folder / "reads_1.fq", folder / "reads_2.fq"] if model.insert else [folder / "reads.fq"]
    values = {
        "gpualign": Path(sys.executable).with_name("gpualign"),
        "fasta": index.with_suffix(".fa"),
        "index": index.parent / tool / index.name,
        "threads": threads,
        "reads": " ".join(map(str, reads)),
        "pair_or_single": f"-1 {reads[0]} -2 {reads[1]}" if model.insert else f"-U {reads[0]}",
    }
    if not values["fasta"].exists():
        index.parent.mkdir(parents=True, exist_ok=True)
        values["fasta"].write_bytes(b"".join(data.genome(genome).read_bytes() for genome in model.genomes))
    if not list(values["index"].parent.glob("*")):
        values["index"].parent.mkdir(parents=True, exist_ok=True)
        harness.run_timed(TOOLS[tool].index.format(**values).split())
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        sam = Path(scratch) / "out.sam"
        timing = harness.run_timed(TOOLS[tool].map.format(**values).split(), sam)
        judged = judge(sam, folder / "truth.npz")
        return {"wall_s": round(timing.wall_s, 2), "cpu_s": round(timing.cpu_s, 2), **judged.table()}, judged


if __name__ == "__main__":
    main()
