"""What Chat Completions refuses around the messages: tools, choice, sampling, formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.models import Trait, model_of
from geode.entrypoints.emulator.rule import Facts, Finding, Request, ident, listed, mapped, number, objects, shown
from geode.entrypoints.emulator.rules_openai import (
    NAME_LIMIT,
    TOOLS_LIMIT,
    efforts,
    names,
    numbers,
    parameters,
    sampled,
    served,
    too_long,
)
from geode.entrypoints.emulator.schema import open_objects

GLM_OUTPUT: Final = 131_072
STOP_LIMIT: Final = 4


def tools(request: Request, facts: Facts) -> Iterator[Finding]:
    """Nested functions with a good name and a good schema."""
    found = request.get("tools")
    if found is None:
        return
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
    if not offered and request.get("parallel_tool_calls") is not None:
        text = "invalid value for parallel_tool_calls: only allowed when tools are specified"
        yield "chat.openai.parallel_without_tools", ("parallel_tool_calls",), text
    found, path = request.get("tool_choice"), ("tool_choice",)
    if found is None:
        return
    if not offered:
        text = "invalid value for tool_choice: only allowed when tools are specified"
        yield "chat.openai.tool_choice_without_tools", path, text
        return
    known = [mapped(tool.get(ident(tool.get("type")))).get("name") for _, tool in objects(offered)]
    kind = mapped(found).get("type")
    if isinstance(found, str):
        if found not in ("none", "auto", "required"):
            yield "chat.openai.tool_choice.shape", path, f"invalid value: {shown(found)!r}; supported: none, auto, required"
    elif kind in ("function", "custom"):
        name = mapped(mapped(found).get(str(kind))).get("name")
        if name is None:
            text = f"missing required parameter: tool_choice.{kind}"
            yield "chat.openai.tool_choice.responses_shape", (*path, str(kind)), text
        elif name not in known:
            yield "chat.openai.tool_choice.unknown", path, f"tool choice {shown(name)} not found in tools parameter"
    elif kind != "allowed_tools":
        yield "chat.openai.tool_choice.shape", path, "invalid value for tool_choice: expected a word or a named function"


def models(request: Request, facts: Facts) -> Iterator[Finding]:
    """What single models do not take on this wire."""
    model, effort = model_of(request), request.get("reasoning_effort")
    if not served(request.get("model"), facts):
        rule = "chat.glm.model_unknown" if facts.dialect == "glm" else "chat.openai.model.unknown"
        yield rule, ("model",), f"the model {shown(request.get('model'))} does not exist or you do not have access to it"
    if request.get("max_tokens") is not None and "max_tokens" in model.refuses:
        text = "unsupported parameter: max_tokens is not supported with this model; use max_completion_tokens"
        yield "chat.openai.max_tokens", ("max_tokens",), text
    if request.get("temperature") not in (None, 1) and not sampled(model, effort):
        text = "unsupported value: temperature is not supported with this model; only the default (1) is supported"
        yield "chat.openai.temperature", ("temperature",), text
    if request.get("stop") and "stop" in model.refuses:
        yield "chat.openai.stop", ("stop",), "unsupported parameter: stop is not supported with this model"
    if request.get("web_search_options") is not None and "web search options" in model.refuses:
        yield "chat.openai.web_search_options", ("web_search_options",), "web search options not supported with this model"
    trait: Trait = "tools with unset effort" if effort is None else "tools with effort"
    if listed(request.get("tools")) and effort != "none" and trait in model.refuses:
        text = (
            "function tools with reasoning_effort are not supported for this model in /v1/chat/completions; use /v1/responses"
        )
        yield "chat.openai.tools_with_reasoning", ("tools",) if effort is None else ("reasoning_effort",), text
    yield from efforts("chat.openai.effort", ("reasoning_effort",), effort, model)
    count = too_long(request, model)
    if count is not None:
        text = f"this model's maximum context length is {model.window} tokens; your messages resulted in {count} tokens"
        yield "chat.openai.context", ("messages",), text


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
    yield from numbers("chat.openai", request)


def response_format(request: Request, _: Facts) -> Iterator[Finding]:
    """A bound answer: named, and closed where it is strict."""
    bound, path = mapped(request.get("response_format")), ("response_format", "json_schema")
    inner = mapped(bound.get("json_schema"))
    if bound.get("type") != "json_schema":
        return
    if "name" not in inner:
        text = "missing required parameter: response_format.json_schema.name"
        yield "chat.openai.response_format.name", (*path, "name"), text
    if inner.get("strict") is True:
        about = f"invalid schema for response_format {shown(inner.get('name'))}"
        for place in open_objects(inner.get("schema")):
            text = f"{about}: additionalProperties is required to be supplied and to be false"
            yield "chat.openai.response_format.additional", (*path, "schema", *place), text


def openrouter(request: Request, facts: Facts) -> Iterator[Finding]:
    """OpenRouter wants the tools in every step of Claude, and one way to say how much to reason.

    Recorded: models of OpenAI are given a history without tools.
    """
    if facts.dialect != "openrouter":
        return
    both = mapped(request.get("reasoning"))
    if both.get("effort") is not None and both.get("max_tokens") is not None:
        text = "only one of reasoning.effort and reasoning.max_tokens may be given"
        yield "chat.openrouter.reasoning_both", ("reasoning",), text
    history = any(message.get("role") == "tool" or message.get("tool_calls") for _, message in objects(request.get("messages")))
    claude = ident(request.get("model")).startswith("anthropic/")
    if claude and history and not listed(request.get("tools")):
        yield "chat.openrouter.tools_each_step", ("tools",), "tools must be provided with tool history"


def glm(request: Request, facts: Facts) -> Iterator[Finding]:
    """GLM refuses what it does not know with business codes."""
    if facts.dialect != "glm":
        return
    limit = number(request.get("max_tokens"))
    if request.get("max_tokens") is not None and not (limit is not None and 1 <= limit <= GLM_OUTPUT):
        yield "chat.glm.max_tokens_range", ("max_tokens",), "max_tokens out of range [1,131072]"
    if mapped(request.get("response_format")).get("type") == "json_schema":
        yield "chat.glm.json_schema", ("response_format",), "response_format type not supported"
    if request.get("do_sample") is False and request.get("temperature") is not None:
        yield "chat.glm.mutex_param", ("temperature",), "parameters cannot be set together"


def thinking_choice(request: Request, _: Facts) -> Iterator[Finding]:
    """DashScope and DeepSeek refuse to force a tool while thinking."""
    forced: Any = request.get("tool_choice")
    thinking = request.get("enable_thinking") is True or (
        "outputs apart" in model_of(request).refuses and mapped(request.get("thinking")).get("type") == "enabled"
    )
    if thinking and forced not in (None, "auto", "none"):
        text = "tool_choice does not support required or object in thinking mode"
        yield "chat.generic.thinking_tool_choice", ("tool_choice",), text


CHECKS: Final = (glm, openrouter, tools, choice, models, options, response_format, thinking_choice)
