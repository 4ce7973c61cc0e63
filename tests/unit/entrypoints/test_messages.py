"""What people read when something is wrong: the thing, the place and the way out; and each Misuse ends with its id."""

import ast
import asyncio
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.domain.errors import Misuse
from geode.domain.misuse_ids import MISUSE_IDS, errors_page
from geode.domain.retry import RetryPolicy
from geode.domain.script import Step
from geode.domain.tools import ToolSpec
from geode.entrypoints.emulator import Emulator, running
from geode.ports.events import Notice
from geode.testing import ScriptedModel, calls, fails, hangs, malformed, says

ROOT = Path(__file__).resolve().parents[3]
SRC = ROOT / "src" / "geode"
UNTYPED: Any = geode
AT_ONCE = geode.Policy(retry=RetryPolicy(base_seconds=0))


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GEODE_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@geode.tool(tier="safe")
def get_weather(city: str) -> str:
    """Current weather."""
    return f"18 C in {city}"


@geode.tool
def delete_user(user_id: int) -> str:
    """Delete a user."""
    return f"deleted {user_id}"


def said(work: Any, id: str) -> str:
    """The message of the Misuse that `work` raises; it ends with its id."""
    with pytest.raises(Misuse) as caught:
        work()
    assert caught.value.id == id
    assert str(caught.value).endswith(f" [{id}]")
    return str(caught.value)


def scripted_session(**settings: Any) -> Any:
    return UNTYPED.session(model=ScriptedModel(), **settings)


async def outcome_of(*steps: Step, tools: Any = (), **settings: Any) -> geode.Outcome:
    outcome: geode.Outcome = await UNTYPED.run("Hi", model=ScriptedModel(*steps), tools=tools, **settings)
    return outcome


async def failed(base_url: str, monkeypatch: pytest.MonkeyPatch, policy: geode.Policy = AT_ONCE) -> geode.Failed:
    """How a run against this server failed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    outcome = await geode.run("Hi", model="gpt-nope", policy=policy)
    assert isinstance(outcome, geode.Failed), outcome
    assert "secret" not in outcome.why
    return outcome


async def failed_with(step: list[Step], monkeypatch: pytest.MonkeyPatch, policy: geode.Policy = AT_ONCE) -> geode.Failed:
    async with running(Emulator(step)) as server:
        return await failed(f"{server.base_url}/v1", monkeypatch, policy)


# ---- the messages, by their number -------------------------------------------------------------


def test_1_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(lambda: geode.session(model="gpt-5.2"), "no-key") == (
        "openai-payg has no key: set OPENAI_API_KEY, or session(providers=…), or try model=ScriptedModel(…). "
        f"Looked in: process environment, .env, {os.environ['GEODE_HOME']}/.env [no-key]"
    )


async def test_2_model_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    step = fails(404, code="model_not_found", message="The model `gpt-nope` does not exist.")
    outcome = await failed_with([step], monkeypatch)
    assert outcome.reason == "request_error"
    assert outcome.why.startswith("openai-payg: The model `gpt-nope` does not exist. (404 model_not_found)")
    assert "req_" in outcome.why
    assert ". Known and close: gpt-" in outcome.why
    assert outcome.why.endswith(". See: geode models")


async def test_2_model_not_found_where_the_server_does_not_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await failed_with([fails(404, code="model_not_found", message="No such model.")], monkeypatch)
    assert outcome.why.startswith('openai-payg: model "gpt-nope" not found: No such model. (404 model_not_found)')


def test_3_no_annotation() -> None:
    def weather(city):  # type: ignore[no-untyped-def]
        return city

    message = said(lambda: scripted_session(tools=[weather]), "no-annotation")
    assert re.sub(r":\d+", ":7", message) == (
        'tool weather (test_messages.py:7): parameter "city" has no annotation. Write city: str [no-annotation]'
    )


async def test_4_unrenderable_result() -> None:
    @geode.tool(tier="safe")
    def get_data() -> dict[str, object]:
        return {"conn": object()}

    (result,) = (await outcome_of(calls(("get_data", {})), says("done"), tools=[get_data])).conversation.results()
    assert result.kind == "failed"
    assert result.text == "the tool's result could not be rendered"
    assert result.detail == (
        "get_data returned a value of type object at /conn; return JSON-like data, a dataclass or a pydantic model"
    )


def test_5_two_tools_of_one_name() -> None:
    def another() -> Any:
        @geode.tool(tier="safe")
        def get_weather() -> str:
            return ""

        return get_weather

    message = said(lambda: scripted_session(tools=[get_weather, another()]), "tool-twice")
    place = r"test_messages\.py:\d+"
    assert re.fullmatch(
        rf'two tools are called "get_weather": {place} and {place}\. Rename one: @tool\(name=…\) \[tool-twice\]', message
    )


async def test_6_a_tool_that_raises(caplog: pytest.LogCaptureFixture) -> None:
    @geode.tool(tier="safe")
    def broken() -> None:
        raise ValueError("password is hunter2")

    with caplog.at_level(logging.WARNING, "geode"):
        outcome = await outcome_of(calls(("broken", {})), says("done"), tools=[broken])
    (result,) = outcome.conversation.results()
    assert result.text == "broken failed with ValueError"
    (record,) = caplog.records
    assert record.exc_info is not None
    assert outcome.run_id in record.getMessage()
    assert result.call_id in record.getMessage()


def test_7_a_schema_that_is_no_object() -> None:
    assert said(lambda: ToolSpec("get_weather", "", {"type": "array"}), "tool-schema") == (
        'tool get_weather: input_schema must have type "object", has "array". '
        'Wrap it: {"type":"object","properties":{"items":…}} [tool-schema]'
    )


async def test_8_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await failed("http://user:secret@127.0.0.1:9/v1", monkeypatch)
    assert outcome.reason == "model_error"
    assert outcome.why.startswith("openai-payg: cannot connect to ")
    assert "127.0.0.1:9" in outcome.why
    assert re.search(r", 3 attempts in \d+\.\d s\. ", outcome.why)
    assert ". base_url comes from OPENAI_BASE_URL. " in outcome.why
    assert "Another model may do: choose one (/model, geode model), or name some" in outcome.why
    assert "[model.fallbacks]" in outcome.why


async def test_9_a_page_instead_of_json(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await failed_with([malformed("html")], monkeypatch)
    assert outcome.reason == "model_error"
    assert 'answered 200 text/html ("<html>' in outcome.why
    assert "where JSON was expected" in outcome.why
    assert "a proxy or a wrong base_url" in outcome.why


async def test_10_no_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = geode.Policy(call_timeout_seconds=0.1, retry=RetryPolicy(base_seconds=0))
    outcome = await failed_with([hangs()] * 3, monkeypatch, policy)
    assert outcome.reason == "model_error"
    assert "no answer within 0.1 s" in outcome.why
    assert "3 attempts" in outcome.why
    assert "Policy(call_timeout_seconds=…)" in outcome.why


def test_11_another_event_loop() -> None:
    runtime = geode.Runtime(model=ScriptedModel())
    asyncio.run(runtime.__aenter__())

    async def use() -> None:
        async with runtime.session():
            pass

    message = said(lambda: asyncio.run(use()), "other-loop")
    assert re.search(r"belongs to <.*EventLoop.*> and was used from <.*EventLoop.*>; make one per event loop", message)


def test_12_a_conversation_that_is_none() -> None:
    async def use() -> None:
        await UNTYPED.run("Hi", model=ScriptedModel(), conversation=[{"role": "user", "content": "Hi"}])

    assert said(lambda: asyncio.run(use()), "conversation-type") == (
        "conversation must be a Conversation, got list of dict: "
        "Conversation.loads(text) or geode.conversation_from(wire, list) [conversation-type]"
    )


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("sometimes", 'tool_choice "sometimes" is unknown. Accepted: auto, none, required, {"name": …} [tool-choice]'),
        ({"name": "nope"}, 'tool_choice names "nope", this request has: get_weather, recall_tool_result [tool-choice]'),
    ],
    ids=["13", "14"],
)
def test_13_and_14_a_choice_that_is_none(choice: Any, message: str) -> None:
    async def use() -> None:
        await geode.run("Hi", model=ScriptedModel(), tools=[get_weather], tool_choice=choice)

    assert said(lambda: asyncio.run(use()), "tool-choice") == message


@pytest.mark.parametrize(
    ("work", "id", "message"),
    [
        (lambda: UNTYPED.Policy(max_round=3), "unknown-name", 'Policy has no "max_round"; did you mean max_rounds?'),
        (lambda: UNTYPED.Policy(max_tokenz=3), "unknown-name", 'Policy has no "max_tokenz"; did you mean max_'),
        (lambda: scripted_session(modle="gpt-5.2"), "unknown-name", 'session has no "modle"; did you mean model?'),
        (lambda: scripted_session(temperature="hot"), "temperature", 'temperature must be a number, got "hot"'),
        (lambda: geode.Policy(max_rounds=0), "policy-value", "Policy.max_rounds must be a whole number of 1 or more, got 0"),
    ],
)
def test_17_unknown_names_and_wrong_values(work: Any, id: str, message: str) -> None:
    assert said(work, id).startswith(message)


async def test_18_arguments_that_are_no_json() -> None:
    outcome = await outcome_of(calls(("get_weather", '{"city": "Pa')), says("done"), tools=[get_weather])
    (result,) = outcome.conversation.results()
    assert result.kind == "failed"
    assert result.text == (
        "get_weather was not run: arguments are not valid JSON (line 1, column 10); send the whole object again"
    )


async def test_19_nobody_can_approve(caplog: pytest.LogCaptureFixture) -> None:
    message = (
        "delete_user is DANGEROUS and the session has no approve=; every call will be denied. "
        'Add approve=, or @tool(tier="safe")'
    )
    seen: list[Any] = []
    with caplog.at_level(logging.WARNING, "geode"):
        outcome = await outcome_of(
            calls(("delete_user", {"user_id": 7})), says("done"), tools=[delete_user], observe=seen.append
        )
    assert [record.getMessage() for record in caplog.records] == [message]
    assert isinstance(seen[0], Notice)
    assert (seen[0].kind, seen[0].text) == ("tools_denied", message)
    (result,) = outcome.conversation.results()
    assert result.kind == "denied"
    assert "delete_user" in result.text
    assert "approve=" not in result.text, "the model has no such parameter"
    assert result.detail == "delete_user is DANGEROUS and the session has no approve=; the call was denied"


async def test_20_a_cancelled_run() -> None:
    @geode.tool(tier="safe")
    async def never() -> None:
        await asyncio.Event().wait()

    model = ScriptedModel(calls(("get_weather", {"city": "Rome"}), ("never", {})))
    async with geode.session(model=model, tools=[get_weather, never]) as loop:
        running_run = asyncio.create_task(loop.run("Hi"))
        await asyncio.sleep(0.1)
        running_run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running_run
        assert [result.kind for result in loop.conversation.results()] == ["ok", "interrupted"]


# ---- both texts, always ------------------------------------------------------------------------


async def test_the_model_and_the_operator_are_told_two_texts() -> None:
    @geode.tool(tier="safe")
    def broken() -> None:
        raise ValueError("internal detail")

    model = ScriptedModel(calls(("broken", {}), ("delete_user", {"user_id": 7})), says("done"))
    await geode.run("Hi", model=model, tools=[broken, delete_user])
    for result in model.requests[1].conversation.results():
        assert result.text
        assert result.detail
        assert result.detail not in result.text


# ---- ids ---------------------------------------------------------------------------------------


def raised_ids(path: Path) -> Iterator[tuple[str, int]]:
    """The id of each `Misuse("…")`, `source.refuse("…")` and `Problem("…")` of a definition; "" for another Misuse."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="Misuse") | ast.Attribute(attr="refuse"), args=[ast.Constant(value=str(id)), *_]):
                yield id, node.lineno
            case ast.Call(func=ast.Name(id="Problem"), args=[ast.Constant(value=str(id)), *_]):
                yield id, node.lineno
            case ast.Call(func=ast.Name(id="Misuse")):
                yield "", node.lineno
            case _:
                pass


RAISED = {
    (f"{path.relative_to(ROOT).as_posix()}:{line}", id) for path in sorted(SRC.rglob("*.py")) for id, line in raised_ids(path)
}


def test_every_misuse_has_an_id_that_is_written_where_it_is_raised() -> None:
    assert len(RAISED) > 40
    computed = [place for place, id in RAISED if not id]
    assert len(computed) == 3, "Source.refuse, Misuse.said_of and what refuses a definition hand an id on; nothing else may"
    assert {place.partition(":")[0] for place in computed} == {
        "src/geode/domain/errors.py",
        "src/geode/entrypoints/tools/definitions.py",
        "src/geode/entrypoints/tools/source.py",
    }


def test_ids_are_kebab_case() -> None:
    assert [(place, id) for place, id in RAISED if id and not re.fullmatch(r"[a-z]+(-[a-z]+)*", id)] == []


def test_every_id_is_explained_and_nothing_else_is() -> None:
    assert [(place, id) for place, id in RAISED if id and id not in MISUSE_IDS] == [], "explain it in domain/misuse_ids.py"
    assert set(MISUSE_IDS) - {id for _, id in RAISED} == set()
    assert all(explained.endswith(".") for explained in MISUSE_IDS.values())


def test_the_page_of_ids_is_up_to_date() -> None:
    command = "python -c 'from geode.domain.misuse_ids import errors_page; print(errors_page(), end=\"\")' > docs/errors.md"
    assert (ROOT / "docs" / "errors.md").read_text("utf-8") == errors_page(), f"make it anew: {command}"
