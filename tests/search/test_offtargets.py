"""Sites of guides: scores, sums, lower case and genes, against a brute-force scan and by hand."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from gpualign.align.patterns.cpu import SearchHits
from gpualign.search.offtargets import Genes
from gpualign.text.annotation import read_annotation
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import reverse_complement

#: thousandths by position
MIT = [0, 0, 14, 0, 0, 395, 317, 0, 389, 79, 445, 508, 613, 851, 732, 828, 615, 804, 685, 583]


def mit(guide: str, site: str) -> float:
    at = [i for i in range(20) if guide[i] != site[i]]
    score = 1.0
    for i in at:
        score *= 1 - MIT[i] / 1000
    if len(at) > 1:
        gaps = [b - a for a, b in itertools.pairwise(at)]
        score /= (19 - sum(gaps) / len(gaps)) / 19 * 4 + 1
    return score / max(1, len(at)) ** 2


@pytest.fixture
def genome(tmp_path: Path) -> tuple[Path, list[str], str]:
    """A genome with many near sites of two guides, and the guides."""
    rng = random.Random(3)
    guides = ["".join(rng.choices("ACGT", k=20)) for _ in range(2)]
    parts = []
    for _ in range(60):
        site = list(rng.choice(guides))
        for at in rng.sample(range(20), rng.randrange(4)):
            site[at] = rng.choice("ACGT")
        target = "".join(site) + rng.choice("ACGT") + rng.choice(["GG", "GG", "AG"])
        parts += ["".join(rng.choices("ACGT", k=40)), target if rng.random() < 0.5 else reverse_complement(target)]
    text = "".join(parts)
    return write_fasta(tmp_path / "genome.fa", [text]), guides, text


def sites(guides: list[str], text: str, k: int) -> dict[tuple[str, str, int], str]:
    """Every site of a PAM NGG with at most k mismatches: its 23 bases by guide, strand and start."""
    found = {}
    for strand, whole in (("+", text), ("-", reverse_complement(text))):
        for at in range(len(text) - 22):
            site = whole[at : at + 23]
            for guide in guides:
                if site.endswith("GG") and sum(a != b for a, b in zip(guide, site, strict=False)) <= k:
                    found[guide, strand, at if strand == "+" else len(text) - 23 - at] = site
    return found


def test_scores_and_sums_of_a_brute_force_scan(cli, genome: tuple[Path, list[str], str], tmp_path: Path) -> None:
    path, guides, text = genome
    table = tmp_path / "factors.tsv"
    rng = random.Random(4)
    factors = {(a, b, i): round(rng.random(), 3) for a in "ACGT" for b in "ACGT" if a != b for i in range(20)}
    other = {"A": "T", "C": "G", "G": "C", "T": "A"}
    lines = [f"r{a.replace('T', 'U')}:d{other[b]},{i + 1} {f}" for (a, b, i), f in factors.items() if i < 10]
    lines += [f"{a}{b}{i + 1}\t{f}" for (a, b, i), f in factors.items() if i >= 10]
    table.write_text("\n".join(["# factors", *lines, "GG 0.9", "AG 0.2"]) + "\n")

    def of_table(guide: str, site: str) -> float:
        pairs = enumerate(zip(guide, site, strict=False))
        return 0.9 * float(np.prod([factors[a, b, i] for i, (a, b) in pairs if a != b]))

    expected = sites(guides, text, 3)
    assert len(expected) > 30
    for name, score in (("mit", mit), (str(table), of_table)):
        summary = tmp_path / "summary.tsv"
        how = ("-k", 3, "--pam", "NGG", "--mismatches-only", "--hits", "all", "--no-merge", "--matched", "lower")
        status, out, errors = cli("search", "-P", ",".join(guides), path, *how, "--score", name, "--summary", summary)
        assert status == 0, errors
        rows = rows_of(out)
        found = {(row["pattern"], row["strand"], int(row["tstart"]) - 1): row for row in rows}
        assert found.keys() == expected.keys()
        for key, row in found.items():
            site, guide = expected[key], key[0]
            assert row["matched"] == "".join(b if i > 19 or b == guide[i] else b.lower() for i, b in enumerate(site))
            assert abs(float(row["score"]) - score(guide, site)) <= 5.1e-5
        for row in rows_of(summary):
            mine = {key: site for key, site in expected.items() if key[0] == row["pattern"]}
            errors_of = [sum(a != b for a, b in zip(row["pattern"], site, strict=False)) for site in mine.values()]
            assert int(row["loci"]) == len(mine)
            assert [int(row[f"m{m}b0"]) for m in range(4)] == [errors_of.count(m) for m in range(4)]
            others = sum(score(row["pattern"], site) for site in mine.values()) - (0 in errors_of)
            assert abs(float(row["off_target_score"]) - others) <= 1e-4
            assert abs(float(row["specificity"]) - 1 / (1 + others)) <= 1e-4


def test_bulges(cli, tmp_path: Path) -> None:
    guide = "ACGTTGCAACGTGATCCATG"
    with_bulge = guide[:9] + "C" + guide[9:]  # before A: one more base in the site
    path = write_fasta(tmp_path / "g.fa", ["TTTT" + guide + "AGGTTTTTTTTTT" + with_bulge + "CGGTTTT"])
    summary = tmp_path / "s.tsv"
    how = ("-k", 2, "--max-bulges", 1, "--pam", "NGG", "--score", "mit", "--matched", "lower", "--summary", summary)
    status, out, _ = cli("search", "-P", guide, path, *how)
    assert status == 0
    assert [(row["matched"], row["score"]) for row in rows_of(out)] == [
        (guide + "AGG", "1.0000"),
        (guide[:9] + "c" + guide[9:] + "CGG", "*"),
    ]
    assert summary.read_text().splitlines() == [
        "pattern\tloci\tm0b0\tm1b0\tm2b0\tm0b1\tm1b1\toff_target_score\tspecificity",
        f"{guide}\t2\t1\t0\t0\t1\t0\t0.0000\t1.0000",
    ]


GENES = "".join(
    f'c{contig}\tx\texon\t{start}\t{end}\t.\t+\t.\tgene_id "{gene}"; transcript_id "{gene}{number}";\n'
    for contig, gene, number, start, end in [
        (1, "a", 1, 101, 110),
        (1, "a", 1, 201, 210),
        (1, "a", 2, 101, 300),
        (1, "b", 1, 401, 410),
        (1, "b", 1, 901, 910),
        (1, "in_b", 1, 501, 505),
    ]
)


def test_genes_of_hits(cli, tmp_path: Path) -> None:
    (tmp_path / "genes.gtf").write_text(GENES)
    rng = random.Random(5)
    text = "".join(rng.choices("ACGT", k=1000))
    path = write_fasta(tmp_path / "g.fa", [("c1", text), ("c2", text)])
    places = {20: ("a", "intergenic", "71"), 95: ("a", "exon", "0"), 420: ("b", "intron", "0")}
    places |= {500: ("in_b", "exon", "0"), 330: ("a", "intergenic", "31"), 950: ("b", "intergenic", "41")}
    for at, expected in places.items():
        how = ("-k", "0", "--annotate", tmp_path / "genes.gtf", "--strand", "plus")
        rows = rows_of(cli("search", "-P", text[at : at + 10], path, *how)[1])
        assert [tuple(row[name] for name in ("gene", "feature", "gene_distance")) for row in rows] == [
            expected,
            ("*", "intergenic", "*"),
        ]


def test_nearest_genes_by_brute_force(tmp_path: Path) -> None:
    rng = random.Random(6)
    spans = []
    for number in range(30):
        start = rng.randrange(3000)
        spans.append((start, start + rng.choice([5, 50, 400]), f"g{number}"))
    (tmp_path / "g.bed").write_text("".join(f"c\t{start}\t{end}\t{name}\n" for start, end, name in spans))
    genes = Genes(read_annotation(str(tmp_path / "g.bed")))
    starts = np.arange(0, 3600, 7)
    none = SearchHits.none()
    hits = SearchHits(
        *(np.zeros(len(starts), getattr(none, name).dtype) for name in list(vars(none))[:3]),
        starts,
        starts + 20,
        *list(vars(none).values())[5:],
    )  # type: ignore[arg-type]
    _, feature, distance = genes.columns([b"c"], hits)
    for row, start in enumerate(starts.tolist()):
        gaps = [max(0, a - (start + 20) + 1, start - b + 1) for a, b, _ in spans]
        inside = any(a < start + 20 and start < b for a, b, _ in spans)
        text, offsets, index = distance[2], distance[3], distance[4]
        shown = bytes(text[offsets[index[row]] : offsets[index[row] + 1]]).decode()
        assert int(shown) == min(gaps)
        assert (feature[4][row] == 0) == inside


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("--score mit --bed", 2, "--bed has no columns for scores, genes and variants"),
        ("--score mit", 2, "--score mit is for guides of 20 bases, not 8"),
        ("--score {table}", 3, "factors:2: a line is a mismatch and its factor"),
        ("--score {none}", 3, "No such file"),
        ("--annotate {table}", 3, "neither GTF, GFF3 nor BED"),
    ],
)
def test_what_cannot_be_scored(cli, tmp_path: Path, options: str, status: int, message: str) -> None:
    (tmp_path / "factors").write_text("AC12 0.3\nAC12\n")
    path = write_fasta(tmp_path / "g.fa", ["ACGTACGTACGT"])
    words = options.format(table=tmp_path / "factors", none=tmp_path / "none").split()
    found, _, errors = cli("search", "-P", "ACGTACGT", path, "-k", "0", *words)
    assert (found, message in errors) == (status, True), errors


@pytest.mark.gpu
def test_a_gpu_scores_and_sums_the_same(genome: tuple[Path, list[str], str], tmp_path: Path) -> None:
    path, guides, text = genome
    summary = tmp_path / "summary.tsv"
    how = ("-k", 3, "--pam", "NGG", "--max-bulges", 1, "--score", "mit", "--matched", "lower", "--summary", summary)
    same_on_gpu("search", "-P", ",".join(guides), path, *how, output=tmp_path / "sites.tsv")
    (first, second) = rows_of(summary)
    plain = sites(guides, text, 0)
    assert [int(row["m0b0"]) for row in (first, second)] == [sum(key[0] == guide for key in plain) for guide in guides]
