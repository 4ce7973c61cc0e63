"""What stands before the messages of a Chat request: tools, settings, and what single dialects want beside them.

Sources: spec sections 2, 9, 10 and 11; wire facts A1, A2, A4, A5, C4, C5, D3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.adapters.chat_completions.dialects import Dialect
from geode.adapters.http_json.segments import tool_list
from geode.domain.answer_schema import answer_name, is_strict
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.json_value import dump_bytes
from geode.domain.relay import RelayOptions
from geode.domain.request import AdapterCallRequest
from geode.domain.schema_profile import SchemaProfile
from geode.domain.sent_tools import sent_schema
from geode.domain.tools import ToolSpec
from geode.domain.wire_names import sent_name

# The efforts at which GLM does not think.
_IDLE: Final = ("none", "minimal")


def head(request: AdapterCallRequest, dialect: Dialect, options: RelayOptions) -> Iterator[tuple[str, bytes]]:
    """The fields, encoded."""
    yield "model", dump_bytes(request.model)
    if request.tools:
        profile = dialect.schemas
        yield "tools", tool_list(request.tools, f"chat:{profile.name}", lambda tool: definition(tool, profile))
        yield "tool_choice", dump_bytes(choice(request.tool_choice))
    if request.limits.max_output_tokens is not None:
        yield dialect.max_tokens, dump_bytes(request.limits.max_output_tokens)
    if request.cache_key and not dialect.relays:  # a relay is asked by marks, and keeps what belongs together by its session
        yield "prompt_cache_key", dump_bytes(request.cache_key)
    if request.effort is not None:
        outer, *inner = dialect.effort
        yield outer, dump_bytes({inner[0]: request.effort} if inner else request.effort)
    if dialect.thinking_switch:
        yield "thinking", dump_bytes(thinking_switch(request.effort))
    if request.temperature is not None:
        yield "temperature", dump_bytes(request.temperature)
    if request.response_schema is not None:
        yield "response_format", dump_bytes(_response_format(request.response_schema, dialect.schemas))
    if dialect.relays:
        yield from _relayed(request, options)
    if request.streamed:
        yield "stream", b"true"
        if dialect.usage_option:
            yield "stream_options", b'{"include_usage":true}'
        if dialect.late_calls and request.tools:
            yield "tool_stream", b"true"


def definition(tool: ToolSpec, profile: SchemaProfile) -> dict[str, Any]:
    """A nested function. `strict` is said only where it is on: some servers do not know the key."""
    function = {"name": sent_name(tool.name), "description": tool.description, "parameters": sent_schema(tool, profile)}
    return {"type": "function", "function": {**function, "strict": True} if tool.strict else function}


def choice(value: ToolChoice) -> str | dict[str, Any]:
    match value:
        case Auto():
            return "auto"
        case NoTools():
            return "none"
        case Required():
            return "required"
        case Named(name=name):
            return {"type": "function", "function": {"name": sent_name(name)}}


def thinking_switch(effort: str | None) -> dict[str, Any]:
    """Whether to think follows from the effort that was chosen. What was thought before is kept: by itself the server
    throws it away with each call, although it comes back to it."""
    switch = {} if effort is None else {"type": "disabled" if effort in _IDLE else "enabled"}
    return {**switch, "clear_thinking": False}


def _response_format(schema: Mapping[str, Any], profile: SchemaProfile) -> dict[str, Any]:
    """The schema as it was given, strict where it is so as it stands."""
    inner = {"name": answer_name(schema), "strict": is_strict(schema, profile), "schema": schema}
    return {"type": "json_schema", "json_schema": inner}


def _relayed(request: AdapterCallRequest, options: RelayOptions) -> Iterator[tuple[str, bytes]]:
    """The route as the caller wants it. A schema goes only to endpoints that take all that is asked of them."""
    routing = options.routing if request.response_schema is None else {**options.routing, "require_parameters": True}
    if routing:
        yield "provider", dump_bytes(routing)
    if request.affinity:
        yield "session_id", dump_bytes(f"geode-{hashlib.sha256(request.affinity.encode()).hexdigest()}")
