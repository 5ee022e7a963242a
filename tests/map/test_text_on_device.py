"""`map --device cuda` with reads that the device finds in text, through a device that is none: the CPU's bytes, and its
errors."""

from __future__ import annotations

import bz2
import gc
import gzip
import pickle
import threading
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pysam
import pytest

from gpualign.map.device.fastq import StagedText
from gpualign.reads.fastq_text import FastqText
from gpualign.reads.lanes import Lanes
from gpualign.reads.reads import Reads
from gpualign.sequences.batch import SequenceBatch
from gpualign.text.bgzf import bgzf_writer
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.paths import GENOMES
from tests.helpers.sam import without_program
from tests.helpers.sequences import reverse_complement
from tests.helpers.soak import some_of

Cli = Callable[..., tuple[int, bytes, str]]
SIZE = ("--batch-size", "4K")


def reads_of(lengths: tuple[int, ...], count: int, end: int = 1, seed: int = 1) -> str:
    """FASTQ of ends of fragments of the bundled genomes, as a sequencer names them; every fifth has an error, some
    bases are lower case or N."""
    rng = np.random.default_rng(seed)
    genomes = [text.split("\n", 1)[1].replace("\n", "") for text in GENOMES.read_text().split(">")[1:]]
    lines = []
    for i in range(count):
        genome = genomes[rng.integers(len(genomes))]
        start, size = int(rng.integers(0, len(genome) - 700)), int(rng.normal(300, 20))
        size = max(size, *lengths)
        fragment = genome[start : start + size]
        bases = fragment if end == 1 else reverse_complement(fragment)
        bases = bases[: lengths[i % len(lengths)]]
        if i % 5 == 0:
            at = int(rng.integers(len(bases)))
            bases = bases[:at] + "nNac"[i // 5 % 4] + bases[at + 1 :]
        if i % 7 == 0:
            bases = bases[:9].lower() + bases[9:]
        qualities = "".join(map(chr, rng.integers(33, 74, len(bases))))
        lines.append(f"@A0:{i}:HX {end}:N:0:ACGT\n{bases}\n+\n{qualities}\n")
    return "".join(lines)


@pytest.fixture(scope="session")
def texts() -> tuple[str, str]:
    return reads_of((100, 101, 99), 400), reads_of((100, 97), 400, 2)


def sam_of(cli: Cli, *arguments: object) -> bytes:
    status, out, errors = cli("map", GENOMES, *arguments, "--quiet")
    assert status == 0, errors
    return without_program(out)


def written(folder: Path, texts: tuple[str, ...], pack: Callable[[bytes], bytes] = bytes) -> list[Path]:
    paths = [folder / f"{number}.fq" for number in range(1, len(texts) + 1)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(pack(text.encode("latin-1")))
    return paths


def bgzf(data: bytes) -> bytes:
    parts: list[bytes] = []
    with bgzf_writer(lambda part: parts.append(bytes(part)), 1) as out:
        out.write(data)
    return b"".join(parts)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, bgzf], ids=["plain", "gzip", "bzip2", "bgzf"])
@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_text_gives_the_same_bytes(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path, found_in_text: list[int], pack, files: int, ends: str
) -> None:
    paths = written(tmp_path, tuple(text.replace("\n", ends) for text in texts[:files]), pack)
    expected = sam_of(cli, *paths, "--device", "cpu")
    use(FakeDriver())
    for size in ("4K", "1M"):
        found_in_text.clear()
        assert sam_of(cli, *paths, "--device", "cuda", "--batch-size", size, "-I", "300,20", "-t", 3) == (
            expected if files == 1 else sam_of(cli, *paths, "--device", "cpu", "-I", "300,20")
        )
        assert sum(found_in_text) == 400 * files
    found_in_text.clear()
    assert sam_of(cli, *paths, "--device", "cuda") == expected  # insert sizes are looked at
    assert sum(found_in_text) == (400 if files == 1 else 0)


@pytest.mark.parametrize(
    "options",
    [
        ("--output-format", "bam"),
        ("--output-format", "bam", "--sort"),
        ("--no-unal",),
        ("-R", "@RG\\tID:a\\tSM:b"),
        ("--all",),
        ("--end-to-end", "-e", "0.1"),
        ("--no-check-names",),
        ("--xa", "3"),
    ],
)
def test_with_options(
    cli: Cli,
    use,
    texts: tuple[str, str],
    tmp_path: Path,
    found_in_text: list[int],
    options: tuple[str, ...],
) -> None:
    paths = written(tmp_path, texts)
    outputs = []
    for device in ("cpu", "cuda"):
        if device != "cpu":
            use(FakeDriver())
        path = tmp_path / f"{device}.out"
        words = ("-o", path, "--device", device, *SIZE, "-I", "300,20")
        status, _, error = cli(
            "map", GENOMES, *paths, *words, *(options if device == "cuda" or "cuda" not in options[-1] else ())
        )
        assert status == 0, error
        outputs.append(pysam.view("-h", "--no-PG", str(path)).splitlines())
    plain = [[line for line in lines if not line.startswith("@PG")] for lines in outputs]
    assert plain[0] == plain[1]
    assert sum(found_in_text) == 800


@pytest.mark.parametrize(
    "options", [("--copy-comments",), ("--sensitivity", "full"), ("--output-format", "paf"), ("-x", "ont")]
)
def test_what_needs_the_reads_is_parsed_by_the_host(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path, found_in_text: list[int], options: tuple[str, ...]
) -> None:
    paths = written(tmp_path, texts[:1])
    expected = sam_of(cli, *paths, *options, "--device", "cpu")
    use(FakeDriver())
    assert sam_of(cli, *paths, *options, "--device", "cuda", *SIZE) == expected
    assert found_in_text == []


@pytest.mark.parametrize("lengths", [(100, 250), (100,) * 200 + (300, 420), (512,), (100, 513), (100,) * 399 + (650,)])
def test_longer_reads_than_before(
    cli: Cli, use, tmp_path: Path, found_in_text: list[int], lengths: tuple[int, ...]
) -> None:
    """Whose kernels are others: the batch begins again; the longest are for the host."""
    paths = written(tmp_path, (reads_of(lengths, 400),))
    expected = sam_of(cli, *paths, "--device", "cpu")
    use(FakeDriver())
    assert sam_of(cli, *paths, "--device", "cuda", *SIZE) == expected
    assert len(found_in_text) > 2
    assert (0 in found_in_text) == (max(lengths) > 512)


ODD = {
    "white space": "@odd\nACGT ACGT\n+\nIIIIIIII\n",
    "no bases": "@odd\n\n+\n\n",
    "blank lines": "\n\n\n\n@odd\nACGTACGT\n+\nIIIIIIII\n",
    "a long name": f"@{'n' * 400}\nACGTACGT\n+\nIIIIIIII\n",
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("files", [1, 2])
def test_odd_records_are_read_by_the_host(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path, found_in_text: list[int], odd: str, files: int
) -> None:
    lines = [text.splitlines(keepends=True) for text in texts[:files]]
    paths = written(tmp_path, tuple("".join((*each[:900], ODD[odd], *each[900:])) for each in lines))
    words = (*paths, "-I", "300,20")
    expected = sam_of(cli, *words, "--device", "cpu")
    use(FakeDriver())
    assert sam_of(cli, *words, "--device", "cuda", *SIZE) == expected
    assert 400 * files > sum(found_in_text) > 100 * files
    assert all(found_in_text) == (odd in ("no bases", "blank lines"))  # which the count shows


FORMS = [(1, "plain"), (2, "plain"), (2, "bgzf")]
BROKEN = {
    "quality": "@odd\nACGTACGT\n+\nIIIIIII\n",
    "base": "@odd\nACGT-CGT\n+\nIIIIIIII\n",
    "plus": "@odd\nACGTACGT\nIIIIIIII\n@x\n",
    "at": "odd\nACGTACGT\n+\nIIIIIIII\n",
    "unprintable": "@odd\nACGTACGT\n+\nII\x07IIIII\n",
    "line too many": "@odd\nACGTACGT\nACGT\n+\nIIIIIIII\n",
    "no name": "@ comment\nACGTACGT\n+\nIIIIIIII\n",
    "carriage return": "@od\rd\nACGTACGT\n+\nIIIIIIII\n",
}


@pytest.mark.parametrize(
    ("files", "form", "at", "broken"),  # each error of one file and of two, and one of them everywhere
    some_of(
        ((*form, at, broken) for form, at, broken in product(FORMS, (0, 1, 237, 399, 400), BROKEN)),
        lambda files, form, at, broken: (at == 237 and form == "plain") or broken == "quality",
    ),
)
def test_errors_are_the_parsers(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path, broken: str, at: int, files: int, form: str
) -> None:
    """Those of a file that the CPU reads at once, by word and line."""
    lines = [text.splitlines(keepends=True) for text in texts[:files]]
    lines[-1][4 * at : 4 * at + 4] = [BROKEN[broken]]
    paths = written(tmp_path, tuple(map("".join, lines)), bytes if form == "plain" else bgzf)
    words = ("map", GENOMES, *paths, "-I", "300,20", "-q", "-o", tmp_path / "out.sam")
    cpu = cli(*words, "--device", "cpu", *SIZE)
    assert cpu[0] == 3
    assert "1.fq:" in cpu[2] or "2.fq:" in cpu[2] or broken == "at"
    driver, before = use(FakeDriver()), threading.active_count()
    gc.disable()  # threads that read ahead end with the run, not where garbage is collected
    try:
        assert cli(*words, "--device", "cuda", *SIZE, "-t", 3) == cpu
        assert threading.active_count() == before
    finally:
        gc.enable()
    assert driver.contexts == []
    assert not (tmp_path / "out.sam").exists()


@pytest.mark.parametrize("change", ["other name", "one less", "one more", "other names later"])
def test_pairs_that_do_not_fit(cli: Cli, use, texts: tuple[str, str], tmp_path: Path, change: str) -> None:
    second = texts[1]
    if change == "other name":
        second = second.replace("@A0:300:HX", "@A0:301:HY")
    elif change == "other names later":
        second = second.replace("@A0:39", "@A0:40")
    else:
        last = second.rindex("@A0")
        second = second[:last] + 2 * second[last:] if change == "one more" else second[:last]
    paths = written(tmp_path, (texts[0], second))
    words = ("map", GENOMES, *paths, "-I", "300,20", "-q")
    cpu = cli(*words, "--device", "cpu", *SIZE)
    assert cpu[0] == 3
    use(FakeDriver())
    assert cli(*words, "--device", "cuda", *SIZE)[::2] == cpu[::2]


def test_the_host_parses_what_it_looks_at_alone(
    cli: Cli, use, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found_in_text: list[int]
) -> None:
    """The first pairs, for their names and insert sizes; a file's first reads, for the index."""
    paths = written(tmp_path, (reads_of((100,), 6000), reads_of((100,), 6000, 2)))
    parsed: list[int] = []

    def watched(text: FastqText) -> SequenceBatch:
        batch = columns(text)
        parsed.append(len(batch))
        return batch

    columns = FastqText.columns
    monkeypatch.setattr(FastqText, "columns", watched)
    expected = sam_of(cli, *paths, "--device", "cpu")
    use(FakeDriver())
    assert sam_of(cli, *paths, "--device", "cuda") == expected
    assert parsed == [50, 50, 5000, 5000]
    assert sum(found_in_text) == 2000


@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("pack", [bytes, bgzf, gzip.compress], ids=["plain", "bgzf", "gzip"])
def test_chunks_that_come_to_a_worker(
    cli: Cli,
    use,
    texts: tuple[str, str],
    tmp_path: Path,
    found_in_text: list[int],
    monkeypatch: pytest.MonkeyPatch,
    pack: Callable[[bytes], bytes],
    files: int,
) -> None:
    """As a client cuts and pickles them, to a device of the worker, which reads them as on one machine."""
    paths = written(tmp_path, texts[:files], pack)
    words = (*paths, "-I", "300,20")
    expected = sam_of(cli, *words, "--device", "cpu")
    items = Lanes.reads
    travelled: list[int] = []

    def sent(self: Lanes, bases: int, *_: object) -> Iterator[Reads]:
        for item in items(self, bases, True):
            travelled.append(len(pickle.dumps(item, protocol=5)))
            yield pickle.loads(pickle.dumps(item, protocol=5))

    monkeypatch.setattr(Lanes, "reads", sent)
    use(FakeDriver())
    assert sam_of(cli, *words, "--device", "cuda", *SIZE) == expected
    assert sum(found_in_text) == 400 * files
    assert len(travelled) > 1
    lines = [text.splitlines(keepends=True) for text in texts[:files]]
    lines[-1][4 * 237 : 4 * 238] = [BROKEN["quality"]]
    written(tmp_path, tuple(map("".join, lines)), pack)
    status, _, error = cli("map", GENOMES, *words, "-q", *SIZE, "--device", "cuda")
    assert status == 3
    assert f"{files}.fq" in error
    assert "record" in error


@pytest.mark.parametrize(("devices", "kept"), [(1, 8), (2, 8), (1, 0)])
def test_reads_stay_where_their_records_are_written(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, devices: int, kept: int
) -> None:
    """On the same device, and unless more batches are waiting: then the text goes there again."""
    paths = written(tmp_path, tuple(4 * text for text in texts))
    words = (*paths, "-I", "300,20", "--device")
    expected = sam_of(cli, *words, "cpu")
    runs: list[int] = []
    run = StagedText.run
    monkeypatch.setattr(StagedText, "run", lambda self, *arguments: runs.append(self.number) or run(self, *arguments))
    monkeypatch.setattr("gpualign.map.tuning.PARSED_BATCHES", kept)
    driver = use(FakeDriver(devices=(("Fake A", (9, 0)), ("Fake B", (9, 0)))[:devices]))
    assert sam_of(cli, *words, "cuda", *SIZE, "-t", 3) == expected
    assert driver.contexts == []
    batches = len(set(runs))
    assert batches > 8
    assert len(runs) == batches * (2 - (kept > 0))


@pytest.mark.gpu
@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("odd", ["", *ODD])
def test_a_gpu_reads_the_same(
    cli: Cli, tmp_path: Path, found_in_text: list[int], files: int, ends: str, odd: str
) -> None:
    texts = [reads_of((100, 150, 31), 3000, end).splitlines(keepends=True) for end in range(1, files + 1)]
    whole = tuple("".join((*lines[:6000], ODD.get(odd, ""), *lines[6000:])) for lines in texts)
    paths = written(tmp_path, tuple(text.replace("\n", ends) for text in whole))
    words = (*paths, "-I", "300,20", "--device")
    expected = sam_of(cli, *words, "cpu")
    assert sam_of(cli, *words, "cuda", *SIZE) == expected
    assert sum(found_in_text) > 2000 * files


@pytest.mark.gpu
@pytest.mark.parametrize("broken", BROKEN)
def test_a_gpu_finds_what_is_wrong(cli: Cli, tmp_path: Path, broken: str) -> None:
    lines = reads_of((100, 150), 3000).splitlines(keepends=True)
    paths = written(tmp_path, ("".join((*lines[:8000], BROKEN[broken], *lines[8000:])),))
    words = ("map", GENOMES, *paths, *SIZE, "-q", "--device")
    (status, _, message), (expected_status, _, expected_message) = (cli(*words, device) for device in ("cuda", "cpu"))
    assert status == expected_status == 3
    assert message == expected_message  # how many records come before it depends on batches


def test_text_that_does_not_fit_the_device_comes_in_parts(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path
) -> None:
    paths = written(tmp_path, tuple(12 * text for text in texts))
    words = (*paths, "-I", "300,20")
    expected = sam_of(cli, *words, "--device", "cpu")
    driver = use(FakeDriver(memory=24 << 20))
    assert sam_of(cli, *words, "--device", "cuda") == expected
    assert driver.contexts == []


@pytest.mark.parametrize("names", ["p{i}/{mate}", "p{i}.{mate}", "SRR1.{i}.{mate}", "SRR1.{i}"])
@pytest.mark.parametrize("form", ["sam", "bam"])
def test_names_of_mates(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path, found_in_text: list[int], names: str, form: str
) -> None:
    """Of pairs and of single reads, by the rules of the host."""
    named = []
    for mate, text in enumerate(texts, 1):
        lines = text.splitlines()
        lines[::4] = [f"@{names.format(i=i + 1, mate=mate)}" for i in range(400)]
        named.append("\n".join(lines) + "\n")
    paths = written(tmp_path, tuple(named))

    def names_of(*words: object) -> list[str]:
        code, _, error = cli("map", "-q", GENOMES, *words, "--device", "cuda", "-o", tmp_path / f"o.{form}")
        assert code == 0, error
        with pysam.AlignmentFile(str(tmp_path / f"o.{form}")) as records:
            return [str(record.query_name) for record in records if not record.is_supplementary]

    template = names.removesuffix("/{mate}").removesuffix(".{mate}")
    use(FakeDriver())
    assert names_of("-I", "300,20", *paths) == [template.format(i=i + 1) for i in range(400) for _ in (1, 2)]
    single = names.removesuffix("/{mate}")
    assert names_of(paths[0]) == [single.format(i=i + 1, mate=1) for i in range(400)]
    assert sum(found_in_text) == 1200
    if "{mate}" in names:  # found by the device, said by the host
        lines = named[1].splitlines()
        lines[4 * 390] = f"@{names.format(i=391, mate=1)}"
        paths[1].write_text("\n".join(lines) + "\n")
        code, _, error = cli("map", GENOMES, "-I", "300,20", *paths, "--device", "cuda", "-o", tmp_path / "w.sam")
        assert code == 3
        assert f"'{names.format(i=391, mate=1)}'" in error


def test_wrapped_text_is_the_hosts(
    cli: Cli, use, texts: tuple[str, str], tmp_path: Path, found_in_text: list[int]
) -> None:
    expected = sam_of(cli, *written(tmp_path, texts), "-I", "300,20", "--device", "cpu")
    wrapped = []
    for text in texts:
        lines = text.splitlines()
        for i in (*range(1, len(lines), 4), *range(3, len(lines), 4)):
            lines[i] = "\n".join(lines[i][at : at + 60] for at in range(0, len(lines[i]), 60))
        wrapped.append("\n".join(lines) + "\n")
    use(FakeDriver())
    for pack in (bytes, bgzf, gzip.compress):
        assert sam_of(cli, *written(tmp_path, tuple(wrapped), pack), "-I", "300,20", "--device", "cuda") == expected
    assert found_in_text == []
