"""Having a model write the summary that stands in the place of the beginning of a conversation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from returns.result import Failure, Result, Success

from geode.application.announcer import Announcer
from geode.application.askable import Askable, askable, opened_within
from geode.application.asking import Asking
from geode.application.auxiliary import Ask, Served, run_with_retry_policy, text_call
from geode.application.hooking import Hooking
from geode.domain.choice import Auto, NoTools
from geode.domain.compaction import INSTRUCTION, NOTHING_TO_LEAVE_OUT, shortened, unusable
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import ModelCallError, RequestRefused
from geode.domain.negotiation import negotiate
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest
from geode.domain.retry import RetryPolicy
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage, dollars
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.hooks import Veto
from geode.ports.model import ModelAdapter


@dataclass(frozen=True, slots=True)
class Compaction:
    """What became of a conversation that was to be made shorter: the shorter one, or the same where nothing could be
    left out. `served` is the summary as it was answered, None where none was asked for."""

    conversation: Conversation
    served: Served | None = None

    @property
    def usage(self) -> Usage:
        """What the summary took, failed attempts included."""
        return Usage() if self.served is None else self.served.usage


@dataclass(frozen=True, slots=True)
class NotCompacted:
    """There is no summary, for the reason `why`; `usage` is what was spent on it as far as it was told."""

    why: str
    usage: Usage = Usage()
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
) -> Result[Compaction, NotCompacted]:
    """The conversation of `request`, which would be asked next, with a summary in the place of what is before `cut`.

    By the model that `asking` names for it, which is given the text without tools; else by the one that is asked, with the
    request continued, so that the provider's cache of the beginning holds. A provider's failure is a value.
    """
    whole = request.conversation
    if cut is None:
        return Failure(NotCompacted(NOTHING_TO_LEAVE_OUT))
    # What must not leave unguarded must not do so here either, whoever is asked.
    guarded = await hooking.before_model(request)
    if isinstance(guarded, Veto):
        return Failure(NotCompacted(guarded.why, error=RequestRefused(guarded.why, None)))
    refused = _refusal(asking.adapter, replace(guarded, conversation=shortened(whole, cut, "…")))
    if refused:
        # Such as a budget of thinking, where the thinking of the rounds that are kept stands before the cut.
        return Failure(NotCompacted(f"what is left could not be sent: {refused}"))
    before = Conversation(whole.turns[:cut]).grown(UserTurn((Text(INSTRUCTION),)))
    # Concluding calls are short; what is left to do is not.
    limits = replace(request.limits, max_output_tokens=policy.max_output_tokens)
    other = asking.summariser()
    if other is not None:
        name, opening = other.owner.adapter, other.opened()
        opened = await opened_within(limits.call_timeout_seconds, opening, name, announcer.being_cancelled)
        if closed := opened.swap().value_or(""):
            return Failure(NotCompacted(f"{name}, which writes summaries, cannot be asked: {closed}"))
        target, ask = other, text_call(before, system=guarded.system, limits=limits, affinity=request.affinity)
    else:
        target, ask = _continued(asking, replace(guarded, conversation=before, limits=limits, streamed=False))
    written = await _summary(target, ask, policy.retry, clock, announcer)
    return written.map(lambda served: Compaction(shortened(whole, cut, served.text), served))


async def _summary(
    target: Askable, ask: Ask, retry: RetryPolicy, clock: Clock, announcer: Announcer
) -> Result[Served, NotCompacted]:
    """A reply that can stand for a summary. What it took is told in any case."""
    told = {"adapter": target.owner.adapter, "model": target.owner.model}
    try:
        served = await run_with_retry_policy(target, ask, clock=clock, policy=retry, announcer=announcer)
    except ModelCallError as error:
        usage = (error.failure.usage if error.failure is not None else None) or Usage()
        why = f"the summary failed: {error}"
        await announcer.tell(events.Summarised, **told, usage=usage, route="", request_id="", why=why)
        return Failure(NotCompacted(why, usage, error))
    reply, why = served.reply, unusable(served.reply)
    id = reply.request_id
    await announcer.tell(events.Summarised, **told, usage=served.usage, route=reply.route, request_id=id, why=why)
    return Failure(NotCompacted(why, served.usage)) if why else Success(served)


def _continued(asking: Asking, request: AdapterCallRequest) -> tuple[Askable, Ask]:
    """Whom to ask and what, where the model that is asked writes the summary itself."""
    adapter = asking.adapter
    request = replace(request, response_schema=None)
    # The tools stay, for the provider's cache of what was sent before holds only behind the same ones.
    asked = replace(request, tool_choice=NoTools()) if request.tools else request
    if "none" not in adapter.capabilities.choices:
        asked = replace(request, tools=(), tool_choice=Auto(), deferred=frozenset())
    if _refusal(adapter, asked):
        # Cut off where it is, the history may hold calls after which a budget of thinking would be refused.
        asked = replace(asked, thinking=None)
    return askable(adapter, asking.model, price=asking.price), lambda _: asked


def _refusal(adapter: ModelAdapter, request: AdapterCallRequest) -> str:
    """Why the adapter cannot carry the request, or ""."""
    return negotiate(adapter.name, request, adapter.capabilities).swap().value_or("")
