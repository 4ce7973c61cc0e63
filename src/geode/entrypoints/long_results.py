"""Where the long results of a session go, by its settings."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from geode.application.counting import Believed
from geode.application.equipment import Surroundings
from geode.application.recalling import recall_tool
from geode.application.shared_tools import SharedTools
from geode.application.shelf import Shelf
from geode.domain.errors import Misuse
from geode.domain.naming import closest
from geode.domain.offload import RECALL
from geode.domain.policy import Policy
from geode.domain.tokens import CountTokens, estimate_tokens
from geode.domain.tool_search import SEARCH
from geode.entrypoints.settings import Settings
from geode.ports.clock import Clock
from geode.ports.patterns import CompilePattern, Pattern
from geode.ports.results import ResultStore
from geode.ports.tools import Tool


class _Shared:
    """The store of sessions that name none. One for the process, so that a suspended run can go on in another session."""

    value: ResultStore | None = None


@dataclass(frozen=True, slots=True)
class LongResults:
    """What a session needs so that its long results are kept. No `store`: they are cut."""

    store: ResultStore | None
    compiled: CompilePattern
    count: CountTokens
    clock: Clock
    policy: Policy

    def opened(self, window: int | None) -> tuple[tuple[Tool, ...], Shelf | None]:
        """The tool of one session by which they are read, and where they go; inside the event loop that it runs in.

        `window` is the model's, in tokens, where it is known.
        """
        if self.store is None:
            return (), None
        shelf = Shelf(self.store, self.clock, secrets.token_bytes, self.policy.result_seconds)
        limits = self.policy.limits_of(RECALL).within(window)
        return (recall_tool(shelf, self.compiled, limits.cut_tokens, self.count),), shelf


def long_results(settings: Settings, tools: SharedTools, policy: Policy, around: Surroundings) -> LongResults:
    """By `results=`, `count_tokens=` and the policy. Misuse for what cannot be."""
    catalog = tools.offer.catalog
    for name in policy.result_limits_of:
        if name not in (*catalog.tools, RECALL, SEARCH) and not tools.has_sources:
            close = closest(name, catalog.tools)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise Misuse("result-limits", f'Policy.result_limits_of names "{name}", this session has no such tool{hint}')
    given = _store(settings)
    keeps = any(policy.limits_of(name).remedy == "offload" for name in catalog.tools)
    keeps = keeps or (tools.has_sources and policy.result_limits.remedy == "offload")
    if keeps and RECALL in catalog.tools:
        place = catalog.tools[RECALL].place or "a Tool made without a place"
        raise Misuse(
            "tool-twice",
            f'two tools are called "{RECALL}": {place} and the one by which geode has long results read. Rename yours, '
            'or have results cut: Policy(result_limits=ResultLimits(remedy="cut"))',
        )
    return LongResults(
        (_shared() if given is None else given) if keeps else None, _compiled, around.count_tokens, around.clock, policy
    )


def counter(settings: Settings) -> CountTokens:
    """By `count_tokens=`; the estimate where it is not given."""
    count: object = settings.get("count_tokens")
    if count is None:
        return estimate_tokens
    if not callable(count):
        raise Misuse("count-tokens-type", f"count_tokens must be a function of one text, got {type(count).__name__}")
    return Believed(count)


def _store(settings: Settings) -> ResultStore | None:
    """The store that is named; where only a folder for runs is, a folder in it, so that whoever resumes one finds it."""
    given: object = settings.get("results")
    if given is None or given == "":
        journal: object = settings.get("journal")
        folder: object = getattr(journal, "folder", journal) or None
        given = Path(folder) / "results" if isinstance(folder, str | Path) else None
    if given is None:
        return None
    if isinstance(given, str | Path):
        from geode.adapters.results_file import FileResults

        return FileResults(given)
    if not isinstance(given, ResultStore):
        raise Misuse("results-type", f"results must be a folder or a geode.ports.ResultStore, got {type(given).__name__}")
    return given


def _shared() -> ResultStore:
    if _Shared.value is None:
        from geode.adapters.results_memory import MemoryResults

        _Shared.value = MemoryResults()
    return _Shared.value


def _compiled(pattern: str) -> Pattern:
    from geode.adapters.patterns import compile_pattern

    return compile_pattern(pattern)
