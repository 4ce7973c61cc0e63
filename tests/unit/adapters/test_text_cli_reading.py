"""What `claude` and `codex` print, as it was seen on loopback, and what it comes to."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from geode.adapters.text_cli import claude, codex
from geode.adapters.text_cli.process import Folder, Ran
from geode.adapters.text_cli.programs import Asked
from geode.domain.failures import RETRYABLE, CallFailure, FailureClass, classify_retry_error
from geode.domain.reply import AdapterCallResult, Stop
from geode.domain.usage import Usage

ASKED = Asked("m-1", "hi", "Be brief.", "", "", "api_key", "the-key", "", "", 60.0)
SCHEMA = '{"type":"object"}'
FOLDER = Folder(Path("/lab"))


def result(**more: Any) -> dict[str, Any]:
    """A result of claude 2.1.332: its type stands behind what it says."""
    usage: dict[str, Any] = {"input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4}
    usage |= {"cache_creation": {"ephemeral_1h_input_tokens": 2, "ephemeral_5m_input_tokens": 1}, "output_tokens": 5}
    usual = {"stop_reason": "end_turn", "total_cost_usd": 0.000105, "usage": usage, "terminal_reason": "completed"}
    said = {"is_error": False, "num_turns": 1, "subtype": "success", "api_error_status": None, "result": "hi there"}
    return {"duration_api_ms": 39, **usual, **said, "type": "result", **more}


def broken(**more: Any) -> dict[str, Any]:
    return result(**{"stop_reason": "stop_sequence", "is_error": True, "terminal_reason": "api_error", **more})


def assistant(*blocks: dict[str, Any], model: str = "claude-sonnet-4-5", **message: Any) -> dict[str, Any]:
    said = {"model": model, "role": "assistant", "content": list(blocks), "stop_reason": None, **message}
    return {"type": "assistant", "message": said, "parent_tool_use_id": None, "request_id": "req_000007"}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def ran(*events: dict[str, Any], code: int | None = 0) -> Ran:
    return Ran(events, "", code)


def replied(module: Any, *events: dict[str, Any], asked: Asked = ASKED, code: int = 0) -> AdapterCallResult:
    answer = module.answer(asked, ran(*events, code=code))
    assert answer is not None
    reply: AdapterCallResult = answer.unwrap()
    return reply


def failed(module: Any, *events: dict[str, Any], asked: Asked = ASKED, code: int = 1) -> CallFailure:
    answer = module.answer(asked, ran(*events, code=code))
    assert answer is not None
    failure: CallFailure = answer.failure()
    return failure


# ---- claude --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [float("inf"), -1.0, "1", True])
def test_a_cost_that_is_none_is_not_known(cost: Any) -> None:
    """Of `1e999` JSON makes an endless one; one below nothing would add to the budget."""
    assert replied(claude, assistant(text("hi")), result(total_cost_usd=cost)).usage.cost_usd is None


def test_a_text_with_what_it_took() -> None:
    """The whole input counts; the price is the program's, of the list."""
    reply = replied(claude, {"type": "system", "subtype": "init"}, assistant(text("hi ")), assistant(text("there")), result())

    assert reply.text == "hi there"
    assert (reply.stop, reply.stop_word, reply.request_id, reply.route) == (Stop.END, "end_turn", "req_000007", "api_key")
    assert reply.usage == Usage(
        17, 5, Decimal("0.000105"), cached_input_tokens=4, cache_write_input_tokens=3, cache_write_1h_input_tokens=2
    )


def test_a_plan_charges_nothing_for_a_call() -> None:
    reply = replied(claude, assistant(text("hi")), result(), asked=replace(ASKED, mode="subscription"))
    assert (reply.route, reply.usage.cost_usd) == ("subscription", None)


def test_a_reply_that_went_on_after_a_cut_is_whole() -> None:
    """The result of the program is its last message alone."""
    again = {"type": "user", "message": {"role": "user", "content": [text("Output token limit hit.")]}, "isSynthetic": True}
    events = (assistant(text("first half ")), again, assistant(text("second half")), result(result="second half", num_turns=2))
    assert replied(claude, *events).text == "first half second half"


def test_a_reply_that_was_cut_for_good() -> None:
    excuse = "API Error: Claude's response exceeded the 32000 output token maximum."
    events = (
        assistant(text("the first half of")),
        assistant(text(excuse), model="<synthetic>"),
        broken(api_error="max_output_tokens", result=excuse),
    )
    reply = replied(claude, *events, code=1)
    assert (reply.text, reply.stop) == ("the first half of", Stop.MAX_TOKENS)


def test_a_refusal_is_a_reply() -> None:
    details = {"type": "refusal", "category": "general_harms", "explanation": "This request was declined."}
    excuse = assistant(text("API Error: Sonnet 4.5 can't help with this."), model="<synthetic>", stop_details=details)
    events = (
        assistant(text("I will not do that.")),
        excuse,
        broken(stop_reason="refusal", result="API Error: Sonnet 4.5 can't"),
    )
    reply = replied(claude, *events, code=1)
    assert (reply.text, reply.stop, reply.refusal) == ("I will not do that.", Stop.REFUSAL, details)


def test_thoughts_and_the_words_of_helpers_are_no_answer() -> None:
    helper = {**assistant(text("from below")), "parent_tool_use_id": "toolu_1"}
    reply = replied(
        claude, assistant({"type": "thinking", "thinking": "hm"}), helper, assistant(text("so")), result(result="so")
    )
    assert reply.text == "so"


def test_an_answer_that_quotes_an_error_is_an_answer() -> None:
    said = "the error 'Prompt is too long' means …\nAPI Error: 429. Not logged in. You've hit your session limit"
    assert replied(claude, assistant(text(said)), result(result=said)).text == said


@pytest.mark.parametrize(
    "event",
    [
        {"type": "result", "is_error": True, "result": "Prompt is too long"},
        broken(
            api_error_status=400, api_error_type="invalid_request_error", terminal_reason="prompt_too_long", result="Prompt …"
        ),
        broken(api_error_status=400, api_error_type="invalid_request_error", result="Prompt is too long · the request is ~2"),
    ],
)
def test_a_prompt_that_is_too_long_is_an_overflow(event: dict[str, Any]) -> None:
    failure = failed(claude, event)
    assert classify_retry_error(failure) is FailureClass.CONTEXT_OVERFLOW
    assert FailureClass.CONTEXT_OVERFLOW not in RETRYABLE


@pytest.mark.parametrize(
    ("event", "status", "wanted"),
    [
        (broken(api_error_status=401, result="Failed to authenticate. API Error: 401 no"), 401, FailureClass.AUTH),
        (
            broken(api_error_status=429, api_error_type="rate_limit_error", result="API Error: Rejected"),
            429,
            FailureClass.RATE_LIMIT,
        ),
        (broken(api_error_status=529, api_error_type="overloaded_error", result="API Error: 529"), 529, FailureClass.SERVER),
        (broken(api_error_status=400, result="Credit balance is too low"), 400, FailureClass.BILLING),
        (broken(api_error_status=402, api_error_type="billing_error", result="API Error: 402"), 402, FailureClass.BILLING),
        (broken(result="Not logged in · Please run /login"), 401, FailureClass.AUTH),
        (broken(result="You've hit your session limit · resets 3am"), 429, FailureClass.BILLING),
        (broken(api_error="connection_failed", result="API Error: Connection refused"), None, FailureClass.CONNECTION),
        (broken(result="API Error: Request timed out. Check your internet"), None, FailureClass.TIMEOUT),
        (broken(result="API Error: Stream ended without receiving any events"), None, FailureClass.UNKNOWN),
        (
            broken(subtype="error_max_turns", result=None, errors=["Reached maximum number of turns (1)"]),
            None,
            FailureClass.UNKNOWN,
        ),
    ],
)
def test_a_failure_is_told_by_its_result(event: dict[str, Any], status: int | None, wanted: FailureClass) -> None:
    failure = failed(claude, assistant(text(str(event["result"])), model="<synthetic>"), event)
    assert (failure.status, classify_retry_error(failure)) == (status, wanted)
    assert (event["result"] or event["errors"][0]) in failure.message


@pytest.mark.parametrize(
    "event",
    [
        broken(subtype="error_during_execution", terminal_reason="aborted_streaming", result=None),
        {"type": "result"},
        {"type": "result", "is_error": "no", "subtype": "success", "result": 7},
        result(num_turns=0, stop_reason=None, result="/cost isn't available in this environment."),
    ],
    ids=["interrupted", "empty", "of other types", "no model was asked"],
)
def test_a_code_of_0_makes_no_answer(event: dict[str, Any]) -> None:
    assert failed(claude, event, code=0).message


def test_without_a_result_nothing_is_said() -> None:
    assert claude.answer(ASKED, ran(assistant(text("hi")))) is None


def test_an_answer_of_a_schema_is_what_was_handed_in() -> None:
    handed = assistant({"type": "tool_use", "id": "toolu_1", "name": "StructuredOutput", "input": {"n": 3}})
    end = result(stop_reason="tool_use", num_turns=2, result='{"n":3}', structured_output={"n": 3})
    reply = replied(claude, assistant(text("Here it is.")), handed, end, asked=replace(ASKED, schema=SCHEMA))
    assert (reply.text, reply.stop, reply.calls) == ('{"n":3}', Stop.END, ())


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ((assistant(text("It is three.")),), "It is three."),
        ((assistant({"type": "tool_use", "name": "StructuredOutput", "input": {"n": "x"}}),), '{"n":"x"}'),
    ],
    ids=["plain text", "not of the schema"],
)
def test_an_answer_that_is_none_of_the_schema_is_told_as_it_is(said: tuple[dict[str, Any], ...], wanted: str) -> None:
    """The program would ask again; whether it fits is judged by geode alone."""
    end = broken(subtype="error_max_turns", terminal_reason="max_turns", result=None, errors=["Reached maximum"])
    assert replied(claude, *said, end, asked=replace(ASKED, schema=SCHEMA), code=1).text == wanted


def test_how_claude_is_asked() -> None:
    asked = replace(ASKED, effort="low", schema=SCHEMA, base_url="http://127.0.0.1:1", seconds=2.5)
    made = claude.invocation(asked, FOLDER)

    assert made.prompt == "hi"
    assert made.files == {"system.txt": "Be brief."}
    pairs = list(zip(made.arguments, made.arguments[1:], strict=False))
    assert ("--tools", "") in pairs
    assert ("--setting-sources", "") in pairs
    assert {"--bare", "--strict-mcp-config", "--disable-slash-commands", "--no-session-persistence"} <= set(made.arguments)
    assert {"--model=m-1", "--effort=low", f"--json-schema={SCHEMA}", "--system-prompt-file=/lab/system.txt"} <= set(
        made.arguments
    )
    assert made.environment["ANTHROPIC_API_KEY"] == "the-key"
    assert made.environment["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert made.environment["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert made.environment["API_TIMEOUT_MS"] == "2500"
    assert made.environment["CLAUDE_CONFIG_DIR"].startswith("/lab/")


def test_a_login_of_claude_is_used_without_a_key() -> None:
    made = claude.invocation(replace(ASKED, mode="subscription", key="", login="/logins/claude"), FOLDER)

    assert made.environment["CLAUDE_CONFIG_DIR"] == "/logins/claude"
    assert not [name for name in made.environment if name.endswith(("_API_KEY", "_TOKEN"))]
    assert "--bare" not in made.arguments, "it reads no login"
    # A prompt with `@FILE` in it would be sent with the file.
    assert made.environment["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == made.environment["CLAUDE_CODE_DISABLE_FILE_MENTIONS"] == "1"


# ---- codex ---------------------------------------------------------------------------------------

STARTED = ({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"})
WARNING = {"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "Model metadata for `m` not found."}}
RETRYING = {"type": "error", "message": "Reconnecting... 1/1 (unexpected status 503 Service Unavailable)"}


def message(said: str) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": said}}


def ended(why: str) -> tuple[dict[str, Any], ...]:
    return {"type": "error", "message": why}, {"type": "turn.failed", "error": {"message": why}}


USED = {
    "input_tokens": 10,
    "cached_input_tokens": 4,
    "cache_write_input_tokens": 1,
    "output_tokens": 5,
    "reasoning_output_tokens": 2,
}
COMPLETED = {"type": "turn.completed", "usage": USED}


def test_warnings_and_further_attempts_are_no_failure() -> None:
    reply = replied(codex, *STARTED, WARNING, RETRYING, message("I look."), message("hi there"), COMPLETED)
    assert (reply.text, reply.stop, reply.route) == ("hi there", Stop.END, "api_key")
    assert reply.usage == Usage(10, 5, cached_input_tokens=4, reasoning_tokens=2, cache_write_input_tokens=1)


def test_a_cut_reply_was_told_before_the_failure() -> None:
    reply = replied(codex, message("the first"), *ended("Incomplete response returned, reason: max_output_tokens"), code=1)
    assert (reply.text, reply.stop) == ("the first", Stop.MAX_TOKENS)
    filtered = replied(codex, *ended("Incomplete response returned, reason: content_filter"), code=1)
    assert (filtered.text, filtered.stop) == ("", Stop.CONTENT_FILTER)


def test_a_turn_without_a_message_is_no_answer() -> None:
    """It shows no refusals."""
    assert "refusal" in failed(codex, *STARTED, COMPLETED, code=0).message


BODY = '{"error": {"message": "as scripted", "type": "invalid_request_error", "param": null, "code": "invalid_prompt"}}'


@pytest.mark.parametrize(
    ("why", "status", "wanted"),
    [
        (BODY, 400, FailureClass.REQUEST_FATAL),
        (
            "unexpected status 401 Unauthorized: no, url: http://127.0.0.1:1/v1/responses, request id: req_1",
            401,
            FailureClass.AUTH,
        ),
        ("unexpected status 529 <unknown status code>: no, url: http://127.0.0.1:1", 529, FailureClass.SERVER),
        ("exceeded retry limit, last status: 429 Too Many Requests, request id: req_1", 429, FailureClass.RATE_LIMIT),
        ("We\u2019re currently experiencing high demand, which may cause temporary errors.", 500, FailureClass.SERVER),
        ("Selected model is at capacity. Please try a different model.", 503, FailureClass.SERVER),
        ("Quota exceeded. Check your plan and billing details.", 429, FailureClass.BILLING),
        ("You\u2019ve hit your usage limit. Upgrade to Pro (https://…) or try again later.", 429, FailureClass.BILLING),
        ("Codex ran out of room in the model's context window. Start a new thread", 400, FailureClass.CONTEXT_OVERFLOW),
        ("stream disconnected before completion: error sending request", None, FailureClass.CONNECTION),
        ("as scripted: unexpected status 429 in a text", None, FailureClass.UNKNOWN),
    ],
)
def test_a_failed_turn_says_why_at_its_beginning(why: str, status: int | None, wanted: FailureClass) -> None:
    failure = failed(codex, *STARTED, WARNING, RETRYING, *ended(why))
    assert (failure.status, classify_retry_error(failure)) == (status, wanted)


def test_the_id_of_a_request_and_the_words_of_a_body_are_read() -> None:
    failure = failed(codex, *ended("unexpected status 401 Unauthorized: no, url: http://x, request id: req_1"))
    assert (failure.message, failure.request_id) == ("unexpected status 401 Unauthorized: no, url: http://x", "req_1")
    assert failed(codex, *ended(BODY)).error_code == "invalid_prompt"


def test_a_wait_for_a_network_without_end_is_not_waited_for() -> None:
    waits = {"type": "error", "message": "Reconnecting... waiting for network (Connection failed: error sending request)"}
    assert codex.hopeless(waits)
    assert not codex.hopeless(RETRYING)
    assert not codex.hopeless(message("Reconnecting... waiting for network"))
    failure = failed(codex, *STARTED, waits)
    assert (failure.status, classify_retry_error(failure)) == (None, FailureClass.CONNECTION)
    assert replied(codex, waits, message("hi"), COMPLETED).text == "hi"


def test_without_an_end_of_the_turn_nothing_is_said() -> None:
    assert codex.answer(ASKED, ran(*STARTED, WARNING, RETRYING, message("hi"))) is None


def test_how_codex_is_asked() -> None:
    asked = replace(ASKED, effort="low", schema=SCHEMA, base_url='http://127.0.0.1:1/v1?a="b"')
    made = codex.invocation(asked, FOLDER)

    assert made.prompt == "hi"
    assert made.files == {"instructions.md": "Be brief.", "schema.json": SCHEMA}
    assert made.arguments[0] == "exec"
    assert made.arguments[-1] == "-", "the prompt is read from the standard input"
    expected = {
        *("--json", "--sandbox=read-only", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--model=m-1"),
        *("--output-schema=/lab/schema.json", '--config=model_reasoning_effort="low"', "--disable=shell_tool"),
        '--config=model_providers.geode.base_url="http://127.0.0.1:1/v1?a=\\"b\\""',
        '--config=model_providers.geode.env_key="GEODE_CODEX_KEY"',
        '--config=model_instructions_file="/lab/instructions.md"',
        "--config=model_providers.geode.request_max_retries=0",
    }
    assert expected <= set(made.arguments)
    assert made.environment == {"CODEX_HOME": "/lab/home", "GEODE_CODEX_KEY": "the-key"}


@pytest.mark.parametrize("system", ["", " \n"])
def test_codex_refuses_instructions_that_say_nothing(system: str) -> None:
    assert codex.invocation(replace(ASKED, system=system), FOLDER).files == {"instructions.md": "Answer the user."}


def test_a_login_of_codex_is_used_without_a_key() -> None:
    made = codex.invocation(replace(ASKED, mode="subscription", key="", login="/logins/codex"), FOLDER)
    assert made.environment == {"CODEX_HOME": "/logins/codex"}
    assert "--config=model_providers.geode.requires_openai_auth=true" in made.arguments
    assert "env_key" not in " ".join(made.arguments)


# ---- both ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "asked", "said", "wanted"),
    [
        (claude, replace(ASKED, prompt="x" * 10_000_001), "10000001", FailureClass.CONTEXT_OVERFLOW),
        (codex, replace(ASKED, prompt="ä" * 1_048_577), "1048577", FailureClass.CONTEXT_OVERFLOW),
        (claude, replace(ASKED, schema="x" * 131_058), "has 131058", None),
        (claude, replace(ASKED, model="--help"), "'--help'", None),
        (codex, replace(ASKED, model=" "), "' '", None),
    ],
)
def test_what_cannot_be_asked_is_said_before(module: Any, asked: Asked, said: str, wanted: FailureClass | None) -> None:
    problem = module.problem(asked)
    assert said in problem.message
    assert classify_retry_error(problem) is (wanted or FailureClass.REQUEST_FATAL)


@pytest.mark.parametrize(
    ("module", "asked"),
    [
        (claude, replace(ASKED, prompt="x" * 10_000_000, schema="x" * 131_057)),
        (codex, replace(ASKED, prompt="ä" * 1_048_576, schema="x" * 500_000)),
    ],
)
def test_what_is_as_long_as_may_be_can_be_asked(module: Any, asked: Asked) -> None:
    assert module.problem(asked) is None
