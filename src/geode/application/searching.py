"""Which tools of a session stay out of the list, and the tool by which the model reaches them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geode.domain.errors import Misuse
from geode.domain.tiers import SafetyTier
from geode.domain.tool_search import SEARCH, answer, search_spec
from geode.domain.tools import ToolSpec
from geode.ports.tools import Tool, ToolContext


def deferred_of(tools: Sequence[Tool], above: int | None) -> frozenset[str]:
    """The names of the tools that are deferred: none up to `above` tools, then all that are marked."""
    if above is None or len(tools) <= above:
        return frozenset()
    return frozenset(tool.spec.name for tool in tools if tool.deferred)


def search_tool(tools: Sequence[Tool], deferred: Collection[str]) -> Tool:
    """The tool that finds any of `tools`, and says where those come from that are `deferred`. Misuse if they have its name."""
    own = next((tool for tool in tools if tool.spec.name == SEARCH), None)
    if own is not None:
        place = own.place or "a Tool made without a place"
        raise Misuse(
            "tool-twice",
            f'two tools are called "{SEARCH}": {place} and the one by which geode has deferred tools found. Rename yours, '
            f"or have no tools deferred: Policy(defer_above={len(tools)})",
        )
    sources = (tool.place for tool in tools if tool.origin and tool.spec.name in deferred)
    spec = search_spec(sources)
    return Tool(spec, SafetyTier.SAFE, _Search(tuple(tool.spec for tool in tools)), place="geode")


@dataclass(frozen=True, slots=True)
class _Search:
    tools: tuple[ToolSpec, ...]

    def __call__(self, arguments: Mapping[str, Any], _: ToolContext[Any]) -> str:
        return answer(arguments["query"], self.tools)
