"""A disk that is really full: output, indexes and temporary files on a file system of one page."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.helpers import good_input
from tests.helpers.commands import program
from tests.helpers.record_files import write_sam

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
OUT = "-o {disk}/output"
COMMANDS = {
    "map": f"map ref.fa many.fq {OUT}",
    "map to BAM": f"map ref.fa many.fq --output-format bam {OUT}",
    "map sorted": f"map ref.fa many.fq --sort --output-format bam {OUT}",
    "map, runs of a sort": "map ref.fa most.fq --sort --sort-memory 1M -o {disk}/output",
    "map to CRAM": f"map ref.fa many.fq --output-format cram {OUT}",
    "map, reads that map": "map ref.fa many.fq -o /dev/null --al {disk}/mapped.fq",
    "map, saved index": "map ref.fa reads.fq -o /dev/null -k 11 -w 1 -d {disk}/ref.gpi",
    "index": "index ref.fa -k 11 -w 1 -d {disk}/ref.gpi",
    "mems": f"mems -l 12 ref.fa many.fq {OUT}",
    "align": f"align -l 12 -c 12 ref.fa many.fq {OUT}",
    "verify": f"verify many.fq many.fq {OUT}",
    "pairwise": f"pairwise hundred.fq {OUT}",
    "pairwise, tiles": "pairwise hundred.fq -o /dev/null --resume {disk}/tiles",
    "pairwise --max-gaps": f"pairwise --max-gaps 2 hundred.fq reads.fq {OUT}",
    "search": f"search -k 9 hundred.fq many.fq {OUT}",
    "search --split": "search -k 9 --best-per-target one.fq many.fq -o /dev/null --split {disk}/split",
    "lcs-filter": f"lcs-filter -n 0 -Q one.fq many.fq {OUT}",
    "sort": f"sort records.sam --output-format bam {OUT}",
    "sort, runs of a sort": f"sort records.sam --sort-memory 1M {OUT}",
    "markdup": f"markdup records.sam --sort --output-format cram --reference ref.fa {OUT}",
    "markdup, collated": f"markdup sorted.sam --mate-tags --sort-memory 1M {OUT}",
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


@pytest.mark.parametrize("command", list(COMMANDS))
def test_full_disk(inputs: Path, command: str) -> None:
    """One sentence, exit code 1, and nothing of the command's own is left; finished tiles are for the next run."""
    words = COMMANDS[command].format(disk=inputs / "disk").split()
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
