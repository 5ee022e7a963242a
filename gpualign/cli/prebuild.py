"""``make kernels``: compile all kernels for all architectures into the package."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor

from tqdm import tqdm

from gpualign.bounded_gaps.tuning import KERNELS as BOUNDED_GAPS
from gpualign.distances.tuning import KERNELS as DISTANCES
from gpualign.engine.gpu import compiler
from gpualign.errors import DeviceError
from gpualign.lcs.tuning import KERNELS as LCS
from gpualign.map.tuning import KERNELS as MAP
from gpualign.mems.tuning import KERNELS as MEMS
from gpualign.pairwise.tuning import KERNELS as PAIRWISE
from gpualign.params import available_cores
from gpualign.verify.tuning import KERNELS as VERIFY

#: of all commands and of what Python has beside them
KERNELS = (BOUNDED_GAPS, DISTANCES, LCS, MAP, MEMS, PAIRWISE, VERIFY)


def variants() -> list[compiler.Variant]:
    """Every module without macros, then every command's variants of the others."""
    listed = [variant for kernels in KERNELS for variant in kernels.variants]
    with_macros = {source for source, _ in listed}
    return [*((source, {}) for source in compiler.modules() if source not in with_macros), *listed]


def main() -> None:
    """Compile every module and variant that is not there yet, as many at once as there are cores (minutes)."""
    argparse.ArgumentParser(prog="make kernels", description=__doc__).parse_args()
    nvcc = compiler.find_nvcc()
    if nvcc is None:
        raise DeviceError("nvcc was not found (install the CUDA toolkit, or set CUDA_HOME to where it is)")
    wanted = variants()
    kept = {compiler.prebuilt_path(source, compiler.source_key(source, macros)) for source, macros in wanted}
    folder = compiler.prebuilt_directory()
    folder.mkdir(exist_ok=True)
    (folder / "release").write_text("{}.{}\n".format(*compiler.nvcc_release(nvcc)))
    for stale in set(folder.glob("*.fatbin")) - kept:
        stale.unlink()
    with ThreadPoolExecutor(available_cores()) as pool:
        sizes = pool.map(lambda variant: compiler.prebuild(variant[0], nvcc, variant[1]).stat().st_size, wanted)
        total = sum(tqdm(sizes, total=len(wanted), unit=" kernels", disable=None))
    print(f"{folder}: {len(wanted)} kernels, {total / 1e6:.1f} MB")


if __name__ == "__main__":
    try:
        main()
    except DeviceError as error:
        sys.exit(f"gpualign kernels: error: {error}")
