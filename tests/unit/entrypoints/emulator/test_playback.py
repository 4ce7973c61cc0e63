"""Which step answers which request."""

from __future__ import annotations

from typing import Any

from geode.domain.script import calls, fails, hangs, says
from geode.entrypoints.emulator.conversation import rounds
from geode.entrypoints.emulator.playback import Playback
from tests.unit.entrypoints.emulator.requests import (
    GO,
    asking,
    assistant,
    chat,
    function_call,
    messages,
    output,
    reasoning,
    responses,
    text,
    tool,
    tool_call,
    tool_result,
    tool_use,
    user,
)

ASK, DONE = calls(("read", {})), says("done")
FIRST = messages(GO)
SECOND = messages(GO, assistant(tool_use("t1")), user(tool_result("t1")))
THIRD = messages(GO, assistant(tool_use("t1")), user(tool_result("t1")), assistant(text("done")), GO)


def _played(playback: Playback, *requests: dict[str, Any]) -> list[Any]:
    return [playback.next("messages", request) for request in requests]


def test_by_default_every_request_takes_the_next_step() -> None:
    assert _played(Playback((ASK, DONE)), FIRST, FIRST, FIRST) == [ASK, DONE, None]


def test_a_script_can_start_over() -> None:
    assert _played(Playback((ASK, DONE), "restart"), FIRST, SECOND, FIRST, SECOND, FIRST) == [ASK, DONE, ASK, DONE, ASK]
    assert _played(Playback((), "restart"), FIRST) == [None]


def test_replies_are_counted_on_every_wire() -> None:
    items = (GO, reasoning(), function_call("c1"), output("c1"), {"role": "assistant", "content": "x"}, GO)

    assert [rounds("messages", request) for request in (FIRST, SECOND, THIRD)] == [0, 1, 2]
    assert rounds("responses", responses(*items)) == 2
    assert rounds("responses", responses(input="go")) == 0
    assert rounds("chat", chat(GO, asking(tool_call("c1")), tool("c1"))) == 1


def test_by_conversation_many_clients_play_the_same_script() -> None:
    playback = Playback((ASK, DONE), by_conversation=True)

    assert _played(playback, FIRST, FIRST, SECOND, FIRST, SECOND) == [ASK, ASK, DONE, ASK, DONE]
    assert _played(playback, THIRD) == [None]


def test_by_conversation_faults_come_before_their_reply_again_in_each_run() -> None:
    playback = Playback((fails(529), hangs(), ASK, fails(500), DONE), by_conversation=True)
    run = [FIRST, FIRST, FIRST, SECOND, SECOND]
    steps = [fails(529), hangs(), ASK, fails(500), DONE]

    assert _played(playback, *run, *run) == steps * 2


def test_by_conversation_a_restarting_script_goes_on_after_its_end() -> None:
    playback = Playback((ASK, DONE), "restart", by_conversation=True)

    assert _played(playback, FIRST, SECOND, THIRD) == [ASK, DONE, ASK]


def test_faults_at_the_end_do_not_trap_a_conversation() -> None:
    playback = Playback((DONE, fails(529)), "restart", by_conversation=True)

    assert _played(playback, SECOND, SECOND, SECOND) == [fails(529), DONE, fails(529)]
    assert _played(Playback((fails(529),), by_conversation=True), FIRST, FIRST) == [fails(529), None]


def test_the_step_can_be_chosen_by_a_function() -> None:
    playback = Playback((ASK, DONE), by_conversation=lambda _, request: int(request["model"] == "b"))

    assert _played(playback, {"model": "b"}, {"model": "a"}) == [DONE, ASK]
