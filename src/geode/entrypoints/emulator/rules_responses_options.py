"""What OpenAI Responses, and the Codex backend on the same wire, refuse around the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from geode.entrypoints.emulator.models import model_of
from geode.entrypoints.emulator.rule import Facts, Finding, Request, ident, listed, mapped, number, objects, shown
from geode.entrypoints.emulator.rules_openai import (
    TOOLS_LIMIT,
    efforts,
    names,
    numbers,
    parameters,
    sampled,
    served,
    too_long,
)
from geode.entrypoints.emulator.rules_responses import continued
from geode.entrypoints.emulator.sizes import texts

CHOICE_WORDS: Final = ("auto", "none", "required")
OUTPUT_FLOOR: Final = 16


def tools(request: Request, _: Facts) -> Iterator[Finding]:
    """Flat functions with a good name and a good schema."""
    found = listed(request.get("tools"))
    if len(found) > TOOLS_LIMIT:
        yield "responses.openai.tools.count", ("tools",), f"invalid tools: array too long; maximum length {TOOLS_LIMIT}"
    for place, tool in objects(found):
        path = ("tools", place)
        if tool.get("type") == "function":
            if "name" not in tool:
                text = f"missing required parameter: tools[{place}].name"
                yield "responses.openai.tools.chat_shape", (*path, "name"), text
                continue
            yield from names("responses.openai.tools", (*path, "name"), tool["name"])
            strict = tool.get("strict") is True
            yield from parameters("responses.openai", (*path, "parameters"), tool["name"], tool.get("parameters"), strict)
        elif not isinstance(tool.get("type"), str):
            text = f"missing required parameter: tools[{place}].type"
            yield "responses.openai.tools.type", (*path, "type"), text


def choice(request: Request, _: Facts) -> Iterator[Finding]:
    """The tool choice: flat, and of a tool that is there."""
    found, path = request.get("tool_choice"), ("tool_choice",)
    names_there = _names(request)
    if found is None:
        return
    if isinstance(found, str):
        if found not in CHOICE_WORDS:
            text = f"invalid value: {shown(found)!r}. Supported values are: 'none', 'auto', and 'required'."
            yield "responses.openai.tool_choice.shape", path, text
        elif found == "required" and not _has_tools(request):
            text = "Tool choice 'required' must be specified with 'tools' parameter."
            yield "responses.openai.tool_choice.required_without_tools", path, text
        return
    kind, name = mapped(found).get("type"), mapped(found).get("name")
    if kind in ("function", "custom") and "name" not in mapped(found):
        text = "missing required parameter: tool_choice.name"
        yield "responses.openai.tool_choice.chat_shape", (*path, "name"), text
    elif kind in ("function", "custom") and ident(name) not in names_there:
        yield "responses.openai.tool_choice.unknown", path, f"tool choice {shown(name)} not found in tools parameter"
    elif kind == "allowed_tools":
        for __, entry in objects(mapped(found).get("tools")):
            if entry.get("type") in ("function", "custom") and ident(entry.get("name")) not in names_there:
                text = f"tool choice {shown(entry.get('name'))} not found in tools parameter"
                yield "responses.openai.tool_choice.unknown", path, text
    elif not isinstance(kind, str) or kind in ("tool", "any", "auto", "none", "required"):
        yield "responses.openai.tool_choice.shape", path, "invalid value for tool_choice: expected a word or a named tool"


def _names(request: Request) -> set[str]:
    found = [tool for _, tool in objects(request.get("tools"))]
    for _, item in objects(request.get("input")):
        found.extend(tool for _, tool in objects(item.get("tools")))
    inner = [sub for tool in found for _, sub in objects(tool.get("tools"))]
    return {ident(tool.get("name")) for tool in [*found, *inner]}


def _has_tools(request: Request) -> bool:
    stored = any(request.get(key) is not None for key in ("previous_response_id", "conversation", "prompt"))
    return stored or bool(request.get("tools")) or bool(_names(request))


def models(request: Request, facts: Facts) -> Iterator[Finding]:
    """What single models do not take: names, sampling, efforts, length."""
    model, effort = model_of(request), mapped(request.get("reasoning")).get("effort")
    if not served(request.get("model"), facts) and request.get("model") is not None:
        text = f"the model {shown(request.get('model'))} does not exist or you do not have access to it"
        yield "responses.openai.model.404", ("model",), text
    for key in ("temperature", "top_p"):
        if request.get(key) not in (None, 1) and not sampled(model, effort):
            text = f"unsupported parameter: {key} is not supported with this model"
            yield f"responses.openai.sampling.{key}", (key,), text
    yield from efforts("responses.openai.effort", ("reasoning", "effort"), effort, model)
    if too_long(request, model) is not None and request.get("truncation") != "auto":
        yield "responses.openai.context.length", ("input",), "your input exceeds the context window of this model"
    limit = number(request.get("max_output_tokens"))
    if limit is not None and limit < OUTPUT_FLOOR and model.window is not None:
        text = f"invalid max_output_tokens: integer below minimum value; expected a value >= {OUTPUT_FLOOR}"
        yield "responses.openai.max_output_tokens.floor", ("max_output_tokens",), text
    yield from numbers("responses.openai", request)


def text_format(request: Request, _: Facts) -> Iterator[Finding]:
    """A bound answer."""
    found, path = mapped(mapped(request.get("text")).get("format")), ("text", "format")
    if found.get("type") == "json_schema":
        if "name" not in found:
            yield "responses.openai.text_format.name", (*path, "name"), "missing required parameter: text.format.name"
        else:
            yield from names("responses.openai.text_format", (*path, "name"), found["name"])
        yield from parameters(
            "responses.openai", (*path, "schema"), found.get("name"), found.get("schema"), found.get("strict") is True
        )
    if found.get("type") == "json_object":
        spoken = texts([request.get("input"), request.get("instructions")])
        if not continued(request) and not any("json" in text.lower() for text in spoken):
            text = "response input messages must contain the word json in some form to use json_object"
            yield "responses.openai.text_format.json_word", ("input",), text
    if request.get("response_format") is not None:
        text = "unsupported parameter: response_format has moved to text.format"
        yield "responses.openai.text_format.chat_shape", ("response_format",), text


def stored(request: Request, facts: Facts) -> Iterator[Finding]:
    """What a request may take from earlier responses."""
    name = request.get("previous_response_id")
    if name is not None and request.get("conversation") is not None:
        text = "previous_response_id cannot be used with conversation"
        yield "responses.openai.previous.with_conversation", ("previous_response_id",), text
    elif name is not None and facts.responses is not None and ident(name) not in facts.responses:
        text = f"previous response with id {shown(name)} not found"
        yield "responses.openai.previous.not_found", ("previous_response_id",), text


def codex(request: Request, facts: Facts) -> Iterator[Finding]:
    """The ChatGPT/Codex backend stores nothing, streams only, and takes few parameters."""
    if facts.dialect != "codex":
        return
    if request.get("store") is not False:
        yield "responses.codex.store", ("store",), "store must be set to false"
    if request.get("stream") is not True:
        yield "responses.codex.stream", ("stream",), "stream must be set to true"
    if not request.get("instructions"):
        yield "responses.codex.instructions", ("instructions",), "instructions are required"
    for key in ("temperature", "max_output_tokens", "previous_response_id"):
        if request.get(key) is not None:
            yield f"responses.codex.{key}", (key,), f"unsupported parameter: {key}"


CHECKS: Final = (codex, tools, choice, models, text_format, stored)
