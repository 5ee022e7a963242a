"""Saved indexes with every kind of damage: refused in one sentence, or harmless. Nothing is read outside the file, no
memory is taken that the file does not account for, nothing is run.

The changed files are used in a process of its own with a limit on its memory, because a mistake here ends the process.
``make sanitize`` runs the same under AddressSanitizer.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from gpualign.errors import InputError, UsageError
from tests.helpers import good_input
from tests.helpers.environment import SANITIZED
from tests.helpers.paths import ROOT

_PREFIX = struct.Struct("<8sIII")
_DEADLINE_S = 500
_PIECE = 1 << 23


def summed(header: dict[str, object], arrays: bytes) -> bytes:
    """The header with the size and the checksums of what is after it."""
    checksums = [zlib.crc32(arrays[at : at + _PIECE]) for at in range(0, len(arrays), _PIECE)]
    return json.dumps({**header, "bytes": len(arrays), "checksums": checksums}).encode()


def pack(header: bytes, arrays: bytes, version: int = 3) -> bytes:
    """An index file with a header whose length and checksum are right."""
    start = _PREFIX.pack(b"gpualign", version, len(header), zlib.crc32(header)) + header
    return start + bytes(-len(start) % 64) + arrays


def unpack(data: bytes) -> tuple[dict[str, object], bytes]:
    _, _, length, _ = _PREFIX.unpack(data[: _PREFIX.size])
    end = _PREFIX.size + length
    return json.loads(data[_PREFIX.size : end]), data[end + -end % 64 :]


#: what a number of the header may be changed to
NUMBERS = (
    0,
    1,
    -1,
    7,
    64,
    2**15,
    2**31 - 1,
    2**31,
    2**32,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
    0.5,
    1e308,
    None,
    True,
    "1",
    [],
    {},
)
NAMES = (
    ["a"],
    [],
    [""],
    ["a", "a"],
    ["a\tb", "c"],
    ["a\n@CO\tx", "c"],
    ["\u20ac", "b"],
    ["\ud800", "b"],
    [1, 2],
    "ab",
    None,
)
HEADERS = (b"", b"null", b"[]", b"{}", b"[" * 100_000, b"\xff\xfe", b'{"names":' * 50_000, b"1e999", b"9" * 10_000)


def crafted(data: bytes, rng: random.Random) -> bytes:
    """A file that passes the first checks: one value of the header, or some entries, changed."""
    header, arrays = unpack(data)
    which = rng.randrange(6)
    if which == 0:
        header[rng.choice(["k", "w", "bucket_bits", "bytes", "checksums"])] = rng.choice(NUMBERS)
    elif which == 1:
        header["names"] = rng.choice(NAMES)
    elif which == 2:
        sections = header["arrays"]
        assert isinstance(sections, dict)
        sections[rng.choice(list(sections))][rng.randrange(2)] = rng.choice(NUMBERS)
    elif which == 3:
        header.pop(rng.choice(list(header)))
    elif which == 4:
        return pack(rng.choice(HEADERS), arrays)
    else:
        arrays = with_other_entries(header, arrays, rng)
        return pack(summed(header, arrays), arrays)
    return pack(json.dumps(header).encode(), arrays)


def with_other_entries(header: dict[str, object], arrays: bytes, rng: random.Random) -> bytes:
    """Entries and buckets that point elsewhere, some of them within the reference and so not refused."""
    changed = bytearray(arrays)
    at, count = header["arrays"][rng.choice(["entries", "entries", "offsets"])]  # type: ignore[index]
    for _ in range(rng.choice([1, 10, count // 2])):
        at_byte = at + 8 * rng.randrange(count // 2)
        value = rng.choice([0, 2**64 - 1, rng.getrandbits(64), rng.getrandbits(31) << 33 | rng.randrange(1500) << 1])
        changed[at_byte : at_byte + 8] = value.to_bytes(8, "little")
    return bytes(changed)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bits turned, bytes cut off, put in or taken out."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 50])):
        at = rng.randrange(len(changed)) if rng.random() < 0.5 else rng.randrange(min(len(changed), 600))
        which = rng.randrange(4)
        if which == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif which == 1:
            del changed[at : at + rng.choice([1, 8, 64, 10_000])]
        elif which == 2:
            changed[at:at] = rng.randbytes(rng.choice([1, 8, 64]))
        else:
            changed[at : at + 4] = rng.randbytes(4)
        if not changed:
            break
    return bytes(changed)


def use(path: str) -> bool:
    """Load an index and use it in both of its commands; whether it was taken."""
    from gpualign.map.inputs import MapFiles, RecordOptions, Sample
    from gpualign.map.params import MapParams
    from gpualign.map.run import run_map
    from gpualign.mems.run import run_mems
    from gpualign.params import RunOptions
    from gpualign.records.alignment_output import AlignmentLayout
    from gpualign.seeds.matches.params import MemsParams

    folder = os.path.dirname(path)
    options = RunOptions(output=f"{folder}/output", threads=1, device="cpu", quiet=True)
    with contextlib.suppress(UsageError):  # an index for longer matches
        run_mems(path, (f"{folder}/reads.fq",), MemsParams(min_length=20, kind="maxmatch"), options)
    files = MapFiles(path, (f"{folder}/reads.fq",))
    run_map(Sample(files, MapParams(), RecordOptions(), AlignmentLayout("sam"), options))
    return True


def main(folder: str, seed: int, count: int) -> None:
    """Use ``count`` changed indexes; prints how many were taken."""
    if not SANITIZED:  # which maps terabytes
        resource.setrlimit(resource.RLIMIT_AS, (1 << 31, -1))
    path, taken = f"{folder}/changed.gpi", 0
    good = [Path(folder, name).read_bytes() for name in ("ref.gpi", "runs.gpi")]
    for i in range(count):
        rng = random.Random(seed * 1_000_003 + i)
        Path(path).write_bytes((crafted if i % 3 else damaged)(rng.choice(good), rng))
        Path(folder, "last").write_text(f"{seed} {i}")
        with contextlib.suppress(InputError):
            taken += use(path)
    print(taken)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from gpualign.params import RunOptions
    from gpualign.seeds.index.run import run_index

    good_input.write_good_inputs(tmp_path)
    (tmp_path / "runs.fa").write_bytes(
        b">a\nACGTNNNNNRYACGTTGCAACGGTAC\n>b\n" + good_input.CONTIGS[0][1].encode() + b"NNNN\n"
    )
    run_index(str(tmp_path / "runs.fa"), str(tmp_path / "runs.gpi"), RunOptions(threads=1, quiet=True), 15, 5)
    return tmp_path


def test_changed_indexes(folder: Path, soaking: bool, seed: int) -> None:
    count = 20_000 if soaking else 400
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "tests.seeds.index.test_untrusted_index",
        str(folder),
        str(seed),
        str(count),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_DEADLINE_S, cwd=ROOT)
    assert done.returncode == 0, f"seed and number {(folder / 'last').read_text()}: {done.stderr[-3000:]}"
    assert 0 < int(done.stdout.split()[-1]) < count // 2  # some well-made files are good ones


def test_the_changes_are_of_what_is_saved(folder: Path) -> None:
    data = (folder / "ref.gpi").read_bytes()
    header, arrays = unpack(data)
    assert pack(json.dumps(header).encode(), arrays) == data
    assert pack(summed(header, arrays), arrays) == data
    assert use(str(folder / "ref.gpi"))


@pytest.mark.parametrize("names", NAMES[1:], ids=range(len(NAMES) - 1))
def test_names_that_would_break_the_output(folder: Path, names: object) -> None:
    header, arrays = unpack((folder / "ref.gpi").read_bytes())
    header["names"] = names
    (folder / "x.gpi").write_bytes(pack(json.dumps(header).encode(), arrays))
    with pytest.raises(InputError, match="contig names"):
        use(str(folder / "x.gpi"))


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_headers_that_are_none(folder: Path, header: bytes) -> None:
    (folder / "x.gpi").write_bytes(pack(header, b""))
    with pytest.raises(InputError, match="the index is damaged"):
        use(str(folder / "x.gpi"))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
