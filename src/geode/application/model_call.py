"""One model call: negotiated, bounded in time, its deltas handed on, its calls checked."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import cast

from returns.result import Failure, Result

from geode.application.announcer import Announcer
from geode.application.catalog import Catalog
from geode.application.foreign import handed, kind_of, warn
from geode.application.hooking import Hooking
from geode.domain.binding import bound
from geode.domain.call_ids import with_unique_ids
from geode.domain.choice import Named, ToolChoice, choice_word
from geode.domain.failures import CallFailure
from geode.domain.loop.actions import CallModel
from geode.domain.loop.inputs import CallRefused, Compacted, Input, ModelFailed, ModelReplied
from geode.domain.loop.state import State
from geode.domain.models import row_of
from geode.domain.negotiation import negotiate
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.thinking import Thinking, ThinkingBudget
from geode.domain.verdicts import Unknown
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.hooks import Veto
from geode.ports.model import CallPart, Delta, ModelAdapter, TextPart, ThinkingPart


@dataclass(frozen=True, slots=True)
class Asking:
    """What every request of a session has in common."""

    adapter: ModelAdapter
    model: str
    system: str = ""
    effort: str | None = None
    temperature: float | None = None
    thinking: Thinking | None = None

    def request(self, state: State, call: CallModel, catalog: Catalog, *, streamed: bool) -> AdapterCallRequest:
        """The request for the pending call."""
        limits = Limits(call.max_output_tokens, call.timeout_seconds, state.terms.policy.idle_timeout_seconds)
        concludes = call.wrap_up is not None and isinstance(self.thinking, ThinkingBudget)
        return AdapterCallRequest(
            self.model,
            state.closed,
            self.system,
            catalog.specs,
            call.tool_choice,
            limits,
            self.effort,
            self.temperature,
            None if concludes else self.thinking,
            streamed,
        )


class ModelCall:
    """Performs the model calls of one run."""

    def __init__(self, asking: Asking, catalog: Catalog, clock: Clock, announcer: Announcer, hooking: Hooking) -> None:
        self._asking, self._catalog, self._clock = asking, catalog, clock
        self._announcer, self._hooking = announcer, hooking
        self._shown = False
        self._noticed = set[str]()

    async def perform(self, state: State, call: CallModel) -> Input:
        """What came of the call. Nothing leaves when the adapter cannot carry the request."""
        adapter = self._asking.adapter
        self._announcer.at(call)
        built = self._asking.request(state, call, self._catalog, streamed=self._announcer.streamed)
        request = await self._hooking.before_model(built)
        if isinstance(request, Veto):
            return CallRefused(self._clock.now(), request.why)
        negotiated = negotiate(adapter.name, request, adapter.capabilities)
        refused = negotiated.swap().value_or(None)
        if refused is not None:
            return CallRefused(self._clock.now(), refused)
        sent = negotiated.unwrap().request
        for adjustment in negotiated.unwrap().adjustments:
            if adjustment.text not in self._noticed:
                self._noticed.add(adjustment.text)
                await self._announcer.notice(adjustment.kind, adjustment.text)
        await self._announcer.tell(
            events.ModelCalled,
            adapter=adapter.name,
            model=self._asking.model,
            tool_choice=_shown(sent.tool_choice),
            wrap_up=call.wrap_up is not None,
        )
        answer = await self._within_deadline(sent, call)
        failure = answer.swap().value_or(None)
        if failure is not None:
            facts = replace(failure, after_output=failure.after_output or self._shown)
            return ModelFailed(self._clock.now(), facts, self._clock.jitter())
        reply = answer.unwrap()
        items = with_unique_ids(reply.items, call.round, state.call_ids)
        if row_of(sent.model, adapter.capabilities.models).binds_prefix:
            items = bound(items, sent)
        left_out = () if request is built else [tool.name for tool in built.tools if tool not in request.tools]
        return await self._replied(reply if items is reply.items else replace(reply, items=items), left_out)

    async def compact(self, state: State) -> Compacted:
        """The conversation as the application makes it shorter."""
        found = await self._hooking.compact(state.closed)
        if isinstance(found, Veto):
            return Compacted(self._clock.now(), None, found.why)
        text = f"the conversation was too long for {self._asking.model}; it was compacted from {len(state.closed.turns)} turns"
        await self._announcer.notice("compacted", f"{text} to {len(found.turns)}")
        return Compacted(self._clock.now(), found)

    async def _within_deadline(self, request: AdapterCallRequest, call: CallModel) -> Result[AdapterCallResult, CallFailure]:
        """What the adapter answers, or that it did not in time, or that it broke.

        An AssertionError passes, since it is meant for a test, and so does what is no Exception, since
        it is meant for whoever runs the program; but no adapter ends the program by SystemExit.
        """
        self._shown = False
        deadline = asyncio.timeout(call.timeout_seconds)
        try:
            async with deadline:
                answer: object = await self._asking.adapter.acomplete(request, self._emit)
        except asyncio.CancelledError as error:
            if self._announcer.being_cancelled():
                raise
            return _broken(error)
        except (Exception, SystemExit) as error:
            if isinstance(error, AssertionError):
                raise
            return _late(call.timeout_seconds) if deadline.expired() else _broken(error)
        if isinstance(answer, Result):
            return cast("Result[AdapterCallResult, CallFailure]", answer)
        return _failure(f"the adapter returned {kind_of(answer)}, not a Success or a Failure")

    async def _emit(self, delta: Delta) -> None:
        match delta:
            case TextPart(index, text):
                self._shown = True
                await self._announcer.tell(events.TextDelta, index=index, text=text)
            case ThinkingPart(index, text):
                await self._announcer.tell(events.ThinkingDelta, index=index, text=text)
            case CallPart(index, name, arguments):
                self._shown = True
                await self._announcer.tell(events.CallDelta, index=index, name=name, arguments=arguments)

    async def _replied(self, reply: AdapterCallResult, left_out: Collection[str]) -> ModelReplied:
        calls = reply.calls
        verdicts = tuple(Unknown(()) if one.name in left_out else self._catalog.check(one) for one in calls)
        if self._announcer.heard:
            await self._announcer.tell(
                events.ModelReplied,
                text=reply.text,
                calls=tuple(handed(one) for one in calls),
                stop=reply.stop,
                usage=reply.usage,
                route=reply.route,
                request_id=reply.request_id,
            )
        return ModelReplied(self._clock.now(), reply, verdicts)


def _late(seconds: float) -> Result[AdapterCallResult, CallFailure]:
    way_out = "Policy(call_timeout_seconds=…) or Policy(max_seconds=…)"
    return Failure(CallFailure(None, "response", f"no answer within {seconds:g} s", timed_out=True, way_out=way_out))


def _broken(error: BaseException) -> Result[AdapterCallResult, CallFailure]:
    """An expected failure is a value: an exception is a mistake in the adapter, and trying again is no way out."""
    warn("the adapter raised", error)
    return _failure(f"the adapter raised {kind_of(error)}, where a failure should be returned")


def _failure(message: str) -> Result[AdapterCallResult, CallFailure]:
    way_out = "This is a mistake in the adapter; the log says more"
    return Failure(CallFailure(None, "response", message, way_out=way_out))


def _shown(choice: ToolChoice) -> str:
    return f"named:{choice.name}" if isinstance(choice, Named) else choice_word(choice)
