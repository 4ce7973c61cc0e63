"""Reading fields of JSON that a server wrote: a wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, cast


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list, or none."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def number(value: object) -> int:
    """A count: a whole number above zero, or zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def amount(value: object) -> Decimal | None:
    """An amount of money, or None."""
    return Decimal(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else None
