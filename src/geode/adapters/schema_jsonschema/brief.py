"""Values whose `repr` is short, for jsonschema writes the value into each message, whatever its size."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, Final, cast

# What is smaller may be written into messages as it is.
SMALL_BYTES: Final = 4_096

_TEXT_CHARS: Final = 80
_MEMBERS: Final = 5
_DEPTH: Final = 2


class BriefText(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self)


class BriefList(list[Any]):
    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self)


class BriefObject(dict[str, Any]):
    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self)


def size_of(value: Any) -> float:
    """How many bytes the value takes, roughly: asked of each call, so by the fastest writer that there is."""
    try:
        return len(marshal.dumps(value, 2))
    except ValueError:
        return inf


def brief_copy(value: object, visit: Callable[[], None]) -> Any:
    """The same value, of the types above; `visit` is called for each value in it."""
    visit()
    match value:
        case str():
            return BriefText(value) if len(value) > _TEXT_CHARS else value
        case list() | tuple():
            return BriefList([brief_copy(one, visit) for one in cast("Iterable[object]", value)])
        case Mapping():
            named = cast("Mapping[str, object]", value)
            return BriefObject({brief_copy(name, visit): brief_copy(one, visit) for name, one in named.items()})
        case _:
            return value


def brief(value: object, depth: int = 0) -> str:
    """The value as Python writes it, with the rest of what is long left out and counted."""
    match value:
        case str():
            text = str.__repr__(value[:_TEXT_CHARS])
            return text if len(value) <= _TEXT_CHARS else f"{text}… ({len(value)} characters)"
        case list():
            listed = cast("list[object]", value)
            return f"[{_first((brief(one, depth + 1) for one in listed), len(listed), depth)}]"
        case dict():
            named = cast("dict[str, object]", value)
            members = (f"{brief(name, depth)}: {brief(one, depth + 1)}" for name, one in named.items())
            return f"{{{_first(members, len(named), depth)}}}"
        case _:
            return repr(value)


def _first(members: Iterable[str], count: int, depth: int) -> str:
    if depth > _DEPTH:
        return "…" if count else ""
    shown = [member for member, _ in zip(members, range(_MEMBERS), strict=False)]
    return ", ".join([*shown, f"… {count - _MEMBERS} more"] if count > _MEMBERS else shown)
