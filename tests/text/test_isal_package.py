"""What gpualign uses of the isal package without its promise: a version that no longer has it fails here."""

from __future__ import annotations

import gzip
import io
import zlib

import numpy as np
import pytest

from gpualign.errors import GpualignError
from gpualign.text import deflate_packages

TEXT = np.frombuffer(b"".join(b"line %d\n" % i for i in range(9000)), np.uint8)


def test_its_functions_are_there_by_address() -> None:
    blocks = deflate_packages.isal().compress(TEXT)
    assert gzip.decompress(bytes(blocks)) == TEXT.tobytes()
    assert deflate_packages.isal().inflate(blocks, 0).tobytes() == TEXT.tobytes()
    damaged = np.array(blocks)
    damaged[-5] ^= 1  # of the last block's checksum
    with pytest.raises(ValueError, match="checksum"):
        deflate_packages.isal().inflate(damaged, 0)


def test_its_reader_of_gzip_reads_all_members_in_place() -> None:
    data = gzip.compress(TEXT.tobytes()) + gzip.compress(b"more\n") + bytes(9)
    memory, size = np.empty(len(TEXT) + 99, np.uint8), 0
    with deflate_packages.open_gzip(io.BytesIO(data)) as stream:
        while count := stream.readinto(memory[size:].data):
            size += count
    assert memory[:size].tobytes() == TEXT.tobytes() + b"more\n"
    with deflate_packages.open_gzip(io.BytesIO(data[:100])) as stream, pytest.raises((EOFError, zlib.error)):
        stream.read()


def test_a_package_without_them_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deflate_packages, "_OF_ISAL", ("isal_no_such_function",))
    with pytest.raises(GpualignError, match=r"isal package does not show ISA-L .*isal_no_such_function"):
        deflate_packages.isal.__wrapped__()
