"""``make kernels``: compile all kernels for all architectures into the package, or take them from a wheel."""

from __future__ import annotations

import argparse
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tqdm import tqdm

from gpualign.align.edit.tuning import KERNELS as VERIFY
from gpualign.align.gaps.tuning import KERNELS as BOUNDED_GAPS
from gpualign.align.lcs.tuning import KERNELS as LCS
from gpualign.align.matrix.tuning import KERNELS as DISTANCES
from gpualign.align.score.tuning import KERNELS as PAIRWISE
from gpualign.errors import DeviceError
from gpualign.map.tuning import KERNELS as MAP
from gpualign.params import available_cores
from gpualign.run.gpu import compiler
from gpualign.seeds.matches.tuning import KERNELS as MEMS

#: kernels of all commands, and of `distances`
KERNELS = (BOUNDED_GAPS, DISTANCES, LCS, MAP, MEMS, PAIRWISE, VERIFY)


def variants() -> list[compiler.Variant]:
    """Every module without macros, then every command's variants of the others."""
    listed = [variant for kernels in KERNELS for variant in kernels.variants]
    with_macros = {source for source, _ in listed}
    return [*((source, {}) for source in compiler.modules() if source not in with_macros), *listed]


def main() -> None:
    """Compile all missing modules and variants, one per core at a time (takes minutes)."""
    parser = argparse.ArgumentParser(prog="make kernels", description=__doc__)
    parser.add_argument("--wheel", type=Path, help="copy the kernels that fit these sources, and compile nothing")
    wheel = parser.parse_args().wheel
    wanted = variants()
    kept = {compiler.prebuilt_path(source, compiler.source_key(source, macros)) for source, macros in wanted}
    folder = compiler.prebuilt_directory()
    folder.mkdir(exist_ok=True)
    for stale in set(folder.glob("*.fatbin")) - kept:
        stale.unlink()
    if wheel is None:
        compile_all(wanted, folder)
    else:
        print(f"{folder}: {unpack(wheel, kept)} of {len(kept)} kernels from {wheel}")


def compile_all(wanted: list[compiler.Variant], folder: Path) -> None:
    """Compile the variants that are missing.

    Raises:
        DeviceError: there is no compiler.
    """
    nvcc = compiler.find_nvcc()
    if nvcc is None:
        raise DeviceError("nvcc was not found (install the CUDA toolkit, or set CUDA_HOME to where it is)")
    (folder / "release").write_text("{}.{}\n".format(*compiler.nvcc_release(nvcc)))
    with ThreadPoolExecutor(available_cores()) as pool:
        sizes = pool.map(lambda variant: compiler.prebuild(variant[0], nvcc, variant[1]).stat().st_size, wanted)
        total = sum(tqdm(sizes, total=len(wanted), unit=" kernels", disable=None))
    print(f"{folder}: {len(wanted)} kernels, {total / 1e6:.1f} MB")


def unpack(wheel: Path, kept: set[Path]) -> int:
    """Copy kernels out of a wheel; their names identify their sources. Returns how many of ``kept`` it has.

    Raises:
        DeviceError: it cannot be read.
    """
    folder, names = compiler.prebuilt_directory(), {path.name for path in kept} | {"release"}
    try:
        with zipfile.ZipFile(wheel) as archive:
            inside = [name for name in archive.namelist() if "/cuda/prebuilt/" in name and Path(name).name in names]
            for name in inside:
                (folder / Path(name).name).write_bytes(archive.read(name))
    except (OSError, zipfile.BadZipFile) as error:
        raise DeviceError(f"cannot read {wheel}: {error}") from error
    return sum(name.endswith(".fatbin") for name in inside)


if __name__ == "__main__":
    try:
        main()
    except DeviceError as error:
        sys.exit(f"gpualign kernels: error: {error}")
