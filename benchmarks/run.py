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
    """A question and the script that answers it.

    Attributes:
        question: what it finds out, and against whom.
        script: file in this folder.
        cpu, cuda: command lines of the script, none where it does not apply; {data} is the folder of genomes, {device}
            what --device said.
        quick: what makes a command line small.
        genomes: those of data.GENOMES that it reads from {data}.
    """

    question: str
    script: str
    cpu: tuple[str, ...] = ()
    cuda: tuple[str, ...] = ()
    quick: str = ""
    genomes: tuple[str, ...] = ()

    def command_lines(self, device: str, quick: bool) -> Iterator[list[str]]:
        """The script's command lines for a device."""
        for line in self.cpu if device == "cpu" else self.cuda:
            words = line.format(device=device, data=data.folder() / "ref").split()
            yield [sys.executable, str(HERE / self.script), *words, *(self.quick.split() if quick else ())]


_MEMS = ("ecoli_mg1655", "ecoli_dh1", "ecoli_536", "ssuis_sc84", "chr20", "chrXtrunc", "pf")
BENCHMARKS = {
    "map": Benchmark(
        "map: speed, memory, accuracy, index, compared with minimap2, bwa mem, bowtie2 and brute force by edlib",
        "map.py",
        cpu=("",),
        quick="--sets ecoli_se100 --rounds 1 --no-brute-force",
    ),
    "map-pairs": Benchmark(
        "map: pairs to SAM and sorted BAM, compared with minimap2, bwa mem and samtools sort",
        "map_pairs.py",
        cpu=("",),
        quick="--rounds 1 --to sam --pairs 20000",
    ),
    "duplicates": Benchmark(
        "map --mark-duplicates: which templates, compared with samtools markdup and Picard's MarkDuplicates",
        "duplicates.py",
        cpu=("",),
        quick="--molecules 2000",
    ),
    "sort-and-mark": Benchmark(
        "map: pairs to sorted, marked and indexed BAM, compared with bwa mem and samtools",
        "sort_and_mark.py",
        cpu=("",),
        quick="--rounds 1 --pairs 20000",
    ),
    "map-devices": Benchmark(
        "map on a GPU as a whole command, compared with the CPU and minimap2",
        "map_devices.py",
        cuda=("--device {device} --packed",),
        quick="--reads 200000 --pairs 100000 --share 100000 --rounds 1",
        genomes=("chr20",),
    ),
    "map-kernels": Benchmark(
        "map's kernel alone, by size of batch, and where its time goes",
        "map_kernels.py",
        cuda=("--profile",),
        quick="--reads 30000",
        genomes=("chr20",),
    ),
    "map-references": Benchmark(
        "map on a GPU to chr20, all genomes together, and a synthetic one of 3.1 Gbp",
        "map_references.py",
        cuda=("--device {device}",),
        quick="--synthetic 50000000 --reads 200000",
        genomes=tuple(name for name in data.GENOMES if name != "biomarks50k"),
    ),
    "samples": Benchmark(
        "map --samples: many small samples at once, compared with single runs and bwa mem",
        "samples.py",
        cpu=("",),
        cuda=("--device {device} --samples 1000 --distinct 50 --threads 16",),
        quick="--samples 10 --pairs 500 --singles 3",
        genomes=("ecoli_mg1655",),
    ),
    "pipelines": Benchmark(
        "mem in pipelines around bwa mem: Hi-C into pairtools, duplicates by samtools",
        "pipelines.py",
        cpu=("",),
        quick="--pairs 2000",
    ),
    "calling": Benchmark(
        "mem in a pipeline from lanes to variants: Snakemake, Picard, bcftools",
        "calling.py",
        cpu=("",),
    ),
    "long-reads": Benchmark(
        "map -x ont and hifi: speed, memory, accuracy, compared with minimap2",
        "long_reads.py",
        cpu=("",),
        quick="--sets ont10 --rounds 1",
    ),
    "planted-gaps": Benchmark(
        "map -x ont and hifi: planted gaps and inversions of 20 bases to 10 kb, compared with minimap2",
        "planted_gaps.py",
        cpu=("",),
        quick="--reads 1",
    ),
    "planted-splits": Benchmark(
        "map -x ont and hifi: reads of several pieces, many joined within repeats, compared with minimap2",
        "planted_splits.py",
        cpu=("--seeds unseen --reads 40",),
        quick="--reads 1",
    ),
    "variants": Benchmark(
        "map: variants planted and called again, compared with bwa mem and minimap2",
        "variants.py",
        cpu=("",),
        quick="--coverage 10",
    ),
    "map-accuracy": Benchmark(
        "map: simulated pairs, errors, long gaps, split alignments; wrong reads at each MAPQ, bwa mem, minimap2",
        "map_accuracy.py",
        cpu=("--sets pe150@0.2,pe100,se150@0.2,se250,indel20,parts3 --alone se150,parts3@10",),
        quick="--share 0.01",
    ),
    "all-places": Benchmark(
        "map --sensitivity full --all: alignments found, compared with RazerS 3 and Yara",
        "all_loci.py",
        cpu=("",),
        quick="--sets ecoli --share 0.05",
    ),
    "real-reads": Benchmark("map: agreement with bwa mem on real reads", "real_reads.py", cpu=("",)),
    "mapper-api": Benchmark(
        "map: Mapper over a Python iterator of reads, compared with mappy",
        "mapper_api.py",
        cpu=("",),
        quick="--reads 2000 --rounds 1 --genomes ecoli_mg1655",
    ),
    "validity": Benchmark(
        "map: what samtools and bcftools say of its output", "validity.py", cpu=("",), quick="--sets bundled"
    ),
    "bad-input": Benchmark(
        "what each command does with bad input, compared with other programs", "bad_input.py", cpu=("",)
    ),
    "verification": Benchmark(
        "the verification loop on one thread, compared with edlib",
        "verification.py",
        cpu=("",),
        quick="--pairs 2000 --rounds 1",
    ),
    "verify": Benchmark(
        "verify as a whole command, and its CPU kernel compared with edlib, one thread each",
        "verify.py",
        cpu=("--devices cpu",),
        cuda=("--devices {device}",),
        quick="--reads 2000 --bases 1000000 --no-core",
    ),
    "verify-kernels": Benchmark(
        "the verification kernels: rates by length, bands, threads per pair",
        "verify_kernels.py",
        cuda=("", "--counters", "--streams"),
        quick="--scale 0.01 --no-sweep --sample 1000",
    ),
    "gpu-peers": Benchmark(
        "edit distances and Needleman-Wunsch scores on a GPU, compared with StringZillas", "gpu_peers.py", cuda=("",)
    ),
    "distances": Benchmark(
        "distances and scores of all pairs, and long pairs, compared with RapidFuzz, edlib, parasail and StringZillas",
        "distances.py",
        cpu=("",),
        cuda=("--device {device}",),
        quick="--rounds 1",
    ),
    "pairwise": Benchmark(
        "pairwise: compared with parasail on the CPU; rates and whole commands on a GPU",
        "pairwise.py",
        cpu=("cpu", "core"),
        cuda=("gpu",),
        quick="--rounds 1",
    ),
    "pairwise-vsearch": Benchmark(
        "pairwise: identities compared with vsearch --allpairs_global",
        "pairwise.py",
        cpu=("vsearch {data}/biomarks50k.fa", "windows"),
        genomes=("biomarks50k",),
    ),
    "pairwise-genomes": Benchmark(
        "pairwise: two genomes on a GPU, score and alignment",
        "pairwise.py",
        cuda=("genomes {data}/ecoli_mg1655.fa {data}/ecoli_536.fa",),
        quick="--symbols 20000",
        genomes=("ecoli_mg1655", "ecoli_536"),
    ),
    "pairwise-modes": Benchmark(
        "pairwise: scores of semi-global and local alignments on a GPU, compared with the CPU",
        "pairwise.py",
        cuda=("modes",),
        quick="--rounds 1",
    ),
    "pairwise-regimes": Benchmark(
        "pairwise: each GPU kernel where it could run, and the planner's choice",
        "pairwise.py",
        cuda=("regimes", "long-regimes"),
    ),
    "gapsmis": Benchmark(
        "bounded gaps: GapsMis' own experiment on a GPU; the CPU compared with a plain loop",
        "gapsmis.py",
        cpu=("cpu",),
        cuda=("gpu cpu",),
    ),
    "gapsmis-sweep": Benchmark("bounded gaps: launch numbers, for the tuning table", "sweep_gapsmis.py", cuda=("",)),
    "lcs": Benchmark(
        "lcs-filter: the CPU compared with RapidFuzz; the kernel and the whole command on a GPU",
        "lcs.py",
        cpu=("cpu", "paths --device cpu"),
        cuda=("kernel", "sweep", "command --device {device}", "paths --device {device}"),
    ),
    "mems": Benchmark(
        "mems: speed and memory compared with MUMmer; a GPU compared with the CPU",
        "mems.py",
        cpu=("{data} --contenders mummer,cpu", "{data} --unique --threads 1"),
        cuda=("{data} --contenders cpu,cuda --threads 16", "{data} --unique --contenders cpu,cuda --threads 16"),
        quick="mg1655-dh1-l50 --runs 1",
        genomes=_MEMS,
    ),
    "mems-layouts": Benchmark(
        "mems: layouts of index, text and matches on a GPU", "mems_layouts.py", cuda=("{data}",), genomes=_MEMS
    ),
    "devices": Benchmark("1 to n GPUs of a machine, and all of them with the CPU", "devices.py", cuda=("",)),
    "cluster": Benchmark("what a Dask cluster costs", "cluster.py", cpu=("",), quick="--copies 2 --rounds 1"),
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
            where = "/".join(word for word in ("cpu", "cuda") if getattr(benchmark, word))
            print(f"{name:<18} {where:<9} {benchmark.question}")
        return
    if arguments.results:
        os.environ["GPUALIGN_BENCH_RESULTS"] = str(arguments.results.resolve())
    kind = "cpu" if arguments.device == "cpu" else "cuda"
    names = (
        [name for name, one in BENCHMARKS.items() if getattr(one, kind)]
        if arguments.names == ["all"]
        else arguments.names
    )
    if unknown := set(names) - set(BENCHMARKS):
        raise SystemExit(f"no benchmark {', '.join(sorted(unknown))} (known: {', '.join(BENCHMARKS)})")
    failed = [name for name in names if not run(name, arguments.device, arguments.quick)]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
