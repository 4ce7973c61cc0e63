"""A loop over a scripted model, and an oracle for the law of the conversation that shares no code with geode."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from geode.adapters.clock_system import SystemClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.application.askable import Askable
from geode.application.asking import Asking
from geode.application.equipment import Surroundings
from geode.application.shared_tools import SharedTools
from geode.application.tools_in_force import Kit, SessionTools
from geode.domain.approval import Approve, Decision, Question
from geode.domain.content import ToolResult, ToolUseBlock
from geode.domain.conversation import Conversation
from geode.domain.loop.actions import Finish
from geode.domain.loop.outcome import Answered, Outcome
from geode.domain.loop.state import State
from geode.domain.loop.step import step
from geode.domain.policy import Policy
from geode.domain.results import Rendering
from geode.domain.script import Step
from geode.domain.tool_search import SEARCH
from geode.domain.turns import AssistantTurn, ToolResultsTurn
from geode.entrypoints.tools import build_tools
from geode.entrypoints.tools.sources import sources_in
from geode.ports.approval import Approver
from geode.ports.clock import Clock
from geode.ports.events import Event, Observer
from geode.ports.hooks import Hooks
from geode.ports.images import ImageResizer
from geode.ports.journal import Journal
from geode.ports.model import ModelAdapter

AnyEvent = TypeVar("AnyEvent", bound=Event)
Answer = Callable[[ToolUseBlock], Decision]


class Asks:
    """An approver that answers each call by a function, and remembers every question."""

    def __init__(self, answer: Answer | None = None, *, seconds: float = 0.0) -> None:
        self._answer: Answer = answer or (lambda call: Approve())
        self._seconds = seconds
        self.questions: list[Question] = []
        self.open = self.most_open = 0

    async def decide(self, question: Question) -> Mapping[str, Decision]:
        self.questions.append(question)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await asyncio.sleep(self._seconds)
            return {asked.call.id: self._answer(asked.call) for asked in question.calls}
        finally:
            self.open -= 1

    @property
    def asked(self) -> list[list[str]]:
        """The names that each question asked about."""
        return [[asked.call.name for asked in question.calls] for question in self.questions]


class Recorder:
    """An observer that keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type[AnyEvent]) -> list[AnyEvent]:
        return [event for event in self.events if isinstance(event, kind)]


def loop_of(
    *steps: Step,
    tools: Iterable[object] = (),
    model: ModelAdapter | None = None,
    approver: Approver | None = None,
    observe: Iterable[Observer] = (),
    policy: Policy | None = None,
    clock: Clock | None = None,
    journal: Journal | None = None,
    deps: Any = None,
    hooks: Iterable[Hooks] = (),
    renderers: Mapping[type, Callable[[Any], object]] | None = None,
    resizer: ImageResizer | None = None,
    fallbacks: Iterable[Askable] = (),
    kits: Iterable[Kit] = (),
    summariser: Askable | None = None,
) -> AgenticLoop:
    """A loop whose model plays `steps`, unless another model is given."""
    ids = iter(range(1, 1000))
    clock = clock or SystemClock()
    around = Surroundings(
        clock,
        journal or MemoryJournal(),
        lambda: f"run_{next(ids)}",
        approver,
        tuple(observe),
        deps,
        tuple(hooks),
        Rendering(renderers or {}),
        resizer,
    )
    values, sources, prefixed = sources_in(list(tools))
    own = build_tools(cast("Any", values), deps)
    shared = SharedTools(own, sources, JsonschemaValidator(), clock, prefixed=prefixed, reserved=(SEARCH,))
    asking = Asking(model or ScriptedModel(*steps), "m", fallbacks=tuple(fallbacks), summariser=lambda: summariser)
    policy = policy or Policy()
    session = SessionTools(shared, kits=tuple(kits), deps=deps, defer_above=policy.defer_above)
    return AgenticLoop(asking, session, policy, around)


def quick(**limits: Any) -> Policy:
    """A policy whose tools may take a tenth of a second."""
    return Policy(**{"tool_timeout_seconds": 0.1, **limits})


def results(outcome: Outcome | Conversation) -> list[ToolResult]:
    conversation = outcome if isinstance(outcome, Conversation) else outcome.conversation
    return list(conversation.results())


def kinds(outcome: Outcome | Conversation) -> list[str]:
    return [result.kind for result in results(outcome)]


def texts(outcome: Outcome | Conversation) -> list[str]:
    return [result.text for result in results(outcome)]


def answered(outcome: Outcome) -> Answered[Any]:
    assert isinstance(outcome, Answered), outcome
    assert_whole(outcome.conversation)
    return outcome


def assert_whole(conversation: Conversation) -> None:
    """The pairing law, told anew: after each turn that calls come exactly its results, in order, and none stands elsewhere."""
    owed: list[str] = []
    seen: set[str] = set()
    for turn in conversation.turns:
        if owed:
            assert isinstance(turn, ToolResultsTurn), f"{owed} are not answered by the very next turn"
            assert [result.call_id for result in turn.results] == owed
            owed = []
        else:
            assert not isinstance(turn, ToolResultsTurn), "results without a call"
        if isinstance(turn, AssistantTurn):
            owed = [call.id for call in turn.calls]
            assert all(owed), "a call without an id"
            assert len(set(owed)) == len(owed)
            assert seen.isdisjoint(owed)
            seen.update(owed)
    assert not owed, f"{owed} are not answered"


def tasks_left() -> set[asyncio.Task[Any]]:
    """Every task but the one that asks."""
    return asyncio.all_tasks() - {task for task in [asyncio.current_task()] if task is not None}


def replayed(journal: MemoryJournal) -> State:
    """The last state of the one run in the journal, folded from its first."""
    (state,) = journal.states.values()
    (inputs,) = journal.inputs.values()
    for input in inputs:
        state = step(state, input)
    return state


def outcome_of(state: State) -> Outcome:
    """The outcome that the state holds."""
    assert isinstance(state.pending, Finish), state.pending
    return state.pending.outcome


async def turns(count: int) -> None:
    """Let the event loop turn `count` times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def heartbeat(work: Awaitable[Any]) -> tuple[Any, float]:
    """What `work` gave, and the longest pause of the event loop meanwhile."""
    now = asyncio.get_running_loop().time
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = now()
            await asyncio.sleep(0.005)
            longest = max(longest, now() - before - 0.005)

    beating = asyncio.create_task(beat())
    try:
        return await work, longest
    finally:
        beating.cancel()
