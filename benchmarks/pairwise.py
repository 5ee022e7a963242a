"""`pairwise` against parasail and vsearch on the CPU, its four GPU kernels by regime, and whole commands on a GPU.

    python benchmarks/pairwise.py cpu                            # parasail with as many processes as threads
    python benchmarks/pairwise.py vsearch amplicons.fa           # identities of vsearch --allpairs_global
    python benchmarks/pairwise.py windows                        # the same on S. aureus' 16S genes and windows
    python benchmarks/pairwise.py core                           # one long pair on one core, by mode
    python benchmarks/pairwise.py gpu                            # rates
    python benchmarks/pairwise.py genomes a.fa b.fa              # one long pair, its score and its alignment
    python benchmarks/pairwise.py modes                          # scores of semi-global and local alignments
    python benchmarks/pairwise.py regimes|long-regimes           # every kernel where it could run, and the planner

Each writes ``results/pairwise-<part>-<machine>.json``. Cells are query length times
target length times pairs; CUPS are cells a second. ``kernel_s`` is what the device's own events say, ``wall_s`` the
whole command in this process, with reading and writing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import re
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import data
import numpy as np
from families import AMINO_ACIDS, write_family, write_random
from harness import record
from pairwise_genomes import genomes
from pairwise_regimes import LENGTHS, LONG, regimes

from gpualign.cli import main


def run(arguments: list[str]) -> dict[str, Any]:
    """One command in this process; its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = f"{folder}/report.json"
        output = [] if "-o" in arguments else ["-o", f"{folder}/out.tsv"]
        start = time.perf_counter()
        try:
            main(["pairwise", "-q", "--json", report, *output, *arguments])
        except SystemExit as end:
            if end.code != 0:
                raise RuntimeError(f"pairwise {' '.join(arguments)} failed") from end
        wall = time.perf_counter() - start
        fields = json.loads(Path(report).read_text())
        fields["wall_s"] = round(wall, 4)
        return fields


def lengths_of(path: Path) -> np.ndarray:
    return np.array([len(line) - 1 for line in open(path) if not line.startswith(">")], np.float64)


def triangle_cells(path: Path) -> float:
    lengths = lengths_of(path)
    return float((lengths.sum() ** 2 - (lengths**2).sum()) / 2)


# -- the CPU backend

#: symbols of long pairs, for the longest of which parasail takes more than twenty minutes: without it
_LONG_PAIRS, _LONG_PEERS = (30_000, 100_000, 1_000_000), ("nw_striped_32", "nw_scan_32")


def _parasail_scores(job: tuple[list[str], str, int, int, str]) -> int:
    import parasail

    sequences, kind, gap_open, gap_extend, function = job
    matrix = parasail.blosum62 if kind == "protein" else parasail.matrix_create("ACGT", 5, -4)
    total = 0
    for query in sequences[:-1]:
        profile = parasail.profile_create_16(query, matrix)
        for target in sequences:
            total += getattr(parasail, function)(profile, target, gap_open, gap_extend).score
    return total


def cpu(rounds: int) -> dict[str, Any]:
    """Scores, 2 threads here and 2 processes there, interleaved; parasail's better function is the peer."""
    import os

    workers = len(os.sched_getaffinity(0))
    results: dict[str, Any] = {"workers": workers}
    cases = {
        "linear 1536": ("dna", 1536, ["--gap", "10"], 10, 10),
        "affine 1536": ("dna", 1536, [], 10, 1),
        "BLOSUM62 affine 512": ("protein", 512, ["--matrix", "BLOSUM62", "--gapopen", "11"], 11, 1),
    }
    with tempfile.TemporaryDirectory() as folder, multiprocessing.get_context("spawn").Pool(workers) as pool:
        for name, (kind, length, options, gap_open, gap_extend) in cases.items():
            alphabet = AMINO_ACIDS if kind == "protein" else "ACGT"
            count = 260 if length < 1000 else 130
            path = write_family(Path(folder) / "a.fa", count, length, count, 1.0, 0.0, alphabet)
            sequences = [line.strip() for line in open(path) if not line.startswith(">")]
            ours: list[float] = []
            theirs: dict[str, list[float]] = {}
            for _ in range(rounds):
                report = run([str(path), *options, "--score-only", "--device", "cpu", "-t", str(workers)])
                ours.append(triangle_cells(path) / report["wall_s"])
                for function in ("nw_striped_profile_16", "nw_scan_profile_16"):
                    part = 13
                    jobs = [
                        (sequences[i : i + part], kind, gap_open, gap_extend, function) for i in range(0, 104, part)
                    ]
                    start = time.perf_counter()
                    pool.map(_parasail_scores, jobs, chunksize=1)
                    cells = len(jobs) * (part - 1) * part * length**2
                    theirs.setdefault(function, []).append(cells / (time.perf_counter() - start))
            best = max(theirs, key=lambda function: statistics.median(theirs[function]))
            results[name] = {
                "gcups": round(statistics.median(ours) / 1e9, 2),
                "parasail_gcups": {f: round(statistics.median(rates) / 1e9, 2) for f, rates in theirs.items()},
                "times_parasail": round(statistics.median(a / b for a, b in zip(ours, theirs[best], strict=True)), 2),
            }
    return results


def core(rounds: int) -> list[dict[str, Any]]:
    """One long pair on one core, by mode; global scores against parasail's, interleaved."""
    rows: list[dict[str, Any]] = []
    cases = list(itertools.product(_LONG_PAIRS[:-1], ["global"], ("affine", "linear")))
    cases += [(_LONG_PAIRS[0], "semi-global", "affine"), (_LONG_PAIRS[0], "local", "affine")]
    cases += [(_LONG_PAIRS[-1], "global", "affine")]
    with tempfile.TemporaryDirectory() as folder:
        for length, mode, gaps in cases:
            path = write_family(Path(folder) / "a.fa", 2, length, 1, 0.0, 0.3)
            command = [str(path), "--mode", mode, "--device", "cpu", "-t", "1"]
            command += ["--gap", "10"] if gaps == "linear" else []
            walls: dict[str, list[float]] = {"score": [], "alignment": []}
            longest = length == _LONG_PAIRS[-1]
            peers: dict[str, list[float]] = {name: [] for name in _LONG_PEERS if mode == "global" and not longest}
            for _ in range(1 if longest else rounds):
                for of, each in walls.items():
                    each.append(run([*command, *(["--score-only"] if of == "score" else [])])["wall_s"])
                for name, each in peers.items():
                    each.append(_parasail_pair(path, name, 10 if gaps == "linear" else 1))
            for of, each in walls.items():
                wall = statistics.median(each)
                rate = triangle_cells(path) / 1e9
                row = {"letters": length, "mode": mode, "gaps": gaps, "of": of, "wall_s": round(wall, 3)}
                row["gcups"] = round(rate / wall, 3)
                if of == "score" and peers:
                    row["parasail_gcups"] = {name: round(rate / statistics.median(t), 2) for name, t in peers.items()}
                rows.append(row)
                print(row, flush=True)
    return rows


def _parasail_pair(path: Path, function: str, gap_extend: int) -> float:
    """Seconds for the score of a file's two sequences."""
    import parasail

    first, second = (line.strip() for line in open(path) if not line.startswith(">"))
    matrix = parasail.matrix_create("ACGT", 5, -4)
    start = time.perf_counter()
    getattr(parasail, function)(first, second, 10, gap_extend, matrix)
    return time.perf_counter() - start


def vsearch(whole: str, records: int) -> dict[str, Any]:
    """Scores and identities of a file's first records, all pairs, under the same scores and definition."""
    fields = "query+target+id+raw"
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "first.fa")
        sequences = dict(itertools.islice(data.read_fasta(Path(whole)).items(), records))
        Path(path).write_text("".join(f">{name}\n{alphabet.decode()}\n" for name, alphabet in sequences.items()))
        theirs, ours = Path(folder) / "vsearch.tsv", Path(folder) / "gpualign.tsv"
        scores = ["--match", "5", "--mismatch", "-4", "--gapopen", "10", "--gapext", "1", "--iddef", "1"]
        start = time.perf_counter()
        subprocess.run(
            ["vsearch", "--allpairs_global", path, "--acceptall", *scores, "--userout", theirs, "--userfields", fields,
             "--quiet"],
            check=True,
        )  # fmt: skip
        peer_wall = time.perf_counter() - start
        report = run([path, *scores, "--userfields", fields, "--device", "cpu", "-o", str(ours)])

        def name(text: str) -> str:
            return text.split(";")[0]

        known = {}
        for line in open(theirs):
            query, target, identity, score = line.rstrip("\n").split("\t")
            known[frozenset((name(query), name(target)))] = (float(identity), int(score))
        pairs = scores_equal = identities_equal = higher_than_ours = similar = similar_equal = 0
        for line in ours.read_text().splitlines()[1:]:
            query, target, identity_text, score_text = line.split("\t")
            peer = known.get(frozenset((name(query), name(target))))
            if peer is None:
                continue
            pairs += 1
            scores_equal += int(score_text) == peer[1]
            higher_than_ours += int(score_text) < peer[1]
            same = abs(float(identity_text) - peer[0]) < 0.051  # vsearch prints one decimal
            identities_equal += same
            similar += peer[0] >= 90
            similar_equal += same and peer[0] >= 90
    return {
        "file": f"{Path(whole).name}, {len(sequences)} records",
        "pairs": pairs,
        "scores_equal": scores_equal,
        "vsearch_scores_higher": higher_than_ours,
        "identities_equal": identities_equal,
        "pairs_from_90_percent": similar,
        "their_identities_equal": similar_equal,
        "note": "pairs with equal scores and unequal identities have several optimal alignments",
        "wall_s": report["wall_s"],
        "vsearch_wall_s": round(peer_wall, 3),
    }


def write_windows(path: Path, others: int = 60) -> Path:
    """Every 16S gene of five S. aureus chromosomes, from primer 27F (Lane 1991) on, and as many symbols from
    ``others`` evenly spaced positions.
    """
    primer, length = re.compile(b"AGAGTTTGATC[ACM]TGGCTCAG"), 1542
    strains = [name for name in data.GENOMES if name.startswith("saureus")]
    with open(path, "wb") as out:
        for name in strains:
            (chromosome,) = data.read_fasta(data.genome(name)).values()
            for strand, alphabet in (("+", chromosome), ("-", data.reverse_complement(chromosome))):
                for gene in primer.finditer(alphabet):
                    out.write(b">%s_16S_%d%s\n" % (name.encode(), gene.start(), strand.encode()))
                    out.write(alphabet[gene.start() : gene.start() + length] + b"\n")
            for locus in np.linspace(0, len(chromosome) - length, others // len(strains)).astype(int).tolist():
                out.write(b">%s_%d\n%s\n" % (name.encode(), locus, chromosome[locus : locus + length]))
    return path


def windows() -> dict[str, Any]:
    """The same on genes and windows of chromosomes."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_windows(Path(folder) / "16S genes and windows of five S. aureus")
        return vsearch(str(path), 1000)


# -- a GPU


def _measure(path: Path, options: list[str], cells: float, repeats: int = 3) -> dict[str, Any]:
    reports = [run([str(path), "--device", "cuda", *options]) for _ in range(repeats)]
    kernel = statistics.median(report["devices"][0]["kernel_s"] for report in reports)
    wall = statistics.median(report["wall_s"] for report in reports)
    return {
        "pairs": reports[0]["pairs"],
        "kernel_s": round(kernel, 4),
        "wall_s": round(wall, 3),
        "tcups": round(cells / kernel / 1e12, 3),
        "pairs_per_s": round(reports[0]["pairs"] / kernel),
        "peak_vram_mb": reports[0]["devices"][0]["peak_vram_mb"],
    }


def gpu() -> dict[str, Any]:
    """The rates that the README cites, one H200 in mind."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        dna = write_family(base / "dna.fa", 2500, 1536, 2500, 1.0, 0.0)
        protein = write_family(base / "protein.fa", 3000, 512, 3000, 1.0, 0.0, AMINO_ACIDS)
        few = write_family(base / "few.fa", 700, 1536, 700, 1.0, 0.0)
        similar = write_family(base / "similar.fa", 700, 1536, 1, 0.0, 0.2)
        genes = write_family(base / "genes.fa", 25_000, 1500, 1500, 0.15, 0.05, seed=5)
        run([str(similar), "--device", "cuda", "--score-only"])  # loads the module
        blosum = ["--matrix", "BLOSUM62", "--gapopen", "11"]
        cases = {
            "score only, linear, 1536": (dna, ["--score-only", "--gap", "10"]),
            "score only, affine, 1536": (dna, ["--score-only"]),
            "score only, BLOSUM62 affine, 512": (protein, ["--score-only", *blosum]),
            "alignments, linear, 1536, unrelated": (few, ["--gap", "10"]),
            "alignments, affine, 1536, unrelated": (few, []),
            "alignments, linear, 1536, similar": (similar, ["--gap", "10"]),
            "alignments, affine, 1536, similar": (similar, []),
        }
        for name, (path, options) in cases.items():
            results[name] = _measure(path, options, triangle_cells(path))
        queries = write_family(base / "queries.fa", 16, 512, 16, 1.0, 0.0, AMINO_ACIDS, seed=2)
        subjects = write_random(base / "subjects.fa", 300_000, 512, AMINO_ACIDS)
        results["16 x 300,000, score only, BLOSUM62 affine, 512"] = _measure(
            queries, [str(subjects), "--score-only", *blosum], lengths_of(queries).sum() * lengths_of(subjects).sum()
        )
        results["25,000 x 1,500 all against all, --id 0.97"] = _measure(
            genes, ["--id", "0.97"], triangle_cells(genes), repeats=1
        )
    return results


def modes(rounds: int) -> dict[str, Any]:
    """Scores of semi-global and of local alignments on a GPU against all cores, interleaved; both print the same."""
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        dna = write_family(base / "dna.fa", 500, 1536, 500, 1.0, 0.0)
        protein = write_family(base / "protein.fa", 1200, 512, 1200, 1.0, 0.0, AMINO_ACIDS)
        cases = {
            "linear, 1536": (dna, ["--gap", "10"]),
            "affine, 1536": (dna, []),
            "BLOSUM62 affine, 512": (protein, ["--matrix", "BLOSUM62", "--gapopen", "11"]),
        }
        for (name, (path, options)), mode in itertools.product(cases.items(), ("semi-global", "local")):
            if (mode, name) == ("local", "linear, 1536"):
                continue  # the same kernel as affine gaps
            command = [str(path), "--mode", mode, "--score-only", *options]
            samples: dict[str, list[dict[str, Any]]] = {"cuda": [], "cpu": []}
            for _ in range(rounds):
                for device, reports in samples.items():
                    reports.append(run([*command, "--device", device, "-o", str(base / device)]))
            kernel = statistics.median(max(one["kernel_s"] for one in each["devices"]) for each in samples["cuda"])
            walls = {
                device: statistics.median(each["wall_s"] for each in reports) for device, reports in samples.items()
            }
            results[f"{mode}, {name}"] = {
                "pairs": samples["cuda"][0]["pairs"],
                "kernel_s": round(kernel, 4),
                "tcups": round(triangle_cells(path) / kernel / 1e12, 3),
                "cuda_wall_s": walls["cuda"],
                "cpu_wall_s": walls["cpu"],
                "equal_bytes": (base / "cuda").read_bytes() == (base / "cpu").read_bytes(),
            }
            print(name, mode, results[f"{mode}, {name}"], flush=True)
    return results


def command_line() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "part", choices=("cpu", "core", "vsearch", "windows", "gpu", "genomes", "modes", "regimes", "long-regimes")
    )
    parser.add_argument("files", nargs="*")
    parser.add_argument("--symbols", type=int, help="genomes: of each, from its start")
    parser.add_argument("--records", type=int, default=300, help="vsearch: of the file, from its start")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=300, help="regimes: begin no row after this time")
    chosen = parser.parse_args()
    parts = {
        "cpu": lambda: cpu(chosen.rounds),
        "core": lambda: core(chosen.rounds),
        "vsearch": lambda: vsearch(chosen.files[0], chosen.records),
        "windows": windows,
        "gpu": gpu,
        "genomes": lambda: genomes(chosen.files, chosen.symbols, run),
        "modes": lambda: modes(chosen.rounds),
        "regimes": lambda: regimes(LENGTHS, chosen.seconds),
        "long-regimes": lambda: regimes(LONG, chosen.seconds),
    }
    path = record(f"pairwise-{chosen.part}", parts[chosen.part]())
    print(path.read_text())


if __name__ == "__main__":
    command_line()
