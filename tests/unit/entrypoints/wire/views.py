"""Reading any request body of any wire as a person would, to compare what two of them say.

An independent witness: it shares nothing with the readers and the encoders. What only one provider
understands is passed over, and so is how a text is cut into pieces.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]
KINDS = ("failed", "denied", "interrupted", "outcome_unknown")
SYSTEM = ("system", "developer")
# What stands for tools that were only called, where a server wants them defined.
GONE = "no longer available"
FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


@dataclass
class Round:
    """What the model said and called, and what came back before it spoke again. A call is its number in the request."""

    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    results: dict[int, tuple[bool, str, tuple[Any, ...]]] = field(default_factory=dict)
    user_text: str = ""
    user_media: list[Any] = field(default_factory=list)


@dataclass
class View:
    system: str
    rounds: list[tuple[str, Any, Any, str, Any]]
    tools: dict[str, tuple[str, Any]]
    choice: str


def view(protocol: str, body: Json) -> View:
    """What `body` says."""
    read = {"messages": _messages, "responses": _responses, "chat": _chat}[protocol]
    system, rounds, tools, choice = read(body)
    found = {name: (description or "", _schema(schema)) for name, description, schema in reversed(tools) if name.strip()}
    if all(description == GONE for description, _ in found.values()):
        found = {}
    named = {"any": "required"}.get(choice, choice)
    if not found or (named not in ("auto", "none", "required") and named not in found):
        named = "auto"
    said = [
        (squeezed(one.text), one.calls, sorted(one.results.items()), squeezed(one.user_text), one.user_media)
        for one in _heard(rounds)
    ]
    return View(squeezed(system), said, found, named)


def _heard(rounds: list[Round]) -> list[Round]:
    """The rounds without those in which the model said nothing that others understand; its texts in a row are one."""
    heard = rounds[:1]
    for one in rounds[1:]:
        before = heard[-1]
        if (one.text.strip() or one.calls) and (
            before.calls or before.user_text.strip() or before.user_media or before is rounds[0]
        ):
            heard.append(one)
        else:
            before.text += one.text
            before.calls += one.calls
            before.results |= one.results
            before.user_text += one.user_text
            before.user_media += one.user_media
    return heard


def squeezed(text: str) -> str:
    """Without white space: where texts were cut and joined."""
    return "".join(text.split())


def _schema(schema: Any) -> Any:
    """In the words of all servers: there are some that want an empty list of what is required."""
    given = schema if isinstance(schema, dict) else {}
    return {
        "properties": {},
        **{name: value for name, value in given.items() if (name, value) != ("required", [])},
        "type": "object",
    }


def _arguments(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}", strict=False)
        except ValueError:
            return {"unparsed_arguments": value}
    return value if isinstance(value, dict) else {} if value is None else {"unparsed_arguments": json.dumps(value)}


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [{"type": "text", "text": one} if isinstance(one, str) else one for one in content or []]


def _choice(value: Any) -> str:
    if value is None:
        return "auto"
    if isinstance(value, str):
        return value
    if "name" in value:
        return str(value["name"])
    if "function" in value:
        return str(value["function"]["name"])
    if value["type"] == "allowed_tools":
        return str((value.get("allowed_tools") or value)["mode"])
    return str(value["type"])


def _result(rounds: list[Round], id: Any, failed: bool, text: str, media: tuple[Any, ...]) -> bool:
    """Give the result to the latest call with its id; whether there is one."""
    for one in reversed(rounds):
        free = [place for place, known in enumerate(one.ids) if known == id and place not in one.results]
        if free:
            silent = "" if text.strip() in ("", "ok") or (media and text.strip() == "done") else text
            one.results[free[0]] = (failed, squeezed(silent), media)
            return True
    return False


# ---- Messages -----------------------------------------------------------------------------------


def _messages(body: Json) -> tuple[str, list[Round], list[tuple[str, Any, Any]], str]:
    system = "".join(one.get("text", "") for one in _blocks(body.get("system")))
    rounds, by_model, begun = [Round()], False, False
    for message in body["messages"]:
        role, blocks = message["role"], _blocks(message.get("content"))
        if role == "system" and not begun:
            system += "".join(one.get("text", "") for one in blocks)
            continue
        begun = True
        if role == "assistant" and not by_model:
            rounds.append(Round())
        by_model = role == "assistant"
        for block in blocks:
            if role == "assistant":
                _by_claude(rounds[-1], block)
            else:
                _by_user(rounds, block)
    tools = [
        (tool["name"], tool.get("description"), tool.get("input_schema"))
        for tool in body.get("tools") or []
        if tool.get("type") in (None, "custom")
    ]
    return system, rounds, tools, _choice(body.get("tool_choice"))


def _by_claude(current: Round, block: Json) -> None:
    if block["type"] == "text":
        current.text += block.get("text") or ""
    if block["type"] == "tool_use":
        current.calls.append((block["name"], _arguments(block.get("input"))))
        current.ids.append(block["id"])


def _by_user(rounds: list[Round], block: Json) -> None:
    text, media = _claude_part(block)
    rounds[-1].user_text += text
    rounds[-1].user_media += media
    if block["type"] == "tool_result":
        parts = [_claude_part(one) for one in _blocks(block.get("content"))]
        shown = tuple(one for _, media in parts for one in media)
        assert _result(rounds, block["tool_use_id"], bool(block.get("is_error")), "".join(one for one, _ in parts), shown)


def _claude_part(block: Json) -> tuple[str, list[Any]]:
    if block["type"] == "text":
        return block["text"], []
    if block["type"] == "search_result":
        return "".join(one["text"] for one in _blocks(block["content"])), []
    source = block.get("source") or {}
    match source.get("type") if isinstance(source, dict) else None:
        case "base64":
            return "", [base64.b64decode(source["data"])]
        case "text":
            return "", [source["data"].encode()]
        case "url":
            return "", [source["url"]]
        case _:
            return "", []


# ---- Responses ----------------------------------------------------------------------------------


def _responses(body: Json) -> tuple[str, list[Round], list[tuple[str, Any, Any]], str]:
    system, tools = body.get("instructions") or "", list(body.get("tools") or [])
    rounds, by_model, begun = [Round()], False, False
    given = body.get("input") or []
    items: list[Json] = [{"role": "user", "content": given}] if isinstance(given, str) else given
    searches = [item.get("call_id") for item in items if item.get("type") == "tool_search_call"]
    for item in items:
        if item.get("type") == "function_call_output" and item["call_id"] in searches:
            continue
        kind, role = item.get("type", "message"), item.get("role")
        tools += item.get("tools") or [] if kind in ("additional_tools", "tool_search_output") else []
        if kind == "additional_tools":
            continue
        if kind == "message" and role in SYSTEM and not begun:
            system += "".join(_gpt_part(one)[0] for one in _blocks(item.get("content")))
            continue
        begun = True
        model = role == "assistant" or kind not in ("message", "function_call_output", "custom_tool_call_output")
        if model and not by_model:
            rounds.append(Round())
        by_model = model
        _gpt_item(rounds, item, kind, model=model)
    return system, rounds, list(_gpt_tools(tools)), _choice(body.get("tool_choice"))


def _gpt_item(rounds: list[Round], item: Json, kind: str, *, model: bool) -> None:
    current = rounds[-1]
    parts = [_gpt_part(one) for one in _blocks(item.get("output") if kind.endswith("_output") else item.get("content"))]
    text, media = "".join(one for one, _ in parts), [one for _, found in parts for one in found]
    if kind == "message" and model:
        current.text += text
    elif kind == "message":
        current.user_text += text
        current.user_media += media
    elif kind in ("function_call", "custom_tool_call"):
        given = item.get("arguments") if kind == "function_call" else {"input": item["input"]}
        current.calls.append((item["name"], _arguments(given)))
        current.ids.append(item["call_id"])
    elif kind in ("function_call_output", "custom_tool_call_output"):
        failed, said = _flag(text)
        if not _result(rounds, item["call_id"], failed, said, tuple(media)):
            current.user_text += text


def _flag(text: str) -> tuple[bool, str]:
    """Whether a text says that its call failed, and the rest of it. `ok: ` before such a word takes it back."""
    if re.match(rf"ok: (ok: )*({'|'.join(KINDS)})(: |$)", text):
        return False, text[4:]
    found = re.match(rf"({'|'.join(KINDS)})(: |$)", text)
    return found is not None, text.removeprefix("failed: ") if found else text


def _gpt_part(part: Json) -> tuple[str, list[Any]]:
    if "text" in part.get("type", "text"):
        return part.get("text") or "", []
    url = part.get("image_url") or part.get("file_data") or part.get("file_url")
    return part.get("refusal") or "", [] if url is None else [_held(url)]


def _held(url: str) -> Any:
    if url.startswith("data:"):
        return base64.b64decode(url.partition(",")[2])
    return url if url.startswith("http") else base64.b64decode(url)


def _gpt_tools(tools: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    for tool in tools:
        match tool["type"]:
            case "function":
                yield tool["name"], tool.get("description"), tool.get("parameters")
            case "custom":
                yield tool["name"], tool.get("description"), FREE_TEXT
            case "namespace":
                yield from _gpt_tools(tool["tools"])
            case _:
                pass


# ---- Chat ---------------------------------------------------------------------------------------


def _chat(body: Json) -> tuple[str, list[Round], list[tuple[str, Any, Any]], str]:
    system, rounds, begun = "", [Round()], False
    for message in body["messages"]:
        role, content = message["role"], _blocks(message.get("content"))
        if role in SYSTEM and not begun:
            system += "".join(one["text"] for one in content)
            continue
        begun = True
        if role == "assistant":
            rounds.append(Round())
            _by_assistant(rounds[-1], message, content)
        elif role in ("tool", "function"):
            parts = [_chat_part(one) for one in content]
            text = "".join(one for one, _ in parts)
            shown = re.sub(r"\n?\[\d+ attachment\(s\), after the tool results\]$", "", text)
            failed, said = _flag(shown)
            media = tuple(one for _, found in parts for one in found)
            assert _result(rounds, message.get("tool_call_id"), failed, "done" if shown != text and not said else said, media)
        else:
            _told(rounds, content)
    tools = [tool.get("function") or tool for tool in body.get("tools") or [] if tool.get("type", "function") == "function"]
    custom = [tool["custom"] for tool in body.get("tools") or [] if tool.get("type") == "custom"]
    defined = [
        *((tool["name"], tool.get("description"), tool.get("parameters")) for tool in (*tools, *(body.get("functions") or []))),
        *((tool["name"], tool.get("description"), FREE_TEXT) for tool in custom),
    ]
    return system, rounds, defined, _choice(body.get("tool_choice") or body.get("function_call"))


def _by_assistant(current: Round, message: Json, content: list[Any]) -> None:
    current.text += "".join(
        one.get("text") or one.get("refusal") or "" for one in content if one["type"] in ("text", "refusal")
    )
    current.text += message.get("refusal") or ""
    for call in message.get("tool_calls") or []:
        made = call.get("function") or {"name": call["custom"]["name"], "arguments": {"input": call["custom"]["input"]}}
        current.calls.append((made["name"], _arguments(made.get("arguments"))))
        current.ids.append(call.get("id"))
    if old := message.get("function_call"):
        current.calls.append((old["name"], _arguments(old.get("arguments"))))
        current.ids.append(None)


def _told(rounds: list[Round], content: list[Any]) -> None:
    """What the user said; media behind a line that names a call belong to its result."""
    current, of = rounds[-1], None
    for part in content:
        text, media = _chat_part(part)
        label = re.fullmatch(r"Attachments of the result of (.+):", text)
        if label is not None and label[1] in current.ids:
            of = current.ids.index(label[1])
            continue
        of = None if text else of
        current.user_text += text
        if of is None:
            current.user_media += media
        else:
            failed, said, before = current.results[of]
            current.results[of] = (failed, "" if said == "done" else said, (*before, *media))


def _chat_part(part: Json) -> tuple[str, list[Any]]:
    kind = part.get("type", "text")
    if kind == "text":
        return part["text"], []
    held = part.get(kind)
    inner = held if isinstance(held, dict) else {"url": held}
    url = inner.get("file_data") or (inner.get("url") if kind in ("image_url", "document_url", "file_url") else None)
    return "", [] if url is None else [_held(url)]
