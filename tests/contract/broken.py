"""Adapters broken on purpose, each in one way, and the tests that have to notice: these and no others.

All but one are the example adapter with one thing wrong, so that a wrong test cannot hide behind another fault.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx2
from acme_adapter.adapter import Acme
from acme_adapter.harness import TLS, AcmeHarness
from acme_adapter.wire import Json, text_of
from returns.result import Failure, Result, Success

from geode.adapters.http_json.clients import new_http_client
from geode.adapters.http_json.model import HttpModel
from geode.adapters.openai_responses.wire import ResponsesWire
from geode.compliance import SendingHarness
from geode.domain.choice import Auto, NoTools, Required
from geode.entrypoints.compliance.shipped import ResponsesHarness
from geode.ports import (
    AdapterCallRequest,
    AdapterCallResult,
    AssistantTurn,
    CallFailure,
    Emit,
    ModelAdapter,
    Opaque,
    Owner,
    Text,
    Usage,
)

Reply = Result[AdapterCallResult, CallFailure]


class _Acme(Acme):
    """`bend` changes the rows of a log before they leave."""

    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        body = super().encode(request, owner)
        return {**body, "log": self.bend(body["log"])}

    def bend(self, log: list[Json]) -> list[Json]:
        return log


def _results(log: list[Json]) -> list[int]:
    return [place for place, row in enumerate(log) if row["who"] == "tool"]


class IdsSwapped(_Acme):
    def bend(self, log: list[Json]) -> list[Json]:
        for first, second in zip(_results(log), _results(log)[1:], strict=False):
            if second == first + 1:
                log[first]["id"], log[second]["id"] = log[second]["id"], log[first]["id"]
                break
        return log


class ResultDropped(_Acme):
    def bend(self, log: list[Json]) -> list[Json]:
        last = _results(log)[-1:]
        return [row for place, row in enumerate(log) if place not in last]


class HintBeforeResult(_Acme):
    """A hint is put where the results begin: it is still after the call, and before what answers it."""

    def bend(self, log: list[Json]) -> list[Json]:
        for place, row in enumerate(log):
            if row["who"] == "human" and place and log[place - 1]["who"] == "tool":
                log.insert(
                    min(one for one in _results(log) if all(log[x]["who"] == "tool" for x in range(one, place))), log.pop(place)
                )
        return log


class IdsRepeated(_Acme):
    """Every round counts its calls anew."""

    def bend(self, log: list[Json]) -> list[Json]:
        number = answered = 0
        for row in log:
            if row["who"] == "bot":
                number = answered = 0
            for call in row.get("calls", ()):
                call["id"], number = f"call_{number}", number + 1
            if row["who"] == "tool":
                row["id"], answered = f"call_{answered}", answered + 1
        return log


class HintsLost(Acme):
    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        turns = [replace(turn, hints=()) if not isinstance(turn, AssistantTurn) else turn for turn in request.turns]
        return super().encode(replace(request, conversation=replace(request.conversation, turns=tuple(turns))), owner)


class ArgumentsAsText(_Acme):
    def bend(self, log: list[Json]) -> list[Json]:
        for call in (call for row in log for call in row.get("calls", ())):
            call["args"] = text_of(call["args"])
        return log


class FailuresUnsaid(_Acme):
    def bend(self, log: list[Json]) -> list[Json]:
        return [{**row, "failed": False} if row["who"] == "tool" else row for row in log]


class PicturesAsText(_Acme):
    def bend(self, log: list[Json]) -> list[Json]:
        return [{**row, "say": " ".join([row["say"], *row.get("pictures", ())])} for row in log]


class PicturesOutOfOrder(_Acme):
    def bend(self, log: list[Json]) -> list[Json]:
        return [{**row, "pictures": row.get("pictures", [])[::-1]} for row in log]


class OpaqueToAnyone(Acme):
    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        turns = [
            replace(turn, items=tuple(replace(item, owner=owner) if isinstance(item, Opaque) else item for item in turn.items))
            if isinstance(turn, AssistantTurn)
            else turn
            for turn in request.turns
        ]
        return super().encode(replace(request, conversation=replace(request.conversation, turns=tuple(turns))), owner)


class StoredChanged(Acme):
    """It marks the arguments that it has sent, in the conversation itself."""

    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        body = super().encode(request, owner)
        for call in (call for turn in request.turns if isinstance(turn, AssistantTurn) for call in turn.calls):
            arguments: Any = call.input
            arguments["sent"] = True
        return body


class SystemLost(Acme):
    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        return super().encode(replace(request, system=""), owner)


class BoundLost(Acme):
    """The output limit is declared, and nothing is said of it."""

    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        return super().encode(replace(request, limits=replace(request.limits, max_output_tokens=None)), owner)


class NoneOmitted(Acme):
    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        body = super().encode(request, owner)
        return {key: value for key, value in body.items() if key != "choice" or request.tool_choice != NoTools()}


class ToolsDroppedOnNone(Acme):
    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        tools = () if request.tool_choice == NoTools() else request.tools
        return super().encode(replace(request, tools=tools), owner)


class DeclaresTooMuch(Acme):
    """It says that it can force a call, and asks for one as if it were free."""

    def encode(self, request: AdapterCallRequest, owner: Owner) -> Json:
        choice = Auto() if request.tool_choice == Required() else request.tool_choice
        return super().encode(replace(request, tool_choice=choice), owner)


class DeclaresTooLittle(Acme):
    capabilities = replace(Acme.capabilities, choices=frozenset({"auto", "none"}), temperature=False)


class DeclaresUnsent(Acme):
    """It says that it takes a PDF, and leaves it out."""

    capabilities = replace(Acme.capabilities, media=frozenset({"image", "pdf"}))


class RetriesItself(Acme):
    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Reply:
        answer = await super().acomplete(request, emit)
        failure = answer.swap().value_or(None)
        return await super().acomplete(request, emit) if failure is not None and (failure.status or 0) >= 400 else answer


class CancellationSwallowed(Acme):
    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Reply:
        try:
            return await super().acomplete(request, emit)
        except asyncio.CancelledError:
            return Failure(CallFailure(None, "connect", "it was cancelled"))


class LeaksErrors(Acme):
    """What its client raises goes through."""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Reply:
        answer = await super().acomplete(request, emit)
        failure = answer.swap().value_or(None)
        if failure is not None and failure.status is None:
            raise httpx2.ReadError(failure.message)
        return answer


class AnswersAnything(Acme):
    """A 200 is an answer, whatever is in it."""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Reply:
        answer = await super().acomplete(request, emit)
        failure = answer.swap().value_or(None)
        if failure is not None and failure.status == 200:
            said = await super().acomplete(replace(request, streamed=False), emit)
            return said if said.value_or(None) is not None else Success(_nothing())
        return answer


def _nothing() -> AdapterCallResult:
    from geode.ports import Stop

    return AdapterCallResult((Text("…"),), Stop.END, Usage())


class HintOfServerLost(Acme):
    def refused(self, answer: httpx2.Response, body: bytes) -> CallFailure:
        return replace(super().refused(answer, body), hint=CallFailure(None, "connect", "").hint)


class StreamedDiffers(Acme):
    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Reply:
        answer = await super().acomplete(request, emit)
        return answer.map(lambda reply: replace(reply, usage=Usage()) if request.streamed else reply)


class ShownAtTheEnd(Acme):
    """It reads the whole stream before it shows any of it."""

    async def acomplete(self, request: AdapterCallRequest, emit: Emit) -> Reply:
        deltas: list[Any] = []

        async def keep(delta: Any) -> None:
            deltas.append(delta)

        answer = await super().acomplete(request, keep)
        for delta in deltas:
            await emit(delta)
        return answer


class _AnyWire(ResponsesWire):
    """`any` is a word of another wire."""

    def encode(self, request: AdapterCallRequest, owner: Owner) -> bytes:
        return super().encode(request, owner).replace(b'"tool_choice":"required"', b'"tool_choice":"any"')


class AnyToResponses(ResponsesHarness):
    @asynccontextmanager
    async def connected(self, base_url: str) -> AsyncIterator[ModelAdapter]:
        async with new_http_client() as http:
            adapter = await self.connect(base_url, http)
            assert isinstance(adapter, HttpModel)
            yield replace(adapter, wire=_AnyWire())


def _harness(kind: type[Acme], **declared: Any) -> type[SendingHarness]:
    def adapter(_: AcmeHarness, base_url: str) -> Acme:
        return kind(httpx2.AsyncClient(base_url=base_url, verify=TLS))

    members = {"capabilities": kind.capabilities, "adapter": adapter, **declared}
    return type(f"{kind.__name__}Harness", (AcmeHarness,), members)


@dataclass(frozen=True)
class Broken:
    harness: type[SendingHarness]
    noticed: frozenset[str]


def _broken(harness: type[SendingHarness], *noticed: str) -> Broken:
    return Broken(harness, frozenset(f"test_{test}" for test in noticed))


# Laws of a whole conversation are asked again without tools, and of a run's own history.
_PAIRED: Final = ("every_call_has_its_result_right_after_it_in_order", "it_is_so_where_no_tools_are_given_any_more")
_SAID: Final = ("everything_is_said_that_was_said", "it_is_so_where_no_tools_are_given_any_more")
_CANCELLED: Final = (
    "cancelling_in_the_middle_of_a_reply",
    "cancelling_while_nothing_has_come",
    "the_next_call_is_not_touched",
)
_HINTS: Final = "what_the_server_says_about_trying_again_is_a_fact"
_ONE_ATTEMPT: Final = (
    "a_refused_call_is_a_value_after_one_attempt",
    "the_server_sees_as_many_requests_as_the_policy_has_attempts",
    "the_operator_reads_the_servers_words",
    _HINTS,
)

BROKEN: Final[Mapping[str, Broken]] = {
    "Healthy": _broken(AcmeHarness),
    "IdsSwapped": _broken(_harness(IdsSwapped), *_PAIRED),
    "ResultDropped": _broken(_harness(ResultDropped), *_PAIRED, *_SAID, "a_run_goes_on_from_its_own_history", "pictures"),
    "HintBeforeResult": _broken(_harness(HintBeforeResult), *_PAIRED, *_SAID),
    "IdsRepeated": _broken(_harness(IdsRepeated), "ids_are_never_empty_and_never_used_twice"),
    "HintsLost": _broken(_harness(HintsLost), *_SAID, "a_hint_stands_after_what_the_user_said"),
    "ArgumentsAsText": _broken(
        _harness(ArgumentsAsText), *_SAID, "a_run_goes_on_from_its_own_history", "arguments_go_out_as_objects"
    ),
    "FailuresUnsaid": _broken(_harness(FailuresUnsaid), *_SAID),
    "PicturesAsText": _broken(_harness(PicturesAsText), *_SAID, "pictures_are_never_text", "pictures"),
    "PicturesOutOfOrder": _broken(_harness(PicturesOutOfOrder), "pictures"),
    "OpaqueToAnyone": _broken(_harness(OpaqueToAnyone), "items_of_others_are_never_sent"),
    "StoredChanged": _broken(_harness(StoredChanged), "what_is_stored_stays_as_it_is"),
    "SystemLost": _broken(_harness(SystemLost), "the_system_text_is_sent_and_is_nobodys_words"),
    "BoundLost": _broken(_harness(BoundLost), "a_bound_of_the_output"),
    "NoneOmitted": _broken(_harness(NoneOmitted), "a_choice_is_sent_or_refused_here"),
    "ToolsDroppedOnNone": _broken(_harness(ToolsDroppedOnNone), "a_choice_is_sent_or_refused_here"),
    "AnyToResponses": _broken(AnyToResponses, "a_choice_is_sent_or_refused_here"),
    "DeclaresTooMuch": _broken(_harness(DeclaresTooMuch), "a_choice_is_sent_or_refused_here", "a_kind_of_choice"),
    "DeclaresTooLittle": _broken(_harness(DeclaresTooLittle), "a_kind_of_choice", "a_setting"),
    "HarnessDeclaresOther": _broken(
        _harness(Acme, capabilities=replace(Acme.capabilities, effort=False)),
        "the_harness_declares_what_the_adapter_declares",
        "a_setting",
        "a_setting_is_sent_or_refused_and_never_dropped",
    ),
    "DeclaresUnsent": _broken(_harness(DeclaresUnsent), "a_form_of_media"),
    "RetriesItself": _broken(_harness(RetriesItself), *_ONE_ATTEMPT),
    "CancellationSwallowed": _broken(_harness(CancellationSwallowed), *_CANCELLED),
    "LeaksErrors": _broken(_harness(LeaksErrors), "a_cut_connection_is_a_failure", "silence_is_a_timeout"),
    "AnswersAnything": _broken(
        _harness(AnswersAnything), "a_200_that_is_no_answer_never_ends_as_one", "a_200_without_an_answer_is_a_failure"
    ),
    "HintOfServerLost": _broken(_harness(HintOfServerLost), _HINTS),
    "StreamedDiffers": _broken(_harness(StreamedDiffers), "streamed_or_not_the_reply_is_the_same"),
    "ShownAtTheEnd": _broken(_harness(ShownAtTheEnd), "streaming", "cancelling_in_the_middle_of_a_reply"),
}
# Histories enough to notice every fault above.
HISTORIES: Final = (
    *("parallel calls", "kinds of results", "hints", "pictures", "opaque items", "reused ids", "broken arguments"),
)
