"""`gpualign cluster`: the table, .uc, centroids, members, counts by sample, pictures, resumed runs and messages."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from gpualign import _native
from gpualign.cluster import tuning
from gpualign.report import Progress
from gpualign.sequences.batch import join_bytes
from tests.helpers.commands import program
from tests.helpers.files import read_fasta, rows_of, write_fasta
from tests.helpers.paths import AMPLICONS
from tests.helpers.sequences import mutate

A = "ACGTACGTACGTTTGACCATGACCATTAGGACAT"
RECORDS = [
    ("a;size=5", A),
    ("b;size=3;x=1", A[:-1] + "A"),
    ("c;sample=s2;size=9", "TTTTTTTCCCTTGACCCTGACCAACCGAGGACATGG"),
    ("d;sample=s2;size=2", A + "GG"),
    ("a2", A),
]


@pytest.fixture
def genes(tmp_path: Path) -> Path:
    return write_fasta(tmp_path / "in.fa", RECORDS)


def test_a_table(cli, genes: Path) -> None:
    """Two columns without an equal of 36: 94.4 %; by size c comes first."""
    status, out, errors = cli("cluster", genes, "--id", "0.9", "--order", "size", "-p")
    assert status == 0
    assert [list(row.values()) for row in rows_of(out)] == [
        ["c;sample=s2;size=9", "0", "c;sample=s2;size=9", "100.00", "+", "*"],
        ["a;size=5", "1", "a;size=5", "100.00", "+", "*"],
        ["b;size=3;x=1", "1", "a;size=5", "97.06", "+", "34M"],
        ["d;sample=s2;size=2", "1", "a;size=5", "94.44", "+", "34M2I"],
        ["a2", "1", "a;size=5", "100.00", "+", "34M"],
    ]
    assert "5 sequences, 2 clusters, on cpu" in errors


def test_all_outputs(cli, genes: Path, tmp_path: Path) -> None:
    """By hand, as vsearch 2.22 writes them but for lines of 80 bases."""
    paths = {name: tmp_path / name for name in ("uc", "centroids", "members", "counts", "plot.png", "json", "table")}
    status, _, errors = cli(
        "cluster", genes, "--id", "0.9", "--order", "size", "--sizein", "--sizeout", "--relabel", "OTU", "--uc",
        paths["uc"], "--centroids", paths["centroids"], "--members", paths["members"], "--biom-tsv", paths["counts"],
        "--plot", paths["plot.png"], "--json", paths["json"], "-o", paths["table"],
    )  # fmt: skip
    assert status == 0, errors
    assert paths["uc"].read_text().splitlines() == [
        "S\t0\t36\t*\t*\t*\t*\t*\tc;sample=s2;size=9\t*",
        "S\t1\t34\t*\t*\t*\t*\t*\ta;size=5\t*",
        "H\t1\t34\t97.1\t+\t0\t0\t34M\tb;size=3;x=1\ta;size=5",
        "H\t1\t36\t94.4\t+\t0\t0\t34M2D\td;sample=s2;size=2\ta;size=5",
        "H\t1\t34\t100.0\t+\t0\t0\t=\ta2\ta;size=5",
        "C\t0\t9\t*\t*\t*\t*\t*\tc;sample=s2;size=9\t*",
        "C\t1\t11\t*\t*\t*\t*\t*\ta;size=5\t*",
    ]
    assert read_fasta(paths["centroids"]) == {"OTU1;size=9": RECORDS[2][1], "OTU2;size=11": A}
    assert read_fasta(paths["members"] / "1.fasta") == {RECORDS[i][0]: RECORDS[i][1] for i in (0, 1, 3, 4)}
    assert paths["counts"].read_text() == "#OTU ID\ta\ta2\tb\ts2\nOTU1\t0\t0\t0\t9\nOTU2\t5\t1\t3\t2\n"
    assert paths["plot.png"].read_bytes().startswith(b"\x89PNG")
    report = json.loads(paths["json"].read_text())
    assert (report["sequences"], report["clusters"], report["distinct"], report["singletons"]) == (5, 2, 4, 1)
    assert report["peak_rss_mb"] > 0


def test_names_of_centroids(cli, genes: Path, tmp_path: Path) -> None:
    """The size takes the place of the old one, and is left alone without --sizeout."""
    centroids = tmp_path / "centroids.fa"
    for options, expected in (
        ([], ["c;sample=s2;size=9", "a;size=5"]),
        (["--sizeout"], ["c;sample=s2;size=1", "a;size=4"]),
    ):
        assert cli("cluster", genes, "--id", "0.9", "--order", "size", "--centroids", centroids, *options)[0] == 0
        assert list(read_fasta(centroids)) == expected


@pytest.mark.parametrize(
    ("name", "size", "sample"),
    [
        ("a;size=12", 12, "a"),
        ("a;size=12;", 12, "a"),
        ("size=4", 4, "size"),
        ("a;upsize=4", 1, "a"),
        ("S1.17;sample=x y", 1, "x y"),
        ("S1_a-17;barcodelabel=b7;size=2", 2, "b7"),
        ("S1_a-17", 1, "S1_a"),
        ("", 1, ""),
        ("a;size=", -2, "a"),
        ("a;size=3x", -2, "a"),
        ("a;size=-3;", -2, "a"),
        ("a;size=0", -2, "a"),
        ("a;size=9223372036854775807", (1 << 63) - 1, "a"),
        ("a;size=9223372036854775808", -1, "a"),
        ("a;sample=;barcodelabel=b", 1, ""),
    ],
)
def test_what_names_say(name: str, size: int, sample: str) -> None:
    names = join_bytes([b"x;size=3", name.encode()])
    text, offsets = _native.samples_of_names(*names)
    assert _native.abundances(*names).tolist() == [3, size]
    assert text[offsets[1] :].tobytes() == sample.encode()


@pytest.mark.parametrize(
    ("size", "what"),
    [
        ("99999999999999999999", "is too large"),
        ("-3", "is not a number from 1 on"),
        ("x", "is not a number from 1 on"),
        ("0", "is not a number from 1 on"),
        ("", "is not a number from 1 on"),
    ],
)
def test_sizes_that_cannot_be(cli, tmp_path: Path, size: str, what: str) -> None:
    """The message has the line of the record, here the second."""
    records = [("first;size=1", A), (f"a;size={size}", A), ("c", A)]
    status, _, errors = cli("cluster", write_fasta(tmp_path / "a.fa", records), "--id", "1")
    assert status == 3
    assert f"a.fa:3: the size of sequence a;size={size} {what}" in errors


def test_labels_stand_next_to_cluster_numbers(cli, genes, tmp_path: Path) -> None:
    """The names of the centroids' file, whatever else is written."""
    centroids, table = tmp_path / "centroids", tmp_path / "table"
    options = ["--order", "size", "--relabel", "OTU", "--centroids", centroids, "-p"]
    assert cli("cluster", genes, "--id", "0.9", *options, "-o", table)[0] == 0
    rows = [line.split("\t") for line in table.read_text().splitlines()]
    assert rows[0][-1] == "label"
    assert [(row[1], row[-1]) for row in rows[1:]] == [("0", "OTU1")] + 4 * [("1", "OTU2")]
    assert list(read_fasta(centroids)) == ["OTU1", "OTU2"]
    status, out, _ = cli("cluster", genes, "--id", "0.9", "--order", "size", "--relabel", "x")
    assert status == 0
    assert [row["label"] for row in rows_of(out)] == ["x1"] + 4 * ["x2"]


def test_samples_and_units_of_equal_names(cli, tmp_path: Path) -> None:
    """Two clusters whose names begin alike are one row; by hand."""
    records = [("u;sample=b;size=2", A), ("u;sample=a;size=3", A[::-1]), ("t;sample=b", A[:-1] + "C")]
    counts = tmp_path / "counts"
    fasta = write_fasta(tmp_path / "a.fa", records)
    assert cli("cluster", fasta, "--id", "0.9", "--order", "size", "--biom-tsv", counts)[0] == 0
    assert counts.read_text() == "#OTU ID\ta\tb\nu\t3\t3\n"


def test_copies_that_do_not_equal_themselves(cli, tmp_path: Path) -> None:
    """Xs match nothing: each copy founds a cluster, and what is near to both joins the first."""
    protein = "MKVLAEWRHDNQCIFPSTYG"
    records = [
        ("a", protein + "X" * 8),
        ("b", protein + "X" * 8),
        ("c", protein + "X" * 8),
        ("d", protein + "X" * 4 + "CCCC"),
    ]
    fasta = write_fasta(tmp_path / "a.fa", records)
    for identity, expected in (("0.9", ["0", "1", "2", "3"]), ("0.7", ["0", "0", "0", "0"])):
        rows = rows_of(cli("cluster", fasta, "--id", identity, "--order", "input", "--matrix", "BLOSUM62")[1])
        assert [row["cluster"] for row in rows] == expected


def test_single_linkage(cli, genes: Path) -> None:
    status, out, _ = cli("cluster", genes, "--id", "0.94", "--linkage", "single", "--order", "input")
    assert status == 0
    assert [(row["cluster"], row["centroid"], row["identity"]) for row in rows_of(out)] == [
        ("0", "a;size=5", "*"),
        ("0", "a;size=5", "*"),
        ("1", "c;sample=s2;size=9", "*"),
        ("0", "a;size=5", "*"),
        ("0", "a;size=5", "*"),
    ]


@pytest.mark.parametrize("linkage", ["centroid", "single"])
def test_a_run_goes_on_where_it_ended(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linkage: str) -> None:
    monkeypatch.setattr(tuning, "FIRST_BATCH", 4)
    rng = random.Random(2)
    texts = ["".join(rng.choices("ACGT", k=80)) for _ in range(8)]
    fasta = write_fasta(tmp_path / "a.fa", [mutate(rng, rng.choice(texts), 0.1) for _ in range(100)])
    command = ("cluster", fasta, "--id", "0.93", "--linkage", linkage)
    expected = cli(*command)[1]
    folder = tmp_path / "kept"
    assert cli(*command, "--resume", folder)[1] == expected
    tiles = sorted(folder.glob("*.tile"))
    assert len(tiles) == 5
    untouched = [tile.stat().st_mtime_ns for tile in tiles]
    assert cli(*command, "--resume", folder)[1] == expected
    assert [tile.stat().st_mtime_ns for tile in tiles] == untouched
    tiles[1].write_bytes(b"damaged")
    tiles[4].unlink()
    status, out, errors = cli(*command, "--resume", folder)
    assert (status, out) == (0, expected)
    assert "is damaged: computing it again" in errors
    assert cli(*command, "--resume", folder)[1] == expected
    status, _, errors = cli("cluster", fasta, "--id", "0.9", "--linkage", linkage, "--resume", folder)
    assert status == 2
    assert "tiles of another run" in errors


def test_progress_has_the_number_of_clusters(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of 2, 4 and the last 3; three of the nine sequences are copies of the first."""
    shown: list[tuple[int, str]] = []
    monkeypatch.setattr(Progress, "update", lambda _, count, found="": shown.append((count, found)))
    monkeypatch.setattr(tuning, "FIRST_BATCH", 2)
    rng = random.Random(6)
    texts = ["".join(rng.choices("ACGT", k=60)) for _ in range(6)]
    fasta = write_fasta(tmp_path / "a.fa", [*texts[:3], texts[0], texts[0], texts[0], *texts[3:]])
    assert cli("cluster", fasta, "--id", "0.9", "--order", "input")[0] == 0
    assert shown == [(2, "2 clusters"), (4, "3 clusters"), (3, "6 clusters")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("--id 97", "id must be between 0 and 1, not 97 (did you mean 0.97?)"),
        ("--id -0.1", "id must be between 0 and 1, not -0.1"),
        ("--id 0.9 --sizeout", "--sizeout needs --centroids"),
        ("--id 0.9 --linkage single --uc {tmp}/uc", "leave out --uc, -p, --consout and --msaout"),
        ("--id 0.9 --linkage single --first", "it cannot be used with --linkage single"),
        ("--id 0.9 --matrix BLOSUM62 --match 3", "leave out --match and --mismatch"),
        ("--id 0.9 --matrix BLOSUM62 --strand both", "--strand both needs nucleotides"),
        ("--id 0.9 --members {tmp}/in.fa", "needs a folder"),
        ("--id 0.9 --plot {tmp}/plot.txt", "plot.txt"),
        ("--id 0.9 --centroids {tmp}/in.fa", "is also an input"),
        ("--id 0.9 --min-coverage 2", "min coverage must be from 0 to 1"),
        ("--id 0.9 --gapopen 20X", "is not a gap penalty"),
    ],
)
def test_options_that_do_not_go(cli, genes: Path, tmp_path: Path, options: str, reason: str) -> None:
    status, out, errors = cli("cluster", genes, *options.format(tmp=tmp_path).split())
    assert (status, out) == (2, b"")
    assert reason in errors


def test_gap_penalties_as_vsearch_has_them(cli, tmp_path: Path) -> None:
    """What is not named stays: 15I leaves 2 at the ends, 2E leaves 20 inside; 20 is everywhere."""
    fasta = write_fasta(tmp_path / "a.fa", ["ACGTACGTAC", "GTACGTAC"])

    def cigar(*options: str) -> str:
        return rows_of(cli("cluster", fasta, "--id", "0.1", "-p", *options)[1])[1]["cigar"]

    assert [cigar(), cigar("--gapopen", "15I"), cigar("--gapopen", "2E"), cigar("--gapext", "1E")] == ["2D8M"] * 4
    assert cigar("--gapopen", "20", "--mismatch", "0") in ("8M2D", "2D8M")


def test_all_left_out(cli, genes: Path) -> None:
    status, out, errors = cli("cluster", genes, "--id", "0.9", "--min-length", "100")
    assert (status, out.count(b"\n")) == (0, 1)
    assert "all sequences are left out by their lengths" in errors


@pytest.mark.parametrize("options", [["--uc", "-"], ["-o", "TABLE", "--uc", "-", "--centroids", "-"]])
def test_two_outputs_on_standard_output_are_refused(cli, genes: Path, tmp_path: Path, options: list[str]) -> None:
    words = [tmp_path / "table" if word == "TABLE" else word for word in options]
    status, out, errors = cli("cluster", genes, "--id", "0.9", *words)
    assert (status, out) == (2, b"")
    assert "two outputs go to standard output" in errors
    assert not (tmp_path / "table").exists()
    status, out, _ = cli("cluster", genes, "--id", "0.9", "-o", tmp_path / "table", "--uc", "-")
    assert status == 0
    assert out.startswith(b"S\t0\t")


def test_members_of_an_earlier_run_are_told(cli, genes: Path, tmp_path: Path) -> None:
    words = ("cluster", genes, "-o", tmp_path / "table", "--members", tmp_path / "members", "--id")
    assert "of a run with more clusters" not in cli(*words, "1")[2]
    assert len(list((tmp_path / "members").iterdir())) == 4
    status, _, errors = cli(*words, "0.9")
    assert status == 0
    assert "members also has 2.fasta, of a run with more clusters" in errors


def test_lower_case_and_u(cli, tmp_path: Path) -> None:
    """Written in upper case, with T."""
    fasta = write_fasta(tmp_path / "a.fa", [("a", A), ("b", A.lower()), ("c", A.replace("T", "u"))])
    status, out, errors = cli("cluster", fasta, "--id", "1", "-o", tmp_path / "table", "--centroids", "-")
    assert status == 0
    assert out.decode() == f">a\n{A}\n"
    assert "3 sequences, 1 cluster" in errors


def test_consensus_and_alignments_by_hand(tmp_path: Path) -> None:
    """Members with an insertion, a gap and a longer end; the abundant one decides."""
    centroid = "ACGTTGCAACGGATTACAGG"
    inserted, gap, longer = centroid[:8] + "TT" + centroid[8:], centroid[:12] + centroid[13:], centroid + "CC"
    records = {"c;size=9": centroid, "i;size=5": inserted, "g;size=4": gap, "l;size=3": longer}
    (tmp_path / "a.fa").write_text("".join(f">{name}\n{text}\n" for name, text in records.items()))
    outputs = ["--consout", tmp_path / "cons", "--msaout", tmp_path / "msa", "--sizeout"]
    words = ["--id", "0.8", "--order", "size", "--sizein", *outputs, "-q", "-o", tmp_path / "rows"]
    subprocess.run(program("cluster", tmp_path / "a.fa", *words), check=True)
    assert (tmp_path / "cons").read_text() == f">centroid=c;seqs=4;size=21\n{centroid}\n"
    rows = {
        "*c;size=9": "ACGTTGCA--ACGGATTACAGG--",
        "i;size=5": "ACGTTGCATTACGGATTACAGG--",
        "g;size=4": "ACGTTGCA--ACGG-TTACAGG--",
        "l;size=3": "ACGTTGCA--ACGGATTACAGGCC",
        "consensus": "ACGTTGCA--ACGGATTACAGG++",
    }
    assert (tmp_path / "msa").read_text() == "\n" + "".join(f">{name}\n{row}\n" for name, row in rows.items())


@pytest.mark.skipif(shutil.which("vsearch") is None, reason="vsearch is not installed")
def test_the_alignments_of_vsearch(tmp_path: Path) -> None:
    fasta = tmp_path / "a.fa"
    shutil.copyfile(AMPLICONS, fasta)
    words = [
        "--id",
        "0.9",
        "--order",
        "size",
        "--consout",
        tmp_path / "cons",
        "--msaout",
        tmp_path / "msa",
        "--sizeout",
    ]
    subprocess.run(program("cluster", fasta, *words, "-q", "-o", tmp_path / "rows"), check=True)
    peer = ["--cluster_size", fasta, "--id", "0.9", "--iddef", "1", "--maxaccepts", "0", "--maxrejects", "0"]
    peer += [
        "--consout",
        tmp_path / "cons2",
        "--msaout",
        tmp_path / "msa2",
        "--sizeout",
        "--fasta_width",
        "0",
        "--quiet",
    ]
    subprocess.run(["vsearch", *map(str, peer)], check=True)
    for name, gap in (("cons", ">"), ("msa", "\n\n")):
        texts = ((tmp_path / f"{name}{which}").read_text() for which in ("", "2"))
        ours, theirs = ({*re.sub(r";size=\d+", "", text).split(gap)} for text in texts)
        assert len(ours & theirs) >= 0.95 * len(theirs)
