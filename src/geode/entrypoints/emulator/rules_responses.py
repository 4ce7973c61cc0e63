"""What OpenAI Responses refuses in `input`: pairing, reasoning, ids, shapes of items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from geode.entrypoints.emulator.models import model_of
from geode.entrypoints.emulator.rule import Facts, Finding, Path, Request, fits, ident, listed, objects, shown
from geode.entrypoints.emulator.rules_openai import label, names

ID_PREFIX: Final = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
OUTPUT_OF: Final = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
OUTPUT_KINDS: Final = ("function_call_output", "custom_tool_call_output")


def items(request: Request) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The input items with their paths; a plain string has none."""
    return ((("input", place), item) for place, item in objects(request.get("input")))


def kind_of(item: dict[str, Any]) -> str:
    """An item's type; a message may leave it out."""
    return ident(item.get("type") or ("message" if "role" in item else ""))


def by_model(item: dict[str, Any]) -> bool:
    """Did the model make this item?"""
    kind = kind_of(item)
    if kind == "message":
        return item.get("role") == "assistant"
    return kind not in ("item_reference", "") and not kind.endswith(("_call_output", "_response"))


def _by_client(item: dict[str, Any]) -> bool:
    kind = kind_of(item)
    return kind in OUTPUT_KINDS or (kind == "message" and item.get("role") != "assistant")


def continued(request: Request) -> bool:
    """Does a part of the conversation live on the server, where this request does not show it?"""
    references = any(kind_of(item) == "item_reference" for _, item in items(request))
    return references or any(request.get(key) is not None for key in ("previous_response_id", "conversation"))


def pairing(request: Request, _: Facts) -> Iterator[Finding]:
    """Calls and outputs, one to one, by call id; an id may be used again once it is answered."""
    opened: dict[str, tuple[Path, str]] = {}
    elsewhere = continued(request)
    for path, item in items(request):
        kind, name = kind_of(item), ident(item.get("call_id"))
        if _asks(item, kind):
            if name in opened:
                yield _unanswered(opened[name][0], name)
            opened[name] = (path, kind)
        elif kind in (*OUTPUT_KINDS, "tool_search_output"):
            yield from _answer(path, kind, name, opened.pop(name, None), elsewhere)
    for name, (path, _kind) in opened.items():
        yield _unanswered(path, name)


def _asks(item: dict[str, Any], kind: str) -> bool:
    """Is it a call that the client has to answer?"""
    if kind == "tool_search_call":
        return item.get("execution") == "client" and item.get("call_id") is not None
    return kind in OUTPUT_OF and item.get("call_id") is not None


def _answer(path: Path, kind: str, name: str, call: tuple[Path, str] | None, elsewhere: bool) -> Iterator[Finding]:
    if kind == "tool_search_output":
        return  # the server may have asked itself
    if call is None and not elsewhere:
        text = f"No tool call found for function call output with call_id {shown(name)}."
        yield "responses.openai.output.orphan", path, text
    elif call is not None and OUTPUT_OF.get(call[1], kind) != kind:
        text = f"no tool output found for custom tool call {shown(name)}"
        yield "responses.openai.output.custom_vs_function", path, text


def _unanswered(path: Path, name: str) -> Finding:
    return "responses.openai.call.unanswered", path, f"No tool output found for function call {shown(name)}."


def reasoning(request: Request, facts: Facts) -> Iterator[Finding]:
    """Reasoning items: their shape, what follows them, and what cannot be read back."""
    found = list(items(request))
    for number, (path, item) in enumerate(found):
        if kind_of(item) != "reasoning":
            continue
        if not isinstance(item.get("summary"), list):
            yield (
                "responses.openai.reasoning.summary",
                (*path, "summary"),
                f"missing required parameter: {label((*path, 'summary'))}",
            )
        if not item.get("encrypted_content") and request.get("store") is False:
            text = f"item {shown(item.get('id'))} not found; items are not persisted when store is false"
            yield "responses.openai.reasoning.store_false_id", path, text
        elif facts.signatures is not None and ident(item.get("encrypted_content")) not in facts.signatures:
            text = f"encrypted content for item {shown(item.get('id'))} could not be verified"
            yield "responses.openai.reasoning.encrypted_invalid", (*path, "encrypted_content"), text
        following = found[number + 1][1] if number + 1 < len(found) else {"role": "user"}
        # Recorded: an assistant message in the short form, without type and id, does not count, but a
        # reasoning item without an id is not held to anything.
        short = following.get("role") == "assistant" and "type" not in following and "id" not in following
        if item.get("id") is not None and (_by_client(following) or short):
            text = f"Item {shown(item.get('id'))} of type 'reasoning' was provided without its required following item."
            yield "responses.openai.reasoning.without_following", path, text


def lonely_items(request: Request, facts: Facts) -> Iterator[Finding]:
    """An item that keeps its id wants the reasoning that it was made with."""
    if continued(request):
        return
    reasoned = False
    for path, item in items(request):
        reasoned = by_model(item) and (reasoned or kind_of(item) == "reasoning")
        if ident(item.get("id")) in facts.reasoned and not reasoned:
            text = f"item {shown(item['id'])} was provided without its required reasoning item"
            yield "responses.openai.item.without_reasoning", path, text


def deepseek(request: Request, _: Facts) -> Iterator[Finding]:
    """DeepSeek wants the outputs right after their calls, with nothing of the model between."""
    if "outputs apart" not in model_of(request).refuses:
        return
    opened: dict[str, Path] = {}
    for path, item in items(request):
        kind, name = kind_of(item), ident(item.get("call_id"))
        if kind in OUTPUT_OF:
            opened[name] = path
        elif kind in OUTPUT_KINDS:
            opened.pop(name, None)
        else:
            for waiting, place in opened.items():
                yield "responses.generic.deepseek_adjacent", place, f"No tool output found for tool call {shown(waiting)}."
            opened = {}


def ids(request: Request, _: Facts) -> Iterator[Finding]:
    """Prefix, alphabet and length of item ids and call ids."""
    for path, item in items(request):
        kind, name = kind_of(item), item.get("id")
        if name is not None:
            where = (*path, "id")
            if not fits(r"[A-Za-z0-9_-]+", name):
                text = f"invalid {label(where)}: must contain only letters, numbers, underscores, or dashes"
                yield "responses.openai.item.id_chars", where, text
            if kind in ID_PREFIX and not ident(name).startswith(ID_PREFIX[kind]):
                text = f"invalid {label(where)}: expected an ID that begins with {ID_PREFIX[kind]}"
                yield "responses.openai.item.id_prefix", where, text
        if kind in (*OUTPUT_OF, *OUTPUT_KINDS):
            where, call = (*path, "call_id"), item.get("call_id")
            if not isinstance(call, str) or not call:
                yield "responses.openai.call_id.missing", where, f"missing required parameter: {label(where)}"
            elif len(call) > 64:
                yield "responses.openai.call_id.length", where, f"invalid {label(where)}: string too long; maximum length 64"


def shapes(request: Request, _: Facts) -> Iterator[Finding]:
    """Types of arguments and outputs, and messages of the other wire."""
    for path, item in items(request):
        kind = kind_of(item)
        if kind == "function_call":
            yield from names("responses.openai.call", (*path, "name"), item.get("name"))
            if not isinstance(item.get("arguments"), str):
                where = (*path, "arguments")
                yield "responses.openai.arguments.type", where, f"invalid type for {label(where)}: expected a string"
        if kind in OUTPUT_KINDS and not _parts(item.get("output")):
            where = (*path, "output")
            text = f"invalid type for {label(where)}: expected a string or a list of input parts"
            yield "responses.openai.output.type", where, text
        if kind == "message":
            yield from _message(path, item)


def _parts(output: Any) -> bool:
    return isinstance(output, str) or (isinstance(output, list) and all(isinstance(part, dict) for part in output))


def _message(path: Path, item: dict[str, Any]) -> Iterator[Finding]:
    role, content = item.get("role"), item.get("content")
    if role not in ("user", "assistant", "system", "developer"):
        text = f"invalid value: {shown(role)!r}. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        yield "responses.openai.message.role", (*path, "role"), text
    for key in ("tool_calls", "tool_call_id"):
        if key in item:
            yield "responses.openai.message.chat_shape", (*path, key), f"unknown parameter: {label((*path, key))}"
    if not isinstance(content, str | list):
        where = (*path, "content")
        yield "responses.openai.message.content", where, f"invalid type for {label(where)}: expected a string or a list"


def presence(request: Request, _: Facts) -> Iterator[Finding]:
    """There is something to answer, and someone to answer it."""
    if "messages" in request:
        yield "responses.openai.message.chat_shape", ("messages",), "unknown parameter: messages; use input"
    if not any(request.get(key) for key in ("input", "previous_response_id", "conversation", "prompt")):
        yield "responses.openai.input.required", ("input",), "missing required parameter: input"
    if not isinstance(request.get("model"), str) and request.get("prompt") is None:
        yield "responses.openai.model.required", ("model",), "missing required parameter: model"
    if not isinstance(request.get("input"), str | list | None):
        yield "responses.openai.input.type", ("input",), "invalid type for input: expected a string or a list"
    for place, item in enumerate(listed(request.get("input"))):
        if not isinstance(item, dict):
            yield "responses.openai.input.type", ("input", place), f"invalid type for input[{place}]: expected an object"


CHECKS: Final = (presence, pairing, reasoning, lonely_items, deepseek, ids, shapes)
