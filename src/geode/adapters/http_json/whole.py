"""A reply that came in one piece where a stream was asked for, as the deltas of a stream of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from geode.adapters.http_json.reading import mapping, objects, string
from geode.domain.arguments import sent_text
from geode.domain.content import Opaque, Text, ToolUseBlock
from geode.domain.json_value import clean_text
from geode.domain.reply import AdapterCallResult
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart


def deltas_of(reply: AdapterCallResult) -> Iterator[Delta]:
    """Each item of the reply in one part, in order."""
    for index, item in enumerate(reply.items):
        match item:
            case Text(text=text):
                yield TextPart(index, text)
            case ToolUseBlock():
                yield CallPart(index, item.name, item.unparsed if item.unparsed is not None else sent_text(item))
            case Opaque():
                if text := _thought(json.loads(item.json_text)):
                    yield ThinkingPart(index, text)


def _thought(value: object) -> str:
    """What can be read of reasoning in the forms of all wires: text, an object with it, a list of such."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        fields = mapping(cast("object", value))
        if fields.get("type") == "reasoning":
            return _thought(fields.get("summary"))
        return clean_text(string(fields.get("thinking")) or string(fields.get("summary")))
    return clean_text("".join(string(part.get("text")) or string(part.get("summary")) for part in objects(value)))
