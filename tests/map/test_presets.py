"""minimap2's names of presets, and its -ax."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpualign import Mapper, UsageError
from gpualign.map.params import PRESET_ALIASES, PRESETS, MapParams
from tests.helpers.files import write_fasta
from tests.helpers.sam import records
from tests.helpers.sequences import random_genome

Cli = Callable[..., tuple[int, bytes, str]]


@pytest.mark.parametrize(
    ("name", "preset"),
    [("map-ont", "ont"), ("map-pb", "ont"), ("map-hifi", "hifi"), ("lr:hq", "hifi"), ("short", "sr"), ("lr", "ont")],
)
def test_names_of_minimap2(name: str, preset: str) -> None:
    assert MapParams.of_preset(name) == MapParams.of_preset(preset)


def test_aliases_are_of_presets_and_hide_none() -> None:
    assert set(PRESET_ALIASES.values()) <= PRESETS.keys()
    assert not PRESET_ALIASES.keys() & PRESETS.keys()
    with pytest.raises(UsageError, match="unknown preset dna"):
        Mapper(["ACGT" * 20], "dna")


@pytest.fixture
def repeats(tmp_path: Path) -> tuple[Path, Path]:
    """A reference with one sequence at two loci, and a read of it."""
    copy = random_genome(1, 1500)
    reference = "".join((random_genome(2, 2000), copy, random_genome(3, 2000), copy, random_genome(4, 2000)))
    return write_fasta(tmp_path / "r.fa", [reference]), write_fasta(tmp_path / "q.fa", [copy])


@pytest.mark.parametrize("word", ["-ax", "-aYx", "-Yax"])
def test_ax_is_minimap2s(repeats: tuple[Path, Path], cli: Cli, word: str) -> None:
    """One record, as without -a; --all finds the second copy."""
    for preset, own in (("map-ont", "ont"), ("short", "sr")):
        status, output, errors = cli("map", word, preset, *repeats)
        assert status == 0, errors
        assert records(output) == records(cli("map", "-x", own, *repeats)[1])
        assert len(records(output)) == 1
        assert records(cli("map", f"{word}{preset}", *repeats)[1]) == records(output)


@pytest.mark.parametrize("words", [["-a", "-x", "sr"], ["--all"], ["-xsr", "-a"]])
def test_a_alone_is_all(repeats: tuple[Path, Path], cli: Cli, words: list[str]) -> None:
    assert len(records(cli("map", *words, *repeats)[1])) == 2


def test_unknown_presets_are_refused(repeats: tuple[Path, Path], cli: Cli) -> None:
    status, _, errors = cli("map", "-ax", "dna", *repeats)
    assert status == 2
    assert "'dna' is not one of 'sr'" in errors
