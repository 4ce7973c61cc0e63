"""What the models of a chat were sent and wrote, by model, and what it cost where that was told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from geode.domain.loop.outcome import Stopped
from geode.domain.reply import Usage
from geode.entrypoints.cli.words import counted
from geode.ports.events import (
    Aborted,
    CallDelta,
    Event,
    Finished,
    ModelCalled,
    ModelReplied,
    Nested,
    TextDelta,
    ThinkingDelta,
)


@dataclass(frozen=True, slots=True)
class Spent:
    """The replies of one model. `untold` is how many of them came without their cost.

    `cut_short` counts those that never came whole: of them no tokens are known.
    """

    replies: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    untold: int = 0
    cut_short: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.replies + other.replies,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            self.cost_usd + other.cost_usd,
            self.untold + other.untold,
            self.cut_short + other.cut_short,
        )

    @property
    def cost(self) -> str:
        """In words: what nobody told is unknown, and not nothing."""
        if self.untold == self.replies:
            return "cost unknown"
        if self.untold:
            return f"${self.cost_usd} and more: {self.untold} of {self.replies} replies came without their cost"
        return f"${self.cost_usd}"


def spent(usage: Usage) -> Spent:
    """One reply."""
    cost = usage.cost_usd
    return Spent(
        1, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens, cost or Decimal(0), 1 if cost is None else 0
    )


class Spending:
    """Listens to the events of a chat. `conversation_tokens` is how many the conversation has, None where that is not known."""

    def __init__(self, by_model: dict[tuple[str, str], Spent] | None = None) -> None:
        self._by_model: dict[tuple[str, str], Spent] = {} if by_model is None else by_model
        # The runs inside calls, by their ids: their replies count here, their conversations are others.
        self._inside: dict[str, Spending] = {}
        self._asked = ("", "")
        # Whether a request is under way, and whether some of its reply has come.
        self._open = self._begun = False
        self.conversation_tokens: int | None = None

    def event(self, event: Event) -> None:
        match event:
            case ModelCalled(adapter=adapter, model=model):
                self._failed()
                self._asked, self._open = (adapter, model), True
            case TextDelta() | ThinkingDelta() | CallDelta():
                self._begun = True
            case ModelReplied(usage=usage):
                self._add(spent(usage))
                self.conversation_tokens = usage.total_tokens or None
            case Finished(outcome=outcome) if not isinstance(outcome, Stopped):
                self._failed()
            case Finished() | Aborted():
                self.cut_off()
            case Nested(event=inner):
                self._inside.setdefault(inner.run_id, Spending(self._by_model)).event(inner)
            case _:
                pass

    def cut_off(self) -> None:
        """Nothing more comes of the run. The provider may have worked on what was asked, whether or not any of it came."""
        for inner in self._inside.values():
            inner.cut_off()
        self._inside = {}
        if self._open:
            self._add(Spent(cut_short=1))

    def _failed(self) -> None:
        """A request that got no word has cost nothing; one whose reply broke off may have."""
        if self._begun:
            self.cut_off()
        self._open = self._begun = False

    def _add(self, more: Spent) -> None:
        self._by_model[self._asked] = self._by_model.get(self._asked, Spent()) + more
        self._open = self._begun = False

    def lines(self) -> Iterator[str]:
        """One line for each model, and one for all where there are several."""
        if not self._by_model:
            yield "no model has replied yet"
        for (adapter, model), one in self._by_model.items():
            yield _line(f"{adapter} {model}", one)
        if len(self._by_model) > 1:
            yield _line("all", sum(self._by_model.values(), Spent()))


def _line(who: str, one: Spent) -> str:
    cached = f" ({one.cached_tokens:,} of them cached)" if one.cached_tokens else ""
    tokens = f"{one.input_tokens:,} tokens in{cached}, {one.output_tokens:,} out"
    whole = f"{counted(one.replies, 'reply', 'replies')}, {tokens}, {one.cost}" if one.replies else ""
    cut = f"{counted(one.cut_short, 'reply', 'replies')} cut short, tokens and cost unknown" if one.cut_short else ""
    return f"{who}: {'; and '.join(filter(None, (whole, cut)))}"
