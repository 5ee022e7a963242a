"""`gpualign search` beside sassy-rs and edlib, and on a GPU.

    python benchmarks/search.py cpu [--rounds 3] [--patterns 1,10] [--jobs 12]
                                                                one thread each, chr20; pip install sassy-rs edlib
    python benchmarks/search.py long [--rounds 3]               patterns of 1,000 and 10,000 bases, edlib's HW mode
    python benchmarks/search.py barcodes [--reads 20000]        96 barcodes of 24 bases in reads like nanopore's
    python benchmarks/search.py qcat                            real reads of Debian's qcat-examples
    python benchmarks/search.py gpu [--bases 3100000000]        312 guides of 23 bases, k = 3, with and without a PAM
    python benchmarks/search.py gpu-barcodes [--reads 200000]   the barcodes on a GPU

Each round runs all of them, in another order; ratios are taken within a round before their median. Both sides get the
same bytes in memory, and give their hits as Python has them. Hits are compared: sassy's search has the same rule.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bases import BASES
from data import folder, genome, packaged, read_fasta, reverse_complement
from harness import gpu_names, interleave, machine, ratio, save
from synthetic_genome import indexed

import gpualign

LENGTHS, LIMITS, COUNTS = (20, 32, 64, 150), (1, 3, 5), "1,10,100,312"
#: reads that a process makes at a time
PART = 5000
#: of Oxford Nanopore's kits, as qcat has them
RAPID_BARCODES = tuple(
    b"AAGAAAGTTGTCGGTGTCTTTGTG TCGATTCCGTTTGTAGTCGTCTGT GAGTCTTGTGTCCCAGTTACCAGG TTCGGATTCTATCGTGTTTCCCTA "
    b"CTTGTCCAGGGTTTGTGTAACCTT TTCTCGCAAAGGCAGAAAGTAGTC GTGTTACCGTGGGAATGAATCCTT TTCAGGGAACAAACCAAGTTACGT "
    b"AACTAGGCACAGCGAGTCTTGGTT AAGCGTTGAAACCTTTGTCCTCTC GTTTCATCTATCGGAGGGAATGGA CAGGTAGAAAGAAGCAGAATCGGA".split()
)


class Seconds(NamedTuple):
    wall: float
    cpu: float


def drawn(text: bytes, count: int, length: int, rng: np.random.Generator) -> list[bytes]:
    """Parts of a text without N."""
    found: list[bytes] = []
    while len(found) < count:
        at = int(rng.integers(0, len(text) - length))
        if b"N" not in (part := text[at : at + length]):
            found.append(part)
    return found


def timed(call: Callable[[], Any]) -> tuple[Seconds, Any]:
    start = time.perf_counter(), time.process_time()
    result = call()
    return Seconds(time.perf_counter() - start[0], time.process_time() - start[1]), result


def compared(runs: dict[str, list[tuple[Seconds, Any]]]) -> dict[str, Any]:
    """Ratios, within rounds, of the peer to gpualign, and the seconds of both."""
    (name, of), (peer, to) = [(name, [took for took, _ in runs[name]]) for name in runs]
    row = {"ratio": ratio([took.wall for took in of], [took.wall for took in to])}
    row |= {"cpu_ratio": ratio([took.cpu for took in of], [took.cpu for took in to])}
    return row | {f"{name}_s": middle(of), f"{peer}_s": middle(to)}


def middle(times: list[Seconds]) -> float:
    return round(statistics.median(took.wall for took in times), 4)


def ours(patterns: list[bytes], texts: list[bytes], k: int, **options: Any) -> tuple[Seconds, set[tuple[int, ...]]]:
    """Seconds, and pattern, target, strand, end in the pattern's direction, distance."""
    took, rows = timed(lambda: gpualign.search(patterns, texts, k, device="cpu", threads=1, **options))
    minus = rows["strand"] == "-"
    anchor = np.where(minus, rows["start"], rows["end"])
    columns = (rows["pattern"], rows["target"], minus, anchor, rows["distance"])
    return took, set(zip(*(column.tolist() for column in columns), strict=True))


def sassys(patterns: list[bytes], texts: list[bytes], k: int) -> tuple[Seconds, set[tuple[int, ...]]]:
    import sassy

    if len(patterns) == 1:
        searcher = sassy.Searcher("dna", rc=True)
        took, found = timed(lambda: [(0, match) for match in searcher.search(patterns[0], texts[0], k)])
    else:
        searcher = sassy.Searcher("iupac", rc=True)
        call = lambda: searcher.search_many(patterns, texts, k, threads=1, mode="batch_patterns")  # noqa: E731
        took, matches = timed(call)
        found = [(match.pattern_idx, match) for match in matches]
    hits = set()
    for number, match in found:
        minus = str(match.strand) not in ("+", "Strand.Fwd", "Fwd")
        target = 0 if len(patterns) == 1 else match.text_idx
        hits.add((number, target, minus, match.text_start if minus else match.text_end, match.cost))
    return took, hits


def both(patterns: list[bytes], texts: list[bytes], k: int) -> dict[str, Callable[[], Any]]:
    return {"gpualign": partial(ours, patterns, texts, k), "sassy": partial(sassys, patterns, texts, k)}


def beside_sassy(rounds: int, counts: list[int], jobs: int) -> list[dict[str, Any]]:
    """All cells, `jobs` of them at a time, each in a process of its own."""
    cells = [(rounds, *cell) for cell in itertools.product(counts, LENGTHS, LIMITS)]
    with ProcessPoolExecutor(jobs) as pool:
        rows = []
        for row in pool.map(cell_beside_sassy, *zip(*cells, strict=True)):
            rows.append(row)
            show(row)
    return rows


def cell_beside_sassy(rounds: int, count: int, length: int, k: int) -> dict[str, Any]:
    # sassy's search for many patterns takes N for any base
    text = max(read_fasta(genome("chr20")).values(), key=len).replace(b"N", b"")
    patterns = drawn(text, count, length, np.random.default_rng((count, length, k)))
    gpualign.search(patterns[:1], [text[:1000]], k, device="cpu")  # loads what it needs
    runs = interleave(both(patterns, [text], k), rounds)
    row = {"patterns": count, "length": length, "k": k, "Mbp": len(text) / 1e6} | compared(runs)
    hits = {name: [found for _, found in some] for name, some in runs.items()}
    return row | {"hits": len(hits["gpualign"][0]), "same_hits": hits["gpualign"][0] == hits["sassy"][0]}


def beside_edlib(rounds: int) -> list[dict[str, Any]]:
    import edlib

    text = max(read_fasta(genome("chr20")).values(), key=len)
    rng, rows = np.random.default_rng(2), []
    for length, k in ((1000, 50), (10_000, 500)):
        pattern = bytearray(drawn(text, 1, length, rng)[0])
        for at in rng.integers(0, length, k // 2):
            pattern[at] = int(BASES[rng.integers(0, 4)])
        query, other = bytes(pattern), reverse_complement(bytes(pattern))

        def peer(query: bytes = query, other: bytes = other, k: int = k) -> tuple[Seconds, Any]:
            return timed(
                lambda: [edlib.align(strand, text, mode="HW", task="locations", k=k) for strand in (query, other)]
            )

        runs = interleave({"gpualign": partial(ours, [query], [text], k), "edlib": peer}, rounds)
        best = min(d for *_, d in runs["gpualign"][0][1])
        theirs = min(found["editDistance"] for found in runs["edlib"][0][1] if found["editDistance"] >= 0)
        rows.append({"length": length, "k": k} | compared(runs) | {"same_distance": best == theirs})
        show(rows[-1])
    return rows


def drawn_barcodes() -> list[bytes]:
    rng = np.random.default_rng(5)
    return [BASES[rng.integers(0, 4, 24)].tobytes() for _ in range(96)]


def barcoded(count: int, seed: int = 5) -> tuple[list[bytes], list[int]]:
    """Reads of about 5,000 bases with one of the barcodes after 20 to 60 of them, and which; 5 % errors."""
    rng, barcodes = np.random.default_rng((5, seed)), drawn_barcodes()
    reads, truth = [], []
    for _ in range(count):
        number = int(rng.integers(-1, 96))
        inner = BASES[rng.integers(0, 4, int(rng.gamma(4, 1250)) + 200)]
        ahead = BASES[rng.integers(0, 4, int(rng.integers(20, 60)))]
        whole = np.concatenate([ahead, np.frombuffer(barcodes[number] if number >= 0 else b"", np.uint8), inner])
        kind = rng.random(len(whole))
        whole[kind < 0.02] = BASES[rng.integers(0, 4, int((kind < 0.02).sum()))]
        whole = np.repeat(whole, np.where(kind > 0.985, 0, np.where(kind > 0.97, 2, 1)))
        reads.append(whole.tobytes())
        truth.append(number)
    return reads, truth


def barcoded_fastq(part: int, count: int) -> tuple[bytes, int]:
    """One part of a FASTQ file, and its bases."""
    reads, _ = barcoded(count, part)
    records = [b"@r%d.%d\n%s\n+\n%s\n" % (part, i, read, b"I" * len(read)) for i, read in enumerate(reads)]
    return b"".join(records), sum(map(len, reads))


def barcodes_on_cpu(rounds: int, count: int) -> list[dict[str, Any]]:
    barcodes, (reads, truth) = drawn_barcodes(), barcoded(count)
    ends = [read[:150] for read in reads]
    rows = []
    for name, texts in (("first 150 bases", ends), ("whole reads, a twentieth of them", reads[: count // 20])):
        runs = interleave(both(barcodes, texts, 6), rounds)
        row = {"of": name, "Mbp": sum(map(len, texts)) / 1e6} | compared(runs)
        row |= {"same_hits": runs["gpualign"][0][1] == runs["sassy"][0][1]}
        rows.append(row)
        show(row)
    took, table = timed(
        lambda: gpualign.search(barcodes, reads, 6, within=150, best_per_target=True, device="cpu", threads=1)
    )
    found = dict(zip(table["target"].tolist(), table["pattern"].tolist(), strict=True))
    right = sum(found.get(i, -1) == number for i, number in enumerate(truth))
    rows.append(
        {"of": "demultiplexed", "Mbp": sum(map(len, reads)) / 1e6, "gpualign_s": took.wall, "right": right / len(reads)}
    )
    show(rows[-1])
    return rows


def brute_force(codes: list[bytes], read: bytes, k: int, margin: int) -> int:
    """The barcode that edlib finds nearest in 150 bases at either end, or -1."""
    import edlib

    windows = [read] if len(read) <= 300 else [read[:150], read[-150:]]
    distances = []
    for code in codes:
        strands = (code, reverse_complement(code))
        found = [edlib.align(strand, window, mode="HW") for strand in strands for window in windows if window]
        distances.append(min((one["editDistance"] for one in found), default=1 << 20))
    best, second = sorted(distances)[:2]
    return distances.index(best) if best <= k and second - best >= margin else -1


def qcat_reads() -> list[dict[str, Any]]:
    """Real reads with and without a barcode, called by the same rule with edlib for each read, barcode and strand."""
    inside, rows = "qcat/examples/qcat/test/data/{}_1k.fastq.gz", []
    named = {}
    for name in ("barcode", "nobarcode"):
        with gzip.open(packaged("qcat-examples", inside.format(name)), "rb") as file:
            lines = file.read().splitlines()
        named[name] = list(zip(lines[::4], lines[1::4], strict=False))
    for k, margin in ((5, 2), (6, 2), (7, 2), (8, 3)):
        row: dict[str, Any] = {"k": k, "margin": margin}
        for name, reads in named.items():
            texts = [bases for _, bases in reads]
            options: dict[str, Any] = {"within": 150, "best_per_target": True, "margin": margin, "device": "cpu"}
            table = gpualign.search(list(RAPID_BARCODES), texts, k, **options)
            called = dict(zip(table["target"].tolist(), table["pattern"].tolist(), strict=True))
            expected = [brute_force(list(RAPID_BARCODES), text, k, margin) for text in texts]
            row[f"{name}, as edlib"] = sum(called.get(i, -1) == number for i, number in enumerate(expected)) / len(
                texts
            )
            row[f"{name}, assigned"] = len(called)
            row[f"{name}, that edlib leaves alone"] = sum(expected[i] < 0 for i in called)
            truth = [re.search(rb"truebc=(\d+)", header) for header, _ in reads]
            row[f"{name}, right"] = sum(
                t is not None and called.get(i, -1) + 1 == int(t[1]) for i, t in enumerate(truth)
            )
        rows.append(row)
        show(row)
    return rows


def command(*arguments: object) -> dict[str, Any]:
    """The report of a run, and its wall seconds."""
    with tempfile.TemporaryDirectory() as where:
        report = Path(where) / "report.json"
        line = [sys.executable, "-m", "gpualign", *map(str, arguments), "-o", Path(where) / "out.tsv", "--json", report]
        took, _ = timed(lambda: subprocess.run(list(map(str, line)), check=True, stderr=subprocess.DEVNULL))
        return json.loads(report.read_text()) | {"whole_s": took.wall}


def guides_on_gpu(rounds: int, bases: int, device: str) -> list[dict[str, Any]]:
    reference, index = indexed(bases)
    rng = np.random.default_rng(7)
    guides = reference.parent / "guides.txt"
    guides.write_bytes(b"\n".join(BASES[rng.integers(0, 4, 23)].tobytes() for _ in range(312)) + b"\n")
    reference.read_bytes()  # into the page cache
    cases: dict[str, Callable[[], dict[str, Any]]] = {}
    for target in (reference, index):
        for name, more in (("k = 3", ()), ("k = 3, --pam NGG", ("--pam", "NGG"))):
            arguments = ("search", guides, target, "-k", 3, "--device", device, *more)
            cases[f"{target.suffix} {name}"] = lambda arguments=arguments: command(*arguments)
    command("search", guides, reference, "-k", 3, "--device", device)  # compiles the kernels
    return [row_of_run(name, runs, bases) for name, runs in interleave(cases, rounds).items()]


def row_of_run(name: str, runs: list[dict[str, Any]], bases: int) -> dict[str, Any]:
    def median(what: Callable[[dict[str, Any]], float]) -> float:
        return round(statistics.median(what(run) for run in runs), 3)

    devices = [run.get("devices") or [{"kernel_s": float("nan"), "copy_s": float("nan")}] for run in runs]
    row = {"run": name, "whole_s": median(lambda run: run["whole_s"]), "wall_s": median(lambda run: run["wall_s"])}
    row |= {
        f"{what}_s": round(statistics.median(sum(d[f"{what}_s"] for d in some) for some in devices), 3)
        for what in ("kernel", "copy")
    }
    row |= {"hits": runs[0]["hits"], "Gbp": bases / 1e9, "device": runs[0]["device"]}
    show(row)
    return row


def barcodes_on_gpu(rounds: int, count: int, device: str) -> list[dict[str, Any]]:
    where = folder() / "ref"
    where.mkdir(parents=True, exist_ok=True)
    fastq, codes = where / f"barcoded{count}.fq", where / "barcodes.fa"
    codes.write_bytes(b"".join(b">b%d\n%s\n" % (i, code) for i, code in enumerate(drawn_barcodes())))
    bases = 0
    with fastq.open("wb") as file, ProcessPoolExecutor() as pool:
        for text, part_bases in pool.map(barcoded_fastq, range(-(-count // PART)), itertools.repeat(min(count, PART))):
            file.write(text)
            bases += part_bases
    cases = {
        "--within 150 --best-per-target": ("--within", 150, "--best-per-target"),
        "whole reads, --best-per-target": ("--best-per-target",),
    }
    rows = []
    for name, more in cases.items():
        arguments = ("search", codes, fastq, "-k", 6, "--device", device, *more)
        runs = [command(*arguments) for _ in range(rounds)]
        row = row_of_run(name, runs, bases)
        rows.append(row | {"gbp_per_s": round(bases / 1e9 / row["wall_s"], 3)})
        print("  Gbp/s of reads:", rows[-1]["gbp_per_s"])
    return rows


def show(row: dict[str, Any]) -> None:
    shown = {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in row.items()}
    print("  ".join(f"{key} {value}" for key, value in shown.items()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cpu", "long", "barcodes", "qcat", "gpu", "gpu-barcodes"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--patterns", default=COUNTS, help="how many there are in a search")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time, of the CPU's cells")
    parser.add_argument("--bases", type=int, default=3_100_000_000)
    parser.add_argument("--reads", type=int, default=20_000)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--save", action="store_true", help="write the figures to benchmarks/results")
    given = parser.parse_args()
    cases = {
        "cpu": lambda: beside_sassy(given.rounds, [int(n) for n in given.patterns.split(",")], given.jobs),
        "long": lambda: beside_edlib(given.rounds),
        "barcodes": lambda: barcodes_on_cpu(given.rounds, given.reads),
        "qcat": qcat_reads,
        "gpu": lambda: guides_on_gpu(given.rounds, given.bases, given.device),
        "gpu-barcodes": lambda: barcodes_on_gpu(given.rounds, given.reads, given.device),
    }
    gpualign.search(["ACGT"], ["ACGT"], 0, device="cpu")  # loads what it needs
    rows = cases[given.what]()
    if given.save:
        save(f"search-{given.what}", machine(packages=("sassy-rs", "edlib"), gpus=gpu_names()), {"results": rows})


if __name__ == "__main__":
    main()
