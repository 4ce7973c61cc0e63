"""Histories with calls where no tools are given any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from geode.domain.choice import NoTools
from geode.domain.request import AdapterCallRequest
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn
from geode.domain.wire_names import sent_name

_GONE: Final = "no longer available"


def with_called_tools(request: AdapterCallRequest) -> AdapterCallRequest:
    """For servers that refuse a history with calls in a request without tools: what was called is defined, and none may be.

    In the order of first use, so that equal histories give equal tools.
    """
    if request.tools:
        return request
    called = dict.fromkeys(
        sent_name(call.name) for turn in request.turns if isinstance(turn, AssistantTurn) for call in turn.calls
    )
    if not called:
        return request
    gone = tuple(ToolSpec(name, _GONE, {"type": "object"}) for name in called)
    return replace(request, tools=gone, tool_choice=NoTools())


def without_gone(tools: Sequence[ToolSpec]) -> tuple[ToolSpec, ...]:
    """The way back: none, where all that is defined is what was only called."""
    return () if all(tool.description == _GONE for tool in tools) else tuple(tools)
