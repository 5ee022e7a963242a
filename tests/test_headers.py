"""The algorithm headers stand alone and compile with the host compiler and, where it is present, with nvcc."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.helpers.paths import ROOT

CUDA = ROOT / "cuda"
HEADERS = sorted(str(path.relative_to(CUDA / "algo")) for path in (CUDA / "algo").rglob("*.hpp"))
COMPILERS = {
    "g++": ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"],
    "nvcc": ["nvcc", "-std=c++17", "-arch=sm_80", "-ptx", "-o", "/dev/null", "-x", "cu"],
}


def test_there_are_headers() -> None:
    assert {"map/affine.hpp", "common/dna.hpp", "seeds/index/minimizer.hpp"} <= set(HEADERS)


@pytest.mark.parametrize("header", [header for header in HEADERS if header != "common/radix_sort.hpp"])  # of the host
def test_headers_include_little(header: str) -> None:
    """Only <cstdint> and each other: what both compilers and a GPU kernel can take. Only the host sorts with more."""
    included = re.findall(r'#include\s+[<"]([^>"]+)', (CUDA / "algo" / header).read_text())
    assert all(name == "cstdint" or name.startswith(("algo/", "abi/")) for name in included), included


@pytest.mark.parametrize("headers", [HEADERS, HEADERS[::-1]], ids=["forward", "backward"])
@pytest.mark.parametrize("compiler", list(COMPILERS))
def test_headers_compile(compiler: str, headers: list[str], tmp_path: Path) -> None:
    """Every header twice in one translation unit, in both orders: it includes what it needs, and is guarded."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    source = tmp_path / "all.cpp"
    source.write_text("".join(f'#include "algo/{header}"\n' for header in headers * 2) + "int main() { return 0; }\n")
    done = subprocess.run(
        [*COMPILERS[compiler], "-I", str(CUDA), str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
