"""Words and forms for values that JSON or a provider has none for."""

from __future__ import annotations

import base64
import math
from decimal import Decimal
from typing import Any, Final, TypeAlias

from geode.domain.content import MEDIA
from geode.domain.json_value import dump_json

Bytes: TypeAlias = bytes | bytearray | memoryview
BINARY: Final = (*MEDIA, bytes, bytearray, memoryview)
_CONTROLS: Final = frozenset(map(chr, range(32))) - {"\t", "\n", "\r"}


def unreal(value: float | Decimal) -> str:
    """What JSON has no number for."""
    if isinstance(value, Decimal) and value.is_nan():
        return "NaN"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def decoded(data: bytes) -> str | None:
    """The text that the bytes are, as programs print it; None for anything else."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return text if _CONTROLS.isdisjoint(text) else None


def encoded(data: Bytes) -> str:
    return base64.b64encode(data).decode()


def advice(value: object) -> str:
    """What to do about a value of a kind that many return by mistake."""
    kind = type(value)
    if hasattr(kind, "__await__"):
        return ", which was not awaited"
    if hasattr(kind, "__aiter__"):
        return ", which only the event loop can read; return it alone, or [item async for item in it]"
    if hasattr(kind, "read"):
        return ", which is open; return what is in it, or its path"
    return ""


def in_one_order(items: list[Any]) -> list[Any]:
    """The same order for the same set, in every process: by value where the items compare, else by their JSON."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=dump_json)


def in_words(value: object, data: object) -> str:
    """What to say where there is nothing to show; else "". Providers refuse blank text."""
    match data:
        case None:
            return "The tool returned nothing."
        case str() if isinstance(value, BINARY) and not data:
            return "The tool returned no bytes."
        case str() if not data.strip():
            return "The tool returned only white space." if data else "The tool returned an empty text."
        case []:
            return "The tool returned an empty list."
        case dict() if not data:
            return "The tool returned an empty object."
        case _:
            return ""
