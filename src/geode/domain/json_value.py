"""JSON as a value: what may enter the domain, and how it is written.

Spec section 3, law 9: lone surrogates are replaced, NaN and Infinity are refused, non-ASCII is
written unescaped.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

JsonObject: TypeAlias = Mapping[str, Any]

# Encoders and validators recurse: what is deeper than this would fail later, and worse.
MAX_DEPTH: Final = 100
# Python writes no integer of more than 4300 digits.
MAX_INTEGER_BITS: Final = 14_000

_SHOWN: Final = 80

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def clean_text(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it can always be sent as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # A pair of surrogates is one character that some decoder left in two halves: join it first.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_json(value: object) -> Any:
    """A copy of `value` that is plain JSON. Raises ValueError naming the JSON pointer of what is not."""
    try:
        return _clean(value, 0)
    except _Unclean as found:
        place = "".join(f"/{pointer_part(step)}" for step in reversed(found.path))
        shown = place if len(place) <= _SHOWN else f"{place[:_SHOWN]}…"
        raise ValueError(f"{shown or '/'} {found.what}") from None


class _Unclean(Exception):
    """Something that is no JSON; `path` is filled on the way out, innermost step first."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.path: list[str] = []


def _clean(value: object, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise _Unclean(f"is nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return clean_text(value)
        case None | bool():
            return value
        case int():
            if value.bit_length() > MAX_INTEGER_BITS:
                raise _Unclean(f"is an integer of more than {MAX_INTEGER_BITS} bits")
            return value
        case float():
            if not math.isfinite(value):
                raise _Unclean(f"is {value}, which JSON cannot carry")
            return value
        case dict() | Mapping():
            return _clean_object(cast("Mapping[object, object]", value), depth + 1)
        case list() | tuple():
            return _clean_list(cast("Sequence[object]", value), depth + 1)
        case _:
            raise _Unclean(f"is of type {type(value).__name__}, which JSON cannot carry")


def _clean_list(value: Sequence[object], depth: int) -> list[Any]:
    cleaned: list[Any] = []
    for index, item in enumerate(value):
        try:
            cleaned.append(_clean(item, depth))
        except _Unclean as found:
            found.path.append(str(index))
            raise
    return cleaned


def _clean_object(value: Mapping[object, object], depth: int) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _Unclean(f"has the key {key!r}; keys must be strings")
        try:
            cleaned[clean_text(key)] = _clean(item, depth)
        except _Unclean as found:
            found.path.append(key)
            raise
    return cleaned


def pointer_part(key: str) -> str:
    """`key` as one step of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def dump_json(value: object) -> str:
    """Compact JSON text, non-ASCII unescaped. The value must already be plain JSON."""
    return _ENCODER.encode(value)


def dump_bytes(value: object) -> bytes:
    """`dump_json` as UTF-8."""
    return _ENCODER.encode(value).encode()


def same_json(one: object, other: object) -> bool:
    """Whether two JSON values are equal: key order is ignored, 1 equals 1.0, and unlike in Python 1 is not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return one == other


def canonical_json(value: object) -> str:
    """One ASCII text for all JSON values that are equal in the sense of `same_json`."""
    return json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _canonical(value: object) -> object:
    match value:
        case float() if value.is_integer():
            return int(value)
        case Mapping():
            return {key: _canonical(item) for key, item in cast("Mapping[str, object]", value).items()}
        case list() | tuple():
            return [_canonical(item) for item in cast("Sequence[object]", value)]
        case _:
            return value


def exact_json(value: object) -> str:
    """`dump_json` for what must go back as it came: a lone surrogate stays, as an escape."""
    text = dump_json(value)
    if text.isascii() or clean_text(text) == text:
        return text
    return json.dumps(value, separators=(",", ":"))
