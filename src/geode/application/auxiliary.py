"""Calls beside a run, such as summaries: with the retries of the policy, over the models that are named to them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from returns.result import Result

from geode.application.announcer import Announcer
from geode.application.askable import Askable
from geode.application.one_call import one_call
from geode.application.structured import DoesNotFit, TypedAnswer, typed_answer, value_of
from geode.application.tab import Tab
from geode.domain.answers import AnswerTerms, repair_text
from geode.domain.content import Owner
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse, ModelCallError, RequestRefused
from geode.domain.failures import CallFailure, classify_retry_error, describe
from geode.domain.loop.outcome import error_of, reason_of
from geode.domain.negotiation import negotiate
from geode.domain.prices import Price
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.retry import GiveUp, NextModel, RetryAfter, RetryPolicy, after_failure
from geode.domain.spent import Spent
from geode.domain.turns import AssistantTurn, Hint, UserTurn, says_nothing
from geode.domain.usage import Usage
from geode.domain.ways_out import way_on
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.model import Delta, Emit, ModelAdapter, TextPart, ThinkingPart
from geode.ports.schema import Check

# What a target is to be asked.
Ask: TypeAlias = Callable[[Askable], AdapterCallRequest]


@dataclass(frozen=True, slots=True)
class Served:
    """The reply, the model that gave it, and what attempts before it cost that failed, as far as that was told.

    `typed` is what the reply comes to where a `response_schema` was given.
    """

    reply: AdapterCallResult
    owner: Owner
    lost: Usage = Usage()
    typed: TypedAnswer | None = None

    @property
    def text(self) -> str:
        """What was said."""
        return self.reply.text

    @property
    def usage(self) -> Usage:
        """What it took, failed attempts included."""
        return self.lost + self.reply.usage

    @property
    def value(self) -> Any:
        """What was answered, of the `response_schema`. AnswerError where the answer does not fit, was declined or cut
        off; Misuse where there was no schema."""
        if self.typed is None:
            raise Misuse("response-schema", "this answer has a text and no value: ask with response_schema=…")
        return value_of(self.typed)


def text_call(
    conversation: Conversation,
    *,
    system: str = "",
    limits: Limits = Limits(),
    response_schema: Mapping[str, Any] | None = None,
    affinity: str = "",
    cache_key: str = "",
) -> Ask:
    """A call without tools. The target's effort, temperature and thinking go out with it; `affinity` and `cache_key` are
    those of the calls it belongs to, such as the run whose summary it writes."""

    def request(target: Askable) -> AdapterCallRequest:
        return AdapterCallRequest(
            target.owner.model,
            conversation,
            system,
            limits=limits,
            effort=target.effort,
            temperature=target.temperature,
            thinking=target.thinking,
            response_schema=response_schema,
            affinity=affinity,
            cache_key=cache_key,
        )

    return request


async def typed_call(
    served_of: Callable[[Conversation], Awaitable[Served]],
    conversation: Conversation,
    check: Check,
    terms: AnswerTerms,
    repairs: int,
) -> Served:
    """The answer of `served_of`, by a schema; where it does not fit, the model is told why, `repairs` times.

    Spec section 11.
    """
    served = await served_of(conversation)
    typed, turn = typed_answer(served.reply, check), AssistantTurn(served.reply.items, served.owner)
    if not isinstance(typed, DoesNotFit) or turn.calls or says_nothing(turn) or not repairs:
        return replace(served, typed=typed)
    told = UserTurn((), (Hint("answer", repair_text(typed.errors, terms)),))
    try:
        again = await typed_call(served_of, conversation.grown(turn, told), check, terms, repairs - 1)
    except ModelCallError as error:
        spent = error.failure.usage if error.failure is not None else None
        raise with_usage(error, served.usage + (spent or Usage())) from error
    return replace(again, lost=served.usage + again.lost)


def with_usage(error: ModelCallError, usage: Usage) -> ModelCallError:
    """The same error, with what was spent until then among its facts."""
    if usage == Usage():
        return error
    told = error.failure or CallFailure(None, "response", str(error))
    return type(error)(str(error), replace(told, usage=usage))


async def run_with_retry_policy(
    target: Askable,
    ask: Ask,
    *,
    clock: Clock,
    models: Sequence[str] = (),
    policy: RetryPolicy = RetryPolicy(),
    announcer: Announcer | None = None,
    emit: Emit | None = None,
    tab: Tab | None = None,
) -> Served:
    """An auxiliary call of one adapter: `target`, and then its `models` in their order, of which there are none by default.

    Raises as `call_with_failover` does.
    """
    others = (replace(target, owner=Owner(target.owner.adapter, model)) for model in models)
    return await call_with_failover((target, *others), ask, clock=clock, policy=policy, announcer=announcer, emit=emit, tab=tab)


async def call_with_failover(
    targets: Sequence[Askable],
    ask: Ask,
    *,
    clock: Clock,
    policy: RetryPolicy = RetryPolicy(),
    announcer: Announcer | None = None,
    emit: Emit | None = None,
    tab: Tab | None = None,
) -> Served:
    """The reply of the first target that gives one: all attempts of the policy on it first, then the next one.

    The next is asked only after a failure that might have passed by itself, never after visible output. Raises
    BillingError, AuthenticationError, RequestRefused or StreamInterrupted at once, and ModelCallError for what else
    is final, each with the facts in `failure`, whose `usage` is that of all attempts; of a failure that passes by
    itself the last one, when all attempts are used up. `announcer` tells of every repetition and switch, `emit` of
    what is said, where a request is streamed; `tab` is told what attempts take, and says whether there may be more.
    Misuse for targets that are none or the same twice.
    """
    _check(targets)
    trying = _Trying(ask, policy, clock, tab or Tab(), announcer=announcer, emit=emit)
    for place, target in enumerate(targets):
        following = targets[place + 1] if place + 1 < len(targets) else None
        reply = await trying.asked(target, following)
        if reply is not None:
            return Served(reply, target.owner, trying.lost.usage)
    raise AssertionError("the last target was asked and neither answered nor failed")


def _check(targets: Sequence[Askable]) -> None:
    owners = [target.owner for target in targets]
    if not owners:
        raise Misuse("no-targets", "call_with_failover has nobody to ask: give at least one target(adapter, model)")
    twice = next((owner for owner in owners if owners.count(owner) > 1), None)
    if twice is not None:
        raise Misuse("fallback-twice", f"{twice.adapter} {twice.model} is named twice; name each model once")


class _Trying:
    """One call over its targets, and what became of those that failed."""

    def __init__(
        self, ask: Ask, policy: RetryPolicy, clock: Clock, tab: Tab, *, announcer: Announcer | None, emit: Emit | None
    ) -> None:
        self._ask, self._policy, self._clock, self._announcer, self._emit = ask, policy, clock, announcer, emit
        self._tab = tab
        # What was spent on attempts that failed, as far as it was told.
        self.lost = Spent()
        self._left: list[str] = []
        self._shown = False
        self._said: list[str] = []

    async def asked(self, target: Askable, following: Askable | None) -> AdapterCallResult | None:
        """The reply of `target`, or None when the one that follows is to be asked."""
        adapter = await target.opened()
        request = _fitting(adapter, self._ask(target))
        began, attempt = self._clock.now(), 1
        while True:
            answer = await self._once(adapter, request, target.price)
            failure = answer.swap().value_or(None)
            if failure is None:
                self._tab.took(Spent(answer.unwrap().usage))
                return answer.unwrap()
            self.lost += failure.spent
            self._tab.took(failure.spent)
            failure = replace(failure, after_output=failure.after_output or self._shown, partial="".join(self._said))
            if self._announcer is not None:
                await self._announcer.tell(events.ModelFailed, attempt=attempt, why=failure.message, usage=failure.usage)
            then = after_failure(self._policy, failure, attempt, self._clock.jitter(), is_last=following is None)
            why = describe(target.owner.name, failure, attempt, self._clock.now() - began)
            match then:
                case RetryAfter(seconds) if self._tab.room(seconds) is not None:
                    await self._tell_retry(attempt, seconds, failure)
                    await self._clock.sleep(seconds)
                    attempt += 1
                case NextModel() if following is not None:
                    self._left.append(why)
                    await self._tell_switch(attempt, target.owner, following.owner, why)
                    return None
                case RetryAfter() | NextModel() | GiveUp():
                    raise self._error(why, failure)

    async def _once(
        self, adapter: ModelAdapter, request: AdapterCallRequest, price: Price | None
    ) -> Result[AdapterCallResult, CallFailure]:
        self._shown, self._said = False, []
        cancelled = self._announcer.being_cancelled if self._announcer is not None else _being_cancelled
        with self._tab.asking():
            return await one_call(adapter, request, self._told, cancelled, price)

    async def _told(self, delta: Delta) -> None:
        self._shown = self._shown or not isinstance(delta, ThinkingPart)
        self._said += [delta.text] if isinstance(delta, TextPart) else []
        if self._emit is not None:
            await self._emit(delta)

    async def _tell_retry(self, attempt: int, seconds: float, failure: CallFailure) -> None:
        if self._announcer is not None:
            why, quota = failure.message, failure.quota
            await self._announcer.tell(events.Retrying, attempt=attempt, seconds=seconds, why=why, quota=quota)

    async def _tell_switch(self, attempt: int, of: Owner, to: Owner, why: str) -> None:
        if self._announcer is not None:
            names = {"from_adapter": of.adapter, "from_model": of.model, "to_adapter": to.adapter, "to_model": to.model}
            await self._announcer.tell(events.ModelSwitched, attempt=attempt, why=why, **names)

    def _error(self, why: str, failure: CallFailure) -> ModelCallError:
        way = way_on(failure, chained=bool(self._left))
        whole = f"{why}. {way}" if way else why
        if self._left:
            whole += f". Before that, {'; '.join(self._left)}"
        return error_of(reason_of(classify_retry_error(failure)), whole, replace(failure, usage=self._told_usage(failure)))

    def _told_usage(self, failure: CallFailure) -> Usage | None:
        """What was told of all attempts, and not of the last one alone."""
        return failure.usage if self.lost == Spent() else self.lost.usage


def _fitting(adapter: ModelAdapter, request: AdapterCallRequest) -> AdapterCallRequest:
    """The request as it may leave; RequestRefused for one that the adapter cannot carry."""
    negotiated = negotiate(adapter.name, request, adapter.capabilities)
    refused = negotiated.swap().value_or(None)
    if refused is not None:
        raise RequestRefused(refused, None)
    return negotiated.unwrap().request


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
