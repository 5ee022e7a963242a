"""What several test modules share."""

from __future__ import annotations

import functools
import gzip
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpualign.cli import main
from gpualign.errors import DeviceError
from tests.helpers.commands import on_device
from tests.helpers.implementations import DEVICES, IMPLEMENTATIONS, LEVELS, native_level, open_backend
from tests.helpers.paths import EXAMPLES


def restore_signals_of_children() -> None:
    """Processes do not inherit a handler, but that a signal is ignored, as a script does for what it starts with &."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


restore_signals_of_children()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="random tests at their full size (make soak)")
    parser.addoption("--seed", type=int, default=1, help="of random tests")


@functools.cache
def device_is_there() -> bool:
    try:
        from gpualign.run.gpu.device import list_devices

        return bool(list_devices())
    except DeviceError:
        return False


@pytest.hookimpl(trylast=True)  # after -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--soak"):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("soak")])
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
    on_gpu = [item for item in items if item.get_closest_marker("gpu")]
    # where they are asked for (-m gpu, make test-gpu), a device that is missing is a failure
    if on_gpu and config.option.markexpr != "gpu" and not device_is_there():
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture(scope="session")
def soaking(request: pytest.FixtureRequest) -> bool:
    """Whether random tests run at their full size, instead of one per cent of it."""
    return bool(request.config.getoption("--soak"))


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--seed"))


@pytest.fixture(autouse=True)
def _restore_sigterm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., tuple[int, bytes, str]]:
    """Run the command line in this process: (exit code, standard output, standard error).

    Commands run on the CPU, or on ``device``, or where their words say (helpers/commands.py).
    """

    def run(*arguments: object, device: str | None = "cpu") -> tuple[int, bytes, str]:
        with pytest.raises(SystemExit) as caught:
            main(on_device(*arguments, device=device))
        captured = capfdbinary.readouterr()
        assert isinstance(caught.value.code, int)
        return caught.value.code, captured.out, captured.err.decode()

    return run


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """Where a command runs."""
    return str(request.param)


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    """Native code at one instruction-set level after the other."""
    with native_level(request.param):
        yield request.param


@pytest.fixture(scope="module", params=IMPLEMENTATIONS)
def backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Runs stages by one implementation of their kernels after the other."""
    with open_backend(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def gpu() -> Iterator[Any]:
    """The first device, open; only tests marked ``gpu`` have one."""
    from gpualign.run.gpu.device import Device, list_devices

    with Device(list_devices()[0]) as opened:
        yield opened


@pytest.fixture(scope="session")
def some_reads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 3,000 of the bundled reads."""
    path = tmp_path_factory.mktemp("reads") / "some.fastq"
    with gzip.open(EXAMPLES / "SRR059298_25k.fastq.gz") as source:
        path.write_bytes(b"".join(next(source) for _ in range(12_000)))
    return path


@pytest.fixture(scope="session")
def fifty(tmp_path_factory: pytest.TempPathFactory, some_reads: Path) -> Path:
    """The first 50 of them."""
    path = tmp_path_factory.mktemp("fifty") / "fifty.fastq"
    path.write_bytes(b"".join(some_reads.read_bytes().splitlines(keepends=True)[:200]))
    return path
