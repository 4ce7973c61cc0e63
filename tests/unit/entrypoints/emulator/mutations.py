"""Ways to break a tool history that a server took: each yields copies of the request with one fault."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from geode.entrypoints.emulator import Protocol

Json: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str | int, ...]
CALLS: Final = ("function_call", "custom_tool_call")
OUTPUTS: Final = ("function_call_output", "custom_tool_call_output")
HINT: Final[Json] = {"role": "user", "content": "hint"}


@dataclass(frozen=True, slots=True)
class Shape:
    """Where the calls and results of a request are, and what their ids and arguments are called."""

    calls: list[Place]
    results: list[Place]
    call_id: str
    result_id: str
    name: Place
    arguments: Place
    hint: Json


def shape(protocol: Protocol, request: Json) -> Shape:
    """The calls and results of `request`, in order; only those whose partner is in it too."""
    if protocol == "messages":
        calls, results = _blocks(request, "tool_use"), _blocks(request, "tool_result")
        return Shape(calls, results, "id", "tool_use_id", ("name",), ("input",), {"type": "text", "text": "hint"})
    if protocol == "chat":
        turns = list(enumerate(request["messages"]))
        calls = [
            ("messages", place, "tool_calls", n) for place, turn in turns for n, _ in enumerate(turn.get("tool_calls") or [])
        ]
        results = [("messages", place) for place, turn in turns if turn.get("role") == "tool"]
        return Shape(calls, results, "id", "tool_call_id", ("function", "name"), ("function", "arguments"), HINT)
    items = list(enumerate(request["input"] if isinstance(request.get("input"), list) else []))
    called = {item.get("call_id") for _, item in items if item.get("type") in CALLS}
    calls = [("input", place) for place, item in items if item.get("type") == "function_call"]
    results = [("input", place) for place, item in items if item.get("type") in OUTPUTS and item.get("call_id") in called]
    return Shape(calls, results, "call_id", "call_id", ("name",), ("arguments",), HINT)


def _blocks(request: Json, kind: str) -> list[Place]:
    return [
        ("messages", place, "content", number)
        for place, message in enumerate(request["messages"])
        if isinstance(message["content"], list)
        for number, block in enumerate(message["content"])
        if block["type"] == kind
    ]


def at(request: Json, place: Place) -> Any:
    found: Any = request
    for part in place:
        found = found[part]
    return found


def _copy(request: Json, place: Place) -> tuple[Json, Any, Any]:
    """A copy of the request, what holds `place` in it, and what is there."""
    changed = copy.deepcopy(request)
    return changed, at(changed, place[:-1]), at(changed, place)


def drop_result(request: Json, found: Shape) -> Iterator[Json]:
    for place in found.results:
        changed, holder, _ = _copy(request, place)
        del holder[place[-1]]
        yield changed


def swap_ids(request: Json, found: Shape) -> Iterator[Json]:
    for first, second in zip(found.results, found.results[1:], strict=False):
        changed, _, one = _copy(request, first)
        other = at(changed, second)
        if one[found.result_id] != other[found.result_id]:
            one[found.result_id], other[found.result_id] = other[found.result_id], one[found.result_id]
            yield changed


def text_before(request: Json, found: Shape) -> Iterator[Json]:
    for place in found.results:
        changed, holder, _ = _copy(request, place)
        holder.insert(place[-1], copy.deepcopy(found.hint))
        yield changed


def rename_result(request: Json, found: Shape) -> Iterator[Json]:
    yield from _set(request, found.results, (found.result_id,), "call_renamed")


def rename_call(request: Json, found: Shape) -> Iterator[Json]:
    yield from _set(request, _answered(request, found), (found.call_id,), "call_renamed")


def orphan_result(request: Json, found: Shape) -> Iterator[Json]:
    for place in _answered(request, found):
        changed, holder, _ = _copy(request, place)
        del holder[place[-1]]
        yield changed


def empty_name(request: Json, found: Shape) -> Iterator[Json]:
    yield from _set(request, found.calls, found.name, "")


def broken_arguments(request: Json, found: Shape) -> Iterator[Json]:
    yield from _set(request, found.calls, found.arguments, '{"path": ')


def arguments_of_another_type(request: Json, found: Shape) -> Iterator[Json]:
    """Text where an object is due, and an object where text is due."""
    for place in found.calls:
        kind = at(request, (*place, *found.arguments))
        yield from _set(request, [place], found.arguments, {"path": "a"} if isinstance(kind, str) else '{"path": "a"}')


def arguments_that_are_no_object(request: Json, found: Shape) -> Iterator[Json]:
    for place in found.calls:
        kind = at(request, (*place, *found.arguments))
        yield from _set(request, [place], found.arguments, "[1]" if isinstance(kind, str) else [1])


def _answered(request: Json, found: Shape) -> list[Place]:
    ids = {at(request, place)[found.result_id] for place in found.results}
    return [place for place in found.calls if at(request, place)[found.call_id] in ids]


def _set(request: Json, places: list[Place], inner: Place, value: Any) -> Iterator[Json]:
    for place in places:
        changed, _, item = _copy(request, place)
        at(item, inner[:-1])[inner[-1]] = value
        yield changed


MUTATIONS: Final[tuple[Callable[[Json, Shape], Iterator[Json]], ...]] = (
    drop_result,
    swap_ids,
    text_before,
    rename_result,
    rename_call,
    orphan_result,
    empty_name,
    broken_arguments,
    arguments_of_another_type,
    arguments_that_are_no_object,
)
