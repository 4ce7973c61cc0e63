"""Random values of the domain: any of its dataclasses, by their annotations."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

import geode.domain
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Opaque, Owner, Text, ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.offload import ResultLimits
from geode.domain.pictures import PictureLimits
from geode.domain.policy import Policy
from geode.domain.provider import Provider
from geode.domain.request import Capabilities
from geode.domain.retry import RetryPolicy
from geode.domain.targets import Quirks
from geode.domain.thinking import ThinkingBudget
from geode.domain.tools import ToolSpec
from geode.domain.turns import AssistantTurn, Hint, HintKind, ToolResultsTurn, Turn, UserTurn
from tests.unit.domain.builders import OTHER, OWNER

Values = st.SearchStrategy[Any]

numbers = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
json_objects = st.dictionaries(st.text(max_size=4), json_values, max_size=3)
# Also what UTF-8 cannot carry.
wild_text = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=12)
wild_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | wild_text | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(wild_text | st.integers(), inner, max_size=3) | st.tuples(inner, inner)
    ),
    max_leaves=8,
)

# ---- turns that keep no law --------------------------------------------------------------------

# Few ids, so that they meet: the empty one, one that geode could have minted, one that follows from another.
ids = st.sampled_from(["", "a", "b", "c", "a_2", "call_g1_0"])
owners = st.sampled_from([OWNER, OTHER])
hints = st.lists(st.builds(Hint, st.sampled_from(get_args(HintKind)), st.sampled_from(["one", "two"])), max_size=2).map(tuple)
result_kinds = st.sampled_from(["ok", "failed", "denied", "interrupted", "outcome_unknown"])
calls = st.builds(ToolUseBlock, ids, st.sampled_from(["read", "write"]), json_objects)
# Texts repeat, so that two results may be equal.
found = st.builds(ToolResult, ids, result_kinds, st.sampled_from(["x", "y"]).map(lambda text: (Text(text),)))
spoken = st.builds(Text, st.sampled_from(["", " ", "hello"]))
opaque = st.builds(Opaque, owners, st.just("thinking"), st.just("{}"))
assistant_turns = st.builds(AssistantTurn, st.lists(spoken | calls | opaque, max_size=4).map(tuple), owners)
user_turns = st.builds(UserTurn, st.lists(spoken, max_size=2).map(tuple), hints)
result_turns = st.builds(ToolResultsTurn, st.lists(found, max_size=4).map(tuple), hints)
any_turns: st.SearchStrategy[tuple[Turn, ...]] = st.lists(user_turns | assistant_turns | result_turns, max_size=8).map(tuple)
conversations = any_turns.map(Conversation.repaired)

# ---- any value ---------------------------------------------------------------------------------


def domain_dataclasses() -> list[type]:
    """Every dataclass of the domain, wherever in it."""
    kinds: dict[str, type] = {}
    for module in pkgutil.walk_packages(geode.domain.__path__, "geode.domain."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if is_dataclass(kind) and kind.__module__.startswith("geode.domain."):
                kinds[f"{kind.__module__}.{kind.__qualname__}"] = kind
    return [kind for _, kind in sorted(kinds.items())]


_URLS = st.text(max_size=8).map("https://example.org/{}".format)
_PLAIN: dict[Any, Values] = {
    Any: json_values,
    NoneType: st.none(),
    None: st.none(),
    bool: st.booleans(),
    int: st.integers(-(2**70), 2**70),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(max_size=8),
    bytes: st.binary(max_size=8),
    Decimal: st.decimals(allow_nan=False, allow_infinity=False, places=6),
    Conversation: conversations,
    Policy: st.builds(
        Policy,
        max_rounds=st.integers(1, 99),
        max_seconds=st.none() | st.floats(0.1, 1e6),
        max_tool_calls=st.none() | st.integers(0, 9),
        max_cost_usd=st.none() | st.decimals("0.01", 99, places=2),
        max_no_progress_hints=st.none() | st.integers(0, 9),
        retry=st.builds(RetryPolicy, attempts=st.integers(1, 9)),
    ),
    ResultLimits: st.builds(
        ResultLimits,
        remedy=st.sampled_from(["offload", "cut", "keep"]),
        offload_tokens=st.integers(128, 99_999),
        cut_tokens=st.integers(128, 99_999),
        share_of_window=st.floats(0.001, 1),
    ),
    RetryPolicy: st.builds(RetryPolicy, st.integers(1, 9), st.floats(0, 99), st.floats(0, 99), st.floats(0, 99)),
    ThinkingBudget: st.builds(ThinkingBudget, st.integers(1024, 2**40)),
    Capabilities: st.builds(
        Capabilities,
        st.booleans(),
        st.frozensets(st.sampled_from(["auto", "none", "required", "named"])),
        media=st.frozensets(st.sampled_from(["image", "pdf"])),
        thinking=st.frozensets(st.sampled_from(["adaptive", "budget"])),
    ),
    Quirks: st.builds(
        Quirks,
        st.none() | st.booleans(),
        st.none() | st.sampled_from([frozenset({"auto", "none"}), frozenset({"auto", "none", "required", "named"})]),
        st.sampled_from([None, "null", "empty", "absent"]),
        output_limit=st.sampled_from([None, "max_tokens", "max_completion_tokens"]),
    ),
    Image: st.binary(max_size=8).map(lambda data: Image("image/png", b"\x89PNG\r\n\x1a\n" + data)),
    Document: st.builds(lambda data, name: Document("application/pdf", b"%PDF-" + data, name), st.binary(), st.text(max_size=8))
    | st.builds(Document, st.just("text/plain"), st.binary(min_size=1, max_size=8)),
    PictureLimits: st.builds(PictureLimits, st.integers(1, 2**40), many=st.integers(1, 99), moving=st.booleans()),
    ImageUrl: st.builds(ImageUrl, _URLS),
    DocumentUrl: st.builds(DocumentUrl, _URLS, st.text(max_size=8)),
    ToolSpec: st.builds(
        ToolSpec,
        st.text(min_size=1).filter(str.strip),
        st.text(max_size=8),
        json_objects.map(lambda it: {**it, "type": "object"}),
    ),
}


@cache
def values_of(kind: Any) -> Values:
    """Values that fit the annotation `kind`."""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is Provider:
        return st.sampled_from(
            [Provider("lab", "chat", "http://lab:8000/v1"), Provider("x", "messages", "https://x", "env:X_KEY")]
        )
    if kind is Opaque:
        return st.builds(Opaque, values_of(Owner), st.text(max_size=8), values_of(Any).map(json.dumps))
    origin, args = get_origin(kind), get_args(kind)
    kind = origin if is_dataclass(origin) else kind  # generic, and made without what it is generic in
    if origin in (Union, UnionType):
        return st.one_of([values_of(member) for member in args])
    if origin is Literal:
        return st.sampled_from(args)
    if origin is tuple and args[-1] is Ellipsis:
        return st.lists(values_of(args[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(values_of(member) for member in args))
    if origin is frozenset:
        return st.frozensets(values_of(args[0]), max_size=3)
    if origin in (Mapping, dict):
        return st.dictionaries(st.text(max_size=4), values_of(args[1]), max_size=3)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return st.builds(kind, **{field.name: values_of(hints[field.name]) for field in fields(kind) if field.init})
    raise AssertionError(f"no strategy for {kind!r}")
