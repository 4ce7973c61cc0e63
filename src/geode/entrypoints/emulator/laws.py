"""geode's own laws, as far as a wire shows them: stricter than the servers, and the same on all wires."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from geode.entrypoints.emulator.render import Protocol
from geode.entrypoints.emulator.rule import Path, Request, Rule, Violation, ident, mapped, objects, pointer, shown
from geode.entrypoints.emulator.rules_messages import turns
from geode.entrypoints.emulator.rules_responses import OUTPUT_KINDS, OUTPUT_OF, by_model, continued, items, kind_of

LAWS: Final = {
    rule.id: rule
    for rule in (
        Rule("geode.pairing", "Every call has exactly one result in the very next turn.", "spec, conversation law 1"),
        Rule("geode.order", "Results stand in the order of their calls.", "spec, conversation law 1"),
        Rule("geode.hint_last", "Nothing stands before the results of a round; hints come after.", "spec, conversation law 1"),
        Rule("geode.arguments", "Arguments are a JSON object, however broken they came.", "spec, conversation law 5"),
        Rule("geode.one_message", "On Messages all results of a round are in one message.", "spec, table of wires"),
    )
}
# What frameworks call the argument of a tool that takes a text and nothing else.
ONLY_TEXT: Final = "__arg1"


@dataclass(slots=True)
class Round:
    """The calls of one reply and what followed until the next: results by call id, None for anything else.

    `whole` is false where a part of the conversation lives on the server: its calls are not seen.
    """

    calls: list[tuple[str, Path]] = field(default_factory=list)
    after: list[tuple[str | None, Path]] = field(default_factory=list)
    whole: bool = True


def laws(protocol: Protocol, request: Any) -> tuple[Violation, ...]:
    """Every breach of geode's laws in `request`; everything that leaves an adapter has none.

    Pure and total as `check` is.
    """
    if not isinstance(request, dict):
        return ()
    found: list[tuple[str, Path, str]] = []
    for one in {"messages": _messages, "responses": _responses, "chat": _chat}[protocol](request):
        found.extend(_pairing(one))
        found.extend(_order(one))
        if protocol == "messages":
            found.extend(_one_message(one))
    found.extend(_arguments(protocol, request))
    return tuple(Violation(name, pointer(path), message, LAWS[name].status) for name, path, message in found)


def _pairing(one: Round) -> Iterator[tuple[str, Path, str]]:
    results = Counter(name for name, _ in one.after if name is not None)
    for name, path in one.calls:
        if results[name] != 1:
            yield "geode.pairing", path, f"call {shown(name)} has {results[name]} results in the next turn"
    known = {name for name, _ in one.calls}
    for result, path in one.after:
        if result is not None and result not in known and one.whole:
            yield "geode.pairing", path, f"result {shown(result)} answers no call of the turn before"


def _order(one: Round) -> Iterator[tuple[str, Path, str]]:
    known: dict[str, int] = {}
    for number, (name, _) in enumerate(one.calls):
        known.setdefault(name, number)
    places = [(known[name], name, path) for name, path in one.after if name is not None and name in known]
    for (first, earlier, _), (second, later, path) in pairwise(places):
        if second < first:
            yield "geode.order", path, f"the result of {shown(later)} stands after the result of {shown(earlier)}"
    other: Path | None = None
    for result, path in one.after:
        if result is None:
            other = other or path
        elif other is not None:
            yield "geode.hint_last", other, f"something stands before the result of {shown(result)}"
            return


def _one_message(one: Round) -> Iterator[tuple[str, Path, str]]:
    messages = {path[1] for name, path in one.after if name is not None}
    if len(messages) > 1:
        yield "geode.one_message", one.calls[0][1] if one.calls else (), f"results are spread over {len(messages)} messages"


def _messages(request: Request) -> Iterator[Round]:
    current = Round()
    for turn in turns(request):
        if turn.role == "assistant":
            yield current
            current = Round([(ident(block.get("id")), path) for path, block in turn.of("tool_use")])
        else:
            current.after.extend((_result(block), path) for path, block in turn.blocks)
    yield current


def _result(block: dict[str, Any]) -> str | None:
    return ident(block.get("tool_use_id")) if block.get("type") == "tool_result" else None


def _responses(request: Request) -> Iterator[Round]:
    whole, searched = not continued(request), set[str]()
    current = Round(whole=whole)
    for path, item in items(request):
        kind = kind_of(item)
        if by_model(item):
            if current.after:
                yield current
                current = Round(whole=whole)
            if kind == "tool_search_call":
                # The server may have answered it itself, so its output is no result of a round.
                searched.add(ident(item.get("call_id")))
            elif kind in OUTPUT_OF:
                current.calls.append((ident(item.get("call_id")), path))
        else:
            name = ident(item.get("call_id")) if kind in OUTPUT_KINDS else None
            if name not in searched:
                current.after.append((name, path))
    yield current


def _chat(request: Request) -> Iterator[Round]:
    current = Round()
    for place, message in objects(request.get("messages")):
        path: Path = ("messages", place)
        if message.get("role") == "assistant":
            yield current
            calls = objects(message.get("tool_calls"))
            current = Round([(ident(call.get("id")), (*path, "tool_calls", number)) for number, call in calls])
        else:
            result = message.get("role") == "tool"
            current.after.append((ident(message.get("tool_call_id")) if result else None, path))
    yield current


def _arguments(protocol: Protocol, request: Request) -> Iterator[tuple[str, Path, str]]:
    offered = _offered(request)
    for path, name, text in _written(protocol, request):
        if not _object(text) and not _taken(text, mapped(offered.get(ident(name)))):
            yield "geode.arguments", path, f"arguments are no JSON object: {shown(text)}"


def _offered(request: Request) -> dict[str, Any]:
    """The schemas of the functions that a request offers, in the form of either wire."""
    functions = [mapped(tool.get("function")) or tool for _, tool in objects(request.get("tools"))]
    return {ident(function.get("name")): function.get("parameters") for function in functions}


def _written(protocol: Protocol, request: Request) -> Iterator[tuple[Path, Any, str]]:
    """Arguments that are text, with their functions; those that are not, a server refuses itself."""
    if protocol == "responses":
        for path, item in items(request):
            if kind_of(item) == "function_call" and isinstance(item.get("arguments"), str):
                yield (*path, "arguments"), item.get("name"), item["arguments"]
    elif protocol == "chat":
        for place, message in objects(request.get("messages")):
            for number, call in objects(message.get("tool_calls")):
                function = mapped(call.get("function"))
                if isinstance(function.get("arguments"), str):
                    path = ("messages", place, "tool_calls", number, "function", "arguments")
                    yield path, function.get("name"), function["arguments"]


def _object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _taken(text: str, schema: Mapping[str, Any]) -> bool:
    """Was this recorded as taken? Other words for no arguments, and the bare text of a tool that takes just a text."""
    said = text.strip()
    if said in ("", "null", "[]"):
        return not schema.get("required")
    return list(mapped(schema.get("properties"))) == [ONLY_TEXT] and said[0] not in '{["'
