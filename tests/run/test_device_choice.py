"""``--device auto``: a GPU where the work is worth its start, and what is said where there is none."""

from __future__ import annotations

import gzip
import json
import os
import threading

import numpy as np
import pytest

import gpualign
from gpualign.align.edit.tuning import KERNELS
from gpualign.cli import main, prebuild
from gpualign.errors import DeviceError
from gpualign.map.params import MapParams
from gpualign.map.tuning import chain_defines, map_shape, slow_path_defines, work_of
from gpualign.params import RunOptions
from gpualign.reads.in_memory import symbols_in
from gpualign.run import run_context
from gpualign.run.gpu import compiler, driver
from gpualign.run.gpu import device as device_module
from gpualign.run.run_context import Opening
from gpualign.run.select import GPU_START_S, Work, open_backend, worth_a_gpu
from gpualign.text import sizes
from gpualign.text.sizes import longest_read, symbols_in_files
from tests.helpers.fake_cuda import FakeDriver
from tests.helpers.files import write_fasta
from tests.helpers.record_files import write_sam
from tests.helpers.sequences import random_text

SMALL, LARGE, UNKNOWN = Work(KERNELS, 0.01), Work(KERNELS, 1e4), Work(KERNELS, None)


@pytest.fixture
def warm(monkeypatch):
    """A GPU whose kernels are compiled."""
    fake = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: fake)
    monkeypatch.setattr(driver, "gpu_is_there", lambda: True)
    monkeypatch.setattr(compiler, "any_compiled", lambda source, macros: True)
    return fake


def opened(given, **options):
    with open_backend(RunOptions(**options), "verify", given) as backend:
        return backend.name, backend.report()["device_reason"]


@pytest.mark.parametrize("kernels", prebuild.KERNELS, ids=lambda kernels: kernels.source)
def test_a_gpu_is_worth_what_takes_the_cores_longer_than_its_start(kernels):
    start, cold_start = GPU_START_S, GPU_START_S + kernels.compile_s
    assert not worth_a_gpu(Work(kernels, 0.9 * start), cold=False, threads=1)
    assert worth_a_gpu(Work(kernels, 1.1 * start), cold=False, threads=1)
    assert not worth_a_gpu(Work(kernels, 1.1 * start), cold=True, threads=1)
    assert worth_a_gpu(Work(kernels, 1.1 * cold_start), cold=True, threads=1)
    assert not worth_a_gpu(Work(kernels, 1.1 * start), cold=False, threads=16)
    assert worth_a_gpu(Work(kernels, 17 * start), cold=False, threads=16)
    assert worth_a_gpu(Work(kernels, None), cold=True, threads=128)


def test_every_command_has_variants_of_its_main_module():
    assert all(kernels.macros for kernels in prebuild.KERNELS)


def test_auto_leaves_little_work_to_the_cores(warm):
    name, reason = opened(SMALL, threads=4)
    assert name == "cpu"
    assert reason == "about 0.0025 s of work for the CPU, and a GPU takes 0.6 s to start"
    assert opened(LARGE, threads=4) == ("cuda:0", "about 2.5e+03 s of work for the CPU")
    assert opened(UNKNOWN) == ("cuda:0", "work of unknown size")
    assert opened(None) == ("cuda:0", "work of unknown size")
    assert opened(SMALL, device="cuda:0") == ("cuda:0", "asked for")
    assert opened(LARGE, device="cpu") == ("cpu", "no GPU was asked for")


def test_what_is_to_be_compiled_counts(warm, monkeypatch):
    middle = Work(KERNELS, GPU_START_S + 0.5 * KERNELS.compile_s)
    assert opened(middle, threads=1)[0] == "cuda:0"
    monkeypatch.setattr(compiler, "any_compiled", lambda source, macros: False)
    monkeypatch.setattr(compiler, "find_nvcc", lambda: "nvcc")
    assert opened(middle, threads=1)[0] == "cpu"
    assert opened(LARGE, threads=1)[0] == "cuda:0"


def test_without_a_compiler_auto_runs_on_the_cpu_and_says_why(warm, monkeypatch, capsys):
    monkeypatch.setattr(compiler, "any_compiled", lambda source, macros: False)
    monkeypatch.setattr(compiler, "find_nvcc", lambda: None)
    assert opened(LARGE, threads=1)[0] == "cpu"
    assert "neither prebuilt nor cached, and nvcc was not found" in capsys.readouterr().err


def test_a_warning_needs_a_gpu(monkeypatch, capsys):
    def missing():
        raise DeviceError("PyCUDA is not installed")

    monkeypatch.setattr(device_module, "load_driver", missing)
    monkeypatch.setattr(driver, "gpu_is_there", lambda: False)
    assert opened(UNKNOWN) == ("cpu", "no usable GPU (PyCUDA is not installed)")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(driver, "gpu_is_there", lambda: True)
    assert opened(SMALL)[0] == "cpu"  # nobody asked the GPU
    assert capsys.readouterr().err == ""
    assert opened(UNKNOWN)[0] == "cpu"
    assert capsys.readouterr().err == (
        "gpualign verify: warning: no usable GPU (PyCUDA is not installed); running on the CPU\n"
    )
    assert opened(UNKNOWN, quiet=True)[0] == "cpu"
    assert capsys.readouterr().err == ""


def test_hidden_gpus_are_not_there(monkeypatch):
    monkeypatch.setattr(driver.glob, "glob", lambda pattern: ["/dev/nvidia0"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert driver.gpu_is_there()
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert not driver.gpu_is_there()


def test_opening_knows_as_well(warm):
    with Opening(RunOptions(threads=2), "verify", SMALL) as opening:
        assert not opening.on_gpu()
        assert warm.contexts == []
    with Opening(RunOptions(threads=2), "verify", LARGE) as opening:
        assert opening.on_gpu()


def test_what_is_known_to_be_needed_is_compiled_while_the_input_is_read(warm, tmp_path, monkeypatch):
    compiled, done = [], threading.Event()

    def compile_modules(wanted, architecture):
        compiled.extend(wanted)
        done.set()
        return [b"code"] * len(wanted)

    monkeypatch.setattr(compiler, "compile_modules", compile_modules)
    reads = tmp_path / "reads.fq"
    reads.write_text("".join(f"@r{i}\n{'A' * length}\n+\n{'I' * length}\n" for i, length in enumerate((150, 250, 100))))
    given = work_of(4.0, longest_read(str(reads)), MapParams())
    others = (("map_slow_path", slow_path_defines(False)), ("map_chains", chain_defines("affine")))
    assert given.modules == (("map", map_shape(250).defines()), *others)
    with open_backend(RunOptions(device="cuda:0"), "map", given):
        assert done.wait(10)
    assert compiled == [("map", map_shape(250).defines()), *others]
    assert work_of(None, 100, MapParams()).modules == (("map", map_shape(100).defines()), *others)
    assert work_of(None, 100, MapParams(meth="directional")).modules[0] == ("map", map_shape(100).defines(True))
    folded = tmp_path / "folded.fa"
    folded.write_text(">a\nACGT\nACGT\n>b\nACGT\n")
    assert longest_read(str(folded)) == longest_read("-") == 0
    assert work_of(None, 0, MapParams()).modules == ()
    assert longest_read(random_file(tmp_path / "f.fa", 3, 100)) == 100


def test_symbols_in_files(tmp_path):
    fasta, fastq = tmp_path / "a.fa", tmp_path / "b.fq"
    fasta.write_bytes(b">x\n" + b"ACGT" * 1000 + b"\n")
    fastq.write_bytes(b"@x\n" + b"ACGT" * 1000 + b"\n+\n" + b"I" * 4000 + b"\n")
    packed = tmp_path / "b.fq.gz"
    packed.write_bytes(gzip.compress(np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), 9000).tobytes()))
    assert symbols_in_files(str(fasta)) == pytest.approx(4000, rel=0.2)
    assert symbols_in_files(str(fastq), None) == pytest.approx(4000, rel=0.2)
    assert symbols_in_files(str(fasta), str(fastq)) == pytest.approx(8000, rel=0.2)
    assert symbols_in_files(str(packed)) == pytest.approx(4000, rel=0.3)  # as if half of it were qualities
    for name, symbols in (("c.fq.zst", 4.5 * 0.45 * 1000), ("c.fa.zst", 4500), ("c.bam", 4 * 0.45 * 1000)):
        (tmp_path / name).write_bytes(bytes(1000))
        assert symbols_in_files(str(tmp_path / name)) == pytest.approx(symbols)
    assert symbols_in_files(str(fasta), str(tmp_path / "absent")) is None
    assert symbols_in(["ACGT", b"AC"], str(fasta)) == pytest.approx(4006, rel=0.2)
    assert symbols_in(iter(["ACGT"])) is None


def test_a_pipe_is_known_once_its_writer_has_gone(tmp_path, monkeypatch):
    reader, writer = os.pipe()
    with os.fdopen(reader) as stream:
        monkeypatch.setattr(sizes.sys, "stdin", stream)
        os.write(writer, b"x" * 1000)
        assert symbols_in_files("-") is None
        os.close(writer)
        assert symbols_in_files("-") == 1000
    named = tmp_path / "pipe"
    os.mkfifo(named)
    assert symbols_in_files(str(named)) is None
    plain = tmp_path / "plain.fa"
    plain.write_bytes(b"x" * 500)
    with open(plain) as stream:
        monkeypatch.setattr(sizes.sys, "stdin", stream)
        assert symbols_in_files("-") == 500


def random_file(path, count, length):
    rng = np.random.default_rng(2)
    return str(write_fasta(path, [random_text(rng, length) for _ in range(count)]))


def test_what_each_command_has_to_compute(tmp_path, monkeypatch, capsys):
    """The estimate that reaches the choice of a backend, against cells and bases counted by hand."""
    seen = []
    real = run_context.open_backend
    monkeypatch.setattr(run_context, "open_backend", lambda *a: seen.append(a[2]) or real(*a))
    few, many = random_file(tmp_path / "few.fa", 10, 300), random_file(tmp_path / "many.fa", 100, 200)
    candidates = tmp_path / "c.tsv"
    candidates.write_text("".join(f"s{i % 10}\ts{i}\t1\t200\n" for i in range(100)))
    records = str(write_sam(tmp_path / "in.sam", ["r\t4\t*\t0\t0\t*\t*\t0\t0\tA\tI"], ["@SQ\tSN:c\tLN:9"]))
    rates = {kernels.source: kernels.core_rate for kernels in prebuild.KERNELS}
    cases = [
        (["map", many, few], 3000 / rates["map"]),
        (["mems", "-maxmatch", "-b", "-l", "20", many, few], 2 * 3000 / rates["mems"]),
        (["mems", "-l", "12", many, few], 20 * 3000 / rates["mems"]),
        (["lcs-filter", "-Q", few, "--multi-query", many], 3000 * 20_000 / rates["lcs"]),
        (["pairwise", few, "--score-only"], 3000**2 / 2 / rates["pairwise"]),
        (["pairwise", few, many], 2 * 3000 * 20_000 / rates["pairwise"]),
        (["pairwise", few, many, "--max-gaps", "1"], 3000 * 20_000 / rates["bounded_gaps"]),
        (["verify", few, few], 10 * 300**2 / rates["verify"]),
        (["sort", records], 36 / 4e7),
        (["markdup", records, "--sort"], 36 / 4e7),
        (["verify", many, few, "--candidates", str(candidates)], 100 * 300**2 / rates["verify"]),
    ]
    for arguments, seconds in cases:
        with pytest.raises(SystemExit) as exit_:
            main([*arguments, "-o", str(tmp_path / "out")])
        assert exit_.value.code == 0, capsys.readouterr().err
        assert 0.3 * seconds < seen[-1].core_seconds < 3 * seconds, arguments


def test_the_report_says_why(tmp_path, warm, capsys):
    few, report = random_file(tmp_path / "few.fa", 10, 300), tmp_path / "run.json"
    with pytest.raises(SystemExit):
        main(["pairwise", few, "-o", str(tmp_path / "out"), "--json", str(report)])
    fields = json.loads(report.read_text())
    assert fields["device"] == "cpu"
    assert fields["device_reason"].endswith("s of work for the CPU, and a GPU takes 0.6 s to start")
    assert len(gpualign.pairwise(few)) == 45
    assert warm.contexts == []
