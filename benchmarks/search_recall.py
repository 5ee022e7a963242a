"""Time and recall of protein searches: `gpualign pairwise`, `blastp`, `mmseqs search -s 7.5`; time of parasail.

    python benchmarks/search_recall.py [QUERIES.fasta DATABASE.fasta] [--queries 40] [--threads 2] [--evalue 0.001]

What is to be found are the pairs with an E-value of at most that by Smith and Waterman's algorithm, which gpualign
has all of; tests hold its scores and E-values equal to parasail's and BLAST's. No program adjusts for composition or
masks anything; parasail computes the scores of all pairs. The files are those of Debian's mmseqs2-examples. Prints a
JSON line for each program, and writes results/search-recall-<machine>.json; pairs beyond those are of a program's own
statistics.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness

EXAMPLES = Path("/usr/share/doc/mmseqs2/example-data")


def head(source: Path, count: int, to: Path) -> None:
    """The first so many records."""
    text = (gzip.open(source, "rt") if source.suffix == ".gz" else source.open()).read()
    to.write_text("".join(">" + record for record in text.split(">")[1 : count + 1]))


def timed(*commands: list[str]) -> tuple[float, float]:
    """Seconds by the clock and of the cores."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


def parasail_seconds(queries: Path, database: Path, threads: int) -> tuple[float, float]:
    """Seconds of all scores, by the clock and of the cores: parasail's fastest function for proteins, with a profile of
    each query, which widens its words where a score needs it.
    """
    import parasail

    texts = ["".join(record.split("\n")[1:]) for record in queries.read_text().split(">")[1:]]
    targets = ["".join(record.split("\n")[1:]) for record in database.read_text().split(">")[1:]]
    targets = [target for target in targets if target]

    def scores(query: str) -> None:
        profile = parasail.profile_create_sat(query, parasail.blosum62)
        for target in targets:
            parasail.sw_striped_profile_sat(profile, target, 12, 1)

    before, start = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(scores, texts))
    return time.perf_counter() - start, time.process_time() - before


def accession(name: str) -> str:
    """What mmseqs keeps of UniProt's names."""
    return name.split("|")[1] if name.count("|") == 2 else name


def pairs_of(path: Path) -> set[tuple[str, str]]:
    """(query, target) of a table in BLAST's columns."""
    rows = (line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#"))
    return {(accession(row[0]), accession(row[1])) for row in rows}


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("queries_file", type=Path, nargs="?", default=EXAMPLES / "QUERY.fasta.gz")
    parser.add_argument("database_file", type=Path, nargs="?", default=EXAMPLES / "DB.fasta.gz")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--evalue", default="0.001")
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    threads, evalue = arguments.threads, arguments.evalue
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        q, db = folder / "q.fa", folder / "db.fa"
        head(arguments.queries_file, arguments.queries, q)
        head(arguments.database_file, 1 << 40, db)
        out = {program: folder / f"{program}.tsv" for program in ("gpualign", "blastp", "mmseqs")}
        ours = [sys.executable, "-m", "gpualign", "pairwise", "-q", "--mode", "local", "--matrix", "BLOSUM62"]
        ours += ["--gapopen", "12", "--gapext", "1", "--evalue", evalue, "--blast6"]
        ours += ["-t", threads, "--device", arguments.device, str(q), str(db), "-o", str(out["gpualign"])]
        blast = ["blastp", "-query", str(q), "-db", str(db), "-evalue", evalue, "-comp_based_stats", "0", "-seg", "no"]
        blast += ["-max_target_seqs", "100000", "-num_threads", threads, "-outfmt", "6", "-out", str(out["blastp"])]
        mmseqs = ["mmseqs", "easy-search", str(q), str(db), str(out["mmseqs"]), str(folder / "tmp"), "-s", "7.5"]
        mmseqs += ["-e", evalue, "--max-seqs", "100000", "--mask", "0", "--comp-bias-corr", "0", "--threads", threads]
        seconds = {
            "gpualign": timed(ours),
            "blastp": timed(["makeblastdb", "-in", str(db), "-dbtype", "prot"], blast),
            "mmseqs": timed(mmseqs),
        }
        wanted, figures = pairs_of(out["gpualign"]), {}
        for program, (wall, cpu) in seconds.items():
            found = pairs_of(out[program])
            row = {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2), "pairs": len(found)}
            share = len(found & wanted) / max(1, len(wanted))
            figures[program] = row | {"recall_percent": round(100 * share, 2), "beyond": len(found - wanted)}
            print(json.dumps({"program": program} | figures[program]), flush=True)
        wall, cpu = parasail_seconds(q, db, int(threads))
        row = {"wall_s": round(wall, 2), "cpu_s": round(cpu, 2)}
        figures["parasail, scores"] = row | {"times_gpualign": round(cpu / seconds["gpualign"][1], 2)}
        print(json.dumps({"program": "parasail"} | figures["parasail, scores"]), flush=True)
        case = f"{arguments.queries} x {db.read_text().count('>')}, E-value {evalue}, {threads} threads"
        facts = harness.machine(programs=("blastp", "mmseqs"))
        harness.save("search-recall", facts, {"results": {case: figures}})


if __name__ == "__main__":
    main()
