"""Amplicons: the nearest references with all ties, taxonomy, chimeras; next to vsearch, and on a GPU.

    python benchmarks/amplicons.py search [--rounds 3]      5,000 of BioMarKs (18S) against the others, by vsearch too
    python benchmarks/amplicons.py sintax [--scale 1]       10,000 queries and 100,000 references
    python benchmarks/amplicons.py chimeras [--scale 1]     100,000 sequences, a fifth of them planted chimeras
    python benchmarks/amplicons.py coi --device cuda:0 [--scale 1]   10,000 queries and 2.2 million references of COI

`coi` and the references of `sintax` are made up: species of genera of families, with haplotypes that differ by up to
2 %, each family with its own part of the barcode, of 430 to 650 bases. Half of the queries are on the other strand.
`coi` searches with words and the edit filter first, then scores every pair (--every-share of the queries). --scale is
a share of queries and references alike. Ratios are of processor time, with two threads each.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from data import packaged, read_fasta
from harness import gpu_names, interleave, machine, ratio, run_timed, save, summary

GPUALIGN = [sys.executable, "-m", "gpualign"]
#: vsearch's scores
SCORES = ["--match", "2", "--mismatch", "-4", "--gapopen", "20I/2E", "--gapext", "2I/1E"]
BASES = np.frombuffer(b"ACGT", np.uint8)
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
BARCODE, HAPLOTYPES = 658, 11


def mutated(rng: np.random.Generator, codes: Any, rate: Any) -> Any:
    """Copies of sequences (n, length) with substitutions at this rate, one or one for each sequence."""
    at = rng.random(codes.shape, np.float32) < np.reshape(rate, (-1, 1))
    return np.where(at, (codes + rng.integers(1, 4, codes.shape, np.uint8)) & 3, codes)


def write_coi(folder: Path, queries: int, references: int) -> tuple[Path, Path]:
    """References with ``tax=``, and queries of the same species with up to 3 % of substitutions."""
    rng = np.random.default_rng(1)
    paths = folder / "queries.fa", folder / "references.fa"
    species = max(1, references // HAPLOTYPES)
    families = max(1, species // 500)
    root = rng.integers(0, 4, (1, BARCODE), np.uint8)
    of_family = mutated(rng, np.repeat(root, families, 0), 0.2)
    genera = mutated(rng, np.repeat(of_family, 50, 0), 0.1)
    first = rng.integers(0, 8, families)
    last = first + rng.integers(430, 651, families)
    left = queries
    with paths[0].open("wb") as out_queries, paths[1].open("wb") as out:
        for start in range(0, species, 2000):
            number = np.arange(start, min(species, start + 2000))
            genus = rng.integers(0, len(genera), len(number))
            codes = mutated(rng, genera[genus], rng.uniform(0.02, 0.12, len(number)))
            copies = mutated(rng, np.repeat(codes, HAPLOTYPES, 0), rng.uniform(0, 0.02, HAPLOTYPES * len(number)))
            asked = min(left, -(-queries * len(number) // species))
            left -= asked
            picked = rng.integers(0, len(number), asked)
            reads = mutated(rng, codes[picked], rng.uniform(0, 0.03, asked))
            lines = []
            for i, row in enumerate(BASES[copies]):
                at, family = i // HAPLOTYPES, genus[i // HAPLOTYPES] // 50
                tax = f"k:Animalia,f:F{family},g:G{genus[at]},s:S{number[at]}"
                lines.append(f">r{number[at]}_{i % HAPLOTYPES};tax={tax}\n".encode())
                lines.append(row[first[family] : last[family]].tobytes() + b"\n")
            out.write(b"".join(lines))
            for i, row in enumerate(BASES[reads]):
                family = genus[picked[i]] // 50
                text = row[first[family] : last[family]].tobytes()
                name = f"q{number[picked[i]]}_{i};size={rng.integers(1, 100)};sample=s{i % 4}"
                text = text.translate(COMPLEMENT)[::-1] if i % 2 else text
                out_queries.write(b">%s\n%s\n" % (name.encode(), text))
    return paths


def write_chimeras(path: Path, count: int) -> set[str]:
    """Templates with abundances, their errors, and chimeras of two templates; returns the names of the chimeras."""
    rng = np.random.default_rng(2)
    templates = max(4, count // 100)
    known = rng.integers(0, 4, (templates, 400), np.uint8)
    for i in range(1, templates):  # related to an earlier one by 3 to 20 %
        known[i] = mutated(rng, known[rng.integers(0, i)][None], rng.uniform(0.03, 0.2))[0]
    sizes = np.sort(rng.lognormal(6, 1.5, templates).astype(int) + 8)[::-1]
    chimeras, chance = count // 5, sizes / sizes.sum()
    seen: set[bytes] = set()
    names = set()
    with path.open("wb") as out:

        def write(name: str, codes: Any, size: int) -> bool:
            text = BASES[codes].tobytes()
            if text in seen:
                return False
            seen.add(text)
            out.write(b">%s;size=%d\n%s\n" % (name.encode(), size, text))
            return True

        for i in range(templates):
            write(f"t{i}", known[i], int(sizes[i]))
        for i in range(chimeras):
            a, b = rng.choice(templates, 2, p=chance)
            at, size = rng.integers(40, 360), int(min(sizes[a], sizes[b]) // rng.integers(4, 40))
            codes = mutated(rng, np.concatenate([known[a, :at], known[b, at:]])[None], 0.001)[0]
            distances = (codes != known).sum(axis=1).min()
            if write(f"{'chimera' if distances >= 5 else 'near'}{i}", codes, max(1, size)) and distances >= 5:
                names.add(f"chimera{i}")
        for i in range(count - templates - chimeras):
            a = rng.choice(templates, p=chance)
            write(f"e{i}", mutated(rng, known[a][None], 0.004)[0], int(rng.integers(1, max(2, sizes[a] // 50))))
    return names


def search(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All hits of 5,000 sequences among 45,000; vsearch compares all pairs, or as by default a few for each query."""
    packed = packaged("vsearch-examples", "vsearch-examples/BioMarKs50k.fsa.gz")
    (folder / "all.fa").write_bytes(gzip.decompress(packed.read_bytes()))
    records = [(name.split()[0], text) for name, text in read_fasta(folder / "all.fa").items()]
    queries, targets = folder / "queries.fa", folder / "targets.fa"
    queries.write_text("".join(f">{name}\n{text.decode()}\n" for name, text in records[::10]))
    targets.write_text("".join(f">{name}\n{text.decode()}\n" for i, (name, text) in enumerate(records) if i % 10))
    rows: dict[str, Any] = {}
    for identity in ("0.9", "0.97"):
        ours, theirs, default = (folder / name for name in ("ours", "theirs", "default"))
        by_vsearch = ["vsearch", "--usearch_global", queries, "--db", targets, "--id", identity, "--iddef", "1"]
        by_vsearch += ["--userfields", "query+target+id", "--threads", "2", "--quiet", "--minseqlength", "1"]
        exact = [
            "--maxaccepts",
            "0",
            "--maxrejects",
            "0",
            "--minwordmatches",
            "0",
            "--qmask",
            "none",
            "--dbmask",
            "none",
        ]
        words = [*GPUALIGN, "pairwise", queries, targets, "--id", identity, *SCORES, "--no-header"]
        words += ["--userfields", "query+target+id", "-t", "2", "--device", "cpu", "-q", "-o", ours]
        cases = {
            "gpualign, best and ties": lambda c=[*words, "--top", "1", "--top-ties", "-o", default]: run_timed(c),
            "gpualign": lambda c=[*words, "--top", "0"]: run_timed(c),
            "vsearch": lambda c=[*by_vsearch, "--userout", default]: run_timed(c),
        }
        runs = interleave(cases, arguments.rounds)
        if not arguments.no_exact_peer:
            runs["vsearch, all pairs"] = [run_timed([*by_vsearch, *exact, "--userout", theirs])]
        row = {name: summary(timings) for name, timings in runs.items()}
        cpu = [timing.cpu_s for timing in runs["gpualign"]]
        best = [timing.cpu_s for timing in runs["gpualign, best and ties"]]
        row["cpu_ratio_best"] = ratio(best, [timing.cpu_s for timing in runs["vsearch"]])
        if not arguments.no_exact_peer:
            row["cpu_ratio_all_pairs"] = ratio(cpu[:1], [runs["vsearch, all pairs"][0].cpu_s])
            found = [{tuple(line.split("\t")[:2]) for line in path.read_text().splitlines()} for path in (ours, theirs)]
            row |= {
                "hits": len(found[0]),
                "only_ours": len(found[0] - found[1]),
                "only_vsearch": len(found[1] - found[0]),
            }
        rows[identity] = row
        print(identity, row, flush=True)
    return rows


def coi(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The best references of each query at 97 % with all ties, on both strands."""
    queries, references = write_coi(folder, int(10_000 * arguments.scale), int(2_200_000 * arguments.scale))
    report, rows = folder / "report.json", {}
    common = [
        "--top",
        "1",
        "--top-ties",
        "--strand",
        "both",
        *SCORES,
        "--device",
        arguments.device,
        "-q",
        "--json",
        report,
    ]
    few = folder / "few.fa"
    lines = queries.read_bytes().splitlines(keepends=True)
    few.write_bytes(b"".join(lines[: 2 * max(1, int(len(lines) // 2 * arguments.every_share))]))
    cases = {
        "97 %": [queries, references, "--id", "0.97", "--lca", folder / "lca", "--otutab", folder / "otutab"],
        "every score": [few, references, "--score-only"],
    }
    for name, words in cases.items():
        if name in arguments.skip:
            continue
        timing = run_timed([*GPUALIGN, "pairwise", *words, *common, "-o", folder / "out.tsv"])
        fields = json.loads(report.read_text())
        kept = {key: fields[key] for key in ("pairs", "pairs_written", "queries_matched", "seconds") if key in fields}
        rows[name] = {"wall_s": timing.wall_s, "cpu_s": timing.cpu_s, "peak_mib": timing.peak_mib, **kept}
        rows[name]["pairs_per_s"] = round(fields["pairs"] / timing.wall_s)
        print(name, rows[name], flush=True)
    return rows


def ranks_of(path: Path) -> dict[str, list[str]]:
    """Names by rank of each query, without their shares."""
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return {row[0]: [part.split("(")[0] for part in row[1].split(",")] for row in rows}


def sintax(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    queries, references = write_coi(folder, int(10_000 * arguments.scale), int(100_000 * arguments.scale))
    ours, theirs = folder / "ours", folder / "theirs"
    peer = ["vsearch", "--sintax", queries, "--db", references, "--strand", "both", "--threads", "2", "--quiet"]
    cases = {
        "gpualign": lambda: run_timed(
            [*GPUALIGN, "sintax", queries, "--db", references, "--strand", "both", "-t", "2", "-q", "-o", ours]
        ),
        "vsearch": lambda: run_timed([*peer, "--tabbedout", theirs]),
    }
    runs = interleave(cases, arguments.rounds)
    row: dict[str, Any] = {name: summary(timings) for name, timings in runs.items()}
    row["cpu_ratio"] = ratio(*([timing.cpu_s for timing in runs[name]] for name in cases))
    found = [ranks_of(path) for path in (ours, theirs)]
    pairs = [pair for name, ranks in found[0].items() for pair in zip(ranks, found[1][name], strict=False)]
    row["ranks_agree"] = round(sum(a == b for a, b in pairs) / max(1, len(pairs)), 5)
    print(row, flush=True)
    return row


def chimeras(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    sequences = folder / "amplicons.fa"
    planted = write_chimeras(sequences, int(100_000 * arguments.scale))
    ours, theirs = folder / "ours", folder / "theirs"
    cases = {
        "gpualign": lambda: run_timed([*GPUALIGN, "chimeras", sequences, "--denovo", "-t", "2", "-q", "-o", ours]),
        "vsearch": lambda: run_timed(["vsearch", "--uchime_denovo", sequences, "--uchimeout", theirs, "--quiet"]),
    }
    runs = interleave(cases, arguments.rounds)
    row: dict[str, Any] = {name: summary(timings) for name, timings in runs.items()}
    row["cpu_ratio"] = ratio(*([timing.cpu_s for timing in runs[name]] for name in cases))
    row["wall_ratio"] = ratio(*([timing.wall_s for timing in runs[name]] for name in cases))
    for name, path in (("gpualign", ours), ("vsearch", theirs)):
        rows = (line.split("\t") for line in path.read_text().splitlines())
        flagged = {fields[1].split(";")[0] for fields in rows if fields[-1] == "Y"}
        named = {flag for flag in flagged if not flag.startswith("near")}
        row[name] |= {"recall": round(len(named & planted) / len(planted), 4)}
        row[name] |= {"precision": round(len(named & planted) / max(1, len(named)), 4)}
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"search": search, "coi": coi, "sintax": sintax, "chimeras": chimeras}
    parser.add_argument("what", choices=parts)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--every-share", type=float, default=0.02, help="of the queries of which every score is taken")
    parser.add_argument("--skip", nargs="*", default=[], help="of coi: '97 %%' or 'every score'")
    parser.add_argument("--no-exact-peer", action="store_true", help="do not let vsearch compare all pairs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        results = parts[arguments.what](arguments, Path(folder))
    gpus = gpu_names() if arguments.device != "cpu" else ()
    save(f"amplicons-{arguments.what}", machine(("vsearch",), gpus=gpus), {"results": results})


if __name__ == "__main__":
    main()
