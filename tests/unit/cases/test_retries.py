"""Kinds of failures that were tried again when they should not be, or not when they should, each with the id of its case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

import geode
from geode.adapters.chat_completions.model import chat_model
from geode.adapters.clock_manual import ManualClock
from geode.adapters.http_json.endpoint import Endpoint
from geode.application.askable import askable
from geode.domain.conversation import Conversation
from geode.domain.errors import BillingError, RequestRefused, StreamInterrupted
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.policy import Policy
from geode.domain.retry import RetryPolicy, read_retry_hint
from geode.domain.script import Step, calls, fails, says
from geode.domain.turns import AssistantTurn
from geode.entrypoints.emulator import Protocol
from geode.events import Event, Finished, ModelSwitched, Retrying, TextDelta
from geode.testing import ScriptedModel
from tests.unit.application.rig import Recorder, answered, loop_of
from tests.unit.cases.server import Json, adapter, called
from tests.unit.cases.turns import Counted, user


@dataclass
class Refusing:
    """A server of the Chat wire that always answers so, behind the real SDK, and a run of it."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    requests: int = 0
    clock: ManualClock = field(default_factory=ManualClock)

    async def run(self, attempts: int = 3) -> geode.Failed | geode.Exhausted:
        def answer(_: httpx2.Request) -> httpx2.Response:
            self.requests += 1
            return httpx2.Response(self.status, headers=dict(self.headers), json=self.body)

        async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http:
            model = chat_model("lab", Endpoint("http://lab.test", "the test"), http, dialect="glm")
            policy = Policy(retry=RetryPolicy(attempts=attempts))
            outcome = await loop_of(model=model, clock=self.clock, policy=policy).run("go")
        assert isinstance(outcome, geode.Failed | geode.Exhausted), outcome
        return outcome


def kind_of(outcome: geode.Outcome) -> FailureClass:
    assert isinstance(outcome, geode.Failed)
    assert outcome.failure is not None
    return classify_retry_error(outcome.failure)


# ---- which failures ----------------------------------------------------------------------------


async def test_rt_01_a_used_up_quota_is_no_rate_limit() -> None:
    server = Refusing(429, {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}})
    outcome = await server.run()
    assert (server.requests, server.clock.slept, kind_of(outcome)) == (1, [], FailureClass.BILLING)
    assert isinstance(outcome, geode.Failed)
    assert isinstance(outcome.error, BillingError)
    assert "You exceeded your current quota" in str(outcome.error)


@pytest.mark.parametrize(
    "body",
    [
        {"error": "INSUFFICIENT QUOTA", "message": "limit of concurrent requests reached"},
        {"error": {"code": "insufficient_quota", "message": "limit of concurrent requests reached"}},
        {"error": {"code": "insufficient_quota", "message": "10000 tokens per minute"}},
    ],
    ids=range(3),
)
async def test_rt_02_wording_of_a_limit_that_passes_wins_over_a_short_label(body: Json) -> None:
    server = Refusing(429, body)
    assert kind_of(await server.run()) is FailureClass.RATE_LIMIT
    assert server.requests == 3


OVERFLOWS: list[tuple[int, Json]] = [
    # RT-14
    (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    (400, {"error": {"code": "context_length_exceeded"}}),
    (400, {"error": {"message": "input length and max_tokens exceed context limit"}}),
    (413, {"error": {"type": "request_too_large"}}),
    # RT-15: a generic code does not hide clear words.
    (400, {"code": "invalid_request_body", "message": "Your input exceeds the context window of this model."}),
    # RT-16: nor does a gateway's 500.
    (500, {"error": {"message": "Requested token count exceeds the model's maximum context length"}}),
]


@pytest.mark.parametrize(("status", "body"), OVERFLOWS, ids=range(len(OVERFLOWS)))
async def test_rt_14_15_16_an_overflow_is_never_sent_again_as_it_is(status: int, body: Json) -> None:
    server = Refusing(status, body)
    outcome = await server.run()
    assert (server.requests, outcome.reason) == (1, "context_exhausted")


# ---- hints -------------------------------------------------------------------------------------


async def test_rt_05_a_very_long_hint_is_a_stop_and_is_told() -> None:
    server = Refusing(429, {"error": {"message": "slow down"}}, {"retry-after": "900"})
    outcome = await server.run()
    assert (server.requests, server.clock.slept) == (1, [])
    assert isinstance(outcome, geode.Failed)
    assert "'900'" in outcome.why


# Spec section 7: above 60 s, not finite or negative, nothing is retried; what cannot be read is no hint.
HOSTILE = [
    ("9999999999", 1),
    ("-5", 1),
    ("nan", 1),
    ("inf", 1),
    ("1e309", 1),
    ("abc", 3),
    ("", 3),
    ("0", 3),
    ("0.5", 3),
]


@pytest.mark.parametrize(("value", "requests"), HOSTILE)
async def test_rt_07_no_header_makes_it_sleep_for_ever_or_crash(value: str, requests: int) -> None:
    server = Refusing(429, {"error": {"message": "slow down"}}, {"retry-after": value})
    await server.run()
    assert server.requests == requests
    assert all(0 <= seconds <= 60 and math.isfinite(seconds) for seconds in server.clock.slept)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "2"}, 2.0), ({"retry-after-ms": "1500"}, 1.5), ({"retry-after": "2", "retry-after-ms": "1500"}, 1.5)],
    ids=range(3),
)
@pytest.mark.parametrize("spelt", [str.lower, str.title, str.upper])
async def test_rt_08_milliseconds_are_no_seconds(headers: dict[str, str], seconds: float, spelt: Any) -> None:
    assert read_retry_hint(headers, 0.0).seconds == seconds
    server = Refusing(429, {"error": {"message": "slow"}}, {spelt(name): value for name, value in headers.items()})
    await server.run(attempts=2)
    # The delay of its own would be 1 s, drawn at half of 2.
    assert server.clock.slept == [max(1.0, seconds)]


# ---- streams -----------------------------------------------------------------------------------

START: Json = {"type": "message_start", "message": {"id": "m", "content": [], "usage": {}}}
TEXT: list[Json] = [
    START,
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Par"}},
]


def error(type: str, message: str = "it failed") -> Json:
    return {"type": "error", "error": {"type": type, "message": message}}


@dataclass
class Streamed:
    """A streamed run whose server gives these events for every attempt."""

    protocol: Protocol
    answer: list[Json]
    tools: list[Any] = field(default_factory=list[Any])

    async def run(self) -> tuple[geode.Outcome, list[Event]]:
        self.lab = adapter(self.protocol, *[self.answer] * 5)
        loop = loop_of(model=self.lab.http, clock=ManualClock(), tools=self.tools)
        events = [event async for event in loop.stream("go")]
        last = events[-1]
        assert isinstance(last, Finished)
        return last.outcome, events

    @property
    def requests(self) -> int:
        return len(self.lab.asked)


@pytest.mark.parametrize(
    ("word", "kind", "requests"),
    [
        ("overloaded_error", FailureClass.SERVER, 3),
        ("rate_limit_error", FailureClass.RATE_LIMIT, 3),
        ("invalid_request_error", FailureClass.REQUEST_FATAL, 1),
        ("authentication_error", FailureClass.AUTH, 1),
    ],
)
async def test_rt_09_an_error_in_a_stream_of_200_is_what_its_word_says(word: str, kind: FailureClass, requests: int) -> None:
    served = Streamed("messages", [START, error(word)])
    outcome, _ = await served.run()
    assert (kind_of(outcome), served.requests) == (kind, requests)


@pytest.mark.parametrize("end", [[error("overloaded_error")], []], ids=["error", "closed"])
async def test_rt_10_a_stream_that_did_not_end_is_no_answer(end: list[Json]) -> None:
    served = Streamed("messages", [*TEXT, *end])
    outcome, events = await served.run()
    assert isinstance(outcome, geode.Failed)
    assert isinstance(outcome.error, StreamInterrupted)
    assert outcome.failure is not None
    assert outcome.failure.partial == "Par"
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Par"
    assert served.requests == 1
    assert not any(isinstance(turn, AssistantTurn) for turn in outcome.conversation.turns)


async def test_rt_10_an_error_alone_is_no_answer_either() -> None:
    outcome, _ = await Streamed("messages", [error("overloaded_error")]).run()
    assert kind_of(outcome) is FailureClass.SERVER


@pytest.mark.parametrize("arguments", ['{"cmd":"rm -r build"', '{"cmd":"rm -r build"}'])
async def test_rt_13_a_call_of_a_stream_that_broke_off_is_not_run(arguments: str) -> None:
    tool = Counted()
    chunk = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, **called("a", "t1", arguments)}]}}]}
    served = Streamed("chat", [chunk], [tool.tool])
    outcome, _ = await served.run()
    assert kind_of(outcome) is FailureClass.STREAM_INTERRUPTED
    assert (tool.inputs, served.requests) == ([], 1)
    assert not any(isinstance(turn, AssistantTurn) for turn in outcome.conversation.turns)


async def test_rt_20_an_error_alone_in_a_stream_is_no_cut_body() -> None:
    served = Streamed("messages", [error("invalid_request_error", "bad schema")])
    outcome, _ = await served.run()
    assert isinstance(outcome, geode.Failed)
    assert isinstance(outcome.error, RequestRefused)
    assert (served.requests, kind_of(outcome)) == (1, FailureClass.REQUEST_FATAL)
    assert "bad schema" in outcome.why


# ---- how often ---------------------------------------------------------------------------------


async def test_rt_18_nothing_is_waited_for_after_the_last_attempt() -> None:
    model, clock, seen = ScriptedModel(*[fails(503)] * 3), ManualClock(), Recorder()
    await loop_of(model=model, clock=clock, observe=[seen]).run("go")
    assert (len(clock.slept), len(seen.of(Retrying)), len(model.requests)) == (2, 2, 3)


async def test_rt_19_a_recovery_gives_no_new_attempts() -> None:
    """Attempts of the policy, and one more for each compaction: of these there are at most two in a run."""
    overflow = fails(400, code="context_length_exceeded")
    script: list[Step] = [calls(("t1", {})), *[fails(503), overflow] * 10]
    model, tool = ScriptedModel(*script), Counted()

    def shorter(conversation: Conversation) -> Conversation:
        return Conversation((user(f"before {len(model.requests)}"), *conversation.turns[-2:]))

    loop = loop_of(model=model, clock=ManualClock(), tools=[tool.tool], hooks=[geode.Hooks(compact=shorter)])
    outcome = await loop.run("go")
    assert isinstance(outcome, geode.Failed | geode.Exhausted)
    assert len(model.requests) - 1 == 3 + 2


@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_rt_22_attempts_are_attempts_and_not_repetitions(attempts: int) -> None:
    model = ScriptedModel(*[fails(503)] * 5)
    await loop_of(model=model, clock=ManualClock(), policy=Policy(retry=RetryPolicy(attempts=attempts))).run("go")
    assert len(model.requests) == attempts


# ---- another model -----------------------------------------------------------------------------


async def test_cf_04_no_other_model_answers_in_silence() -> None:
    other = ScriptedModel(says("never"), name="other")
    outcome = await loop_of(*[fails(503, message="busy")] * 3, clock=ManualClock()).run("go")
    assert isinstance(outcome, geode.Failed)
    assert "busy" in outcome.why
    assert other.requests == []


async def test_cf_04_with_a_chain_every_switch_is_told_and_the_answer_says_whose_it_is() -> None:
    seen, other = Recorder(), ScriptedModel(says("done"), name="other")
    loop = loop_of(*[fails(503, message="busy")] * 3, clock=ManualClock(), observe=[seen], fallbacks=[askable(other, "m2")])
    outcome = answered(await loop.run("go"))
    (switch,) = seen.of(ModelSwitched)
    assert (switch.from_adapter, switch.from_model) == ("scripted", "m")
    assert (switch.to_adapter, switch.to_model) == ("other", "m2")
    assert "busy" in switch.why
    last = outcome.conversation.turns[-1]
    assert isinstance(last, AssistantTurn)
    assert last.made_by is not None
    assert (last.made_by.adapter, last.made_by.model) == ("other", "m2")
