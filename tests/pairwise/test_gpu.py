"""`pairwise` on a GPU: the CPU's bytes, with scores by parasail."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import parasail
import pytest

from gpualign.align.score.device import kernel as kernels
from tests.helpers.files import rows_of, write_fasta
from tests.helpers.implementations import same_on_gpu
from tests.helpers.sequences import mutate
from tests.reference.pairwise import end_gap_score, replay

pytestmark = pytest.mark.gpu


def same(folder: Path, *options: str, ways: tuple[tuple[str, ...], ...] = ((),)) -> list[dict[str, str]]:
    """The rows that the CPU and a GPU write; ``ways``: further options on the GPU."""
    on_gpu = [("--device", "cuda", *way) for way in ways]
    same_on_gpu("pairwise", "-q", *options, output=folder / "rows", ways=on_gpu)
    return rows_of(folder / "rows")


def scores_in(rows: list[dict[str, str]]) -> list[int]:
    return [int(row["score"]) for row in rows]


def family(seed: int, count: int, length: int, rate: float, symbols: str = "ACGT") -> list[str]:
    rng = random.Random(seed)
    base = "".join(rng.choices(symbols, k=length))
    return [mutate(rng, base, rate * rng.random(), symbols) or symbols[0] for _ in range(count)]


SCHEMES = {
    "linear": (["--gap", "10"], "ACGT", 10, 10),
    "affine": (["--gapopen", "10", "--gapext", "1"], "ACGTN", 10, 1),
    "other gaps": (["--gapopen", "12", "--gapext", "2"], "ACGTN", 12, 2),
    "protein": (["--matrix", "BLOSUM62", "--gapopen", "11", "--gapext", "1"], "ARNDCQEGHILKMFPSTWYV", 11, 1),
    "wide": (["--match", "500", "--mismatch", "-300", "--gapopen", "900", "--gapext", "100"], "ACGT", 900, 100),
}


def parasail_matrix_of(scheme: str) -> Any:
    if scheme == "protein":
        return parasail.blosum62
    match, mismatch = (500, -300) if scheme == "wide" else (5, -4)
    matrix = parasail.matrix_create("ACGT", match, mismatch)
    for i in range(4):
        matrix[i, 4] = matrix[4, i] = mismatch
    matrix[4, 4] = mismatch
    return matrix


def parasail_scores(scheme: str, sequences: list[str]) -> list[int]:
    _, _, gap_open, gap_extend = SCHEMES[scheme]
    matrix = parasail_matrix_of(scheme)
    pairs = [(a, b) for i, a in enumerate(sequences) for b in sequences[i + 1 :]]
    return [parasail.nw_scan_64(a, b, gap_open, gap_extend, matrix).score for a, b in pairs]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 15, 16, 17, 33, 150, 400])
def test_scores_and_alignments(tmp_path: Path, scheme: str, length: int) -> None:
    options, symbols, gap_open, gap_extend = SCHEMES[scheme]
    sequences = family(length, 24, length, 0.6, symbols)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    expected = parasail_scores(scheme, sequences)
    assert scores_in(same(tmp_path, fasta, *options, "--score-only")) == expected
    rows = same(tmp_path, fasta, *options)
    assert scores_in(rows) == expected
    for row in rows:
        a, b = sequences[int(row["query"][1:])], sequences[int(row["target"][1:])]
        _, symbols_a, symbols_b = replay(a, b, row["cigar"], lambda x, y: 0, gap_open, gap_extend)
        assert (symbols_a, symbols_b) == (len(a), len(b))


@pytest.mark.parametrize("identity", ["0.97", "0.8", "0.5"])
@pytest.mark.parametrize("extra", [[], ["--strand", "both"], ["--iddef", "0"], ["--iddef", "2"], ["--gap", "8"]])
def test_identity_filter_drops_what_it_should(tmp_path: Path, identity: str, extra: list[str]) -> None:
    # the longer family is beyond the edit filter at the lower identities, so that scores have to prove them away
    sequences = family(7, 70, 300, 0.4) + family(8, 10, 90, 0.2)
    if identity == "0.5" and not extra:
        sequences = family(9, 30, 700, 0.9)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    rows = same(tmp_path, fasta, *extra)
    reached = same(tmp_path, fasta, *extra, "--id", identity)
    if "--strand" not in extra:  # with both strands the better one that reaches the identity counts
        assert reached == [row for row in rows if float(row["identity"]) >= 100 * float(identity)]


FREE_ENDS = [
    ",".join(
        end for bit, end in enumerate(("query-start", "query-end", "target-start", "target-end")) if bits >> bit & 1
    )
    for bits in range(1, 16)
]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("gaps", ["given", "linear"])
def test_scores_of_semi_global_and_local_alignments(tmp_path: Path, scheme: str, gaps: str) -> None:
    options, symbols, gap_open, gap_extend = SCHEMES[scheme]
    if gaps == "linear":  # a gap's costs are the last options
        costs = 2 if scheme == "linear" else 4
        options, gap_extend = [*options[:-costs], "--gap", str(gap_open)], gap_open
    sequences = [
        *family(31, 12, 90, 0.6, symbols),
        *family(32, 6, 33, 0.4, symbols),
        *family(33, 3, 24, 0.2, symbols),
        symbols[0],
        symbols[1],
    ]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    pairs = [(a, b) for i, a in enumerate(sequences) for b in sequences[i + 1 :]]
    matrix = parasail_matrix_of(scheme)
    lazy = [fasta, *options, "--score-only", "--kernel", "lazy"]
    expected = [parasail.sw_scan_64(a, b, gap_open, gap_extend, matrix).score for a, b in pairs]
    assert scores_in(same(tmp_path, *lazy, "--mode", "local")) == expected
    for ends in FREE_ENDS:
        rows = same(tmp_path, *lazy, "--mode", "semi-global", "--free-ends", ends)
    # of four free ends: nothing is an alignment as well, which parasail leaves out
    expected = [max(0, parasail.sg_scan_64(a, b, gap_open, gap_extend, matrix).score) for a, b in pairs]
    assert scores_in(rows) == expected


@pytest.mark.parametrize("scheme", SCHEMES)
def test_end_gaps(tmp_path: Path, scheme: str) -> None:
    options, symbols, gap_open, gap_extend = SCHEMES[scheme]
    matrix = parasail_matrix_of(scheme)
    order = "ARNDCQEGHILKMFPSTWYV" if scheme == "protein" else "ACGTN"
    sequences = [*family(51, 9, 60, 0.6, symbols), *family(52, 3, 24, 0.4, symbols), symbols[0]]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    ends = [(gap_open, gap_extend // 2), (gap_open, 0), (0, 0), (gap_open // 3, min(gap_extend, gap_open // 3))]
    opens = "/".join(f"{ends[i][0]}{where}" for i, where in enumerate(("TL", "TR", "QL", "QR")))
    extends = "/".join(f"{ends[i][1]}{where}" for i, where in enumerate(("TL", "TR", "QL", "QR")))
    gaps = ["--gapopen", f"{gap_open}I/{opens}", "--gapext", f"{gap_extend}I/{extends}"]
    common = [fasta, *(options[:-2] if scheme == "linear" else options[:-4]), *gaps]
    pairs = [(a, b) for i, a in enumerate(sequences) for b in sequences[i + 1 :]]
    expected = [
        end_gap_score(
            a, b, lambda x, y: int(matrix.matrix[order.index(x), order.index(y)]), (gap_open, gap_extend), ends
        )
        for a, b in pairs
    ]
    for extra in (["--score-only"], [], ["--id", "0.8"], ["--id", "0.8", "--iddef", "2"]):
        rows = same(tmp_path, *common, *extra, "--kernel", "lazy")
        if "--id" not in extra:
            assert scores_in(rows) == expected


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", ["auto", "dscan", "tiled"])
@pytest.mark.parametrize("mode", ["local", "semi-global"])
def test_alignments_of_other_modes(tmp_path: Path, scheme: str, mode: str, kernel: str) -> None:
    options, symbols, gap_open, gap_extend = SCHEMES[scheme]
    sequences = [*family(61, 9, 90, 0.6, symbols), *family(62, 4, 1400, 0.4, symbols), symbols[0], symbols[1]]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    rows = same(tmp_path, fasta, *options, "--mode", mode, ways=(("--kernel", kernel),))
    align = parasail.sw_scan_64 if mode == "local" else parasail.sg_scan_64
    pairs = [(a, b) for i, a in enumerate(sequences) for b in sequences[i + 1 :]]
    matrix = parasail_matrix_of(scheme)
    expected = [max(0, align(a, b, gap_open, gap_extend, matrix).score) for a, b in pairs]
    assert scores_in(rows) == expected


def test_many_pairs_of_other_modes(tmp_path: Path) -> None:
    """Enough for the planner, of lengths on both sides of what 16 bits hold."""
    sequences = [*family(34, 90, 300, 0.5), *family(35, 3, 7000, 0.02)]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    for mode in ("semi-global", "local"):
        for extra in (["--strand", "both"], ["--kernel", "lazy", "--gap", "9"]):
            assert len(same(tmp_path, fasta, "--mode", mode, "--score-only", *extra)) == 93 * 92 // 2


@pytest.mark.parametrize("mode", ["semi-global", "local"])
def test_other_modes_and_odd_inputs(tmp_path: Path, mode: str) -> None:
    sequences = [*family(9, 20, 120, 0.5), "", "A", "NNNN"]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    for extra in (["--mode", mode], [], ["--self", "--id", "0.9"], ["--score-only"]):
        assert same(tmp_path, fasta, *extra)


def test_little_memory_and_many_batches(tmp_path: Path) -> None:
    sequences = family(11, 120, 500, 0.5)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    ways = (("64M", "auto"), ("64M", "rscan"), ("8G", "rscan"), ("8G", "dscan"))
    assert same(tmp_path, fasta, ways=tuple(("--max-gpu-mem", memory, "--kernel", kernel) for memory, kernel in ways))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_kernel_gives_the_same(tmp_path: Path, scheme: str) -> None:
    options, symbols, _, _ = SCHEMES[scheme]
    sequences = [
        *family(21, 9, 700, 0.3, symbols),
        *family(22, 5, 1200, 0.3, symbols),
        *family(23, 4, 30, 0.3, symbols),
    ]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    for names, extra in ((("lazy", "tiled"), ["--score-only"]), (("rscan", "dscan"), [])):
        assert same(tmp_path, fasta, *options, *extra, ways=tuple(("--kernel", name) for name in names))


def test_long_pairs(tmp_path: Path) -> None:
    sequences = family(12, 4, 5000, 0.2)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    for extra in ([], ["--score-only"], ["--id", "0.9"]):
        assert all(scores_in(same(tmp_path, fasta, *extra)))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long pairs are cut every 1,024 symbols."""
    monkeypatch.setattr(kernels, "PairwiseKernel", partial(kernels.PairwiseKernel, part_symbols=1024))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_long_pairs_in_parts(tmp_path: Path, small_parts: None, scheme: str) -> None:
    """Around every border of parts, strips and windows; unrelated pairs cross some of them within a gap."""
    options, symbols, gap_open, gap_extend = SCHEMES[scheme]
    rng = random.Random(4)
    relatives = family(41, 4, 5000, 0.4, symbols)
    sequences = [*relatives, relatives[0][2500:] + relatives[1][:2500], "".join(rng.choices(symbols, k=3000))]
    sequences += [relatives[0][:length] for length in (1, 1023, 1024, 1025, 2048, 2049)]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    rows = same(tmp_path, fasta, *options, ways=(("--kernel", "tiled"),))
    assert scores_in(rows) == parasail_scores(scheme, sequences)
    for row in rows:
        a, b = sequences[int(row["query"][1:])], sequences[int(row["target"][1:])]
        _, symbols_a, symbols_b = replay(a, b, row["cigar"], lambda x, y: 0, gap_open, gap_extend)
        assert (symbols_a, symbols_b) == (len(a), len(b))


def test_parts_are_split_again_where_memory_is_little(tmp_path: Path, small_parts: None) -> None:
    fasta = str(write_fasta(tmp_path / "a.fa", family(42, 2, 30_000, 0.2)))
    ways = tuple(("--kernel", "tiled", "--max-gpu-mem", memory) for memory in ("64M", "1G"))
    assert len(same(tmp_path, fasta, ways=ways)) == 1


def test_pairs_too_long_for_directions_that_reach_an_identity(tmp_path: Path, small_parts: None) -> None:
    """Scores first, whose borders make space for the alignments; both strands."""
    sequences = [*family(43, 3, 20_000, 0.3), *family(44, 2, 9000, 0.3)]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    assert same(tmp_path, fasta, "--id", "0.5", "--strand", "both", ways=(("--max-gpu-mem", "96M"),))
