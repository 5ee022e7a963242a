"""Other programs' published inputs and results, which lie in a folder next to the repository, or where GPUALIGN_PEERS
says; their README tells where each is from. Tests of them are skipped where there is no such folder."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

PEERS = Path(os.environ.get("GPUALIGN_PEERS") or ROOT.parent / "shared" / "peers")

needs_peers = pytest.mark.skipif(not PEERS.is_dir(), reason=f"there is no folder {PEERS}")


def lines_of(name: str) -> list[str]:
    """The lines of one of the files, gzipped or not."""
    data = (PEERS / name).read_bytes()
    return (gzip.decompress(data) if name.endswith(".gz") else data).decode().splitlines()
