"""What Anthropic Messages refuses in tools: names, schemas, their sum, and the choice between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator import schema as js
from geode.entrypoints.emulator.models import model_of
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, fits, ident, listed, mapped, objects, shown

STRICT_TOOLS: Final = 20
# Undocumented, and different for each model: far above everything that was recorded to pass.
GRAMMAR_LIMIT: Final = 100_000


def tools(request: Request, _: Facts) -> Iterator[Finding]:
    """Names and schemas of the tools."""
    seen: set[str] = set()
    for place, tool in objects(request.get("tools")):
        name, path = tool.get("name"), ("tools", place)
        own = tool.get("type") in (None, "custom")
        if own and (not isinstance(name, str) or not name):
            text = f"tools.{place}.custom.name: String should have at least 1 character"
            yield "messages.anthropic.tool.name_missing", (*path, "name"), text
            continue
        if ident(name) in seen:
            yield "messages.anthropic.tool.names_unique", (*path, "name"), "tools: tool names must be unique"
        seen.add(ident(name))
        if tool.get("type") == "function":
            text = f"tools.{place}: input tag 'function' does not match any of the expected tags"
            yield "messages.anthropic.tool.shape", (*path, "type"), text
        if not own:
            continue  # a tool of the server's own has no schema
        if isinstance(name, str) and len(name) > 128:
            yield "messages.anthropic.tool.name_length", (*path, "name"), f"tools.{place}.custom.name: at most 128 characters"
        elif not fits(r"[A-Za-z0-9_-]+", name):
            text = f"tools.{place}.custom.name: string should match pattern ^[a-zA-Z0-9_-]{{1,128}}$"
            yield "messages.anthropic.tool.name_pattern", (*path, "name"), text
        if tool.get("defer_loading") and tool.get("cache_control"):
            text = f"tools.{place}: defer_loading and cache_control cannot be combined"
            yield "messages.anthropic.cache_control.defer_loading", path, text
        yield from _schema(tool.get("input_schema"), (*path, "input_schema"), f"tools.{place}.custom.input_schema")


def _schema(schema: Any, path: Path, label: str) -> Iterator[Finding]:
    if mapped(schema).get("type") != "object":
        yield "messages.anthropic.tool.schema_type_required", (*path, "type"), f"{label}.type: Field required, equal to object"
    for word in ("oneOf", "allOf", "anyOf"):
        if word in mapped(schema):
            text = f"{label}: input_schema does not support oneOf, allOf, or anyOf at the top level"
            yield "messages.anthropic.tool.root_anyOf", (*path, word), text
    for place in js.tuples(schema):
        text = f"{label}: JSON schema is invalid; it must match draft 2020-12"
        yield "messages.anthropic.tool.schema_tuple_items", (*path, *place), text


def strict_tools(request: Request, _: Facts) -> Iterator[Finding]:
    """Schemas that the server compiles into a grammar have limits, one by one and together."""
    strict = [(place, tool.get("input_schema")) for place, tool in objects(request.get("tools")) if tool.get("strict") is True]
    for place, schema in strict:
        yield from _strict(schema, ("tools", place, "input_schema"), f"tools.{place}.custom")
    if len(strict) > STRICT_TOOLS:
        text = f"Too many strict tools ({len(strict)}). The maximum number of strict tools supported is {STRICT_TOOLS}."
        yield "messages.anthropic.strict.tools_count", ("tools",), text
    written = sum(len(name) for _, schema in strict for name in js.names(schema))
    if written > GRAMMAR_LIMIT:
        text = "the compiled grammar is too large; simplify tool schemas or reduce the number of strict tools"
        yield "messages.anthropic.strict.grammar_too_large", ("tools",), text
    optional = sum(1 for _, schema in strict for _ in js.not_required(schema))
    union = sum(1 for _, schema in strict for _ in js.unions(schema))
    if optional > 24:
        text = f"schemas contain too many optional parameters ({optional}); limit 24"
        yield "messages.anthropic.strict.optional_params", ("tools",), text
    if union > 16:
        text = f"schemas contain too many parameters with union types ({union}); limit 16"
        yield "messages.anthropic.strict.union_params", ("tools",), text


def _strict(schema: Any, path: Path, label: str) -> Iterator[Finding]:
    for place in js.open_objects(schema):
        text = f"{label}: for object type, additionalProperties must be explicitly set to false"
        yield "messages.anthropic.strict.additional_properties", (*path, *place), text
    for place, word in js.having(schema, js.BOUNDS):
        yield "messages.anthropic.strict.numeric_bounds", (*path, *place, word), f"{label}: property {word} is not supported"
    for place in js.booleans(schema):
        text = f"{label}: For 'object' type, property 'properties' is not supported"
        yield "messages.anthropic.strict.boolean_schema", (*path, *place), text
    if js.recursive(schema):
        text = f"{label}: circular reference in schema definitions is not supported"
        yield "messages.anthropic.strict.recursive", path, text


def choice(request: Request, _: Facts) -> Iterator[Finding]:
    """The tool choice: its shape, its tool, and what does not go with it."""
    found, path = request.get("tool_choice"), ("tool_choice",)
    if found is None:
        return
    kind = mapped(found).get("type")
    if kind not in ("auto", "any", "tool", "none"):
        text = "tool_choice: expected an object with type auto, any, tool or none"
        yield "messages.anthropic.tool_choice.shape", path, text
        return
    names = [tool.get("name") for _, tool in objects(request.get("tools"))]
    if not names:
        yield "messages.anthropic.tool_choice.without_tools", path, "tool_choice: may only be specified while providing tools"
    elif kind == "tool" and found.get("name") not in names:
        text = f"tool_choice: tool {shown(found.get('name'))!r} not found in provided tools"
        yield "messages.anthropic.tool_choice.unknown_name", (*path, "name"), text
    if kind == "none" and "disable_parallel_tool_use" in found:
        text = "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted"
        yield "messages.anthropic.tool_choice.none_parallel", (*path, "disable_parallel_tool_use"), text
    if kind in ("any", "tool"):
        yield from _forced(request)


def _forced(request: Request) -> Iterator[Finding]:
    if mapped(request.get("thinking")).get("type") == "enabled":
        text = "Thinking may not be enabled when tool_choice forces tool use"
        yield "messages.anthropic.thinking.forced_tool_choice", ("tool_choice",), text
    if "forced choice" in model_of(request).refuses:
        text = "tool_choice: type tool and any are not supported for this model"
        yield "messages.anthropic.tool_choice.forced_unsupported_model", ("tool_choice",), text


def history(request: Request, _: Facts) -> Iterator[Finding]:
    """A history with calls needs the tools, but for models that were recorded to do without."""
    if (
        "history without tools" not in model_of(request).refuses
        or listed(request.get("tools"))
        or listed(request.get("mcp_servers"))
    ):
        return
    for place, message in objects(request.get("messages")):
        for number, block in objects(message.get("content")):
            if block.get("type") in ("tool_use", "tool_result"):
                text = "requests which include tool_use or tool_result blocks must define tools"
                yield "messages.anthropic.tools.history_without_tools", ("messages", place, "content", number), text
                return


CHECKS: Final = (tools, strict_tools, choice, history)
