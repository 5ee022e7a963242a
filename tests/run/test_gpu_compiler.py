"""Hashing, caching and compiling kernels. nvcc is used where it is there; no device is."""

from __future__ import annotations

import errno
import functools
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gpualign.cli import device_check as devices
from gpualign.errors import DeviceError
from gpualign.run.gpu import compiler
from gpualign.text import file_lock
from tests.helpers.soak import some_of

MODULES = devices.modules_to_test(with_compiler=True)
#: of each source; its kernels for other macros are compiled by make soak, and for wheels
FIRST = {module[0]: module for module in reversed(MODULES)}
needs_nvcc = pytest.mark.skipif(compiler.find_nvcc() is None, reason="nvcc is not installed")


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A small source folder of its own, and an empty cache."""
    root = tmp_path / "cuda"
    (root / "algo").mkdir(parents=True)
    (root / "tiny.cu").write_text(
        '#include "algo/add.hpp"\nextern "C" __global__ void tiny(int* x) { *x = add(*x); }\n'
    )
    (root / "algo" / "add.hpp").write_text('#include "one.hpp"\n__device__ inline int add(int x) { return x + ONE; }\n')
    (root / "algo" / "one.hpp").write_text("#pragma once\n#define ONE 1\n")
    monkeypatch.setattr(compiler, "source_root", lambda: root)
    monkeypatch.setenv("GPUALIGN_CACHE_DIR", str(tmp_path / "cache"))
    return root


def test_the_key_covers_headers_flags_and_defines(sources):
    key = compiler.source_key("tiny")
    assert compiler.source_key("tiny") == key
    assert compiler.source_key("tiny", {"A": "1"}) != key
    (sources / "algo" / "one.hpp").write_text("#pragma once\n#define ONE 2\n")
    assert compiler.source_key("tiny") == key  # a process reads them once
    compiler._text_digest.cache_clear()
    assert compiler.source_key("tiny") != key


def test_sources_are_read_ahead(sources, monkeypatch):
    (sources / "tinier.cu").write_text("")
    compiler.read_ahead("tin")
    for thread in threading.enumerate():
        if thread.name == "gpualign-sources":
            thread.join(timeout=60)
    monkeypatch.setattr(compiler, "_sources", lambda path: pytest.fail(f"{path} is read again"))
    assert compiler.source_key("tiny") != compiler.source_key("tinier")


def test_a_missing_source_is_named(sources):
    with pytest.raises(DeviceError, match=r"absent\.cu"):
        compiler.source_key("absent")


def test_without_nvcc_the_cache_or_the_package_serves(sources, monkeypatch):
    monkeypatch.setattr(compiler, "find_nvcc", lambda: None)
    with pytest.raises(DeviceError, match="nvcc was not found"):
        compiler.compile_module("tiny", "sm_90")
    key = compiler.source_key("tiny")
    cache = compiler.cache_directory()
    cache.mkdir()
    (cache / f"tiny-{key}-sm_90-0123.cubin").write_bytes(b"cached")
    assert compiler.compile_module("tiny", "sm_90") == b"cached"
    prebuilt = compiler.prebuilt_path("tiny", key)
    prebuilt.parent.mkdir()
    prebuilt.write_bytes(b"prebuilt")
    assert compiler.compile_module("tiny", "sm_90") == b"prebuilt"


@needs_nvcc
def test_the_second_time_comes_from_the_cache(sources, monkeypatch):
    code = compiler.compile_module("tiny", "sm_90")
    assert code[:4] == b"\x7fELF"
    assert len(list(compiler.cache_directory().glob("tiny-*-sm_90-*.cubin"))) == 1
    monkeypatch.setattr(compiler, "_compile", None)
    assert compiler.compile_module("tiny", "sm_90") == code


def test_whether_anything_is_compiled_is_known_without_a_device(sources):
    assert not compiler.any_compiled("tiny", [{}, {"A": "1"}])
    cache = compiler.cache_directory()
    cache.mkdir()
    (cache / f"tiny-{compiler.source_key('tiny', {'A': '1'})}-sm_90-0123.cubin").write_bytes(b"cached")
    assert compiler.any_compiled("tiny", [{}, {"A": "1"}])
    assert not compiler.any_compiled("tiny", [{}])
    prebuilt = compiler.prebuilt_path("tiny", compiler.source_key("tiny"))
    prebuilt.parent.mkdir()
    prebuilt.write_bytes(b"prebuilt")
    assert compiler.any_compiled("tiny", [{}])


@needs_nvcc
def test_modules_are_compiled_side_by_side_in_order(sources, monkeypatch):
    monkeypatch.setattr(compiler, "available_cores", lambda: 3)
    together = threading.Barrier(3)

    def compiled(source, nvcc, architecture, defines):
        together.wait(10)  # broken, and raised, unless all three run at once
        return defines["A"].encode()

    monkeypatch.setattr(compiler, "_compile", compiled)
    wanted = [("tiny", {"A": str(number)}) for number in range(3)]
    assert compiler.compile_modules(wanted, "sm_90") == [b"0", b"1", b"2"]
    assert compiler.compile_modules([], "sm_90") == []


@needs_nvcc
def test_what_several_devices_want_is_compiled_once(sources, monkeypatch):
    begun = []

    def compiled(*_):
        begun.append(1)
        time.sleep(0.1)
        return b"code"

    monkeypatch.setattr(compiler, "_compile", compiled)
    with ThreadPoolExecutor(4) as devices:
        codes = list(devices.map(lambda _: compiler.compile_module("tiny", "sm_90"), range(4)))
    assert codes == [b"code"] * 4
    assert len(begun) == 1


#: a process that gets a kernel by a compiler that writes a line for each call, and takes so many seconds
COMPILING_PROCESS = """
import os, sys, time
from pathlib import Path
from gpualign.run.gpu import compiler

root, log, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])

def compiled(*_):
    with open(log, "a") as out:
        out.write("compiles\\n")
    time.sleep(seconds)
    return b"code"

compiler.source_root, compiler.find_nvcc, compiler._compile = lambda: root, lambda: sys.executable, compiled
print("ready", flush=True)
sys.stdin.readline()
print(compiler.compile_module("tiny", "sm_90").decode())
"""


@pytest.fixture
def compiling(sources, tmp_path):
    """Starts such a process, which waits for a line."""
    started = []

    def start(seconds):
        command = [sys.executable, "-c", COMPILING_PROCESS, sources, tmp_path / "log", str(seconds)]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_for(condition):
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_processes_that_start_together_compile_a_kernel_once(compiling, tmp_path):
    processes = [compiling(0.3) for _ in range(4)]
    assert {process.stdout.readline() for process in processes} == {b"ready\n"}
    for process in processes:
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"code\n"] * 4
    assert (tmp_path / "log").read_text() == "compiles\n"
    (cached,) = compiler.cache_directory().iterdir()  # and no lock
    assert cached.read_bytes() == b"code"


@pytest.fixture
def fake_nvcc(monkeypatch):
    """A compiler in this process; returns what its calls append to."""
    calls = []

    def compiled(*_):
        calls.append(1)
        return b"here"

    monkeypatch.setattr(compiler, "find_nvcc", lambda: sys.executable)
    monkeypatch.setattr(compiler, "_compile", compiled)
    return calls


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_ends_or_stops_while_it_compiles_blocks_no_other(
    compiling, fake_nvcc, tmp_path, monkeypatch, number
):
    other = compiling(600)
    other.stdin.write(b"\n")
    other.stdin.flush()
    wait_for((tmp_path / "log").exists)
    other.send_signal(number)
    if number == signal.SIGKILL:
        other.wait(60)
    else:
        monkeypatch.setattr(compiler, "_LONGEST_COMPILATION_S", 0.2)
    assert compiler.compile_module("tiny", "sm_90") == b"here"
    assert [path.suffix for path in compiler.cache_directory().iterdir()] == [".cubin"]


def test_a_cache_without_locks_or_that_cannot_be_written(sources, fake_nvcc, tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(file_lock.fcntl, "flock", refused)
    assert compiler.compile_module("tiny", "sm_90") == b"here"
    assert compiler.compile_module("tiny", "sm_90") == b"here"
    assert len(fake_nvcc) == 1
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUALIGN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert compiler.compile_module("tiny", "sm_90") == b"here"
    assert len(fake_nvcc) == 2


@needs_nvcc
def test_a_compile_error_shows_the_compilers_text(sources):
    (sources / "tiny.cu").write_text("__global__ void broken() { undeclared_name(); }\n")
    with pytest.raises(compiler.CompileError, match="undeclared_name"):
        compiler.compile_module("tiny", "sm_90")


@needs_nvcc
def test_prebuilding(sources, monkeypatch):
    nvcc = compiler.find_nvcc()
    path = compiler.prebuild("tiny", nvcc)
    assert path == compiler.prebuilt_path("tiny", compiler.source_key("tiny"))
    assert path.stat().st_size > 1000
    monkeypatch.setattr(compiler, "run_nvcc", None)
    assert compiler.prebuild("tiny", nvcc) == path  # is there already


def test_a_source_is_compiled_again_only_for_architectures_whose_own_instructions_it_uses(sources, monkeypatch):
    monkeypatch.setattr(compiler, "nvcc_architectures", lambda nvcc: [75, 80, 86, 90, 100, 120, 121])
    every = "code=[sm_75,sm_80,sm_90,sm_100,sm_120,compute_75]"
    assert compiler._targets("tiny", "nvcc") == [f"-gencode=arch=compute_75,{every}"]
    (sources / "algo" / "one.hpp").write_text("#pragma once\n#define ONE __viaddmax_s32(1, 2, 3)\n")
    assert compiler._targets("tiny", "nvcc") == [
        "-gencode=arch=compute_75,code=[sm_75,sm_80,compute_75]",
        "-gencode=arch=compute_90,code=[sm_90,sm_100,sm_120]",
    ]
    (sources / "algo" / "one.hpp").write_text("#pragma once\n#if __CUDA_ARCH__ >= 800\n#define ONE 1\n#endif\n")
    monkeypatch.setattr(compiler, "nvcc_architectures", lambda nvcc: [70, 75, 80, 90])
    assert compiler._targets("tiny", "nvcc") == [
        "-gencode=arch=compute_75,code=[sm_75,compute_75]",
        "-gencode=arch=compute_80,code=[sm_80,sm_90]",
    ]


def test_what_the_driver_refuses_is_not_taken_from_the_package(sources, monkeypatch):
    monkeypatch.setattr(compiler, "find_nvcc", lambda: None)
    path = compiler.prebuilt_path("tiny", compiler.source_key("tiny"))
    path.parent.mkdir()
    path.write_bytes(b"prebuilt")
    assert compiler.compile_module("tiny", "sm_90") == b"prebuilt"
    with pytest.raises(DeviceError, match="neither prebuilt nor cached"):
        compiler.compile_module("tiny", "sm_90", prebuilt=False)


@functools.cache
def has_fast_compile(nvcc: str) -> bool:
    """Whether this nvcc can skip optimisations, which takes a tenth of the time."""
    done = subprocess.run([nvcc, "--help"], capture_output=True, text=True, check=True)
    return "--Ofast-compile" in done.stdout


@needs_nvcc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "defines"),
    some_of(MODULES, lambda *case: case == FIRST[case[0]]),
    ids=lambda value: str(value)[:60],
)
def test_every_kernel_compiles_without_spills(source, defines, soaking):
    """All for the oldest architecture that this nvcc knows; those that promise no spills also for the newest, where it
    is seen that they keep it (for the oldest too in make soak: it has as many registers).
    """
    nvcc, path = compiler.find_nvcc(), compiler.source_root() / f"{source}.cu"
    registers_only = "gpualign: registers only" in path.read_text()
    known = [number for number in compiler.nvcc_architectures(nvcc) if 70 <= number <= 100]
    for number in {known[0], known[-1]} if registers_only else {known[0]}:
        command = [nvcc, "--cubin", *compiler.FLAGS, "-Xptxas", "-v", f"-arch=sm_{number}"]
        checked = registers_only and (soaking or number == known[-1] or not has_fast_compile(nvcc))
        if not checked and has_fast_compile(nvcc):
            command.append("--Ofast-compile=max")
        command += [f"-D{name}={value}" for name, value in defines.items()]
        command += ["-I", str(compiler.source_root()), "-o", "/dev/null", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if checked:
            lines = done.stderr.splitlines()
            assert [line for line in lines if "spill" in line and " 0 bytes spill stores" not in line] == [], number
