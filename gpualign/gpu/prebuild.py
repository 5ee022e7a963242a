"""``make kernels``: compile all kernels for all architectures into the package."""

from __future__ import annotations

import sys

from gpualign.errors import DeviceError
from gpualign.gpu import compiler, tuning


def main() -> None:
    nvcc = compiler.find_nvcc()
    if nvcc is None:
        raise DeviceError("nvcc was not found (install the CUDA toolkit, or set CUDA_HOME to where it is)")
    plain: list[tuple[str, dict[str, str]]] = [(source, {}) for source in compiler.modules()]
    for source, defines in [*plain, *tuning.VARIANTS]:
        path = compiler.prebuild(source, nvcc, defines)
        print(f"{path} ({path.stat().st_size >> 10} KiB)")


if __name__ == "__main__":
    try:
        main()
    except DeviceError as error:
        sys.exit(f"gpualign kernels: error: {error}")
