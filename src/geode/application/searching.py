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


def check_search_name(own: Sequence[Tool], above: int | None, sources: Sequence[object]) -> None:
    """Misuse for a tool of the application that has the name of the search tool, where there is one or may be one.

    What `sources` give is not known yet.
    """
    tool = next((tool for tool in own if tool.spec.name == SEARCH), None)
    if tool is None or above is None or not (sources or deferred_of(own, above)):
        return
    place = tool.place or "a Tool made without a place"
    raise Misuse(
        "tool-twice",
        f'two tools are called "{SEARCH}": {place} and the one by which geode has deferred tools found. Rename yours, '
        "or have no tools deferred: Policy(defer_above=None)",
    )


def search_tool(tools: Sequence[Tool], deferred: Collection[str]) -> Tool:
    """The tool that finds any of `tools`, and says where those come from that are `deferred`."""
    sources = (tool.place for tool in tools if tool.origin and tool.spec.name in deferred)
    finds = _Finds(tuple(tool.spec for tool in tools))
    return Tool(search_spec(sources), SafetyTier.SAFE, finds, blocking=True, place="geode")


@dataclass(frozen=True, slots=True)
class _Finds:
    tools: tuple[ToolSpec, ...]

    def __call__(self, arguments: Mapping[str, Any], _: ToolContext[Any]) -> str:
        return answer(arguments["query"], self.tools)
