"""Small turns, and tools to call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from geode.domain.arguments import tool_use
from geode.domain.content import Opaque, Owner, ResultKind, Text, ToolResult, ToolUseBlock
from geode.domain.tiers import SafetyTier
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, ToolResultsTurn, UserTurn
from geode.ports.tools import Tool

ME = Owner("lab", "m")
T1 = ToolSpec("t1", "The first tool.", {"type": "object", "properties": {}})
T2 = ToolSpec("t2", "The second tool.", {"type": "object", "properties": {}})


class Counted:
    """A tool that remembers what it was called with."""

    def __init__(self, name: str = "t1") -> None:
        self.inputs: list[Mapping[str, Any]] = []

        async def invoke(arguments: Mapping[str, Any], _: object) -> str:
            self.inputs.append(arguments)
            return f"run {len(self.inputs)}"

        self.tool = Tool(ToolSpec(name, "Counts.", {"type": "object", "properties": {}}), SafetyTier.SAFE, invoke)


def user(text: str) -> UserTurn:
    return UserTurn((Text(text),))


def model(*items: Text | ToolUseBlock | Opaque, owner: Owner | None = ME) -> AssistantTurn:
    return AssistantTurn(items, owner)


def call(id: str, arguments: Any = None, name: str = "t1") -> ToolUseBlock:
    return tool_use(id, name, arguments)


def answer(id: str, text: str = "", kind: ResultKind = "ok") -> ToolResult:
    return ToolResult(id, kind, (Text(text or f"result of {id}"),))


def results(*found: ToolResult | str) -> ToolResultsTurn:
    return ToolResultsTurn(tuple(answer(one) if isinstance(one, str) else one for one in found))
