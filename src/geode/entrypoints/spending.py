"""What was sent to models and written by them, by model, and what it cost: an observer that adds it up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from geode.domain.loop.outcome import Stopped
from geode.domain.prices import priced
from geode.domain.usage import Usage, dollars
from geode.entrypoints.cli.words import counted
from geode.ports.events import (
    Aborted,
    CallDelta,
    Event,
    Finished,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    Nested,
    Summarised,
    TextDelta,
    ThinkingDelta,
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one model took: `replies` are those that came whole, `usage` what is known of all.

    `failed` counts attempts that came to nothing and of which tokens are known all the same; `cut_short` those of which
    nothing is known but that some of the reply had come, or that nobody waited for it any more.
    """

    replies: int = 0
    failed: int = 0
    cut_short: int = 0
    usage: Usage = Usage()

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.replies + other.replies,
            self.failed + other.failed,
            self.cut_short + other.cut_short,
            self.usage + other.usage,
        )

    @property
    def cost(self) -> str:
        """In words: what nobody knows is unknown, and not nothing."""
        cost, unpriced, all = self.usage.cost_usd, self.usage.unpriced_calls, self.replies + self.failed
        if cost is None:
            return "cost unknown"
        if unpriced:
            return f"{dollars(cost)} and more: of {unpriced} of {counted(all, 'reply', 'replies')} the cost is unknown"
        return dollars(cost)


class Spending:
    """An observer: `observe=spending`, for as many runs and sessions as you like; then `by_model` and `spent`.

    `conversation_tokens` is how many the last conversation has, None where that is not known.
    """

    def __init__(self) -> None:
        self._by_model: dict[tuple[str, str], Spent] = {}
        # By run, what was asked last and whether some of its reply has come: runs may go on at the same time.
        self._open: dict[str, tuple[tuple[str, str], bool]] = {}
        self.conversation_tokens: int | None = None

    @property
    def by_model(self) -> Mapping[tuple[str, str], Spent]:
        """By the names of adapter and model."""
        return dict(self._by_model)

    @property
    def spent(self) -> Spent:
        """All of it."""
        return sum(self._by_model.values(), Spent())

    def __call__(self, event: Event) -> None:
        match event:
            case ModelCalled(run_id=run, adapter=adapter, model=model):
                self._broke(run, None)
                self._open[run] = ((adapter, model), False)
            case TextDelta(run_id=run) | ThinkingDelta(run_id=run) | CallDelta(run_id=run):
                if run in self._open:
                    self._open[run] = (self._open[run][0], True)
            case ModelReplied(run_id=run, usage=usage):
                self._add(run, Spent(replies=1, usage=priced(usage, None)))
                self.conversation_tokens = usage.total_tokens or None
            case Summarised(adapter=adapter, model=model, usage=usage, why=why):
                self._count((adapter, model), _failed(usage) if why else Spent(replies=1, usage=priced(usage, None)))
                if not why:
                    self.conversation_tokens = None  # the conversation is another one now
            case ModelFailed(run_id=run, usage=usage):
                self._broke(run, usage)
            case Finished(run_id=run, outcome=Stopped()) | Aborted(run_id=run):
                self._add(run, Spent(cut_short=1))
            case Nested(event=inner):
                # What a call runs inside counts, and its conversation is another.
                tokens = self.conversation_tokens
                self(inner)
                self.conversation_tokens = tokens
            case _:
                pass

    def cut_off(self) -> None:
        """Nothing more comes of any run. Providers may have worked on what was asked, whether or not any of it came."""
        for run in tuple(self._open):
            self._add(run, Spent(cut_short=1))

    def _broke(self, run: str, usage: Usage | None) -> None:
        """The attempt came to nothing: without a word told of it, it has cost nothing unless some of its reply had come."""
        _, begun = self._open.get(run, (None, False))
        self._add(run, Spent(cut_short=int(begun)) if usage is None else _failed(usage))

    def _add(self, run: str, more: Spent) -> None:
        asked, _ = self._open.pop(run, (None, False))
        if asked is not None:
            self._count(asked, more)

    def _count(self, name: tuple[str, str], more: Spent) -> None:
        if more != Spent():
            self._by_model[name] = self._by_model.get(name, Spent()) + more

    def lines(self) -> Iterator[str]:
        """One line for each model, and one for all where there are several."""
        if not self._by_model:
            yield "no model has replied yet"
        for (adapter, model), one in self._by_model.items():
            yield _line(f"{adapter} {model}", one)
        if len(self._by_model) > 1:
            yield _line("all", self.spent)


def _failed(usage: Usage) -> Spent:
    """What came to nothing counts as far as it was told; one of which only that is known is cut short."""
    if usage == Usage():
        return Spent()
    told = usage.total_tokens or usage.cost_usd is not None
    return Spent(failed=1, usage=priced(usage, None)) if told else Spent(cut_short=1)


def _line(who: str, one: Spent) -> str:
    usage = one.usage
    cached = f" ({usage.cached_input_tokens:,} of them cached)" if usage.cached_input_tokens else ""
    tokens = f"{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out"
    failed = f" and {counted(one.failed, 'failed attempt', 'failed attempts')}" if one.failed else ""
    known = one.replies or one.failed
    whole = f"{counted(one.replies, 'reply', 'replies')}{failed}, {tokens}, {one.cost}" if known else ""
    cut = f"{counted(one.cut_short, 'reply', 'replies')} cut short, tokens and cost unknown" if one.cut_short else ""
    return f"{who}: {'; and '.join(filter(None, (whole, cut)))}"
