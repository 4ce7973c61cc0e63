"""An event as one line of JSON: its name and its fields, for programs that read `geode run --jsonl`.

A picture is its media type and base64 data, an enum its value, a decimal its text. An outcome is its
kind and its fields without the conversation, which the events before it have told already.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, cast

from geode.domain.conversation import Conversation
from geode.domain.json_value import dump_json
from geode.domain.loop.outcome import Answered, Exhausted, Failed, Refused, Stopped, Suspended
from geode.ports.events import Event, Nested


def event_line(event: Event) -> str:
    """`{"event":"ToolFinished","run_id":…,"seq":…,…}`, without a line end."""
    return dump_json(event_json(event))


def event_json(event: Event) -> dict[str, Any]:
    """The event as plain JSON; the one in a `Nested` is under `nested`."""
    told = {"event": type(event).__name__, **_fields(event)}
    if isinstance(event, Nested):
        told |= {"event": "Nested", "nested": event_json(event.event)}
    return told


def _plain(value: object) -> Any:
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Enum():
            return value.value
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            return {str(key): _plain(item) for key, item in cast("Mapping[object, object]", value).items()}
        case list() | tuple():
            return [_plain(item) for item in cast("list[object]", value)]
        case Answered() | Refused() | Exhausted() | Failed() | Stopped() | Suspended():
            return {"kind": type(value).__name__, "reason": value.reason, **_fields(value)}
        case _ if is_dataclass(value):
            return _fields(value)
        case _:
            return str(value)


def _fields(value: Any) -> dict[str, Any]:
    named = ((field.name, getattr(value, field.name)) for field in fields(value))
    return {name: _plain(item) for name, item in named if not isinstance(item, Conversation)}
