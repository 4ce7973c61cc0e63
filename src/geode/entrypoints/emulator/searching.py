"""The search of tools that Anthropic's server does itself: which tools the model has not been shown, and how it finds one.

Shapes are those of recorded answers of api.anthropic.com.
"""

from __future__ import annotations

import re
from typing import Final

from geode.entrypoints.emulator.render import Json
from geode.entrypoints.emulator.rule import Request, ident, mapped, objects

SEARCHES: Final = "tool_search_tool_"
_REGEX: Final = "tool_search_tool_regex"


def unfound(request: Request) -> set[str]:
    """The names of deferred tools that no search has found yet; none where the server does not search."""
    tools = [tool for _, tool in objects(request.get("tools"))]
    if not any(ident(tool.get("type")).startswith(SEARCHES) for tool in tools):
        return set()
    return {ident(tool.get("name")) for tool in tools if tool.get("defer_loading")} - _found(request)


def _found(request: Request) -> set[str]:
    blocks = (block for _, message in objects(request.get("messages")) for _, block in objects(message.get("content")))
    results = (mapped(block.get("content")) for block in blocks if block.get("type") == "tool_search_tool_result")
    return {ident(one.get("tool_name")) for result in results for _, one in objects(result.get("tool_references"))}


def search(name: str, id: str) -> tuple[Json, Json]:
    """The search that finds the tool `name`, and its result."""
    called = {"type": "server_tool_use", "id": id, "name": _REGEX, "input": {"pattern": f"^{re.escape(name)}$"}}
    reference = {"type": "tool_reference", "tool_name": name}
    content = {"type": "tool_search_tool_search_result", "tool_references": [reference]}
    return {**called, "caller": {"type": "direct"}}, {"type": "tool_search_tool_result", "tool_use_id": id, "content": content}
