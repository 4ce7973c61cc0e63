"""What a real server accepted is never refused here, what it refused for its shape is, and a broken history is told."""

from __future__ import annotations

from collections import Counter
from typing import Any

from geode.entrypoints.emulator import Protocol, check, dialect_of, verdict
from tests.unit.entrypoints.emulator.mutations import MUTATIONS, shape
from tests.unit.entrypoints.emulator.recorded import needs_recordings, recorded, taken

pytestmark = needs_recordings
# Of the other recorded refusals four are of names that no server had, three of loads, and one of what a model wrote.
REFUSED = {
    "This model does not support effort level 'xhigh'": "messages.anthropic.effort.level",
    "No tool output found for tool call call-a.": "responses.generic.deepseek_adjacent",
    "was provided without its required following item.": "responses.openai.reasoning.without_following",
    "Invalid 'temperature': decimal below minimum value": "responses.openai.sampling.below",
    "Content blocks are expected to be either text or image_url type.": "chat.openai.messages.audio",
    "'messages[0].role' does not support 'developer' with this model.": "chat.openai.messages.instructions",
    "'messages[0].role' does not support 'system' with this model.": "chat.openai.messages.instructions",
    "Web search options not supported with this model.": "chat.openai.web_search_options",
}
# On these wires a server cannot see the fault: it pairs by id, in any order, and reads no arguments. The
# laws of geode see it, and no server was recorded to take such a thing.
SEEN_BY_LAWS = {
    "swap_ids": ("messages", "responses", "chat"),
    "text_before": ("responses",),
    "broken_arguments": ("responses", "chat"),
    "arguments_that_are_no_object": ("responses", "chat"),
}


def test_accepted_requests_are_accepted() -> None:
    judged = 0
    refused: list[tuple[str, str, str, str]] = []
    for exchange in taken():
        judged += 1
        found = verdict(exchange["protocol"], exchange["request"], dialect_of(exchange["host"]))
        refused.extend((exchange["host"], exchange["source"], one.rule, one.at) for one in found)

    assert judged > 700
    assert refused == []


def _message(exchange: dict[str, Any]) -> str:
    error = (exchange.get("response") or {}).get("error")
    return str(error.get("message")) if isinstance(error, dict) else ""


def test_recorded_refusals_of_shape_are_refused() -> None:
    found = Counter[str]()
    for exchange in recorded():
        for part, rule in REFUSED.items():
            if exchange["status"] != 200 and part in _message(exchange):
                violations = check(exchange["protocol"], exchange["request"], dialect_of(exchange["host"]))
                assert rule in {one.rule for one in violations}
                assert violations[0].status == exchange["status"]
                found[part] += 1

    assert found.keys() == REFUSED.keys()
    assert found.total() == 9


def test_a_history_that_was_taken_and_then_broken_is_refused() -> None:
    made, missed, unseen = Counter[str](), list[tuple[str, str]](), set[tuple[str, Protocol]]()
    for exchange in taken():
        protocol, request, dialect = exchange["protocol"], exchange["request"], dialect_of(exchange["host"])
        found = shape(protocol, request)
        for mutate in MUTATIONS:
            name = mutate.__name__
            for broken in mutate(request, found):
                made[name] += 1
                if not check(protocol, broken, dialect):
                    unseen.add((name, protocol))
                if not verdict(protocol, broken, dialect):
                    missed.append((exchange["id"], name))

    assert missed == []
    assert {mutate.__name__ for mutate in MUTATIONS} == made.keys()
    assert min(made.values()) > 90, made
    assert unseen == {(name, protocol) for name, protocols in SEEN_BY_LAWS.items() for protocol in protocols}
