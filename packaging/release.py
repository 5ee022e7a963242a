"""The steps of a release that are not ``make wheel``: one version and one date everywhere, a tag, a checksum.

    python packaging/release.py prepare 0.3.0             # version and date into every file that names them
    python packaging/release.py tag                       # commits them and tags the commit
    python packaging/release.py conda dist/*.tar.gz       # the conda recipe of the published sources, into build/conda

Nothing is pushed. ``prepare`` refuses a version that CHANGES.md lacks or that is tagged already.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: file -> what stands around the version there
VERSIONS = {
    "pyproject.toml": (r'^version = "', '"'),
    "gpualign/version.py": (r'^__version__ = "', '"'),
    "CITATION.cff": (r"^version: ", "$"),
    "packaging/conda/recipe.yaml": (r'^  version: "', '"'),
    "packaging/nf-core/gpualign/map/environment.yml": ("bioconda::gpualign=", "$"),
    "packaging/nf-core/gpualign/map/main.nf": ("gpualign:", "--"),
    "packaging/snakemake/map/environment.yaml": ("gpualign =", "$"),
}
RECIPE = "packaging/conda/recipe.yaml"
#: where the recipe has its sources: in a clone the clone itself, for a release PyPI's file
HERE = "  # this clone; packaging/release.py writes URL and checksum of the sources on PyPI\n  path: ../..\n"
PUBLISHED = "  url: https://pypi.org/packages/source/g/gpualign/gpualign-${{ version }}.tar.gz\n  sha256: "


def replaced(text: str, pattern: str, new: str, name: str) -> str:
    """The text with every occurrence of the pattern, one at least, replaced but for its groups."""
    text, count = re.subn(pattern, lambda match: "".join(match.groups()) + new, text, flags=re.MULTILINE)
    return text if count else sys.exit(f"release: {name} has nothing that looks like {pattern}")


def with_version(name: str, text: str, version: str) -> str:
    before, after = VERSIONS[name]
    return replaced(text, rf"({before})\d[\d.]*\d(?={after})", version, name)


def dated(changes: str, version: str, day: str) -> str:
    """CHANGES.md with the day next to the version; a day that stands there already is another one."""
    return replaced(changes, rf"^## {re.escape(version)} \(.+\)$", f"## {version} ({day})", "CHANGES.md")


def cited(citation: str, day: str) -> str:
    """CITATION.cff with the day after the version."""
    citation = re.sub(r"^date-released:.*\n", "", citation, flags=re.MULTILINE)
    return re.sub(r"^(version: .*\n)", rf"\1date-released: {day}\n", citation, flags=re.MULTILINE)


def published(recipe: str, version: str, checksum: str) -> str:
    """The recipe with the sources that PyPI has of a version."""
    recipe = with_version(RECIPE, recipe, version)
    return replaced(recipe, re.escape(HERE), f'{PUBLISHED}"{checksum}"\n', RECIPE)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def prepare(version: str, day: str) -> None:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"release: {version} is no version of three numbers")
    if git("tag", "--list", f"v{version}"):
        sys.exit(f"release: v{version} is tagged already")
    texts = {name: with_version(name, (ROOT / name).read_text(), version) for name in VERSIONS}
    texts["CHANGES.md"] = dated((ROOT / "CHANGES.md").read_text(), version, day)
    texts["CITATION.cff"] = cited(texts["CITATION.cff"], day)
    for name, text in texts.items():
        (ROOT / name).write_text(text)
    print(f"{version} of {day} in {', '.join(texts)}; next: python packaging/release.py tag")


def tag() -> None:
    """Commits what ``prepare`` wrote, and nothing else, and tags the commit."""
    version = re.search(r'"(.+)"', (ROOT / "gpualign/version.py").read_text())[1]  # type: ignore[index]
    if f"## {version} (not released)" in (ROOT / "CHANGES.md").read_text():
        sys.exit("release: CHANGES.md has no date: first python packaging/release.py prepare VERSION")
    changed = set(git("diff", "--name-only", "HEAD").splitlines())
    if foreign := sorted(changed - VERSIONS.keys() - {"CHANGES.md"}):
        sys.exit(f"release: commit or undo these changes first: {', '.join(foreign)}")
    if changed:
        git("commit", "--quiet", "--all", "--message", f"Release {version}")
    git("tag", "--annotate", f"v{version}", "--message", f"gpualign {version}")
    print(f"v{version} is tagged; git push --follow-tags publishes it (.github/workflows/release.yml)")


def conda(sdist: Path, out: Path) -> None:
    version = re.fullmatch(r"gpualign-(.+)\.tar\.gz", sdist.name)
    if version is None:
        sys.exit(f"release: {sdist.name} is no sdist of gpualign")
    recipe = published((ROOT / RECIPE).read_text(), version[1], hashlib.sha256(sdist.read_bytes()).hexdigest())
    out.mkdir(parents=True, exist_ok=True)
    (out / "recipe.yaml").write_text(recipe)
    print(out / "recipe.yaml")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    steps = parser.add_subparsers(dest="step", required=True)
    step = steps.add_parser("prepare", help="write version and date into every file that names them")
    step.add_argument("version")
    step.add_argument("--date", default=datetime.date.today().isoformat(), help="of the release [default: today]")
    steps.add_parser("tag", help="commit them and tag the commit")
    step = steps.add_parser("conda", help="write the recipe of the published sources")
    step.add_argument("sdist", type=Path)
    step.add_argument("--out", type=Path, default=ROOT / "build" / "conda")
    given = parser.parse_args()
    if given.step == "prepare":
        prepare(given.version, given.date)
    elif given.step == "tag":
        tag()
    else:
        conda(given.sdist, given.out)


if __name__ == "__main__":
    main()
