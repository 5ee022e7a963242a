"""Names of reads that SAM does not allow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.sequences import random_genome

pytestmark = pytest.mark.usefixtures("device_writes_too")

Cli = Callable[..., tuple[int, bytes, str]]
GENOME = random_genome(5, 2000)
#: as they are read, and as they are written
NAMES = {
    b"plain": b"plain",
    b"caf\xc3\xa9": b"caf__",
    b"caf\xc3\xa8": b"caf__",
    b"a@b": b"a_b",
    b"!~": b"!~",
    b"\x7f": b"_",
}


@pytest.mark.parametrize("options", [[], ["--paf"], ["--sort"], ["--batch-size", "150"]])
def test_what_is_written_for_other_characters_is_said(cli: Cli, tmp_path: Path, options: list[str]) -> None:
    bases = GENOME[300:400].encode()
    (tmp_path / "ref.fa").write_text(f">c\n{GENOME}\n")
    (tmp_path / "r.fq").write_bytes(b"".join(b"@%s x\xe9\n%s\n+\n%s\n" % (name, bases, b"I" * 100) for name in NAMES))
    code, out, error = cli("map", *options, tmp_path / "ref.fa", tmp_path / "r.fq")
    assert code == 0, error
    assert [line.split(b"\t")[0] for line in out.splitlines() if not line.startswith(b"@")] == list(NAMES.values())
    assert "warning: 4 read names with characters that SAM does not allow, written as _: different names" in error


def test_names_that_are_allowed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ref.fa").write_text(f">c\n{GENOME}\n")
    (tmp_path / "r.fa").write_bytes(b">r1 \xc3\xa9\n%s\n" % GENOME[300:400].encode())
    for reads in (tmp_path / "r.fa", tmp_path / "ref.fa"):
        assert "characters" not in cli("map", tmp_path / "ref.fa", reads)[2]
