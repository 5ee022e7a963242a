"""`gpualign map -x ont` and `-x hifi` through the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pysam
import pytest

from tests.long_read_cases import random_genome, with_errors
from tests.reference.alignment import replay
from tests.reference.minimizers import reverse_complement

Cli = Callable[..., tuple[int, bytes, str]]
CONTIGS = {"one": random_genome(31, 80_000), "two": random_genome(32, 40_000)}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "ref.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in CONTIGS.items()))
    return path


def simulated(folder: Path, rate: float) -> tuple[Path, dict[str, str]]:
    """Read i of 30 comes from 2,000 * i of contig one, every other one from the reverse strand. One more is of two
    parts, one of nothing."""
    reads = {}
    for i in range(30):
        text = with_errors(i, CONTIGS["one"][2000 * i :][: 1000 + 500 * i], rate)
        reads[f"r{i}"] = reverse_complement(text) if i % 2 else text
    reads["parts"] = CONTIGS["one"][:4000] + CONTIGS["two"][9000:11_000]
    reads["foreign"] = random_genome(33, 3000)
    path = folder / "reads.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in reads.items()))
    return path, reads


@pytest.mark.parametrize(("preset", "rate"), [("ont", 0.12), ("hifi", 0.005)])
def test_long_reads_are_where_they_came_from(
    cli: Cli, reference: Path, tmp_path: Path, preset: str, rate: float
) -> None:
    path, reads = simulated(tmp_path, rate)
    out = tmp_path / "out.sam"
    code, _, message = cli("map", "-x", preset, reference, path, "-o", out)
    assert code == 0, message
    with pysam.AlignmentFile(str(out), check_sq=True) as file:
        records = list(file)
    primary = {record.query_name: record for record in records if not record.flag & 0x900}
    assert list(primary) == list(reads)
    for i in range(30):
        record = primary[f"r{i}"]
        assert (record.reference_name, record.is_reverse) == ("one", bool(i % 2))
        assert record.reference_start == pytest.approx(2000 * i, abs=20)
        assert record.mapping_quality == 60
        assert record.query_sequence is not None
        edits, _, _ = replay(record.query_sequence, CONTIGS["one"], record.reference_start, str(record.cigarstring))
        assert record.get_tag("NM") == edits
    assert primary["foreign"].is_unmapped
    [extra] = [record for record in records if record.flag & 0x900]
    assert (extra.query_name, extra.flag, extra.reference_name) == ("parts", 0x800, "two")
    assert extra.reference_start == pytest.approx(9000, abs=5)
    assert str(primary["parts"].get_tag("SA")).startswith(f"two,{extra.reference_start + 1},+,")


def test_output_does_not_depend_on_batches(cli: Cli, reference: Path, tmp_path: Path) -> None:
    path, _ = simulated(tmp_path, 0.1)
    one = cli("map", "-x", "ont", reference, path, "-t", "1")
    many = cli("map", "-x", "ont", reference, path, "-t", "2", "--batch-size", "20K")

    def records(sam: bytes) -> list[bytes]:
        return [line for line in sam.splitlines() if not line.startswith(b"@PG")]

    assert one[0] == many[0] == 0
    assert records(one[1]) == records(many[1])


def test_an_explicit_option_wins_over_the_preset(cli: Cli, reference: Path, tmp_path: Path) -> None:
    """-A 1 is the default of short reads, and still not the preset's."""
    path, _ = simulated(tmp_path, 0.0)

    def score(*options: str) -> int:
        _, sam, _ = cli("map", "-x", "ont", *options, reference, path)
        [record] = [line for line in sam.decode().splitlines() if line.startswith("r29\t")]
        [tag] = [field for field in record.split("\t") if field.startswith("AS:i:")]
        return int(tag[5:])

    assert score() == 2 * 15_500
    assert score("-A", "1") == 15_500


def test_long_reads_have_no_pairs(cli: Cli, reference: Path, tmp_path: Path) -> None:
    path, _ = simulated(tmp_path, 0.0)
    code, _, message = cli("map", "-x", "ont", reference, path, path)
    assert code == 2
    assert "no pairs" in message


def test_unknown_preset_is_refused(cli: Cli, reference: Path) -> None:
    code, _, message = cli("map", "-x", "asm5", reference, reference)
    assert code == 2
    assert "asm5" in message
