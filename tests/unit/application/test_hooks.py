"""Stepping in: before a model call, before a tool call, after a result; what is changed, vetoed, or breaks."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import pytest

import geode
from geode.adapters.clock_manual import ManualClock
from geode.adapters.journal_memory import MemoryJournal
from geode.adapters.scripted.model import ScriptedModel
from geode.domain.approval import Approve, Deny, Grant, Later
from geode.domain.content import Text, ToolResult, ToolUseBlock
from geode.domain.loop.inputs import CallChanged, CallVetoed
from geode.domain.loop.inputs import ToolFinished as Finished
from geode.domain.loop.outcome import Failed, Suspended
from geode.domain.policy import Policy
from geode.domain.script import calls, fails, says
from geode.domain.turns import AssistantTurn
from geode.ports import AdapterCallRequest
from geode.ports.events import ApprovalAsked, Hooked, Notice, ToolFinished, ToolStarted
from geode.ports.hooks import Hooks, Veto
from tests.unit.application.rig import (
    Asks,
    Recorder,
    answered,
    assert_whole,
    kinds,
    loop_of,
    outcome_of,
    replayed,
    tasks_left,
    texts,
    turns,
)

RAN: list[str] = []


@pytest.fixture(autouse=True)
def _fresh() -> None:
    RAN.clear()


@geode.tool(tier="safe")
async def read(path: str) -> str:
    """Read a file."""
    RAN.append(f"read {path}")
    return f"content of {path}"


@geode.tool(tier="write")
async def write(path: str) -> str:
    """Write a file."""
    RAN.append(f"write {path}")
    return f"wrote {path}"


@geode.tool(tier="expensive")
async def render(path: str) -> str:
    """Render a file."""
    RAN.append(f"render {path}")
    return f"rendered {path}"


TOOLS = [read, write, render]


def moved(call: ToolUseBlock) -> ToolUseBlock:
    """The call, in a folder."""
    return replace(call, input={"path": f"box/{call.input['path']}"})


def only(text: str) -> Callable[[ToolUseBlock], Veto | None]:
    return lambda call: None if text in call.input["path"] else Veto(f"{call.input['path']} is out of bounds")


# ---- before a tool call ------------------------------------------------------------------------


async def test_a_hook_that_lets_everything_pass_changes_nothing() -> None:
    seen: list[tuple[str, str]] = []
    journal, watch = MemoryJournal(), Recorder()
    hooks = Hooks(
        before_model=lambda request: seen.append(("model", request.model)),
        before_tool=lambda call: seen.append(("tool", call.name)),
        after_result=lambda call, result: seen.append(("result", result.kind)),
    )
    steps = calls(("read", {"path": "a"}), ("write", {"path": "b"}))
    loop = loop_of(steps, says("done"), tools=TOOLS, approver=Asks(), hooks=[hooks], journal=journal, observe=[watch])
    outcome = answered(await loop.run("go"))
    assert kinds(outcome) == ["ok", "ok"]
    assert seen == [("model", "m"), ("tool", "read"), ("result", "ok"), ("tool", "write"), ("result", "ok"), ("model", "m")]
    assert watch.of(Hooked) == []
    assert not any(isinstance(input, CallChanged | CallVetoed) for input in journal.inputs["run_1"])


async def test_changed_arguments_run_and_the_history_keeps_the_model_s() -> None:
    journal, watch = MemoryJournal(), Recorder()
    loop = loop_of(
        calls(("read", {"path": "a"})),
        says("done"),
        tools=TOOLS,
        hooks=[Hooks(before_tool=moved)],
        journal=journal,
        observe=[watch],
    )
    outcome = answered(await loop.run("go"))
    assert RAN == ["read box/a"]
    assert texts(outcome) == ["content of box/a"]
    assert [
        dict(turn.calls[0].input) for turn in outcome.conversation.turns if isinstance(turn, AssistantTurn) and turn.calls
    ] == [{"path": "a"}]
    (told,) = watch.of(Hooked)
    assert (told.point, told.call and dict(told.call.input), told.changes, told.veto) == (
        "before_tool",
        {"path": "a"},
        {"input": {"path": "box/a"}},
        None,
    )
    assert [dict(event.call.input) for event in watch.of(ToolStarted)] == [{"path": "box/a"}]
    assert [dict(input.input) for input in journal.inputs["run_1"] if isinstance(input, CallChanged)] == [{"path": "box/a"}]


async def test_a_person_sees_what_will_run() -> None:
    asks, watch = Asks(), Recorder()
    steps = calls(("write", {"path": "a"}), ("render", {"path": "b"}), ("render", {"path": "c"}))
    loop = loop_of(steps, says("done"), tools=TOOLS, approver=asks, hooks=[Hooks(before_tool=moved)], observe=[watch])
    answered(await loop.run("go"))
    shown = [[asked.call.input["path"] for asked in question.calls] for question in asks.questions]
    assert shown == [["box/b", "box/c"], ["box/a"]]
    assert [[asked.call.input["path"] for asked in event.question.calls] for event in watch.of(ApprovalAsked)] == shown
    assert sorted(RAN) == ["render box/b", "render box/c", "write box/a"]


async def test_calls_side_by_side_each_run_as_changed() -> None:
    steps = calls(*(("read", {"path": name}) for name in "abcd"))
    outcome = answered(await loop_of(steps, says("done"), tools=TOOLS, hooks=[Hooks(before_tool=moved)]).run("go"))
    assert texts(outcome) == [f"content of box/{name}" for name in "abcd"]


async def test_a_person_has_the_last_word() -> None:
    loop = loop_of(
        calls(("write", {"path": "a"})),
        says("done"),
        tools=TOOLS,
        approver=Asks(lambda call: Approve({"path": "mine"})),
        hooks=[Hooks(before_tool=moved)],
    )
    answered(await loop.run("go"))
    assert RAN == ["write mine"]


async def test_a_veto_is_a_denial_that_the_model_sees_and_nobody_is_asked() -> None:
    asks, watch, journal = Asks(), Recorder(), MemoryJournal()
    steps = calls(("write", {"path": "secret"}), ("read", {"path": "secret"}), ("read", {"path": "open"}))
    loop = loop_of(
        steps,
        says("done"),
        tools=TOOLS,
        approver=asks,
        hooks=[Hooks(before_tool=only("open"))],
        observe=[watch],
        journal=journal,
    )
    outcome = answered(await loop.run("go"))
    assert kinds(outcome) == ["denied", "denied", "ok"]
    assert texts(outcome)[0] == "denied: secret is out of bounds"
    assert asks.questions == []
    assert RAN == ["read open"]
    assert [(event.point, event.veto) for event in watch.of(Hooked)] == [("before_tool", "secret is out of bounds")] * 2
    assert {event.call.name: event.seconds for event in watch.of(ToolFinished) if event.result.kind == "denied"} == {
        "write": 0.0,
        "read": 0.0,
    }
    assert outcome_of(replayed(journal)) == outcome


async def test_several_hooks_each_get_what_the_one_before_made() -> None:
    seen: list[str] = []

    async def note(call: ToolUseBlock) -> None:
        seen.append(call.input["path"])

    hooks = [Hooks(before_tool=note), Hooks(before_tool=moved), Hooks(before_tool=note), Hooks(before_tool=only("nowhere"))]
    hooks.append(Hooks(before_tool=note))
    outcome = answered(await loop_of(calls(("read", {"path": "a"})), says("done"), tools=TOOLS, hooks=hooks).run("go"))
    assert seen == ["a", "box/a"]
    assert texts(outcome) == ["denied: box/a is out of bounds"]


async def test_each_call_is_shown_once_when_its_turn_comes() -> None:
    order: list[str] = []

    def note(call: ToolUseBlock) -> None:
        order.append(f"hook {call.input['path']}, ran {len(RAN)}")

    steps = calls(("write", {"path": "a"}), ("write", {"path": "b"}), ("read", {"path": "c"}))
    loop = loop_of(steps, says("done"), tools=TOOLS, approver=Asks(), hooks=[Hooks(before_tool=note)])
    answered(await loop.run("go"))
    assert order == ["hook a, ran 0", "hook b, ran 1", "hook c, ran 2"]


def _raises(_: Any) -> Any:
    raise ValueError("no idea")


async def _hangs(_: Any) -> Any:
    await asyncio.sleep(60)


async def _cancels_itself(_: Any) -> Any:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    "hook",
    [
        _raises,
        _hangs,
        _cancels_itself,
        lambda call: "yes",
        lambda call: True,
        lambda call: replace(call, name="write"),
        lambda call: replace(call, id="other"),
        lambda call: replace(call, input={"path": 5}),
        lambda call: replace(call, input={"path": "a", "more": 1}),
        lambda call: replace(call, input={"path": float("nan")}),
        lambda call: replace(call, input={"path": object()}),
        lambda call: (_ for _ in ()).throw(SystemExit(3)),
        lambda call: (_ for _ in ()).throw(asyncio.CancelledError),
    ],
)
async def test_a_hook_that_breaks_before_a_tool_denies_it(hook: Any) -> None:
    watch = Recorder()
    loop = loop_of(
        calls(("read", {"path": "a"})),
        says("done"),
        tools=[read],
        hooks=[Hooks(before_tool=hook)],
        observe=[watch],
        policy=Policy(tool_timeout_seconds=0.05),
    )
    outcome = answered(await loop.run("go"))
    assert (kinds(outcome), RAN) == (["denied"], [])
    assert texts(outcome) == ["denied: a check of the application failed, so the call was not run"]
    (notice,) = watch.of(Notice)
    assert notice.kind == "hook_failed"
    assert notice.text.startswith("the hook before_tool failed: ")
    assert tasks_left() == set()


async def test_what_a_hook_changes_of_the_call_it_was_given_changes_nothing() -> None:
    def meddle(call: ToolUseBlock) -> None:
        cast("dict[str, Any]", call.input)["path"] = "elsewhere"

    outcome = answered(
        await loop_of(calls(("read", {"path": "a"})), says("done"), tools=TOOLS, hooks=[Hooks(before_tool=meddle)]).run("go")
    )
    assert texts(outcome) == ["content of a"]


async def test_a_call_that_cannot_run_is_not_shown() -> None:
    seen: list[str] = []
    steps = calls(("read", {"path": 5}), ("nothing", {}), ("write", {"path": "a"}))
    hooks = Hooks(before_tool=lambda call: seen.append(call.name), after_result=lambda call, result: seen.append(result.kind))
    outcome = answered(await loop_of(steps, says("done"), tools=TOOLS, hooks=[hooks]).run("go"))
    assert (kinds(outcome), seen) == (["failed", "failed", "denied"], [])


async def test_a_grant_for_arguments_is_for_those_that_would_run() -> None:
    asks = Asks(lambda call: Deny("no"))
    policy = Policy(grants=(Grant("write", {"path": "a"}),))
    steps = calls(("write", {"path": "a"}))
    loop = loop_of(steps, says("done"), tools=TOOLS, approver=asks, hooks=[Hooks(before_tool=moved)], policy=policy)
    outcome = answered(await loop.run("go"))
    assert asks.asked == [["write"]]
    assert texts(outcome) == ["denied: no"]

    nobody = loop_of(steps, says("done"), tools=TOOLS, hooks=[Hooks(before_tool=moved)], policy=policy)
    outcome = answered(await nobody.run("go"))
    assert kinds(outcome) == ["denied"]
    assert "nobody can give it here" in texts(outcome)[0]
    assert RAN == []


# ---- after a result ----------------------------------------------------------------------------


async def test_a_changed_result_is_the_one_that_counts() -> None:
    journal, watch = MemoryJournal(), Recorder()

    async def masked(call: ToolUseBlock, result: ToolResult) -> ToolResult:
        return replace(result, content=(Text(result.text.replace("content", "***")),))

    loop = loop_of(
        calls(("read", {"path": "a"})),
        says("done"),
        tools=TOOLS,
        hooks=[Hooks(after_result=masked)],
        journal=journal,
        observe=[watch],
    )
    outcome = answered(await loop.run("go"))
    assert texts(outcome) == ["*** of a"]
    assert [event.result.text for event in watch.of(ToolFinished)] == ["*** of a"]
    assert [input.result.text for input in journal.inputs["run_1"] if isinstance(input, Finished)] == ["*** of a"]
    (told,) = watch.of(Hooked)
    assert (told.point, told.changes) == ("after_result", {"kind": "ok", "text": "*** of a"})


async def test_a_result_that_is_vetoed_is_withheld() -> None:
    hooks = Hooks(after_result=lambda call, result: Veto("it holds a key"))
    outcome = answered(await loop_of(calls(("read", {"path": "a"})), says("done"), tools=TOOLS, hooks=[hooks]).run("go"))
    assert RAN == ["read a"]
    assert kinds(outcome) == ["denied"]
    assert texts(outcome) == ["denied: read ran, and its result is withheld: it holds a key"]


@pytest.mark.parametrize(
    "hook",
    [
        lambda call, result: _raises(call),
        lambda call, result: _hangs(call),
        lambda call, result: _cancels_itself(call),
        lambda call, result: "better",
        lambda call, result: replace(result, call_id="other"),
        lambda call, result: replace(result, content="text"),
        lambda call, result: replace(result, kind="fine"),
    ],
)
async def test_a_result_stands_when_its_hook_breaks(hook: Any) -> None:
    watch = Recorder()
    policy = Policy(tool_timeout_seconds=0.05)
    steps = calls(("read", {"path": "a"}))
    loop = loop_of(steps, says("done"), tools=[read], hooks=[Hooks(after_result=hook)], observe=[watch], policy=policy)
    outcome = answered(await loop.run("go"))
    assert texts(outcome) == ["content of a"]
    (notice,) = watch.of(Notice)
    assert notice.kind == "hook_failed"
    assert notice.text.startswith("the hook after_result failed: ")


async def test_failed_and_late_results_are_shown_too() -> None:
    @geode.tool(tier="safe")
    async def slow() -> None:
        """Take too long."""
        await asyncio.sleep(60)

    @geode.tool(tier="safe")
    async def broken() -> None:
        """Raise."""
        raise ValueError

    seen: dict[str, str] = {}

    def note(call: ToolUseBlock, result: ToolResult) -> None:
        seen[call.name] = result.kind

    policy = Policy(tool_timeout_seconds=0.05)
    steps = calls(("slow", {}), ("broken", {}))
    answered(
        await loop_of(steps, says("done"), tools=[slow, broken], hooks=[Hooks(after_result=note)], policy=policy).run("go")
    )
    assert seen == {"slow": "failed", "broken": "failed"}


# ---- before a model call -----------------------------------------------------------------------


async def test_what_may_be_changed_of_a_request() -> None:
    def change(request: AdapterCallRequest) -> AdapterCallRequest:
        tools = tuple(tool for tool in request.tools if tool.name == "read")
        return replace(request, system="Be brief.", tools=tools, effort="low", temperature=0.5)

    model, watch = ScriptedModel(calls(("read", {"path": "a"}), ("write", {"path": "b"})), says("done")), Recorder()
    loop = loop_of(model=model, tools=TOOLS, approver=Asks(), hooks=[Hooks(before_model=change)], observe=[watch])
    outcome = answered(await loop.run("go"))
    sent = [(r.system, [tool.name for tool in r.tools], r.effort, r.temperature) for r in model.requests]
    assert sent == [("Be brief.", ["read"], "low", 0.5)] * 2
    assert texts(outcome)[0] == "content of a"
    assert kinds(outcome) == ["ok", "failed"], "a tool that was left out is no tool of that call"
    assert RAN == ["read a"]
    told = watch.of(Hooked)
    assert [event.changes for event in told] == [
        {"system": "Be brief.", "tools": ["read"], "effort": "low", "temperature": 0.5}
    ] * 2
    assert [event.round for event in told] == [1, 2]


async def test_a_veto_ends_the_run_before_anything_leaves() -> None:
    model, journal = ScriptedModel(), MemoryJournal()
    hooks = Hooks(before_model=lambda request: Veto("the budget of the team is spent"))
    outcome = await loop_of(model=model, hooks=[hooks], journal=journal).run("go")
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.why) == ("request_error", "the model call was vetoed: the budget of the team is spent")
    assert model.requests == []
    assert outcome_of(replayed(journal)) == outcome


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        (_raises, "ValueError: no idea"),
        (_hangs, "it took longer than 0.05 s"),
        (lambda request: "yes", "it returned str; a hook returns None, AdapterCallRequest or Veto(…)"),
        (
            lambda request: replace(request, model="another"),
            "it may change system, tools, effort, temperature of a request, and nothing else",
        ),
        (lambda request: replace(request, effort=5), "it gave a wrong type of effort (int)"),
        (
            lambda request: replace(request, tools=(*request.tools, geode.ToolSpec("extra", "", {"type": "object"}))),
            "it may leave tools out, not add or change extra",
        ),
    ],
)
async def test_a_hook_that_breaks_before_a_model_call_ends_the_run(hook: Any, why: str) -> None:
    model = ScriptedModel()
    policy = Policy(tool_timeout_seconds=0.05)
    outcome = await loop_of(model=model, tools=TOOLS, hooks=[Hooks(before_model=hook)], policy=policy, approver=Asks()).run(
        "go"
    )
    assert isinstance(outcome, Failed)
    assert (outcome.reason, outcome.why) == ("request_error", f"the hook before the model call failed: {why}")
    assert model.requests == []


async def test_each_attempt_is_a_call() -> None:
    seen: list[int] = []
    hooks = Hooks(before_model=lambda request: seen.append(len(request.turns)))
    answered(await loop_of(fails(529), fails(529), says("done"), hooks=[hooks], clock=ManualClock()).run("go"))
    assert seen == [1, 1, 1]


# ---- replay, suspension, ends ------------------------------------------------------------------


async def test_replay_calls_no_hook_and_ends_the_same() -> None:
    journal, called = MemoryJournal(), [0]

    def before(call: ToolUseBlock) -> ToolUseBlock | Veto:
        called[0] += 1
        return Veto("no") if call.input["path"] == "c" else moved(call)

    def after(call: ToolUseBlock, result: ToolResult) -> ToolResult:
        called[0] += 1
        return replace(result, content=(Text("seen"),))

    steps = [calls(("read", {"path": "a"}), ("write", {"path": "b"}), ("read", {"path": "c"})), says("done")]
    hooks = Hooks(before_tool=before, after_result=after)
    outcome = answered(await loop_of(*steps, tools=TOOLS, approver=Asks(), hooks=[hooks], journal=journal).run("go"))
    assert called == [5]
    assert outcome_of(replayed(journal)) == outcome
    assert called == [5]
    assert texts(outcome) == ["seen", "seen", "denied: no"]


async def test_what_a_hook_changed_survives_a_suspension_and_is_not_shown_again() -> None:
    seen: list[str] = []

    def note(call: ToolUseBlock) -> ToolUseBlock:
        seen.append(call.input["path"])
        return moved(call)

    hooks = [Hooks(before_tool=note)]
    first = loop_of(calls(("write", {"path": "a"})), tools=TOOLS, approver=Asks(lambda call: Later()), hooks=hooks)
    parked = await first.run("go")
    assert isinstance(parked, Suspended)
    assert [dict(call.input) for call in parked.asked] == [{"path": "box/a"}]
    second = loop_of(says("done"), tools=TOOLS, approver=Asks(), hooks=hooks)
    outcome = answered(await second.resume(parked.snapshot, {call.id: Approve() for call in parked.asked}))
    assert texts(outcome) == ["wrote box/a"]
    assert seen == ["a"]


async def test_stopping_while_a_hook_thinks_starts_nothing() -> None:
    loop = loop_of(
        calls(("read", {"path": "a"}), ("write", {"path": "b"})),
        tools=TOOLS,
        approver=Asks(),
        hooks=[Hooks(before_tool=_hangs)],
    )
    running = asyncio.create_task(loop.run("go"))
    await turns(20)
    loop.stop()
    outcome = await asyncio.wait_for(running, 5)
    assert isinstance(outcome, geode.Stopped)
    assert (kinds(outcome), RAN) == (["interrupted", "interrupted"], [])
    assert_whole(outcome.conversation)
    assert tasks_left() == set()


@pytest.mark.parametrize("count", range(1, 40, 2))
async def test_cancelled_with_hooks_after_so_many_turns(count: int) -> None:
    async def brief(call: ToolUseBlock, *_: Any) -> None:
        await turns(2)

    hooks = [Hooks(before_tool=brief, after_result=brief)]
    steps = [calls(("read", {"path": "a"}), ("write", {"path": "b"})), says("done")]
    journal = MemoryJournal()
    loop = loop_of(*steps, tools=TOOLS, approver=Asks(), hooks=hooks, journal=journal)
    running = asyncio.create_task(loop.run("go"))
    await turns(count)
    running.cancel()
    done = await asyncio.gather(running, return_exceptions=True)
    assert_whole(loop.conversation)
    assert tasks_left() == set()
    if isinstance(done[0], asyncio.CancelledError) and journal.states:
        assert replayed(journal).closed == loop.conversation


async def test_a_result_that_was_not_reviewed_in_time_is_not_let_through() -> None:
    hooks = [Hooks(after_result=lambda call, result: _hangs(call))]
    loop = loop_of(calls(("read", {"path": "a"})), tools=TOOLS, hooks=hooks)
    running = asyncio.create_task(loop.run("go"))
    await turns(30)
    assert RAN == ["read a"]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert kinds(loop.conversation) == ["interrupted"]
    assert "content of a" not in texts(loop.conversation)[0]
    assert tasks_left() == set()


# ---- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: Hooks(before_tool=cast("Any", "no function")),
        lambda: Veto(cast("Any", 5)),
        lambda: geode.session(model=ScriptedModel(), hooks=cast("Any", len)),
        lambda: geode.session(model=ScriptedModel(), hooks=cast("Any", [Hooks(), "x"])),
    ],
)
def test_what_is_no_hook_is_misuse(make: Callable[[], object]) -> None:
    with pytest.raises(geode.Misuse, match=r"\[hooks-type\]$"):
        make()


def test_an_unknown_place_is_misuse_with_the_closest_name() -> None:
    with pytest.raises(geode.Misuse, match=r"did you mean before_tool\?"):
        cast("Any", Hooks)(before_tools=lambda call: None)


async def test_hooks_of_a_session() -> None:
    model = ScriptedModel(calls(("read", {"path": "a"})), says("done"))
    outcome = await geode.run("go", model=model, tools=[read], hooks=Hooks(before_tool=moved))
    assert texts(outcome) == ["content of box/a"]


async def test_what_stands_in_for_a_failing_tool_is_another_call_to_a_hook() -> None:
    @geode.tool(tier="safe", alternative="mirror")
    async def fetch(path: str) -> str:
        """Fetch."""
        raise geode.ToolError("no answer")

    @geode.tool(tier="safe")
    async def mirror(path: str) -> str:
        """Fetch elsewhere."""
        RAN.append(f"mirror {path}")
        return "never"

    seen: list[tuple[str, str]] = []

    def before(call: ToolUseBlock) -> Veto | None:
        seen.append(("before", call.name))
        return Veto("no mirrors") if call.name == "mirror" else None

    def after(call: ToolUseBlock, result: ToolResult) -> None:
        seen.append((result.kind, call.name))

    journal = MemoryJournal()
    steps = [calls(("fetch", {"path": name})) for name in "abc"]
    hooks = [Hooks(before_tool=before, after_result=after)]
    loop = loop_of(*steps, says("done"), tools=[fetch, mirror], hooks=hooks, clock=ManualClock(), journal=journal)
    outcome = answered(await loop.run("go"))
    assert seen == [*[("before", "fetch"), ("failed", "fetch")] * 3, ("before", "mirror")]
    assert RAN == []
    assert "denied: no mirrors" in texts(outcome)[2] or "denied (no mirrors)" in texts(outcome)[2]
    assert outcome_of(replayed(journal)) == outcome


async def test_each_step_of_a_recovery_is_changed_anew_from_what_the_model_gave() -> None:
    @geode.tool(tier="safe", alternative="mirror")
    async def fetch(path: str) -> str:
        """Fetch."""
        RAN.append(f"fetch {path}")
        raise geode.ToolError("no answer")

    @geode.tool(tier="safe")
    async def mirror(path: str) -> str:
        """Fetch elsewhere."""
        return f"mirror has {path}"

    steps = [calls(("fetch", {"path": name})) for name in "abc"]
    hooks = [Hooks(before_tool=moved)]
    outcome = await loop_of(*steps, says("done"), tools=[fetch, mirror], hooks=hooks, clock=ManualClock()).run("go")
    assert RAN == ["fetch box/a", "fetch box/b", "fetch box/c"]
    assert texts(outcome)[2].startswith("mirror has box/c\n")
