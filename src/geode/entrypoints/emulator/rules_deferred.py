"""What servers refuse of tools that are sent and not shown to the model: searched by the server itself, or by a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.rule import CheckFunction, Facts, Finding, Path, Request, ident, mapped, objects, shown
from geode.entrypoints.emulator.searching import SEARCHES


def deferred(request: Request, _: Facts) -> Iterator[Finding]:
    """The marks on the tools of a Messages request."""
    tools = list(objects(request.get("tools")))
    for place, tool in tools:
        if ident(tool.get("type")).startswith(SEARCHES) and tool.get("defer_loading"):
            text = f"tools.{place}: the tool search tool cannot have defer_loading set"
            yield "messages.anthropic.deferred.search", ("tools", place, "defer_loading"), text
    if tools and all(tool.get("defer_loading") for _, tool in tools):
        text = "All tools have defer_loading set. At least one tool must be non-deferred."
        yield "messages.anthropic.deferred.all", ("tools",), text


def references(request: Request, _: Facts) -> Iterator[Finding]:
    """What searches found, wherever it stands in the conversation."""
    names = {ident(tool.get("name")) for _, tool in objects(request.get("tools"))}
    for place, message in objects(request.get("messages")):
        for number, block in objects(message.get("content")):
            for path, reference in _references(block, ("messages", place, "content", number)):
                if ident(reference.get("tool_name")) not in names:
                    text = f"Tool reference {shown(reference.get('tool_name'))!r} has no corresponding tool definition"
                    yield "messages.anthropic.deferred.reference", path, text


def _references(block: dict[str, Any], path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The references in a result of the server's search, or in one of a client's own."""
    found, path = block.get("content"), (*path, "content")
    if block.get("type") == "tool_search_tool_result":
        found, path = mapped(found).get("tool_references"), (*path, "tool_references")
    elif block.get("type") != "tool_result":
        return
    for number, one in objects(found):
        if one.get("type") == "tool_reference":
            yield (*path, number), one


def namespaces(request: Request, _: Facts) -> Iterator[Finding]:
    """The calls of deferred functions in a Responses request."""
    names = {ident(tool.get("name")) for _, tool in objects(request.get("tools")) if tool.get("defer_loading")}
    for place, item in objects(request.get("input")):
        if item.get("type") == "function_call" and ident(item.get("name")) in names and not item.get("namespace"):
            text = (
                f"Missing namespace for function_call {shown(item.get('name'))!r}. It does not exist in the default "
                "namespace. Round-trip the model's function_call item with its namespace field included."
            )
            yield "responses.openai.deferred.namespace", ("input", place, "namespace"), text


MESSAGES: Final[tuple[CheckFunction, ...]] = (deferred, references)
RESPONSES: Final[tuple[CheckFunction, ...]] = (namespaces,)
