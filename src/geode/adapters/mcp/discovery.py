"""What a server says of its tools, as tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, cast

from returns.result import Failure

from geode.adapters.mcp.words import visible
from geode.domain.discovery import discovered
from geode.domain.mcp_server import McpServer
from geode.domain.naming import closest, shown_name
from geode.domain.schema_words import Schema, object_in, with_children
from geode.domain.tiers import SafetyTier, tier_of
from geode.domain.tools import ToolSpec

# A server whose list never ends is left at this page.
MAX_PAGES: Final = 100
# A description is cut to this many letters, one inside of a schema to fewer.
MAX_DESCRIPTION: Final = 4_000
MAX_INNER_DESCRIPTION: Final = 1_000
# Of so many tools that cannot be used it is told why, and of the rest how many they are.
MAX_TOLD: Final = 20
# Keywords that only say something, and no validator reads.
_SAYING: Final = frozenset(("description", "title", "$comment", "examples"))

Ask = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]


async def pages(ask: Ask) -> tuple[list[object], list[str]]:
    """All that the server lists, in its order, and why it was not asked for more."""
    listed, seen = list[object](), set[str]()
    cursor: object = None
    for _ in range(MAX_PAGES):
        page = await ask("tools/list", {} if cursor is None else {"cursor": cursor})
        tools = page.get("tools")
        if not isinstance(tools, list):
            return listed, ["a page of its list holds no list of tools; what came before it is used"]
        listed += cast("list[object]", tools)
        cursor = page.get("nextCursor")
        if cursor is None or cursor == "":
            return listed, []
        if not isinstance(cursor, str) or cursor in seen:
            return listed, ["its list goes round in circles (a cursor came again); what was listed is used"]
        seen.add(cursor)
    return listed, [f"its list has more than {MAX_PAGES} pages; what was listed is used"]


class Described:
    """A tool as the server describes it: under its own `name`, which the server is to be called by."""

    def __init__(self, name: str, spec: ToolSpec, tier: SafetyTier, *, idempotent: bool) -> None:
        self.name, self.spec, self.tier, self.idempotent = name, spec, tier, idempotent


def described(listed: Sequence[object], server: McpServer) -> tuple[list[Described], list[str]]:
    """The tools that can be used, with distinct names, and why others cannot."""
    found = dict[str, Described]()
    left_out = list[str]()
    for one in listed:
        tool = _described(one, server)
        if isinstance(tool, str):
            left_out.append(tool)
        elif tool.spec.name in found:
            left_out.append(f"the tool {shown_name(tool.spec.name)} is listed more than once; the first one is used")
        else:
            found[tool.spec.name] = tool
    told = list(dict.fromkeys(left_out))
    more = [f"{len(told) - MAX_TOLD} more of its tools cannot be used"] if len(told) > MAX_TOLD else []
    return list(found.values()), told[:MAX_TOLD] + more


def _described(one: object, server: McpServer) -> Described | str:
    if not isinstance(one, Mapping):
        return "something in its list is no tool"
    given = cast("Mapping[str, Any]", one)
    name = given.get("name")
    if not isinstance(name, str):
        return "a tool in its list has no name"
    said = given.get("description")
    description = visible(said, MAX_DESCRIPTION) if isinstance(said, str) and server.descriptions else ""
    found = discovered(name, description, given.get("inputSchema"))
    if isinstance(found, Failure):
        return f"the tool {shown_name(name)} is left out: {visible(found.failure(), MAX_INNER_DESCRIPTION)}"
    spec = found.unwrap()
    spec = ToolSpec(spec.name, spec.description, _with_bounded_words(spec.input_schema, keep=server.descriptions))
    hints = object_in(given.get("annotations")) if server.trusted else {}
    idempotent = hints.get("idempotentHint") is True or hints.get("readOnlyHint") is True
    return Described(name, spec, tier_for(name, hints, server), idempotent=idempotent)


def without_tool(listed: Sequence[object], server: McpServer) -> list[str]:
    """The names in `tiers` that the server lists no tool of: a slip of the pen leaves a tool with another tier."""
    known = [name for one in listed if isinstance(name := object_in(one).get("name"), str)]
    unknown = [name for name in server.tiers if name not in known]
    return [f"tiers names {shown_name(name)}, which it does not list{_meant(name, known)}" for name in unknown]


def _meant(name: str, known: Sequence[str]) -> str:
    close = closest(name, known)
    return f"; did you mean {shown_name(close[0])}?" if close else ""


def tier_for(name: str, hints: Mapping[str, Any], server: McpServer) -> SafetyTier:
    """The tier of a tool; `hints` are what is believed of its annotations.

    The protocol's defaults: not read-only, and destructive.
    """
    if name in server.tiers:
        return tier_of(server.tiers[name])
    if hints.get("readOnlyHint") is True:
        return SafetyTier.MCP_TRUSTED
    return SafetyTier.WRITE if hints.get("destructiveHint") is False else SafetyTier.DANGEROUS


def _with_bounded_words(schema: Schema, *, keep: bool) -> Schema:
    """The schema with what its keywords say to a reader made short, or taken out."""
    said = {word: _bounded(schema[word]) for word in _SAYING & schema.keys() if keep}
    told = {word: said.get(word, value) for word, value in schema.items() if keep or word not in _SAYING}
    return with_children(told, lambda inner: _with_bounded_words(inner, keep=keep))


def _bounded(value: object) -> object:
    return visible(value, MAX_INNER_DESCRIPTION) if isinstance(value, str) else value
