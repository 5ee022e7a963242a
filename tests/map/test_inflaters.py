"""Several threads inflate a file of one stream where a GPU waits for its text and there are threads enough."""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path

import pytest

from gpualign.map.inputs import MapFiles, RecordOptions, Sample
from gpualign.map.params import MapParams
from gpualign.params import RunOptions
from gpualign.records.alignment_output import AlignmentLayout


@pytest.mark.parametrize(
    ("threads", "cores", "paired", "unparsed", "expected"),
    [
        (16, 16, True, True, 8),
        (64, 64, True, True, 8),
        (12, 16, True, True, 6),
        (8, 16, True, True, 1),
        (8, 16, False, True, 8),
        (6, 16, False, True, 6),
        (5, 16, False, True, 1),
        (16, 4, True, True, 1),
        (16, 16, True, False, 1),
    ],
)
def test_threads_of_a_file(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    threads: int,
    cores: int,
    paired: bool,
    unparsed: bool,
    expected: int,
) -> None:
    monkeypatch.setattr("gpualign.reads.lanes.available_cores", lambda: cores)
    paths = [tmp_path / f"{end}.fq.gz" for end in range(1 + paired)]
    for path in paths:
        path.write_bytes(gzip.compress(b"@a\nACGT\n+\nFFFF\n"))
    (tmp_path / "ref.fa").write_text(">a\nACGT\n")
    files = MapFiles(str(tmp_path / "ref.fa"), (str(paths[0]),), tuple(map(str, paths[1:])))
    sample = Sample(files, MapParams(), RecordOptions(), AlignmentLayout(), RunOptions(threads=threads))
    with ExitStack() as stack:
        lanes = sample.open_reads(stack)
        assert len(list(lanes.reads(1 << 20, unparsed=unparsed))) == 1
        assert {source.inflaters for source in (*lanes.first, *lanes.second)} == {expected}
