"""geode's own laws, as far as a wire shows them: stricter than the servers, and the same on all wires."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from geode.entrypoints.emulator.render import Protocol
from geode.entrypoints.emulator.rule import Path, Request, Rule, Violation, ident, objects, pointer
from geode.entrypoints.emulator.rules_messages import turns
from geode.entrypoints.emulator.rules_responses import OUTPUT_KINDS, OUTPUT_OF, by_model, items, kind_of

LAWS: Final = {
    rule.id: rule
    for rule in (
        Rule("geode.pairing", "Every call has exactly one result in the very next turn.", "spec, conversation law 1"),
        Rule("geode.order", "Results stand in the order of their calls.", "spec, conversation law 1"),
        Rule("geode.hint_last", "Nothing stands before the results of a round; hints come after.", "spec, conversation law 1"),
        Rule("geode.one_message", "On Messages all results of a round are in one message.", "spec, table of wires"),
    )
}


@dataclass(slots=True)
class Round:
    """The calls of one reply and what followed until the next: results by call id, None for anything else."""

    calls: list[tuple[str, Path]] = field(default_factory=list)
    after: list[tuple[str | None, Path]] = field(default_factory=list)


def laws(protocol: Protocol, request: Request) -> tuple[Violation, ...]:
    """Every breach of geode's laws in `request`; everything that leaves an adapter has none."""
    found: list[tuple[str, Path, str]] = []
    for one in {"messages": _messages, "responses": _responses, "chat": _chat}[protocol](request):
        found.extend(_pairing(one))
        found.extend(_order(one))
        if protocol == "messages":
            found.extend(_one_message(one))
    return tuple(Violation(name, pointer(path), message, LAWS[name].status) for name, path, message in found)


def _pairing(one: Round) -> Iterator[tuple[str, Path, str]]:
    results = [name for name, _ in one.after if name is not None]
    for name, path in one.calls:
        if results.count(name) != 1:
            yield "geode.pairing", path, f"call {name} has {results.count(name)} results in the next turn"
    known = [name for name, _ in one.calls]
    for result, path in one.after:
        if result is not None and result not in known:
            yield "geode.pairing", path, f"result {result} answers no call of the turn before"


def _order(one: Round) -> Iterator[tuple[str, Path, str]]:
    known = [name for name, _ in one.calls]
    places = [(known.index(name), path) for name, path in one.after if name in known]
    for (first, _), (second, path) in pairwise(places):
        if second < first:
            yield "geode.order", path, f"the result of {known[second]} stands after the result of {known[first]}"
    other: Path | None = None
    for name, path in one.after:
        if name is None:
            other = other or path
        elif other is not None:
            yield "geode.hint_last", other, f"something stands before the result of {name}"
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
    current = Round()
    for path, item in items(request):
        kind = kind_of(item)
        if by_model(item):
            if current.after:
                yield current
                current = Round()
            if kind in OUTPUT_OF:
                current.calls.append((ident(item.get("call_id")), path))
        else:
            current.after.append((ident(item.get("call_id")) if kind in OUTPUT_KINDS else None, path))
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
