"""The real `codex`, asked through geode on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

import geode
from geode.auxiliary import DoesNotFit
from geode.domain.failures import FailureClass
from geode.domain.loop.outcome import Answered, Exhausted, Failed
from geode.domain.script import DropPoint, cut, drops, fails, hangs, refuses, says
from geode.entrypoints.compliance.playing import until
from tests.real.asking import ANSWER, PLANTED, Lab, failure_of, lab_of, look_around, texts


@pytest.fixture
def lab(npm_program: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    with lab_of("codex", npm_program("codex"), "gpt-5.2", tmp_path, monkeypatch) as found:
        found.path = "/v1"
        yield found


@pytest.mark.parametrize(
    "prompt",
    [
        *("hello", "--help", "-p x", "--dangerously-skip-permissions", "/cost", "!echo hi", "$HOME", "@/etc/hostname"),
        *("x" * 1_000_000, "ä 日本 \u2028 end\n"),
    ],
    ids=lambda prompt: prompt[:12],
)
async def test_a_prompt_arrives_as_it_is(prompt: str, lab: Lab) -> None:
    with lab.serving(says("well")) as emulator:
        outcome = await lab.run(prompt, system="Be brief.", tools=[look_around])

    assert isinstance(outcome, Answered), outcome
    assert outcome.text == "well"
    (one,) = emulator.received
    sent = [list(texts([part["text"] for part in item["content"]])) for item in one.request["input"]]
    assert sent == [["Be brief."], [prompt]]
    # The one tool that stays has nobody to ask, and the program answers it itself.
    assert [tool["name"] for tool in one.request["tools"]] == ["request_user_input"]
    assert "look_around" not in json.dumps(one.request)
    assert one.headers["authorization"] == "Bearer the-key-of-the-lab"
    assert PLANTED not in json.dumps([one.request, dict(one.headers)])
    # The program tells no cost: it is that of the table, 10 tokens at 1.75 dollars a million and 5 at 14.
    assert (outcome.usage.input_tokens, outcome.usage.cost_usd) == (10, Decimal("0.0000875"))


async def test_a_conversation_goes_on(lab: Lab) -> None:
    with lab.serving(says("four"), says("eight")) as emulator:
        first = await lab.run("2 + 2?")
        second = await lab.run("and twice that?", conversation=first.conversation)
    assert isinstance(second, Answered), second
    (text,) = texts([part["text"] for part in emulator.received[1].request["input"][-1]["content"]])
    said = [json.loads(line) for line in text.split("\n")[2:]]
    assert said == [{"user": "2 + 2?"}, {"assistant": "four"}, {"user": "and twice that?"}]


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (400, FailureClass.REQUEST_FATAL),
        (401, FailureClass.AUTH),
        (429, FailureClass.RATE_LIMIT),
        (500, FailureClass.SERVER),
        (529, FailureClass.SERVER),
    ],
)
async def test_what_the_server_refuses(status: int, wanted: FailureClass, lab: Lab) -> None:
    with lab.serving(fails(status, message="as scripted"), says("never")) as emulator:
        outcome = await lab.run()
    assert failure_of(outcome) == (status, wanted)
    assert len(emulator.received) == 1


@pytest.mark.parametrize(
    ("code", "status", "wanted"),
    [
        ("insufficient_quota", 429, FailureClass.BILLING),
        ("usage_limit_reached", 429, FailureClass.BILLING),
    ],
)
async def test_an_account_that_is_used_up(code: str, status: int, wanted: FailureClass, lab: Lab) -> None:
    body = {"error": {"type": code, "code": code, "message": "used up", "plan_type": "plus", "resets_in_seconds": 9000}}
    with lab.serving(fails(status, body)) as emulator:
        assert failure_of(await lab.run()) == (status, wanted)
    assert len(emulator.received) == 1


async def test_a_prompt_that_is_too_long(lab: Lab) -> None:
    with lab.serving(fails(400, code="context_length_exceeded", message="Your input exceeds the context window")):
        outcome = await lab.run()
    assert isinstance(outcome, Exhausted), outcome
    assert outcome.reason == "context_exhausted"


async def test_a_refusal_is_no_answer(lab: Lab) -> None:
    """The program tells nobody of it."""
    with lab.serving(refuses("I will not do that.")):
        outcome = await lab.run()
    assert isinstance(outcome, Failed), outcome
    assert "refusal" in str(outcome.error)


async def test_a_reply_that_is_cut(lab: Lab) -> None:
    with lab.serving(cut(says("the first half"))):
        outcome = await lab.run()
    assert isinstance(outcome, Exhausted), outcome
    assert outcome.text == "the first half"


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
    with lab.serving(says('{"n": 3}')) as emulator:
        served = await lab.ask("How many?", response_schema=ANSWER)
    assert served.value == {"n": 3}
    assert emulator.received[0].request["text"]["format"]["schema"] == ANSWER


@pytest.mark.parametrize("text", ["Three.", '{"n": "three"}'])
async def test_an_answer_that_is_none_of_the_schema_is_not_accepted(text: str, lab: Lab) -> None:
    with lab.serving(says(text)):
        served = await lab.ask("How many?", response_schema=ANSWER)
    assert isinstance(served.typed, DoesNotFit), served.typed


async def test_a_plan_pays_by_its_login_alone(lab: Lab, tmp_path: Path) -> None:
    """What the folder says of settings is not read."""
    login = tmp_path / "login"
    login.mkdir()
    plan = {"chatgpt_plan_type": "plus", "chatgpt_account_id": "acc"}
    claims = {"exp": 4102444800, "email": "a@b.c", "https://api.openai.com/auth": plan}
    parts = (b'{"alg":"none"}', json.dumps(claims).encode(), b"s")
    token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    tokens = {"id_token": token, "access_token": token, "refresh_token": "r", "account_id": "acc"}
    auth = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2099-01-01T00:00:00Z"}
    (login / "auth.json").write_text(json.dumps(auth))
    (login / "config.toml").write_text('model_reasoning_effort = "high"\n')

    with lab.serving(says("well"), login=login) as emulator:
        outcome = await lab.run()

    assert isinstance(outcome, Answered), outcome
    (one,) = emulator.received
    assert one.headers["authorization"] == f"Bearer {token}"
    assert PLANTED not in json.dumps([one.request, dict(one.headers)])
    assert "high" not in json.dumps(one.request.get("reasoning"))
