"""What Chat Completions refuses around the messages: tools, choice, sampling, formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.models import gpt, reasons
from geode.entrypoints.emulator.rule import Facts, Finding, Request, ident, listed, mapped, objects
from geode.entrypoints.emulator.rules_openai import NAME_LIMIT, TOOLS_LIMIT, names, parameters
from geode.entrypoints.emulator.schema import open_objects

GLM_OUTPUT: Final = range(1, 131_073)
STOP_LIMIT: Final = 4


def tools(request: Request, facts: Facts) -> Iterator[Finding]:
    """Nested functions with a good name and a good schema."""
    if "tools" not in request:
        return
    found = request["tools"]
    if not isinstance(found, list):
        rule = "chat.glm.bad_param" if facts.dialect == "glm" else "chat.openai.tools.type"
        yield rule, ("tools",), "invalid type for tools: expected an array"
    if found == []:
        yield "chat.openai.tools.empty", ("tools",), "invalid tools: empty array; expected minimum length 1"
    if len(listed(found)) > TOOLS_LIMIT:
        yield "chat.openai.tools.count", ("tools",), f"invalid tools: array too long; maximum length {TOOLS_LIMIT}"
    for place, tool in objects(found):
        if tool.get("type") != "function":
            continue
        path = ("tools", place, "function")
        if not isinstance(tool.get("function"), dict):
            yield "chat.openai.tools.responses_shape", path, f"missing required parameter: tools[{place}].function"
            continue
        function = tool["function"]
        if facts.dialect == "generic" and len(ident(function.get("name"))) > NAME_LIMIT:
            yield "chat.generic.name_length_64", (*path, "name"), "function.name too long"
        yield from names("chat.openai.tools", (*path, "name"), function.get("name"))
        strict = function.get("strict") is True
        schema = function.get("parameters")
        yield from parameters("chat.openai", (*path, "parameters"), function.get("name"), schema, strict)


def choice(request: Request, _: Facts) -> Iterator[Finding]:
    """The tool choice: nested, of a tool that is there, and only beside tools."""
    offered = listed(request.get("tools"))
    if not offered and "parallel_tool_calls" in request:
        text = "invalid value for parallel_tool_calls: only allowed when tools are specified"
        yield "chat.openai.parallel_without_tools", ("parallel_tool_calls",), text
    found, path = request.get("tool_choice"), ("tool_choice",)
    if found is None:
        return
    if not offered:
        text = "invalid value for tool_choice: only allowed when tools are specified"
        yield "chat.openai.tool_choice_without_tools", path, text
        return
    known = [mapped(tool.get(str(tool.get("type")))).get("name") for _, tool in objects(offered)]
    kind = mapped(found).get("type")
    if isinstance(found, str):
        if found not in ("none", "auto", "required"):
            yield "chat.openai.tool_choice.shape", path, f"invalid value: {found!r}; supported: none, auto, required"
    elif kind in ("function", "custom"):
        name = mapped(mapped(found).get(str(kind))).get("name")
        if name is None:
            text = f"missing required parameter: tool_choice.{kind}"
            yield "chat.openai.tool_choice.responses_shape", (*path, str(kind)), text
        elif name not in known:
            yield "chat.openai.tool_choice.unknown", path, f"tool choice {name} not found in tools parameter"
    elif kind != "allowed_tools":
        yield "chat.openai.tool_choice.shape", path, "invalid value for tool_choice: expected a word or a named function"


def reasoning_models(request: Request, _: Facts) -> Iterator[Finding]:
    """What OpenAI's reasoning models do not take on this wire."""
    model = request.get("model")
    if not reasons(model):
        return
    effort, version = request.get("reasoning_effort"), gpt(model)
    if "max_tokens" in request:
        text = "unsupported parameter: max_tokens is not supported with this model; use max_completion_tokens"
        yield "chat.openai.max_tokens", ("max_tokens",), text
    if request.get("temperature") not in (None, 1) and effort != "none":
        text = "unsupported value: temperature is not supported with this model; only the default (1) is supported"
        yield "chat.openai.temperature", ("temperature",), text
    demanded = version >= (5, 5) or (version >= (5, 4) and effort is not None)
    if listed(request.get("tools")) and demanded and effort != "none":
        text = (
            "function tools with reasoning_effort are not supported for this model in /v1/chat/completions; use /v1/responses"
        )
        yield "chat.openai.tools_with_reasoning", ("reasoning_effort",), text


def options(request: Request, facts: Facts) -> Iterator[Finding]:
    """Options that want another option."""
    if not isinstance(request.get("model"), str) and facts.dialect != "glm":
        yield "chat.openai.model.required", ("model",), "missing required parameter: model"
    if len(listed(request.get("stop"))) > STOP_LIMIT:
        yield "chat.openai.stop_count", ("stop",), f"invalid stop: array too long; maximum length {STOP_LIMIT}"
    if request.get("stream_options") is not None and not request.get("stream"):
        yield "chat.openai.stream_options", ("stream_options",), "stream_options is only allowed when stream is enabled"
    if request.get("metadata") is not None and not request.get("store"):
        yield "chat.openai.metadata_store", ("metadata",), "metadata is only allowed when store is enabled"
    bound = mapped(request.get("response_format"))
    inner = mapped(bound.get("json_schema"))
    if bound.get("type") == "json_schema":
        path = ("response_format", "json_schema")
        if "name" not in inner:
            text = "missing required parameter: response_format.json_schema.name"
            yield "chat.openai.response_format.name", (*path, "name"), text
        if inner.get("strict") is True:
            about = f"invalid schema for response_format {inner.get('name')}"
            for place in open_objects(inner.get("schema")):
                text = f"{about}: additionalProperties is required to be supplied and to be false"
                yield "chat.openai.response_format.additional", (*path, "schema", *place), text


def openrouter(request: Request, facts: Facts) -> Iterator[Finding]:
    """OpenRouter wants the tools in every step, and one way to say how much to reason."""
    if facts.dialect != "openrouter":
        return
    both = mapped(request.get("reasoning"))
    if both.get("effort") is not None and both.get("max_tokens") is not None:
        text = "only one of reasoning.effort and reasoning.max_tokens may be given"
        yield "chat.openrouter.reasoning_both", ("reasoning",), text
    history = any(message.get("role") == "tool" or message.get("tool_calls") for _, message in objects(request.get("messages")))
    if history and not listed(request.get("tools")):
        yield "chat.openrouter.tools_each_step", ("tools",), "tools must be provided with tool history"


def glm(request: Request, facts: Facts) -> Iterator[Finding]:
    """GLM refuses what it does not know with business codes."""
    if facts.dialect != "glm":
        return
    limit = request.get("max_tokens")
    if limit is not None and (not isinstance(limit, int) or limit not in GLM_OUTPUT):
        yield "chat.glm.max_tokens_range", ("max_tokens",), "max_tokens out of range [1,131072]"
    if mapped(request.get("response_format")).get("type") == "json_schema":
        yield "chat.glm.json_schema", ("response_format",), "response_format type not supported"
    if request.get("do_sample") is False and request.get("temperature") is not None:
        yield "chat.glm.mutex_param", ("temperature",), "parameters cannot be set together"


def thinking_choice(request: Request, facts: Facts) -> Iterator[Finding]:
    """DashScope and its like refuse to force a tool while thinking."""
    forced: Any = request.get("tool_choice")
    if facts.dialect == "generic" and request.get("enable_thinking") is True and forced not in (None, "auto", "none"):
        text = "tool_choice does not support required or object in thinking mode"
        yield "chat.generic.thinking_tool_choice", ("tool_choice",), text


CHECKS: Final = (glm, openrouter, tools, choice, reasoning_models, options, thinking_choice)
