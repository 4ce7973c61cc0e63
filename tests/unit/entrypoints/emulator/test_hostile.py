"""Whatever is sent is judged, without an exception and in time proportional to its length."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from typing import Any, Final, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geode.entrypoints.emulator import RULES, Dialect, Protocol, Violation, check, laws, verdict
from geode.entrypoints.emulator.render import DEFAULT_DIALECT
from tests.unit.entrypoints.emulator.requests import (
    GO,
    SCHEMA,
    asking,
    assistant,
    chat,
    function_call,
    messages,
    output,
    reasoning,
    responses,
    text,
    tool,
    tool_call,
    tool_result,
    tool_use,
    user,
)

Json = dict[str, Any]
WIRES: Final[tuple[Protocol, ...]] = get_args(Protocol)
DIALECTS: Final[tuple[Dialect, ...]] = get_args(Dialect)
VALID: Final[dict[Protocol, Json]] = {
    "messages": messages(
        GO,
        assistant({"type": "thinking", "thinking": "", "signature": "s"}, text("ok"), tool_use("t1"), tool_use("t2")),
        user(tool_result("t1", [text("x")]), tool_result("t2", "y", is_error=True), text("hint")),
        system="be brief",
        thinking={"type": "adaptive"},
        tool_choice={"type": "tool", "name": "read"},
        output_config={"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    ),
    "responses": responses(
        *(
            GO,
            reasoning(),
            function_call("c1"),
            output("c1"),
            {"role": "user", "content": [{"type": "input_text", "text": "x"}]},
        ),
        tool_choice={"type": "allowed_tools", "tools": [{"type": "function", "name": "read"}]},
        reasoning={"effort": "low"},
        text={"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}},
    ),
    "chat": chat(
        *(GO, asking(tool_call("c1"), tool_call("c2")), tool("c1"), tool("c2", [text("x")]), user(text("y"))),
        tool_choice={"type": "function", "function": {"name": "read"}},
        response_format={"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}},
        stop=["x"],
    ),
}


def _judged(protocol: Protocol, request: Any, dialect: Dialect) -> tuple[Violation, ...]:
    known = frozenset({"s"})
    found = check(
        protocol, request, dialect, version="2026-10-21", signatures=known, prefixes={"s": known}, responses=known, models=known
    )
    return (*found, *laws(protocol, request), *verdict(protocol, request, dialect))


def _leads_somewhere(request: Any, at: str) -> bool:
    """Is there such a place, or at least one that a key is missing from?"""
    place = request
    for number, part in enumerate(parts := [part.replace("~1", "/").replace("~0", "~") for part in at.split("/")[1:]]):
        if isinstance(place, list) and part.isdigit() and int(part) < len(place):
            place = place[int(part)]
        elif isinstance(place, dict) and part in place:
            place = place[part]
        else:
            return number >= len(parts) - 1 or part in ("content", "source", "file", "function")
    return True


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["\ud800", "", "user", "assistant", "tool", "text", "function", "tool_use", "tool_result", "call_id"])
)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(request=JSON)
@pytest.mark.parametrize("protocol", WIRES)
def test_any_json_is_judged(protocol: Protocol, request: Any) -> None:
    for dialect in DIALECTS:
        found = _judged(protocol, request, dialect)

        assert found or isinstance(request, dict)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inner for place in _places(one, (*path, key)))]


PLACES = {wire: _places(request)[1:] for wire, request in VALID.items()}


@pytest.mark.parametrize("protocol", WIRES)
def test_what_is_broken_here_was_whole(protocol: Protocol) -> None:
    assert verdict(protocol, VALID[protocol]) == ()


@settings(max_examples=150)
@given(data=st.data())
@pytest.mark.parametrize("protocol", WIRES)
def test_a_valid_request_with_anything_anywhere_is_judged(protocol: Protocol, data: st.DataObject) -> None:
    request = copy.deepcopy(VALID[protocol])
    path = data.draw(st.sampled_from(PLACES[protocol]))
    holder: Any = request
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = data.draw(JSON)

    for one in _judged(protocol, request, data.draw(st.sampled_from(DIALECTS))):
        assert one.rule in RULES or one.rule.startswith("geode.")
        assert len(one.message) < 1000
        assert _leads_somewhere(request, one.at), one


@pytest.mark.parametrize("protocol", WIRES)
def test_an_integer_too_long_to_be_written_is_judged(protocol: Protocol) -> None:
    """Python writes no more than 4300 digits."""
    for path in PLACES[protocol]:
        request = copy.deepcopy(VALID[protocol])
        holder: Any = request
        for part in path[:-1]:
            holder = holder[part]
        holder[path[-1]] = 10**5000
        _judged(protocol, request, DEFAULT_DIALECT[protocol])


def _deep(inner: Any, levels: int, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(levels):
        inner = wrap(inner)
    return inner


DEEP: Final[dict[str, Any]] = {
    "lists": _deep([], 20_000, lambda inner: [inner]),
    "objects": _deep({}, 20_000, lambda inner: {"content": [inner]}),
    "schemas": _deep({}, 20_000, lambda inner: {"type": "object", "properties": {"a": inner}}),
}


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize("protocol", WIRES)
def test_endless_nesting_is_judged(protocol: Protocol, depth: str) -> None:
    deep = DEEP[depth]
    for key in (*VALID[protocol], "system", "metadata", "stop", "prompt", "input", "messages"):
        _judged(protocol, {**VALID[protocol], key: deep}, DEFAULT_DIALECT[protocol])
    tools = [
        {"name": "read", "input_schema": deep, "strict": True},
        {"type": "function", "name": "read", "parameters": deep, "strict": True},
        {"type": "function", "function": {"name": "read", "parameters": deep, "strict": True}},
    ]
    _judged(protocol, {**VALID[protocol], "tools": tools}, DEFAULT_DIALECT[protocol])


@pytest.mark.parametrize("protocol", WIRES)
def test_a_megabyte_in_one_field_is_not_said_again(protocol: Protocol) -> None:
    long = "x" * 1_000_000
    request = json.loads(json.dumps(VALID[protocol]).replace('"read"', json.dumps(long)).replace('"c1"', json.dumps(long)))

    found = _judged(protocol, {**request, "model": long}, DEFAULT_DIALECT[protocol])

    assert found
    assert max(len(one.message) for one in found) < 1000


def _rounds(count: int) -> list[Json]:
    return [one for n in range(count) for one in (asking(tool_call(f"c{n}")), tool(f"c{n}"))]


def _schema(**words: Any) -> tuple[Protocol, Json]:
    return "messages", messages(tools=[{"name": "t", "strict": True, "input_schema": {"type": "object", **words}}])


LONG: Final[dict[str, Callable[[int], tuple[Protocol, Json]]]] = {
    "messages that are all whole": lambda n: ("chat", chat(GO, *_rounds(n))),
    "calls that nobody answers": lambda n: ("chat", chat(GO, *(asking(tool_call(f"c{k}")) for k in range(n)))),
    "results far from their calls": lambda n: (
        "chat",
        chat(GO, *(asking(tool_call(f"c{k}")) for k in range(n)), *(tool(f"c{k}") for k in range(n))),
    ),
    "calls of one message": lambda n: (
        "chat",
        chat(GO, asking(*(tool_call(f"c{k}") for k in range(n))), *(tool(f"c{k}") for k in range(n))),
    ),
    "results with one id": lambda n: ("chat", chat(GO, asking(tool_call("c")), *(tool("c") for _ in range(n)))),
    "blocks of one round": lambda n: (
        "messages",
        messages(GO, assistant(*(tool_use(f"t{k}") for k in range(n))), user(*(tool_result(f"t{k}") for k in range(n)))),
    ),
    "blocks in the wrong order": lambda n: (
        "messages",
        messages(GO, assistant(*(tool_use(f"t{k}") for k in range(n))), user(*(tool_result(f"t{n - k}") for k in range(n)))),
    ),
    "thinking in every turn": lambda n: (
        "messages",
        messages(
            *[GO, assistant({"type": "thinking", "thinking": "", "signature": "s"}, text("x"))] * n, GO, model="claude-opus-5-5"
        ),
    ),
    "outputs without calls": lambda n: ("responses", responses(GO, *(output(f"c{k}") for k in range(n)))),
    "calls without outputs": lambda n: ("responses", responses(GO, *(function_call(f"c{k}") for k in range(n)))),
    "reasoning and nothing else": lambda n: ("responses", responses(GO, *(reasoning(id=f"rs_{k}") for k in range(n)))),
    "choices between tools": lambda n: (
        "responses",
        responses(
            tools=[{"type": "function", "name": f"f{k}", "parameters": SCHEMA} for k in range(n)],
            tool_choice={"type": "allowed_tools", "tools": [{"type": "function", "name": f"f{k}"} for k in range(n)]},
        ),
    ),
    "properties of one schema": lambda n: _schema(
        properties={f"p{k}": {} for k in range(n)}, required=[f"p{k}" for k in range(n)]
    ),
    "definitions in a circle": lambda n: _schema(**{"$defs": {f"d{k}": {"$ref": f"#/$defs/d{(k + 1) % n}"} for k in range(n)}}),
    "tools with one name": lambda n: ("messages", messages(tools=[{"name": "t", "input_schema": SCHEMA}] * n)),
}
SMALL, FACTOR = 250, 8


def _seconds(protocol: Protocol, request: Json) -> float:
    """The shortest of three times that judging took on this processor."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        _judged(protocol, request, DEFAULT_DIALECT[protocol])
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize("name", LONG)
def test_the_work_grows_with_the_length_and_no_faster(name: str) -> None:
    """Eight times the length takes about eight times the work; a loop within a loop would take 64 times."""
    small, large = (_seconds(*LONG[name](count)) for count in (SMALL, SMALL * FACTOR))

    assert large < small * FACTOR * 3
