"""What Chat Completions refuses in `messages`: pairing, order, contents, ids; dialects differ by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from geode.entrypoints.emulator.models import model_of
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, fits, ident, listed, mapped, objects, shown
from geode.entrypoints.emulator.rules_openai import label, names

CALLS_LIMIT: Final = 128
ID_LIMIT: Final = 64


def messages(request: Request) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The messages with their paths."""
    return ((("messages", place), message) for place, message in objects(request.get("messages")))


def pairing(request: Request, facts: Facts) -> Iterator[Finding]:
    """One tool message for each call, right after it, before anything else."""
    found = list(messages(request))
    left = Counter(ident(message.get("tool_call_id")) for _, message in found if message.get("role") == "tool")
    partial = facts.dialect == "generic" and model_of(request).partial_answers
    pending: dict[str, Path] = {}
    answered: set[str] = set()
    broken: set[str] = set()
    running = False
    for path, message in found:
        if message.get("role") == "tool":
            name = ident(message.get("tool_call_id"))
            left[name] -= 1
            if name in pending or name not in broken:
                yield from _answer(name, path, pending, answered, running)
            pending.pop(name, None)
            answered.add(name)
            continue
        if pending and not (partial and answered):
            yield _unanswered(pending, (*path, "role"), left, facts, request)
            broken |= pending.keys()
        calls = objects(message.get("tool_calls")) if message.get("role") == "assistant" else ()
        pending = {ident(call.get("id")): (*path, "tool_calls", number) for number, call in calls}
        answered, running = set(), bool(pending)
    if pending and not (partial and answered):
        yield _unanswered(pending, next(iter(pending.values())), left, facts, request)


def _answer(name: str, path: Path, pending: Mapping[str, Path], answered: set[str], running: bool) -> Iterator[Finding]:
    if not running:
        text = "messages with role tool must be a response to a preceding message with tool_calls"
        yield "chat.openai.tool.orphan", (*path, "role"), f"invalid parameter: {text}"
    elif name in answered and name not in pending:
        yield "chat.openai.tool.duplicate", (*path, "tool_call_id"), f"tool_call_id {shown(name)} was answered already"
    elif name not in pending:
        text = f"tool_call_id {shown(name)} not found in tool_calls of previous message"
        yield "chat.openai.tool.unknown_id", (*path, "tool_call_id"), text


def _unanswered(pending: Mapping[str, Path], path: Path, left: Mapping[str, int], facts: Facts, request: Request) -> Finding:
    text = "an assistant message with tool_calls must be followed by tool messages responding to each tool_call_id"
    if facts.dialect == "glm":
        rule = "chat.glm.unanswered"
    elif facts.dialect == "generic" and "outputs apart" in model_of(request).refuses:
        rule = "chat.generic.deepseek_unanswered"
    else:
        rule = f"chat.openai.tool.{'interleaved_user' if any(left[name] for name in pending) else 'unanswered'}"
    return rule, path, f"{text}; missing: {shown(', '.join(sorted(pending)))}"


def calls(request: Request, _: Facts) -> Iterator[Finding]:
    """The shape of calls in the history."""
    for path, message in messages(request):
        found, where = message.get("tool_calls"), (*path, "tool_calls")
        if found == []:
            yield (
                "chat.openai.assistant.empty_tool_calls",
                where,
                f"invalid {label(where)}: empty array; expected minimum length 1",
            )
        if len(listed(found)) > CALLS_LIMIT:
            text = f"invalid {label(where)}: array too long; maximum length {CALLS_LIMIT}"
            yield "chat.openai.tool_calls.count", where, text
        seen: set[str] = set()
        for number, call in objects(found):
            yield from _call((*where, number), call)
            if ident(call.get("id")) in seen:
                text = f"duplicate value for {label((*where, number, 'id'))}"
                yield "chat.openai.tool_calls.duplicate_id", (*where, number, "id"), text
            seen.add(ident(call.get("id")))


def _call(path: Path, call: dict[str, Any]) -> Iterator[Finding]:
    name, where = call.get("id"), (*path, "id")
    if not isinstance(name, str) or not name:
        yield "chat.openai.tool_calls.id_missing", where, f"missing required parameter: {label(where)}"
    elif len(name) > ID_LIMIT:
        yield "chat.openai.tool_calls.id_length", where, f"invalid {label(where)}: string too long; maximum length {ID_LIMIT}"
    if call.get("type", "function") != "function":
        return
    function = mapped(call.get("function"))
    if not isinstance(function.get("arguments"), str):
        where = (*path, "function", "arguments")
        yield "chat.openai.tool_calls.arguments_type", where, f"invalid type for {label(where)}: expected a string"
    yield from names("chat.openai.tool_calls", (*path, "function", "name"), function.get("name"))


def contents(request: Request, _: Facts) -> Iterator[Finding]:
    """What a message of each role may hold."""
    if not listed(request.get("messages")):
        yield "chat.openai.messages.required", ("messages",), "missing required parameter: messages"
    for place, message in enumerate(listed(request.get("messages"))):
        if not isinstance(message, dict):
            text = f"invalid type for messages[{place}]: expected an object"
            yield "chat.openai.messages.shape", ("messages", place), text
    for path, message in messages(request):
        role, content, where = message.get("role"), message.get("content"), (*path, "content")
        if role not in ("system", "developer", "user", "assistant", "tool", "function"):
            text = f"invalid value for {label((*path, 'role'))}: {shown(role)!r}"
            yield "chat.openai.messages.role", (*path, "role"), text
        elif content is None and role != "assistant":
            yield "chat.openai.messages.null_content", where, f"invalid value for {label(where)}: expected a string, got null"
        elif content is None and not any(message.get(key) for key in ("tool_calls", "refusal", "function_call", "audio")):
            text = f"invalid value for {label(where)}: expected a string, got null"
            yield "chat.openai.assistant.null_content", where, text
        elif content is not None and not isinstance(content, str | list):
            yield "chat.openai.messages.content_type", where, f"invalid type for {label(where)}: expected a string or a list"
        elif role == "tool" and "tool_call_id" not in message:
            yield (
                "chat.openai.tool.id_missing",
                (*path, "tool_call_id"),
                f"missing required parameter: {label((*path, 'tool_call_id'))}",
            )


def mistral_ids(request: Request, _: Facts) -> Iterator[Finding]:
    """Mistral's models of 2024 take call ids of nine letters and digits only."""
    if "long call ids" not in model_of(request).refuses:
        return
    for path, message in messages(request):
        for number, call in objects(message.get("tool_calls")):
            if not fits(r"[A-Za-z0-9]{9}", call.get("id")):
                text = "tool call id must be a-z, A-Z, 0-9, with a length of 9"
                yield "chat.generic.mistral_id", (*path, "tool_calls", number, "id"), text


def glm(request: Request, facts: Facts) -> Iterator[Finding]:
    """GLM refuses conversations without a user and ids that occur twice, each with its own business code."""
    if facts.dialect != "glm":
        return
    if "messages" not in request:
        yield "chat.glm.missing_param", ("messages",), "a required parameter was not received"
        return
    if not any(message.get("role") == "user" for _, message in messages(request)):
        yield "chat.glm.no_user_message", ("messages",), "the messages parameter is illegal"
    for path, message in messages(request):
        seen: set[str] = set()
        for number, call in objects(message.get("tool_calls")):
            if ident(call.get("id")) in seen:
                where = (*path, "tool_calls", number, "id")
                yield "chat.glm.repeated_tool_call_id", where, "the messages parameter is illegal"
            seen.add(ident(call.get("id")))


CHECKS: Final = (glm, contents, pairing, calls, mistral_ids)
