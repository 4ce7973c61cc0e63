"""A conversation that is too long: the hook that makes it shorter, what breaks in it, and what is told."""

import asyncio
from typing import Any

import pytest

import geode
from geode import ToolContext
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.approval import Grant
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.loop.outcome import Exhausted
from geode.domain.policy import Policy
from geode.domain.script import Called, calls, fails, says
from geode.domain.turns import UserTurn
from geode.ports.events import Hooked, ModelCalled, Notice, ToolFinished
from geode.ports.hooks import Hooks, Veto
from tests.unit.application.rig import Recorder, answered, loop_of, outcome_of, replayed, tasks_left

TOO_LONG = fails(400, code="context_length_exceeded", message="prompt is too long: 9 tokens > 8 maximum")
BEFORE = Conversation((UserTurn((Text("a"),)), UserTurn((Text("b"),)), UserTurn((Text("c"),))))
SUMMARY = UserTurn((Text("a to c"),))


def shortened(conversation: Conversation) -> Conversation:
    return Conversation((SUMMARY, conversation.turns[-1]))


async def test_the_call_is_made_again_over_what_the_hook_made() -> None:
    model, seen, journal = ScriptedModel(TOO_LONG, says("done")), Recorder(), MemoryJournal()
    loop = loop_of(model=model, hooks=[Hooks(compact=shortened)], observe=[seen], journal=journal)
    outcome = answered(await loop.run("go", conversation=BEFORE))
    assert [len(request.turns) for request in model.requests] == [4, 2]
    assert outcome.conversation.turns[:2] == (SUMMARY, UserTurn((Text("go"),)))
    assert [(event.round, event.attempt) for event in seen.of(ModelCalled)] == [(1, 1), (1, 1)]
    assert [(hooked.point, hooked.changes) for hooked in seen.of(Hooked)] == [("compact", {"turns": 2})]
    assert [(notice.kind, notice.text) for notice in seen.of(Notice)] == [
        ("compacted", "the conversation was too long for m; it was compacted from 4 turns to 2")
    ]
    assert outcome_of(replayed(journal)) == outcome


async def test_several_hooks_each_get_what_the_one_before_made() -> None:
    given: list[int] = []

    async def second(conversation: Conversation) -> None:
        given.append(len(conversation.turns))

    hooks = [Hooks(compact=lambda conversation: None), Hooks(compact=shortened), Hooks(compact=second)]
    model = ScriptedModel(TOO_LONG, says("done"))
    answered(await loop_of(model=model, hooks=hooks).run("go", conversation=BEFORE))
    assert given == [2]


def raises(conversation: Conversation) -> Conversation:
    raise ValueError("no idea")


async def hangs(conversation: Conversation) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (lambda conversation: None, "no hook made it shorter"),
        (lambda conversation: Veto("it must stay whole"), "it must stay whole"),
        (raises, "the hook compact failed: ValueError: no idea"),
        (hangs, "the hook compact failed: it took longer than 0.05 s"),
        (lambda conversation: conversation, "the hook compact failed: it is the same as before"),
        (lambda conversation: BEFORE, "the hook compact failed: its last turn must be the one that it had"),
        (
            lambda conversation: list(conversation.turns),
            "the hook compact failed: it returned list; a hook returns None, Conversation or Veto(…)",
        ),
    ],
)
async def test_where_none_made_it_shorter_the_run_ends_and_says_why(hook: Any, why: str) -> None:
    model = ScriptedModel(TOO_LONG)
    loop = loop_of(model=model, hooks=[Hooks(compact=hook)], policy=Policy(tool_timeout_seconds=0.05, compact_above=None))
    outcome = await loop.run("go", conversation=BEFORE)
    assert isinstance(outcome, Exhausted)
    assert (outcome.reason, len(outcome.conversation.turns)) == ("context_exhausted", 4)
    assert outcome.why.endswith(f". It was not compacted: {why}")


async def test_a_call_of_a_later_round_is_run_although_its_id_was_one_of_a_turn_that_is_gone() -> None:
    ran: list[tuple[int, str]] = []

    @geode.tool(tier="write", idempotent=True)
    async def pay(cents: int, context: ToolContext[None]) -> str:
        ran.append((cents, context.idempotency_key))
        return "paid"

    def latest(conversation: Conversation) -> Conversation:
        return Conversation((SUMMARY, *conversation.turns[-2:]))

    # Servers that count the calls of each reply use the same ids again and again.
    wanted = [calls(Called("pay", {"cents": cents}, id="call_0")) for cents in (1, 2, 3, 4)]
    model = ScriptedModel(wanted[0], wanted[1], TOO_LONG, wanted[2], TOO_LONG, wanted[3], says("done"))
    seen = Recorder()
    loop = loop_of(
        model=model, tools=[pay], hooks=[Hooks(compact=latest)], observe=[seen], policy=Policy(grants=(Grant("pay"),))
    )
    answered(await asyncio.wait_for(loop.run("go"), 10))
    assert [cents for cents, _ in ran] == [1, 2, 3, 4]
    assert len({key for _, key in ran}) == 4, "each payment is one of its own"
    assert len(seen.of(ToolFinished)) == 4


async def test_stopping_does_not_wait_for_a_compaction() -> None:
    loop = loop_of(TOO_LONG, hooks=[Hooks(compact=hangs)])
    running = asyncio.create_task(loop.run("go"))
    for _ in range(20):
        await asyncio.sleep(0)
    loop.stop()
    assert (await running).reason == "stopped"
    assert tasks_left() == set()
