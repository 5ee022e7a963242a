"""`gpualign.cluster` against the naive greedy program and vsearch: identities, filters, orders, strands, batches."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpualign
from gpualign import _native
from gpualign.align.near import tuning as near_tuning
from gpualign.align.near.cpu import highest_identity
from gpualign.align.pair_inputs import PairInputs
from gpualign.align.score.alignments import Measures
from gpualign.align.score.cpu import Candidates, align_strand
from gpualign.align.score.matrices import load_matrix
from gpualign.align.score.problem import make_problem
from gpualign.cluster import tuning
from gpualign.cluster.params import ClusterParams
from gpualign.errors import InputError, UsageError
from gpualign.params import RunOptions
from gpualign.sequences.batch import SequenceBatch
from gpualign.sequences.encoded import encode
from gpualign.sequences.identity import IdentityBound
from gpualign.sequences.pairs import PairBlock, PairSource
from tests.helpers.files import write_fasta
from tests.helpers.paths import AMPLICONS
from tests.helpers.sam import cigar_text
from tests.helpers.sequences import IUPAC, mutate, reverse_complement, with_codes
from tests.helpers.soak import some_of
from tests.reference.cluster import components, greedy
from tests.reference.pairwise import end_gap_score, replay


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that sequences meet centroids of earlier batches, of the same one, and of several lists of words."""
    monkeypatch.setattr(tuning, "FIRST_BATCH", 3)
    monkeypatch.setattr(near_tuning, "BLOCK_PAIRS", 7)
    monkeypatch.setattr(near_tuning, "LOOKED_AT", 50)


def families(rng: random.Random, count: int, size: int, length: int, rate: float, symbols: str = "ACGT") -> list[str]:
    texts = ["".join(rng.choices(symbols, k=length)) for _ in range(count)]
    return [mutate(rng, rng.choice(texts), rng.random() * rate, symbols) for _ in range(count * size)]


def hamming(least: float):
    """Where all alignments are without gaps."""

    def near(a: str, b: str) -> float | None:
        identity = sum(x == y for x, y in zip(a, b, strict=True)) / len(a)
        return identity if identity >= least - 1e-9 else None

    return near


def substituted(rng: random.Random, text: str, most: int) -> str:
    symbols = list(text)
    for at in rng.sample(range(len(text)), rng.randint(0, most)):
        symbols[at] = rng.choice("ACGT")
    return "".join(symbols)


@pytest.mark.parametrize("least", [0.98, 0.95, 0.9])
@pytest.mark.parametrize("first", [False, True])
def test_substitutions_alone(least: float, first: bool) -> None:
    """Identities are counted here; gaps cost more than any substitutions."""
    rng = random.Random(int(least * 100))
    texts = ["".join(rng.choices("ACGT", k=120)) for _ in range(6)]
    sequences = [substituted(rng, rng.choice(texts), 14) for _ in range(150)]
    sequences += sequences[:20]
    clusters, identities = greedy(sequences, hamming(least), first)
    result = gpualign.cluster(
        sequences, least, order="input", first=first, gap_open=1000, gap_extend=1000, end_gap_open=1000,
        end_gap_extend=1000, threads=2, device="cpu",
    )  # fmt: skip
    assert result.labels.tolist() == clusters
    assert result.table["identity"].tolist() == pytest.approx(identities)
    assert len(set(clusters)) > 20


def test_single_linkage_of_substitutions() -> None:
    rng = random.Random(5)
    texts = ["".join(rng.choices("ACGT", k=120)) for _ in range(6)]
    sequences = [substituted(rng, rng.choice(texts), 16) for _ in range(200)]
    expected = components(sequences, hamming(0.9))
    gaps = dict.fromkeys(("gap_open", "gap_extend", "end_gap_open", "end_gap_extend"), 1000)
    result = gpualign.cluster(sequences, 0.9, order="input", linkage="single", **gaps, device="cpu")
    assert result.labels.tolist() == expected
    assert 6 < len(set(expected)) < 100
    assert result.table.names == ("sequence", "cluster", "centroid", "sequence_name", "centroid_name")


def all_pairs(sequences: list[str], least: float, coverage: float = 0.0, definition: int = 1, **alignment):
    """Identities of all pairs from alignments as of `pairwise`, which have tests of their own, without any filter."""
    params = ClusterParams(identity=0.0, identity_definition=definition, **alignment)
    scoring, names = params.load_scoring(), sorted(set(sequences))
    number = {name: i for i, name in enumerate(names)}
    encoded = encode([SequenceBatch.from_records([(name, name) for name in names])], scoring)
    source = PairSource.triangle(encoded.lengths, include_self=True)
    options = RunOptions(quiet=True, progress=False)
    problem = make_problem(params.pairs, options, scoring, PairInputs(encoded, encoded, source))
    query, target = (index.ravel().astype(np.int32) for index in np.indices((len(names), len(names))))
    rows = Measures(align_strand(problem, Candidates(PairBlock(query, target)), 0), "global")
    aligned = (rows.matches + rows.mismatches).reshape(len(names), -1)
    identities = rows.identity(definition).reshape(len(names), -1)

    def near(a: str, b: str) -> float | None:
        i, j = number[a], number[b]
        if aligned[i, j] < coverage * max(len(a), len(b)) - 1e-6 or identities[i, j] < least - 1e-9:
            return None
        return float(identities[i, j])

    return near


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    length=st.sampled_from([8, 21, 40, 90]),
    rate=st.sampled_from([0.05, 0.2, 0.6]),
    least=st.sampled_from([1.0, 0.99, 0.97, 0.9, 0.8, 0.6, 0.3]),
    definition=st.integers(0, 4),
    coverage=st.sampled_from([0.0, 0.0, 0.5, 0.8, 0.9]),
    first=st.booleans(),
    share=st.sampled_from([0.0, 0.0, 0.01, 0.1, 0.4]),
)
def test_filters_lose_nothing(seed, length, rate, least, definition, coverage, first, share) -> None:
    rng = random.Random(seed)
    sequences = families(rng, 4, 6, length, rate)
    sequences += [text[: rng.randint(1, length)] for text in sequences[:5]] + sequences[:4]
    sequences = [text or "A" for text in sequences]
    sequences[3] = sequences[3][:-1] + "N"
    sequences = [with_codes(rng, text, share) for text in sequences]
    near = all_pairs(sequences, least, coverage, definition)
    clusters, identities = greedy(sequences, near, first)
    result = gpualign.cluster(
        sequences, least, order="input", identity_definition=definition, min_coverage=coverage, first=first,
        device="cpu",
    )  # fmt: skip
    assert result.labels.tolist() == clusters
    assert result.table["identity"].tolist() == pytest.approx(identities)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    least=st.sampled_from([0.97, 0.95, 0.9, 0.8]),
    coverage=st.sampled_from([0.0, 0.3, 0.6, 0.75, 0.9]),
    share=st.sampled_from([0.0, 0.0, 0.02]),
)
def test_blocks_rule_out_no_near_pair(seed: int, least: float, coverage: float, share: float) -> None:
    """Genes of conserved and of variable intervals, whose ends are lost, or replaced by others."""
    rng = random.Random(seed)
    whole = "".join(rng.choices("ACGT", k=420))
    genes = []
    for _ in range(5):
        parts = [mutate(rng, whole[at : at + 60], rng.choice([0.0, 0.01, 0.3])) for at in range(0, 420, 60)]
        genes += [mutate(rng, "".join(parts), rng.choice([0.005, 0.02, 0.04])) for _ in range(5)]
    for i in range(0, len(genes), 3):
        lost = rng.randrange(90)
        other = "".join(rng.choices("ACGT", k=rng.choice([0, lost])))
        genes[i] = other + genes[i][lost:] if rng.random() < 0.5 else genes[i][: len(genes[i]) - lost] + other
    genes = [with_codes(rng, gene, share) for gene in genes]
    clusters, identities = greedy(genes, all_pairs(genes, least, coverage, 2), False)
    result = gpualign.cluster(
        genes, least, order="input", identity_definition=2, min_coverage=coverage, device="cpu"
    )  # fmt: skip
    assert result.labels.tolist() == clusters
    assert result.table["identity"].tolist() == pytest.approx(identities)


def test_blocks_rule_out_pairs_that_words_do_not() -> None:
    """By hand: where 60 of 640 symbols differ within 240, 25 of 40 words of 16 stand, and 15 to 21 are needed. Where 16
    differ, one in 40, the identity is 97.5 %.
    """
    rng = random.Random(2)
    gene = "".join(rng.choices("ACGT", k=640))
    other = dict(zip("ACGT", "CGTA", strict=True))
    apart = gene[:200] + "".join(other[c] if i % 4 == 0 else c for i, c in enumerate(gene[200:440])) + gene[440:]
    near = "".join(other[c] if i % 40 == 7 else c for i, c in enumerate(gene))
    letters = (gene + apart + near).encode().translate(bytes.maketrans(b"ACGT", bytes(range(4))))

    def candidates(definition: int, coverage: float) -> list[int]:
        index = _native.NearIndex(
            codes=np.frombuffer(letters, np.uint8),
            offsets=np.array([0, 640, 1280, 1920]),
            identical=4,
            codes_match=False,
            word=16,
            identity=0.97,
            definition=definition,
            coverage=coverage,
            scores=np.zeros(0, np.int32),
        )
        index.add(np.array([1, 2], np.int32))
        first, last = np.zeros(1, np.int32), np.array([2], np.int32)
        return index.candidates(first, first, last, np.zeros(1), 1)[1].tolist()

    assert candidates(1, 0.0) == [0, 1]  # without blocks
    assert candidates(2, 0.8) == candidates(2, 0.6) == [1]


def test_centroids_of_all_lengths_and_ends_that_do_not_count() -> None:
    """The pair has few words in common, as few as only centroids of the sequence's own length may have; by hand: 8 of
    160 inner columns differ, 160 of 200 symbols are covered.
    """
    rng = random.Random(1)
    longer, shorter, centroid, end = ("".join(rng.choices("ACGT", k=k)) for k in (400, 100, 200, 40))
    other = dict(zip("ACGT", "CGTA", strict=True))
    inner = "".join(other[c] if i % 20 == 5 else c for i, c in enumerate(centroid[:160]))
    result = gpualign.cluster(
        [longer, shorter, centroid, end + inner], 0.95, order="input", identity_definition=2, min_coverage=0.8
    )
    assert result.labels.tolist() == [0, 1, 2, 2]
    assert result.table["identity"].tolist() == [1, 1, 1, 0.95]


@pytest.mark.parametrize("least", [0.95, 0.8, 0.5])
def test_proteins(least: float) -> None:
    rng = random.Random(8)
    sequences = families(rng, 5, 8, 70, 0.4, "ARNDCQEGHILKMFPSTWYV")
    gaps = {"matrix": "BLOSUM62", "gap_open": 12, "gap_extend": 1}
    clusters, _ = greedy(sequences, all_pairs(sequences, least, **gaps))
    result = gpualign.cluster(sequences, least, order="input", **gaps, device="cpu")
    assert result.labels.tolist() == clusters
    assert gpualign.cluster(sequences, least, order="input", matrix="BLOSUM62").labels.tolist() == clusters
    with pytest.raises(InputError, match="proteins need matrix, such as BLOSUM62"):
        gpualign.cluster(["MKVLAE"], least)


def test_codes_match_where_they_have_a_base_in_common() -> None:
    """By hand: R is A or G, N is any base, Y is C or T. 15 of 16 columns match, then 16, then 14."""
    plain = "ACGTACGTACGTACGT"
    sequences = [plain, "RCGTACGTACGTACGA", "NNGTACGTACGTACGT", "YCGTACGTACGTACGA", "ACGTACGTACGTACGT"]
    result = gpualign.cluster(sequences, 0.93, order="input", device="cpu")
    assert result.labels.tolist() == [0, 0, 0, 1, 0]
    assert result.table["identity"].tolist() == [1, 15 / 16, 1, 1, 1]
    ends = gpualign.cluster(["ACGTNNNN", "ACGTACGT", "RRRRRRRR", "YYYYYYYY"], 1, order="input", device="cpu")
    assert ends.labels.tolist() == [0, 0, 1, 2]


def test_a_word_with_a_code_rejects_no_pair() -> None:
    """Every word of the query has a code, or every word of the centroid, or none and it lacks the words: by hand, all
    columns of the first three match.
    """
    rng = random.Random(9)
    centroid = "".join(rng.choices("ACGT", k=300))
    coded = "".join("N" if i % 5 == 2 else c for i, c in enumerate(centroid))
    other = "".join(rng.choices("ACGT", k=300))
    for order in ([centroid, coded, other], [coded, centroid, other]):
        result = gpualign.cluster(order, 0.97, order="input", device="cpu")
        assert result.labels.tolist() == [0, 0, 1]
        assert result.table["identity"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("matrix", [None, "NUC.4.4"])
def test_alignments_with_codes(matrix: str | None) -> None:
    """Scores of the naive program, and matches by the sets of bases that codes stand for."""
    rng = random.Random(12)
    texts = [with_codes(rng, text, 0.2) for text in families(rng, 2, 10, 37, 0.3)]
    params = ClusterParams(identity=0.5, matrix=matrix)
    scoring = params.load_scoring()
    alignment = params.alignment
    inside = (alignment.gap_open, alignment.gap_extend)
    ends = [inside if matrix else (2, 1)] * 4
    symbols = {symbol: i for i, symbol in enumerate(scoring.symbols)}
    known = load_matrix(matrix) if matrix else None

    def score(a: str, b: str) -> int:
        if known is not None:
            return int(known.scores[known.symbols.index(a), known.symbols.index(b)])
        return 0 if max(len(IUPAC[a]), len(IUPAC[b])) > 1 else 2 if a == b else -4

    encoded = encode([SequenceBatch.from_records([(text, text) for text in texts])], scoring)
    source = PairSource.triangle(encoded.lengths, include_self=True)
    problem = make_problem(params.pairs, RunOptions(quiet=True), scoring, PairInputs(encoded, encoded, source))
    query, target = (index.ravel().astype(np.int32) for index in np.indices((len(texts), len(texts))))
    found = align_strand(problem, Candidates(PairBlock(query, target)), 0)
    assert found.cigar is not None
    for pair in range(len(query)):
        a, b = texts[query[pair]], texts[target[pair]]
        assert found.score[pair] == end_gap_score(a, b, score, inside, ends)
        cigar = cigar_text(found.cigar[found.cigar_offsets[pair] : found.cigar_offsets[pair + 1]].tolist())
        assert replay(a, b, cigar, score, *inside, ends) == (found.score[pair], len(a), len(b))
        columns = columns_of(a, b, cigar)
        assert found.counts[pair][0] == sum(bool(set(IUPAC[x]) & set(IUPAC[y])) for x, y in columns)
    assert set("".join(texts)) == set(symbols) & set(IUPAC)


def columns_of(a: str, b: str, cigar: str) -> list[tuple[str, str]]:
    """The pairs of symbols in one column."""
    i, j, columns = 0, 0, []
    for length, operation in re.findall(r"(\d+)([MID])", cigar):
        if operation == "M":
            columns += zip(a[i : i + int(length)], b[j : j + int(length)], strict=True)
        i += int(length) * (operation != "D")
        j += int(length) * (operation != "I")
    return columns


def test_the_other_strand() -> None:
    """The reverse complement of a member is one, and rows say so; by hand."""
    text = "ACGTTGCATTAGGCATCCGATAGGAC"
    sequences = [text, reverse_complement(text), "T" + text[1:], reverse_complement("T" + text[1:]), "A" * 26]
    plus = gpualign.cluster(sequences, 0.9, order="input")
    assert plus.labels.tolist() == [0, 1, 0, 1, 2]
    both = gpualign.cluster(sequences, 0.9, order="input", strand="both")
    assert both.labels.tolist() == [0, 0, 0, 0, 1]
    assert both.table["strand"].tolist() == ["+", "-", "+", "-", "+"]
    single = gpualign.cluster(sequences, 0.9, order="input", strand="both", linkage="single")
    assert single.labels.tolist() == [0, 0, 0, 0, 1]


def test_the_nearest_the_first_of_equal_ones_or_the_first() -> None:
    """Two centroids at 16 of 20; then a sequence that is nearer to the second, and one as near to both."""
    one = "ACGTTGCATTAGGCATCCGA"
    two = "ACGTTGCATTAGGCATAATC"  # the last four differ
    nearer, between = "ACGTTGCATTAGGCATAATA", "ACGTTGCATTAGGCATACTA"
    sequences = [one, two, nearer, between]
    assert gpualign.cluster(sequences, 0.85, order="input").labels.tolist() == [0, 1, 1, 0]
    assert gpualign.cluster(sequences, 0.8, order="input", first=True).labels.tolist() == [0, 0, 0, 0]


def test_a_copy_joins_a_nearer_centroid_that_was_founded_later() -> None:
    """What is known of a sequence is not enough for its copy: a centroid came in between."""
    one = "ACGTTGCATTAGGCATCCGA"
    member, later = "ACGTTGCATTAGGCATCCTC", "ACGTTGCATTAGGCATTATC"  # 18 of 20 with one; 16 with one, 18 with member
    later = "ACGTTGCATTAGGCATACTC"  # 17 with one, 19 with member
    sequences = [one, member, later, member]
    result = gpualign.cluster(sequences, 0.88, order="input")
    assert result.labels.tolist() == [0, 0, 1, 1]
    assert result.table["identity"].tolist() == [1.0, 0.9, 1.0, 0.95]


def test_orders_and_lengths() -> None:
    names = ["a;size=2", "b;size=9", "c", "d;size=2"]
    texts = ["ACGTACGTTT", "GGCCATTAGA", "TTTTTCAGACATAA", "CGC"]
    from gpualign.sequences.batch import SequenceBatch

    sequences = SequenceBatch.from_records(list(zip(names, texts, strict=True)))
    taken = lambda **given: gpualign.cluster(sequences, 0.9, **given).table["sequence"].tolist()  # noqa: E731
    assert taken() == [2, 1, 0, 3]
    assert taken(order="size") == [1, 0, 3, 2]
    assert taken(order="input") == [0, 1, 2, 3]
    result = gpualign.cluster(sequences, 0.9, min_length=5, max_length=10)
    assert result.table["sequence"].tolist() == [1, 0]
    assert result.labels.tolist() == [1, 0, -1, -1]


@settings(max_examples=100, deadline=None)
@given(
    a=st.text("AC", min_size=1, max_size=9),
    b=st.text("AC", min_size=1, max_size=9),
    definition=st.sampled_from([0, 1, 4]),
)
def test_no_alignment_beats_the_bound_of_its_edits(a: str, b: str, definition: int) -> None:
    """All alignments of two short texts, column by column."""
    best: dict[tuple[int, int], set[tuple[int, int]]] = {(0, 0): {(0, 0)}}  # (matches, columns)
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            states = best.setdefault((i, j), set())
            if i and j:
                equal = a[i - 1] == b[j - 1]
                states |= {(matches + equal, columns + 1) for matches, columns in best[i - 1, j - 1]}
            if i:
                states |= {(matches, columns + 1) for matches, columns in best[i - 1, j]}
            if j:
                states |= {(matches, columns + 1) for matches, columns in best[i, j - 1]}
    ends = best[len(a), len(b)]
    edits = min(columns - matches for matches, columns in ends)
    below = (lambda columns: min(len(a), len(b))) if definition == 0 else (lambda columns: columns)
    identity = max(matches / below(columns) for matches, columns in ends)
    sizes = np.array([len(a)], np.int32), np.array([len(b)], np.int32)
    assert identity <= highest_identity(definition, np.array([edits], np.int32), *sizes)[0] + 1e-12
    if identity:
        (limit,) = IdentityBound(identity, definition).max_edits(*(size.astype(np.int64) for size in sizes))
        assert edits <= limit


VSEARCH = ["--maxaccepts", "0", "--maxrejects", "0", "--minwordmatches", "0", "--minseqlength", "1", "--qmask", "none"]
#: order, identity and strands
SEARCHES = [("size", "0.97", "plus"), ("length", "0.9", "both"), ("size", "1.0", "both")]
SHARES = [0.0, 0.003, 0.03]
#: in every run each definition twice, with all searches and shares of ambiguity codes among them
CASES_OF_VSEARCH = some_of(
    product(range(4), SEARCHES, SHARES),
    lambda definition, search, share: (
        SEARCHES.index(search) == definition % 3 and SHARES.index(share) != (definition + 1) % 3
    ),
)


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
@pytest.mark.parametrize(("definition", "search", "share"), CASES_OF_VSEARCH)
def test_vsearch_writes_the_same(
    cli, tmp_path: Path, definition: int, search: tuple[str, str, str], share: float
) -> None:
    """The whole .uc, if vsearch compares all pairs; names, numbers, order, strands, CIGARs. With and without ambiguity
    codes, of which many make several alignments the best.
    """
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    order, least, strand = search
    records = gpualign.read_sequences(AMPLICONS)
    texts = [records.sequence(i).decode() for i in range(min(70, len(records)))]
    texts += [reverse_complement(text[3:]) for text in texts[:9]]
    texts += [texts[3], texts[5][2:], reverse_complement(texts[4]), texts[-9]] * 2
    sizes = random.Random(3)
    texts = [with_codes(sizes, text, share) for text in texts]
    fasta = write_fasta(tmp_path / "a.fa", [(f"s{i};size={sizes.randint(1, 5)}", text) for i, text in enumerate(texts)])
    command = "--cluster_size" if order == "size" else "--cluster_fast"
    common = ["--id", least, "--iddef", str(definition), "--strand", strand]
    subprocess.run(
        ["vsearch", command, fasta, *common, *VSEARCH, "--uc", theirs, "--quiet", "--threads", "1"],
        check=True, capture_output=True, timeout=100,
    )  # fmt: skip
    status, _, errors = cli("cluster", fasta, *common, "--order", order, "--uc", ours, "-o", tmp_path / "table")
    assert status == 0, errors
    assert ours.read_text() == theirs.read_text()
    assert ours.read_text().count("\nH") > 5


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
@pytest.mark.parametrize("mask", ["none", "dust", "soft"])
def test_masking_changes_nothing_where_all_pairs_count(cli, tmp_path: Path, mask: str) -> None:
    """Sequences of low complexity, in lower case in part, U for T: vsearch masks words, not alignments."""
    rng = random.Random(1)
    unique = "".join(rng.choices("ACGT", k=80))
    texts = [unique + "ac" * 13, unique.lower() + "AC" * 13, "A" * 60, "A" * 59 + "C", "AC" * 40, "AC" * 39 + "GT"]
    texts += [unique.replace("T", "U") + "AC" * 13]
    fasta, ours, theirs = write_fasta(tmp_path / "a.fa", enumerate(texts)), tmp_path / "ours", tmp_path / "theirs"
    subprocess.run(
        ["vsearch", "--cluster_fast", fasta, "--id", "0.97", *VSEARCH, "--qmask", mask, "--uc", theirs, "--quiet"],
        check=True, capture_output=True, timeout=100,
    )  # fmt: skip
    status, _, errors = cli("cluster", fasta, "--id", "0.97", "--iddef", "2", "--uc", ours, "-o", tmp_path / "table")
    assert status == 0, errors
    assert ours.read_text() == theirs.read_text()
    assert ours.read_text().count("\nH") == 5


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
@pytest.mark.parametrize("strand", ["plus", "both"])
def test_identity_1_is_dereplication(tmp_path: Path, strand: str) -> None:
    """The clusters of vsearch --derep_fulllength."""
    rng, out = random.Random(4), tmp_path / "out"
    texts = ["".join(rng.choices("AC", k=rng.randint(3, 5))) for _ in range(150)]
    texts += [reverse_complement(text) for text in texts[:50]]
    fasta = write_fasta(tmp_path / "a.fa", [(f"s{i}", text) for i, text in enumerate(texts)])
    options = ["--strand", strand, "--minseqlength", "1", "--quiet"]
    subprocess.run(["vsearch", "--derep_fulllength", fasta, "--uc", out, *options], check=True, timeout=100)
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    theirs = {row[8]: row[1] for row in rows if row[0] in "SH"}
    for linkage in ("centroid", "single"):
        labels = gpualign.cluster(texts, 1, strand=strand, linkage=linkage).labels.tolist()  # type: ignore[arg-type]
        pairs = {(ours, theirs[f"s{i}"]) for i, ours in enumerate(labels)}
        assert len(pairs) == len(set(labels)) == len(set(theirs.values())) > 40


def test_parameters_that_cannot_be() -> None:
    for wrong in (
        {"identity": -0.1},
        {"identity": 97},
        {"order": "name"},
        {"linkage": "complete"},
        {"linkage": "single", "first": True},
        {"min_coverage": 1.5},
        {"min_length": -1},
        {"min_length": 9, "max_length": 8},
        {"mode": "local"},
        {"score_only": True},
    ):
        with pytest.raises(UsageError):
            gpualign.cluster(["ACGT"], **{"identity": 0.9, **wrong})


def test_nothing_and_sequences_of_no_symbols() -> None:
    assert gpualign.cluster([], 0.9).labels.tolist() == []
    assert len(gpualign.cluster([], 0.9).table) == 0
    assert gpualign.cluster(["", "ACGT", ""], 0.9, min_length=0).labels.tolist() == [1, 0, 2]
    assert gpualign.cluster(["ACGT", "GGGG", "C"], 0.0).labels.tolist() == [0, 0, 0]
