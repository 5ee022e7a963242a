"""One table of a command's parameters: the fields of its params dataclasses.

A field has its default, the spellings of its option, its heading and its help text once. The command line makes options
of them (:func:`gpualign.options.options_of`), and a Python function its keywords, their defaults and their help
(:func:`takes_keywords`).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeVar, cast

from gpualign.errors import UsageError

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
#: the default of an option that must be given
REQUIRED = dataclasses.MISSING
#: the width of a docstring's lines
_WIDTH = 120


class Option(NamedTuple):
    """How the command line has a field.

    Attributes:
        names: spellings, such as -k and --max-errors.
        heading: of the options' group in --help.
        help: what the field means; says the default in brackets where that of the dataclass is not the whole truth.
        more: arguments of :func:`click.option` that do not follow from the field's type, and: "unit", "bytes" or
            "bases", of numbers that may have K, M or G; "limits" of a whole number; "show_default" in --help.
    """

    names: tuple[str, ...]
    heading: str
    help: str
    more: dict[str, Any]


def parameter(default: Any, names: str, help: str, *, under: str, **more: Any) -> Any:
    """A field that is an option of the command line, see :class:`Option`.

    The option's type follows from the field's: a flag, INT, FLOAT, words separated by commas for a tuple, or one of the
    words of a Literal. The flag of a field that is True by default sets it to False.

    Args:
        names: spellings, separated by blanks.
    """
    return dataclasses.field(default=default, metadata={"option": Option(tuple(names.split()), under, help, more)})


def option_of(field: dataclasses.Field[Any]) -> Option | None:
    """The option of a field; None: the command line has none."""
    return cast("Option | None", field.metadata.get("option"))


@functools.cache
def types_of(kind: type[Any]) -> dict[str, tuple[tuple[Any, ...], tuple[type[Any], ...]]]:
    """The words that each field of a dataclass can be, in order, and the types of its other values."""
    hints = typing.get_type_hints(kind)
    found = {}
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        each = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
        words = [word for one in each if typing.get_origin(one) is Literal for word in typing.get_args(one)]
        plain = (typing.get_origin(one) or one for one in each)
        found[field.name] = tuple(words), tuple(one for one in plain if isinstance(one, type))
    return found


def check_choices(params: Any) -> None:
    """Refuse words that a dataclass's fields cannot be.

    Raises:
        UsageError: names the field and its words.
    """
    for name, (words, others) in types_of(type(params)).items():  # type: ignore[arg-type]
        value = getattr(params, name)
        if words and value not in words and not isinstance(value, others):
            raise UsageError(f"{name.replace('_', ' ')} must be one of {', '.join(words)}, not {value!r}")


def take(kind: type[T], values: dict[str, Any]) -> T:
    """Remove a dataclass's fields from a command's values and construct it; what is None has its default."""
    fields = [field for field in dataclasses.fields(kind) if field.name in values]  # type: ignore[arg-type]
    taken = [(field, values.pop(field.name)) for field in fields]
    return kind(**{field.name: value for field, value in taken if value is not None or field.default is REQUIRED})


def takes_keywords(*kinds: type[Any], without: Iterable[str] = (), also: Iterable[str] = ()) -> Callable[[F], F]:
    """Decorate a public function so that its ``**keywords`` are the fields of dataclasses, in its signature and in its
    help, too; an unknown keyword is refused with the nearest known one.

    Args:
        without: fields that are no keywords.
        also: keywords that are no fields.
    """

    def decorated(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        left_out = {*without, *(p.name for p in own)}
        fields = {field.name: (kind, field) for kind in kinds for field in dataclasses.fields(kind)}
        fields = {name: found for name, found in fields.items() if name not in left_out}
        shown = signature.replace(parameters=[*own, *(_keyword(field) for _, field in fields.values())])
        known = {*shown.parameters, *also}

        @functools.wraps(function)
        def call(*arguments: Any, **given: Any) -> Any:
            if not given.keys() <= known:
                name = function.__qualname__.removesuffix(".__init__")
                raise _unknown(name, next(word for word in given if word not in known), sorted(known - {"self"}))
            return function(*arguments, **given)

        vars(call)["__signature__"] = shown
        call.__doc__ = _with_keywords(function.__doc__, fields, _spellings(kinds))
        return cast("F", call)

    return decorated


def _keyword(field: dataclasses.Field[Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is REQUIRED else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)


def _unknown(function: str, keyword: str, known: Iterable[str]) -> UsageError:
    from difflib import get_close_matches  # nothing else needs it

    near = get_close_matches(keyword, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"see help(gpualign.{function})"
    return UsageError(f"{function}() has no keyword {keyword!r} ({hint})")


def _spellings(kinds: Iterable[type[Any]]) -> dict[str, str]:
    """The fields of options."""
    each = ((field.name, option_of(field)) for kind in kinds for field in dataclasses.fields(kind))
    return {spelling: name for name, found in each if found is not None for spelling in found.names}


def _with_keywords(
    text: str | None, fields: dict[str, tuple[type[Any], dataclasses.Field[Any]]], spellings: dict[str, str]
) -> str | None:
    """A docstring with a section of the fields that are options, whose help names fields in place of options."""
    told = {name: (kind, found) for name, (kind, field) in fields.items() if (found := option_of(field)) is not None}
    if text is None or not told:
        return text
    lines = ["Keywords:"]
    for name, (kind, found) in told.items():
        words = ", ".join(map(repr, types_of(kind)[name][0]))  # type: ignore[arg-type]
        help = re.sub(r"(?<![\w-])--?[A-Za-z][\w-]*", lambda option: spellings.get(option[0], option[0]), found.help)
        help = re.sub(r"\s*\[default: [^]]*\]", "", help)
        whole = f"{name}{f' ({words})' if words else ''}: {help}"
        lines += textwrap.wrap(whole, _WIDTH, initial_indent="    ", subsequent_indent="        ")
    return f"{inspect.cleandoc(text)}\n\n" + "\n".join(lines) + "\n"
