"""Random pairs through every kernel family, from file to file, against independent libraries.

``make soak`` runs a million pairs with a new seed and prints it, on the CPU and, where there is one, on a GPU; the
tests run one per cent of that with a fixed one.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import edlib
import parasail
import pytest
from rapidfuzz.distance import LCSseq

from tests.helpers.files import write_fasta
from tests.helpers.sequences import random_text, with_edits

Cli = Callable[..., tuple[int, bytes, str]]
Pair = tuple[str, str]
CHUNK = 4_000
#: where a word, a vector or a strip ends
BORDERS = (1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 193, 255, 256, 257)
#: in a CIGAR's words
INSERTION, DELETION = 1, 2
EDLIB_MODES = {"infix": "HW", "prefix": "SHW", "global": "NW"}


def some_text(rng: random.Random, length: int) -> str:
    return random_text(rng, length, rng.choice(["ACGT"] * 12 + ["AC", "A"]))


def random_pair(rng: random.Random) -> Pair:
    length = rng.choice(BORDERS) if rng.random() < 0.5 else rng.randrange(1, 260)
    first = some_text(rng, length)
    if rng.random() < 0.3:
        return first, some_text(rng, rng.choice([length, rng.randrange(1, 260)]))
    second = with_edits(rng, first, rng.choice([0, 1, 2, 4, 8, length // 5]), (1, 1, 1, 2, 5, 20))
    if rng.random() < 0.5:
        second = some_text(rng, rng.randrange(30)) + second + some_text(rng, rng.randrange(30))
    return first, second


def chunks(seed: int, family: str, soaking: bool, pairs_in_full: int) -> Iterator[tuple[random.Random, list[Pair]]]:
    count = pairs_in_full if soaking else pairs_in_full // 100
    for first in range(0, count, CHUNK):
        size = min(CHUNK, count - first)
        rng = random.Random(f"{family} {seed} {first}")
        print(f"{family}: seed {seed}, pairs {first} to {first + size}")
        yield rng, [random_pair(rng) for _ in range(size)]


def column(output: bytes, name: str) -> list[int]:
    lines = output.decode().splitlines()
    at = lines[0].split("\t").index(name)
    return [int(line.split("\t")[at]) for line in lines[1:]]


@pytest.fixture
def run(cli: Cli, tmp_path: Path, device: str) -> Callable[..., bytes]:
    def one(pairs: list[Pair], *options: object) -> bytes:
        """A command that takes two files of sequences; the second one first if the options end so."""
        first, second = (
            write_fasta(tmp_path / "a.fa", [a for a, _ in pairs]),
            write_fasta(tmp_path / "b.fa", [b for _, b in pairs]),
        )
        files = [second, first] if options[0] == "verify" else [first, second]
        return output_of(cli, tmp_path, device, *options, *files, "--batch-size", "100K")

    return one


def output_of(cli: Cli, folder: Path, device: str, *words: object) -> bytes:
    code, _, error = cli(*words, "--device", device, "-o", folder / "output")
    assert code == 0, error
    return (folder / "output").read_bytes()


def scores_or_none(output: bytes) -> list[int | None]:
    """The scores of a table; None where no alignment is possible."""
    rows = [line.split("\t")[2] for line in output.decode().splitlines()[1:]]
    return [None if score == "*" else int(score) for score in rows]


def differing(found: list[int], wanted: list[int], pairs: list[Pair]) -> list[tuple[int, int, Pair]]:
    assert len(found) == len(wanted)
    return [(f, w, pair) for f, w, pair in zip(found, wanted, pairs, strict=True) if f != w][:3]


@pytest.mark.parametrize("mode", list(EDLIB_MODES))
def test_edit_distances_are_edlibs(run: Callable[..., bytes], soaking: bool, seed: int, mode: str) -> None:
    for rng, pairs in chunks(seed, f"verify {mode}", soaking, 140_000):
        limit = rng.choice([-1, -1, 0, 1, 5, 30])
        output = run(pairs, "verify", "--mode", mode, "-k", limit, "--all")
        wanted = [edlib.align(a, b, mode=EDLIB_MODES[mode], k=limit)["editDistance"] for a, b in pairs]
        assert not differing(column(output, "distance"), wanted, pairs), f"limit {limit}"


#: not the striped ones, which give lower scores where opening a gap costs no more than extending it
PARASAIL = {"global": parasail.nw_scan_32, "semi-global": parasail.sg_scan_32, "local": parasail.sw_scan_32}
#: all four ends free, as parasail's sg
FREE = ["--free-ends", "query-start,query-end,target-start,target-end"]
#: a GPU's kernels for alignments and for scores alone; a CPU has one
KERNELS = {"cuda": (("auto", "rscan", "dscan"), ("auto", "lazy", "tiled")), "cpu": (("auto",), ("auto",))}


@pytest.mark.parametrize("mode", list(PARASAIL))
@pytest.mark.parametrize("affine", [False, True])
def test_alignment_scores_are_parasails(
    run: Callable[..., bytes], device: str, soaking: bool, seed: int, mode: str, affine: bool
) -> None:
    for rng, pairs in chunks(seed, f"pairwise {mode} {'affine' if affine else 'linear'}", soaking, 50_000):
        match, mismatch, extend = rng.randrange(1, 8), -rng.randrange(9), rng.randrange(1, 5)
        gap = extend + rng.randrange(1, 12) if affine else extend
        gaps = ["--gapopen", gap, "--gapext", extend] if affine else ["--gap", gap]
        scores = ["--match", match, "--mismatch", mismatch]
        free = FREE if mode == "semi-global" else []
        for traced, kernels in zip(([], ["--score-only"]), KERNELS[device], strict=True):
            kernel = ["--kernel", rng.choice(kernels)]
            output = run(pairs, "pairwise", "--one-to-one", "--mode", mode, *scores, *gaps, *free, *traced, *kernel)
            matrix = parasail.matrix_create("ACGT", match, mismatch)
            wanted = [PARASAIL[mode](a, b, gap, extend, matrix).score for a, b in pairs]
            if mode == "semi-global":  # two texts side by side; parasail does not end in its first row or column
                wanted = [max(score, 0) for score in wanted]
            assert not differing(column(output, "score"), wanted, pairs), (
                f"{match} {mismatch} {gap} {extend} {traced} {kernel}"
            )


#: without a bound; in semi-global mode the target's end is free
UNBOUNDED = {"global": parasail.nw_trace_scan_32, "semi-global": parasail.sg_de_trace_scan_32}


@pytest.mark.parametrize("mode", list(UNBOUNDED))
def test_scores_with_few_gaps_are_parasails(run: Callable[..., bytes], soaking: bool, seed: int, mode: str) -> None:
    """Where the best alignment of all has no more gaps than are allowed, it is the one; it is never beaten."""
    for rng, pairs in chunks(seed, f"pairwise --max-gaps {mode}", soaking, 50_000):
        maximum = rng.choice([0, 1, 2, 3, 5, 8, 64])
        match, mismatch, extend = rng.randrange(1, 8), -rng.randrange(9), rng.randrange(1, 5)
        gap = extend + rng.randrange(1, 12)
        options = ["--match", match, "--mismatch", mismatch, "--gapopen", gap, "--gapext", extend, "--mode", mode]
        bounded = ["--max-gaps", maximum, *rng.choice([[], ["--score-only"]])]
        found = scores_or_none(run(pairs, "pairwise", "--one-to-one", *options, *bounded))
        matrix = parasail.matrix_create("ACGT", match, mismatch)
        for score, (a, b) in zip(found, pairs, strict=True):
            best = UNBOUNDED[mode](a, b, gap, extend, matrix)
            operations = [word & 15 for word in best.cigar.seq]
            highest, gaps = best.score, sum(operation in (INSERTION, DELETION) for operation in operations)
            if mode == "semi-global":
                gaps -= operations[-1] == DELETION  # the free end
                nothing = -gap - extend * (len(a) - 1)  # of the target; parasail does not end in its first column
                highest, gaps = max((highest, gaps), (nothing, 1))
            assert gaps > maximum or score == highest, (maximum, options, a, b)
            assert score is None or score <= highest, (maximum, options, a, b)


def test_lengths_of_subsequences_are_rapidfuzzs(
    cli: Cli, tmp_path: Path, device: str, soaking: bool, seed: int
) -> None:
    """Every 100th pair's first text is a query against all subjects."""
    for _, pairs in chunks(seed, "lcs-filter", soaking, 140_000):
        queries, subjects = [a for a, _ in pairs[::100]], [b for _, b in pairs]
        files = write_fasta(tmp_path / "q.fa", queries), write_fasta(tmp_path / "s.fa", subjects)
        options = ("--multi-query", "--top", 0, "--input-order")
        output = output_of(cli, tmp_path, device, "lcs-filter", *options, "-Q", *files)
        compared = [(query, subject) for subject in subjects for query in queries]  # as they are written
        wanted = [LCSseq.similarity(*pair) for pair in compared]
        assert not differing(column(output, "lcs"), wanted, compared)


def lines_by_header(text: str) -> dict[str, list[tuple[str, ...]]]:
    matches: dict[str, list[tuple[str, ...]]] = {}
    header = ""
    for line in text.splitlines():
        if line.startswith(">"):
            header = " ".join(line.split())
            matches[header] = []
        else:
            matches[header].append(tuple(line.split()))
    return {name: sorted(rows) for name, rows in matches.items()}


@pytest.mark.skipif(shutil.which("mummer") is None, reason="mummer is not installed")
@pytest.mark.parametrize("kind", ["-maxmatch", "-mumreference", "-mum"])
def test_exact_matches_are_mummers(cli: Cli, tmp_path: Path, device: str, soaking: bool, seed: int, kind: str) -> None:
    """A chunk's queries against one reference that holds a part of each; texts of one or two symbols match all over."""
    for rng, chunk in chunks(seed, f"mems {kind}", soaking, 40_000):
        pairs = [pair for pair in chunk if min(len(set(pair[0])), len(set(pair[1]))) > 2]
        reference = write_fasta(
            tmp_path / "r.fa", ["".join(a for a, _ in pairs[:1000]), "".join(a for a, _ in pairs[1000:2000]) or "A"]
        )
        queries = write_fasta(tmp_path / "q.fa", [b for _, b in pairs])
        length = rng.choice([14, 16, 20, 31])
        words = [kind, "-b", "-l", length, reference, queries]
        output = output_of(cli, tmp_path, device, "mems", *words)
        wanted = subprocess.run(
            ["mummer", *map(str, words)], capture_output=True, text=True, check=True, timeout=300
        ).stdout
        found, expected = lines_by_header(output.decode()), lines_by_header(wanted)
        assert found.keys() == expected.keys()
        assert not [(name, found[name], expected[name]) for name in found if found[name] != expected[name]][:3]
