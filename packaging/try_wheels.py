"""Install wheels into an empty environment of every Python at hand and run the smoke test there, without a compiler.

    python packaging/try_wheels.py dist/*.whl

Each instruction-set level that this processor has is tried. PATH holds links to the few programs of the smoke test, so
there is no compiler. Where there is a wheel of PyCUDA, it is installed by 'gpualign[cuda]', without a CUDA toolkit.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from wheel import ROOT, find_python

PYTHONS = tuple(f"3.{minor}" for minor in range(11, 15))
TOOLS = ("sh", "awk", "cat", "cut", "dirname", "grep", "head", "mktemp", "rm", "wc")


def tools_alone(folder: Path) -> str:
    """A folder with the programs of the smoke test and no compiler."""
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool) or sys.exit(f"{tool} is not here"))
    return str(folder)


def try_one(python: str, version: str, wheels: list[Path], work: Path) -> bool:
    """Whether one of the wheels is for this Python; it is then installed and must pass."""
    begin = time.perf_counter()
    environment = work / version
    subprocess.run([python, "-m", "venv", environment], check=True)
    path = f"{environment / 'bin'}:{work / 'tools'}"
    clean = {"PATH": path, "HOME": str(work), "LC_ALL": "C.UTF-8"} | {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "http", "HTTP"))
    }
    pip = [environment / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
    folder = wheels[0].resolve().parent
    own = [*pip, "--no-index", "--no-deps", "--find-links", folder, "gpualign"]
    if subprocess.run(own, env=clean, capture_output=True, check=False).returncode:
        return False
    # what it depends on, by the user's own settings
    home = {"HOME": os.environ.get("HOME", "/")}
    subprocess.run([*pip, "--only-binary", ":all:", "gpualign"], env=clean | home, check=True)
    levels = subprocess.run(
        [environment / "bin" / "python", "-c", "import gpualign._native as n; print(*n.available_levels())"],
        env=clean, cwd=work, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    installed = time.perf_counter() - begin
    for level in levels:
        subprocess.run(
            ["sh", ROOT / "packaging" / "smoke.sh"],
            env=clean | {"GPUALIGN_ISA": level},
            check=True,
            stdout=subprocess.DEVNULL,
        )
    if any(wheel.name.startswith("pycuda-") and f"-cp{version.replace('.', '')}-" in wheel.name for wheel in wheels):
        with_cuda = [*pip, "--only-binary", ":all:", "--find-links", folder, "gpualign[cuda]"]
        subprocess.run(with_cuda, env=clean | home, check=True)
        devices = subprocess.run(
            [environment / "bin" / "gpualign", "devices"],
            env=clean,
            cwd=work,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        if not re.search(r"^PyCUDA +\d", devices, re.MULTILINE):
            sys.exit(f"Python {version}: gpualign does not find PyCUDA:\n{devices}")
    print(f"Python {version}: installed in {installed:.0f} s; the smoke test passes on {', '.join(levels)}", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="versions to try, where they are at hand")
    arguments = parser.parse_args()
    wheels = arguments.wheels
    tried = 0
    with tempfile.TemporaryDirectory(prefix="gpualign-wheels-") as scratch:
        work = Path(scratch)
        tools_alone(work / "tools")
        for version in arguments.python:
            python = find_python(version, headers=False)
            if python is None:
                print(f"Python {version}: not here, not tried")
            elif try_one(python, version, wheels, work):
                tried += 1
            else:
                sys.exit(f"Python {version}: none of the wheels is for it")
    if not tried:
        sys.exit("no Python at hand: nothing was tried")


if __name__ == "__main__":
    main()
