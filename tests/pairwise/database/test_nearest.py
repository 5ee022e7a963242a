"""`pairwise --top --id`: the nearest targets, their ties and strands, and the files beside the rows."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import gpualign
from gpualign.pairwise.database import nearest
from tests.helpers.commands import program
from tests.helpers.files import write_fasta
from tests.helpers.implementations import ON_GPU, same_on_gpu
from tests.helpers.sequences import mutate, reverse_complement, with_codes

#: gaps that no alignment has
UNGAPPED = ["--match", "2", "--mismatch", "-4", "--gapopen", "900", "--gapext", "900"]
VSEARCH = ["--match", "2", "--mismatch", "-4", "--gapopen", "20I/2E", "--gapext", "2I/1E"]
FIELDS = ["--userfields", "query+target+strand+id", "--no-header", "-q"]


def search(*words: object) -> list[list[str]]:
    done = subprocess.run(program("pairwise", *words), capture_output=True, text=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def related(seed: int, count: int, length: int = 60) -> list[str]:
    """Sequences of a few families, with substitutions alone; many are equally near to others."""
    rng = random.Random(seed)
    roots = ["".join(rng.choices("ACGT", k=length)) for _ in range(4)]
    texts = []
    for _ in range(count):
        symbols = list(rng.choice(roots))
        for at in rng.sample(range(length), rng.choice((0, 1, 2, 3, 8))):
            symbols[at] = rng.choice("ACGT")
        texts.append("".join(symbols))
    return texts


def naive(queries: list[str], targets: list[str], least: float, top: int, ties: bool, both: bool) -> list[list[str]]:
    rows = []
    for q, query in enumerate(queries):
        hits = []
        for t, target in enumerate(targets):
            for strand in "+-" if both else "+":
                text = query if strand == "+" else reverse_complement(query)
                matches = sum(a == b for a, b in zip(text, target, strict=True))
                if matches >= least * len(text) - 1e-9:
                    hits.append((-matches, t, strand))
        hits.sort()
        if top:
            last = hits[:top][-1][0] if hits else 0
            hits = [hit for hit in hits if hit[0] <= last] if ties else hits[:top]
        rows += [[f"s{q}", f"s{t}", strand, f"{-100 * matches / len(query):.2f}"] for matches, t, strand in hits]
    return rows


@pytest.mark.parametrize(("top", "ties"), [(1, False), (1, True), (3, False), (3, True), (0, False)])
@pytest.mark.parametrize(("both", "least"), [(False, 0.85), (True, 0.96)])
def test_the_nearest_of_all(tmp_path: Path, top: int, ties: bool, both: bool, least: float) -> None:
    """At 96 % the words of the targets are looked up, else those of the queries."""
    texts = related(1, 190)
    queries, targets = texts[:40], texts[40:]
    if both:
        queries = [reverse_complement(text) if i % 3 == 0 else text for i, text in enumerate(queries)]
    files = write_fasta(tmp_path / "q.fa", queries), write_fasta(tmp_path / "t.fa", targets)
    words = [*files, "--id", least, "--top", top, *UNGAPPED, *FIELDS, *(["--top-ties"] if ties else [])]
    found = search(*words, "--strand", "both" if both else "plus")
    assert found == naive(queries, targets, least, top, ties, both)
    assert len(found) >= 30


def test_in_python(tmp_path: Path) -> None:
    """Of a file, whose targets are several parts, and of sequences in memory; draws alignments of either."""
    queries, targets = related(3, 10, 300), related(3, 1500, 300)
    queries[3] = reverse_complement(queries[3])
    how: dict[str, Any] = {"identity": 0.97, "top": 2, "top_ties": True, "strand": "both", "gap_open": 900}
    expected = naive(queries, targets, 0.97, 2, True, True)
    for given in (str(write_fasta(tmp_path / "t.fa", targets)), targets):
        table = gpualign.pairwise(queries, given, **how, gap_extend=900)
        rows = zip(*(table[name].tolist() for name in ("query", "target", "strand", "identity")), strict=True)
        assert [[f"s{q}", f"s{t}", strand, f"{100 * identity:.2f}"] for q, t, strand, identity in rows] == expected
    assert "|" * 30 in str(table.alignment(len(table) - 1))
    for wrong in ({"identity": None}, {"targets": None}, {"pairs": [[0, 0]]}, {"mode": "local"}, {"max_gaps": 1}):
        with pytest.raises(gpualign.UsageError):
            gpualign.pairwise(queries, **({"targets": targets} | how | wrong))


def test_parts_of_the_database_and_threads_change_nothing(tmp_path: Path) -> None:
    """Parts begin small and double, so that these targets are several parts."""
    targets = related(2, 3000, 300)
    files = write_fasta(tmp_path / "q.fa", related(2, 20, 300)), write_fasta(tmp_path / "t.fa", targets)
    words = [*files, "--id", "0.9", "--top", "2", "--top-ties", *UNGAPPED, *FIELDS]
    whole = search(*words)
    assert search(*words, "--batch-size", "1K", "-t", "1") == whole
    database = tmp_path / "t.gpdb"
    subprocess.run(program("makedb", files[1], "-o", database, device=None), check=True, capture_output=True)
    words[1] = database
    assert search(*words) == whole


def test_best_of_parts() -> None:
    """A later part may have better hits, equal ones, and the same ones again."""
    import numpy as np

    def hits(*rows: tuple[int, int, float]) -> nearest.Nearest:
        query, target, identity = (np.array(column) for column in zip(*rows, strict=True))
        minus = np.zeros(len(rows), bool)
        return nearest.Nearest(query.astype(np.int32), target.astype(np.int64), minus, identity.astype(np.float64))

    both = nearest.Nearest.join(
        [hits((0, 1, 0.9), (1, 0, 0.8), (1, 2, 0.7)), hits((0, 5, 0.9), (0, 5, 0.9), (1, 4, 0.8))]
    )
    assert both.best(1, ties=True).target.tolist() == [1, 5, 0, 4]
    assert both.best(1, ties=False).target.tolist() == [1, 0]
    assert both.best(0, ties=False).target.tolist() == [1, 5, 0, 4, 2]
    assert len(nearest.Nearest.none().best(1, ties=True)) == 0


def test_the_files_by_hand(tmp_path: Path) -> None:
    query = "ACGTACGTACGTTTGACCATGGCATAC"
    (tmp_path / "q.fa").write_text(
        f">q1;size=3;sample=a\n{query}\n>q2;size=2;sample=b\n{reverse_complement(query)}\n>q3\n{'T' * 27}\n"
    )
    tax = ["tax=k:A,p:B,g:C", "tax=k:A,p:B,g:D", "tax=k:X"]
    targets = [query, query, query[:10] + "C" + query[11:]]
    (tmp_path / "t.fa").write_text("".join(f">t{i};{tax[i]}\n{text}\n" for i, text in enumerate(targets)))
    names = ("uc", "lca", "otutab", "matched", "unmatched")
    outputs = [word for name in names for word in (f"--{name}", tmp_path / name)]
    words = [tmp_path / "q.fa", tmp_path / "t.fa", "--id", "0.9", "--strand", "both", *VSEARCH]
    found = search(*words, "--top", "1", "--top-ties", *outputs, *FIELDS)
    assert [row[:3] for row in found] == [
        [f"q{q};size={4 - q};sample={'ab'[q - 1]}", f"t{t};{tax[t]}", "+-"[q - 1]] for q in (1, 2) for t in (0, 1)
    ]
    assert (tmp_path / "uc").read_text() == (
        f"H\t0\t27\t100.0\t+\t0\t0\t=\tq1;size=3;sample=a\tt0;{tax[0]}\n"
        f"H\t0\t27\t100.0\t-\t0\t0\t=\tq2;size=2;sample=b\tt0;{tax[0]}\n"
        "N\t*\t*\t*\t.\t*\t*\t*\tq3\t*\n"
    )
    assert (tmp_path / "lca").read_text() == "q1;size=3;sample=a\tk:A,p:B\nq2;size=2;sample=b\tk:A,p:B\nq3\t\n"
    assert (tmp_path / "otutab").read_text() == "#OTU ID\ta\tb\ttaxonomy\nt0\t3\t2\tk:A,p:B,g:C\n"
    assert (tmp_path / "matched").read_text().count(">") == 2
    assert (tmp_path / "unmatched").read_text() == f">q3\n{'T' * 27}\n"
    (tmp_path / "tax").write_text(f"t0;{tax[0]}\td__A; p__B\nt1;{tax[1]}\td__A; p__C\n")
    search(*words, "--top", "1", "--top-ties", "--taxonomy", tmp_path / "tax", "--lca", tmp_path / "lca", *FIELDS)
    assert (tmp_path / "lca").read_text().splitlines()[0] == "q1;size=3;sample=a\td:A"


def test_nothing_is_near(tmp_path: Path) -> None:
    files = write_fasta(tmp_path / "q.fa", ["ACGTACGTAC"]), write_fasta(tmp_path / "t.fa", ["T" * 10])
    assert search(*files, "--id", "0.9", "--top", "1", *FIELDS, "--uc", tmp_path / "uc") == []
    assert (tmp_path / "uc").read_text() == "N\t*\t*\t*\t.\t*\t*\t*\ts0\t*\n"


def test_coverage_counts_aligned_bases(tmp_path: Path) -> None:
    """8 of the query's 10 bases and of the target's 16 are aligned."""
    files = write_fasta(tmp_path / "q.fa", ["ACCATGGATT"]), write_fasta(tmp_path / "t.fa", ["GGCCGGAAACCATGGA"])
    words = [*files, "--id", "0.9", "--iddef", "2", "--top", "1", *VSEARCH, *FIELDS]
    for more, rows in (([], 1), (["--query-cov", "0.8"], 1), (["--query-cov", "0.81"], 0)):
        assert len(search(*words, *more)) == rows
    for share, rows in (("0.5", 1), ("0.51", 0)):
        assert len(search(*words, "--target-cov", share)) == rows


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--uc", "x"], "--uc, --biom-tsv, --lca, --taxonomy, --matched and --unmatched are for a search"),
        (["--top", "1", "--id", "0.9", "--min-score", "3"], "hits are chosen by identity"),
        (["--top", "1", "--id", "0.9", "--mode", "local"], "give --mode global"),
        (["--top", "0"], "top must be at least 1"),
        (["--top", "1", "--query-cov", "0.5"], "--query-cov needs --id"),
        (["--top", "1", "--id", "0.9", "--uc", "-"], "two outputs go to standard output"),
        (["--top", "1", "--id", "0.9", "--taxonomy", "x"], "--taxonomy needs"),
    ],
)
def test_what_is_refused(tmp_path: Path, words: list[str], message: str) -> None:
    files = write_fasta(tmp_path / "q.fa", ["ACGT"]), write_fasta(tmp_path / "t.fa", ["ACGT"])
    done = subprocess.run(program("pairwise", *files, *words), capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
@pytest.mark.parametrize("definition", ["0", "1", "2", "3"])
def test_the_hits_of_vsearch(tmp_path: Path, definition: str) -> None:
    """With gaps, ambiguity codes and both strands, at identities where alignments of equal scores hardly differ."""
    rng = random.Random(5)
    texts = [mutate(rng, text, 0.03) for text in related(5, 60, 120)]
    queries = [reverse_complement(text) if i % 2 else with_codes(rng, text, 0.01) for i, text in enumerate(texts[:15])]
    files = write_fasta(tmp_path / "q.fa", queries), write_fasta(tmp_path / "t.fa", texts[15:])
    words = ["--id", "0.9", "--iddef", definition, "--strand", "both", "--query-cov", "0.8", "--target-cov", "0.8"]
    ours = search(*files, *(word for word in words if word), "--top", "0", *VSEARCH, *FIELDS)
    theirs = tmp_path / "rows"
    every = ["--maxaccepts", "0", "--maxrejects", "0", "--minwordmatches", "0", "--qmask", "none", "--dbmask", "none"]
    peer = ["vsearch", "--usearch_global", *files, *words, *every, "--quiet", "--minseqlength", "1"]
    peer[2:4] = [files[0], "--db", files[1]]
    peer[peer.index("--query-cov")], peer[peer.index("--target-cov")] = "--query_cov", "--target_cov"
    subprocess.run([*map(str, peer), "--userout", str(theirs), "--userfields", "query+target+qstrand+id"], check=True)
    rows = [line.split("\t") for line in theirs.read_text().splitlines()]
    assert len(ours) > 30
    assert sorted(row[:3] for row in ours) == sorted(row[:3] for row in rows)


@pytest.mark.gpu
def test_a_gpu_finds_the_same(tmp_path: Path) -> None:
    rng = random.Random(6)
    texts = [mutate(rng, text, 0.03) for text in related(6, 400, 200)]
    files = write_fasta(tmp_path / "q.fa", texts[:50]), write_fasta(tmp_path / "t.fa", texts[50:])
    words: list[Any] = [*files, "--id", "0.9", "--top", "2", "--top-ties", "--strand", "both", *VSEARCH]
    same_on_gpu(
        "pairwise",
        *words,
        output=tmp_path / "rows",
        ways=[ON_GPU["one GPU"], ("--device", "cuda", "--batch-size", "1K")],
    )
