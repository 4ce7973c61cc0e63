"""Section 10 of the specification, sentence by sentence, over real HTTP against the emulator's dialect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.application.structured import AnswerError
from geode.domain.content import Text
from geode.domain.conversation import Conversation
from geode.domain.errors import Misuse, RequestRefused
from geode.domain.policy import Policy
from geode.domain.script import Fails, Reply, Step, calls, fails, malformed, refuses, says, thinks
from geode.domain.turns import AssistantTurn, UserTurn
from geode.entrypoints.compliance.emulated import serve
from geode.entrypoints.compliance.playing import AT_ONCE, READER
from geode.entrypoints.emulator import Emulator
from geode.entrypoints.routes.registry import forget_adapters
from geode.events import Event, Finished, ModelReplied, Summarised

CLAUDE, GPT = "openrouter/anthropic/claude-sonnet-4.6", "openrouter/openai/gpt-5.5"
KEY = "sk-or-v1-of-the-test"
READ = ("read", {"path": "a"})


@dataclass
class Relay:
    """OpenRouter, emulated; and what it was sent."""

    emulator: Emulator

    @property
    def bodies(self) -> list[Any]:
        assert self.emulator.violations == ()
        return [one.request for one in self.emulator.received]


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Any:
    kept: list[Emulator] = []

    def start(*script: Step, **options: Any) -> Relay:
        emulator = Emulator(script, dialect="openrouter", api_key=KEY, **options)
        kept.append(emulator)
        monkeypatch.setenv("OPENROUTER_BASE_URL", f"{serve(emulator)}/v1")
        monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
        return Relay(emulator)

    return start


async def ran(model: str = CLAUDE, **settings: Any) -> geode.Outcome:
    given: dict[str, Any] = {"tools": [READER], "policy": Policy(retry=AT_ONCE), **settings}
    return await geode.run("hi", model=model, **given)


# ---- `openrouter/<publisher>/<model>`: exactly one outer namespace is removed ----------------------


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        (CLAUDE, "anthropic/claude-sonnet-4.6"),
        ("openrouter/meta-llama/llama-3:free", "meta-llama/llama-3:free"),
        ("openrouter/openrouter/auto", "openrouter/auto"),
        ("openrouter/openai/gpt-5.3-codex", "openai/gpt-5.3-codex"),
    ],
)
async def test_exactly_one_namespace_is_taken_off(relay: Any, model: str, asked: str) -> None:
    there = relay(says("hello"))
    assert isinstance(await ran(model), geode.Answered)
    assert [body["model"] for body in there.bodies] == [asked]


# ---- Chat Completions, its own identity, nobody in its place ----------------------------------------


async def test_it_is_a_provider_of_its_own_and_the_direct_one_is_never_asked_in_its_place(
    relay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = Emulator((says("never"),))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", serve(direct))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-test")
    there = relay(*[fails(503)] * 3)
    outcome = await ran()

    assert isinstance(outcome, geode.Failed)
    assert [one.path.rpartition("/v1")[2] for one in there.emulator.received] == ["/chat/completions"] * 3
    assert direct.received == []


# ---- the real charge and the serving route ---------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
async def test_charge_and_route_are_in_the_usage_and_in_events(relay: Any, streamed: bool) -> None:
    relay(calls(READ), says("done"))
    seen: list[Event] = []
    async with geode.session(model=CLAUDE, tools=[READER], observe=seen.append) as loop:
        if streamed:
            async for _ in loop.stream("hi"):
                pass
        else:
            await loop.run("hi")

    # 15 tokens a call, a dollar for a million of them.
    (finished,) = [event for event in seen if isinstance(event, Finished)]
    assert finished.outcome.usage.cost_usd == Decimal("0.00003")
    replied = [event for event in seen if isinstance(event, ModelReplied)]
    assert [event.usage.cost_usd for event in replied] == [Decimal("0.000015")] * 2
    assert {event.route for event in replied} == {"Emulated: anthropic/claude-sonnet-4.6"}


def charged(**body: Any) -> Fails:
    """An answer with the status 200 that says it was charged half a dollar for."""
    return Fails(200, {**body, "usage": {"prompt_tokens": 10, "completion_tokens": 5, "cost": 0.5}})


def choice(finish: str, **message: Any) -> Fails:
    return charged(choices=[{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}])


ASKS = choice(
    "tool_calls", tool_calls=[{"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}]
)
SAID = choice("stop", content="done")
DOWN = charged(choices=None, error={"code": 502, "message": "Provider disconnected"})


@pytest.mark.parametrize(
    ("budget", "script", "made", "reason"),
    [
        ("1.2", (ASKS, DOWN, SAID), 2, "cost_budget"),
        ("1.2", (DOWN, ASKS, SAID), 2, "cost_budget"),
        ("1.2", (DOWN, DOWN, SAID), 2, "cost_budget"),
        ("1.0", (ASKS, DOWN, SAID), 2, "cost_budget"),
        ("0.9", (ASKS, DOWN, SAID), 1, "cost_budget"),
        ("1.5", (ASKS, DOWN, SAID), 3, "natural"),
        ("1.9", (ASKS, DOWN, DOWN, SAID), 3, "cost_budget"),
        ("2.0", (ASKS, DOWN, DOWN, SAID), 4, "natural"),
    ],
)
async def test_a_budget_is_kept_whatever_it_was_charged_for(
    relay: Any, budget: str, script: tuple[Step, ...], made: int, reason: str
) -> None:
    """Half a dollar for each attempt, answered or not: one is made only if as much still fits."""
    there = relay(*script)
    outcome = await ran(policy=Policy(retry=AT_ONCE, max_cost_usd=Decimal(budget)))
    assert (outcome.reason, outcome.usage.cost_usd, len(there.bodies)) == (reason, Decimal("0.5") * made, made)


# ---- text summaries ---------------------------------------------------------------------------------


TOO_LONG = fails(400, code="context_length_exceeded", message="prompt is too long")


async def test_a_summary_goes_through_the_same_adapter_with_marks_session_and_options_and_its_charge_counts(relay: Any) -> None:
    there = relay(TOO_LONG, says("in short"), says("done"))
    before = Conversation((user("a"), assistant("A"), user("b"), assistant("B")))
    options = {"openrouter": {"order": ["anthropic"]}}
    policy, seen = Policy(compact_keep_rounds=1), list[Event]()
    async with geode.session(
        model=CLAUDE, system="Be brief.", provider_options=options, policy=policy, observe=seen.append
    ) as loop:
        outcome = await loop.run("go", conversation=before)

    assert (outcome.text, outcome.usage.cost_usd) == ("done", Decimal("0.000030"))
    refused, summary, again = there.bodies
    assert [part["cache_control"] for part in summary["messages"][0]["content"]] == [{"type": "ephemeral"}]
    assert summary["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert refused["session_id"] == summary["session_id"] == again["session_id"]
    assert [one["provider"] for one in there.bodies] == [{"order": ["anthropic"]}] * 3
    (told,) = (event for event in seen if isinstance(event, Summarised))
    assert (told.adapter, told.usage.cost_usd) == ("openrouter-payg", Decimal("0.000015"))
    assert told.route == "Emulated: anthropic/claude-sonnet-4.6"


async def test_a_text_beside_a_run_goes_through_the_same_adapter_and_asks_for_nothing_to_be_kept(relay: Any) -> None:
    there = relay(says("in short"), says("hi"))
    async with geode.Runtime(model=CLAUDE, provider_options={"openrouter": {"order": ["anthropic"]}}) as runtime:
        served = await runtime.ask("Sum up.", system="Be brief.", conversation=Conversation())
    await geode.run("hi", model=CLAUDE, cache="off", conversation=Conversation((user("a"), assistant("A"))))

    assert (served.text, served.owner.adapter) == ("in short", "openrouter-payg")
    assert served.usage.cost_usd == Decimal("0.000015")
    assert there.bodies[0]["provider"] == {"order": ["anthropic"]}
    assert "cache_control" not in json.dumps(there.bodies)


def user(text: str) -> UserTurn:
    return UserTurn((Text(text),))


def assistant(text: str) -> AssistantTurn:
    return AssistantTurn((Text(text),))


async def test_a_run_is_one_session_to_the_relay_and_another_run_another(relay: Any) -> None:
    there = relay(calls(READ), fails(500), says("done"), says("again"))
    async with geode.session(model=CLAUDE, tools=[READER], policy=Policy(retry=AT_ONCE)) as loop:
        await loop.run("hi")
        await loop.run("on")
    first, *same, other = [body["session_id"] for body in there.bodies]
    assert same == [first, first]
    assert other != first
    assert first.startswith("geode-")


# ---- effort -----------------------------------------------------------------------------------------


async def test_known_models_of_openai_get_the_effort_that_was_chosen(relay: Any) -> None:
    there = relay(says("a"), says("b"))
    await ran(GPT, effort="xhigh")
    await ran(GPT)
    assert [body.get("reasoning") for body in there.bodies] == [{"effort": "xhigh"}, None]


async def test_an_inherited_effort_goes_to_known_models_and_to_no_other(relay: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODE_EFFORT", "high")
    there = relay(says("a"), says("b"), says("c"))
    for model in (GPT, CLAUDE, "openrouter/google/gemini-2.5-flash"):
        await ran(model)
    assert [body.get("reasoning") for body in there.bodies] == [{"effort": "high"}, None, None]


async def test_what_such_a_model_does_not_take_is_refused_and_nothing_leaves(relay: Any) -> None:
    there = relay(says("never"))
    for settings in ({"effort": "minimal"}, {"temperature": 0.2}, {"temperature": 0.2, "effort": "none"}):
        assert isinstance(await ran(GPT, **settings), geode.Failed)
    assert there.bodies == []


# ---- a schema for the answer ------------------------------------------------------------------------

ANSWER = {
    "title": "Weather",
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_a_schema_requires_its_parameters_and_loosens_nothing_when_it_is_tried_again(relay: Any, model: str) -> None:
    there = relay(fails(429), fails(502), says('{"city": "Paris"}'))
    effort = {"effort": "high"} if model == GPT else {}
    settings: dict[str, Any] = {"model": model, "policy": Policy(retry=AT_ONCE), **effort}
    async with geode.Runtime(**settings, provider_options={"openrouter": {"only": ["x"], "zdr": True}}) as runtime:
        served = await runtime.ask("Where?", response_schema=ANSWER)

    assert served.value == {"city": "Paris"}
    first, *others = there.bodies
    assert others == [first] * 2
    assert first["provider"] == {"only": ["x"], "zdr": True, "require_parameters": True}
    assert first["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "Weather", "strict": True, "schema": ANSWER},
    }
    assert first.get("reasoning") == (effort or None)


async def test_an_endpoint_that_does_not_hold_the_schema_is_found_out_here(relay: Any) -> None:
    there = relay(says('{"town": "Paris"}'), says('{"town": "Lyon"}'))
    async with geode.Runtime(model=CLAUDE) as runtime:
        served = await runtime.ask("Where?", response_schema=ANSWER)
    with pytest.raises(AnswerError):
        _ = served.value
    assert len(there.bodies) == 2


async def test_a_refusal_is_asked_for_once_and_nothing_is_loosened_for_it(relay: Any) -> None:
    there = relay(refuses("I will not."), says('{"city": "Paris"}'))
    async with geode.Runtime(model=CLAUDE) as runtime:
        served = await runtime.ask("Where?", response_schema=ANSWER)
    with pytest.raises(AnswerError):
        _ = served.value
    assert len(there.bodies) == 1


async def test_an_explicit_false_beside_a_schema_is_refused_and_nothing_leaves(relay: Any) -> None:
    there = relay(says("never"))
    options = {"openrouter": {"require_parameters": False}}
    async with geode.Runtime(model=CLAUDE, provider_options=options) as runtime:
        with pytest.raises(RequestRefused, match="require_parameters is false, and a schema needs it true"):
            await runtime.ask("Where?", response_schema=ANSWER)
    assert there.bodies == []


# ---- the caller's options ---------------------------------------------------------------------------

OPTIONS = {"order": ["anthropic", "google"], "allow_fallbacks": False, "data_collection": "deny"}


@pytest.mark.parametrize("stop", [says("done"), Reply((), "refusal"), Reply((), "max_tokens")])
async def test_neither_a_refusal_nor_a_retry_loosens_the_effort_or_the_options(relay: Any, stop: Reply) -> None:
    there = relay(fails(429), malformed("error_in_200"), stop)
    await ran(GPT, effort="high", provider_options={"openrouter": OPTIONS})

    assert len(there.bodies) == 3
    assert [body["provider"] for body in there.bodies] == [OPTIONS] * 3
    assert [body["reasoning"] for body in there.bodies] == [{"effort": "high"}] * 3


async def test_every_round_is_asked_with_the_options_and_all_the_tools(relay: Any) -> None:
    there = relay(calls(READ), calls(READ), says("done"))
    await ran(provider_options={"openrouter": OPTIONS})
    assert [body["provider"] for body in there.bodies] == [OPTIONS] * 3
    first, *others = [body["tools"] for body in there.bodies]
    assert others == [first] * 2
    assert "read" in [tool["function"]["name"] for tool in first]


async def test_options_are_declared_for_everybody_in_routing_toml_and_a_session_s_own_stand_before_them(
    relay: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = relay(says("a"), says("b"))
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    lines = '[providers.openrouter-payg.options]\ndata_collection = "deny"\norder = ["google"]\napp_title = "P"\n'
    (tmp_path / "routing.toml").write_text(lines)
    forget_adapters()
    try:
        await ran()
        await ran(provider_options={"openrouter": {"order": ["anthropic"]}})
    finally:
        forget_adapters()
    assert [body["provider"] for body in there.bodies] == [
        {"order": ["google"], "data_collection": "deny"},
        {"order": ["anthropic"], "data_collection": "deny"},
    ]
    assert [one.headers.get("x-title") for one in there.emulator.received] == ["P", "P"]


async def test_a_provider_of_one_s_own_has_them_too(relay: Any) -> None:
    there = relay(says("a"))
    lab = geode.Provider(
        "lab", "chat", there_address(there), KEY, "openrouter", options={"sort": "price", "app_url": "https://p.example"}
    )
    await ran("lab/anthropic/claude-sonnet-4.6", providers=[lab])
    assert there.bodies[0]["provider"] == {"sort": "price"}
    assert there.emulator.received[0].headers["http-referer"] == "https://p.example"


def there_address(there: Relay) -> str:
    return f"{serve(there.emulator)}/v1"


async def test_it_says_of_itself_only_what_it_was_told_to(relay: Any) -> None:
    there = relay(says("a"))
    await ran()
    headers = there.emulator.received[0].headers
    assert {"x-title", "http-referer", "x-openrouter-title"}.isdisjoint(headers)
    assert "provider" not in there.bodies[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"openrouter": {"ordr": ["a"]}}, "provider_options: OpenRouter has no option 'ordr'; did you mean order?"),
        ({"openrouter": {"order": "a"}}, "the option order is a list of one name or more"),
        ({"openrouter": ["a"]}, "the options of OpenRouter are a mapping, got list"),
        ({"anthropic": {}}, 'only "openrouter" has options of its own'),
        (["openrouter"], "provider_options must be a mapping, got list"),
    ],
)
def test_wrong_options_are_misuse_before_anything_is_opened(options: Any, said: str) -> None:
    with pytest.raises(Misuse, match="provider-options") as raised:
        geode.session(model=CLAUDE, provider_options=options)
    assert said in str(raised.value)


def test_options_are_of_the_dialect_alone() -> None:
    with pytest.raises(Misuse, match='options are those of the dialect "openrouter"'):
        geode.Provider("lab", "chat", "http://lab.test/v1", options={"sort": "price"})
    with pytest.raises(Misuse, match="did you mean sort"):
        geode.Provider("lab", "chat", "http://lab.test/v1", None, "openrouter", options={"srt": "price"})


# ---- reasoning --------------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
async def test_signed_reasoning_goes_back_as_it_came(relay: Any, streamed: bool) -> None:
    there = relay(thinks("hm – ü", "SIG-1") + calls(READ), says("done"), check_signatures=True)
    async with geode.session(model=CLAUDE, tools=[READER]) as loop:
        if streamed:
            async for _ in loop.stream("hi"):
                pass
        else:
            await loop.run("hi")
    (turn,) = [message for message in there.bodies[1]["messages"] if message["role"] == "assistant"]
    assert turn["reasoning_details"] == [
        {"type": "reasoning.text", "text": "hm – ü", "format": "anthropic-claude-v1", "index": 0, "signature": "SIG-1"}
    ]


async def test_and_to_no_other_model_behind_the_same_relay(relay: Any) -> None:
    there = relay(thinks("hm", "SIG-1") + says("one"), says("two"))
    first = await ran(CLAUDE)
    await geode.run("on", model=GPT, conversation=first.conversation)
    assert any(isinstance(turn, AssistantTurn) for turn in first.conversation.turns)
    assert "reasoning_details" not in str(there.bodies[1])


# ---- failures ---------------------------------------------------------------------------------------


def error(status: int, message: str, **metadata: Any) -> Fails:
    body = {"error": {"code": status, "message": message, **({"metadata": metadata} if metadata else {})}}
    return Fails(status, body)


@pytest.mark.parametrize(
    ("failure", "attempts", "reason", "said"),
    [
        (error(402, "Insufficient credits"), 1, "billing_error", "Add credit"),
        (
            error(402, "This request requires more credits, or fewer max_tokens. You requested up to 8192 tokens"),
            1,
            "billing_error",
            "Policy(max_output_tokens=…)",
        ),
        (error(403, "Key limit exceeded (total limit)"), 1, "billing_error", "Add credit or raise the limit"),
        (
            error(403, "input flagged", reasons=["violence"], provider_name="X"),
            1,
            "auth_error",
            "moderation refuses",
        ),
        (error(404, "No endpoints found that support tool use"), 1, "request_error", "lacks tool support"),
        (
            error(404, "No endpoints found that support the provided 'tool_choice' value"),
            1,
            "request_error",
            "does not take this tool_choice",
        ),
        (error(404, "No endpoints found for nobody/nothing."), 1, "request_error", "See: geode models"),
        (error(429, "Provider returned error", provider_name="Google", raw="slow down"), 3, "model_error", "Google"),
        (
            error(400, "Provider returned error", provider_name="Anthropic", raw='{"error":{"message":"bad things"}}'),
            1,
            "request_error",
            "Provider returned error (Anthropic): bad things",
        ),
        (
            error(
                400,
                "Provider returned error",
                provider_name="Anthropic",
                raw='{"error":{"message":"prompt is too long: 9 > 8"}}',
            ),
            1,
            "context_exhausted",
            "prompt is too long",
        ),
        (error(502, "Provider returned error", provider_name="X", raw="…"), 3, "model_error", "(X)"),
        (error(503, "no available model provider meets your routing requirements"), 3, "model_error", "routing requirements"),
    ],
)
async def test_what_it_says_went_wrong(relay: Any, failure: Fails, attempts: int, reason: str, said: str) -> None:
    there = relay(*[failure] * attempts, says("never"))
    outcome = await ran()
    assert isinstance(outcome, geode.Failed | geode.Exhausted), outcome
    assert (outcome.reason, len(there.emulator.received)) == (reason, attempts)
    assert said in outcome.why


async def test_credit_that_is_only_held_back_is_waited_for(relay: Any) -> None:
    body = {"error": {"code": 402, "message": "held back", "metadata": {"limit_source": "in-flight budget"}}}
    there = relay(Fails(402, body, headers=(("retry-after", "0"),)), says("done"))
    assert isinstance(await ran(), geode.Answered)
    assert len(there.emulator.received) == 2


async def test_a_stream_that_breaks_after_a_200_is_a_failure_and_never_an_answer(relay: Any) -> None:
    there = relay(*[malformed("error_in_stream")] * 3)
    async with geode.session(model=CLAUDE, policy=Policy(retry=AT_ONCE)) as loop:
        *_, last = [event async for event in loop.stream("hi")]
    assert isinstance(last, Finished)
    assert isinstance(last.outcome, geode.Failed)
    assert "Provider disconnected" in last.outcome.why
    assert len(there.emulator.received) == 3, "nothing had been shown"
