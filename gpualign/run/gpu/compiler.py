"""From ``cuda/<name>.cu`` to machine code for one architecture: prebuilt, cached, or compiled now.

The sources are hashed here, headers included, as PyCUDA's own cache runs the preprocessor at every start to find
headers. A kernel comes from the package's prebuilt fat binaries (``make kernels``), else from the user's cache, else
from nvcc, which is needed only then.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpualign.ending import undone_at_the_end
from gpualign.errors import DeviceError
from gpualign.params import available_cores
from gpualign.run.gpu.driver import CompileError, compile_source
from gpualign.text.file_lock import alone

#: a module and its macros
Variant = tuple[str, Mapping[str, str]]

#: flags of every compilation; part of the hash
FLAGS = ("-std=c++17", "-O3")
#: architectures with prebuilt machine code: that of 8.0 runs on 8.6 to 8.9, of 10.0 on 10.3, of 12.0 on 12.1
ARCHITECTURES = (75, 80, 90, 100, 120)
#: a source is compiled for the oldest of these, and once more for each newer one whose instructions it uses
_NEWER = {80: re.compile(rb"__CUDA_ARCH__ >= 80"), 90: re.compile(rb"\b__vi[a-z]+_")}
#: the oldest nvcc with which --compress-mode and --split-compile are used
_WITH_LATE_OPTIONS = (12, 8)
#: after this another process's compilation is not waited for any longer
_LONGEST_COMPILATION_S = 600.0
#: a lock for each module: the first device compiles it, the others wait
_compiling: dict[Path, threading.Lock] = {}
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def source_root() -> Path:
    """The folder of the CUDA sources: in the package when installed, in the repository otherwise."""
    package = Path(__file__).resolve().parents[2]
    return package / "cuda" if (package / "cuda").is_dir() else package.parent / "cuda"


def modules() -> list[str]:
    """Names of all ``cuda/*.cu`` files."""
    return sorted(path.stem for path in source_root().glob("*.cu"))


def source_key(source: str, defines: Mapping[str, str] | None = None) -> str:
    """Hash of everything that determines the machine code of ``cuda/<source>.cu``: text, headers, flags, macros."""
    return _key(_text_digest(source_root() / f"{source}.cu"), defines or {})


def read_ahead(source: str) -> None:
    """Hash, in a thread, the sources of a module and of all modules whose names begin with its name: dozens of small
    files."""

    def read() -> None:
        for path in sorted(source_root().glob(f"{source}*.cu")):
            with contextlib.suppress(DeviceError):  # raised again when the module is loaded
                _text_digest(path)

    threading.Thread(target=read, daemon=True, name="gpualign-sources").start()


@functools.lru_cache
def _text_digest(source: Path) -> bytes:
    files = sorted(_sources(source).items())
    return bytes.fromhex(_digest(b"".join(f"{path}\0{len(text)}\0".encode() + text for path, text in files)))


def _key(text_digest: bytes, defines: Mapping[str, str]) -> str:
    return _digest(text_digest + repr((FLAGS, sorted(defines.items()))).encode())[:24]


def _digest(text: bytes) -> str:
    import hashlib  # it loads OpenSSL, which runs without a GPU do not need

    return hashlib.sha256(text).hexdigest()


def compile_module(
    source: str, architecture: str, defines: Mapping[str, str] | None = None, prebuilt: bool = True
) -> bytes:
    """Machine code of ``cuda/<source>.cu`` for one architecture.

    Args:
        source: name of the file without ".cu".
        architecture: "sm_90".
        defines: macros.
        prebuilt: use the package's prebuilt code; False once the driver has refused it.

    Returns:
        a cubin, or a prebuilt fat binary that holds one.

    Raises:
        DeviceError: the kernel is neither prebuilt nor cached and there is no nvcc.
        CompileError: nvcc refused the source.
    """
    key = source_key(source, defines)
    if prebuilt and (path := prebuilt_path(source, key)).is_file():
        return path.read_bytes()
    nvcc = find_nvcc()
    cache = cache_directory()
    if nvcc is None:
        for cached in sorted(cache.glob(f"{source}-{key}-{architecture}-*.cubin")):
            return cached.read_bytes()
        raise DeviceError(
            f"the kernel {source} is neither prebuilt nor cached for {architecture} and nvcc was not found "
            "(install the CUDA toolkit, or set CUDA_HOME to where it is)"
        )
    about = os.stat(nvcc)  # to ask it for its version would take a twentieth of a second at each start
    compiler = _digest(f"{os.path.realpath(nvcc)} {about.st_size} {about.st_mtime_ns}".encode())[:8]
    cached = cache / f"{source}-{key}-{architecture}-{compiler}.cubin"
    with contextlib.suppress(OSError):
        return cached.read_bytes()
    with _alone(cached):
        with contextlib.suppress(OSError):
            return cached.read_bytes()
        code = _compile(source, nvcc, architecture, defines or {})
        with contextlib.suppress(OSError):  # a read-only home costs time, not correctness
            _write_whole(cached, code)
        return code


@contextlib.contextmanager
def _alone(cached: Path) -> Iterator[None]:
    """Keep out other threads and processes that want the same kernel, as far as the cache's folder allows."""
    with _compiling.setdefault(cached, threading.Lock()):
        with contextlib.suppress(OSError):
            cached.parent.mkdir(parents=True, exist_ok=True)
        with alone(str(cached.with_suffix(".lock")), patience_s=_LONGEST_COMPILATION_S):
            yield


def compile_modules(wanted: Sequence[Variant], architecture: str) -> list[bytes]:
    """Compile modules in parallel, each like :func:`compile_module`: a compiler uses one core.

    Raises:
        as :func:`compile_module`.
    """
    if len(wanted) < 2:
        return [compile_module(source, architecture, defines) for source, defines in wanted]
    with ThreadPoolExecutor(min(len(wanted), available_cores())) as pool:
        return list(pool.map(lambda variant: compile_module(variant[0], architecture, variant[1]), wanted))


def any_compiled(source: str, macros: Iterable[Mapping[str, str]]) -> bool:
    """Whether a module is compiled with one of these macros for any architecture; asks no driver."""
    try:
        cached = {name.rsplit("-", 2)[0] for name in os.listdir(cache_directory()) if name.endswith(".cubin")}
    except OSError:
        cached = set()
    text_digest = _text_digest(source_root() / f"{source}.cu")
    keys = [_key(text_digest, defines) for defines in macros]
    return any(f"{source}-{key}" in cached or prebuilt_path(source, key).is_file() for key in keys)


def can_be_had(source: str, defines: Mapping[str, str]) -> bool:
    """Whether :func:`compile_module` has machine code or a compiler."""
    return find_nvcc() is not None or any_compiled(source, [defines])


def _compile(source: str, nvcc: str, architecture: str, defines: Mapping[str, str]) -> bytes:
    """Compile with PyCUDA's compiler if PyCUDA can be imported, else run nvcc with the same options."""
    text = f'#include "{source}.cu"\n'
    options = [*FLAGS, *(f"-D{name}={value}" for name, value in sorted(defines.items()))]
    if nvcc_release(nvcc) >= _WITH_LATE_OPTIONS:  # on all cores: somebody waits for the largest module
        options.append("--split-compile=0")
    code = compile_source(text, nvcc, options, architecture, str(source_root()))
    return code if code is not None else run_nvcc(nvcc, text, [*options, "-arch", architecture], "cubin")


def run_nvcc(nvcc: str, text: str, options: list[str], target: str) -> bytes:
    """Run nvcc on ``text`` with the kernels' include path; ``target`` is "cubin" or "fatbin".

    Raises:
        CompileError: with the compiler's own text.
    """
    import shutil
    import subprocess
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="gpualign-nvcc-") as folder,
        undone_at_the_end(lambda: shutil.rmtree(folder)),
    ):
        source, result = Path(folder) / "kernel.cu", Path(folder) / f"kernel.{target}"
        source.write_text(text)
        command = [nvcc, f"--{target}", *options, "-I", str(source_root()), "-o", str(result), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CompileError(f"nvcc failed: {done.stderr or done.stdout}")
        return result.read_bytes()


def find_nvcc() -> str | None:
    """Path of nvcc: on PATH, under CUDA_HOME or CUDA_PATH, or in /usr/local/cuda; None if there is none."""
    import shutil

    found = shutil.which("nvcc")
    if found:
        return found
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root and os.access(candidate := os.path.join(root, "bin", "nvcc"), os.X_OK):
            return candidate
    return None


@functools.lru_cache
def nvcc_version(nvcc: str) -> str:
    """The text of ``nvcc --version``."""
    return _said_by(nvcc, "--version")


def nvcc_release(nvcc: str) -> tuple[int, int]:
    """(13, 0); (0, 0) where it is not known."""
    found = re.search(r"release (\d+)\.(\d+)", nvcc_version(nvcc))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _said_by(nvcc: str, option: str) -> str:
    import subprocess  # imported only if a compiler is needed

    return subprocess.run([nvcc, option], capture_output=True, text=True, check=False).stdout


def nvcc_architectures(nvcc: str) -> list[int]:
    """Compute capabilities (90 for 9.0) that this nvcc can compile for, ascending."""
    said = _said_by(nvcc, "--list-gpu-arch")
    return sorted({int(number) for number in re.findall(r"compute_(\d+)\b", said)})


def cache_directory() -> Path:
    """Where compiled kernels are kept: $GPUALIGN_CACHE_DIR, else the user's cache folder."""
    named = os.environ.get("GPUALIGN_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "gpualign" / "kernels"


def prebuilt_directory() -> Path:
    """Where ``make kernels`` puts fat binaries."""
    return source_root() / "prebuilt"


def prebuilt_path(source: str, key: str) -> Path:
    """Path of a module's fat binary."""
    return prebuilt_directory() / f"{source}-{key}.fatbin"


def prebuilt_by() -> str | None:
    """The CUDA release, "13.0", of the compiler that prebuilt the kernels: older drivers may refuse them."""
    try:
        return (prebuilt_directory() / "release").read_text().strip()
    except OSError:
        return None


def prebuild(source: str, nvcc: str, defines: Mapping[str, str] | None = None) -> Path:
    """Compile one module into the package, for every architecture that this nvcc knows and, for all others, as PTX of
    the oldest. Returns the file; an existing one is kept.
    """
    path = prebuilt_path(source, source_key(source, defines))
    if path.is_file():
        return path
    macros = [f"-D{name}={value}" for name, value in sorted((defines or {}).items())]
    options = [*FLAGS, *macros, *_targets(source, nvcc)]
    if nvcc_release(nvcc) >= _WITH_LATE_OPTIONS:  # small files, which only drivers as new as the compiler can read
        options.append("--compress-mode=size")
    _write_whole(path, run_nvcc(nvcc, f'#include "{source}.cu"\n', options, "fatbin"))
    return path


def _targets(source: str, nvcc: str) -> list[str]:
    """nvcc's -gencode options for a source."""
    text = b"".join(_sources(source_root() / f"{source}.cu").values())
    known = [number for number in ARCHITECTURES if number in nvcc_architectures(nvcc)]
    starts = [known[0], *(number for number in known[1:] if number in _NEWER and _NEWER[number].search(text))]
    targets = []
    for start, end in itertools.zip_longest(starts, starts[1:], fillvalue=known[-1] + 1):
        codes = [f"sm_{number}" for number in known if start <= number < end]
        codes += [f"compute_{start}"] if start == known[0] else []
        targets.append(f"-gencode=arch=compute_{start},code=[{','.join(codes)}]")
    return targets


def _sources(path: Path) -> dict[str, bytes]:
    """A source and its headers, found by #include "...", keyed by their paths below the source folder."""
    root, found, pending = source_root(), {}, [path]
    while pending:
        current = pending.pop()
        name = os.path.relpath(current, root)
        if name in found:
            continue
        try:
            found[name] = current.read_bytes()
        except OSError as error:
            raise DeviceError(f"the kernel source {current} is missing (install gpualign again)") from error
        for include in _INCLUDE.findall(found[name]):
            sibling, below = current.parent / include.decode(), root / include.decode()
            pending.append(sibling if sibling.is_file() else below)
    return found


def _write_whole(path: Path, data: bytes) -> None:
    """Write under a private name and rename, so that two processes never see half a file."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".kernel-")
    try:
        with undone_at_the_end(lambda: os.unlink(temporary)), os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
