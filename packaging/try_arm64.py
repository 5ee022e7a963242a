"""Run the tests of native code for 64-bit ARM on this machine, by qemu-user: those that start no process of their own.

    apt-get install g++-aarch64-linux-gnu qemu-user-static debootstrap
    python3 packaging/wheel.py --target aarch64 --define GPUALIGN_TESTS=ON --out build/arm64
    python3 packaging/try_arm64.py build/arm64/*.whl [TESTS…]

One process a file of tests, each with a limit of time, as many at once as there are cores. The last line is the
verdict.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from wheel import ROOT, run

WORK = ROOT / "build" / "arm64"
#: Debian 13's, with edlib; all other packages are PyPI's, which has no parasail for ARM
SUITE, PYTHON, DEBIAN = "trixie", "3.13", ("python3", "python3-edlib")
PACKAGES = ("pytest>=9", "hypothesis", "biopython", "click", "isal", "numpy", "pysam", "rapidfuzz", "tqdm")
PACKAGES += ("zlib-ng", "zstandard")
GLIBC = ("2014", "_2_17", "_2_24", "_2_26", "_2_27", "_2_28")
TESTS = (
    "tests/map/test_map.py",
    "tests/map/test_long_reads.py",
    "tests/lcs/test_kernels.py",
    "tests/verify/test_kernels.py",
    "tests/map/test_align_kernels.py",
    "tests/pairwise/test_kernel.py",
    "tests/map/test_mapping_quality.py",
    "tests/verify/test_no_limit.py",
)
#: they start Python again, or compile for this machine
LEFT_OUT = ("every_instruction_set_gives", "unknown_instruction_set", "thirty_two_lanes_find")


def make_system(folder: Path) -> Path:
    """A Debian of which only the packages are unpacked: its Python runs from there. Returns that."""
    python = folder / "usr" / "bin" / f"python{PYTHON}"
    if not python.exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--arch=arm64", "--foreign", "--variant=minbase", f"--include={','.join(DEBIAN)}"]
        run("debootstrap", *options, SUITE, folder)
        for package in sorted((folder / "var" / "cache" / "apt" / "archives").glob("*.deb")):
            run("dpkg", "-x", package, folder)
    return python


def make_site(folder: Path) -> Path:
    """PyPI's packages for that Python."""
    if not (folder / "numpy").is_dir():
        platforms = [f"--platform=manylinux{version}_aarch64" for version in GLIBC]
        options = ["--target", folder, "--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp"]
        run(sys.executable, "-m", "pip", "install", "--quiet", *options, *platforms, *PACKAGES)
    return folder


def try_file(command: list[str], tests: str, environment: dict[str, str], limit: float) -> bool:
    """Whether all tests of a file pass in time; prints a line."""
    begin = time.perf_counter()
    chosen = ["-m", "not gpu", "-k", " and ".join(f"not {name}" for name in LEFT_OUT)]
    words = [*command, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen, tests]
    try:
        done = subprocess.run(words, cwd=WORK / "run", env=environment, capture_output=True, text=True, timeout=limit)
        code, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        code, text = None, f"not finished within {limit:.0f} s"
    if code:
        print(text, flush=True)
    outcome = re.sub(r" in [\d.]+s.*|=", "", (text.splitlines() or [f"exit code {code}"])[-1]).strip()
    print(f"{tests:<34} {time.perf_counter() - begin:>5.0f} s  {outcome}", flush=True)
    return code == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("tests", nargs="*", default=TESTS)
    parser.add_argument("--limit", type=float, default=600, help="seconds for each file")
    installed = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
    parser.add_argument("--qemu", default=installed, help="emulator; 10 is several times as fast as 7")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="files at once")
    arguments = parser.parse_intermixed_args()
    python, site, package = make_system(WORK / "debian"), make_site(WORK / "site"), WORK / "gpualign"
    for folder in (package, WORK / "run"):
        shutil.rmtree(folder, ignore_errors=True)
    zipfile.ZipFile(arguments.wheel).extractall(package)
    for name in ("tests", "examples"):
        shutil.copytree(ROOT / name, WORK / "run" / name)
    shutil.copy(ROOT / "pyproject.toml", WORK / "run")
    command = [arguments.qemu, "-L", str(WORK / "debian"), str(python)]
    # what was once compiled is kept: the interpreter is emulated, and its compiler the slowest part of a start
    environment = {**os.environ, "PYTHONPATH": f"{package}:{site}", "PYTHONPYCACHEPREFIX": str(WORK / "pycache")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        passed = list(pool.map(lambda tests: try_file(command, tests, environment, arguments.limit), arguments.tests))
    if not all(passed):
        sys.exit(f"64-bit ARM: {passed.count(False)} of {len(passed)} files of tests failed")
    print(f"64-bit ARM: all {len(passed)} files of tests passed")


if __name__ == "__main__":
    main()
