"""The real `claude`, asked through geode on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import geode
from geode.auxiliary import DoesNotFit
from geode.domain.failures import FailureClass
from geode.domain.loop.outcome import Answered, Exhausted, Failed, Refused
from geode.domain.script import DropPoint, Reply, calls, cut, drops, fails, hangs, refuses, says
from geode.entrypoints.compliance.playing import until
from tests.real.asking import ANSWER, PLANTED, Lab, failure_of, lab_of, look_around, texts


@pytest.fixture
def lab(npm_program: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with lab_of("claude", npm_program("claude"), "claude-sonnet-4-5", tmp_path, monkeypatch) as found:
        yield found


@pytest.mark.parametrize(
    "prompt",
    [
        *("hello", "--help", "-p x", "--dangerously-skip-permissions", "/cost", "/help me", "!echo hi", "#remember", "$HOME"),
        *("x" * 1_000_000, "ä 日本 \u2028 end\n"),
    ],
    ids=lambda prompt: prompt[:12],
)
async def test_a_prompt_arrives_as_it_is(prompt: str, lab: Lab) -> None:
    """With nothing beside it; one that would be a command of the program goes as a line of a conversation."""
    with lab.serving(says("well")) as emulator:
        outcome = await lab.run(prompt, system="Be brief.", tools=[look_around])

    assert isinstance(outcome, Answered), outcome
    assert outcome.text == "well"
    (one,) = emulator.received
    (said,) = one.request["messages"]
    (text,) = texts([block["text"] for block in said["content"]])
    assert text == prompt or json.loads(text.split("\n")[2]) == {"user": prompt}
    assert (text != prompt) == prompt.startswith("/")
    assert one.request["tools"] == []
    assert one.request["system"][-1]["text"] == "Be brief."
    assert "look_around" not in json.dumps(one.request)
    assert one.headers["x-api-key"] == "the-key-of-the-lab"
    assert PLANTED not in json.dumps([one.request, dict(one.headers)])
    assert outcome.usage.input_tokens == 10
    assert outcome.usage.cost_usd is not None


async def test_a_file_that_a_prompt_names_stays_where_it_is(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("TOP SECRET")
    with lab.serving(says("well")) as emulator:
        await lab.run(f"@{tmp_path}/private.txt what is in it?")
    assert "TOP SECRET" not in json.dumps(emulator.received[0].request)


async def test_a_conversation_goes_on(lab: Lab) -> None:
    with lab.serving(says("four"), says("eight")) as emulator:
        first = await lab.run("2 + 2?")
        second = await lab.run("and twice that?", conversation=first.conversation)
    assert isinstance(second, Answered), second
    (text,) = texts([block["text"] for block in emulator.received[1].request["messages"][0]["content"]])
    said = [json.loads(line) for line in text.split("\n")[2:]]
    assert said == [{"user": "2 + 2?"}, {"assistant": "four"}, {"user": "and twice that?"}]


@pytest.mark.parametrize(
    ("status", "wanted"),
    [(401, FailureClass.AUTH), (429, FailureClass.RATE_LIMIT), (500, FailureClass.SERVER), (529, FailureClass.SERVER)],
)
async def test_what_the_server_refuses(status: int, wanted: FailureClass, lab: Lab) -> None:
    with lab.serving(fails(status, message="as scripted"), says("never")) as emulator:
        outcome = await lab.run()
    assert failure_of(outcome) == (status, wanted)
    assert "as scripted" in str(outcome)
    assert len(emulator.received) == 1


async def test_a_prompt_that_is_too_long(lab: Lab) -> None:
    with lab.serving(fails(400, message="prompt is too long: 220000 tokens > 200000 maximum")):
        outcome = await lab.run()
    assert isinstance(outcome, Exhausted), outcome
    assert outcome.reason == "context_exhausted"


async def test_a_refusal(lab: Lab) -> None:
    with lab.serving(refuses("I will not do that.")) as emulator:
        outcome = await lab.run()
    assert isinstance(outcome, Refused), outcome
    assert outcome.text == "I will not do that."
    assert len(emulator.received) == 1, "the program does not ask again"


async def test_a_reply_that_is_cut_is_continued_by_the_program_and_told_whole(lab: Lab) -> None:
    with lab.serving(cut(says("first half, ")), says("second half")):
        outcome = await lab.run()
    assert isinstance(outcome, Answered), outcome
    assert outcome.text == "first half, second half"


async def test_a_reply_that_is_cut_each_time(lab: Lab) -> None:
    with lab.serving(*[cut(says("half "))] * 4):
        outcome = await lab.run()
    assert isinstance(outcome, Exhausted), outcome
    assert outcome.text == "half half half half "


@pytest.mark.parametrize("at", ["connect", "headers", "before_output", "after_output"])
async def test_a_connection_that_is_lost(at: DropPoint, lab: Lab) -> None:
    with lab.serving(*[drops(at)] * 3):
        outcome = await lab.run()
    assert failure_of(outcome)[1] is FailureClass.CONNECTION


async def test_a_server_that_is_not_there_is_told_at_once(lab: Lab) -> None:
    with lab.serving():
        pass
    assert failure_of(await lab.run())[1] is FailureClass.CONNECTION


async def test_a_server_that_hangs_is_left_in_time(lab: Lab) -> None:
    policy = geode.Policy(retry=geode.RetryPolicy(attempts=1), call_timeout_seconds=3.0)
    with lab.serving(hangs()) as emulator:
        outcome = await lab.run(policy=policy)
    assert failure_of(outcome)[1] is FailureClass.TIMEOUT
    assert len(emulator.received) == 1


async def test_a_run_that_is_cancelled_ends_the_program(lab: Lab) -> None:
    with lab.serving(hangs()) as emulator:
        task = asyncio.create_task(lab.run())
        await until(lambda: bool(emulator.received))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert lab.left() == []


async def test_an_answer_of_a_schema(lab: Lab) -> None:
    with lab.serving(calls(("StructuredOutput", {"n": 3}))) as emulator:
        served = await lab.ask("How many?", response_schema=ANSWER)
    assert served.value == {"n": 3}
    (tool,) = emulator.received[0].request["tools"]
    assert tool["input_schema"]["properties"] == ANSWER["properties"]


@pytest.mark.parametrize("reply", [says("Three."), calls(("StructuredOutput", {"n": "three"}))], ids=["text", "other type"])
async def test_an_answer_that_is_none_of_the_schema_is_not_accepted(reply: Reply, lab: Lab) -> None:
    with lab.serving(reply, reply):
        served = await lab.ask("How many?", response_schema=ANSWER)
    assert isinstance(served.typed, DoesNotFit), served.typed


async def test_a_tool_that_the_model_makes_up_is_no_answer(lab: Lab) -> None:
    with lab.serving(says("I look.") + calls(("read", {"path": "a"})), refuse=False):
        outcome = await lab.run()
    assert isinstance(outcome, Failed)


# ---- who pays ------------------------------------------------------------------------------------


@pytest.fixture
def login(tmp_path: Path) -> Path:
    """A folder as the program keeps it, with what it remembers and is told to do."""
    folder = tmp_path / "login"
    folder.mkdir()
    tokens = {"accessToken": "sk-ant-oat01-lab", "refreshToken": "sk-ant-ort01-lab", "expiresAt": 4102444800000}
    of_plan = {"scopes": ["user:inference", "user:profile"], "subscriptionType": "max"}
    (folder / ".credentials.json").write_text(json.dumps({"claudeAiOauth": {**tokens, **of_plan}}))
    (folder / "settings.json").write_text(json.dumps({"env": {"ANTHROPIC_API_KEY": "from-the-settings"}}))
    (folder / "CLAUDE.md").write_text("REMEMBERED")
    return folder


async def test_a_plan_pays_by_its_login_alone(lab: Lab, login: Path, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("TOP SECRET")
    with lab.serving(says("well"), login=login) as emulator:
        outcome = await lab.run(f"@{tmp_path}/private.txt")

    assert isinstance(outcome, Answered), outcome
    (one,) = emulator.received
    assert one.headers["authorization"] == "Bearer sk-ant-oat01-lab"
    assert "x-api-key" not in one.headers
    sent = json.dumps(one.request)
    assert [word for word in ("TOP SECRET", "REMEMBERED", PLANTED, "from-the-settings") if word in sent] == []
    assert one.request["tools"] == []
    assert outcome.usage.cost_usd is None


async def test_a_login_that_is_none_is_said(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with lab.serving(says("never"), login=tmp_path / "nothing") as emulator:
        assert failure_of(await lab.run())[1] is FailureClass.AUTH
    assert emulator.received == []
