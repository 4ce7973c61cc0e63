"""What leaves an adapter: well-formed, the same whether or not parts of it were kept, and taken by the server."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

from hypothesis import HealthCheck, Phase, given, reject, seed, settings

from geode.adapters.anthropic_messages.model import API_VERSION
from geode.domain.content import Document, DocumentUrl, Image, ImageUrl, Opaque, Owner, Text, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.negotiation import negotiate
from geode.domain.request import AdapterCallRequest
from geode.domain.turns import AssistantTurn, ToolResultsTurn, Turn, UserTurn
from geode.entrypoints.emulator import check, laws
from tests.fuzz.requests import NAME, Adapter, requests

BATCH = 100


def batch(adapter: Adapter, number: int, *, examples: int = BATCH) -> Counter[str]:
    """`examples` requests, of what kinds they were. AssertionError with the smallest request that is refused."""
    seen: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
        print_blob=False,
        report_multiple_bugs=False,
    )
    @given(requests(adapter))
    def each(request: AdapterCallRequest) -> None:
        agreed = negotiate(NAME, request, adapter.able).value_or(None)
        if agreed is None:
            reject()
        found = list(wrong(adapter, agreed.request))
        assert found == [], f"{adapter.name}: {'; '.join(found)}"
        seen.update({f"{adapter.name}: requests", *kinds(agreed.request)})

    each()
    return seen


def wrong(adapter: Adapter, request: AdapterCallRequest) -> Iterator[str]:
    """What speaks against the request that is sent."""
    spoken, owner = adapter.spoken, Owner(NAME, request.model)
    sent = spoken.wire.encode(request, owner)
    if spoken.wire.encode(request, owner) != sent:
        yield "encoding again gives something else"
    if spoken.wire.encode(_grown(adapter, request, owner), owner) != sent:
        yield "a conversation that grew turn by turn is encoded otherwise"
    body = json.loads(sent.decode(), parse_constant=_refuse)
    version = API_VERSION if spoken.protocol == "messages" else None
    for found in (*check(spoken.protocol, body, spoken.dialect, version=version), *laws(spoken.protocol, body)):
        yield f"{found.rule} at {found.at}: {found.message[:200]}"


def _grown(adapter: Adapter, request: AdapterCallRequest, owner: Owner) -> AdapterCallRequest:
    """The same request, whose conversation was sent after each of its turns that closes a round."""
    conversation, waiting = Conversation(), tuple[Turn, ...]()
    for turn in request.turns:
        waiting = (*waiting, turn)
        if isinstance(turn, AssistantTurn) and turn.calls:
            continue
        conversation, waiting = conversation.grown(*waiting), ()
        adapter.spoken.wire.encode(replace(request, conversation=conversation), owner)
    return replace(request, conversation=conversation)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def kinds(request: AdapterCallRequest) -> Iterator[str]:
    """What there is in it, for counting."""
    yield f"choice: {type(request.tool_choice).__name__}"
    for name in ("system", "tools", "effort", "temperature", "thinking", "streamed"):
        if getattr(request, name):
            yield f"with {name}"
    if request.limits.max_output_tokens is not None:
        yield "with a limit"
    for tool in request.tools:
        yield "tool" if re.fullmatch(r"[A-Za-z0-9_-]{1,64}", tool.name) else "tool with an odd name"
        if tool.strict:
            yield "strict tool"
    for repair in request.conversation.repairs:
        yield f"repaired: {repair.kind}"
    for turn in request.turns:
        yield from _of_turn(turn)


def _of_turn(turn: Turn) -> Iterator[str]:
    match turn:
        case UserTurn():
            yield from (_part(part) for part in turn.items)
        case ToolResultsTurn():
            for result in turn.results:
                yield f"result: {result.kind}"
                yield from (f"{_part(part)} in a result" for part in result.content)
        case AssistantTurn():
            yield f"turn of {'nobody' if turn.made_by is None else turn.made_by.adapter}"
            yield from _said(turn)
    if not isinstance(turn, AssistantTurn) and turn.hints:
        yield "hint"


def _said(turn: AssistantTurn) -> Iterator[str]:
    if len(turn.calls) > 1:
        yield "parallel calls"
    for item in turn.items:
        match item:
            case Text():
                yield _part(item)
            case ToolUseBlock(unparsed=None):
                yield "call"
            case ToolUseBlock():
                yield "call with broken arguments"
            case Opaque():
                yield f"opaque item of {item.owner.adapter}"


def _part(part: Text | Image | ImageUrl | Document | DocumentUrl) -> str:
    if not isinstance(part, Text):
        return type(part).__name__
    if not part.text.strip():
        return "blank text"
    return "huge text" if len(part.text) > 1_000 else "text" if part.text.isascii() else "text beyond ASCII"
