"""Thinking in the loop: where a budget is given, and what becomes of thinking when its prefix changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from geode.adapters.clock_system import SystemClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.adapters.scripted.model import ScriptedModel
from geode.application.agentic_loop import AgenticLoop
from geode.application.asking import Asking
from geode.application.equipment import Surroundings
from geode.application.shared_tools import SharedTools
from geode.application.tools_in_force import SessionTools
from geode.domain.content import Opaque
from geode.domain.models import THINKING_KINDS, ModelRow
from geode.domain.policy import Policy
from geode.domain.request import AdapterCallRequest, Capabilities
from geode.domain.script import Step, calls, says, thinks
from geode.domain.thinking import AdaptiveThinking, Thinking, ThinkingBudget
from geode.domain.turns import AssistantTurn
from geode.entrypoints.tools import build_tools, tool
from geode.ports.events import Notice
from tests.unit.application.rig import Recorder, answered

BINDS = Capabilities(thinking=THINKING_KINDS, models=(ModelRow("m", binds_prefix=True),))


@tool(tier="safe")
def look() -> str:
    """Look."""
    return "seen"


def loop_over(
    model: ScriptedModel, seen: Recorder, *, system: str = "", thinking: Thinking | None = None, rounds: int = 50
) -> AgenticLoop:
    around = Surroundings(SystemClock(), MemoryJournal(), lambda: "run", None, (seen,), None)
    asking = Asking(model, "m", system, thinking=thinking)
    return AgenticLoop(
        asking,
        SessionTools(SharedTools(build_tools([look], None), (), JsonschemaValidator(), SystemClock())),
        Policy(max_rounds=rounds),
        around,
    )


def thoughts(request: AdapterCallRequest) -> int:
    return sum(isinstance(item, Opaque) for turn in request.turns if isinstance(turn, AssistantTurn) for item in turn.items)


THREE: tuple[Step, ...] = (
    replace(calls(("look", {})), items=(*thinks("hm").items, *calls(("look", {})).items)),
    replace(calls(("look", {})), items=(*thinks("so").items, *calls(("look", {})).items)),
    says("done"),
)


async def test_thinking_goes_back_within_a_run_and_stays_behind_when_the_system_text_changes() -> None:
    seen, model = Recorder(), ScriptedModel(*THREE, says("again"), says("more"), capabilities=BINDS)
    first = answered(await loop_over(model, seen, system="one").run("go"))
    assert [thoughts(request) for request in model.requests] == [0, 1, 2]
    assert seen.of(Notice) == []

    same = answered(await loop_over(model, seen, system="one").run("and?", conversation=first.conversation))
    assert thoughts(model.requests[-1]) == 2
    await loop_over(model, seen, system="two").run("and?", conversation=same.conversation)
    assert thoughts(model.requests[-1]) == 0
    assert [notice.kind for notice in seen.of(Notice)] == ["thinking_dropped"]


@pytest.mark.parametrize(
    ("thinking", "given"),
    [
        (ThinkingBudget(2000), [ThinkingBudget(2000), ThinkingBudget(2000), None]),
        (AdaptiveThinking(), [AdaptiveThinking()] * 3),
        (None, [None] * 3),
    ],
    ids=repr,
)
async def test_a_budget_is_not_for_the_wrap_up(thinking: Thinking | None, given: list[Thinking | None]) -> None:
    """Spec section 6: no manual thinking budget in the last rounds; effort and the adaptive mode stay as chosen."""
    able = Capabilities(thinking=THINKING_KINDS)
    model = ScriptedModel(*THREE, capabilities=able)
    await loop_over(model, Recorder(), thinking=thinking, rounds=3).run("go")
    assert [request.thinking for request in model.requests] == given
