"""The tools of one run, round by round: what there is, as far as its toolkits allow it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from geode.application.catalog import Catalog
from geode.application.foreign import explained, warn
from geode.application.shared_tools import Offer, SharedTools
from geode.domain.content import ToolUseBlock
from geode.domain.loop.actions import CallModel
from geode.domain.loop.inputs import ToolsChanged
from geode.domain.loop.state import State
from geode.domain.naming import first_of
from geode.domain.tool_names import SEPARATOR, qualified
from geode.domain.toolkits import ChooseToolkits, Toolkit, ToolkitContext, as_toolkits, in_force
from geode.domain.tools import ToolFacts, ToolSpec
from geode.domain.turns import AssistantTurn
from geode.domain.verdicts import Verdict
from geode.ports.events import NoticeKind
from geode.ports.tools import Tool

_SHOWN: Final = 20
# No tool is in this one: what stands for toolkits that cannot be known.
NOTHING: Final = (Toolkit("nothing", allow=()),)


Kit: TypeAlias = tuple[Toolkit, ...] | ChooseToolkits


@dataclass(frozen=True, slots=True)
class SessionTools:
    """What runs of one session choose from. `extra` are geode's own tools, which no toolkit takes away.

    Each of `kits` has to hold a tool; those that are functions are asked anew before every round. `defer_above` is the
    policy's.
    """

    shared: SharedTools
    extra: tuple[Tool, ...] = ()
    kits: tuple[Kit, ...] = ()
    deps: Any = None
    defer_above: int | None = None

    @property
    def chooses(self) -> bool:
        """Whether what may be used can be another set in another round, by what the application decides."""
        return any(callable(kit) for kit in self.kits)

    def of_run(self, run_id: str, rounds: int, *, open: bool = False) -> ToolsInForce:
        """The tools of a run that has had so many rounds, of which the last is `open` or is over."""
        return ToolsInForce(self, run_id, rounds if open else rounds + 1)


class ToolsInForce:
    """Stands for a Catalog that changes between rounds, and only there. `news` is what is to be told of it."""

    def __init__(self, of: SessionTools, run_id: str, round: int) -> None:
        self._of, self._run_id, self._round = of, run_id, round
        self._looked = False
        self._offer = of.shared.offer
        self.news: list[tuple[NoticeKind, str]] = []
        self._told = set[str]()
        self.now = self._made(self._offer, round)

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self.now.tools

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self.now.specs

    @property
    def facts(self) -> Mapping[str, ToolFacts]:
        return self.now.facts

    def check(self, call: ToolUseBlock) -> Verdict:
        """See Catalog."""
        return self.now.check(call)

    async def before_round(self, state: State, call: CallModel, now: Callable[[], float]) -> ToolsChanged | None:
        """What changed since the round before.

        Not inside a turn that the provider paused: what goes back with it belongs to the request that it came from.
        """
        if (call.round == self._round and self._looked) or isinstance(state.closed.turns[-1], AssistantTurn):
            return None
        offer = await self._of.shared.refreshed(call.timeout_seconds)
        if offer is not self._offer or (call.round != self._round and self._of.chooses):
            before, self._offer = self.now, offer
            self.now = self._made(offer, call.round)
            self._tell_of(difference(before, self.now))
        self._round, self._looked = call.round, True
        return None if self.now.facts == state.terms.tools else ToolsChanged(now(), self.now.facts)

    def left(self, name: str, round: int) -> str:
        """Why a tool that was in force when the model called it may not run any more; "" where it may."""
        if name not in self.now.tools or not self._of.chooses or self._is_extra(name):
            return ""
        return "" if self._holds(name, self._kits(round)) else f"{name} is no longer among the tools that may be used"

    def _tell_of(self, change: str) -> None:
        if change:
            self.news.append(("tools_changed", change))

    def _made(self, offer: Offer, round: int) -> Catalog:
        for text in offer.told:
            if text not in self._told:
                self.news.append(("tool_source", text))
        self._told.update(offer.told)
        kits = self._kits(round)
        whole = offer.catalog
        names = [name for name in whole.tools if self._holds(name, kits)] if kits else list(whole.tools)
        kept = whole if len(names) == len(whole.tools) else whole.only(names)
        kept = kept.deferring(self._of.defer_above)
        for tool in self._of.extra:
            kept = kept.joined(tool)
        return kept

    def _holds(self, name: str, kits: Sequence[tuple[Toolkit, ...]]) -> bool:
        own = self._offer.owns.get(name)
        if own is None:
            return all(in_force(kit, {name}) for kit in kits)
        # A clash may have given it another name than the one that somebody wrote down to deny it.
        denied_by = {own.tool, f"{own.source}{SEPARATOR}{own.tool}"}
        return all(in_force(kit, {name, qualified(own)}, denied_by) for kit in kits)

    def _is_extra(self, name: str) -> bool:
        return self.now.facts[name].forwards or any(tool.spec.name == name for tool in self._of.extra)

    def _kits(self, round: int) -> list[tuple[Toolkit, ...]]:
        context = ToolkitContext(self._of.deps, self._run_id, round)
        return [self._chosen(kit, context) if callable(kit) else kit for kit in self._of.kits]

    def _chosen(self, choose: ChooseToolkits, context: ToolkitContext) -> tuple[Toolkit, ...]:
        """What a function of the application chooses. One that breaks has allowed nothing."""
        try:
            return as_toolkits(choose(context))
        except (Exception, SystemExit) as error:
            warn(f"the function of toolkit= failed in run {context.run_id}; no tool may be used", error)
            why = f"the function of toolkit= failed, so that no tool may be used: {explained(error)}"
            self.news.append(("toolkit_failed", why))
            return NOTHING


def difference(before: Catalog, after: Catalog) -> str:
    """What came, left or is another tool than it was, in words; "" for nothing."""
    there, here = before.tools, after.tools
    changes = {
        "new": [name for name in here if name not in there],
        "gone": [name for name in there if name not in here],
        "changed": [name for name, facts in after.facts.items() if name in there and facts != before.facts[name]],
    }
    said = (f"{word}: {first_of(names, _SHOWN)}" for word, names in changes.items() if names)
    return "; ".join(said)
