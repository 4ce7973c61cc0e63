"""What a server is told otherwise than a tool's schema says: place by place, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from geode.domain.json_value import dump_json, pointer_part
from geode.entrypoints.cli.words import short

_SHOWN = 60


def schema_changes(own: object, sent: object, at: str = "") -> Iterator[tuple[str, str]]:
    """Each difference, by its JSON pointer in the tool's own schema; what is new is told where it is put."""
    if own is sent:
        return
    if isinstance(own, Mapping) and isinstance(sent, Mapping):
        before, after = cast("Mapping[str, Any]", own), cast("Mapping[str, Any]", sent)
        for key, value in before.items():
            place = f"{at}/{pointer_part(key)}"
            if key not in after:
                yield place, "is left out"
            else:
                yield from schema_changes(value, after[key], place)
        for key, value in after.items():
            if key not in before:
                yield f"{at}/{pointer_part(key)}", f"is added: {_shown(value)}"
    elif isinstance(own, list) and isinstance(sent, list) and len(own) == len(sent):
        for index, (one, other) in enumerate(zip(own, sent, strict=True)):
            yield from schema_changes(one, other, f"{at}/{index}")
    elif own != sent or type(own) is not type(sent):
        yield at or "/", f"goes out as {_shown(sent)}"


def _shown(value: object) -> str:
    return short(dump_json(value), _SHOWN)
