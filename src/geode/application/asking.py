"""Who is asked in a session, and what every request to it has in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from geode.application.askable import Askable, window_of
from geode.application.catalog import Catalog
from geode.application.structured import Wanted
from geode.domain.cache_key import cache_key
from geode.domain.choice import Auto, ToolChoice
from geode.domain.content import Owner
from geode.domain.conversation import Conversation
from geode.domain.policy import Policy
from geode.domain.prices import Price
from geode.domain.request import AdapterCallRequest, Limits
from geode.domain.thinking import Thinking
from geode.ports.model import ModelAdapter


def limits_of(policy: Policy) -> Limits:
    """Those of one call beside the rounds of a run."""
    return Limits(policy.max_output_tokens, policy.call_timeout_seconds, policy.idle_timeout_seconds)


def _itself() -> Askable | None:
    return None


@dataclass(frozen=True, slots=True)
class Asking:
    """What every request of a session has in common, while one model is asked; `fallbacks` may be asked after it.

    `answer` is what the last text of a run has to fit.
    `summariser` gives who writes the summaries of conversations that are too long; None: the model that is asked.
    `cache` has the beginning of each request kept by the provider for the next one, where its wire has that and there
    will be a next one: with tools, or in a conversation that goes on.
    """

    adapter: ModelAdapter
    model: str
    system: str = ""
    effort: str | None = None
    temperature: float | None = None
    thinking: Thinking | None = None
    fallbacks: tuple[Askable, ...] = ()
    price: Price | None = None
    answer: Wanted | None = None
    summariser: Callable[[], Askable | None] = _itself
    cache: bool = False

    @property
    def owner(self) -> Owner:
        """The model that is asked."""
        return Owner(self.adapter.name, self.model)

    @property
    def others(self) -> tuple[Owner, ...]:
        """The models that may be asked after it."""
        return tuple(one.owner for one in self.fallbacks)

    @property
    def windows(self) -> Mapping[str, int]:
        """The tokens that the models read at most, by their names, where that is known."""
        known = {self.owner.name: self.window, **{one.owner.name: one.window for one in self.fallbacks}}
        return {name: window for name, window in known.items() if window is not None}

    @property
    def window(self) -> int | None:
        """That of the model that is asked."""
        return window_of(self.adapter, self.model)

    def serving(self, owner: Owner) -> Owner:
        """The model that a run goes on with which `owner` served before."""
        return owner if owner in self.others else self.owner

    async def of(self, owner: Owner) -> Asking:
        """The same of `owner`, which is this model or one of the fallbacks; opens its adapter."""
        if owner == self.owner:
            return self
        one = next(one for one in self.fallbacks if one.owner == owner)
        return replace(
            self,
            adapter=await one.opened(),
            model=owner.model,
            effort=one.effort,
            temperature=one.temperature,
            thinking=one.thinking,
            price=one.price,
        )

    def request(
        self,
        conversation: Conversation,
        tools: Catalog,
        run_id: str,
        *,
        tool_choice: ToolChoice = Auto(),
        limits: Limits = Limits(),
        streamed: bool = False,
    ) -> AdapterCallRequest:
        """What the model is asked after `conversation`."""
        cached = self.cache and (tools.specs or len(conversation.turns) > 1)
        return AdapterCallRequest(
            self.model,
            conversation,
            self.system,
            tools.specs,
            tool_choice,
            limits,
            self.effort,
            self.temperature,
            self.thinking,
            streamed,
            None if self.answer is None else self.answer.schema,
            affinity=run_id,
            deferred=tools.deferred,
            cache_key=cache_key(conversation, self.system) if cached else "",
        )
