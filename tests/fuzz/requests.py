"""Any request that a program can make: histories of all kinds, for one adapter and one of its models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from geode.domain.arguments import tool_use
from geode.domain.choice import Auto, Named, NoTools, Required, ToolChoice
from geode.domain.content import (
    Document,
    DocumentUrl,
    Image,
    ImageUrl,
    Media,
    Opaque,
    Owner,
    Part,
    ResultKind,
    Text,
    ToolResult,
    ToolUseBlock,
)
from geode.domain.conversation import Conversation
from geode.domain.pictures import ImageType
from geode.domain.request import AdapterCallRequest, Capabilities, Limits
from geode.domain.thinking import AdaptiveThinking, Thinking, ThinkingBudget
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Hint, ToolResultsTurn, Turn, UserTurn
from geode.entrypoints.routes.capabilities import capabilities_of
from tests.fuzz.corpus import WIRES, Spoken

NAME: Final = "lab"
FOREIGN: Final = Owner("elsewhere", "other-model")


@dataclass(frozen=True)
class Adapter:
    """A wire in one dialect, with what it carries and models that it is used with."""

    spoken: Spoken
    able: Capabilities
    models: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.spoken.protocol if self.spoken.protocol != "chat" else f"chat:{self.spoken.dialect}"


_GPT: Final = ("gpt-4o", "gpt-5", "gpt-5.2", "o3", "unheard-of")
ADAPTERS: Final = (
    Adapter(
        WIRES[0],
        capabilities_of("messages"),
        ("claude-sonnet-4-5", "claude-opus-4-8", "claude-opus-5-5", "claude-sonnet-5-5", "claude-3-7-sonnet", "unheard-of"),
    ),
    Adapter(WIRES[1], capabilities_of("responses", "openai"), _GPT),
    Adapter(WIRES[2], capabilities_of("chat", "openai"), _GPT),
    Adapter(WIRES[3], capabilities_of("chat", "openrouter"), ("anthropic/claude-opus-4.5", "openai/gpt-5.2", "meta/llama-4")),
    Adapter(WIRES[4], capabilities_of("chat", "glm"), ("glm-4.6", "glm-5")),
    Adapter(WIRES[5], capabilities_of("chat", "generic"), ("some-model", "qwen3")),
)

_EFFORTS: Final = ("none", "low", "medium", "high")
# The efforts of models that take not all of them.
EFFORTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("claude-sonnet-4-5", "claude-3-7-sonnet", "gpt-4o"), ()),
    **dict.fromkeys(("claude-opus-4-8", "claude-opus-5-5", "claude-sonnet-5-5"), ("low", "medium", "high")),
    **dict.fromkeys(("gpt-5", "o3", "openai/gpt-5"), ("low", "medium", "high")),
}

# ---- texts and values ------------------------------------------------------------------------------

_ODD: Final = (
    *("", " ", "\n\t", "Übergröße 日本語 🙂 e\u0301", "\u2028\u2029\u0085", "\x00\x1f\x7f", '" \\ </script>', "\u202eltr"),
    *("half \ud83d", "\udc00", "\ud83d\ude42", "null", "{}", "failed: no", "ok", "[DONE]", "data: x\n\n", "ü" * 8_000),
)
texts: Final = st.one_of(st.text(max_size=12), st.sampled_from(_ODD))
_values: Final = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(texts, inner, max_size=2)),
    max_leaves=4,
)
_DEEP: Final[Any] = json.loads('{"a":' * 90 + "1" + "}" * 90)
_arguments: Final = st.one_of(
    st.dictionaries(texts, _values, max_size=3),
    st.sampled_from(
        ("", None, "{", '{"a": 1}', "[]", "5", '"{}"', '{"n": NaN}', '{"text": "a\nb"}', "```json\n{}\n```", _DEEP)
    ),
    texts,
)
_ids: Final = st.one_of(
    st.sampled_from(("call_0", "call_1", "toolu_01AbC", "", "a:b|c", "y" * 80, "call_gt1_0", "ünï", "call_0_2")),
    st.text(max_size=6),
)
_names: Final = st.one_of(
    st.sampled_from(("read", "list_files", "read file", "z" * 70, "", "Dateien.lesen", 'fetch" />', "\ud83d")),
    st.text(max_size=6),
)

# ---- contents --------------------------------------------------------------------------------------

_bytes: Final = st.binary(max_size=24)
_MAGIC: Final[tuple[tuple[ImageType, bytes], ...]] = (
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF89a"),
    ("image/webp", b"RIFF\x10\0\0\0WEBP"),
)
_media: Final[st.SearchStrategy[Media]] = st.one_of(
    st.builds(lambda magic, data: Image(magic[0], magic[1] + data), st.sampled_from(_MAGIC), _bytes),
    st.sampled_from(("https://example.org/a.png", "http://example.org/ü \ud83d")).map(ImageUrl),
    st.builds(lambda data, name: Document("application/pdf", b"%PDF-1.7" + data, name), _bytes, texts),
    st.builds(lambda data, name: Document("text/plain", data, name), st.binary(min_size=1, max_size=24), texts),
    st.builds(DocumentUrl, st.sampled_from(("https://example.org/a.pdf", "http://example.org/")), texts),
)
_parts: Final[st.SearchStrategy[Part]] = st.one_of(texts.map(Text), texts.map(Text), _media)
_content: Final = st.lists(_parts, max_size=3).map(tuple)
_hints: Final = st.lists(texts.map(lambda text: Hint("wrap_up", text)), max_size=1).map(tuple)
_KINDS: Final[tuple[ResultKind, ...]] = ("ok", "ok", "failed", "denied", "interrupted", "outcome_unknown")
_users: Final = st.builds(UserTurn, _content, _hints)

# What servers send of their own, by wire or dialect: the kind and the JSON.
_OWN: Final[Mapping[str, tuple[tuple[str, Any], ...]]] = {
    "messages": (
        ("thinking", {"type": "thinking", "thinking": "ü", "signature": "S"}),
        ("redacted_thinking", {"type": "redacted_thinking", "data": "R"}),
        ("server_tool_use", {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        ("web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}),
        ("new", {"type": "new", "half": "\ud83d"}),
    ),
    "responses": (
        ("reasoning", {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}),
        ("reasoning", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "ü"}], "encrypted_content": "F"}),
        ("web_search_call", {"type": "web_search_call", "id": "ws_1", "status": "completed"}),
        ("mcp_list_tools", {"type": "mcp_list_tools", "id": "mcpl_1", "tools": []}),
    ),
    "openai": (),
    "openrouter": (
        ("reasoning_details", [{"type": "reasoning.text", "text": "ü", "index": 0, "signature": "S"}]),
        ("reasoning_details", [{"type": "reasoning.encrypted", "data": "E", "index": 0}]),
        ("reasoning", "ü"),
    ),
    "glm": (("reasoning_content", "ü"),),
    "generic": (("reasoning_content", "half \ud83d"), ("part:thinking", {"type": "thinking", "thinking": []})),
}


def _opaque(adapter: Adapter, owner: Owner) -> st.SearchStrategy[Opaque]:
    """An item of `owner`: of this wire's kinds where it is this adapter, of any kinds where it is another."""
    spoken = adapter.spoken
    key = spoken.protocol if spoken.protocol in _OWN else spoken.dialect
    forms = _OWN[key] if owner.adapter == NAME else tuple(form for forms in _OWN.values() for form in forms)
    return st.sampled_from([Opaque(owner, kind, json.dumps(value)) for kind, value in forms]) if forms else st.nothing()


# ---- histories -------------------------------------------------------------------------------------


@st.composite
def _round(draw: st.DrawFn, adapter: Adapter, me: Owner) -> list[Turn]:
    """A reply, the results of its calls or of most of them, and what the user says if nothing was called."""
    owner = draw(st.sampled_from((me, me, Owner(NAME, "another-model"), FOREIGN, None)))
    items: list[Text | ToolUseBlock | Opaque] = []
    for kind in draw(st.lists(st.sampled_from(("text", "call", "call", "opaque")), max_size=4)):
        if kind == "text":
            items.append(Text(draw(texts)))
        elif kind == "call":
            items.append(tool_use(draw(_ids), draw(_names), draw(_arguments)))
        elif owner is not None and not (own := _opaque(adapter, owner)).is_empty:
            items.append(draw(own))
    called = [item for item in items if isinstance(item, ToolUseBlock)]
    results = [ToolResult(one.id, draw(st.sampled_from(_KINDS)), draw(_content)) for one in called if draw(st.integers(0, 5))]
    if draw(st.integers(0, 4)) == 0:
        results.reverse()
    turns: list[Turn] = [AssistantTurn(tuple(items), owner)]
    if results:
        turns.append(ToolResultsTurn(tuple(results), draw(_hints)))
    return turns if called else [*turns, *draw(st.lists(_users, max_size=1))]


@st.composite
def histories(draw: st.DrawFn, adapter: Adapter, me: Owner) -> Conversation:
    """A conversation as it is after a crash, or after another program had it: repaired, and with something to answer."""
    turns = [turn for one in draw(st.lists(_round(adapter, me), max_size=4)) for turn in one]
    for _ in range(draw(st.sampled_from((0, 0, 0, 1, 2)))):
        if turns:
            at, to = draw(st.integers(0, len(turns) - 1)), draw(st.integers(0, len(turns) - 1))
            match draw(st.sampled_from(("lost", "twice", "moved"))):
                case "lost":
                    turns.pop(at)
                case "twice":
                    turns.insert(to, turns[at])
                case _:
                    turns.insert(to, turns.pop(at))
    opening, closing = draw(_users), draw(_users)
    first = UserTurn((Text("go"), *opening.items), opening.hints)
    whole = Conversation.repaired([first, *turns])
    if isinstance(whole.turns[-1], ToolResultsTurn) and draw(st.booleans()):
        return whole
    return Conversation.repaired([*whole.turns, UserTurn((*closing.items, Text("and?")), closing.hints)])


# ---- requests --------------------------------------------------------------------------------------

_SCHEMAS: Final[tuple[dict[str, Any], ...]] = (
    {"type": "object", "properties": {}},
    {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "ü 🙂"}},
        "required": ["path"],
        "additionalProperties": False,
    },
    {
        "type": "object",
        "properties": {"many": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/one"}]}}},
        "$defs": {"one": {"type": "object", "properties": {"n": {"type": ["integer", "null"], "minimum": 0}}}},
    },
)
_words: Final[st.SearchStrategy[dict[str, Any]]] = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(("object", "array", "string", "integer", ["string", "null"])),
        "description": texts,
        "enum": st.lists(st.one_of(st.none(), st.integers(-3, 3), texts), min_size=1, max_size=3),
        "format": st.sampled_from(("date-time", "uuid", "regex")),
        "minimum": st.integers(-3, 3),
        "default": st.one_of(st.none(), texts),
        "additionalProperties": st.booleans(),
        "$ref": st.sampled_from(("#", "#/$defs/one", "#/$defs/none")),
    },
)


def _nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    many = st.lists(inner, min_size=1, max_size=2)
    shapes = st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(("object", "array")),
            "properties": st.dictionaries(_property_names, inner, max_size=3),
            "required": st.lists(_property_names, max_size=2),
            "additionalProperties": st.one_of(st.booleans(), inner),
            "patternProperties": st.dictionaries(st.just("^x"), inner, max_size=1),
            "items": st.one_of(inner, many),
            "prefixItems": many,
            **dict.fromkeys(("anyOf", "oneOf", "allOf"), many),
            "not": inner,
        },
    )
    return st.builds(lambda words, shape: {**words, **shape}, _words, shapes)


_property_names: Final = st.one_of(st.sampled_from(("path", "n", "größe", "a b", "x" * 70, "$ref", "")), st.text(max_size=4))
_schemas: Final = st.recursive(_words, _nested, max_leaves=6)


@st.composite
def _tool(draw: st.DrawFn) -> ToolSpec:
    """A tool with a name and a schema as people and other programs make them."""
    odd = st.one_of(st.sampled_from(("read", "read file", "Dateien.lesen", "z" * 70, "日本", "mcp://fs/read")), texts)
    plain = st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True)
    name = draw(st.one_of(plain, odd.filter(lambda text: bool(text.strip()))))
    schema = draw(st.one_of(st.sampled_from(_SCHEMAS), _schemas))
    definitions = {"$defs": {"one": draw(_schemas)}} if draw(st.booleans()) else {}
    return ToolSpec(name, draw(texts), {**definitions, **schema, "type": "object"}, strict=draw(st.integers(0, 5)) == 0)


_tools: Final = st.lists(_tool(), max_size=3).map(tuple)


@st.composite
def _choices(draw: st.DrawFn, tools: tuple[ToolSpec, ...]) -> ToolChoice:
    plain: list[ToolChoice] = [Auto(), NoTools(), Required()]
    return draw(st.sampled_from([*plain, *(Named(tool.name) for tool in tools)]))


_thinking: Final[st.SearchStrategy[Thinking | None]] = st.one_of(
    st.none(), st.just(AdaptiveThinking()), st.integers(1024, 30_000).map(ThinkingBudget)
)


@st.composite
def requests(draw: st.DrawFn, adapter: Adapter) -> AdapterCallRequest:
    """Anything that may be asked of an adapter; what it cannot carry is in it too."""
    model = draw(st.sampled_from(adapter.models))
    tools = draw(_tools)
    return AdapterCallRequest(
        model,
        draw(histories(adapter, Owner(NAME, model))),
        draw(texts),
        tools,
        draw(_choices(tools)),
        Limits(draw(st.one_of(st.none(), st.integers(1, 64_000)))),
        draw(st.sampled_from((None, None, *EFFORTS.get(model, _EFFORTS)))),
        draw(st.sampled_from((None, None, None, 0.0, 0.7, 1.0))),
        draw(_thinking) if adapter.able.thinking else None,
        draw(st.booleans()),
    )
