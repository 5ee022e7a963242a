"""Sites that variants make, against alternative sequences that a naive scan reads, and by hand."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.helpers.files import rows_of, write_fasta
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import reverse_complement

GUIDE = "ACGTTGCAACGTGATCCATG"
HEADER = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"


def write_vcf(path: Path, rows: list[tuple[str, int, str, str]]) -> Path:
    """Rows of contig, 1-based position, REF and ALT."""
    lines = [f"{contig}\t{position}\t.\t{ref}\t{alt}\t.\t.\t.\n" for contig, position, ref, alt in sorted(rows)]
    path.write_text(HEADER + "".join(lines))
    return path


def changed(base: str) -> str:
    return "CGTA"["ACGT".index(base)]


def errors_at(pattern: str, bases: list[tuple[int, str]], snps: dict[int, tuple[str, str]]) -> tuple[int, list[str]]:
    """Mismatches of a site with the best allele of each substitution, and the alleles that are not REF.

    Args:
        bases: position and base of each symbol of the site, forward.
        snps: REF and other bases by position.
    """
    errors, used = 0, []
    for symbol, (at, base) in zip(pattern, bases, strict=True):
        ref, others = snps.get(at, (base, ""))
        if symbol == base:
            continue
        if base == ref and symbol in others:
            used.append(f"{at + 1}{ref}>{symbol}")
        else:
            errors += 1
    return errors, used


def expected_sites(
    guide: str, text: str, snps: dict[int, tuple[str, str]], alleles: list[tuple[int, str, str]], k: int
):
    """Rows (strand, start, end, distance, variants), by a scan of the text and of each alternative sequence."""
    rows, size = set(), len(guide)
    for strand, pattern in (("+", guide), ("-", reverse_complement(guide))):
        plain = list(enumerate(text))
        known = [errors_at(pattern, plain[i : i + size], {})[0] for i in range(len(text) - size + 1)]
        rows |= {(strand, i, i + size, known[i], "*") for i in range(len(known)) if known[i] <= k}

        def add(bases: list[tuple[int, str]], i: int, label: list[str]) -> None:
            errors, used = errors_at(pattern, bases[i : i + size], snps)  # noqa: B023
            start, end = bases[i][0], bases[i + size - 1][0] + 1
            rivals = [known[at] for at in {start, end - size} if 0 <= at < len(known) and known[at] <= k]  # noqa: B023
            if (used or label) and errors <= k and all(errors < rival for rival in rivals):
                rows.add((strand, start, end, errors, ",".join([*label, *used])))  # noqa: B023

        for i in range(len(known)):
            add(plain, i, [])
        for at, ref, alt in alleles:  # the first base of both is the same
            after = at + len(ref)
            new = plain[: at + 1] + [(at, base) for base in alt[1:]] + plain[after:]
            first, last = at + 1, at + len(alt)
            for i in range(max(0, first - size), min(len(new) - size, max(first, last)) + 1):
                if i < last and i + size > first:
                    add(new, i, [f"{at + 1}{ref}>{alt}"])
    return rows


def made(seed: int) -> tuple[str, dict[int, tuple[str, str]], list[tuple[int, str, str]]]:
    """A text with sites of GUIDE that variants make, and others."""
    rng = random.Random(seed)
    parts = ["".join(rng.choices("ACGT", k=30))]
    for _ in range(24):
        site = list(GUIDE)
        for at in rng.sample(range(20), rng.randrange(5)):
            site[at] = rng.choice("ACGT")
        if rng.random() < 0.3:
            at = rng.randrange(2, 18)
            site[at:at] = rng.choices("ACGT", k=rng.randrange(1, 4))
        elif rng.random() < 0.3:
            at = rng.randrange(2, 16)
            del site[at : at + rng.randrange(1, 3)]
        whole = "".join(site)
        parts += [whole if rng.random() < 0.5 else reverse_complement(whole), "".join(rng.choices("ACGT", k=25))]
    text = "".join(parts)
    snps, alleles = {}, []
    for at in range(5, len(text) - 5):
        if rng.random() < 0.3:
            snps[at] = text[at], "".join(rng.sample(sorted(set("ACGT") - {text[at]}), rng.randrange(1, 3)))
        if rng.random() < 0.08:
            ref = text[at : at + rng.randrange(1, 4)]
            alt = text[at] + ("" if len(ref) > 1 else "".join(rng.choices("ACGT", k=rng.randrange(1, 4))))
            if len(ref) != len(alt) and all(ref[-1] != alt[-1] for _ in "." if len(alt) > 1):
                alleles.append((at, ref, alt))
    return text, snps, alleles


@pytest.mark.parametrize("seed", range(4))
def test_sites_of_random_variants(cli, tmp_path: Path, seed: int) -> None:
    text, snps, alleles = made(seed)
    rows = [("c", at + 1, ref, ",".join(others)) for at, (ref, others) in snps.items()]
    vcf = write_vcf(tmp_path / "v.vcf", rows + [("c", at + 1, ref, alt) for at, ref, alt in alleles])
    path = write_fasta(tmp_path / "g.fa", [("c", text), ("other", text[:60])])
    how = ("-k", 2, "--mismatches-only", "--hits", "all", "--variants", vcf, "-p")
    status, out, errors = cli("search", "-P", GUIDE, path, *how)
    assert status == 0, errors
    rows = rows_of(out)
    found = {
        (row["strand"], int(row["tstart"]) - 1, int(row["tend"]), int(row["distance"]), row["variants"])
        for row in rows
        if row["target"] == "c"
    }
    expected = expected_sites(GUIDE, text, snps, alleles, 2)
    assert found == expected
    made_by = [row[4] for row in expected]
    assert {">" in each for each in made_by} == {True, False}
    for row in rows:
        differ = sum(a != b for a, b in zip(GUIDE, row["matched"], strict=True))
        assert differ == int(row["distance"])  # the text has the alleles
    assert [r for r in rows if r["target"] == "other"] == [
        {**r, "target": "other"} for r in rows if r["target"] == "c" and r["variants"] == "*" and int(r["tend"]) <= 60
    ]


def test_substitutions_and_indels_by_hand(cli, tmp_path: Path) -> None:
    """Two substitutions at once, an allele that takes two bases out, and one that adds three; sums of the sites."""
    rng = random.Random(1)
    gap = ["".join(rng.choices("ACGT", k=60)) for _ in range(5)]
    far = GUIDE[:5] + "A" + GUIDE[6:] + "AGT"
    text = gap[0] + far + gap[1] + GUIDE[:10] + "AT" + GUIDE[10:] + "CGG" + gap[2] + GUIDE[:12] + GUIDE[15:] + "TGG"
    text += gap[3] + GUIDE + "TGG" + gap[4]
    (bulge, short, plain) = 143, 228, 308
    rows = [("c", 66, "A", "G,<DEL>"), ("c", 83, "T", "G"), ("c", bulge + 10, text[bulge + 9 : bulge + 12], "C")]
    rows += [("c", short + 12, text[short + 11], text[short + 11] + GUIDE[12:15]), ("c", plain + 3, "G", "T")]
    vcf = write_vcf(tmp_path / "v.vcf", rows)
    path, summary = write_fasta(tmp_path / "g.fa", [("c", text)]), tmp_path / "sums.tsv"
    how = ("-k", 1, "--pam", "NGG", "--score", "mit", "--matched", "lower", "--variants", vcf, "--summary", summary)
    status, out, errors = cli("search", "-P", GUIDE, path, *how)
    assert status == 0, errors
    assert "1 symbolic or long allele left out" in errors
    columns = ("tstart", "tend", "distance", "matched", "score", "variants")
    assert [tuple(row[name] for name in columns) for row in rows_of(out)] == [
        ("61", "83", "0", GUIDE + "AGG", "1.0000", "66A>G,83T>G"),
        (str(bulge + 1), str(bulge + 25), "0", GUIDE + "CGG", "1.0000", f"{bulge + 10}CAT>C"),
        (str(short + 1), str(short + 20), "0", GUIDE + "TGG", "1.0000", f"{short + 12}{text[short + 11]}>TGAT"),
        (str(plain + 1), str(plain + 23), "0", GUIDE + "TGG", "1.0000", "*"),
    ]
    (row,) = rows_of(summary)
    assert (row["loci"], row["m0b0"], row["off_target_score"]) == ("4", "4", "3.0000")


def test_any_batches_and_threads_give_the_same(cli, tmp_path: Path) -> None:
    """Sites at the borders of parts, with records longer than a batch."""
    whole, rows = "".join(random.Random(2).choices("ACGT", k=66_000)), []
    for seed in range(9, 19):
        text, snps, alleles = made(seed)
        rows += [("c", len(whole) + at + 1, ref, ",".join(others)) for at, (ref, others) in snps.items()]
        rows += [("c", len(whole) + at + 1, ref, alt) for at, ref, alt in alleles]
        whole += text
    vcf = write_vcf(tmp_path / "v.vcf", rows)
    path = write_fasta(tmp_path / "g.fa", [("c", whole)])
    how = ("search", "-P", GUIDE, path, "-k", 4, "--max-bulges", 1, "--variants", vcf, "-p")
    outputs = [cli(*how, *more)[1] for more in (("--batch-size", "1K"), ("-t", 1), ("--batch-size", "20K", "-t", 3))]
    assert outputs[0] == outputs[1] == outputs[2]
    assert any(row["variants"] != "*" for row in rows_of(outputs[0]))


@pytest.mark.parametrize(
    ("vcf", "options", "status", "message"),
    [
        (HEADER + "c\t3\t.\tA\tC\t.\t.\t.\n", "", 3, "v.vcf: c:3: REF is A, but the target has G there"),
        (HEADER + "c\t2\t.\tCT\tC\t.\t.\t.\n", "", 3, "v.vcf: c:3: REF is T, but the target has G there"),
        (HEADER + "d\t3\t.\tG\tC\t.\t.\t.\n", "", 0, "no target has a variant"),
        (HEADER + "c\t3\t.\tG\tC\t.\t.\t.\nc\n", "", 3, "v.vcf: no record can be read after c:3"),
        ("ACGT\n", "", 3, "v.vcf: it is neither VCF nor BCF"),
        (HEADER, "--bed", 2, "--bed has no columns for scores, genes and variants"),
        (HEADER, "--ends free", 2, "--variants cannot be used with other alphabets or --ends free"),
    ],
)
def test_what_is_wrong_with_variants(cli, tmp_path: Path, vcf: str, options: str, status: int, message: str) -> None:
    (tmp_path / "v.vcf").write_text(vcf)
    path = write_fasta(tmp_path / "g.fa", [("c", "ACGTACGTACGTACGTACGTACGTAC")])
    how = ("-k", 1, "--variants", tmp_path / "v.vcf", *options.split())
    found, _, errors = cli("search", "-P", "ACGTACGTTTGT", path, *how)
    assert (found, message in errors) == (status, True), errors


@pytest.mark.gpu
def test_a_gpu_finds_the_same_sites(tmp_path: Path) -> None:
    text, snps, alleles = made(9)
    rows = [("c", at + 1, ref, ",".join(others)) for at, (ref, others) in snps.items()]
    vcf = write_vcf(tmp_path / "v.vcf", rows + [("c", at + 1, ref, alt) for at, ref, alt in alleles])
    path = write_fasta(tmp_path / "g.fa", [("c", text)])
    out = same_on_gpu("search", "-P", GUIDE, path, "-k", 4, "--variants", vcf, "-p", output=tmp_path / "sites.tsv")
    assert {row["variants"] for row in rows_of(out)} > {"*"}
