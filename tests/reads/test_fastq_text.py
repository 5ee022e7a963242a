"""FASTQ text counted on the host and read by the device's code, in scalar code here: the host's parser's arrays, or a
flag where that is to read it."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpualign import _native
from gpualign.errors import InputError
from gpualign.map.device.batch import MapBatch
from gpualign.map.device.fastq import StagedText
from gpualign.reads.fastq_text import FastqText
from gpualign.reads.reads import Reads
from gpualign.run.gpu.pinned_pool import PinnedPool
from gpualign.sequences.batch import SequenceBatch, join_batches
from gpualign.text import chunks
from gpualign.text.chunks import read_chunks
from gpualign.text.fastx import Chunk, parse
from gpualign.text.files import InputFile
from gpualign.text.text import HeldText, InPieces, Source, Stored, StoredText, Streamed
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.fastq import read_in_scalar_code, text_on_device
from tests.helpers.files import write_bgzf
from tests.helpers.paths import ROOT

TILE = _native.FASTQ_TILE


def chunk_of(text: bytes, pieces: tuple[int, ...] = ()) -> Chunk:
    data = np.frombuffer(text, np.uint8)
    return Chunk(HeldText(tuple(np.split(data, pieces))), "fastq", "reads.fq", 1)


def same(found: SequenceBatch, expected: SequenceBatch) -> bool:
    fields = ("names", "name_offsets", "bases", "base_offsets", "qualities", "mates")
    pairs = [(getattr(found, name), getattr(expected, name)) for name in fields]
    return all((a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs)


def check(reads: Reads) -> bool:
    """Whether the device reads them; then as the host does, and otherwise the host may."""
    found = read_in_scalar_code(reads)
    if found is None:
        return False
    expected = reads.columns()
    assert same(found.batch, expected)
    staged = MapBatch.of(expected, reads.paired)
    count = len(expected)
    at = 8 * (count + 1)
    templates = staged.block[at : at + 4 * (staged.templates + 1)].view(np.uint32)
    tie_breaks = staged.block[at + 4 * (count + 1) :][: 4 * count].view(np.uint32)
    assert found.templates.tolist() == templates.tolist()
    assert found.tie_breaks.tolist() == tie_breaks.tolist()
    assert found.longest == max(expected.lengths)
    return True


def record(rng: random.Random, name: str, ends: str = "\n") -> str:
    length = rng.choice((1, 2, 31, 32, 33, 64, 150, 151))
    bases = "".join(rng.choices("ACGT" * 9 + "NacgtnuURYSWKMBDHVryswkmbdhv", k=length))
    qualities = "".join(chr(rng.randrange(33, 127)) for _ in range(length))
    comment = rng.choice(("", " 1:N:0:ACGT", "\tBC:Z:A", " ", "\t \t"))
    return f"@{name}{comment}{ends}{bases}{ends}+{rng.choice(('', name))}{ends}{qualities}{ends}"


def test_what_sequencers_write() -> None:
    rng = random.Random(1)
    for ends in ("\n", "\r\n"):
        text = "".join(record(rng, "n" * rng.choice((1, 7, 60, 254)) + str(i % 10), ends) for i in range(300)).encode()
        text = text.replace(b"@" + b"n" * 254, b"@" + b"n" * 253)
        for whole in (text, text[: -len(ends)]):
            counted = FastqText.of(chunk_of(whole))
            assert counted is not None
            assert len(counted) == 300
            assert check(Reads((counted,)))


def test_parts_at_every_record_and_border_of_a_tile() -> None:
    rng = random.Random(2)
    texts = ["".join(record(rng, f"read{i}/{end}") for i in range(120)).encode() for end in (1, 2)]
    assert min(map(len, texts)) > 3 * TILE
    first, second = (FastqText.of(chunk_of(text, (1, 50, 51, 5000))) for text in texts)
    assert first is not None
    assert second is not None
    for start in range(120):
        for count in (1, 2, 119, 120):
            if start + count <= 120:
                assert check(Reads((first.part(start, start + count),)))
                both = tuple(text.part(start, start + count) for text in (first, second))
                assert check(Reads(both, ("1.fq", "2.fq")))
    for ends in ("\n", "\r\n"):
        after = texts[0].replace(b"\n", ends.encode())
        for shift in range(1, 600):  # each byte of a record at the border of a tile
            length = TILE - 700 + shift
            text = f"@{'x' * 200}{ends}{'A' * length}{ends}+{ends}{'I' * length}{ends}".encode() + after
            counted = FastqText.of(chunk_of(text, (TILE,)))
            assert counted is not None
            assert check(Reads((counted,)))
            assert check(Reads((counted.part(1, 5),)))


def test_lines_of_a_stored_text(tmp_path: Path) -> None:
    """Of several buffers, with a line at their border, from any place in the file on."""
    rng, path = random.Random(3), tmp_path / "reads.fq"
    records = [record(rng, f"read{i}") for i in range(6000)]
    path.write_text("".join(records))
    for first in (0, 1, 17):
        for end in ("", "\n"):  # the last line's own, and a blank one after it
            text = ("".join(records[first:]) + end).encode()
            assert len(text) > 2 << 18
            path.write_bytes("".join(records[:first]).encode() + text)
            lines_before = np.zeros(len(text) // TILE + 1, np.uint32)
            with InputFile(str(path)) as file:
                stored = StoredText(file.stored(), file.size - len(text), len(text))
                assert stored.count_fastq_lines(str(path), lines_before) == (text.count(b"\n"), bool(end))
            assert lines_before.tolist() == [text.count(b"\n", 0, tile * TILE) for tile in range(len(lines_before))]


def test_a_stored_text_that_became_shorter(tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    path.write_text("@r\nA\n+\nI\n")
    with InputFile(str(path)) as file:
        chunk = Chunk(StoredText(file.stored(), 0, file.size), "fastq", str(path), None)
        path.write_text("@r\nA\n+\n")
        with pytest.raises(InputError, match="became shorter while it was read"):
            FastqText.of(chunk)


FEW = ("@one a b\nACGTNacgtn\n+\n@+I!~@+I!~\n", "@two\nA\n+two\n@\n", "@3/1\nNNNN\n+\n++++\n", "@4\nac\n+\n>;")


@pytest.mark.parametrize("source", [Stored, InPieces, Streamed])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_chunk_borders_at_every_byte_of_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: Callable[[InputFile], Source], ends: str
) -> None:
    """However much of a file is read at a time, what is read ends at any of its bytes."""
    monkeypatch.setattr("gpualign.text.text.MIN_READ", 1)
    monkeypatch.setattr(chunks, "_WINDOW", 1)
    text = "".join(FEW).replace("\n", ends).encode()
    expected = parse(chunk_of(text))
    assert len(expected) == len(FEW)
    packed = source is InPieces
    cuts = set()
    for size in range(1, len(text) + 2):
        path = tmp_path / "reads"
        path.write_bytes(text)
        if packed:
            write_bgzf(path, text, size)
        with InputFile(str(path), threads=2) as file:
            counted = [FastqText.of(chunk) for chunk in read_chunks(source(file), size)]
        parts = []
        for one in counted:
            assert one is not None
            found = read_in_scalar_code(Reads((one,)))
            assert found is not None
            parts.append(found.batch)
        cuts.add(tuple(map(len, parts)))
        assert same(join_batches(parts), expected)
    assert len(cuts) > 4


@pytest.mark.parametrize("size", [1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 253, 254, 255, 256, 1000, TILE, 10_000])
@pytest.mark.parametrize("mates", [("", ""), ("/1", "/2")])
def test_names_of_any_length(size: int, mates: tuple[str, str]) -> None:
    """Longer ones than BAM holds are the host's."""
    name = ("name" * size)[:size]
    texts = [f"@{name}{mate} x\nACGT\n+\nIIII\n@a{mate}\nA\n+\n!\n".encode() for mate in mates]
    counted = [FastqText.of(chunk_of(text)) for text in texts]
    reads = Reads(tuple(one for one in counted if one), ("1.fq", "2.fq"))
    assert check(reads) == (size + len(mates[0]) <= 254)
    assert [reads.columns().name(i) for i in range(4)] == [name, name, "a", "a"]


@pytest.mark.parametrize(
    ("names", "plain"),
    [
        (("a/1", "a/2"), True),
        (("a.b.1", "a.b.2"), True),
        (("a.1", "a.2"), False),  # spots
        (("a", "a"), True),
        (("a/1", "a.2"), False),
        (("a.1", "a.1"), True),
        (("/1", "/2"), False),
        (("a", "b"), False),
        (("a/1", "b/2"), False),
        (("a/3", "a/2"), False),
    ],
)
@pytest.mark.parametrize("checked", [True, False])
def test_names_of_pairs(names: tuple[str, str], plain: bool, checked: bool) -> None:
    texts = tuple(FastqText.of(chunk_of(f"@{name} {i}\nACGT\n+\nIIII\n".encode())) for i, name in enumerate(names))
    reads = Reads(texts, ("1.fq", "2.fq"), checked)  # type: ignore[arg-type]
    assert check(reads) == (plain or not checked)
    if checked and not plain:
        with pytest.raises(InputError, match="the mates of a pair are named"):
            reads.columns()


def test_names_that_are_not_utf_8() -> None:
    """In a message they are not text that Python fails to decode."""
    texts = tuple(FastqText.of(chunk_of(b"@r%s\nACGT\n+\nIIII\n" % name)) for name in (b"\xe9", b"a"))
    with pytest.raises(InputError, match=r"the mates of a pair are named 'r\?' and 'ra'"):
        Reads(texts, ("1.fq", "2.fq"), True).columns()  # type: ignore[arg-type]


GOOD = b"@good one\nACGTN\n+\nIIIII\n"


@pytest.mark.parametrize(
    "bad",
    [
        b"@a\nACGT\n+\nIII\n",  # a quality is missing
        b"@a\nACG\n+\nIIII\n",
        b"@a\nACGT\n-\nIIII\n",
        b">a\nACGT\n+\nIIII\n",
        b"@a\nAC T\n+\nIIII\n",
        b"@a\nAC-T\n+\nIIII\n",
        b"@a\nAC*T\n+\nIIII\n",
        b"@a\nACXT\n+\nIIII\n",
        b"@a\nAC\xc1T\n+\nIIII\n",
        b"@a\nACGT\n+\nII I\n",
        b"@a\nACGT\n+\nII\x7fI\n",
        b"@a\nACGT\n+\nII\xc9I\n",
        b"@a\nACGT\n+\nII\tI\n",
        b"@\nACGT\n+\nIIII\n",
        b"@ a\nACGT\n+\nIIII\n",
        b"@" + b"n" * 255 + b"\nACGT\n+\nIIII\n",
        b"@a\nAC GT\n+\nIIII\n",  # which the host reads
        b"@a\nACGT\r\r\n+\nIIII\n",
        b"@a\nAC\nGT\n+\n+\nII\nII\n",
    ],
)
@pytest.mark.parametrize("before", [0, 1, 40, 200])
def test_what_is_not_plain_is_for_the_host(bad: bytes, before: int) -> None:
    for text in (GOOD * before + bad + 3 * GOOD, GOOD * before + bad):
        counted = FastqText.of(chunk_of(text))
        if counted is None:
            continue
        assert not check(Reads((counted,)))
        error = error_of(lambda text=text: parse(chunk_of(text)))
        for start in {0, before}:  # of the whole chunk, also where only a part of it is asked for
            part = Reads((counted.part(start, len(counted)),))
            assert error_of(part.columns) == error


def error_of(read: Callable[[], object]) -> str | None:
    """What is said to be wrong."""
    try:
        read()
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("inflated", [(0,), (1,), (0, 2), (0, 1, 2), (1, 3), (0, 1, 2, 3)])
def test_what_a_device_inflated_is_not_copied(inflated: tuple[int, ...]) -> None:
    """Pieces of a text in pinned memory, and others."""
    memory = PinnedPool(FakeDriver().pinned_memory())
    records = [b"@read%d\nACGTACGTAC\n+\nIIIIIIIIII\n" % i for i in range(12 * TILE // 64)]
    text = b"".join(records)
    pieces = list(np.split(np.frombuffer(text, np.uint8), (TILE // 2, 2 * TILE, 2 * TILE + 3)))
    for number in inflated:
        pinned = memory.make(len(pieces[number]))[: len(pieces[number])]
        pinned[:] = pieces[number]
        pieces[number] = pinned
    found = FastqText.of(Chunk(HeldText(tuple(pieces)), "fastq", "reads.fq", 1))
    assert found is not None
    for starts in ((0, 0), (0, 7), (len(records) // 2, 1)):
        count = len(records) - max(starts)
        both = tuple(found.part(start, start + count) for start in starts)
        staged = StagedText.of(Reads(both, ("R1.fq", "R2.fq"), False))
        on_device = text_on_device(staged)
        for (lines, begin, size, first_line), start, of_file in zip(staged.files, starts, both, strict=True):
            tiles = of_file.tiles
            expected = (text + b"\n")[tiles.start * TILE : tiles.stop * TILE]
            assert first_line == 4 * start
            assert on_device[begin : begin + size].tobytes() == expected
            before = [text.count(b"\n", 0, tile * TILE) for tile in tiles]
            assert on_device[lines : lines + 4 * len(tiles)].view(np.uint32).tolist() == before
        others = sum(len(piece) for number, piece in enumerate(pieces) if number not in inflated)
        assert len(staged.block) <= 2 * others + 8 * len(found.lines_before) + 256 * 8


@pytest.mark.parametrize(
    "cuts",
    [(1,), (TILE - 1,), (TILE,), (TILE + 1,), (TILE, TILE), (5, 2 * TILE - 1, 2 * TILE + 1), tuple(range(1, 300))],
)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_text_in_pieces(cuts: tuple[int, ...], end: bytes) -> None:
    names = [b"read%d" % i for i in range(12 * TILE // 64)]
    records = [b"@%s\nACGTACGTAC\n+\nIIIIIIIIII\n" % name for name in names]
    text = b"".join(records)[:-1] + end
    found = FastqText.of(chunk_of(text, cuts))
    assert found is not None
    assert len(found) == len(names)
    assert found.lines_before.tolist() == [text.count(b"\n", 0, at) for at in range(0, len(text) + 1, TILE)]
    for start, count in ((0, len(names)), (0, 1), (3, 2), (len(names) // 2, 40), (len(names) - 1, 1)):
        part = found.part(start, start + count)
        of_tiles = b"".join(map(bytes, part.pieces()))
        assert len(of_tiles) == part.nbytes
        assert of_tiles == (text + b"\n")[part.tiles.start * TILE :][: len(of_tiles)]
        assert b"".join(records[start : start + count]) in of_tiles + b"\n"
        batch = part.columns()
        assert [batch.name(i).encode() for i in range(len(batch))] == names[start : start + count]
    assert check(Reads((found,)))
    most = found.part(1, len(names) - 1)
    assert check(Reads((most, most), ("R1.fq", "R2.fq")))


@pytest.mark.parametrize(
    "text",
    [
        b"\n" + GOOD,
        GOOD + b"\n" + GOOD,
        GOOD + b"\r\n\r\n\r\n\r\n" + GOOD,
        GOOD + b"\n",
        GOOD + b"\n\n\n\n",
        b"@empty\n\n+\n\n" + GOOD,
        b"@empty\r\n\r\n+\r\n\r\n" + GOOD,
        GOOD + b"@a\nACGT\n+\n",
        GOOD + b"@a\nACGT\n",
        GOOD + b"@a\nACGT",
        b"",
    ],
)
def test_blank_lines_and_records_cut_short_are_not_counted(text: bytes) -> None:
    for pieces in ((), *((at,) for at in range(len(text)))):
        assert FastqText.of(chunk_of(text, pieces)) is None


def mutated(seeds: list[bytes], count: int) -> Iterator[bytes]:
    rng = random.Random(3)
    for _ in range(count):
        text = bytearray(rng.choice(seeds) or b"@a\nA\n+\nI\n")
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randrange(3)] = rng.choice(
                (b"\n", b"\r", b"@", b"+", b" ", b"A", b"\0", b"I", b"", b"\xff")
            )
        yield bytes(text)


def test_the_parsers_corpus_and_what_it_may_become() -> None:
    """Never other reads than the host's, and its errors."""
    with zipfile.ZipFile(ROOT / "fuzz" / "corpus" / "fastx.zip") as corpus:
        seeds = [corpus.read(name) for name in corpus.namelist()]
    rng = random.Random(4)
    seeds += ["".join(record(rng, f"r{i}") for i in range(3)).encode() for _ in range(len(seeds))]
    plain = 0
    for text in (*seeds, *mutated(seeds, 10_000)):
        counted = FastqText.of(chunk_of(text))
        if counted is not None:
            plain += check(Reads((counted,)))
    assert plain > 1000


def test_reads_that_are_longer_than_was_said_are_empty() -> None:
    """What follows runs all the same, and is told how long they are."""
    counted = FastqText.of(chunk_of(GOOD + b"@long\n" + b"A" * 500 + b"\n+\n" + b"I" * 500 + b"\n" + GOOD))
    assert counted is not None
    reads = Reads((counted,))
    found = read_in_scalar_code(reads, longest=499)
    assert found is not None
    assert (found.longest, found.batch.base_offsets.tolist()) == (500, [0] * 4)
    assert check(reads)


def test_a_text_that_changes_after_it_was_counted() -> None:
    """Lines that are not there any more are not looked for elsewhere."""
    data = np.frombuffer(GOOD * 300, np.uint8).copy()
    counted = FastqText.of(Chunk(HeldText((data,)), "fastq", "reads.fq", 1))
    assert counted is not None
    for change in (0, 3000, len(data) - 50):
        changed = data.copy()
        changed[change:] = ord("A")
        moved = replace(counted, chunk=Chunk(HeldText((changed,)), "fastq", "reads.fq", 1))
        assert read_in_scalar_code(Reads((moved,))) is None
