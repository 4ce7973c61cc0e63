"""Reading fields of JSON that a server wrote: a wrong type counts as absent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, cast

# RFC 8259, section 6: beyond it readers of JSON differ about a whole number.
_MOST: Final = 2**53


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects in a list, or none."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]


def reported_error(body: Mapping[str, Any]) -> object:
    """The error that a body or an event reports, nested in it or being all of it; None if it reports none."""
    if isinstance(error := body.get("error"), str) and error:
        return {"code": body.get("code"), "message": error}
    if body.get("error"):
        return body["error"]
    if "error" in (body.get("type"), body.get("object")):
        return {"code": body.get("code"), "message": body.get("message")}
    return None


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def argument_text(value: object) -> str:
    """Arguments as text, whatever is in it: judging arguments is the business of the domain."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else string(value)


def number(value: object) -> int:
    """A count: a whole number above zero that every reader of JSON keeps as it is, or zero."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST else 0


def amount(value: object) -> Decimal | None:
    """An amount of money, or None."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _MOST:
        return None
    return Decimal(str(value))
