"""`gpualign cluster` beside vsearch, cd-hit and mmseqs: time, clusters, and how well they agree with what is known.

    python benchmarks/cluster_sequences.py amplicons [--rounds 3]   BioMarKs (18S) of Debian's vsearch-examples, 97 %
    python benchmarks/cluster_sequences.py proteins [--rounds 1] [--identities 0.9 0.5]   of Debian's mmseqs2-examples
    python benchmarks/cluster_sequences.py truth [--reads 20000]    reads of known templates; 16S genes of known genera
    python benchmarks/cluster_sequences.py scale [--reads 1000000] [--lengths 250 1450] [--devices cuda cpu]
                                                                    simulated reads at 97 %, seconds by stage

Programs have two threads each and run one after the other, each round in another order; ratios are of processor time
within a round, which other work on the machine changes least. vsearch runs at its defaults, which are a heuristic.
`truth` gives adjusted Rand indices: 1 where the clusters are the templates or genera, 0 where they are no better than
chance. `scale` needs no peers: reads of 250 bases are of 5,000 unrelated templates, those of 1,450 of 30,000 that
descend from one another as 16S genes do, both with 0.5 % errors.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from data import packaged, read_fasta
from harness import Timing, interleave, machine, ratio, run_timed, save, summary

GPUALIGN = [sys.executable, "-m", "gpualign"]
PROGRAMS = ("vsearch", "cd-hit", "mmseqs")
THREADS = "2"
Labels = dict[str, str]


def labels_of_uc(path: Path) -> Labels:
    """Sequence -> cluster, of records S and H."""
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {row[8]: row[1] for row in rows if row[0] in "SH"}


def labels_of_cd_hit(path: Path) -> Labels:
    labels, cluster = {}, ""
    for line in path.read_text().splitlines():
        if line.startswith(">"):
            cluster = line[1:]
        else:
            labels[line.split(">", 1)[1].split("... ")[0]] = cluster
    return labels


def labels_of_mmseqs(path: Path) -> Labels:
    return {member: centroid for centroid, member in (line.split("\t") for line in path.read_text().splitlines())}


def adjusted_rand(one: Labels, other: Labels) -> float:
    """Of the sequences that both have."""
    names = sorted(one.keys() & other.keys())
    both = Counter((one[name], other[name]) for name in names)
    pairs = sum(comb(count, 2) for count in both.values())
    of_one, of_other = (
        sum(comb(count, 2) for count in Counter(labels[name] for name in names).values()) for labels in (one, other)
    )
    expected = of_one * of_other / comb(len(names), 2)
    return round((pairs - expected) / ((of_one + of_other) / 2 - expected), 4)


Case = Callable[[], tuple[Timing, Labels]]


def gpualign(fasta: Path, folder: Path, *options: str) -> tuple[Timing, Labels]:
    uc = folder / "gpualign.uc"
    words = ["cluster", fasta, *options, "--uc", uc, "-t", THREADS, "--device", "cpu", "-q", "-o", folder / "table"]
    return run_timed([*GPUALIGN, *words]), labels_of_uc(uc)


def vsearch(fasta: Path, folder: Path, command: str, identity: str) -> tuple[Timing, Labels]:
    uc = folder / "vsearch.uc"
    words = [command, fasta, "--id", identity, "--uc", uc, "--minseqlength", "1", "--quiet", "--threads", THREADS]
    return run_timed(["vsearch", *words]), labels_of_uc(uc)


def cd_hit(fasta: Path, folder: Path, program: str, identity: str, word: str) -> tuple[Timing, Labels]:
    out = folder / "cd-hit"
    words = ["-i", fasta, "-o", out, "-c", identity, "-n", word, "-T", THREADS, "-M", "8000", "-d", "0"]
    return run_timed([program, *words]), labels_of_cd_hit(out.with_suffix(".clstr"))


def mmseqs(fasta: Path, folder: Path, identity: str) -> tuple[Timing, Labels]:
    words = ["easy-cluster", fasta, folder / "mmseqs", folder / "mmseqs_tmp", "--min-seq-id", identity, "-c", "0.8"]
    return run_timed(["mmseqs", *words, "--threads", THREADS, "-v", "1"]), labels_of_mmseqs(
        folder / "mmseqs_cluster.tsv"
    )


def compared(cases: dict[str, Case], rounds: int, truth: Labels | None = None) -> dict[str, Any]:
    """Times, numbers of clusters, ratios of processor time, and agreement."""
    runs = interleave(cases, rounds)
    ours = runs["gpualign"]
    rows: dict[str, Any] = {}
    for name, results in runs.items():
        labels = results[0][1]
        row = {"clusters": len(set(labels.values())), **summary([timing for timing, _ in results])}
        if name != "gpualign":
            row["cpu_ratio"] = ratio([t.cpu_s for t, _ in ours], [t.cpu_s for t, _ in results])
            row["agreement_with_gpualign"] = adjusted_rand(ours[0][1], labels)
        if truth is not None:
            row["adjusted_rand"] = adjusted_rand(truth, labels)
        rows[name] = row
        print(name, {key: value for key, value in row.items() if key != "runs"}, flush=True)
    return rows


def amplicons(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    fasta = folder / "biomarks.fa"
    fasta.write_bytes(gzip.decompress(packaged("vsearch-examples", "vsearch-examples/BioMarKs50k.fsa.gz").read_bytes()))
    cases: dict[str, Case] = {
        "gpualign": partial(gpualign, fasta, folder, "--id", "0.97", "--order", "size"),
        "vsearch": partial(vsearch, fasta, folder, "--cluster_size", "0.97"),
        "cd-hit-est": partial(cd_hit, fasta, folder, "cd-hit-est", "0.97", "8"),
    }
    return compared(cases, arguments.rounds)


def proteins(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    fasta = folder / "proteins.fa"
    found = read_fasta(packaged("mmseqs2-examples", "mmseqs2/example-data/DB.fasta.gz"))
    # names that no program takes apart
    fasta.write_text("".join(f">p{i}\n{text.decode()}\n" for i, text in enumerate(found.values())))
    rows = {}
    for identity in arguments.identities:
        cases: dict[str, Case] = {
            "gpualign": partial(gpualign, fasta, folder, "--id", identity, "--matrix", "BLOSUM62"),
            "cd-hit": partial(cd_hit, fasta, folder, "cd-hit", identity, "5" if float(identity) > 0.7 else "3"),
            "mmseqs": partial(mmseqs, fasta, folder, identity),
        }
        rows[identity] = compared(cases, arguments.rounds)
    return rows


def truth(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    rng, rows = random.Random(1), {}
    templates = ["".join(rng.choices("ACGT", k=250)) for _ in range(200)]
    # relatives of one another, so that clusters can be wrong
    templates += ["".join(c if rng.random() > 0.06 else rng.choice("ACGT") for c in text) for text in templates]
    reads, known = {}, {}
    for i in range(arguments.reads):
        at = rng.randrange(len(templates))
        reads[f"r{i}"] = "".join(errors(rng, templates[at], 0.01))
        known[f"r{i}"] = str(at)
    rows["reads of 400 templates"] = beside_vsearch(folder, reads, known, arguments.rounds)
    gold = packaged("microbiomeutil-data", "../microbiomeutil-data/RESOURCES/rRNA16S.gold.fasta")
    genera = {}
    for line in gold.read_text().splitlines():
        if line.startswith(">") and (found := re.search(r"\t((?:Bacteria|Archaea);.*)$", line)):
            genera[line[1:].split()[0]] = found[1].split(";")[-1].strip()
    genes = {name.split()[0]: text.decode() for name, text in read_fasta(gold).items()}
    # their ends differ, so gaps there do not count, as by default in vsearch
    rows["16S genes by genus"] = beside_vsearch(
        folder, genes, genera, arguments.rounds, "--iddef", "2", "--min-coverage", "0.75"
    )
    return rows


def errors(rng: random.Random, text: str, rate: float) -> Iterable[str]:
    for symbol in text:
        kind = rng.random() / rate
        if kind >= 0.2:
            yield symbol if kind >= 1 else rng.choice("ACGT")
        elif kind < 0.1:
            yield symbol + rng.choice("ACGT")


def beside_vsearch(
    folder: Path, sequences: dict[str, str], known: Labels, rounds: int, *options: str
) -> dict[str, Any]:
    fasta = folder / "known.fa"
    fasta.write_text("".join(f">{name}\n{text}\n" for name, text in sequences.items()))
    cases: dict[str, Case] = {
        "gpualign": partial(gpualign, fasta, folder, "--id", "0.97", *options),
        "vsearch": partial(vsearch, fasta, folder, "--cluster_fast", "0.97"),
    }
    return compared(cases, rounds, known)


def scale(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    rows = {}
    for length in arguments.lengths:
        templates = (30_000 if length > 1000 else 5_000) * arguments.reads // 1_000_000
        fasta = folder / f"{length}.fa"
        simulate(fasta, arguments.reads, length, max(templates, 10), related=length > 1000)
        for device in arguments.devices:
            report, uc, table = folder / "report.json", folder / "out.uc", folder / "table"
            words = ["cluster", fasta, "--id", "0.97", "--device", device, "--uc", uc, "-o", table, "--json", report]
            words += ["--centroids", folder / "centroids"]
            words += ["-t", str(arguments.threads)] if arguments.threads else []
            timing = run_timed([*GPUALIGN, *words])
            fields = json.loads(report.read_text())
            names = ("device", "threads", "sequences", "distinct", "clusters", "pairs_after_words", "seconds")
            row = {name: fields[name] for name in (*names, "wall_s", "peak_rss_mb", "index_mb")}
            digest = hashlib.sha256(uc.read_bytes() + table.read_bytes()).hexdigest()[:16]
            rows[f"{length} {device}"] = {**row, **asdict(timing), "outputs": digest}
            print(f"{arguments.reads:,} reads of {length} bases:", rows[f"{length} {device}"], flush=True)
        fasta.unlink()
    return rows


def simulate(path: Path, reads: int, length: int, templates: int, related: bool) -> None:
    """Reads of random templates with 0.5 % errors, of which 80 % are substitutions, 10 % insertions and 10 % deletions.
    Related templates differ from an earlier one by up to 6 %.
    """
    rng, bases = np.random.default_rng(1), np.frombuffer(b"ACGT", np.uint8)
    known = rng.integers(0, 4, (templates, length), np.uint8)
    for i in range(1, templates if related else 0):
        known[i] = known[rng.integers(0, i)]
        changed = rng.integers(0, length, rng.integers(1, length * 6 // 100))
        known[i, changed] = rng.integers(0, 4, len(changed), np.uint8)
    with path.open("wb") as out:
        for first in range(0, reads, 20_000):
            symbols = known[rng.integers(0, templates, min(20_000, reads - first))]
            flat, copies = symbols.ravel(), np.ones(symbols.size, np.uint8)
            at, kind = rng.integers(0, len(flat), len(flat) // 200), rng.random(len(flat) // 200)
            changed = at[kind < 0.8]
            flat[changed] = (flat[changed] + rng.integers(1, 4, len(changed), np.uint8)) & 3
            copies[at[kind >= 0.8]] = 0
            copies[at[kind >= 0.9]] = 2
            text = np.repeat(bases[flat], copies).tobytes()
            ends = np.cumsum(copies.reshape(symbols.shape).sum(axis=1, dtype=np.int64)).tolist()
            starts = [0, *ends[:-1]]
            records = (
                b">r%d\n%s\n" % (first + i, text[a:b]) for i, (a, b) in enumerate(zip(starts, ends, strict=True))
            )
            out.write(b"".join(records))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["amplicons", "proteins", "truth", "scale"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--reads", type=int, help="default: 20,000; of scale 1,000,000")
    parser.add_argument("--lengths", type=int, nargs="+", default=[250, 1450])
    parser.add_argument("--devices", nargs="+", default=["cpu"])
    parser.add_argument("--threads", type=int, help="of scale; by default all")
    parser.add_argument("--identities", nargs="+", default=["0.9", "0.5"])
    arguments = parser.parse_args()
    arguments.reads = arguments.reads or (1_000_000 if arguments.what == "scale" else 20_000)
    run = {"amplicons": amplicons, "proteins": proteins, "truth": truth, "scale": scale}[arguments.what]
    with tempfile.TemporaryDirectory() as folder:
        results = run(arguments, Path(folder))
    programs = () if arguments.what == "scale" else ("vsearch", "mmseqs")
    save(f"clustering-{arguments.what}", machine(programs), {"results": results})


if __name__ == "__main__":
    main()
