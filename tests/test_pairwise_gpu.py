"""`pairwise` on a GPU: expectations from parasail; equality with the CPU stands apart."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import parasail
import pytest

from gpualign.cli import main
from tests.test_pairwise import mutate, replay, rows_of, write_fasta

pytestmark = pytest.mark.gpu


def run(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["pairwise", "-q", *arguments])
    assert done.value.code == 0


def family(seed: int, count: int, length: int, rate: float, letters: str = "ACGT") -> list[str]:
    rng = random.Random(seed)
    base = "".join(rng.choices(letters, k=length))
    return [mutate(rng, base, rate * rng.random(), letters) or letters[0] for _ in range(count)]


SCHEMES = {
    "linear": (["--gap", "10"], "ACGT", 10, 10),
    "affine": (["--gapopen", "10", "--gapext", "1"], "ACGTN", 10, 1),
    "protein": (["--matrix", "BLOSUM62", "--gapopen", "11", "--gapext", "1"], "ARNDCQEGHILKMFPSTWYV", 11, 1),
    "wide": (["--match", "500", "--mismatch", "-300", "--gapopen", "900", "--gapext", "100"], "ACGT", 900, 100),
}


def parasail_scores(scheme: str, sequences: list[str]) -> list[int]:
    _, _, gap_open, gap_extend = SCHEMES[scheme]
    if scheme == "protein":
        matrix = parasail.blosum62
    else:
        match, mismatch = (500, -300) if scheme == "wide" else (5, -4)
        matrix = parasail.matrix_create("ACGT", match, mismatch)
        for i in range(4):
            matrix[i, 4] = matrix[4, i] = mismatch
        matrix[4, 4] = mismatch
    pairs = [(a, b) for i, a in enumerate(sequences) for b in sequences[i + 1 :]]
    return [parasail.nw_scan_64(a, b, gap_open, gap_extend, matrix).score for a, b in pairs]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 15, 16, 17, 33, 150, 400])
def test_scores_and_alignments(tmp_path: Path, scheme: str, length: int) -> None:
    options, letters, gap_open, gap_extend = SCHEMES[scheme]
    sequences = family(length, 24, length, 0.6, letters)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    expected = parasail_scores(scheme, sequences)
    run([fasta, *options, "--device", "cuda", "--score-only", "-o", str(tmp_path / "scores")])
    assert [int(row["score"]) for row in rows_of(tmp_path / "scores")] == expected
    run([fasta, *options, "--device", "cuda", "-o", str(tmp_path / "gpu")])
    rows = rows_of(tmp_path / "gpu")
    assert [int(row["score"]) for row in rows] == expected
    run([fasta, *options, "--device", "cpu", "-o", str(tmp_path / "cpu")])
    assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes()
    for row in rows:
        a, b = sequences[int(row["query"][1:])], sequences[int(row["target"][1:])]
        _, letters_a, letters_b = replay(a, b, row["cigar"], lambda x, y: 0, gap_open, gap_extend)
        assert (letters_a, letters_b) == (len(a), len(b))


@pytest.mark.parametrize("identity", ["0.97", "0.8", "0.5"])
@pytest.mark.parametrize("extra", [[], ["--strand", "both"], ["--iddef", "0"], ["--iddef", "2"], ["--gap", "8"]])
def test_identity_filter_drops_what_it_should(tmp_path: Path, identity: str, extra: list[str]) -> None:
    # the longer family is beyond the edit filter at the lower identities, so that scores have to prove them away
    sequences = family(7, 70, 300, 0.4) + family(8, 10, 90, 0.2)
    if identity == "0.5" and not extra:
        sequences = family(9, 30, 700, 0.9)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    run([fasta, *extra, "--device", "cuda", "--id", identity, "-o", str(tmp_path / "gpu")])
    run([fasta, *extra, "--device", "cpu", "-o", str(tmp_path / "all")])
    header, *lines = (tmp_path / "all").read_text().splitlines()
    kept = [line for line in lines if float(line.split("\t")[2]) >= 100 * float(identity)]
    if "--strand" not in extra:  # with both strands the better one that reaches the identity counts
        assert (tmp_path / "gpu").read_text().splitlines() == [header, *kept]
    run([fasta, *extra, "--device", "cpu", "--id", identity, "-o", str(tmp_path / "cpu")])
    assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes()


@pytest.mark.parametrize("mode", ["semi-global", "local"])
def test_other_modes_and_odd_inputs(tmp_path: Path, mode: str) -> None:
    sequences = [*family(9, 20, 120, 0.5), "", "A", "NNNN"]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    for extra in (["--mode", mode], [], ["--self", "--id", "0.9"], ["--score-only"]):
        run([fasta, *extra, "--device", "cuda", "-o", str(tmp_path / "gpu")])
        run([fasta, *extra, "--device", "cpu", "-o", str(tmp_path / "cpu")])
        assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes()


def test_little_memory_and_many_batches(tmp_path: Path) -> None:
    sequences = family(11, 120, 500, 0.5)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    run([fasta, "--device", "cpu", "-o", str(tmp_path / "cpu")])
    for memory, kernel in (("64M", "auto"), ("64M", "rscan"), ("8G", "rscan"), ("8G", "dscan")):
        run([fasta, "--device", "cuda", "--max-gpu-mem", memory, "--kernel", kernel, "-o", str(tmp_path / "gpu")])
        assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes(), (memory, kernel)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_kernel_gives_the_same(tmp_path: Path, scheme: str) -> None:
    options, letters, _, _ = SCHEMES[scheme]
    sequences = [
        *family(21, 9, 700, 0.3, letters),
        *family(22, 5, 1200, 0.3, letters),
        *family(23, 4, 30, 0.3, letters),
    ]
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    for kernels, extra in ((("lazy", "tiled"), ["--score-only"]), (("rscan", "dscan"), [])):
        run([fasta, *options, *extra, "--device", "cpu", "-o", str(tmp_path / "cpu")])
        for kernel in kernels:
            run([fasta, *options, *extra, "--device", "cuda", "--kernel", kernel, "-o", str(tmp_path / "gpu")])
            assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes(), kernel


def test_long_pairs(tmp_path: Path) -> None:
    sequences = family(12, 4, 5000, 0.2)
    fasta = str(write_fasta(tmp_path / "a.fa", sequences))
    for extra in ([], ["--score-only"], ["--id", "0.9"]):
        run([fasta, *extra, "--device", "cuda", "-o", str(tmp_path / "gpu")])
        run([fasta, *extra, "--device", "cpu", "-o", str(tmp_path / "cpu")])
        assert (tmp_path / "gpu").read_bytes() == (tmp_path / "cpu").read_bytes()
    assert np.all([int(row["score"]) for row in rows_of(tmp_path / "cpu")])
