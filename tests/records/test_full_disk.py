"""A disk that is really full: output, indexes and temporary files on a file system of one page."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.helpers import good_input
from tests.helpers.command_lines import FULL_DISK
from tests.helpers.commands import program
from tests.helpers.record_files import write_sam
from tests.helpers.soak import some_of

DEADLINE_S = 60
#: in a mount namespace of its own, where no privilege is needed: a small file system at $2, the command, what it left
IN_A_SMALL_DISK = """
mount -t tmpfs -o size=$1 none "$2" || exit 99
disk=$2
shift 2
"$@"
code=$?
ls -A "$disk"
exit $code
"""
NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", IN_A_SMALL_DISK, "sh"]


#: each kind of output and of temporary file; tests/test_faults.py has full disks of all commands, too
AT_EACH_PUSH = {
    *("map", "map to CRAM", "map, runs of a sort", "map, reads that map", "index"),
    *("pairwise, tiles", "search --split", "sort, runs of a sort", "markdup, collated"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "disk").mkdir()
    try:
        probe = subprocess.run([*NAMESPACE, "4k", folder / "disk", "true"], capture_output=True, timeout=DEADLINE_S)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if probe.returncode != 0:
        pytest.skip("no file system can be mounted here")
    good_input.write_good_inputs(folder)
    reads = [(f"{name}_{i}", s, q) for i in range(100) for name, s, q in good_input.READS]
    (folder / "many.fq").write_bytes(good_input.fastq(reads))
    (folder / "most.fq").write_bytes(5 * good_input.fastq(reads))
    (folder / "hundred.fq").write_bytes(good_input.fastq(reads[:100]))
    lines = [f"r{i}\t0\tchr\t1\t60\t4M\t*\t0\t0\tACGT\tIIII\tXX:Z:{i * 7919 % 9973:0200}" for i in range(10_000)]
    for name, order in (("records", "unknown"), ("sorted", "coordinate")):
        write_sam(folder / f"{name}.sam", lines, [f"@HD\tVN:1.6\tSO:{order}", "@SQ\tSN:chr\tLN:9999"])
    return folder


@pytest.mark.parametrize("command", some_of(zip(FULL_DISK), lambda command: command in AT_EACH_PUSH))
def test_full_disk(inputs: Path, command: str) -> None:
    """One sentence, exit code 1, and nothing of the command's own is left; finished tiles are for the next run."""
    words = FULL_DISK[command].format(disk=inputs / "disk").split()
    done = subprocess.run(
        [*NAMESPACE, "4k", inputs / "disk", *program(*words)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        cwd=inputs,
    )
    assert done.returncode == 1, done
    assert "No space left on device" in done.stderr
    assert done.stderr.count("error:") == 1
    assert done.stdout.split() == (["tiles"] if "tiles" in command else [])
