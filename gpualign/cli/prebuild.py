"""``make kernels``: compile all kernels for all architectures into the package."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from gpualign.engine.gpu import compiler, tuning
from gpualign.errors import DeviceError
from gpualign.params import available_cores


def main() -> None:
    """Compile every module and variant, as many at once as there are cores (minutes)."""
    argparse.ArgumentParser(prog="make kernels", description=__doc__).parse_args()
    nvcc = compiler.find_nvcc()
    if nvcc is None:
        raise DeviceError("nvcc was not found (install the CUDA toolkit, or set CUDA_HOME to where it is)")
    with_macros = {source for source, _ in tuning.VARIANTS}
    plain: list[tuple[str, dict[str, str]]] = [
        (source, {}) for source in compiler.modules() if source not in with_macros
    ]
    with ThreadPoolExecutor(available_cores()) as pool:
        for path in pool.map(
            lambda variant: compiler.prebuild(variant[0], nvcc, variant[1]), [*plain, *tuning.VARIANTS]
        ):
            print(f"{path} ({path.stat().st_size >> 10} KiB)", flush=True)


if __name__ == "__main__":
    try:
        main()
    except DeviceError as error:
        sys.exit(f"gpualign kernels: error: {error}")
