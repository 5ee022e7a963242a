"""Rows of tables: tuples whose fields have names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

R = TypeVar("R", bound="Row")


class Row(tuple[Any, ...]):
    """A row: ``row["distance"]``, ``row.distance`` and ``row[2]`` are the same."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()
    _shared: Any = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        return tuple.__getitem__(self, self._fields.index(key) if isinstance(key, str) else key)

    def asdict(self) -> dict[str, Any]:
        """Names and values."""
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self).__bases__[0], self._fields, self._shared, tuple(self))


@lru_cache(64)  # a class takes longer to make than a row
def row_type(base: type[R], fields: tuple[str, ...], shared: Any) -> type[R]:
    """Rows with these fields; ``shared`` is what all of them have in common, hashable."""
    attributes = {name: property(itemgetter(i)) for i, name in enumerate(fields) if not hasattr(base, name)}
    members = {"__slots__": (), "_fields": fields, "_shared": shared, "__doc__": base.__doc__, **attributes}
    return cast("type[R]", type(base.__name__, (base,), members))


def maker(kind: type[R]) -> Callable[[Iterable[Any]], R]:
    """Values -> row."""
    return cast("Callable[[Iterable[Any]], R]", partial(tuple.__new__, kind))


def _restore(base: type[R], fields: tuple[str, ...], shared: Any, values: tuple[Any, ...]) -> R:
    row: R = maker(row_type(base, fields, shared))(values)
    return row
