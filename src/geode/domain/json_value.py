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


def clean_json(value: object, at: str = "", depth: int = 0) -> Any:
    """A copy of `value` that is plain JSON. Raises ValueError naming the JSON pointer of what is not."""
    if depth > MAX_DEPTH:
        raise ValueError(f"{at[:80]}… is nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return clean_text(value)
        case None | bool():
            return value
        case int():
            if value.bit_length() > MAX_INTEGER_BITS:
                raise ValueError(f"{at or '/'} is an integer of more than {MAX_INTEGER_BITS} bits")
            return value
        case float():
            if not math.isfinite(value):
                raise ValueError(f"{at or '/'} is {value}, which JSON cannot carry")
            return value
        case Mapping():
            return _clean_object(cast("Mapping[object, object]", value), at, depth)
        case list() | tuple():
            items = cast("Sequence[object]", value)
            return [clean_json(item, f"{at}/{index}", depth + 1) for index, item in enumerate(items)]
        case _:
            raise ValueError(f"{at or '/'} is of type {type(value).__name__}, which JSON cannot carry")


def _clean_object(value: Mapping[object, object], at: str, depth: int) -> dict[str, Any]:
    cleaned: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise ValueError(f"{at or '/'} has the key {key!r}; keys must be strings")
        cleaned[clean_text(key)] = clean_json(item, f"{at}/{pointer_part(key)}", depth + 1)
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


def exact_json(value: object) -> str:
    """`dump_json` for what must go back as it came: a lone surrogate stays, as an escape."""
    text = dump_json(value)
    if text.isascii() or clean_text(text) == text:
        return text
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
