"""Reading a request body as a person would: who said what, who called what, what came back.

An independent witness of what left: it shares nothing with the encoders. `expected` says the same of
a neutral conversation, so that the two can be compared.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeGuard

from geode.domain.arguments import UNPARSED_KEY
from geode.domain.content import Document, Image, Media, Opaque, Owner, Part, Text, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.turns import AssistantTurn, ToolResultsTurn, UserTurn
from geode.entrypoints.emulator import Protocol

KINDS = ("failed", "denied", "interrupted", "outcome_unknown")
FITS = re.compile(r"[A-Za-z0-9_-]{1,64}")
Json: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    who: str
    text: str


@dataclass(frozen=True)
class Shown:
    """A picture or a document that is in no result: its bytes, or its address."""

    data: bytes | str


@dataclass(frozen=True)
class Asked:
    """A call; `number` counts the calls of the whole conversation."""

    number: int
    name: str
    input: Any
    id: str = field(default="", compare=False)


@dataclass(frozen=True)
class Answered:
    number: int
    failed: bool
    text: str
    pictures: tuple[bytes | str, ...] = ()


@dataclass(frozen=True)
class Kept:
    """An opaque item."""

    value: Any


Said: TypeAlias = Told | Shown | Asked | Answered | Kept


class _Calls:
    """Numbers of calls by the ids of the last round."""

    def __init__(self) -> None:
        self.count = 0
        self.round: dict[str, int] = {}

    def ask(self, id: str, name: str, input: Any) -> Asked:
        assert id not in self.round, f"the id {id!r} is twice in one round"
        self.round[id] = self.count
        self.count += 1
        return Asked(self.round[id], name, input, id)

    def number(self, id: str) -> int:
        assert id in self.round, f"the result {id!r} answers none of {list(self.round)}"
        return self.round[id]


def read(protocol: Protocol, body: Json) -> list[Said]:
    """What the conversation in `body` says, in order."""
    return list({"messages": _messages, "responses": _responses, "chat": _chat}[protocol](body))


def _messages(body: Json) -> Iterator[Said]:
    calls, role = _Calls(), ""
    for message in body["messages"]:
        assert set(message) == {"role", "content"}
        assert message["role"] != role, "neighbours of one role are one message"
        role = message["role"]
        if role == "assistant":
            calls.round = {}
        blocks = message["content"]
        assert blocks
        listed = [{"type": "text", "text": blocks}] if isinstance(blocks, str) else blocks
        yield from _reunited([said for block in listed for said in _block(block, role, calls)], calls)


def _reunited(message: list[Said], calls: _Calls) -> list[Said]:
    """Pictures after a line that names a call belong to that call's result, which could not hold them."""
    found, of = list[Said](), None
    for said in message:
        at, before = next(((at, one) for at, one in enumerate(found) if _misses(one, of)), (0, None))
        if isinstance(said, Shown) and of is not None and before is not None:
            found[at] = Answered(of, before.failed, before.text, (*before.pictures, said.data))
            continue
        of = _label_of(said.text, calls) if isinstance(said, Told) else None
        if of is None:
            found.append(said)
    return found


def _misses(said: Said, number: int | None) -> TypeGuard[Answered]:
    """Whether it is the result of that call, and has fewer pictures than it says."""
    if not isinstance(said, Answered) or said.number != number:
        return False
    stub = re.search(r"\[(\d+) attachment\(s\), after the tool results\]$", said.text)
    return stub is not None and len(said.pictures) < int(stub[1])


def _label_of(text: str, calls: _Calls) -> int | None:
    return next((number for id, number in calls.round.items() if text == f"Attachments of the result of {id}:"), None)


def _block(block: Json, role: str, calls: _Calls) -> Iterator[Said]:
    match block["type"]:
        case "text":
            yield Told(role, block["text"])
        case "image" | "document":
            yield Shown(_source(block))
        case "tool_use":
            assert isinstance(block["input"], dict)
            yield calls.ask(block["id"], block["name"], block["input"])
        case "tool_result":
            parts = block["content"]
            listed = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
            texts = [part["text"] for part in listed if part["type"] == "text"]
            pictures = tuple(_source(part) for part in listed if part["type"] != "text")
            assert all(text.strip() for text in texts), "blank text is refused on this wire"
            yield Answered(calls.number(block["tool_use_id"]), block.get("is_error", False), "\n".join(texts), pictures)
        case _:
            assert role == "assistant"
            yield Kept(block)


def _source(block: Json) -> bytes | str:
    source = block["source"]
    match source["type"]:
        case "url":
            return str(source["url"])
        case "text":
            return str(source["data"]).encode()
        case kind:
            assert kind == "base64"
            return base64.b64decode(source["data"], validate=True)


def _responses(body: Json) -> Iterator[Said]:
    calls, by_model = _Calls(), False
    for item in body["input"]:
        kind = item.get("type", "message")
        if not by_model and (kind in ("function_call", "reasoning") or item.get("role") == "assistant"):
            calls.round = {}
        by_model = kind not in ("message", "function_call_output") or item.get("role") == "assistant"
        match kind:
            case "message":
                for part in item["content"]:
                    if part["type"] in _FIELDS:
                        yield Shown(_attached(part))
                    else:
                        assert part["type"] == ("output_text" if item["role"] == "assistant" else "input_text")
                        yield Told(item["role"], part["text"])
            case "function_call":
                yield calls.ask(item["call_id"], item["name"], _object(item["arguments"]))
            case "function_call_output":
                parts = item["output"]
                listed = [{"type": "input_text", "text": parts}] if isinstance(parts, str) else parts
                text = "\n".join(part["text"] for part in listed if part["type"] == "input_text")
                pictures = tuple(_attached(part) for part in listed if part["type"] in _FIELDS)
                yield Answered(calls.number(item["call_id"]), text.startswith(KINDS), text, pictures)
            case _:
                yield Kept(item)


def _chat(body: Json) -> Iterator[Said]:
    calls, answers = _Calls(), dict[int, Answered]()
    for message in body["messages"]:
        role = message["role"]
        if role == "tool":
            content: Any = message["content"]
            listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
            text = "\n".join(part["text"] for part in listed if part["type"] == "text")
            pictures = tuple(_attached(part) for part in listed if part["type"] in _FIELDS)
            number = calls.number(message["tool_call_id"])
            answers[number] = Answered(number, text.startswith(KINDS), text, pictures)
            continue
        loose = list(_said_by_user(message, calls, answers)) if role == "user" else []
        yield from answers.values()
        answers = {}
        yield from loose
        if role == "assistant":
            calls.round = {}
            yield from _said_by_model(message, calls)
    yield from answers.values()


def _said_by_user(message: Json, calls: _Calls, answers: dict[int, Answered]) -> Iterator[Said]:
    """Pictures after a line that names a call belong to that call's result."""
    of: int | None = None
    content: Any = message["content"]
    parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        if part["type"] in _FIELDS:
            picture = _attached(part)
            if of is None:
                yield Shown(picture)
            else:
                before = answers[of]
                answers[of] = Answered(of, before.failed, before.text, (*before.pictures, picture))
            continue
        of = _label_of(part["text"], calls)
        if of is None:
            yield Told("user", part["text"])


def _said_by_model(message: Json, calls: _Calls) -> Iterator[Said]:
    content = message.get("content")
    assert content is not None or message.get("tool_calls"), "content is null only beside calls"
    if isinstance(content, str) and content:
        yield Told("assistant", content)
    for part in content if isinstance(content, list) else []:
        yield Told("assistant", part["text"]) if part["type"] == "text" else Kept(part)
    for call in message.get("tool_calls", ()):
        assert call["type"] == "function"
        yield calls.ask(call["id"], call["function"]["name"], _object(call["function"]["arguments"]))
    yield from (Kept(value) for name, value in message.items() if name not in ("role", "content", "tool_calls"))


# The fields of a part in which the two OpenAI wires have a picture or a document, or the object that has it.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "input_image": ("image_url",),
    "input_file": ("file_data", "file_url"),
    "image_url": ("url",),
    "file": ("file_data",),
}


def _attached(part: Json) -> bytes | str:
    kind = part["type"]
    holder = part[kind] if kind in ("image_url", "file") else part
    (url,) = (holder[field] for field in _FIELDS[kind] if field in holder)
    return str(url) if url.startswith("http") else _data_url(url)


def _data_url(url: str) -> bytes:
    head, _, data = url.partition(";base64,")
    assert re.fullmatch(r"data:(image/(png|jpeg|gif|webp)|application/pdf|text/plain)", head)
    return base64.b64decode(data, validate=True)


def _object(arguments: object) -> Any:
    assert isinstance(arguments, str)
    value = json.loads(arguments)
    assert isinstance(value, dict)
    return value


# ---- what a conversation says ------------------------------------------------------------------


def expected(protocol: Protocol, conversation: Conversation, owner: Owner) -> list[Said]:
    """What a body of this wire has to say for `conversation`, sent to `owner`."""
    return list(_expected(protocol, conversation, owner))


def _expected(protocol: Protocol, conversation: Conversation, owner: Owner) -> Iterator[Said]:
    asked = answered = 0
    for turn in conversation.turns:
        match turn:
            case UserTurn():
                items = map(_spoken if protocol == "chat" else _as_it_is, turn.items)
                yield from (_of_user(item) for item in items if not isinstance(item, Text) or item.text.strip())
            case AssistantTurn():
                yield from _of_model(protocol, turn, owner, asked)
                asked += len(turn.calls)
                continue
            case ToolResultsTurn():
                for result in turn.results:
                    content = tuple(map(_spoken if protocol == "chat" else _as_it_is, result.content))
                    pictures = tuple(_of_media(part) for part in content if not isinstance(part, Text))
                    text = "\n".join(part.text for part in content if isinstance(part, Text))
                    yield Answered(answered, result.is_error, text, pictures)
                    answered += 1
        yield from (Told("user", hint.text) for hint in turn.hints if hint.text.strip())


def _as_it_is(part: Part) -> Part:
    return part


def _spoken(part: Part) -> Part:
    """Chat has no documents of plain text: what they say is told."""
    return Text(part.told) if isinstance(part, Document) and part.is_text else part


def _of_user(item: Part) -> Said:
    return Told("user", item.text) if isinstance(item, Text) else Shown(_of_media(item))


def _of_media(part: Media) -> bytes | str:
    return part.data if isinstance(part, Image | Document) else part.url


def _of_model(protocol: Protocol, turn: AssistantTurn, owner: Owner, asked: int) -> Iterator[Said]:
    """Chat has one text, then the calls, then the owner's fields; the others keep the order of the items.

    Responses takes reasoning back only before the item that it led to.
    """
    items: list[Text | ToolUseBlock | Opaque] = list(turn.items)
    while protocol == "responses" and items and not _speaks(items[-1]):
        items.pop()
    if protocol == "chat":
        calls = [item for item in items if isinstance(item, ToolUseBlock)]
        items = [Text(turn.text), *calls, *(item for item in items if isinstance(item, Opaque))]
    for item in items:
        match item:
            case Text(text=text):
                if text.strip():
                    yield Told("assistant", text)
            case ToolUseBlock():
                input = item.input if item.unparsed is None else {UNPARSED_KEY: item.unparsed}
                yield Asked(asked, _name(item.name), input)
                asked += 1
            case Opaque():
                if item.owner == owner:
                    yield Kept(json.loads(item.json_text))


def _speaks(item: Text | ToolUseBlock | Opaque) -> bool:
    return isinstance(item, ToolUseBlock) or (isinstance(item, Text) and item.text.strip() != "")


def _name(name: str) -> str:
    """Every character that no provider takes in a name is an underscore, and a short hash says which name it was."""
    if FITS.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:53] + "_" + hashlib.sha256(name.encode()).hexdigest()[:10]


def same(found: list[Said], wanted: list[Said]) -> bool:
    """Whether a body says what it should. The text of a result may say more: the kind, where the pictures are."""
    return len(found) == len(wanted) and all(_same(one, other) for one, other in zip(found, wanted, strict=True))


def _same(found: Said, wanted: Said) -> bool:
    if isinstance(found, Answered) and isinstance(wanted, Answered):
        return wanted.text.strip() in found.text and (found.number, found.failed, found.pictures) == (
            wanted.number,
            wanted.failed,
            wanted.pictures,
        )
    return found == wanted


def ids(said: list[Said]) -> list[str]:
    return [one.id for one in said if isinstance(one, Asked)]
