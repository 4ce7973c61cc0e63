"""Having a model write the summary that stands in the place of the beginning of a conversation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from returns.result import Failure, Result, Success

from geode.application.announcer import Announcer
from geode.application.askable import Askable
from geode.application.auxiliary import Served, run_with_retry_policy, text_call
from geode.domain.compaction import INSTRUCTION, NOTHING_TO_LEAVE_OUT, cut_for, shortened, unusable
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import ModelCallError
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.turns import UserTurn
from geode.domain.usage import Usage
from geode.ports.clock import Clock


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
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:f}"
    return f"{usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"


@dataclass(frozen=True, slots=True)
class Summariser:
    """Who writes summaries. `continues` makes the request as the session's own rounds make theirs, so that the provider's
    cache of the beginning holds; None where another model writes them, which is given the text without tools."""

    target: Askable
    system: str
    continues: Callable[[Conversation], AdapterCallRequest] | None = None
    affinity: str = ""

    async def shorter(
        self, conversation: Conversation, policy: Policy, keep_rounds: int, clock: Clock, announcer: Announcer
    ) -> Result[Compaction, NotCompacted]:
        """`conversation` with a summary in the place of its beginning. A provider's failure is a value."""
        cut = cut_for(conversation.turns, keep_rounds)
        if cut is None:
            return Failure(NotCompacted(NOTHING_TO_LEAVE_OUT))
        before = Conversation(conversation.turns[:cut]).grown(UserTurn((Text(INSTRUCTION),)))
        try:
            served = await run_with_retry_policy(
                self.target, self._ask(before, policy), clock=clock, policy=policy.retry, announcer=announcer
            )
        except ModelCallError as error:
            spent = error.failure.usage if error.failure is not None else None
            return Failure(NotCompacted(f"the summary failed: {error}", spent or Usage(), error))
        if problem := unusable(served.reply):
            return Failure(NotCompacted(problem, served.usage))
        return Success(Compaction(shortened(conversation, cut, served.text), served))

    def _ask(self, before: Conversation, policy: Policy) -> Callable[[Askable], AdapterCallRequest]:
        limits = Limits(policy.max_output_tokens, policy.call_timeout_seconds, policy.idle_timeout_seconds)
        if self.continues is None:
            return text_call(before, system=self.system, limits=limits, affinity=self.affinity)
        request = replace(self.continues(before), limits=limits, streamed=False)
        return lambda _: request
