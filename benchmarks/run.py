#!/usr/bin/env python3
"""Run benchmarks by name, one after the other; each writes one JSON file per machine into benchmarks/results.

    python benchmarks/run.py --list
    python benchmarks/run.py map verification                 # on the CPU
    python benchmarks/run.py --device cuda verify-kernels lcs # on the first GPU
    python benchmarks/run.py --quick --results /tmp/try map   # small, for a look; elsewhere, as it measures little

Data are fetched and simulated as data.py says; peers that are installed next to gpualign are timed with it.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import data

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Benchmark:
    """Command lines of a script.

    Attributes:
        script: file in this folder; its first sentence says what it finds out, and against whom.
        cpu, cuda: its options, once for each run, none where it does not apply; {data} is the folder of genomes,
            {device} what --device said. Without either it runs once, on the CPU.
        quick: what makes a command line small.
        genomes: those of data.GENOMES that it reads from {data}.
    """

    script: str
    cpu: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    quick: str = ""
    genomes: tuple[str, ...] = ()

    @property
    def devices(self) -> dict[str, tuple[str, ...]]:
        return {"cpu": self.cpu or ("",) * (not self.cuda), "cuda": self.cuda}

    @property
    def question(self) -> str:
        text = ast.get_docstring(ast.parse((HERE / self.script).read_text())) or ""
        return " ".join(text.split("\n\n")[0].split())

    def command_lines(self, device: str, quick: bool) -> Iterator[list[str]]:
        """The script's command lines for a device."""
        for line in self.devices[device.split(":")[0]]:
            words = line.format(device=device, data=data.folder() / "ref").split()
            yield [sys.executable, str(HERE / self.script), *words, *(self.quick.split() if quick else ())]


_MEMS = ("ecoli_mg1655", "ecoli_dh1", "ecoli_536", "ssuis_sc84", "chr20", "chrXtrunc", "pf")
BENCHMARKS = {
    "map": Benchmark("map.py", quick="--sets ecoli_se100 --rounds 1"),
    "map-pairs": Benchmark("map_pairs.py", quick="--rounds 1 --to sam --pairs 20000", genomes=("chr20",)),
    "duplicates": Benchmark("duplicates.py", quick="--molecules 2000"),
    "sort-markdup": Benchmark("sort_markdup.py", quick="--rounds 1 --pairs 20000 --molecules 2000"),
    "umi-errors": Benchmark("umi_errors.py", quick="--molecules 2000"),
    "sort-markdup-devices": Benchmark(
        "sort_markdup_devices.py",
        cuda=("--devices {device},cpu",),
        quick="--pairs 100000 --rounds 1 --bases 3000000 --memory 1G",
    ),
    "record-truth": Benchmark("record_truth.py", quick="--molecules 500"),
    "methylation": Benchmark("methylation.py", quick="--pairs 2000 --slice 100000 --depth 5", genomes=("chr20",)),
    "methylation-devices": Benchmark(
        "methylation_devices.py", cuda=("--device {device}",), quick="--bases 2000000 --pairs 20000 --rounds 1"
    ),
    "sort-and-mark": Benchmark("sort_and_mark.py", quick="--rounds 1 --pairs 20000"),
    "sort-devices": Benchmark(
        "sort_devices.py",
        cuda=("{data}/chr20.fa --device {device}",),
        quick="--pairs 100000 --rounds 1 --memory 08M",
        genomes=("chr20",),
    ),
    "map-devices": Benchmark(
        "map_devices.py",
        cuda=("--device {device} --packed",),
        quick="--reads 200000 --pairs 100000 --share 100000 --rounds 1",
        genomes=("chr20",),
    ),
    "map-realistic": Benchmark(
        "map_devices.py",
        cuda=("--realistic --device {device} --reads= --packed --gzip --cores 4",),
        quick="--pairs 100000 --share 100000 --rounds 1",
        genomes=("chr20",),
    ),
    "map-kernels": Benchmark("map_kernels.py", cuda=("",), quick="--reads 30000", genomes=("chr20",)),
    "map-references": Benchmark(
        "map_references.py",
        cpu=("--bases 300000000,1000000000 --share 200000 --pairs 0 --device cpu --threads 2 --at-once 1",),
        cuda=("--device {device}",),
        quick="--bases 5000000,20000000 --share 10000",
    ),
    "samples": Benchmark(
        "samples.py",
        cpu=("",),
        cuda=("--device {device} --samples 1000 --distinct 50 --threads 16",),
        quick="--samples 10 --pairs 500 --singles 3",
        genomes=("ecoli_mg1655",),
    ),
    "pipelines": Benchmark("pipelines.py", quick="--pairs 2000"),
    "calling": Benchmark("calling.py"),
    "alt": Benchmark("alt_contigs.py", quick="--pairs 200", genomes=("chr20",)),
    "long-reads": Benchmark("long_reads.py", quick="--sets ont10 --rounds 1"),
    "spliced": Benchmark("spliced.py", quick="--reads 500"),
    "spliced-long": Benchmark("spliced_long.py", quick="--seeds 1 --errors 0.05 --reads 30 --genes 20 --bases 400000"),
    "spliced-pairs": Benchmark("spliced_pairs.py", quick="--seeds 1 --pairs 500 --genes 20 --bases 400000"),
    "long-devices": Benchmark(
        "long_devices.py", cuda=("--devices {device}",), quick="--mbp 3 --rounds 1", genomes=("chr20",)
    ),
    "planted-gaps": Benchmark("planted_gaps.py", quick="--reads 1"),
    "planted-splits": Benchmark("planted_splits.py", cpu=("--seeds unseen --reads 40",), quick="--reads 1"),
    "libraries": Benchmark("libraries.py", cpu=("--seeds 2",), quick="--pairs 200 --rounds 1", genomes=("chr20",)),
    "every-kind": Benchmark("every_kind.py", cpu=("--seeds unseen",), quick="--share 0.02"),
    "contigs": Benchmark("contigs.py", quick="--sets aureus --presets asm5 --rounds 1"),
    "variants": Benchmark("variants.py", quick="--coverage 10"),
    "map-accuracy": Benchmark(
        "map_accuracy.py",
        cpu=("--sets pe150@0.2,pe100,se150@0.2,se250,indel20,parts3 --alone se150,parts3@10",),
        quick="--share 0.01",
    ),
    "map-same-bytes": Benchmark(
        "map_same_bytes.py",
        cpu=("",),
        cuda=("--devices cpu,{device}",),
        quick="--share 0.01 --sets pe150,hostile",
        genomes=("chr20",),
    ),
    "all-places": Benchmark("all_loci.py", quick="--sets ecoli --share 0.05"),
    "real-reads": Benchmark("real_reads.py"),
    "validity": Benchmark("validity.py", quick="--sets bundled"),
    "bad-input": Benchmark("bad_input.py"),
    "insert-sizes": Benchmark("insert_sizes.py", quick="--pairs 500 --rounds 1"),
    "verification": Benchmark("verification.py", quick="--pairs 2000 --rounds 1"),
    "verify": Benchmark(
        "verify.py",
        cpu=("--devices cpu",),
        cuda=("--devices {device}",),
        quick="--reads 2000 --bases 1000000 --no-core",
    ),
    "verify-kernels": Benchmark(
        "verify_kernels.py", cuda=("", "--counters", "--streams"), quick="--scale 0.01 --no-sweep --sample 1000"
    ),
    "gpu-peers": Benchmark("gpu_peers.py", cuda=("",)),
    "distances": Benchmark("distances.py", quick="--rounds 1"),
    "pairwise": Benchmark("pairwise.py", cpu=("cpu", "core"), cuda=("gpu",), quick="--rounds 1"),
    "pairwise-vsearch": Benchmark(
        "pairwise.py", cpu=("vsearch {data}/biomarks50k.fa", "windows"), genomes=("biomarks50k",)
    ),
    "pairwise-genomes": Benchmark(
        "pairwise.py",
        cuda=("genomes {data}/ecoli_mg1655.fa {data}/ecoli_536.fa",),
        quick="--symbols 20000",
        genomes=("ecoli_mg1655", "ecoli_536"),
    ),
    "pairwise-modes": Benchmark("pairwise.py", cuda=("modes",), quick="--rounds 1"),
    "pairwise-regimes": Benchmark("pairwise.py", cuda=("regimes", "long-regimes")),
    "cluster-sequences": Benchmark(
        "cluster_sequences.py",
        cpu=("amplicons", "truth", "proteins --identities 0.9 0.5", "scale"),
        cuda=("scale --devices {device} cpu",),
        quick="--rounds 1 --reads 20000",
    ),
    "amplicons": Benchmark(
        "amplicons.py",
        cpu=("search --rounds 3", "sintax", "chimeras"),
        cuda=("coi --device {device}",),
        quick="--scale 0.01 --no-exact-peer",
    ),
    "protein-search": Benchmark("protein_search.py", cuda=("--record",), quick="--targets 3000"),
    "search": Benchmark(
        "search.py",
        cpu=("cpu --save", "long --rounds 1 --save", "barcodes --reads 4000 --save", "qcat --save"),
        cuda=("gpu --device {device} --save", "gpu-barcodes --reads 1000000 --device {device} --save"),
        quick="--rounds 1 --quick",
        genomes=("chr20",),
    ),
    "guides": Benchmark(
        "guides.py",
        cpu=("check --device cpu --save",),
        cuda=("gpu --device {device} --save", "many --device {device} --save"),
        quick="--bases 2000000 --guides 20 --rounds 1",
    ),
    "trim": Benchmark("trim.py", cpu=("adapters --save", "barcodes --save"), quick="--pairs 2000 --rounds 1"),
    "search-recall": Benchmark("search_recall.py", cpu=("",), quick="--queries 5"),
    "gapsmis": Benchmark("gapsmis.py", cpu=("cpu",), cuda=("gpu cpu",)),
    "lcs": Benchmark(
        "lcs.py",
        cpu=("cpu", "paths --device cpu"),
        cuda=("kernel", "command --device {device}", "paths --device {device}"),
    ),
    "mems": Benchmark(
        "mems.py",
        cpu=(
            "{data} --contenders mummer,cpu",
            "{data} --contenders copmem2,cpu --scale 0.01",
            "{data} --unique --threads 1",
        ),
        cuda=("{data} --contenders cpu,cuda --threads 16", "{data} --unique --contenders cpu,cuda --threads 16"),
        quick="mg1655-dh1-l50 --runs 1",
        genomes=_MEMS,
    ),
    "mems-layouts": Benchmark("mems_layouts.py", cuda=("{data}",), genomes=_MEMS),
    "devices": Benchmark("devices.py", cuda=("",)),
    "whole-commands": Benchmark(
        "whole_commands.py",
        cpu=("--scale 0.1",),
        cuda=("--devices cpu+cuda --cores 4",),
        quick="--scale 0.01 --rounds 1",
    ),
    "cluster": Benchmark("cluster.py", quick="--copies 2 --rounds 1"),
}


def run(name: str, device: str, quick: bool) -> bool:
    """Run one benchmark; False when it failed.

    Raises:
        SystemExit: it does not run on that device.
    """
    benchmark = BENCHMARKS[name]
    lines = list(benchmark.command_lines(device, quick))
    if not lines:
        raise SystemExit(f"{name} does not run on {device}")
    for genome in benchmark.genomes:
        data.genome(genome)
    ok = True
    for line in lines:
        print("+", *line[1:], flush=True)
        ok &= subprocess.run(line).returncode == 0
    return ok


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks, or 'all' that run on the device")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:0  [default: cpu]")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--results", type=Path, help="folder for the JSON files  [default: benchmarks/results]")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and leave")
    arguments = parser.parse_args()
    if arguments.list or not arguments.names:
        for name, benchmark in BENCHMARKS.items():
            where = "/".join(kind for kind, lines in benchmark.devices.items() if lines)
            print(f"{name:<18} {where:<9} {benchmark.question}")
        return
    if arguments.results:
        os.environ["GPUALIGN_BENCH_RESULTS"] = str(arguments.results.resolve())
    kind, names = arguments.device.split(":")[0], arguments.names
    if names == ["all"]:
        names = [name for name, one in BENCHMARKS.items() if one.devices[kind]]
    if unknown := set(names) - set(BENCHMARKS):
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))} (known: {', '.join(BENCHMARKS)})")
    failed = [name for name in names if not run(name, arguments.device, arguments.quick)]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
