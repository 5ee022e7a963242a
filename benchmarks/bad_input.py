#!/usr/bin/env python3
"""What gpualign and others do with bad input: the table of tests/helpers/bad_input.py, each cell run as a command.

    python benchmarks/bad_input.py

Result: benchmarks/results/bad-input-<machine>.json, the tables of docs/reliability-tables.md. An entry is the exit code
and, where that is 0, how many records came out. Programs that are not installed are left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import harness

sys.path.insert(0, str(harness.FOLDER.parent))
from tests.helpers import bad_input, good_input
from tests.helpers.bad_input import NONE, Role, Row
from tests.helpers.command_lines import GOOD

Table = list[list[str]]
READS, REFERENCE = bad_input.ROLES[0], bad_input.ROLES[1]
FASTA_READS = replace(READS, kind="FASTA reads")
DEADLINE_S = 60


def _sam_records(text: str) -> int:
    """Records that are neither secondary nor supplementary."""
    lines = [line.split("\t") for line in text.splitlines() if not line.startswith("@")]
    return sum(len(line) > 10 and line[1].isdigit() and not int(line[1]) & 0x900 for line in lines)


@dataclass(frozen=True)
class Peer:
    """Another program.

    Attributes:
        reads, reference: shell command with the tested reads or reference as {input}; {folder} holds the good files
            and ready indexes, {here} is empty. None: the program takes no such input.
        records: standard output -> number of records.
        expected: records of the good reads.
        stdin: the reads may be "-".
        role: what its reads are made as.
    """

    reads: str
    reference: str | None
    records: Callable[[str], int]
    expected: int = len(good_input.READS)
    stdin: bool = False
    role: Role = READS


PEERS = {
    "minimap2": Peer(
        "minimap2 -t1 -ax sr {folder}/ref.fa {input}",
        "minimap2 -t1 -ax sr {input} {folder}/reads.fq",
        _sam_records,
        stdin=True,
    ),
    "bwa": Peer(
        "bwa mem {folder}/bwa {input}",
        "bwa index -p {here}/i {input} && bwa mem {here}/i {folder}/reads.fq",
        _sam_records,
        stdin=True,
    ),
    "bowtie2": Peer(
        "bowtie2 -x {folder}/bowtie2 -U {input}",
        "bowtie2-build -q {input} {here}/i >&2 && bowtie2 -x {here}/i -U {folder}/reads.fq",
        _sam_records,
        stdin=True,
    ),
    "mummer": Peer(
        "mummer -maxmatch {folder}/ref.fa {input}",
        "mummer -maxmatch {input} {folder}/reads.fa",
        lambda text: text.count("> "),
        role=FASTA_READS,
    ),
    "vsearch": Peer(
        "vsearch --allpairs_global {input} --acceptall --blast6out -",
        None,
        lambda text: len(text.splitlines()),
        len(good_input.READS) * (len(good_input.READS) - 1) // 2,
    ),
}
#: trouble of other kinds, as shell commands around {command}, which writes to standard output
ENDINGS = {
    "output to a full disk": "{command} > /dev/full",
    "reader gone": "{{ {command}; echo $? >&3; }} 3>{here}/code | head -c 0; exit $(cat {here}/code)",
}
PAIRS = {
    "fewer second ends": "{folder}/short.fq",
    "names of two ends differ": "{folder}/renamed.fq",
}
PAIRED = {
    "minimap2": "minimap2 -t1 -ax sr {folder}/ref.fa {folder}/reads.fq {input}",
    "bwa": "bwa mem {folder}/bwa {folder}/reads.fq {input}",
    "bowtie2": "bowtie2 -x {folder}/bowtie2 -1 {folder}/reads.fq -2 {input}",
    "gpualign map": "gpualign map -q --device cpu {folder}/ref.fa {folder}/reads.fq {input}",
}


def shell(command: str, standard_input: bytes = b"") -> tuple[int, str]:
    """Exit code as a shell gives it, and standard output."""
    done = subprocess.run(
        ["bash", "-c", f"set -eo pipefail; {command}"],
        input=standard_input,
        capture_output=True,
        timeout=DEADLINE_S,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return code, done.stdout.decode("latin-1")


def gpualign(words: list[str], standard_input: bytes) -> int:
    """Exit code of a gpualign command, in a process of its own that need not import everything again."""
    child = os.fork()
    if child == 0:
        from gpualign.cli import main

        with tempfile.TemporaryFile() as given, open(os.devnull, "wb") as nothing:
            given.write(standard_input)
            given.seek(0)
            for stream, number in ((given, 0), (nothing, 1), (nothing, 2)):
                os.dup2(stream.fileno(), number)
            try:
                main(words)
            except SystemExit as request:
                os._exit(int(str(request.code)))
        os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def entry(code: int, records: int | None) -> str:
    return str(code) if code or records is None else f"0 ({records})"


def measure_ours(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for row, role, way in bad_input.cells():
        with tempfile.TemporaryDirectory() as here:
            content, path, report = row.make(role), Path(here, "input"), Path(here, "report")
            if content is not None:
                path.write_bytes(content)
            words = role.arguments.format(input=path if way == "file" else "-", folder=folder).split()
            out = Path(here, "output")
            words += ["-d", out] if role.command == "index" else ["-o", out, "--device", "cpu", "--json", report]
            code = gpualign([*map(str, words), "-t", "1"], (content or b"") if way == "stdin" else b"")
            assert out.exists() == (code == 0), (row.name, role.name, way)
            count = json.loads(report.read_bytes())[role.counted] if code == 0 and role.counted else None
            found.setdefault(row.name, {}).setdefault(role.name, {})[way] = entry(code, count)
    return found


def measure_peers(folder: Path, peers: dict[str, Peer]) -> dict[str, Any]:
    found: dict[str, Any] = {"reads": {}, "reference": {}}
    for row in bad_input.ROWS:
        for name, peer in peers.items():
            for kind, role in (("reads", peer.role), ("reference", REFERENCE)):
                if getattr(peer, kind) is None:
                    continue
                with contextlib.suppress(NotImplementedError):
                    content = row.make(role)
                    found[kind].setdefault(row.name, {})[name] = _run_peer(folder, peer, kind, content)
    return found


def _run_peer(folder: Path, peer: Peer, kind: str, content: bytes | None) -> dict[str, str]:
    entries = {}
    for way in ("file", "stdin"):
        if way == "stdin" and (not peer.stdin or content is None or kind == "reference"):
            continue
        with tempfile.TemporaryDirectory() as here:
            path = Path(here, "input")
            if content is not None:
                path.write_bytes(content)
            command = getattr(peer, kind).format(input=path if way == "file" else "-", folder=folder, here=here)
            code, text = shell(command, content or b"")
        entries[way] = entry(code, peer.records(text))
    return entries


def measure_endings(folder: Path, peers: dict[str, Peer]) -> dict[str, Any]:
    commands = {f"gpualign {name}": "gpualign " + text for name, text in GOOD.items() if name != "index"}
    commands = {name: f"{text} --device cpu" for name, text in commands.items()}
    commands |= {name: peer.reads.replace("{input}", "{folder}/reads.fq") for name, peer in peers.items()}
    found: dict[str, Any] = {}
    for ending, around in ENDINGS.items():
        for name, command in commands.items():
            with tempfile.TemporaryDirectory() as here:
                text = command.format(folder=folder)
                code, _ = shell(around.format(command=f"{text} 2> /dev/null", here=here).replace("set -e", ""))
            found.setdefault(ending, {})[name] = entry(code, None)
    for trouble, second in PAIRS.items():
        for name, command in PAIRED.items():
            if name in peers or name.startswith("gpualign"):
                code, text = shell(command.format(folder=folder, input=second.format(folder=folder)))
                found.setdefault(trouble, {})[name] = entry(code, _sam_records(text))
    return found


def measure(peers: dict[str, Peer]) -> dict[str, Table]:
    """The tables, each with its heads as the first row."""
    with tempfile.TemporaryDirectory(prefix="bad-input-") as name:
        folder = Path(name)
        good_input.write_good_inputs(folder)
        (folder / "reads.fa").write_bytes(good_input.fasta(good_input.READS))
        (folder / "short.fq").write_bytes(good_input.fastq(good_input.MATES[:15]))
        if "bwa" in peers:
            shell(f"bwa index -p {folder}/bwa {folder}/ref.fa")
        if "bowtie2" in peers:
            shell(f"bowtie2-build -q {folder}/ref.fa {folder}/bowtie2")
        ours, theirs = measure_ours(folder), measure_peers(folder, peers)
        return {
            "gpualign": table_of_ours(ours),
            "peers, reads": table_of_peers(theirs["reads"], ours, peers, READS),
            "peers, reference": table_of_peers(theirs["reference"], ours, peers, REFERENCE),
            "endings": table_of_endings(measure_endings(folder, peers)),
        }


def _both(entries: dict[str, str] | None) -> str:
    """One entry where file and standard input agree."""
    if entries is None:
        return "–"
    return " / ".join(dict.fromkeys(entries.values()))


def table_of_ours(ours: dict[str, Any]) -> Table:
    roles = [role.name for role in bad_input.ROLES]
    rows = [[row, *(_both(cells.get(role)) for role in roles)] for row, cells in ours.items()]
    return [["input", *roles], *rows]


def table_of_peers(theirs: dict[str, Any], ours: dict[str, Any], peers: dict[str, Peer], role: Role) -> Table:
    """Exit code 0 for input that is invalid, or with records missing, stands in bold."""
    names = [name for name in peers if any(name in cells for cells in theirs.values())]
    rows = []
    for row in bad_input.ROWS:
        cells = theirs.get(row.name)
        if cells is not None:
            shown = [_judged(row, role, cells.get(name), peers[name].expected) for name in names]
            rows.append([row.name, *shown, _both(ours[row.name].get(role.name))])
    return [["input", *names, "gpualign map"], *rows]


def _judged(row: Row, role: Role, entries: dict[str, str] | None, records: int) -> str:
    shown = _both(entries)
    wanted = row.expects(role)
    wrong = wanted != NONE and (isinstance(wanted, int) or f"({records})" not in shown)
    return f"**{shown}**" if shown.startswith("0") and wrong else shown


def table_of_endings(endings: dict[str, dict[str, str]]) -> Table:
    names = list(dict.fromkeys(name for entries in endings.values() for name in entries))
    rows = [[name, *(entries.get(name, "–") for entries in endings.values())] for name in names]
    return [["program", *endings], *rows]


def main() -> None:
    peers = {name: peer for name, peer in PEERS.items() if harness.have([name])[name]}
    harness.save("bad-input", harness.machine(peers), measure(peers))


if __name__ == "__main__":
    main()
