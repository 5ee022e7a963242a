"""Rules of numbers that all commands and Python functions share."""

from __future__ import annotations

import dataclasses
import functools
import numbers
from typing import TYPE_CHECKING, Any, cast

from gpualign.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def penalty(value: Any) -> Any:
    """A penalty by its size, as programs write it positive or negative; several in a tuple each."""
    return tuple(map(abs, value)) if isinstance(value, tuple) else None if value is None else abs(value)


def set_penalties(params: Any, *names: str) -> None:
    """Make fields of a frozen dataclass penalties, see :func:`penalty`."""
    for name in names:
        object.__setattr__(params, name, penalty(getattr(params, name)))


def set_whole_numbers(params: Any) -> None:
    """Make the integer fields of a frozen dataclass Python integers; 2.0 and NumPy's 2 are 2.

    Raises:
        UsageError: a field is another number, or none.
    """
    for name, kinds in _integer_fields(type(params)):  # type: ignore[arg-type]
        value = getattr(params, name)
        if type(value) is int or (value is None and "None" in kinds):
            continue
        if isinstance(value, str) and any(kind.startswith(("str", "Literal")) for kind in kinds):
            continue
        if hasattr(value, "__len__") and "tuple[int, ...]" in kinds and not isinstance(value, str):
            whole: Any = tuple(whole_number(name, each) for each in value)
        else:
            whole = whole_number(name, value, share=hasattr(params, "error_rate"))
        object.__setattr__(params, name, whole)


@functools.cache
def _integer_fields(kind: type[Any]) -> list[tuple[str, list[str]]]:
    """Names and annotated types of the fields that can be integers."""
    fields = [(field.name, str(field.type).split(" | ")) for field in dataclasses.fields(kind)]
    return [(name, kinds) for name, kinds in fields if "int" in kinds]


def whole_number(name: str, value: Any, share: bool = False) -> int:
    """A value as int.

    Args:
        name: of the parameter.
        share: errors can be given as a share of the length, too.

    Raises:
        UsageError: it is not a whole number.
    """
    if isinstance(value, numbers.Integral) or (isinstance(value, numbers.Real) and float(value).is_integer()):
        return int(cast("float", value))
    hint = " (a share of the length is error_rate)" if share and name == "max_errors" else ""
    raise UsageError(f"{name.replace('_', ' ')} must be a whole number, not {value!r}{hint}")


def whole_numbers(name: str, values: Any) -> NDArray[np.int64]:
    """An array of whole numbers as int64, of any shape.

    Raises:
        UsageError: one of them is not whole, or the rows differ in length.
    """
    import numpy as np  # the command line needs none

    try:
        array = np.asarray(values)
        with np.errstate(invalid="ignore"):  # of numbers that are refused below
            whole = array.astype(np.int64)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"{name} must be whole numbers in rows of one length") from None
    if array.size and array.dtype.kind not in "iu" and not np.array_equal(whole, array):
        raise UsageError(f"{name} must be whole numbers, not {array[whole != array][0]}")
    return whole


def several(name: str, values: Any) -> tuple[Any, ...]:
    """Several texts as a tuple.

    Raises:
        UsageError: there is one text, not a list of them.
    """
    if isinstance(values, str | bytes):
        raise UsageError(f"{name.replace('_', ' ')} is a list of texts, not one: [{values!r}]")
    return tuple(values)
