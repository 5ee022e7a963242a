"""Parameters have one table: the fields of their dataclasses, for the command line and for Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner

import gpualign
from gpualign.errors import UsageError
from gpualign.fields import REQUIRED, check_choices, parameter, take, takes_keywords
from gpualign.options import options_of, sections


@dataclass(frozen=True)
class Baking:
    loaves: int = parameter(REQUIRED, "-n --loaves", "How many.", under="Amount")
    heat: float = parameter(230.5, "--heat", "In degrees, see -f.", under="Oven")
    flour: Literal["rye", "wheat"] = parameter("rye", "-f --flour", "Which kind.", under="Amount")
    rise: int | Literal["auto"] = parameter("auto", "--rise", "Hours.", under="Oven")
    lid: bool = parameter(True, "--no-lid", "Leave the lid off.", under="Oven")
    steam: bool = parameter(False, "--steam/--no-steam", "Steam.  [default: by the flour]", under="Oven")
    room: int | None = parameter(1 << 20, "--room", "Room.", under="Oven", unit="bytes")
    seeds: tuple[str, ...] = parameter((), "--seeds", "On top.", under="Amount", metavar="LIST", show_default=False)
    note: str | None = None

    def __post_init__(self) -> None:
        check_choices(self)


@click.command("bake")
@options_of(Baking)
def bake(**values: Any) -> None:
    print(take(Baking, values | {"other": 1}))


@takes_keywords(Baking, without=["room"])
def baked(loaves: int, *, device: str = "auto", **parameters: Any) -> Baking:
    """Bread."""
    return Baking(loaves, **parameters)


def run(*words: str) -> str:
    return CliRunner().invoke(bake, words).output.strip()


def test_a_field_is_an_option_of_its_type() -> None:
    assert run("-n", "2") == str(Baking(2))
    given = Baking(3, 1.5, "wheat", 4, False, True, 3 << 20, ("poppy", "sesame"))
    words = "--loaves 3 --heat 1.5 -f wheat --rise 4 --no-lid --steam --room 3M --seeds poppy,,sesame,"
    assert run(*words.split()) == str(given)
    assert run("-n", "1", "--no-steam", "--rise", "auto") == str(Baking(1))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "Missing option '-n' / '--loaves'"),
        ("-n 1.5", "'1.5' is not a valid integer"),
        ("-n 1 -f oats", "'oats' is not one of 'rye', 'wheat'"),
        ("-n 1 --rise soon", "'soon' is neither a whole number nor auto"),
        ("-n 1 --seeds ,", "no word is given"),
        ("-n 1 --room big", "'big' is not a size"),
    ],
)
def test_what_is_none_of_its_values(words: str, message: str) -> None:
    assert message in run(*words.split())


def test_help_has_headings_and_defaults() -> None:
    found = sections(bake, click.Context(bake))
    assert {heading: [option.name for option in options] for heading, options in found.items()} == {
        "Amount": ["loaves", "flour", "seeds"],
        "Oven": ["heat", "rise", "lid", "steam", "room", bake.get_params(click.Context(bake))[-1].name],
    }
    text = " ".join(run("--help").split())
    assert "--heat FLOAT In degrees, see -f. [default: 230.5]" in text
    assert "-f, --flour [rye|wheat] Which kind. [default: rye]" in text
    assert "--no-lid Leave the lid off. --steam" in text
    assert "Steam. [default: by the flour]" in text
    assert "--room SIZE Room. [default: 1M]" in text


def test_words_are_checked_in_python_as_well() -> None:
    for wrong, message in (
        ({"flour": "oats"}, "flour must be one of rye, wheat, not 'oats'"),
        ({"rise": "soon"}, "rise must be one of auto, not 'soon'"),
    ):
        with pytest.raises(UsageError, match=message):
            Baking(1, **wrong)  # type: ignore[arg-type]
    assert Baking(1, rise=3).rise == 3


def test_a_function_has_the_fields_as_keywords() -> None:
    shown = {name: each.default for name, each in inspect.signature(baked).parameters.items()}
    assert list(shown) == ["loaves", "device", "heat", "flour", "rise", "lid", "steam", "seeds", "note"]
    assert (shown["heat"], shown["lid"], shown["device"]) == (230.5, True, "auto")
    assert baked.__doc__ is not None
    assert "    heat: In degrees, see flour.\n    flour ('rye', 'wheat'): Which kind.\n" in baked.__doc__
    assert baked(2, flour="wheat") == Baking(2, flour="wheat")
    with pytest.raises(UsageError, match=r"baked\(\) has no keyword 'flower' \(did you mean 'flour'\?\)"):
        baked(2, flower="rye")
    with pytest.raises(UsageError, match=r"baked\(\) has no keyword 'room'"):
        baked(2, room=1)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "search": lambda **more: gpualign.search(["ACGT"], ["ACGT"], 1, **more),
    "iter_search": lambda **more: gpualign.iter_search(["ACGT"], ["ACGT"], 1, **more),
    "verify": lambda **more: gpualign.verify(["ACGT"], ["ACGT"], **more),
    "lcs_filter": lambda **more: gpualign.lcs_filter("ACGT", ["ACGT"], **more),
    "cluster": lambda **more: gpualign.cluster(["ACGT"], 0.9, **more),
    "pairwise": lambda **more: gpualign.pairwise(["ACGT", "ACGT"], **more),
    "Mapper": lambda **more: gpualign.Mapper(["ACGT" * 9], **more),
    "sort": lambda **more: gpualign.sort("in.bam", "out.bam", **more),
    "mark_duplicates": lambda **more: gpualign.mark_duplicates("in.bam", "out.bam", **more),
}


@pytest.mark.parametrize(
    ("name", "wrong", "meant"),
    [
        ("search", "overhangcost", "overhang_cost"),
        ("iter_search", "max_bulge", "max_bulges"),
        ("verify", "maxerrors", "max_errors"),
        ("lcs_filter", "keepties", "keep_ties"),
        ("cluster", "gapopen", "gap_open"),
        ("pairwise", "iddef_identity_definition", "identity_definition"),
        ("Mapper", "max_hit", "max_hits"),
        ("sort", "compression", "compression_level"),
        ("mark_duplicates", "optical_dist", "optical_distance"),
    ],
)
def test_a_wrong_keyword_is_answered_with_the_nearest_field(name: str, wrong: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"{name}\(\) has no keyword '{wrong}' \(did you mean '{meant}'\?\)"):
        FUNCTIONS[name](**{wrong: 1})


@pytest.mark.parametrize("wrong", ["best", "whole_records", "size_in", "seeding", "hold"])
def test_fields_of_the_command_line_alone_are_no_keywords(wrong: str) -> None:
    name = {"best": "verify", "whole_records": "lcs_filter", "size_in": "cluster", "seeding": "Mapper"}
    with pytest.raises(UsageError, match=f"has no keyword '{wrong}'"):
        FUNCTIONS[name.get(wrong, "sort")](**{wrong: True})
