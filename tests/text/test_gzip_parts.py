"""gzip that several threads inflate, in parts so small that blocks, members and trailers lie across their borders."""

from __future__ import annotations

import gzip
import os
import random
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from isal import isal_zlib

from gpualign import _native
from gpualign.errors import InputError
from gpualign.reads.reads import ReadSource
from gpualign.text.files import InputFile
from gpualign.text.gzip_parts import inflated_parts

RANDOM = random.Random(5)
LETTERS = "".join(RANDOM.choice("ACGT") for _ in range(200_000))
FASTQ = "".join(
    f"@m{RANDOM.randrange(9)}:{i}:{RANDOM.randrange(10**5)}\n{LETTERS[50 * i : 50 * i + 90]}\n+\n{'F' * 84}:,#F:#\n"
    for i in range(3000)
).encode()
NOISE = RANDOM.randbytes(150_000)
RUNS = b"A" * 300_000 + b"CG" * 100_000 + b"T" * 7


def packed(
    text: bytes, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY, flush: int = 0, every: int = 0
) -> bytes:
    """With zlib; ``flush`` after each ``every`` bytes."""
    compressor = zlib.compressobj(level, zlib.DEFLATED, 31, 8, strategy)
    step = every or len(text) or 1
    parts = [
        compressor.compress(text[i : i + step]) + (compressor.flush(flush) if every else b"")
        for i in range(0, len(text), step)
    ]
    return b"".join(parts) + compressor.flush()


def with_header_fields(text: bytes) -> bytes:
    """A member whose header has extra bytes, a name, a comment and a checksum (RFC 1952, section 2.3)."""
    plain = packed(text)
    head = (
        plain[:3] + bytes([2 | 4 | 8 | 16]) + plain[4:10] + b"\x05\0extra" + b"a name\0" + b"a comment\0" + b"\x12\x34"
    )
    return head + plain[10:]


def several_members(text: bytes) -> bytes:
    cuts = sorted(RANDOM.randrange(len(text) + 1) for _ in range(40))
    return b"".join(
        packed(text[a:b], RANDOM.choice((0, 1, 6, 9))) for a, b in zip((0, *cuts), (*cuts, len(text)), strict=True)
    )


FORMS: dict[str, Callable[[bytes], bytes]] = {
    **{f"level {level}": lambda text, level=level: packed(text, level) for level in (0, 1, 4, 6, 9)},
    **{f"ISA-L {level}": lambda text, level=level: isal_zlib.compress(text, level, 31) for level in (0, 1, 3)},
    "fixed codes": lambda text: packed(text, strategy=zlib.Z_FIXED),
    "literals alone": lambda text: packed(text, strategy=zlib.Z_HUFFMAN_ONLY),
    "runs": lambda text: packed(text, strategy=zlib.Z_RLE),
    "flushed to bytes": lambda text: packed(text, flush=zlib.Z_SYNC_FLUSH, every=10_000),
    "flushed to bits": lambda text: packed(text, flush=zlib.Z_PARTIAL_FLUSH, every=3000),
    "begun anew": lambda text: packed(text, flush=zlib.Z_FULL_FLUSH, every=10_000),
    "header fields": with_header_fields,
    "several members": several_members,
    "empty members": lambda text: 3 * packed(b"") + packed(text) + packed(b""),
    "zeros behind": lambda text: packed(text) + bytes(5000),
    "stored, with blocks in it": lambda text: packed(packed(text), 0),
}
TEXTS = {"reads": FASTQ, "noise": NOISE, "runs": RUNS, "nothing": b"", "a byte": b"A"}


def inflated(path: Path, data: bytes, part_bytes: int, threads: int = 3) -> tuple[bytes, Exception | None]:
    """What comes, and what is raised after it."""
    path.write_bytes(data)
    descriptor, pieces = os.open(path, os.O_RDONLY), []
    try:
        for piece, _ in inflated_parts(descriptor, len(data), threads, part_bytes):
            pieces.append(piece.tobytes())
    except (EOFError, zlib.error) as error:
        return b"".join(pieces), error
    finally:
        os.close(descriptor)
    return b"".join(pieces), None


@pytest.mark.parametrize("part_bytes", [700, 9001, 1 << 20])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_whole(tmp_path: Path, text: str, form: str, part_bytes: int) -> None:
    data = FORMS[form](TEXTS[text])
    expected = packed(TEXTS[text]) if form == "stored, with blocks in it" else TEXTS[text]
    assert inflated(tmp_path / "a.gz", data, part_bytes) == (expected, None)


def test_one_thread(tmp_path: Path) -> None:
    assert inflated(tmp_path / "a.gz", packed(FASTQ), 9001, threads=1) == (FASTQ, None)


@pytest.mark.parametrize("form", ["level 6", "level 0", "fixed codes", "several members", "flushed to bytes"])
def test_a_file_that_is_cut_ends_early_after_what_it_holds(tmp_path: Path, form: str) -> None:
    data = FORMS[form](FASTQ)
    ends = (
        set()
        if form != "several members"
        else {match for match in range(len(data)) if data[match:].startswith(b"\x1f\x8b\x08")}
    )
    cuts = [
        *range(1, 24),
        *(len(data) - cut for cut in range(1, 24)),
        *(RANDOM.randrange(len(data)) for _ in range(40)),
    ]
    for cut in set(cuts) - ends:
        text, error = inflated(tmp_path / "a.gz", data[:cut], 9001)
        assert isinstance(error, EOFError), cut
        assert FASTQ.startswith(text), cut


def test_a_changed_bit_is_noticed(tmp_path: Path) -> None:
    data = packed(FASTQ)
    for _ in range(150):
        at = RANDOM.randrange(10, len(data))
        changed = bytearray(data)
        changed[at] ^= 1 << RANDOM.randrange(8)
        _, error = inflated(tmp_path / "a.gz", bytes(changed), 9001)
        assert error is not None, at


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-8] + bytes([data[-8] ^ 1]) + data[-7:], "checksum"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "length"),
        (lambda data: data + b"garbage", "other bytes follow"),
        (lambda data: data + b"\n", "other bytes follow"),
        (lambda data: data + bytes(3) + b"garbage", "other bytes follow"),
        (lambda data: data[:2] + b"\x07" + data[3:], "method"),
        (lambda data: data[:10] + b"\x07" + data[11:], "invalid block"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, change: Callable[[bytes], bytes], message: str) -> None:
    _, error = inflated(tmp_path / "a.gz", change(packed(FASTQ)), 9001)
    assert isinstance(error, zlib.error)
    assert message in str(error)


def test_a_part_stays_as_it_is_when_what_follows_is_decoded(tmp_path: Path) -> None:
    """Another thread may fill it in meanwhile."""
    path = tmp_path / "a.gz"
    path.write_bytes(packed(b"") + packed(RUNS) + packed(FASTQ))
    window = np.zeros(1 << 15, np.uint8)
    descriptor, size = os.open(path, os.O_RDONLY), path.stat().st_size
    part = _native.gzip_part(descriptor, size, 0, size, 20_000)
    texts = [part.text(window).tobytes()]
    members = part.members
    after, rest = part.window_after(window), part
    while rest.full:
        rest = rest.rest(after)
        texts.append(rest.text(after).tobytes())
        after = rest.window_after(after)
    os.close(descriptor)
    assert b"".join(texts) == RUNS + FASTQ
    assert len(texts) > 20
    assert part.text(window).tobytes() == texts[0]
    assert part.members == members == [(0, 0, 0)]


def test_a_file_that_becomes_shorter_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    data = packed(FASTQ)
    path.write_bytes(data[: len(data) // 2])
    descriptor, pieces = os.open(path, os.O_RDONLY), []
    with pytest.raises(EOFError):
        pieces += [piece.tobytes() for piece, _ in inflated_parts(descriptor, len(data), 2, 9001)]
    os.close(descriptor)
    assert FASTQ.startswith(b"".join(pieces))


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        list(inflated_parts(descriptor, 1 << 20, 2, 9001))
    os.close(descriptor)


def names_of(path: Path, inflaters: int) -> list[str]:
    with ReadSource(str(path)) as source:
        source.inflaters = inflaters
        batches = [item.columns() for item in source.chunks(20_000)]
    return [batch.name(i) for batch in batches for i in range(len(batch))]


def test_reads_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    by_parts = InputFile.inflated

    def noted(self: InputFile, threads: int):
        asked.append(threads)
        return by_parts(self, threads)

    monkeypatch.setattr(InputFile, "inflated", noted)
    monkeypatch.setattr("gpualign.text.tuning.LARGE_GZIP", 0)
    path = tmp_path / "reads.gz"
    path.write_bytes(gzip.compress(FASTQ))
    expected = [line[1:].decode() for line in FASTQ.split(b"\n")[:-1:4]]
    assert names_of(path, 3) == expected
    assert asked == [3]
    assert names_of(path, 1) == expected
    monkeypatch.setattr("gpualign.text.tuning.LARGE_GZIP", path.stat().st_size + 1)
    assert names_of(path, 3) == expected
    assert asked == [3]  # one thread for small files, and where one is asked for


@pytest.mark.parametrize(
    ("end", "message"), [(-500, "ended early"), (-3, "ended early"), (None, "a checksum is wrong")]
)
def test_damage_is_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: int | None, message: str
) -> None:
    monkeypatch.setattr("gpualign.text.tuning.LARGE_GZIP", 0)
    data = bytearray(gzip.compress(FASTQ))
    data[-8] ^= end is None
    path = tmp_path / "reads.gz"
    path.write_bytes(data[:end])
    with pytest.raises(InputError, match=message) as error:
        names_of(path, 3)
    assert error.value.path == str(path)


def test_who_stops_early_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpualign.text.tuning.LARGE_GZIP", 0)
    path = tmp_path / "reads.gz"
    path.write_bytes(gzip.compress(FASTQ))
    before = threading.active_count()
    with ReadSource(str(path)) as source:
        source.inflaters = 4
        items = source.chunks(2000)
        next(items)
        items.close()  # type: ignore[attr-defined]
        del items  # Python 3.12 keeps what a closed generator holds as long as that
    assert threading.active_count() == before
