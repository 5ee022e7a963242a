"""``pairwise --max-gaps`` through the command line: columns, pairs, options, bad input."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from gpualign.cli import main
from gpualign.sequences.pairs import PairBlock, PairSource
from tests.helpers.files import write_fasta
from tests.helpers.implementations import same_on_gpu

PATTERNS = {"p1": "ACGTACGTTTTACGT", "p2": "ACGTNNACG", "empty": "", "p4": "GGGTACAGATTTACAGGGTTTTTTTTACCAGAT"}
TEXTS = {"t1": "ACGTACGTACGTGGGTACAGATTACAGGGACCAGAT", "t2": "GGGTACAGATTTACAGGGTACCAGAT"}


def described(path, records) -> str:
    return str(write_fasta(path, [(f"{name} some text", sequence) for name, sequence in records.items()]))


@pytest.fixture
def files(tmp_path):
    return described(tmp_path / "patterns.fa", PATTERNS), described(tmp_path / "texts.fa", TEXTS)


def run(capfdbinary, *arguments: str) -> tuple[int, list[list[str]], str]:
    """Exit code, rows without the line ends, standard error."""
    with pytest.raises(SystemExit) as done:
        main(["pairwise", "--device", "cpu", *arguments])
    captured = capfdbinary.readouterr()
    rows = [line.split("\t") for line in captured.out.decode().splitlines()]
    return int(done.value.code or 0), rows, captured.err.decode()


def test_rows_by_hand(files, capfdbinary):
    """p4 is t2 with seven T more after GGGT, and t2's GGGTT… puts them as far left as they go."""
    code, rows, err = run(capfdbinary, "--mode", "semi-global", "--max-gaps", "2", *files)
    assert code == 0
    assert rows[0] == ["query", "target", "score", "gapopens", "gaps", "qlen", "tlen", "tstart", "tend", "cigar"]
    assert [row[:2] for row in rows[1:]] == [[p, t] for p in PATTERNS for t in TEXTS]
    assert rows[1] == ["p1", "t1", "48", "1", "I3@8", "15", "36", "1", "12", "7M3I5M"]
    assert rows[5] == ["empty", "t1", "0", "0", "*", "0", "36", "1", "0", "*"]
    assert rows[8] == ["p4", "t2", "114", "1", "I7@19", "33", "26", "1", "26", "18M7I8M"]
    assert "8 pairs, 8 written" in err


def test_gaps_and_cigar_tell_the_same(files, capfdbinary):
    _, rows, _ = run(capfdbinary, "--mode", "semi-global", "--free-start", "--max-gaps", "3", *files)
    for row in rows[1:]:
        fields = dict(zip(rows[0], row, strict=True))
        i, j, gaps = 1, int(fields["tstart"]), []
        for length, kind in re.findall(r"(\d+)([MID])", fields["cigar"]):
            if kind != "M":
                gaps.append(f"{kind}{length}@{i if kind == 'I' else j}")
            i += int(length) * (kind != "D")
            j += int(length) * (kind != "I")
        assert (i - 1, j - 1) == (int(fields["qlen"]), int(fields["tend"]))
        assert fields["gaps"] == (",".join(gaps) or "*")
        assert int(fields["gapopens"]) == len(gaps)


def test_global_without_gaps_has_no_alignment_of_unequal_lengths(files, capfdbinary):
    code, rows, _ = run(capfdbinary, "--max-gaps", "0", files[0])
    assert code == 0
    assert len(rows) == 1 + 6
    assert all(row[2:5] == ["*", "*", "*"] and row[7:] == ["*", "*", "*"] for row in rows[1:])


def test_best_text_of_each_pattern(tmp_path, capfdbinary):
    """Highest score, then fewest gaps, then the first text; small batches are crossed."""
    rng = random.Random(3)
    texts = {f"t{k}": "".join(rng.choice("ACGT") for _ in range(40)) for k in range(23)}
    patterns = {f"p{k}": texts[f"t{k}"][:12] + texts[f"t{k}"][15:30] for k in range(9)}
    texts |= {"twin": texts["t3"]}
    names = described(tmp_path / "p.fa", patterns), described(tmp_path / "t.fa", texts)
    options = ("--mode", "semi-global", "--max-gaps", "1", "--batch-size", "160", "-q")
    _, every, _ = run(capfdbinary, *options, *names)
    code, best, _ = run(capfdbinary, *options, "--best", *names)
    assert code == 0
    expected = {}
    for row in every[1:]:
        key = (-int(row[2]), int(row[3]))
        if row[0] not in expected or key < expected[row[0]][0]:
            expected[row[0]] = (key, row)
    assert best[1:] == [row for _, row in expected.values()]
    assert [row[1] for row in best[1:]] == [f"t{k}" for k in range(9)]


def test_pair_list_and_one_to_one(files, tmp_path, capfdbinary):
    (tmp_path / "pairs.txt").write_text("p4 t2\np1 t1\n\n# no more\n")
    options = ("--mode", "semi-global", "--max-gaps", "2", "-q", "--no-header")
    _, every, _ = run(capfdbinary, *options, *files)
    code, listed, _ = run(capfdbinary, *options, "--pairs", str(tmp_path / "pairs.txt"), *files)
    assert code == 0
    assert listed == [every[7], every[0]]
    two = described(tmp_path / "two.fa", {"a": PATTERNS["p1"], "b": PATTERNS["p4"]})
    _, rows, _ = run(capfdbinary, *options, "--one-to-one", two, files[1])
    assert [row[2:] for row in rows] == [every[0][2:], every[7][2:]]
    code, _, err = run(capfdbinary, *options, "--one-to-one", *files)
    assert code == 3
    assert "4 sequences but 2" in err


def test_a_gap_is_never_cut_to_save_its_extensions(tmp_path, capfdbinary):
    """With gapext above gapopen one gap of four symbols costs 1 + 3 * 4, although two of two would cost 10."""
    names = described(tmp_path / "p.fa", {"p": "ACACGTGT"}), described(tmp_path / "t.fa", {"t": "ACACTTTTGTGT"})
    options = ("--match", "20", "--mismatch", "-30", "--gapopen", "1", "--gapext", "4", "-q", "--no-header")
    for gaps in ("1", "2"):
        code, rows, err = run(capfdbinary, "--max-gaps", gaps, *options, *names)
        assert code == 0, err
        assert rows[0][2:5] == [str(8 * 20 - 13), "1", "D4@5"]


def test_scores_alone_are_the_same_scores(files, capfdbinary):
    options = ("--mode", "semi-global", "--free-start", "--max-gaps", "2", "-q")
    _, rows, _ = run(capfdbinary, *options, *files)
    _, scores, _ = run(capfdbinary, *options, "--score-only", *files)
    assert scores[0] == ["query", "target", "score", "gapopens", "qlen", "tlen", "tend"]
    assert [row[:4] + row[5:7] + row[8:9] for row in rows[1:]] == scores[1:]


def test_output_does_not_depend_on_batches_or_threads(tmp_path, capfdbinary):
    rng = random.Random(9)
    sequences = {f"s{k}": "".join(rng.choice("ACGTN") for _ in range(rng.randrange(0, 90))) for k in range(40)}
    name = described(tmp_path / "s.fa", sequences)
    outputs = [
        run(capfdbinary, "--max-gaps", "2", "-q", "-t", threads, "--batch-size", size, name)[1]
        for threads, size in (("1", "4M"), ("2", "4M"), ("2", "1K"), ("1", "16"))
    ]
    assert all(output == outputs[0] for output in outputs)
    assert len(outputs[0]) == 1 + 40 * 39 // 2


def test_matrix_with_decimals_scales_scores(tmp_path, capfdbinary):
    matrix = tmp_path / "half.txt"
    matrix.write_text("   A C\nA 1.5 -0.5\nC -0.5 1.5\n")
    names = described(tmp_path / "p.fa", {"p": "AACC", "q": "CAC"}), described(tmp_path / "t.fa", {"t": "AACACC"})
    options = ("--mode", "semi-global", "--max-gaps", "1", "--matrix", str(matrix), "--gapopen", "1", "--gapext", "1")
    code, rows, err = run(capfdbinary, *options, *names)
    assert code == 0, err
    assert rows[1][2:5] == ["5", "1", "D1@4"]
    assert rows[2][2:5] == ["2.5", "0", "*"]  # as much as with the two symbols AA skipped, and no gap


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--max-gaps", "-1"], 2, "must not be negative"),
        (["--max-gaps", "65"], 2, "0 to 64"),
        (["--max-gaps", "1", "--mode", "local"], 2, "no local mode"),
        (["--max-gaps", "1", "--free-start"], 2, "semi-global"),
        (["--max-gaps", "1", "--id", "0.9"], 2, "--id cannot be used with --max-gaps"),
        (["--max-gaps", "1", "--paf"], 2, "cannot be used with --max-gaps"),
        (["--free-start"], 2, "belongs to --max-gaps"),
        (["--best"], 2, "belongs to --max-gaps"),
    ],
)
def test_options_that_make_no_sense(files, capfdbinary, arguments, code, message):
    got, _, err = run(capfdbinary, *arguments, *files)
    assert got == code
    assert message in err


def test_symbols_outside_the_matrix(tmp_path, capfdbinary):
    name = described(tmp_path / "a.fa", {"a": "ACJ!T", "b": "AC"})
    code, _, err = run(capfdbinary, "--max-gaps", "1", "--matrix", "BLOSUM62", name)
    assert code == 3
    assert "symbol '!'" in err


def test_empty_input_gives_a_header(tmp_path, capfdbinary):
    (tmp_path / "none.fa").write_text("")
    code, rows, err = run(capfdbinary, "--max-gaps", "1", str(tmp_path / "none.fa"))
    assert code == 0
    assert len(rows) == 1
    assert "no pairs" in err


def test_pair_sources_count_like_loops():
    three = np.full(3, 5, np.int64)
    for count in (0, 1, 2, 5, 9):
        lengths = np.arange(count, dtype=np.int64)
        for diagonal in (False, True):
            source = PairSource.triangle(lengths, diagonal)
            expected = [(i, j) for i in range(count) for j in range(i + (not diagonal), count)]
            assert collect(source, 4) == expected
            assert source.total == len(expected)
        assert collect(PairSource.rectangle(lengths, three), 5) == [(i, j) for i in range(count) for j in range(3)]
    ids, lengths = np.arange(7, dtype=np.int32), np.ones(7, np.int64)
    listed = PairSource(lengths, lengths, np.zeros(0, np.int64), PairBlock(ids, ids[::-1].copy()))
    assert collect(listed, 3) == [(i, 6 - i) for i in range(7)]


def collect(source, maximum):
    blocks = list(source.blocks(maximum))
    assert all(0 < len(block) <= maximum for block in blocks)
    return [pair for block in blocks for pair in zip(block.queries.tolist(), block.targets.tolist(), strict=True)]


@pytest.mark.gpu
@pytest.mark.parametrize("options", [[], ["--best"], ["--score-only"], ["--free-start"], ["--one-to-one"]])
def test_devices_write_the_same_bytes(tmp_path, options):
    """CPU, GPU, and a GPU with little memory and small batches."""
    rng = random.Random(13)
    records = []
    for prefix, maximum in (("p", 200), ("t", 250)):
        sequences = ("".join(rng.choice("ACGTN") for _ in range(rng.randrange(maximum))) for _ in range(150))
        records.append(described(tmp_path / f"{prefix}.fa", {f"{prefix}{k}": text for k, text in enumerate(sequences)}))
    ways = [
        ("--device", "cuda"),
        ("--device", "cuda", "--batch-size", "8K"),
        ("--device", "cuda", "--batch-size", "30K", "--max-gpu-mem", "64M"),
    ]
    command = ("pairwise", "--mode", "semi-global", "--max-gaps", "2", "-q", *options, *records)
    assert same_on_gpu(*command, output=tmp_path / "rows.tsv", ways=ways)
