"""``gpualign devices``."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from unittest.mock import ANY

import numpy as np
import pytest

from gpualign.cli import device_check as workflow
from gpualign.cli import device_facts, main, prebuild
from gpualign.errors import DeviceError
from gpualign.run.gpu import compiler
from gpualign.run.gpu import device as device_module
from gpualign.run.gpu.device import Device
from gpualign.run.gpu.self_test import SelfTest
from tests.helpers.fake_cuda import FakeDriver


def run(arguments, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    captured = capsys.readouterr()
    return exit_.value.code, captured.out, captured.err


def no_driver():
    raise DeviceError("the NVIDIA driver offers no device")


def test_without_a_gpu_it_says_so(monkeypatch, capsys):
    monkeypatch.setattr(device_module, "load_driver", no_driver)
    monkeypatch.setattr(device_facts, "gpu_is_there", lambda: True)
    monkeypatch.setattr(device_facts, "_version", lambda package: "2026.1")
    code, out, _ = run(["devices"], capsys)
    assert code == 0
    assert "none usable: the NVIDIA driver offers no device" in out
    assert "kernel cache" in out
    code, _, err = run(["devices", "--check"], capsys)
    assert code == 4
    assert err == "gpualign devices: error: no device to check; missing: a driver that PyCUDA can use (nvidia-smi)\n"


def test_json(monkeypatch, capsys):
    monkeypatch.setattr(device_module, "load_driver", FakeDriver)
    code, out, _ = run(["devices", "--json"], capsys)
    assert code == 0
    facts = json.loads(out)
    assert facts["devices"][0]["name"] == "Fake A"
    assert facts["devices"][0]["compute_capability"] == "9.0"
    assert facts["driver"] == "13.0"


def test_check_fails_with_the_devices_answer(monkeypatch, capsys):
    driver = FakeDriver()
    monkeypatch.setattr(device_module, "load_driver", lambda: driver)
    compiled = []
    monkeypatch.setattr(
        compiler, "compile_module", lambda source, architecture, defines: compiled.append(source) or b"code"
    )
    monkeypatch.setattr(workflow, "SELF_TESTS", {"agree": f"{__name__}:agrees"})
    code, out, _ = run(["devices", "--check"], capsys)
    assert code == 0
    assert [line.split() for line in out.splitlines() if line.endswith("  ok")] == [
        ["load", "2", "modules", ANY, "ok"],
        ["agree", ANY, "ok"],
    ]
    assert "cuda:0 is ready: in all 2 checks its results are the CPU's" in out
    assert sorted(compiled) == ["bad", "good"]
    monkeypatch.setattr(workflow, "SELF_TESTS", {"differ": f"{__name__}:differs"})
    code, out, err = run(["devices", "--check"], capsys)
    assert code == 4
    assert "cuda:0 must not be used: 1 of 2 checks failed" in out
    assert "cuda:0: differ: cuda:0: sums differ from the CPU's in column 2" in err
    code, out, _ = run(["devices", "--check", "--json"], capsys)
    assert code == 4
    assert [check["result"] for check in json.loads(out)["checks"] if check["device"] == "cuda:0"] == [
        "ok",
        "cuda:0: sums differ from the CPU's in column 2",
    ]
    assert driver.contexts == []


def test_check_loads_every_kernel_and_only_what_else_is_prebuilt():
    tested = workflow.modules_to_test(with_compiler=False)
    assert {source for source, _ in tested} == set(compiler.modules())
    prebuilt = prebuild.variants()
    assert [variant for variant in tested if variant not in prebuilt] == []


def test_check_compiles_what_no_wheel_has_with_the_other_kernels():
    """A self-test that compiles a kernel by itself waits for it, one kernel after the other."""
    prebuilt = prebuild.variants()
    compiled = workflow.modules_to_test(with_compiler=True)
    others = [variant for variant in compiled if variant not in workflow.modules_to_test(with_compiler=False)]
    ends = {macros["ENDS"] for source, macros in others if source == "pairwise_lanes"}
    assert ends == {"1", "2"}  # in the corners, and on the borders
    assert [variant for variant in others if variant in prebuilt] == []


def facts(**others):
    usual = {"devices": [], "pycuda": None, "kernels_prebuilt": 0, "kernels_cached": 0, "prebuilt_by": None}
    return usual | others


GPU = {"devices": [{"device": "cuda:0"}], "pycuda": "2026.1", "driver": "12.4"}


def test_what_is_missing_comes_with_the_command_that_mends_it(monkeypatch, tmp_path):
    def missing(nvcc=None, has_gpu=True, **known):
        return device_facts.missing(facts(**known), nvcc, has_gpu)

    for name in ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    exists = os.path.exists  # whatever this machine has in the usual location
    monkeypatch.setattr(os.path, "exists", lambda path: not str(path).startswith("/usr/local") and exists(path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(device_facts.shutil, "which", lambda name: name == "apt-get" or None)
    toolkit = tmp_path / "cuda"
    (toolkit / "include").mkdir(parents=True)
    monkeypatch.setattr(device_facts.sys, "executable", "/venv/bin/python")
    pip = "/venv/bin/python -m pip install"
    wheels, source = f"{pip} --prefer-binary --find-links dist 'gpualign[cuda]'", f"{pip} 'pycuda>=2024.1'"
    assert missing(f"{toolkit}/bin/nvcc")[0][1][1].startswith("sudo apt-get install")  # nvcc without headers
    (toolkit / "include" / "cuda.h").write_text("")
    assert missing(f"{toolkit}/bin/nvcc") == [("PyCUDA", [wheels, f"PATH={toolkit}/bin:$PATH {source}"])]
    assert missing() == [("PyCUDA", [wheels, f"sudo apt-get install nvidia-cuda-toolkit g++ python3-dev && {source}"])]
    # a card without a driver; hidden; none
    monkeypatch.setattr(device_facts, "card_is_there", lambda: True)
    driver = ("NVIDIA's driver for the GPU of this machine", ["sudo apt-get install nvidia-driver"])
    assert missing(has_gpu=False) == [driver, *missing()]
    assert missing(has_gpu=False, pycuda="2026.1") == [driver]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert missing(has_gpu=False)[0][1] == ["unset CUDA_VISIBLE_DEVICES"]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(device_facts, "card_is_there", lambda: False)
    assert missing(has_gpu=False) == [("an NVIDIA GPU. All commands run on the CPU", [])]
    assert missing(pycuda="2026.1")[0][1] == ["nvidia-smi"]
    # the system's own way to packages; root needs no sudo
    monkeypatch.setattr(device_facts.shutil, "which", lambda name: name == "dnf" or None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert missing()[0][1][1] == f"dnf install cuda-toolkit gcc-c++ python3-devel && {source}"
    monkeypatch.setenv("CONDA_PREFIX", "/conda")
    assert missing() == [("PyCUDA", [wheels, "conda install -c conda-forge pycuda"])]
    # without a compiler there must be prebuilt kernels that the driver can read, or cached ones
    assert "no prebuilt kernels" in missing(**GPU)[0][0]
    assert missing(**GPU, kernels_cached=3) == []
    assert missing(**GPU, kernels_prebuilt=9, prebuilt_by="12.2") == []
    assert missing(**GPU, kernels_prebuilt=9, prebuilt_by="12.10")[0][0].startswith("a driver for CUDA 12.10 or later")
    assert missing("/usr/bin/nvcc", **GPU) == []


def test_the_table_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(device_module, "load_driver", no_driver)
    monkeypatch.setattr(device_facts, "gpu_is_there", lambda: True)
    monkeypatch.setattr(device_facts, "_version", lambda package: None)
    _, out, _ = run(["devices"], capsys)
    what, first, _, second = out.splitlines()[-4:]
    assert what == "Missing: PyCUDA."
    assert first == f"  {sys.executable} -m pip install --prefer-binary --find-links dist 'gpualign[cuda]'"
    assert second.startswith("  ")
    assert "pycuda" in second


@pytest.mark.parametrize(
    ("vendor", "kind", "found"),
    [("0x10de", "0x030200", True), ("0x10de", "0x040300", False), ("0x8086", "0x030000", False)],
)
def test_cards_without_a_driver_are_found_by_their_maker(monkeypatch, tmp_path, vendor, kind, found):
    slot = tmp_path / "0000:01:00.0"
    slot.mkdir()
    (slot / "vendor").write_text(f"{vendor}\n")
    (slot / "class").write_text(f"{kind}\n")
    monkeypatch.setattr(device_facts, "PCI_DEVICES", tmp_path)
    assert device_facts.card_is_there() is found


SELF_TEST_MODULES = (("good", {}), ("bad", {"A": "1"}))


def agrees():
    yield SelfTest("sums", lambda device: (np.arange(3), b"3"), lambda: (np.arange(3), b"3"))


def differs():
    yield SelfTest("sums", lambda device: (np.arange(3), b"3"), lambda: (np.arange(3), b"4"))


def test_kernels_of_a_wheel(monkeypatch, tmp_path, capsys):
    """Those of these sources are taken, others are not, and what is of older sources goes."""
    folder, wheel = tmp_path / "prebuilt", tmp_path / "a.whl"
    folder.mkdir()
    monkeypatch.setattr(compiler, "prebuilt_directory", lambda: folder)
    path = compiler.prebuilt_path("lcs_trace", compiler.source_key("lcs_trace", {}))
    (folder / "lcs_trace-old.fatbin").write_bytes(b"old")
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (path.name, "lcs_trace-0123.fatbin", "release"):
            archive.writestr(f"gpualign/cuda/prebuilt/{name}", b"13.0")
    monkeypatch.setattr("sys.argv", ["prebuild", "--wheel", str(wheel)])
    prebuild.main()
    assert sorted(file.name for file in folder.iterdir()) == [path.name, "release"]
    assert compiler.compile_module("lcs_trace", "sm_90") == b"13.0"
    assert f"1 of {len(prebuild.variants())} kernels from" in capsys.readouterr().out
    wheel.write_bytes(b"no archive")
    with pytest.raises(DeviceError, match="cannot read"):
        prebuild.main()


@pytest.mark.gpu
@pytest.mark.parametrize("name", workflow.SELF_TESTS)
def test_a_gpu_passes_its_self_tests(gpu: Device, name: str) -> None:
    workflow.check(gpu, workflow.SELF_TESTS[name])
