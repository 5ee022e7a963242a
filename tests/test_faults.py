"""Memory, disks, inputs and signals that fail in the middle of a run: the right file or none, the right exit code, and
nothing left behind. Faults come from outside (tests/faults/faults.c), so that gpualign itself holds no hook.

``make soak`` fails every allocation instead of a few, and sends 200 signals.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from tests.helpers import good_input
from tests.helpers.bam import random_templates
from tests.helpers.command_lines import FAULTS, GOOD
from tests.helpers.commands import program
from tests.helpers.environment import SANITIZED
from tests.helpers.paths import TESTS
from tests.helpers.record_files import CONTIG_LINES, write_sam
from tests.helpers.soak import some_of

DEADLINE_S = 60
#: each writer, and what holds most memory; the others in make soak
AT_EACH_PUSH = (
    "map",
    "index",
    "mems",
    "cluster",
    "map --sort",
    "pairwise --resume",
    "pairwise --output-format parquet",
)
EACH = some_of(zip(FAULTS), lambda command: command in AT_EACH_PUSH)


@dataclass(frozen=True)
class Done:
    code: int
    error: str
    output: bytes | None


@dataclass(frozen=True)
class Workplace:
    """Where a command runs: good inputs, and a folder for what it writes."""

    folder: Path
    out: Path
    library: Path

    def words(self, command: str) -> list[str]:
        words = FAULTS[command].format(folder=self.folder, out=self.out).split()
        return program(*words, "-t", 2, "-d" if command == "index" else "-o", self.out / "output")

    def run(self, command: str, fault: str = "", minimum: int = 4096, **more: object) -> Done:
        """Run a command with a fault; whatever it gives, it must leave no temporary file and print no traceback."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        of_records = command in ("sort", "markdup")
        armed_by = "records.sam" if of_records else "ref.fa" if command == "index" else "reads.fq"
        environment = {
            "FAULT": fault,
            "FAULT_AFTER": armed_by,
            "FAULT_BYTES": str(minimum),
            "FAULT_REPORT": f"{self.folder}/count",
            # Python's own compiler may crash for lack of memory: it has to have run before (good); and what it writes
            # with a fault would be read by other processes
            "PYTHONDONTWRITEBYTECODE": "1" if fault or more else "",
        }
        if fault:
            environment["LD_PRELOAD"] = str(self.library)
        done = subprocess.run(
            self.words(command), env={**os.environ, **environment}, capture_output=True, timeout=DEADLINE_S, **more
        )  # type: ignore[call-overload]
        return self.look(done.returncode, done.stderr.decode())

    def look(self, code: int, error: str) -> Done:
        output = self.out / "output"
        left = {path.name for path in self.out.rglob("*") if path.name.startswith(".") or path.name.endswith(".tmp")}
        assert not left, error
        assert "Traceback" not in error, error
        assert "internal error" not in error, error
        return Done(128 - code if code < 0 else code, error, output.read_bytes() if output.exists() else None)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    if SANITIZED:
        pytest.skip("a sanitizer is preloaded")
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("faults are injected by a C library for Linux")
    folder = tmp_path_factory.mktemp("faults")
    library = folder / "faults.so"
    source = TESTS / "faults" / "faults.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    good_input.write_good_inputs(folder)
    lines = chain(*random_templates(random.Random(1), 5000, (300, 100_000, 40)))
    write_sam(folder / "records.sam", lines, ["@HD\tVN:1.6\tSO:coordinate", *CONTIG_LINES])
    return Workplace(folder, tmp_path_factory.mktemp("out"), library)


@dataclass(frozen=True)
class Good:
    """A run without a fault: what it writes, and how many allocations and bytes there are to fail.

    map's @PG line is always the same, because all runs write to the same path.
    """

    output: bytes
    allocations: int
    written: int


_good: dict[tuple[str, int], Good] = {}


def good(workplace: Workplace, command: str, minimum: int = 4096) -> Good:
    if (command, minimum) not in _good:
        workplace.run(command)
        done = workplace.run(command, "count:0", minimum)
        assert done.code == 0, done.error
        assert done.output
        allocations, written = map(int, (workplace.folder / "count").read_text().split())
        _good[command, minimum] = Good(done.output, allocations, written)
    return _good[command, minimum]


def spread(count: int, maximum: int) -> list[int]:
    """1 to ``count``, or ``maximum`` of them from end to end."""
    return (
        sorted({1 + (count - 1) * i // max(1, maximum - 1) for i in range(maximum)})
        if count > maximum
        else [*range(1, count + 1)]
    )


# pyarrow, which writes Parquet, ends the process where one of its own allocations fails in a thread of its own
@pytest.mark.parametrize("command", [command for command in EACH if "parquet" not in command])
def test_lack_of_memory(workplace: Workplace, soaking: bool, command: str) -> None:
    """One allocation fails: exit code 5 and no file, or (where it can do without) the right file."""
    whole = good(workplace, command)
    assert whole.allocations > 3
    for number in spread(whole.allocations, whole.allocations if soaking else 2):
        done = workplace.run(command, f"allocation:{number}")
        assert done.code in (0, 5), f"allocation {number}: {done}"
        assert done.output == (whole.output if done.code == 0 else None), number
        if done.code == 5:
            assert "memory" in done.error
            assert done.error.count("\n") == 1


@pytest.mark.parametrize("command", EACH)
def test_disk_that_fills_up(workplace: Workplace, soaking: bool, command: str) -> None:
    written = good(workplace, command).written
    for size in spread(written - 1, 25) if soaking else [written // 2]:
        done = workplace.run(command, f"write:{size}")
        assert (done.code, done.output) == (1, None), f"{size}: {done}"
        assert "No space left on device" in done.error
        assert done.error.count("\n") == 1


@pytest.mark.parametrize("command", ["map", "index", "pairwise"])
def test_file_size_limit(workplace: Workplace, command: str) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = workplace.run(command, preexec_fn=limit)
    assert (done.code, done.output) == (1, None)
    assert "File too large" in done.error


@pytest.mark.parametrize("command", ["map", "lcs-filter"])
def test_disk_that_fails(workplace: Workplace, command: str) -> None:
    done = workplace.run(command, "write_error:50")
    assert (done.code, done.output) == (1, None)
    assert "Input/output error" in done.error


@pytest.mark.parametrize("command", list(GOOD))
def test_input_that_fails(workplace: Workplace, soaking: bool, command: str) -> None:
    for size in (0, 1, 100, 1500) if soaking else (100,):
        done = workplace.run(command, f"read_error:{size}")
        assert (done.code, done.output) == (3, None), f"{size}: {done}"
        assert "Input/output error" in done.error


@pytest.mark.parametrize("command", list(GOOD))
def test_short_reads(workplace: Workplace, soaking: bool, command: str) -> None:
    for size in (1, 2, 3, 5, 100) if soaking else (7,):
        done = workplace.run(command, f"short_read:{size}")
        assert (done.code, done.output) == (0, good(workplace, command).output), f"{size}: {done}"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("command", "way"),
    [(command, "-o" if command == "index" else "stdout") for command in FAULTS] + [("map", "-o"), ("map", "--json")],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_full_device(workplace: Workplace, soaking: bool, command: str, way: str, unbuffered: str) -> None:
    if not soaking and unbuffered and command != "map":
        pytest.skip("in make soak")
    words = workplace.words(command)
    if way == "--json":
        words += ["--json", "/dev/full"]
    else:
        at = words.index(str(workplace.out / "output")) - 1
        words[at : at + 2] = [words[at], "/dev/full"] if way == "-o" else []
    shutil.rmtree(workplace.out)
    workplace.out.mkdir()
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=DEADLINE_S, env=environment)
    outcome = workplace.look(done.returncode, done.stderr.decode())
    assert outcome.code == 1
    assert "No space left on device" in outcome.error


def many_reads(workplace: Workplace) -> dict[str, str]:
    """Each command with enough to do for a signal to find it at work."""
    path, others = workplace.folder / "many.fq", workplace.folder / "others.fq"
    if not path.exists():
        path.write_bytes(
            b"".join(good_input.fastq([(f"{n}_{i}", s, q) for n, s, q in good_input.READS]) for i in range(400))
        )
        others.write_bytes(
            b"".join(good_input.fastq([(f"{n}_{i}", s, q) for n, s, q in good_input.READS]) for i in range(20))
        )
    return {
        "map": f"map {workplace.folder}/ref.fa {path}",
        "map --sort": f"map --sort --sort-memory 1M --output-format bam {workplace.folder}/ref.fa {path}",
        "map --mark-duplicates": f"map --mark-duplicates --sort-memory 1M {workplace.folder}/ref.fa {path}",
        "mems": f"mems -l 12 {workplace.folder}/ref.fa {path}",
        "align": f"align -l 12 -c 12 {workplace.folder}/ref.fa {path}",
        "verify": f"verify {path} {path}",
        "pairwise": f"pairwise {others}",
        "pairwise --max-gaps": f"pairwise --max-gaps 2 {others} {workplace.folder}/reads.fq",
        "search": f"search -k 9 -p {workplace.folder}/reads.fq {path}",
        "lcs-filter": f"lcs-filter -n 0 -Q {workplace.folder}/one.fq {path}",
    }


def start(workplace: Workplace, text: str, *more: str, **pipes: object) -> subprocess.Popen[bytes]:
    shutil.rmtree(workplace.out, ignore_errors=True)
    workplace.out.mkdir()
    words = program(*text.split(), "--batch-size", "32K", "-t", 2, *more)
    return subprocess.Popen(words, stderr=subprocess.PIPE, **pipes)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_at_random_times(workplace: Workplace, soaking: bool, seed: int, number: signal.Signals) -> None:
    """The right file and exit code 0 or the signal's, or no file and the signal's."""
    rng = random.Random(seed * 100 + number)
    commands = many_reads(workplace)
    whole: dict[str, tuple[bytes, float]] = {}
    outcomes: dict[int, int] = {}
    names = list(commands)
    for i in range(70 if soaking else 1):
        name = names[i % len(names)] if soaking else rng.choice(names)
        if name not in whole:
            begun = time.monotonic()
            process = start(workplace, commands[name], "-o", str(workplace.out / "output"))
            _, error = process.communicate(timeout=DEADLINE_S)
            done = workplace.look(process.returncode, error.decode())
            assert done.code == 0
            assert done.output
            whole[name] = done.output, time.monotonic() - begun
        output, seconds = whole[name]
        process = start(workplace, commands[name], "-o", str(workplace.out / "output"))
        time.sleep(rng.uniform(0, seconds))
        process.send_signal(number)
        _, error = process.communicate(timeout=DEADLINE_S)
        # while Python starts, its own handlers end the process, on Ctrl-C with a traceback and sometimes with 1
        starting = b"KeyboardInterrupt" in error and not re.search(rb'cli/__init__.py", line \d+, in main', error)
        done = workplace.look(process.returncode, "" if starting else error.decode())
        assert done.code in (0, 128 + number, 1 if starting else 0), (name, done, error)
        assert done.output in ((output,) if done.code == 0 else (None, output)), name
        outcomes[done.code] = outcomes.get(done.code, 0) + 1
    print(f"{number.name}: exit codes {outcomes}")


def test_kills_at_random_times(workplace: Workplace, soaking: bool, seed: int) -> None:
    """A sort that nothing can tidy up after: its runs have no names, and the output has none before it is whole."""
    rng = random.Random(seed)
    text = many_reads(workplace)["map --sort"]
    output = workplace.out / "output"
    begun = time.monotonic()
    with start(workplace, text, "-o", str(output)) as process:
        assert process.wait(timeout=DEADLINE_S) == 0
    whole, seconds = output.read_bytes(), time.monotonic() - begun
    for _ in range(200 if soaking else 3):
        process = start(workplace, text, "-o", str(output))
        time.sleep(rng.uniform(0, seconds))
        process.kill()
        process.communicate(timeout=DEADLINE_S)
        left = {path.name for path in workplace.out.iterdir()}
        if "output" in left:
            assert output.read_bytes() == whole
            left.remove("output")
        assert len(left) <= 1
        assert all(re.fullmatch(r"\.output\.[0-9a-f]{16}\.tmp", name) for name in left)


_SIGNAL_IN_A_FINALIZER = """
import os, signal, sys, time
from gpualign import cli
from gpualign.map import index as workflow

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores it

class Dropped:
    def __del__(self):
        os.kill(os.getpid(), {number})

def open_index(*arguments, **options):
    Dropped()
    time.sleep(60)

workflow.open_index = open_index
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal_while_a_finalizer_runs(workplace: Workplace, number: signal.Signals) -> None:
    """Python drops an exception there, and the signal was lost with it."""
    program = _SIGNAL_IN_A_FINALIZER.format(number=int(number))
    words = [sys.executable, "-c", program, *f"map {workplace.folder}/ref.fa {workplace.folder}/reads.fq".split()]
    begun = time.monotonic()
    done = subprocess.run(words, capture_output=True, text=True, timeout=DEADLINE_S)
    assert time.monotonic() - begun < 30
    assert (done.returncode, done.stdout) == (128 + number, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_reader_that_goes_away(
    workplace: Workplace, soaking: bool, seed: int, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    """Unbuffered, a write to a pipe may take but a part: the rest was once lost, with exit code 0."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    rng = random.Random(seed)
    commands = many_reads(workplace)
    for name in list(commands) * 5 if soaking else ["map", "lcs-filter"]:
        process = start(workplace, commands[name], stdout=subprocess.PIPE, pipesize=4096)  # which holds no output whole
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(rng.choice([0, 1, 100, 10_000]))
        process.stdout.close()
        error = process.stderr.read().decode()
        process.stderr.close()
        assert workplace.look(process.wait(timeout=DEADLINE_S), error).code == 141, (name, error)
        assert "error" not in error


def test_two_runs_to_one_file(workplace: Workplace) -> None:
    """Each writes a file of its own; the last to end wins, and the result is one of the two, whole."""
    commands = many_reads(workplace)
    outputs = []
    for text in (commands["verify"], commands["mems"]):
        process = start(workplace, text, "-o", str(workplace.out / "output"))
        _, error = process.communicate(timeout=DEADLINE_S)
        output = workplace.look(process.returncode, error.decode()).output
        assert output
        outputs.append(output)
    start_first = start(workplace, commands["verify"], "-o", str(workplace.out / "output"))
    words = program(*commands["mems"].split(), "-o", workplace.out / "output")
    second = subprocess.run(words, capture_output=True, timeout=DEADLINE_S)
    _, error = start_first.communicate(timeout=DEADLINE_S)
    assert (start_first.returncode, second.returncode) == (0, 0)
    assert workplace.look(0, error.decode()).output in outputs
