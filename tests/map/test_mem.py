"""`gpualign mem`: bwa mem's command line, and its reference and tags."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.commands import program
from tests.helpers.files import Record, write_fasta, write_fastq
from tests.helpers.map_cases import pair
from tests.helpers.sam import records, tags, without_program
from tests.helpers.sequences import mutate, random_genome, reverse_complement

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
#: of bwa 0.7.18's getopt: options that take a value are followed by a colon
GETOPT = "51qpaMCSPVYjuk:c:v:s:r:t:R:A:B:O:E:U:w:L:d:T:Q:D:m:I:N:o:f:W:x:G:h:y:K:X:H:F:z:"
#: an option of bwa's developers
INTERNAL = "F"
VALUES = {"R": r"@RG\tID:x\tSM:y", "x": "intractg", "I": "300,20", "o": "out.sam", "f": "out.sam", "H": "@CO\tx"}


@pytest.fixture(scope="module")
def repeats() -> str:
    """60,000 bases, of which 500 are there three times, with a difference or two."""
    copied = random_genome(7, 500)
    near = copied[:250] + ("A" if copied[250] != "A" else "C") + copied[251:]
    return "".join(
        [
            random_genome(8, 20_000),
            copied,
            random_genome(9, 20_000),
            reverse_complement(near),
            random_genome(10, 20_000),
            copied,
        ]
    )


@pytest.fixture
def ref(tmp_path: Path, repeats: str) -> Path:
    return write_fasta(tmp_path / "ref.fa", g=repeats)


@pytest.fixture(scope="module")
def pairs(repeats: str) -> list[tuple[Record, Record]]:
    rng = random.Random(6)
    made = []
    for i in range(300):
        start = rng.randrange(19_800, 20_600) if i % 3 == 0 else rng.randrange(0, 60_000)
        (_, a, _), (_, b, _) = pair(repeats, start, int(rng.gauss(350, 20)), f"p{i}")
        ends = [(f"p{i}", text, "I" * len(text)) for text in (mutate(rng, a, 0.01), mutate(rng, b, 0.01))]
        made.append((ends[1], ends[0]) if i % 2 else (ends[0], ends[1]))
    return made


@pytest.fixture
def reads(tmp_path: Path, pairs: list[tuple[Record, Record]]) -> list[Path]:
    return [write_fastq(tmp_path / f"{end + 1}.fq", *(ends[end] for ends in pairs)) for end in (0, 1)]


@pytest.mark.parametrize("letter", re.findall(r"\w:?", GETOPT))
def test_every_option_is_accepted(cli: Cli, ref: Path, reads: list[Path], letter: str, tmp_path: Path) -> None:
    """What has no effect is said in one line; without -v, that is."""
    letter, takes = letter[0], letter.endswith(":")
    if letter in INTERNAL:
        return
    value = VALUES.get(letter, "1")
    if letter in "of":
        value = str(tmp_path / value)
    words = [f"-{letter}", value] if takes else [f"-{letter}"]
    code, out, error = cli("mem", *words, ref, reads[0])
    assert code == 0, error
    silent = "aMCYPut5RABOEULTIofxhKHvzj"
    notes = [line for line in error.splitlines() if line.startswith(f"gpualign mem: -{letter}")]
    assert len(notes) == (0 if letter in silent or letter == "p" else 1), error
    assert (len(out) > 10_000) == (letter not in "of")
    if letter in "of":
        assert len(records(Path(value).read_bytes())) == 300


def test_records_are_those_of_map(cli: Cli, ref: Path, reads: list[Path]) -> None:
    code, found, error = cli("mem", "-t", "2", ref, *reads)
    assert code == 0, error
    _, expected, _ = cli("map", ref, *reads, "--xa", "5", "--tags", "XS,HN")
    assert without_program(found) == without_program(expected)
    assert sum("XA" in tags(record) for record in records(found)) > 50


def test_columns_and_tags_agree_with_bwa(cli: Cli, ref: Path, reads: list[Path]) -> None:
    if shutil.which("bwa") is None:
        pytest.skip("needs bwa")
    subprocess.run(["bwa", "index", str(ref)], capture_output=True, check=True)
    theirs = subprocess.run(["bwa", "mem", str(ref), *map(str, reads)], capture_output=True, check=True).stdout
    code, ours, error = cli("mem", ref.with_suffix(".fa.bwt"), *reads)
    assert code == 0, error
    names = ("FLAG", "RNAME", "POS", "CIGAR", "RNEXT", "PNEXT", "MC", "NM", "MD", "XA")
    same, sure = dict.fromkeys(names, 0), 0
    for mine, other in zip(records(ours), records(theirs), strict=True):
        assert mine[0] == other[0]
        if int(other[4]) < 30:
            continue
        sure += 1
        found, expected = ([record[c] for c in (1, 2, 3, 5, 6, 7)] + tagged(record) for record in (mine, other))
        for name, a, b in zip(names, found, expected, strict=True):
            same[name] += a == b
    assert sure > 500
    assert min(same.values()) >= 0.95 * sure, same


def tagged(record: list[str]) -> list[object]:
    """MC, NM, MD, and the hits of XA in any order."""
    found = tags(record)
    return [*(found.get(name) for name in ("MC", "NM", "MD")), sorted(found.get("XA", "").split(";"))]


def test_m_y_and_split_reads(cli: Cli, ref: Path, repeats: str, tmp_path: Path) -> None:
    read = repeats[100:200] + repeats[5000:5060]
    fastq = write_fastq(tmp_path / "split.fq", ("s", read, "I" * len(read)))

    def found(*words: str) -> list[list[str]]:
        code, out, error = cli("mem", *words, ref, fastq)
        assert code == 0, error
        return records(out)

    plain = found()
    assert [(r[1], r[5], len(r[9])) for r in plain] == [("0", "100M60S", 160), ("2048", "100H60M", 60)]
    assert [(r[1], r[5], len(r[9])) for r in found("-M")] == [("0", "100M60S", 160), ("256", "100H60M", 60)]
    assert [(r[1], r[5], len(r[9])) for r in found("-Y")] == [("0", "100M60S", 160), ("2048", "100S60M", 160)]
    assert [tags(r)["SA"].split(",")[1] for r in plain] == ["5001", "101"]
    assert [r[1] for r in found("-T", "70")] == ["0"]
    assert [(r[1], r[2]) for r in found("-T", "101")] == [("4", "*")]


def test_low_scores_are_unmapped(cli: Cli, ref: Path, reads: list[Path], repeats: str, tmp_path: Path) -> None:
    """And their mates know it."""
    a, b = repeats[100:200], reverse_complement(repeats[300:340])
    paths = [write_fastq(tmp_path / f"t{n}.fq", ("s", text, "I" * len(text))) for n, text in ((1, a), (2, b))]
    code, out, error = cli("mem", "-T", "50", "-I", "240,20", ref, *paths)
    assert code == 0, error
    first, second = records(out)
    assert (int(first[1]), int(second[1])) == (0x1 | 0x8 | 0x40, 0x1 | 0x4 | 0x80)
    assert (second[2], second[3], first[6]) == ("g", "101", "=")


def test_all_alignments_are_records(cli: Cli, ref: Path, repeats: str, tmp_path: Path) -> None:
    read = repeats[20_050:20_150]
    fastq = write_fastq(tmp_path / "r.fq", ("s", read, "I" * 100))
    found = records(cli("mem", "-a", ref, fastq)[1])
    assert sorted(int(record[1]) for record in found) == [0, 256, 272]
    assert "XA" not in tags(found[0])
    (one,) = records(cli("mem", ref, fastq)[1])
    assert len(tags(one)["XA"].split(";")) == 3
    (none,) = records(cli("mem", "-h", "1", ref, fastq)[1])
    assert "XA" not in tags(none)
    (scored,) = records(cli("mem", "-u", ref, fastq)[1])
    assert [hit.split(",")[4:] for hit in tags(scored)["XB"].split(";")[:-1]] == [["100", "0"], ["100", "0"]]


def test_header_lines(cli: Cli, ref: Path, reads: list[Path], tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    length = len(ref.read_text().split("\n", 1)[1].replace("\n", ""))
    lines.write_text(f"@HD\tVN:1.5\n@SQ\tSN:g\tLN:{length}\tAS:x\n@CO\tone two\n")

    def header(given: object) -> list[str]:
        code, out, error = cli("mem", "-R", r"@RG\tID:x\tSM:y", "-H", given, ref, reads[0])
        assert code == 0, error
        return [line for line in out.decode().splitlines() if line.startswith("@") and not line.startswith("@PG")]

    assert header(lines) == ["@HD\tVN:1.5", f"@SQ\tSN:g\tLN:{length}\tAS:x", "@RG\tID:x\tSM:y", "@CO\tone two"]
    assert header(r"@CO\tx") == [
        "@HD\tVN:1.6\tSO:unsorted\tGO:query",
        f"@SQ\tSN:g\tLN:{length}",
        "@RG\tID:x\tSM:y",
        "@CO\tx",
    ]
    for bad in ("@XX", "@SQ\tSN:g\tLN:1"):
        assert cli("mem", "-H", bad, ref, reads[0])[0] == 2


@pytest.mark.parametrize("scale", [2, 20, 100])
def test_match_scales_the_others(cli: Cli, ref: Path, reads: list[Path], scale: int) -> None:
    plain, scaled = (records(cli("mem", *words, ref, *reads)[1]) for words in ((), ("-A", str(scale))))
    loci = [[record[:4] + record[5:9] for record in found] for found in (plain, scaled)]
    assert loci[0] == loci[1]
    assert [scale * int(tags(r)["AS"]) for r in plain] == [int(tags(r)["AS"]) for r in scaled]


@pytest.mark.parametrize("penalty", ["1000", "100000"])
def test_no_end_is_clipped(cli: Cli, ref: Path, repeats: str, tmp_path: Path, penalty: str) -> None:
    """As of bwa: -L 1000 means end to end, whatever the mismatches at the ends."""
    read = list(repeats[1000:1150])
    for i in (0, 2, 147, 149):
        read[i] = {"A": "C", "C": "A", "G": "T", "T": "G"}[read[i]]
    fastq = write_fastq(tmp_path / "s.fq", ("s", "".join(read), "I" * 150))
    assert records(cli("mem", ref, fastq)[1])[0][5] == "3S144M3S"
    (record,) = records(cli("mem", "-L", penalty, ref, fastq)[1])
    assert (record[3], record[5], tags(record)["NM"], tags(record)["AS"]) == ("1001", "150M", "4", "130")
    if shutil.which("bwa") is not None:
        subprocess.run(["bwa", "index", str(ref)], capture_output=True, check=True)
        command = ["bwa", "mem", "-L", penalty, str(ref), str(fastq)]
        (theirs,) = records(subprocess.run(command, capture_output=True, check=True).stdout)
        assert (theirs[3], theirs[5]) == ("1001", "150M")


@pytest.mark.parametrize(("words", "says"), [(("-O", "6,7"), "-O: of 6,7 only 6 counts"), (("-L", "5,5"), "")])
def test_pairs_of_penalties(cli: Cli, ref: Path, reads: list[Path], words: tuple[str, ...], says: str) -> None:
    code, _, error = cli("mem", *words, ref, reads[0])
    assert code == 0
    assert (says in error) if says else ("-L" not in error)


@pytest.mark.parametrize(
    "words", [("-O", "x"), ("-h", "5,"), ("-h", "1,2,3"), ("-t", "0"), ("-R", "x"), ("--nonsense",)]
)
def test_usage(cli: Cli, ref: Path, reads: list[Path], words: tuple[str, ...]) -> None:
    assert cli("mem", *words, ref, reads[0])[0] == 2


def test_quiet_as_bwa(cli: Cli, ref: Path, reads: list[Path]) -> None:
    assert cli("mem", "-v", "1", "-w", "5", ref, reads[0])[2] == ""


class TestReference:
    def test_index_is_kept(self, cli: Cli, ref: Path, reads: list[Path]) -> None:
        first, second = cli("mem", ref, reads[0]), cli("mem", ref, reads[0])
        assert "building the index" in first[2]
        assert "building" not in second[2]
        assert first[1] == second[1]
        assert sorted(path.name for path in ref.parent.glob("ref.*")) == ["ref.fa", "ref.fa.gpi"]
        os.utime(ref, ns=(2**62, 2**62))  # newer than its index, and the same
        assert "building" not in cli("mem", ref, reads[0])[2]

    @pytest.mark.parametrize("put", ["link", "cp -p", "copy", "same size and time", "renamed contig"])
    def test_an_index_of_a_former_reference(
        self, cli: Cli, ref: Path, repeats: str, reads: list[Path], tmp_path: Path, put: str
    ) -> None:
        """Whatever brings another file to the reference's name, older or newer, its contigs are what is mapped to."""
        other = write_fasta(tmp_path / "other.fa", g=repeats[:-1] + ("A" if repeats[-1] != "A" else "C"))
        if put == "renamed contig":
            other = write_fasta(tmp_path / "other.fa", h=repeats)
        assert other.stat().st_size == ref.stat().st_size
        os.utime(other, ns=(10**18, 10**18))  # in 2001
        moved = ref.rename(tmp_path / "first.fa")
        ref.symlink_to(moved)
        assert cli("mem", ref, reads[0])[0] == 0
        if put == "same size and time":
            os.utime(other, ns=(moved.stat().st_atime_ns, moved.stat().st_mtime_ns))
        ref.unlink()
        if put == "link":
            ref.symlink_to(other)
        elif put == "copy":
            shutil.copy(other, ref)
        else:
            shutil.copy2(other, ref)
        code, out, error = cli("mem", ref, reads[0])
        assert code == 0, error
        assert f"building the index {ref}.gpi: {ref}.gpi was built from another content of {ref}\n" in error
        assert without_program(out) == without_program(cli("mem", other, reads[0])[1])
        assert "building" not in cli("mem", ref, reads[0])[2]

    def test_copies_of_reference_and_index(self, cli: Cli, ref: Path, reads: list[Path], tmp_path: Path) -> None:
        """They have other times and the same content."""
        assert cli("index", ref, "-d", f"{ref}.gpi")[0] == 0
        (tmp_path / "there").mkdir()
        copies = [shutil.copy(tmp_path / name, tmp_path / "there") for name in ("ref.fa.gpi", "ref.fa")]
        code, _, error = cli("mem", copies[1], reads[0])
        assert (code, "building" in error) == (0, False), error

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ("version", "the index has format version 99, this gpualign reads 3"),
            ("cut", "the index is damaged: "),
            ("header", "the index is damaged: its header is cut short or altered"),
            ("entries", "the index is damaged: checksum of the bytes from "),
            ("text", "not a gpualign index"),
        ],
    )
    def test_a_kept_index_that_is_of_no_use(
        self, cli: Cli, ref: Path, reads: list[Path], change: str, says: str
    ) -> None:
        kept = Path(f"{ref}.gpi")
        _, expected, _ = cli("mem", ref, reads[0])
        whole = kept.read_bytes()
        changed = bytearray(whole)
        changed[{"version": 8, "header": 40}.get(change, -100)] = 99
        kept.write_bytes({"cut": whole[:-64], "text": b"x"}.get(change, bytes(changed)))
        code, out, error = cli("mem", ref, reads[0])
        assert code == 0, error
        assert f"building the index {kept}: {says}" in error
        assert error.count("\n") == 2  # that, and the summary
        assert out == expected
        assert kept.read_bytes() == whole

    @pytest.mark.parametrize(
        ("there", "given"),
        [
            (["ref.fa"], "ref.fa"),
            (["ref.fa", "ref.fa.bwt", "ref.fa.pac"], "ref.fa.bwt"),
            (["ref.fa", "ref.bwt"], "ref"),
            (["ref.fa", "ref.mmi"], "ref.mmi"),
            (["ref.fa", "ref.fa.mmi"], "ref.fa.mmi"),
            (["ref.fa", "ref.fa.bwt.2bit.64"], "ref.fa.bwt.2bit.64"),
        ],
    )
    def test_names_of_other_indexes(self, cli: Cli, ref: Path, reads: list[Path], there: list[str], given: str) -> None:
        for name in there[1:]:
            (ref.parent / name).write_bytes(b"another program's")
        code, out, error = cli("mem", ref.parent / given, reads[0])
        assert code == 0, error
        assert len(records(out)) == 300
        assert (ref.parent / "ref.fa.gpi").exists()

    def test_an_index_without_its_fasta(self, cli: Cli, ref: Path, reads: list[Path]) -> None:
        ref.rename(ref.parent / "other.fa")
        (ref.parent / "ref.fa.pac").write_bytes(b"x")
        code, _, error = cli("mem", ref, reads[0])
        assert (code, error.endswith(f"put the FASTA file next to it, {ref}\n")) == (3, True)
        code, _, error = cli("mem", ref.parent / "nothing.fa", reads[0])
        assert (code, "No such file" in error) == (3, True)

    def test_a_folder_that_cannot_be_written(
        self, cli: Cli, ref: Path, reads: list[Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The run goes on, and says that nothing is kept."""
        real = os.open

        def refusing(path: object, *rest: object, **named: object) -> int:
            if str(path).endswith(".lock"):
                raise PermissionError(13, "Permission denied")
            return real(path, *rest, **named)  # type: ignore[arg-type]

        monkeypatch.setattr("gpualign.map.bwa_reference.os.open", refusing)
        code, out, error = cli("mem", ref, reads[0])
        assert code == 0, error
        assert "no index kept next to" in error
        assert "Permission denied" in error
        assert len(records(out)) == 300
        assert not (ref.parent / "ref.fa.gpi").exists()

    def test_one_of_several_processes_builds(self, ref: Path, reads: list[Path]) -> None:
        started = [
            subprocess.Popen(program("mem", ref, reads[0]), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(4)
        ]
        done = [process.communicate(timeout=120) for process in started]
        assert [process.returncode for process in started] == [0] * 4
        assert len({without_program(out) for out, _ in done}) == 1
        assert sum(b"building the index" in error for _, error in done) == 1
        assert sorted(path.name for path in ref.parent.glob("ref.*")) == ["ref.fa", "ref.fa.gpi"]
