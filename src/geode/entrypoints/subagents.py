"""`subagent`: a run as a tool of another run, with its own model, tools and limits, within those of the run around it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Unpack, cast

from geode.application.agentic_loop import AgenticLoop
from geode.application.equipment import Surroundings
from geode.application.structured import unfenced
from geode.domain.approval import Decision, Deny, Later, Question
from geode.domain.errors import Misuse
from geode.domain.loop.inner import within
from geode.domain.loop.outcome import (
    Answered,
    Exhausted,
    ExhaustedReason,
    Failed,
    FailedReason,
    Outcome,
    Refused,
    Stopped,
    Suspended,
)
from geode.domain.loop.recording import Began
from geode.domain.policy import Policy
from geode.domain.tiers import SafetyTier, TierName, tier_of
from geode.domain.tools import ToolSpec
from geode.entrypoints.settings import Settings, checked
from geode.entrypoints.tools import build_tools
from geode.entrypoints.tools.declaration import deadline_of
from geode.entrypoints.tools.sources import sources_in
from geode.ports.approval import Approver
from geode.ports.hooks import Hooks
from geode.ports.journal import JournalStore
from geode.ports.tool_sources import ToolSourceError
from geode.ports.tools import OuterRun, Tool, ToolContext, ToolError, ToolRetry

log = logging.getLogger("geode")

DEADLINE_SECONDS: Final = 600.0
# A sub-agent ends by itself so much before its call is cut off.
_MARGIN_SECONDS: Final = 5.0
_MARGIN_SHARE: Final = 0.1

# What a model is asked with goes with the model: a setting for one need not be one for another.
_OF_THE_MODEL: Final = ("model", "fallbacks", "effort", "temperature", "thinking")
_INHERITED: Final = (
    *("providers", "http", "deps", "journal", "results", "count_tokens", "cache", "renderers", "resizer", "clock", "validator"),
)
_OF_THE_SESSION: Final = ("approve", "observe")

_TASK: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "task": {
            "type": "string",
            "description": "What to do, with everything that it needs: nothing else of this conversation is seen.",
        }
    },
    "required": ["task"],
    "additionalProperties": False,
}
_EXHAUSTED: Final[Mapping[ExhaustedReason, str]] = {
    "max_rounds": "it had no more rounds",
    "time_budget": "its time was used up",
    "tool_budget": "it might call no more tools",
    "token_budget": "its tokens were used up",
    "cost_budget": "its budget of money was used up",
    "no_progress": "it made the same calls again and again",
    "context_exhausted": "its conversation became too long for its model",
    "answer_truncated": "its answer was cut off at the limit of its length",
}
_FAILED: Final[Mapping[FailedReason, str]] = {
    "billing_error": "the account of its model has no funds",
    "auth_error": "its model could not be reached with the credentials at hand",
    "request_error": "its model did not take the request",
    "model_error": "its model did not answer",
    "answer_invalid": "its answer did not have the form that it has to have",
}
_PUT_OFF: Final = "nobody can answer now, and inside a sub-agent an answer cannot be waited for"


def subagent(
    name: str,
    description: str,
    *,
    tier: SafetyTier | TierName = "safe",
    timeout_seconds: float = DEADLINE_SECONDS,
    **settings: Unpack[Settings],
) -> Tool:
    """A tool for `tools=[…]` whose calls are runs: the model gives it a `task`, and is given the answer.

    Takes what `session` takes, all of it optional, but for `approve` and `observe`, which are those of the session
    that it is used in. What is not given is that session's too, other than `tools`, `system` and `policy`: without
    tools it only answers, and the limits of its `policy` hold within what the run around it has left. With a `model`
    of its own it has no effort, fallbacks or other setting of the session's model. `hooks` come after the session's.

    `tier` is about starting it: each call inside goes under its own tier, and the session's approver is asked.
    `timeout_seconds` is for one call of it; it ends by itself a little before. Grants of the session do not hold in it.
    """
    for one in _OF_THE_SESSION:
        if one in settings:
            raise Misuse("subagent-setting", f"subagent {name!r:.80}: {one}= is that of the session which it is used in")
    given: object = description
    if not isinstance(given, str):
        raise Misuse("subagent-setting", f"subagent {name!r:.80}: description must be text, got {type(given).__name__}")
    return Tool(
        ToolSpec(name, description, _TASK),
        tier_of(tier),
        Declared(name, checked(settings, "subagent")),
        timeout_seconds=deadline_of(timeout_seconds),
        place=f"subagent({name!r})",
        # A run that is in the journal is gone on with, wherever it stopped.
        idempotent=True,
        contains_run=True,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Declared:
    """A sub-agent that is in no session yet."""

    name: str
    settings: Settings

    def __call__(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        raise ToolError(f"{self.name} runs only as a tool of a session", recoverable=False)

    def within(self, settings: Settings, around: Surroundings) -> Settings:
        """Its settings where it is used in a session of these settings, `around` which are these things."""
        names = _INHERITED if "model" in self.settings else (*_INHERITED, *_OF_THE_MODEL)
        inherited = {name: value for name, value in settings.items() if name in (*names, "approve")}
        own: object = self.settings.get("hooks", ())
        hooks = (*around.hooks, *cast("Sequence[Hooks]", own if isinstance(own, list | tuple) else (own,)))
        return cast("Settings", {**inherited, "journal": around.journal, **self.settings, "hooks": hooks})


class Lends(Protocol):
    """The runtime of a sub-agent."""

    @property
    def policy(self) -> Policy: ...

    @property
    def around(self) -> Surroundings: ...

    def lent(self, policy: Policy, around: Surroundings) -> AbstractAsyncContextManager[AgenticLoop]: ...


@dataclass(frozen=True, slots=True, eq=False)
class InSession:
    """The handler of a sub-agent in a session: each call is a run of `sessions`."""

    name: str
    sessions: Lends

    async def __call__(self, arguments: Mapping[str, Any], context: ToolContext[Any]) -> str:
        task, outer = str(arguments["task"]), context.outer
        if outer is None or not task.strip():
            raise ToolRetry(f"{self.name} needs a task: say what is to be done")
        around = self._around(outer)
        journal: object = around.journal
        begun = isinstance(journal, JournalStore) and _has(journal, outer.inner_run_id)
        if begun:
            # Whoever could be asked when it began: nobody answers now.
            around = replace(around, approver=AtOnce(self.name, self.sessions.around.approver))
        try:
            async with self.sessions.lent(self._policy(outer, context.deadline_seconds), around) as loop:
                outer.contains(loop)
                return self._answer(await (loop.resume_run(outer.inner_run_id) if begun else loop.run(task)))
        except ToolSourceError as error:
            raise ToolError(f"{self.name} was not begun: its tools cannot be had", detail=str(error)) from error

    def _around(self, outer: OuterRun) -> Surroundings:
        own = self.sessions.around
        return replace(
            own,
            new_run_id=lambda: outer.inner_run_id,
            approver=None if own.approver is None else AtOnce(self.name, own.approver),
            observers=(outer.tell,) if outer.heard and not outer.streamed else (),
            put=outer.tell if outer.streamed else None,
        )

    def _policy(self, outer: OuterRun, deadline: float) -> Policy:
        left = outer.allowance()
        seconds = deadline - min(_MARGIN_SECONDS, _MARGIN_SHARE * deadline)
        least = seconds if left.seconds is None else min(seconds, left.seconds)
        found = within(self.sessions.policy, replace(left, seconds=least))
        if isinstance(found, Policy):
            return found
        raise ToolError(f"{self.name} was not begun: the run has no {found} budget left for it", recoverable=False)

    def _answer(self, outcome: Outcome) -> str:
        name = self.name
        match outcome:
            case Answered(text=text, value=value):
                return text if value is None else unfenced(text).strip()
            case Exhausted(text=text, reason=reason, why=why):
                words = f"{name} was ended before it was done: {_EXHAUSTED[reason]}"
                if text.strip():
                    return f"{text}\n\n({words})"
                raise ToolError(words, detail=_of(outcome, why))
            case Refused(text=text):
                raise ToolError(f"the model of {name} declined", recoverable=False, detail=_of(outcome, text))
            case Failed(reason=reason, why=why):
                recoverable = reason == "model_error"
                raise ToolError(f"{name} failed: {_FAILED[reason]}", recoverable=recoverable, detail=_of(outcome, why))
            case Stopped():
                raise ToolError(f"{name} was stopped before it was done", recoverable=False, detail=_of(outcome, ""))
            case Suspended():
                raise ToolError(f"{name} waits for a person, which a sub-agent cannot", recoverable=False)


def _of(outcome: Outcome, why: str) -> str:
    return f"run {outcome.run_id}: {outcome.reason}{f': {why}' if why else ''}"


def _has(journal: JournalStore, run_id: str) -> bool:
    """Whether the run was begun: a file that its process was killed in before that holds nothing to go on with."""
    return run_id in journal.run_ids() and any(isinstance(one, Began) for one in journal.recorded(run_id).records)


class AtOnce:
    """Asks `approver` about calls inside a sub-agent: what it puts off is denied, for a sub-agent is never suspended."""

    def __init__(self, name: str, approver: Approver | None) -> None:
        self._name, self._approver = name, approver

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        answers: object = {} if self._approver is None else await self._approver.decide(question)
        if not isinstance(answers, Mapping):
            return cast("Mapping[str, Decision]", answers)  # refused by whoever asks, as any such answer
        found = dict(cast("Mapping[str, Decision]", answers))
        for asked in question.calls:
            if isinstance(found.get(asked.call.id, Later()), Later):
                found[asked.call.id] = Deny(_PUT_OFF)
                log.warning(
                    "%s in the sub-agent %s was denied: an answer cannot be put off there. Answer at once, or give the "
                    "tool to the session itself",
                    asked.call.name,
                    self._name,
                )
        return found


def with_inner(tools: Iterable[Tool]) -> tuple[Tool, ...]:
    """`tools` and those of the sub-agents among them, one of each name: one that needs an approval before one that does not."""
    found: dict[str, Tool] = {}
    for tool in tools:
        inner: tuple[Tool, ...] = ()
        if isinstance(tool.invoke, Declared):
            settings = tool.invoke.settings
            given, _, _ = sources_in(settings.get("tools", ()))
            inner = with_inner(build_tools(cast("Iterable[object]", given), settings.get("deps")))
        for one in (tool, *inner):
            before = found.get(one.spec.name)
            if before is None or (one.tier.needs_approval and not before.tier.needs_approval):
                found[one.spec.name] = one
    return tuple(found.values())


def bound(tools: Iterable[Tool], lends: Callable[[Declared], Lends]) -> tuple[Tool, ...]:
    """`tools`, with the sub-agents among them in the session whose runtimes for them `lends` makes."""
    return tuple(
        replace(tool, invoke=InSession(tool.spec.name, lends(tool.invoke))) if isinstance(tool.invoke, Declared) else tool
        for tool in tools
    )
