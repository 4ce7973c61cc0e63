"""What OpenAI Responses, and the Codex backend on the same wire, refuse around the input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.models import gpt, reasons
from geode.entrypoints.emulator.rule import Facts, Finding, Request, listed, mapped, objects
from geode.entrypoints.emulator.rules_openai import TOOLS_LIMIT, names, parameters

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
            text = f"invalid value: {found!r}. Supported values are: 'none', 'auto', and 'required'."
            yield "responses.openai.tool_choice.shape", path, text
        elif found == "required" and not _has_tools(request):
            text = "Tool choice 'required' must be specified with 'tools' parameter."
            yield "responses.openai.tool_choice.required_without_tools", path, text
        return
    kind, name = mapped(found).get("type"), mapped(found).get("name")
    if kind in ("function", "custom") and "name" not in mapped(found):
        text = "missing required parameter: tool_choice.name"
        yield "responses.openai.tool_choice.chat_shape", (*path, "name"), text
    elif kind in ("function", "custom") and name not in names_there:
        yield "responses.openai.tool_choice.unknown", path, f"tool choice {name} not found in tools parameter"
    elif kind == "allowed_tools":
        for __, entry in objects(mapped(found).get("tools")):
            if entry.get("type") in ("function", "custom") and entry.get("name") not in names_there:
                text = f"tool choice {entry.get('name')} not found in tools parameter"
                yield "responses.openai.tool_choice.unknown", path, text
    elif not isinstance(kind, str) or kind in ("tool", "any", "auto", "none", "required"):
        yield "responses.openai.tool_choice.shape", path, "invalid value for tool_choice: expected a word or a named tool"


def _names(request: Request) -> list[Any]:
    found = [tool for _, tool in objects(request.get("tools"))]
    for _, item in objects(request.get("input")):
        found.extend(tool for _, tool in objects(item.get("tools")))
    inner = [sub for tool in found for _, sub in objects(tool.get("tools"))]
    return [tool.get("name") for tool in [*found, *inner]]


def _has_tools(request: Request) -> bool:
    stored = any(request.get(key) is not None for key in ("previous_response_id", "conversation", "prompt"))
    return stored or bool(request.get("tools")) or bool(_names(request))


def sampling(request: Request, _: Facts) -> Iterator[Finding]:
    """Sampling on reasoning models, and the floor of the output limit."""
    effort = mapped(request.get("reasoning")).get("effort")
    if reasons(request.get("model")) and gpt(request.get("model")) >= (5, 0) and effort != "none":
        for key in ("temperature", "top_p"):
            if key in request:
                text = f"unsupported parameter: {key} is not supported with this model"
                yield f"responses.openai.sampling.{key}", (key,), text
    limit = request.get("max_output_tokens")
    if isinstance(limit, int) and limit < OUTPUT_FLOOR:
        text = f"invalid max_output_tokens: integer below minimum value; expected a value >= {OUTPUT_FLOOR}"
        yield "responses.openai.max_output_tokens.floor", ("max_output_tokens",), text


def text_format(request: Request, _: Facts) -> Iterator[Finding]:
    """A bound answer."""
    found, path = mapped(mapped(request.get("text")).get("format")), ("text", "format")
    if found.get("type") == "json_schema":
        if "name" not in found:
            yield "responses.openai.text_format.name", (*path, "name"), "missing required parameter: text.format.name"
        else:
            yield from names("responses.openai.text_format", (*path, "name"), found["name"])
    if found.get("type") == "json_object":
        spoken = json.dumps([request.get("input"), request.get("instructions")], default=str).lower()
        if "json" not in spoken:
            text = "response input messages must contain the word json in some form to use json_object"
            yield "responses.openai.text_format.json_word", ("input",), text
    if "response_format" in request:
        text = "unsupported parameter: response_format has moved to text.format"
        yield "responses.openai.text_format.chat_shape", ("response_format",), text


def stored(request: Request, facts: Facts) -> Iterator[Finding]:
    """What a request may take from earlier responses."""
    name = request.get("previous_response_id")
    if name is not None and request.get("conversation") is not None:
        text = "previous_response_id cannot be used with conversation"
        yield "responses.openai.previous.with_conversation", ("previous_response_id",), text
    elif name is not None and facts.responses is not None and name not in facts.responses:
        text = f"previous response with id {name} not found"
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
        if key in request:
            yield f"responses.codex.{key}", (key,), f"unsupported parameter: {key}"


CHECKS: Final = (codex, tools, choice, sampling, text_format, stored)
