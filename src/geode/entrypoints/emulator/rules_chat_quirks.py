"""What compatible Chat servers were seen to refuse that others of their dialect take: each by a word of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from geode.entrypoints.emulator.rule import Facts, Finding, Quirk, Request, Rule, listed, objects
from geode.entrypoints.emulator.rules_chat import messages

_GENERIC: Final = ("generic",)


def _rule(name: str, says: str, source: str, status: int = 400) -> Rule:
    return Rule(f"chat.quirk.{name}", says, source, status, dialects=_GENERIC)


RULES: Final = (
    _rule("tools", "Takes no tools.", "https://github.com/ggml-org/llama.cpp/issues/10920"),
    _rule("tool_messages", "Knows no calls and no tool messages.", "https://github.com/pydantic/pydantic-ai/issues/2800"),
    _rule("forced_choice", "Forces no tool.", "https://github.com/ollama/ollama/issues/17921"),
    _rule("named_choice", "tool_choice is a word.", "https://github.com/can1357/oh-my-pi/issues/6925"),
    _rule("null_content", "content is a text.", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/261"),
    _rule("empty_content", "content is not empty.", "https://github.com/CherryHQ/cherry-studio/issues/16155"),
    _rule("absent_content", "content is there.", "https://github.com/abetlen/llama-cpp-python/issues/1805"),
    _rule("stream_options", "Knows no stream_options.", "https://github.com/FlowiseAI/Flowise/issues/2866"),
    _rule("max_tokens", "The bound is max_completion_tokens.", "https://github.com/sipeed/picoclaw/issues/16"),
    _rule("max_completion_tokens", "The bound is max_tokens.", "https://github.com/voideditor/void/issues/128"),
    _rule("result_parts", "A tool message is a text.", "https://github.com/vllm-project/vllm/issues/43203"),
    _rule("pictures", "Is shown no pictures.", "https://github.com/ggml-org/llama.cpp/issues/12947"),
)
_FIELDS: Final[tuple[Quirk, ...]] = ("tools", "stream_options", "max_tokens", "max_completion_tokens")


def fields(request: Request, facts: Facts) -> Iterator[Finding]:
    """Keys that the server does not know."""
    for name in _FIELDS:
        if name in facts.quirks and request.get(name) is not None:
            yield f"chat.quirk.{name}", (name,), f"extra inputs are not permitted: {name}"


def choice(request: Request, facts: Facts) -> Iterator[Finding]:
    """How a tool is forced."""
    given = request.get("tool_choice")
    if "named_choice" in facts.quirks and isinstance(given, dict):
        text = "invalid tool_choice type: 'object'; supported string values: none, auto, required"
        yield "chat.quirk.named_choice", ("tool_choice",), text
    if "forced_choice" in facts.quirks and given not in (None, "auto", "none"):
        yield "chat.quirk.forced_choice", ("tool_choice",), "tool_choice takes auto and none"


def contents(request: Request, facts: Facts) -> Iterator[Finding]:
    """What a message of the model holds beside its calls, and what messages hold at all."""
    for path, message in messages(request):
        where = (*path, "content")
        called = message.get("role") == "assistant" and bool(listed(message.get("tool_calls")))
        if "tool_messages" in facts.quirks and (called or message.get("role") == "tool"):
            yield "chat.quirk.tool_messages", path, "this model does not support tools"
        if called and "content" not in message:
            if "absent_content" in facts.quirks:
                yield "chat.quirk.absent_content", where, "content: field required"
        elif called and message["content"] is None:
            if "null_content" in facts.quirks:
                yield "chat.quirk.null_content", where, "content must be a string or an array of objects"
        elif called and message["content"] == "" and "empty_content" in facts.quirks:
            yield "chat.quirk.empty_content", where, "empty content is not allowed for assistant messages"
        if "result_parts" in facts.quirks and message.get("role") == "tool" and not isinstance(message.get("content"), str):
            yield "chat.quirk.result_parts", where, "the content of a tool message is a text"
        if "pictures" in facts.quirks:
            for number, part in objects(message.get("content")):
                if part.get("type") == "image_url":
                    yield "chat.quirk.pictures", (*where, number), "unsupported content part type: image_url"


CHECKS: Final = (fields, choice, contents)
