"""Ways in which an answer goes wrong on its way: in its bytes, in its events, in the JSON they hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

Bytes = Callable[[Random, bytes], bytes]
Frames = Callable[[Random, list[bytes]], list[bytes]]

_DATA: Final = b"data: "

# ---- bytes -----------------------------------------------------------------------------------------

_SPOILT: Final = (
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xf0\x9f",
    b"\r",
    b"\n",
    b"\n\n",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"data:",
)


def _span(rng: Random, data: bytes, most: int = 40) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.randrange(1, most))


def flip(rng: Random, data: bytes) -> bytes:
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
    return bytes(spoilt)


def delete(rng: Random, data: bytes) -> bytes:
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def repeat(rng: Random, data: bytes) -> bytes:
    start, end = _span(rng, data, 400)
    return data[:end] + data[start:end] * rng.choice((1, 1, 3, 20)) + data[end:]


def insert(rng: Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_SPOILT) + data[at:]


def truncate(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


BYTES: Final[Mapping[str, Bytes]] = {
    "bytes flipped": flip,
    "bytes deleted": delete,
    "bytes repeated": repeat,
    "bytes inserted": insert,
    "truncated": truncate,
}

# ---- events ----------------------------------------------------------------------------------------

_STRAY: Final = (
    b": a comment",
    b'event: ping\ndata: {"type": "ping"}',
    b'data: {"type":"keepalive"}',
    b"data:",
    b"data",
    b"id: 7\nretry: 10",
    b"data: [DONE]",
    b"data: null",
    b"data: {",
    b'data: {"type":"error","error":{"type":"overloaded_error","message":"m"}}',
    b'data: {"type":"error","code":"rate_limit_exceeded","message":"m"}',
    b'data: {"error":{"code":502,"message":"m"}}',
    b'event: error\ndata: {"message":"m"}',
)


def drop(rng: Random, frames: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(frames))
    return frames[:at] + frames[at + rng.choice((1, 1, 1, 4)) :]


def double(rng: Random, frames: list[bytes]) -> list[bytes]:
    at, to = rng.randrange(len(frames)), rng.randrange(len(frames) + 1)
    return [*frames[:to], frames[at], *frames[to:]]


def swap(rng: Random, frames: list[bytes]) -> list[bytes]:
    one, other = rng.randrange(len(frames)), rng.randrange(len(frames))
    swapped = list(frames)
    swapped[one], swapped[other] = swapped[other], swapped[one]
    return swapped


def shuffle(rng: Random, frames: list[bytes]) -> list[bytes]:
    return rng.sample(frames, len(frames))


def stray(rng: Random, frames: list[bytes]) -> list[bytes]:
    at = rng.randrange(len(frames) + 1)
    return [*frames[:at], rng.choice(_STRAY), *frames[at:]]


def sewn(rng: Random, frames: list[bytes]) -> list[bytes]:
    """The stream again, after some of itself: every index and id comes twice."""
    return [*frames[: rng.randrange(len(frames) + 1)], *frames]


def altered(rng: Random, frames: list[bytes]) -> list[bytes]:
    """The JSON of some events is another."""
    changed = list(frames)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(changed))
        head, mark, payload = changed[at].rpartition(_DATA)
        if mark:
            changed[at] = head + mark + alter(rng, payload)
    return changed


FRAMES: Final[Mapping[str, Frames]] = {
    "events dropped": drop,
    "event twice": double,
    "events swapped": swap,
    "events shuffled": shuffle,
    "event inserted": stray,
    "stream twice": sewn,
    "JSON of events": altered,
}

# ---- JSON ------------------------------------------------------------------------------------------

_DEEP: Final = 3_000
# Written into the text as they are, for no encoder writes them.
_RAW: Final = (
    "NaN",
    "-Infinity",
    "1e999",
    "-1e-999",
    "9" * 400,
    "9" * 5_000,
    "-0",
    "[" * _DEEP + "]" * _DEEP,
    '{"a":' * 90 + "1" + "}" * 90,
    '{"a":' * 120 + "1" + "}" * 120,
    '"\\ud800"',
    '"\\udc00\\ud800 \\ud83d\\ude42"',
    "nothing",
    "",
)
_MARK: Final = re.compile(r'"@@(\d+)@@"')
_VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**64, 0.5, 1e308, 1.0),
    *("", " ", "x", "\x00", "é🙂\u2028", "a" * 3_000, "null", "{}", '{"a":1}', "{", "[1]", '"{\\"a\\":1}"', "```json\n{}\n```"),
    *([], {}, [None], [[]], ["x"], [{}], {"": 0}, {"type": "x"}, [{"type": "text", "text": 5}], {"type": "text", "text": "t"}),
)
# The words by which the wires tell things apart.
_WORDS: Final = (
    *("text", "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result", "image"),
    *("message", "function_call", "function_call_output", "custom_tool_call", "reasoning", "item_reference", "compaction"),
    *("output_text", "refusal", "input_text", "reasoning.text", "reasoning.encrypted", "web_search_call", "tool_search_call"),
    *(
        "end_turn",
        "stop",
        "tool_calls",
        "max_tokens",
        "pause_turn",
        "error",
        "completed",
        "incomplete",
        "failed",
        "in_progress",
    ),
    *("text_delta", "input_json_delta", "thinking_delta", "signature_delta", "citations_delta", "assistant", "user", "tool"),
)
_KEYS: Final = (
    *("index", "id", "call_id", "item_id", "output_index", "type", "name", "arguments", "input", "content", "text", "error"),
    *("finish_reason", "stop_reason", "tool_calls", "function_call", "function", "usage", "role", "summary", "signature"),
    *("encrypted_content", "thinking", "delta", "choices", "message", "output", "response", "status", "reasoning_details"),
    *("reasoning_content", "reasoning", "refusal", "cost", "stop_details", "incomplete_details"),
)
_NAMING: Final = ("index", "id", "call_id", "item_id", "output_index")


def alter(rng: Random, payload: bytes) -> bytes:
    """JSON text with something in it changed; what is no JSON stays."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        return payload
    raw: list[str] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = _changed(rng, value, raw)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    text = _MARK.sub(lambda found: raw[int(found[1])] if int(found[1]) < len(raw) else found[0], text)
    return text.encode("utf-8", "surrogatepass")


def _changed(rng: Random, root: Any, raw: list[str]) -> Any:
    places = _places(root)
    if not places:
        return _value(rng, root, raw)
    if rng.random() < 0.3:
        places = [place for place in places if place[1] in _NAMING] or places
    holder, key = rng.choice(places)
    kind = rng.random()
    if kind < 0.12:
        del holder[key]
    elif kind < 0.2 and isinstance(holder, dict):
        holder[rng.choice(_KEYS)] = holder.pop(key)
    elif kind < 0.28 and isinstance(holder, dict):
        # The same key twice: the second one as text of JSON.
        raw.append(f"{json.dumps(holder[key])},{json.dumps(key)}:{json.dumps(rng.choice(_VALUES))}")
        holder[key] = f"@@{len(raw) - 1}@@"
    elif kind < 0.36 and isinstance(holder, dict):
        holder[rng.choice(_KEYS)] = _value(rng, root, raw)
    elif kind < 0.44 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), rng.choice((holder[key], _value(rng, root, raw))))
    else:
        holder[key] = _value(rng, root, raw)
    # A part that stands in several places could come to hold itself.
    return json.loads(json.dumps(root))


def _value(rng: Random, root: Any, raw: list[str]) -> Any:
    kind = rng.random()
    if kind < 0.2:
        raw.append(rng.choice(_RAW))
        return f"@@{len(raw) - 1}@@"
    if kind < 0.45:
        return rng.choice(_WORDS)
    if kind < 0.6 and (places := _places(root)):
        holder, key = rng.choice(places)
        return json.loads(json.dumps(holder[key]))
    return json.loads(json.dumps(rng.choice(_VALUES)))


def _places(root: Any) -> list[tuple[Any, Any]]:
    """Everything in a value, as its holder and its key there."""
    found: list[tuple[Any, Any]] = []
    waiting = [root]
    while waiting:
        holder = waiting.pop()
        pairs = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, value in pairs:
            found.append((holder, key))
            waiting.append(value)
    return found


# ---- what a transport may do -------------------------------------------------------------------------


def rewrapped(rng: Random, frames: list[bytes]) -> bytes:
    """The same events in another wrapping: the reply must be the same."""
    lines: list[bytes] = []
    for frame in frames:
        if rng.random() < 0.2:
            lines += [rng.choice((b": OPENROUTER PROCESSING", b":", b"id: 1", b"event: x")), b""]
        lines += frame.split(b"\n")
        lines.append(b"")
        if rng.random() < 0.1:
            lines.append(b"")
    ends = rng.choice(((b"\n",), (b"\r\n",), (b"\r",), (b"\n", b"\r\n"), (b"\n", b"\r\n", b"\r")))
    bom = b"\xef\xbb\xbf" if rng.random() < 0.3 else b""
    text = bytearray(bom)
    for line in lines:
        # LF after a lone CR would be read as one line end.
        end = rng.choice(ends)
        text += line + (b"\r\n" if end == b"\n" and not line and text.endswith(b"\r") else end)
    return bytes(text)


def chunks(rng: Random, body: bytes) -> list[bytes]:
    """The body in pieces, as a network might bring it."""
    if rng.random() < 0.1 and len(body) < 3_000:
        return [body[place : place + 1] for place in range(len(body))]
    cuts = sorted(rng.randrange(len(body) + 1) for _ in range(rng.choice((1, 2, 5, 20))))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


# ---- all together ------------------------------------------------------------------------------------


def mutated(rng: Random, body: bytes, *, streamed: bool) -> tuple[bytes, list[str]]:
    """A body with one to three things wrong with it, and what they are called."""
    names: list[str] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        if streamed and rng.random() < 0.75:
            frames = [frame for frame in body.split(b"\n\n") if frame]
            name = rng.choice(list(FRAMES))
            body = b"\n\n".join((*FRAMES[name](rng, frames), b"")) if frames else body
        elif not streamed and rng.random() < 0.7:
            name, body = "JSON", alter(rng, body)
        else:
            name = rng.choice(list(BYTES))
            body = BYTES[name](rng, body)
        names.append(name)
    return body, names
