"""``gpualign devices``."""

from __future__ import annotations

import json

import pytest

from gpualign.cli import device_check as workflow
from gpualign.cli import main, prebuild
from gpualign.engine.gpu import compiler
from gpualign.engine.gpu import device as device_module
from gpualign.errors import DeviceError
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
    code, out, _ = run(["devices"], capsys)
    assert code == 0
    assert "none usable: the NVIDIA driver offers no device" in out
    assert "kernel cache" in out
    code, _, err = run(["devices", "--check"], capsys)
    assert code == 4
    assert err.startswith("gpualign devices: error: the NVIDIA driver")


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
    assert "compile 2 kernel modules: ok" in out
    assert "self-test agree: ok" in out
    assert sorted(compiled) == ["bad", "good"]
    monkeypatch.setattr(workflow, "SELF_TESTS", {"differ": f"{__name__}:differs"})
    code, _, err = run(["devices", "--check"], capsys)
    assert code == 4
    assert "self-test differ: results differ" in err
    assert driver.contexts == []


def test_check_compiles_every_kernel_and_only_what_else_is_compiled_beforehand():
    tested = workflow.tested_modules()
    assert {source for source, _ in tested} == set(compiler.modules())
    prebuilt = prebuild.variants()
    assert [variant for variant in tested if variant not in prebuilt and variant[0] != "lcs"] == []


SELF_TEST_MODULES = (("good", {}), ("bad", {"A": "1"}))


def agrees(device):
    pass


def differs(device):
    raise DeviceError("results differ")
