"""One model call: negotiated, bounded in time, its deltas handed on, its calls checked."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from geode.application.announcer import Announcer
from geode.application.askable import opened_within
from geode.application.asking import Asking
from geode.application.compacting import Compaction, compacted, told_usage
from geode.application.hooking import Hooking
from geode.application.one_call import one_call
from geode.application.tab import Tab
from geode.application.tools_in_force import ToolsInForce
from geode.domain.budget import call_seconds, exhausted, later
from geode.domain.call_ids import with_unique_ids
from geode.domain.choice import Named, ToolChoice, choice_word
from geode.domain.compaction import cut_for
from geode.domain.content import Owner
from geode.domain.conversation import Conversation
from geode.domain.loop.actions import CallModel, Compact, SwitchModel
from geode.domain.loop.calling import output_limit
from geode.domain.loop.inputs import CallRefused, Compacted, Input, ModelFailed, ModelReplied, Switched
from geode.domain.loop.replies import answer_given
from geode.domain.loop.state import State
from geode.domain.negotiation import negotiate
from geode.domain.reply import AdapterCallResult
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.spent import Spent
from geode.domain.thinking import ThinkingBudget
from geode.domain.tool_search import as_run
from geode.domain.usage import Usage
from geode.domain.verdicts import Unknown
from geode.ports import events
from geode.ports.clock import Clock
from geode.ports.hooks import Veto
from geode.ports.model import CallPart, Delta, TextPart, ThinkingPart


class ModelCall:
    """Performs the model calls of one run."""

    def __init__(
        self,
        asking: Asking,
        tools: ToolsInForce,
        clock: Clock,
        announcer: Announcer,
        hooking: Hooking,
        *,
        asks: Callable[[Asking], None],
    ) -> None:
        """`asks` is told when another model is asked than the session's own."""
        self._asking, self._session, self._owner = asking, asking, asking.owner
        self._tools, self._clock = tools, clock
        self._announcer, self._hooking, self._asks = announcer, hooking, asks
        self._tab, self._shown = Tab(), False
        self._said: list[str] = []
        self._noticed = set[str]()

    async def perform(self, state: State, call: CallModel) -> Input:
        """What came of the call. Nothing leaves when the adapter cannot carry the request."""
        self._announcer.at(call)
        closed = await self._open(state.terms.owner, call.timeout_seconds)
        if closed:
            return CallRefused(self._clock.now(), f"{state.terms.owner.adapter} cannot be asked: {closed}")
        adapter = self._asking.adapter
        built = self._request(state, call, streamed=self._announcer.streamed)
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
        self._tab, self._shown, self._said = Tab(), False, []
        with self._tab.asking():
            answer = await one_call(adapter, sent, self._emit, self._announcer.being_cancelled, self._asking.price)
        failure = answer.swap().value_or(None)
        if failure is not None:
            facts = replace(failure, after_output=failure.after_output or self._shown, partial="".join(self._said))
            return ModelFailed(self._clock.now(), facts, self._clock.jitter())
        reply = answer.unwrap()
        items = with_unique_ids(reply.items, call.round, state.call_ids)
        left_out = () if request is built else [tool.name for tool in built.tools if tool not in request.tools]
        return self._replied(state, call, reply if items is reply.items else replace(reply, items=items), left_out)

    @property
    def shown(self) -> str:
        """The text of a reply that was being given when the waiting for it was ended."""
        return "".join(self._said) if self._tab.open else ""

    @property
    def spent(self) -> Spent:
        """What calls had taken that were under way when the waiting for them was ended, and that no input tells of."""
        return self._tab.whole

    async def compact(self, state: State, asked: Compact) -> Compacted:
        """The conversation as the application makes it shorter, or as geode does where the policy says so."""
        found = await self._hooking.compact(state.closed)
        if found is None and state.terms.policy.compact_above is not None:
            return await self._summarised(state, asked)
        if isinstance(found, Conversation):
            await self._tell_compacted(state, asked, Compaction(found))
            return Compacted(self._clock.now(), found)
        why = "no hook made it shorter" if found is None else found.why
        return await self._not_compacted(asked, why)

    async def _summarised(self, state: State, asked: Compact) -> Compacted:
        closed = await self._open(state.terms.owner, asked.call.timeout_seconds)
        if closed:
            return await self._not_compacted(asked, f"{state.terms.owner.adapter} cannot be asked: {closed}")
        policy = state.terms.policy
        # Refused as it is, less is kept than was asked for, and in the end only the last prompt.
        keep = policy.compact_keep_rounds if asked.ahead or state.counters.compactions == 1 else 0
        cut = cut_for(state.closed.turns, keep, or_fewer=not asked.ahead)
        request = self._request(state, asked.call, streamed=False)
        tab = self._tab = Tab(partial(self._room, state))
        self._said = []
        made = await compacted(
            self._asking,
            request,
            policy,
            cut,
            clock=self._clock,
            announcer=self._announcer,
            hooking=self._hooking,
            tab=tab,
        )
        failed = made.swap().value_or(None)
        if failed is not None:
            await self._tell_not_compacted(asked, failed.why)
            found = Compacted(self._clock.now(), None, failed.why, tab.spent, tab.last)
        else:
            compaction = made.unwrap()
            await self._tell_compacted(state, asked, compaction)
            found = Compacted(self._clock.now(), compaction.conversation, spent=tab.spent, last=tab.last)
        self._tab = Tab()  # from here on the input tells what is on it
        return found

    def _room(self, state: State, spent: Spent, last: Usage, seconds: float) -> Limits | None:
        """Of an attempt at a summary, which is as long as it has to be, also where a reply would have to conclude."""
        then = later(state, spent, last, self._clock.now() + seconds)
        if exhausted(then) is not None:
            return None
        return Limits(output_limit(then), call_seconds(then), state.terms.policy.idle_timeout_seconds)

    async def _tell_compacted(self, state: State, asked: Compact, found: Compaction) -> None:
        model, turns = state.terms.owner.model, len(state.closed.turns)
        why = asked.why if asked.ahead else f"the conversation was too long for {model}"
        text = f"{why}; it was compacted from {turns} turns to {len(found.conversation.turns)}"
        if found.served is not None:
            text += f", with a summary by {found.served.owner.model} ({told_usage(found.usage)})"
        await self._announcer.notice("compacted", text)

    async def _not_compacted(self, asked: Compact, why: str) -> Compacted:
        await self._tell_not_compacted(asked, why)
        return Compacted(self._clock.now(), None, why)

    async def _tell_not_compacted(self, asked: Compact, why: str) -> None:
        await self._announcer.notice("not_compacted", f"{asked.why}; it was not compacted: {why}")

    def _request(self, state: State, call: CallModel, *, streamed: bool) -> AdapterCallRequest:
        """The request for the pending call."""
        limits = Limits(call.max_output_tokens, call.timeout_seconds, state.terms.policy.idle_timeout_seconds)
        built = self._asking.request(
            state.closed, self._tools.now, state.terms.run_id, tool_choice=call.tool_choice, limits=limits, streamed=streamed
        )
        concludes = call.wrap_up is not None and isinstance(built.thinking, ThinkingBudget)
        return replace(built, thinking=None) if concludes else built

    async def switch(self, asked: SwitchModel) -> Switched:
        """Have the next model at hand."""
        refused = await self._open(asked.to, asked.call.timeout_seconds)
        return Switched(self._clock.now(), refused)

    async def _open(self, owner: Owner, seconds: float) -> str:
        """From here on `owner` is asked. "", or why it cannot be."""
        if owner == self._owner:
            return ""
        found = await opened_within(seconds, self._session.of(owner), owner.adapter, self._announcer.being_cancelled)
        if closed := found.swap().value_or(""):
            return closed
        self._asking, self._owner = found.unwrap(), owner
        self._asks(self._asking)
        return ""

    async def _emit(self, delta: Delta) -> None:
        match delta:
            case TextPart(index, text):
                self._shown = True
                self._said.append(text)
                await self._announcer.tell(events.TextDelta, index=index, text=text)
            case ThinkingPart(index, text):
                await self._announcer.tell(events.ThinkingDelta, index=index, text=text)
            case CallPart(index, name, arguments):
                self._shown = True
                await self._announcer.tell(events.CallDelta, index=index, name=name, arguments=arguments)

    def _replied(self, state: State, call: CallModel, reply: AdapterCallResult, left_out: Collection[str]) -> ModelReplied:
        runs = (as_run(one, self._tools.facts) for one in reply.calls)
        verdicts = tuple(Unknown(()) if one.name in left_out else self._tools.check(one) for one in runs)
        text, wanted = answer_given(state, call, reply), self._asking.answer
        answer = None if text is None or wanted is None else wanted.verdict(text)
        return ModelReplied(self._clock.now(), reply, verdicts, answer)


def _shown(choice: ToolChoice) -> str:
    return f"named:{choice.name}" if isinstance(choice, Named) else choice_word(choice)
