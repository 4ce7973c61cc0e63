"""What Anthropic Messages refuses around the conversation: keys, tools, choice, thinking, formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator import schema as js
from geode.entrypoints.emulator.models import claude
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, fits, ident, listed, mapped, objects

VERSION_WITHOUT_SAMPLING: Final = "2026-10-21"
OUTPUT_CEILING: Final = 1_000_000
NO_FORCING: Final = (("opus", (5, 5)), ("fable", (5, 1)), ("mythos", (5, 1)))
KNOWN_KEYS: Final = frozenset(
    (
        *("model", "messages", "max_tokens", "system", "tools", "tool_choice", "thinking", "stream", "stop_sequences"),
        *("metadata", "service_tier", "output_config", "output_format", "container", "context_management", "mcp_servers"),
        *("cache_control", "inference_geo", "speed", "diagnostics", "fallbacks", "user_profile_id", "workspace_id"),
        *("billing_policy", "compaction", "fallback_credit_token", "thread"),
        *("temperature", "top_p", "top_k"),  # judged by the version
    )
)


def keys(request: Request, facts: Facts) -> Iterator[Finding]:
    """Top-level keys: the mandatory ones, the unknown ones, and those of older versions."""
    if facts.version == "":
        yield "messages.anthropic.auth.version_header", (), "anthropic-version: header is required"
    if not isinstance(request.get("model"), str):
        yield "messages.anthropic.model.required", ("model",), "model: Field required"
    if "max_tokens" not in request:
        yield "messages.anthropic.max_tokens.required", ("max_tokens",), "max_tokens: Field required"
    limit = request.get("max_tokens")
    if isinstance(limit, int) and limit > OUTPUT_CEILING:
        text = "max_tokens: value exceeds the maximum number of output tokens for this model"
        yield "messages.anthropic.max_tokens.over_model_limit", ("max_tokens",), text
    for key in sorted(set(request) - KNOWN_KEYS):
        yield "messages.anthropic.extra_inputs", (key,), f"{key}: Extra inputs are not permitted"
    if facts.version is not None and facts.version >= VERSION_WITHOUT_SAMPLING:
        for key in ("temperature", "top_p", "top_k"):
            if key in request:
                yield f"messages.anthropic.sampling.{key}", (key,), f"{key}: Extra inputs are not permitted"


def tools(request: Request, _: Facts) -> Iterator[Finding]:
    """Names and schemas of the tools."""
    seen: set[str] = set()
    for place, tool in objects(request.get("tools")):
        name, path = tool.get("name"), ("tools", place)
        if ident(name) in seen:
            yield "messages.anthropic.tool.names_unique", (*path, "name"), "tools: tool names must be unique"
        seen.add(ident(name))
        if tool.get("type", "custom") not in ("custom", "function"):
            continue  # a tool of the server's own has no schema
        if tool.get("type") == "function":
            text = f"tools.{place}: input tag 'function' does not match any of the expected tags"
            yield "messages.anthropic.tool.shape", (*path, "type"), text
            continue
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
    if js.recursive(schema):
        text = f"{label}: circular reference in schema definitions is not supported"
        yield "messages.anthropic.strict.recursive", path, text


def choice(request: Request, _: Facts) -> Iterator[Finding]:
    """The tool choice: its shape, its tool, and what does not go with it."""
    if "tool_choice" not in request:
        return
    found, path = request["tool_choice"], ("tool_choice",)
    kind = mapped(found).get("type")
    if kind not in ("auto", "any", "tool", "none"):
        text = "tool_choice: expected an object with type auto, any, tool or none"
        yield "messages.anthropic.tool_choice.shape", path, text
        return
    names = [tool.get("name") for _, tool in objects(request.get("tools"))]
    if not names:
        yield "messages.anthropic.tool_choice.without_tools", path, "tool_choice: may only be specified while providing tools"
    elif kind == "tool" and found.get("name") not in names:
        text = f"tool_choice: tool {found.get('name')!r} not found in provided tools"
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
    if claude(request.get("model")) in NO_FORCING:
        text = "tool_choice: type tool and any are not supported for this model"
        yield "messages.anthropic.tool_choice.forced_unsupported_model", ("tool_choice",), text


def history(request: Request, _: Facts) -> Iterator[Finding]:
    """A history with calls needs the tools."""
    if listed(request.get("tools")) or listed(request.get("mcp_servers")):
        return
    for place, message in objects(request.get("messages")):
        for number, block in objects(message.get("content")):
            if block.get("type") in ("tool_use", "tool_result"):
                text = "requests which include tool_use or tool_result blocks must define tools"
                yield "messages.anthropic.tools.history_without_tools", ("messages", place, "content", number), text
                return


def thinking(request: Request, _: Facts) -> Iterator[Finding]:
    """The thinking mode, its budget, and the models that take it."""
    mode = mapped(request.get("thinking"))
    family, version = claude(request.get("model"))
    budget, limit = mode.get("budget_tokens"), request.get("max_tokens")
    path = ("thinking",)
    if mode.get("type") == "enabled":
        if (family == "opus" and version >= (4, 7)) or version >= (5, 0):
            text = "thinking.type.enabled is not supported for this model; use adaptive and output_config.effort"
            yield "messages.anthropic.thinking.enabled_new_models", (*path, "type"), text
        if not isinstance(budget, int) or budget < 1024:
            text = "thinking.enabled.budget_tokens: must be greater than or equal to 1024"
            yield "messages.anthropic.thinking.budget_min", (*path, "budget_tokens"), text
        elif isinstance(limit, int) and limit <= budget:
            text = "max_tokens must be greater than thinking.budget_tokens"
            yield "messages.anthropic.thinking.budget_vs_max", ("max_tokens",), text
    if mode.get("type") == "disabled":
        if family == "fable":
            text = "thinking.type.disabled is not supported for this model"
            yield "messages.anthropic.thinking.disabled_always_on", (*path, "type"), text
        effort = mapped(request.get("output_config")).get("effort")
        if family == "opus" and version >= (5, 0) and effort in ("xhigh", "max"):
            text = f"output_config.effort {effort!r} is not supported when thinking is disabled on this model"
            yield "messages.anthropic.effort.thinking_disabled", ("output_config", "effort"), text


def output_format(request: Request, _: Facts) -> Iterator[Finding]:
    """A bound answer: the schema alone, closed everywhere."""
    found, path = mapped(mapped(request.get("output_config")).get("format")), ("output_config", "format")
    if not found:
        return
    for key in sorted(set(found) - {"type", "schema"}):
        text = f"output_config.format.{key}: Extra inputs are not permitted"
        yield "messages.anthropic.output_format.extra_name", (*path, key), text
    for place in js.open_objects(found.get("schema")):
        text = "output_config.format.schema: for object type, additionalProperties must be explicitly set to false"
        yield "messages.anthropic.output_format.additional_properties", (*path, "schema", *place), text


def cache_marks(request: Request, _: Facts) -> Iterator[Finding]:
    """At most four cache marks in a request."""
    marked = list(_marks([request.get("system"), request.get("tools"), request.get("messages")]))
    if len(marked) > 4:
        text = f"a maximum of 4 blocks with cache_control may be provided; found {len(marked)}"
        yield "messages.anthropic.cache_control.max4", (), text


def _marks(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        for item in value:
            yield from _marks(item)
    elif isinstance(value, dict):
        if value.get("cache_control"):
            yield value
        yield from _marks(value.get("content"))


CHECKS: Final = (keys, tools, strict_tools, choice, history, thinking, output_format, cache_marks)
