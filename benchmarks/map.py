"""`gpualign map` against minimap2, minibwa, bwa mem, bwa-mem2 and bowtie2: speed, memory, accuracy, index.

    python benchmarks/map.py [--rounds 3] [--threads 2] [--sets chr20_se150,…] [--tools gpualign,minimap2,…]

Every figure is of a whole command: start, index loading, reading, mapping and writing SAM to a file. Peers that are not
installed are left out. Data: see data.py. Result: benchmarks/results/map-<machine>.json.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import data
import harness

GPUALIGN = str(Path(sys.executable).with_name("gpualign"))
LEADING_CLIP = re.compile(r"(?:(\d+)H)?(?:(\d+)S)?")


@dataclass(frozen=True)
class Mapper:
    """Command templates: {ref} FASTA, {index} its index's path, {reads}, {threads}. SAM goes to standard output."""

    program: str
    index: str
    map: str
    index_rounds: int = 1


MAPPERS = {
    "gpualign": Mapper(
        GPUALIGN,
        GPUALIGN + " index {ref} -d {index}.gpi -t {threads}",
        GPUALIGN + " map {index}.gpi {reads} -t {threads} --device cpu",
        3,
    ),
    "minimap2": Mapper(
        "minimap2",
        "minimap2 -x sr -t {threads} -d {index}.mmi {ref}",
        "minimap2 -ax sr -t {threads} {index}.mmi {reads}",
        3,
    ),
    "minibwa": Mapper(
        "minibwa",
        "minibwa index -t {threads} {ref} {index}",
        "minibwa map -t {threads} {index} {reads}",
    ),
    "bwa": Mapper("bwa", "bwa index -p {index} {ref}", "bwa mem -t {threads} {index} {reads}"),
    "bwa-mem2": Mapper("bwa-mem2", "bwa-mem2 index -p {index} {ref}", "bwa-mem2 mem -t {threads} {index} {reads}"),
    "bowtie2": Mapper(
        "bowtie2",
        "bowtie2-build -q --threads {threads} {ref} {index}",
        "bowtie2 -p {threads} -x {index} -U {reads}",
    ),
}


class Bench:
    """One run of the benchmark: indexes and SAM files live in a scratch folder."""

    def __init__(self, tools: list[str], rounds: int, threads: int, scratch: Path, kept: Path | None) -> None:
        self.tools = tools
        self.rounds = rounds
        self.threads = threads
        self._scratch = scratch
        self._indexes = kept or scratch / "index"
        self._indexes.mkdir(parents=True, exist_ok=True)

    def _index(self, tool: str, genome: str) -> Path:
        return self._indexes / tool / genome

    def build_indexes(self, genome: str) -> dict[str, Any]:
        """Builds of the tools whose index is not there yet, interleaved; seconds, memory and size on disk."""
        waiting = [tool for tool in self.tools if not self._built(tool, genome)]
        timings: dict[str, list[harness.Timing]] = {tool: [] for tool in waiting}
        for turn in range(self.rounds):
            for tool in waiting:
                if turn < min(self.rounds, MAPPERS[tool].index_rounds):
                    timings[tool].append(self._build(tool, genome))
        table = {}
        for tool in waiting:
            size = sum(file.stat().st_size for file in self._built(tool, genome))
            table[tool] = {**harness.summary(timings[tool]), "size_mib": round(size / 2**20, 1)}
            show(f"index {genome}", tool, table[tool])
        return table

    def _built(self, tool: str, genome: str) -> list[Path]:
        return list(self._index(tool, genome).parent.glob(f"{genome}.*"))

    def _build(self, tool: str, genome: str) -> harness.Timing:
        index = self._index(tool, genome)
        index.parent.mkdir(exist_ok=True)
        return harness.run_timed(self._fill(MAPPERS[tool].index, index, ref=data.genome(genome)))

    def _fill(self, template: str, index: Path, **paths: Path) -> list[str]:
        values = {"index": index, "threads": self.threads, **paths}
        return [word.format(**values) for word in template.split()]

    def map_set(self, name: str) -> dict[str, Any]:
        """All tools on one simulated set."""
        wanted = data.READ_SETS[name]
        reads, truth_file = data.read_set(name)
        timings = harness.interleave(
            {tool: self._mapping(tool, wanted.genome, reads) for tool in self.tools}, self.rounds
        )
        truth = load_truth(truth_file)
        table = {}
        for tool in self.tools:
            row = harness.summary(timings[tool])
            row["reads_per_s"] = round(len(truth) / row["wall_s"])
            row["reads_per_cpu_s"] = round(len(truth) / row["cpu_s"])
            if "gpualign" in self.tools and tool != "gpualign":
                row["gpualign_times_as_fast"] = ratios(timings["gpualign"], timings[tool])
            row |= accuracy(against_truth(self._sam(tool), truth), len(truth))
            table[tool] = row
            show(name, tool, row)
        return table

    def _sam(self, name: str) -> Path:
        return self._scratch / f"{name}.sam"

    def _mapping(self, tool: str, genome: str, reads: Path) -> Callable[[], harness.Timing]:
        command = self._fill(MAPPERS[tool].map, self._index(tool, genome), reads=reads)
        return lambda: harness.run_timed(command, self._sam(tool))


def load_truth(path: Path) -> dict[str, tuple[str, str, int]]:
    """name -> (contig, strand, 1-based start)."""
    truth = {}
    with gzip.open(path, "rt") as file:
        for line in file:
            if not line.startswith("#"):
                name, _, contig, strand, start = line.split("\t")[:5]
                truth[name] = (contig, strand, int(start))
    return truth


def against_truth(sam: Path, truth: dict[str, tuple[str, str, int]], tolerance: int = 8) -> Iterator[tuple[int, bool]]:
    """MAPQ of each mapped read, and whether contig and strand are the true ones and its first base, clipped or not,
    lies within ``tolerance`` bases of where it comes from."""
    for flag, (name, _, contig, position, mapq, cigar, *_) in data.sam_records(sam, without=0x904):
        hard, soft = LEADING_CLIP.match(cigar).groups()
        true_contig, strand, start = truth[name]
        first = int(position) - int(hard or 0) - int(soft or 0)
        right = (contig, "-" if flag & 16 else "+") == (true_contig, strand)
        yield int(mapq), right and abs(first - start) <= tolerance


def accuracy(judged: Iterable[tuple[int, bool]], reads: int) -> dict[str, float]:
    """Of so many reads, with MAPQ of the mapped ones and whether each is right."""
    mapped = list(judged)
    return {
        "mapped_percent": round(100 * len(mapped) / reads, 4),
        "correct_percent": round(100 * sum(right for _, right in mapped) / reads, 4),
        "wrong_at_mapq_20": sum(mapq >= 20 and not right for mapq, right in mapped),
    }


def ratios(ours: list[harness.Timing], theirs: list[harness.Timing]) -> dict[str, float]:
    """How many times as fast, by the clock and by processor time (which a busy machine disturbs less)."""
    return {
        "wall": harness.ratio([t.wall_s for t in ours], [t.wall_s for t in theirs]),
        "cpu": harness.ratio([t.cpu_s for t in ours], [t.cpu_s for t in theirs]),
    }


def show(what: str, tool: str, row: dict[str, Any]) -> None:
    keys = ("reads_per_s", "correct_percent", "wrong_at_mapq_20", "size_mib", "gpualign_times_as_fast")
    extra = {key: row[key] for key in keys if key in row}
    taken = f"{row['wall_s']:7.2f} s  cpu {row['cpu_s']:7.2f} s  {row['peak_mib']:5.0f} MiB"
    print(f"{what:16} {tool:16} {taken}  {extra}", flush=True)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sets", default=",".join(data.READ_SETS), help="simulated sets, with commas; '' for none")
    parser.add_argument("--tools", default=",".join(MAPPERS))
    parser.add_argument("--indexes", type=Path, help="keep indexes here; those found here are used and not timed")
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    installed = harness.have(MAPPERS[tool].program for tool in arguments.tools.split(","))
    tools = [tool for tool in arguments.tools.split(",") if installed[MAPPERS[tool].program]]
    if missing := sorted(set(arguments.tools.split(",")) - set(tools)):
        print(f"not installed, left out: {', '.join(missing)}", file=sys.stderr)
    sets = [name for name in arguments.sets.split(",") if name]
    for name in sets:
        data.read_set(name)
    figures: dict[str, Any] = {"threads": arguments.threads, "rounds": arguments.rounds, "index": {}, "map": {}}
    with tempfile.TemporaryDirectory(prefix="gpualign-bench-") as scratch:
        bench = Bench(tools, arguments.rounds, arguments.threads, Path(scratch), arguments.indexes)
        for genome in dict.fromkeys(data.READ_SETS[name].genome for name in sets):
            figures["index"][genome] = bench.build_indexes(genome)
        facts = harness.machine([tool for tool in tools if tool != "gpualign"])
        for name in sets:
            figures["map"][name] = bench.map_set(name)
            harness.save("map", facts, figures)


if __name__ == "__main__":
    main()
