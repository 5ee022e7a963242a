"""What packages and wrappers say is what the project is: versions, dependencies, options; and the smoke test."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pysam
import pytest
import yaml

import gpualign
from gpualign.cli import COMMANDS, cli
from tests.helpers.commands import program
from tests.helpers.paths import GENOMES, ROOT

PACKAGING = ROOT / "packaging"
PYPROJECT = (ROOT / "pyproject.toml").read_text()


def recipe(platform: str = "linux-64", path: Path = PACKAGING / "conda" / "recipe.yaml") -> Any:
    """A conda recipe as rattler-build renders it; it refuses what the format does not have."""
    rattler = pytest.importorskip("rattler_build")
    compilers = {"cxx_compiler": ["gxx"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]}
    variants = rattler.VariantConfig({"python": ["3.12"], **compilers})
    settings = rattler.RenderConfig(platform=rattler.PlatformConfig(target_platform=platform))
    (rendered,) = rattler.Stage0Recipe.from_file(path).render(variants, settings)
    return rendered.recipe.to_dict()


def test_versions_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    versions = {
        gpualign.__version__,
        re.search(r'^version = "(.+)"', PYPROJECT, re.MULTILINE)[1],  # type: ignore[index]
        str(citation["version"]),
        re.search(r'^  version: "(.+)"', (PACKAGING / "conda" / "recipe.yaml").read_text(), re.MULTILINE)[1],  # type: ignore[index]
    }
    pinned = [path.read_text() for path in PACKAGING.rglob("*") if path.suffix in (".nf", ".yml", ".yaml")]
    versions |= set(re.findall(r"gpualign[ :=]=?(\d+\.\d+\.\d+)", "".join(pinned)))
    assert len(versions) == 1
    assert f"## {gpualign.__version__}" in (ROOT / "CHANGES.md").read_text()


def test_recipe_has_the_same_dependencies() -> None:
    block = re.search(r"^dependencies = \[\n(.*?)^\]", PYPROJECT, re.DOTALL | re.MULTILINE)
    assert block is not None
    wanted = set(re.findall(r'"([\w-]+)(>=[\d.]+)"', block[1]))
    found = {tuple(entry.split(" ")) for entry in recipe()["requirements"]["run"]} - {("python",)}
    assert recipe("linux-aarch64")["requirements"]["run"] == recipe()["requirements"]["run"]
    assert found == {(f"python-{name}" if name in ("isal", "zlib-ng") else name, version) for name, version in wanted}


def test_a_release_is_dated_tagged_and_has_a_recipe(tmp_path: Path) -> None:
    """On a copy of the files that name the version; nothing else is committed."""
    for path in ("packaging", "gpualign/version.py", "pyproject.toml", "CITATION.cff", "CHANGES.md"):
        copy = shutil.copytree if (ROOT / path).is_dir() else shutil.copy
        (tmp_path / path).parent.mkdir(exist_ok=True)
        copy(ROOT / path, tmp_path / path)
    changes = tmp_path / "CHANGES.md"
    changes.write_text(changes.read_text().replace("# Changes\n", "# Changes\n\n## 7.8.9 (not released)\n", 1))
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]

    def git(*words: str) -> str:
        command = ["git", *settings, *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True).stdout

    def release(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "packaging/release.py", *words]
        known = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **known}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "before")
    assert release("prepare", "9.9.9").returncode == 1  # CHANGES.md lacks it
    assert git("status", "--short") == ""
    assert release("prepare", "7.8.9", "--date", "2030-02-01").returncode == 0
    assert "## 7.8.9 (2030-02-01)\n" in changes.read_text()
    assert yaml.safe_load((tmp_path / "CITATION.cff").read_text())["version"] == "7.8.9"
    (tmp_path / "packaging" / "smoke.sh").write_text("another change\n")
    refused = release("tag")
    assert refused.returncode == 1
    assert "packaging/smoke.sh" in refused.stderr
    git("checkout", "packaging/smoke.sh")
    assert release("tag").returncode == 0
    assert git("describe") == "v7.8.9\n"
    pinned = git("grep", "-hoE", r"\b7\.8\.9\b", "--", "packaging", "gpualign", "pyproject.toml").splitlines()
    assert len(pinned) == 7
    assert release("prepare", "7.8.9").returncode == 1  # tagged already
    sdist = tmp_path / "gpualign-7.8.9.tar.gz"
    sdist.write_bytes(b"abc")
    assert release("conda", sdist.name).returncode == 0
    source = recipe(path=tmp_path / "build" / "conda" / "recipe.yaml")["source"][0]
    assert source["url"] == "https://pypi.org/packages/source/g/gpualign/gpualign-7.8.9.tar.gz"
    assert source["sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1


def test_hosted_checks_run_what_is_here() -> None:
    """The workflows call .ci/run and make targets that there are, for the Pythons that pyproject.toml names."""
    ci, release = ((ROOT / ".github" / "workflows" / f"{name}.yml").read_text() for name in ("ci", "release"))
    assert "- run: .ci/run\n" in ci
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    jobs = yaml.safe_load(ci)["jobs"]
    called = {*re.findall(r"run: make ([a-z-]+)", ci + release), *jobs["nightly"]["strategy"]["matrix"]["target"]}
    assert called <= targets
    named = re.findall(r"Python :: (3\.\d+)", PYPROJECT)
    assert jobs["pythons"]["strategy"]["matrix"]["python"] == named
    asked = next(step["with"] for step in yaml.safe_load(release)["jobs"]["wheels"]["steps"] if "setup-py" in str(step))
    assert sorted(asked["python-version"].split()) == named
    assert yaml.safe_load(release)["jobs"]["pypi"]["permissions"] == {"id-token": "write"}
    for path in re.findall(r"tests/[\w/]+", re.sub(r"\{.*\}", "api", ci)):
        assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists()


@pytest.mark.parametrize("path", sorted(PACKAGING.rglob("*.y*ml")), ids=lambda path: str(path.relative_to(PACKAGING)))
def test_yaml_is_yaml(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text()), dict)


@pytest.mark.parametrize("path", ["nf-core/gpualign/map/main.nf", "snakemake/map/wrapper.py"])
def test_wrappers_name_options_that_there_are(path: str) -> None:
    command = cli.get_command(click.Context(cli), "map")
    assert command is not None
    known = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
    text = (PACKAGING / path).read_text()
    run = text.partition("script:")[2] or text
    named = set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+|-[a-zA-Z])(?![\w-])", run))
    assert named & {"--threads", "-t"}
    assert named <= known


def test_smoke() -> None:
    done = subprocess.run(
        ["sh", str(PACKAGING / "smoke.sh"), str(Path(sys.executable).parent)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"gpualign {gpualign.__version__}\ngpualign works\n"


def test_manual_pages_have_the_groups_of_the_help(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(PACKAGING / "make_man.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    pages = {path.name: path.read_text(encoding="ascii") for path in tmp_path.iterdir()}
    assert set(pages) == {"gpualign.1", *(f"gpualign-{name}.1" for name in COMMANDS)} == set(done.stdout.split())
    headings = re.findall(r"^\.SS (.+)$", pages["gpualign-map.1"], re.MULTILINE)
    assert headings[:3] == ["Reads", "Kind of reads", "Pairs"]
    assert headings[-1] == "Running"
    options = pages["gpualign-map.1"].partition(".SH OPTIONS")[2]
    assert "\n.B \\-x, \\-\\-preset" in options
    if shutil.which("groff"):
        for path in tmp_path.iterdir():
            command = ["groff", "-man", "-Tutf8", "-ww", path]
            shown = subprocess.run(command, capture_output=True, timeout=60, check=True)
            assert shown.stderr == b""


def test_multiqc_table(tmp_path: Path) -> None:
    reports = {
        "a": {"tool": "gpualign", "reads": 200, "mapped": 150, "wall_s": 1.5, "peak_rss_mb": 70},
        "b": {"tool": "gpualign", "reads": 10, "mapped": 10, "properly_paired": 8, "insert_size": {"mean": 312.5}},
        "c": {"tool": "another"},
        "d": {"tool": "gpualign", "reads": 4, "conversion": {"CpG": [30, 10], "rate_outside_cpg": 0.99}},
        "e": {"tool": "gpualign", "samples": [{"sample": "f", "reads": 2}, {"sample": "g", "error": "no such file"}]},
    }
    for name, report in reports.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    (tmp_path / "h.json").write_text("no JSON")
    command = [sys.executable, "-m", "gpualign.multiqc", *map(str, sorted(tmp_path.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    content = json.loads(done.stdout)
    assert content["data"] == {
        "a": {"reads": 200, "wall_s": 1.5, "peak_rss_mb": 70, "mapped_percent": 75.0},
        "b": {"reads": 10, "mapped_percent": 100.0, "proper_percent": 80.0, "insert_mean": 312.5},
        "d": {"reads": 4, "cpg_percent": 75.0, "converted_percent": 99.0},
        "f": {"reads": 2},
    }
    assert set(content["headers"]) == {name for values in content["data"].values() for name in values}
    assert content["plot_type"] == "table"


def with_program(name: str) -> dict[str, str]:
    """An environment in which ``name`` and gpualign are found, where they are installed next to this Python."""
    folder = Path(sys.executable).parent
    if not (folder / name).exists():
        pytest.skip(f"needs {name} (pip install {name})")
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "GPUALIGN_CACHE_DIR": "/nonexistent"}


def mapped_samples(folder: Path) -> Path:
    """A report of two samples and of one that failed."""
    reads = ROOT / "examples" / "data" / "SRR059298_25k.fastq.gz"
    (folder / "sheet.csv").write_text(f"sample,fastq_1\nbee_one,{reads}\nbee_two,{reads}\ngone,gone.fq\n")
    report = folder / "all.json"
    words = ["map", GENOMES, "--samples", folder / "sheet.csv", "-o", folder / "out", "--json", report]
    assert subprocess.run(program(*words), capture_output=True, timeout=120, check=False).returncode == 3
    return report


def test_multiqc_shows_our_samples(tmp_path: Path) -> None:
    """By its plugin, which is found where both are installed."""
    environment = with_program("multiqc")
    mapped_samples(tmp_path)
    command = ["multiqc", "--no-version-check", "--quiet", "-o", str(tmp_path / "report"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    table = tmp_path / "report" / "multiqc_data" / "multiqc_general_stats.txt"
    header, *lines = table.read_text().splitlines()
    rows = {line.split("\t")[0]: dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines}
    assert list(rows) == ["bee_one", "bee_two"]
    assert {float(row["gpualign-reads"]) for row in rows.values()} == {25_000}
    assert "bee_two" in (tmp_path / "report" / "multiqc_report.html").read_text()


def test_snakemake_runs_the_wrapper(tmp_path: Path) -> None:
    environment = with_program("snakemake")
    shutil.copytree(PACKAGING / "snakemake" / "map", tmp_path / "map")
    work = tmp_path / "map" / "test"
    shutil.copy(GENOMES, work / "genomes.fa")
    shutil.copy(ROOT / "examples" / "data" / "SRR059298_25k.fastq.gz", work / "bee.fastq.gz")
    command = ["snakemake", "--cores", "1", "mapped/bee.bam", "by_index/bee.sam"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, env=environment, cwd=work)
    assert done.returncode == 0, done.stderr
    with pysam.AlignmentFile(str(work / "mapped" / "bee.bam")) as bam:
        assert bam.header.to_dict()["HD"]["SO"] == "coordinate"
        assert sum(1 for _ in bam) >= 25_000
        assert bam.has_index()
    assert json.loads((work / "mapped" / "bee.json").read_text())["reads"] == 25_000
    assert "PERCENT_DUPLICATION" in (work / "mapped" / "bee.metrics.txt").read_text()
    assert (work / "by_index" / "bee.sam").stat().st_size > 1_000_000


def test_pycuda_is_built_for_all_pythons_without_curand(tmp_path: Path) -> None:
    """Of the version that the extra allows, with headers from packages and a stub that has the functions of cuda.h."""
    headers = tmp_path / "nvidia" / "cuda_runtime" / "include"
    headers.mkdir(parents=True)
    (headers / "cuda.h").write_text("#define cuInit cuInit_v2\nCUresult CUDAAPI cuInit(unsigned int Flags);\n")
    (headers / "cudaGL.h").write_text("CUresult CUDAAPI cuGLGetDevices(void);\n")
    code = """
import json, sys
from pathlib import Path
import pycuda_wheels as wheels
config = {}
exec(wheels.settings(Path("/headers"), [Path("/stubs"), Path("/old")], ["-lold"]), config)
del config["__builtins__"]
stubs = wheels.driver_stub(Path(sys.argv[1]) / "stubs", Path(sys.argv[1]))
symbols = wheels.run("nm", "-D", "--defined-only", stubs / "libcuda.so.1").split()
print(json.dumps([wheels.VERSION, wheels.PYTHONS, config, symbols]))
"""
    command = [sys.executable, "-c", code, tmp_path]
    done = subprocess.run(command, cwd=PACKAGING, capture_output=True, text=True, timeout=60, check=True)
    version, pythons, config, symbols = json.loads(done.stdout)
    least = re.search(r'"pycuda>=([\d.]+)"', PYPROJECT)
    oldest = re.search(r'requires-python = ">=3\.(\d+)"', PYPROJECT)
    assert least is not None
    assert oldest is not None
    assert [int(part) for part in version.split(".")] >= [int(part) for part in least[1].split(".")]
    assert pythons == [f"3.{minor}" for minor in range(int(oldest[1]), 15)]
    assert config["CUDA_ENABLE_CURAND"] is False
    assert config["CUDADRV_LIB_DIR"] == ["/stubs", "/old"]
    assert "/headers/nvidia/cuda_runtime/include" in config["CUDA_INC_DIR"]
    assert config["LDFLAGS"][-1] == "-lold"
    assert {symbol for symbol in symbols if symbol.startswith("cu")} == {"cuInit", "cuInit_v2", "cuGLGetDevices"}


def test_old_c_libraries_wait_until_a_steady_clock(tmp_path: Path) -> None:
    """What wheels have in place of a function that the C library they are linked for lacks."""
    (tmp_path / "wait.c").write_text("""
        #include <errno.h>
        #include <pthread.h>
        #include <time.h>
        int pthread_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
        int main(void) {
            pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
            pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
            for (long wait = -400000000; wait <= 900000000; wait += 325000000) {
                struct timespec end, now;
                clock_gettime(CLOCK_MONOTONIC, &end);
                end.tv_nsec += wait;
                if (end.tv_nsec < 0) end.tv_sec--, end.tv_nsec += 1000000000;
                if (end.tv_nsec >= 1000000000) end.tv_sec++, end.tv_nsec -= 1000000000;
                pthread_mutex_lock(&mutex);
                if (pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &end) != ETIMEDOUT) return 1;
                pthread_mutex_unlock(&mutex);
                clock_gettime(CLOCK_MONOTONIC, &now);
                if (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec)) return 2;
            }
            return 0;
        }
    """)
    sources = (PACKAGING / "glibc.c", tmp_path / "wait.c")
    subprocess.run(["gcc", "-O1", *sources, "-o", tmp_path / "wait"], check=True)
    assert subprocess.run([tmp_path / "wait"], check=False, timeout=60).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(not list((ROOT / "dist").glob("gpualign-*.whl")), reason="make wheel has not run")
def test_wheels_install_without_a_compiler() -> None:
    """Into empty environments of every Python at hand."""
    wheels = sorted(map(str, (ROOT / "dist").glob("*.whl")))
    command = [sys.executable, str(PACKAGING / "try_wheels.py"), *wheels]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert "the smoke test passes" in done.stdout
