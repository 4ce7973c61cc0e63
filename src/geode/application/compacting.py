"""Having a model write the summary that stands in the place of the beginning of a conversation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from returns.result import Failure, Result, Success

from geode.application.announcer import Announcer
from geode.application.askable import Askable, askable, opened_within
from geode.application.asking import Asking
from geode.application.auxiliary import Served, run_with_retry_policy, text_call
from geode.application.hooking import Hooking
from geode.application.tab import Tab
from geode.domain.choice import Auto, NoTools
from geode.domain.compaction import INSTRUCTION, NOTHING_TO_LEAVE_OUT, halfway, shortened, unusable
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import ModelCallError, RequestRefused
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.negotiation import negotiate
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.retry import RetryPolicy
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage, dollars
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.hooks import Veto
from geode.ports.model import ModelAdapter

_NO_ROOM: Final = "the budgets have no room for a summary"


@dataclass(frozen=True, slots=True)
class Compaction:
    """What became of a conversation that was to be made shorter: the shorter one, or the same where nothing could be
    left out. `served` is the summary as it was answered, None where none was asked for; `usage` is what it took, failed
    attempts included."""

    conversation: Conversation
    served: Served | None = None
    usage: Usage = Usage()


@dataclass(frozen=True, slots=True)
class NotCompacted:
    """There is no summary, for the reason `why`; `error` is the failure of the call, where that is it."""

    why: str
    error: ModelCallError | None = None


def told_usage(usage: Usage) -> str:
    """What a summary took, in words."""
    cost = "" if usage.cost_usd is None else f", {dollars(usage.cost_usd)}"
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"


async def compacted(
    asking: Asking,
    request: AdapterCallRequest,
    policy: Policy,
    cut: int | None,
    *,
    clock: Clock,
    announcer: Announcer,
    hooking: Hooking,
    tab: Tab,
) -> Result[Compaction, NotCompacted]:
    """The conversation of `request`, which would be asked next, with a summary in the place of what is before `cut`, within
    the limits that `tab` gives.

    By the model that `asking` names for it, which is given the text without tools; else by the one that is asked, with the
    request continued, so that the provider's cache of the beginning holds. A provider's failure is a value.
    """
    whole = request.conversation
    if cut is None:
        return Failure(NotCompacted(NOTHING_TO_LEAVE_OUT))
    # What must not leave unguarded must not do so here either, whoever is asked.
    guarded = await hooking.before_model(request)
    if isinstance(guarded, Veto):
        return Failure(NotCompacted(guarded.why, RequestRefused(guarded.why, None)))
    if refused := _refusal(asking.adapter, replace(guarded, conversation=shortened(whole, cut, "…"))):
        return Failure(NotCompacted(f"what is left could not be sent: {refused}"))
    other, limits = asking.summariser(), tab.room()
    if limits is None:
        return Failure(NotCompacted(_NO_ROOM))
    if other is not None and (closed := await _closed(other, limits.call_timeout_seconds, announcer)):
        return Failure(NotCompacted(f"{other.owner.adapter}, which writes summaries, cannot be asked: {closed}"))
    writing = _Writing(asking, other, replace(guarded, streamed=False), policy.retry, clock, announcer, tab)
    written = await writing.of(Conversation(whole.turns[:cut]))
    return written.map(lambda served: Compaction(shortened(whole, cut, served.text), served, tab.spent.usage))


async def _closed(target: Askable, seconds: float, announcer: Announcer) -> str:
    """Why the model cannot be had, or ""."""
    opened = await opened_within(seconds, target.opened(), target.owner.adapter, announcer.being_cancelled)
    return opened.swap().value_or("")


@dataclass(frozen=True, slots=True)
class _Writing:
    """Who writes a summary, and how: `request` is what the model that is asked would be asked next."""

    asking: Asking
    other: Askable | None
    request: AdapterCallRequest
    retry: RetryPolicy
    clock: Clock
    announcer: Announcer
    tab: Tab

    async def of(self, before: Conversation) -> Result[Served, NotCompacted]:
        """A summary of `before`. What is itself too long for one is summarised by halves, the second with the first."""
        written = await self._once(before)
        failed = written.swap().value_or(None)
        half = halfway(before.turns) if failed is not None and _is_too_long(failed) else None
        if half is None:
            return written
        first = await self.of(Conversation(before.turns[:half]))
        if first.swap().value_or(None) is not None:
            return first
        shorter = shortened(before, half, first.unwrap().text)
        return written if len(shorter.turns) >= len(before.turns) else await self.of(shorter)

    async def _once(self, before: Conversation) -> Result[Served, NotCompacted]:
        """A reply that can stand for a summary, if the budgets have room for one."""
        limits = self.tab.room()
        if limits is None:
            return Failure(NotCompacted(_NO_ROOM))
        target, request = await self._asked(before.grown(UserTurn((Text(INSTRUCTION),))), limits)
        with self.tab.part() as part:
            return await self._told(target, request, part)

    async def _told(self, target: Askable, request: AdapterCallRequest, tab: Tab) -> Result[Served, NotCompacted]:
        """What it took is told in any case."""

        async def tell(why: str, route: str = "", id: str = "") -> None:
            who = {"adapter": target.owner.adapter, "model": target.owner.model}
            usage = tab.whole.usage
            await self.announcer.tell(events.Summarised, **who, usage=usage, route=route, request_id=id, why=why)

        try:
            served = await run_with_retry_policy(
                target, lambda _: request, clock=self.clock, policy=self.retry, announcer=self.announcer, tab=tab
            )
        except ModelCallError as error:
            why = f"the summary failed: {error}"
            await tell(why)
            return Failure(NotCompacted(why, error))
        except asyncio.CancelledError:
            self.announcer.soon(tell("it was cut short"))
            raise
        why = unusable(served.reply)
        await tell(why, served.reply.route, served.reply.request_id)
        return Failure(NotCompacted(why)) if why else Success(served)

    async def _asked(self, before: Conversation, limits: Limits) -> tuple[Askable, AdapterCallRequest]:
        """Whom to ask and what. What the other model cannot be shown, the one that is asked was shown before."""
        request = replace(self.request, limits=limits)
        if self.other is not None:
            shared = self.other.owner.adapter == self.asking.owner.adapter
            text = text_call(
                before,
                system=request.system,
                limits=request.limits,
                affinity=request.affinity,
                cache_key=request.cache_key if shared else "",
            )
            asked = text(self.other)
            if _carries(await self.other.opened(), asked):
                return self.other, asked
        own = askable(self.asking.adapter, self.asking.model, price=self.asking.price)
        return own, _continued(self.asking.adapter, replace(request, conversation=before))


def _is_too_long(failed: NotCompacted) -> bool:
    failure = None if failed.error is None else failed.error.failure
    return failure is not None and classify_retry_error(failure) is FailureClass.CONTEXT_OVERFLOW


def _continued(adapter: ModelAdapter, request: AdapterCallRequest) -> AdapterCallRequest:
    """The request with which the model that is asked writes the summary itself."""
    request = replace(request, response_schema=None)
    # The tools stay, for the provider's cache of what was sent before holds only behind the same ones.
    asked = replace(request, tool_choice=NoTools()) if request.tools else request
    if "none" not in adapter.capabilities.choices:
        asked = replace(request, tools=(), tool_choice=Auto(), deferred=frozenset())
    # Cut off where it is, the history may hold calls after which a budget of thinking would be refused.
    return replace(asked, thinking=None) if _refusal(adapter, asked) else asked


def _carries(adapter: ModelAdapter, request: AdapterCallRequest) -> bool:
    """Whether the adapter can carry the request as it is, and nothing that was said is told in words instead."""
    agreed = negotiate(adapter.name, request, adapter.capabilities).value_or(None)
    return agreed is not None and all(one.kind != "media_left_out" for one in agreed.adjustments)


def _refusal(adapter: ModelAdapter, request: AdapterCallRequest) -> str:
    """Why the adapter cannot carry the request, or ""."""
    return negotiate(adapter.name, request, adapter.capabilities).swap().value_or("")
