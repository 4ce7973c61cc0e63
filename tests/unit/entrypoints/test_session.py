"""What a session takes: every wrong setting is refused at once, in words that name the way out."""

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import geode
from geode.adapters.images_pillow import PillowImages
from geode.domain.approval import Grant
from geode.domain.errors import Misuse
from geode.domain.tools import ToolSpec
from geode.entrypoints.approvers import ApproveAll, ApproveNamed
from geode.ports.events import Notice
from geode.ports.tools import Tool, ToolContext
from geode.testing import ScriptedModel, calls, default_model, says

UNTYPED: Any = geode


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GEODE_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@geode.tool(tier="safe")
def get_weather(city: str) -> str:
    """Current weather."""
    return f"18 C in {city}"


@geode.tool
def delete_user(user_id: int) -> str:
    """Delete a user."""
    return f"deleted {user_id}"


def refused(**settings: Any) -> Misuse:
    """What `session`, `Runtime` and `run` say alike of the settings."""
    found: list[Misuse] = []
    for make in (UNTYPED.session, UNTYPED.Runtime, lambda **more: asyncio.run(UNTYPED.run("Hi", **more))):
        with pytest.raises(Misuse) as caught:
            make(**settings)
        found.append(caught.value)
    assert len({str(misuse) for misuse in found}) == 1
    return found[0]


def scripted(*texts: str) -> ScriptedModel:
    return ScriptedModel(*(says(text) for text in texts))


# ---- names and types of settings ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "close"), [("modle", "model"), ("tool", "tools"), ("observer", "observe"), ("temprature", "temperature")]
)
def test_an_unknown_setting_is_refused_with_the_closest_name(name: str, close: str) -> None:
    misuse = refused(model=scripted(), **{name: 1})
    assert misuse.id == "unknown-name"
    assert f'session has no "{name}"; did you mean {close}?' in str(misuse)


@pytest.mark.parametrize(
    ("settings", "id", "words"),
    [
        ({"temperature": "hot"}, "temperature", 'temperature must be a number, got "hot"'),
        ({"temperature": True}, "temperature", "must be a number"),
        ({"temperature": float("nan")}, "temperature", "must be a number"),
        ({"approve": True}, "approve-type", "approve must be a function of one call or an Approver, got bool"),
        ({"approve": "all"}, "approve-type", "got str"),
        ({"approve": lambda: True}, "approve-type", "cannot be called with one argument"),
        ({"approve": lambda call, more: True}, "approve-type", "cannot be called with one argument"),
        ({"approve": ApproveAll}, "approve-type", "approve=ApproveAll.decide cannot"),
        ({"observe": 7}, "observe-type", "observe must be a function of one event, got int"),
        ({"observe": [print, "log"]}, "observe-type", "got str"),
        ({"observe": "print"}, "observe-type", "got str"),
        ({"policy": {"max_rounds": 3}}, "policy-type", "policy must be a Policy, got dict"),
        ({"tools": get_weather}, "not-a-list", "Write tools=[…]"),
        ({"tools": ["get_weather"]}, "not-a-tool", "get_weather"),
        ({"model": 7}, "model-type", "got int"),
    ],
)
def test_a_setting_of_the_wrong_type_is_refused(settings: dict[str, Any], id: str, words: str) -> None:
    misuse = refused(**{"model": scripted(), **settings})
    assert misuse.id == id
    assert words in str(misuse)


@pytest.mark.parametrize("conversation", [[{"role": "user"}], [], {"turns": ()}, "text", 7])
async def test_a_conversation_of_the_wrong_type_is_refused_by_the_run(conversation: Any) -> None:
    model = scripted()
    async with geode.session(model=model) as loop:
        with pytest.raises(Misuse, match=r"conversation must be a Conversation, got .*Conversation\.loads") as caught:
            await loop.run("Hi", conversation=conversation)
    assert caught.value.id == "conversation-type"
    assert model.requests == []


def test_an_empty_setting_is_the_default() -> None:
    geode.session(model=scripted(), tools=[], providers=[], system="", observe=[])


# ---- models and keys ---------------------------------------------------------------------------


def test_no_model_names_both_places() -> None:
    misuse = refused(tools=[get_weather])
    assert misuse.id == "no-model"
    assert "model=" in str(misuse)
    assert "GEODE_MODEL" in str(misuse)


def test_an_empty_variable_is_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODE_MODEL", "")
    assert refused().id == "no-model"


def test_an_unknown_model_names_what_is_known() -> None:
    misuse = refused(model="gtp-5")
    assert misuse.id == "unknown-model"
    assert '"gtp-5"' in str(misuse)
    assert "gpt-…" in str(misuse)
    assert "session(providers=" in str(misuse)


def test_a_misspelt_provider_is_recognised() -> None:
    lab = geode.Provider("lab", wire="chat", base_url="http://127.0.0.1:1/v1")
    assert "did you mean lab/my-llama?" in str(refused(model="lap/my-llama", providers=[lab]))


@pytest.mark.parametrize("model", ["gpt-5.2", "claude-opus-4-6", "openrouter/z-ai/glm-5", "glm-5"])
def test_no_key_names_the_variable(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    monkeypatch.delenv("ZAI_API_KEY", raising=False)
    misuse = refused(model=model)
    assert misuse.id == "no-key"
    assert "_API_KEY" in str(misuse)


def test_the_variable_chooses_the_model_and_the_argument_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEODE_MODEL", "gpt-5.2")
    assert "openai-payg has no key" in str(refused())
    assert "anthropic-payg has no key" in str(refused(model="claude-opus-4-6"))


def test_a_key_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    lab = geode.Provider("lab", wire="chat", base_url="http://127.0.0.1:1/v1", key="sk-very-secret-too")
    for value in (geode.session(model="gpt-5.2"), lab, geode.Runtime(model="lab/m", providers=[lab]).__dict__):
        assert "sk-very" not in repr(value)


# ---- tools -------------------------------------------------------------------------------------


def test_two_tools_of_one_name_name_both_places() -> None:
    def another() -> Callable[..., str]:
        @geode.tool(tier="safe")
        def get_weather() -> str:
            return ""

        return get_weather

    misuse = refused(model=scripted(), tools=[get_weather, another()])
    assert misuse.id == "tool-twice"
    assert str(misuse).count("test_session.py:") == 2


@pytest.mark.parametrize("schema", [{"type": "array"}, {"type": "string"}, {}, [], None, "object"])
def test_a_schema_that_is_no_object_is_refused_where_it_is_written(schema: Any) -> None:
    with pytest.raises(Misuse) as caught:
        ToolSpec("look", "", schema)
    assert caught.value.id == "tool-schema"
    assert "tool look: input_schema must" in str(caught.value)


@dataclass
class Db:
    users: dict[str, int]


@geode.tool(tier="safe")
def count_users(country: str, ctx: ToolContext[Db]) -> int:
    """Number of users."""
    return ctx.deps.users[country]


@pytest.mark.parametrize(("deps", "got"), [(None, "there are none"), ({"FR": 1}, "got dict"), (Db, "got type")])
def test_dependencies_of_the_wrong_type_are_refused(deps: Any, got: str) -> None:
    misuse = refused(model=scripted(), tools=[count_users], deps=deps)
    assert misuse.id == "deps-type"
    for word in ("count_users", "test_session.py:", "Db", got):
        assert word in str(misuse)


async def test_dependencies_of_the_right_type_arrive() -> None:
    model = ScriptedModel(calls(("count_users", {"country": "FR"})), says("42"))
    outcome = await geode.run("How many?", model=model, tools=[count_users], deps=Db({"FR": 42}))
    assert [result.text for result in outcome.conversation.results()] == ["42"]


async def test_a_tool_may_be_a_plain_function_a_method_or_a_tool() -> None:
    class Bank:
        @geode.tool(tier="safe")
        async def balance(self) -> int:
            return 7

    async def invoke(arguments: Any, context: Any) -> str:
        return "raw"

    raw = Tool(ToolSpec("raw", "", {"type": "object"}), geode.SafetyTier.SAFE, invoke)
    model = ScriptedModel(calls(("balance", {}), ("raw", {}), ("get_weather", {"city": "Rome"})), says("done"))
    outcome = await geode.run("Hi", model=model, tools=[Bank().balance, raw, get_weather])
    assert [result.text for result in outcome.conversation.results()] == ["7", "raw", "18 C in Rome"]


# ---- approval ----------------------------------------------------------------------------------


def test_a_session_in_which_nobody_can_approve_says_so_at_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "geode"):
        geode.session(model=scripted(), tools=[get_weather, delete_user])
    (record,) = caplog.records
    assert record.getMessage() == (
        "delete_user is DANGEROUS and the session has no approve=; every call will be denied. "
        'Add approve=, or @tool(tier="safe")'
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"approve": lambda call: geode.Approve()},
        {"approve": ApproveAll()},
        {"policy": geode.Policy(grants=(Grant("delete_user"),))},
        {"tools": [get_weather]},
    ],
)
def test_a_session_in_which_nothing_will_be_denied_says_nothing(
    settings: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "geode"):
        UNTYPED.session(**{"model": scripted(), "tools": [delete_user], **settings})
    assert caplog.records == []


async def later(call: geode.ToolUseBlock) -> geode.Approve:
    await asyncio.sleep(0)
    return geode.Approve()


@pytest.mark.parametrize(
    ("approve", "kind"),
    [
        (lambda call: geode.Approve(), "ok"),
        (later, "ok"),
        (lambda call: geode.Deny("no"), "denied"),
        (lambda call: True, "denied"),
        (ApproveAll(), "ok"),
        (ApproveNamed(["delete_user"]), "ok"),
        (ApproveNamed(["get_weather"]), "denied"),
    ],
)
async def test_ways_to_approve(approve: Any, kind: str) -> None:
    model = ScriptedModel(calls(("delete_user", {"user_id": 7})), says("done"))
    outcome = await geode.run("Delete 7", model=model, tools=[delete_user], approve=approve)
    assert [result.kind for result in outcome.conversation.results()] == [kind]


async def test_a_wrong_answer_denies_and_says_what_a_right_one_is(caplog: pytest.LogCaptureFixture) -> None:
    def agree(call: Any) -> bool:
        return True

    seen: list[Any] = []
    model = ScriptedModel(calls(("delete_user", {"user_id": 7})), says("done"))
    untyped: Any = agree
    outcome = await geode.run("Delete 7", model=model, tools=[delete_user], approve=untyped, observe=seen.append)
    assert [result.kind for result in outcome.conversation.results()] == ["denied"]
    (notice,) = [event for event in seen if isinstance(event, Notice)]
    (record,) = caplog.records
    for text in (notice.text, record.getMessage()):
        assert "agree answered with bool: return Approve(), Deny(…) or Later()" in text
    assert record.exc_info is None


class Counter:
    """A person who can read one question at a time."""

    def __init__(self) -> None:
        self.open = self.most = self.asked = 0

    async def ask(self, call: geode.ToolUseBlock) -> geode.Approve:
        self.open += 1
        self.asked += 1
        self.most = max(self.most, self.open)
        await asyncio.sleep(0.001)
        self.open -= 1
        return geode.Approve()


async def test_sessions_that_share_a_person_ask_one_question_at_a_time() -> None:
    person = Counter()

    def model() -> ScriptedModel:
        return ScriptedModel(calls(("delete_user", {"user_id": 7})), says("done"))

    runs = (geode.run("Hi", model=model(), tools=[delete_user], approve=person.ask) for _ in range(8))
    outcomes = await asyncio.gather(*runs)
    assert all(isinstance(outcome, geode.Answered) for outcome in outcomes)
    assert (person.asked, person.most) == (8, 1)


async def test_sessions_of_one_runtime_ask_one_question_at_a_time_too() -> None:
    person = Counter()
    delete = calls(("delete_user", {"user_id": 7}))
    # All sessions call before any is answered.
    model = ScriptedModel(*[delete] * 4, *[says("done")] * 4)
    async with geode.Runtime(model=model, tools=[delete_user], approve=person.ask) as runtime:

        async def one() -> str:
            async with runtime.session() as loop:
                return (await loop.run("Hi")).text

        assert await asyncio.gather(*(one() for _ in range(4))) == ["done"] * 4
    assert (person.asked, person.most) == (4, 1)


async def test_different_people_are_asked_at_the_same_time() -> None:
    people = [Counter(), Counter()]
    together = asyncio.Barrier(2)

    async def one(person: Counter) -> None:
        async def ask(call: geode.ToolUseBlock) -> geode.Approve:
            await asyncio.wait_for(together.wait(), 2)
            return await person.ask(call)

        model = ScriptedModel(calls(("delete_user", {"user_id": 7})), says("done"))
        await geode.run("Hi", model=model, tools=[delete_user], approve=ask)

    await asyncio.gather(*(one(person) for person in people))
    assert [person.asked for person in people] == [1, 1]


# ---- the settings arrive -----------------------------------------------------------------------


async def test_what_is_set_is_in_every_request() -> None:
    model = ScriptedModel(calls(("get_weather", {"city": "Rome"})), says("done"))
    await geode.run("Hi", model=model, tools=[get_weather], system="Be brief.", effort="high", temperature=0)
    for request in model.requests:
        assert (request.system, request.effort, request.temperature) == ("Be brief.", "high", 0.0)
        assert [spec.name for spec in request.tools] == ["get_weather", "recall_tool_result"]


async def test_several_observers_and_one() -> None:
    first: list[Any] = []
    second: list[Any] = []
    await geode.run("Hi", model=scripted("done"), observe=[first.append, second.append])
    await geode.run("Hi", model=scripted("done"), observe=first.append)
    assert len(first) == 2 * len(second) > 0


async def test_run_passes_its_own_arguments_on() -> None:
    first = await geode.run("I am Ada.", model=scripted("Hello Ada"))
    model = ScriptedModel(calls(("get_weather", {"city": "Rome"})), says("done"))
    await geode.run(
        "Weather?", model=model, tools=[get_weather], conversation=first.conversation, tool_choice={"name": "get_weather"}
    )
    assert len(model.requests[0].turns) == 3
    assert [str(request.tool_choice) for request in model.requests] == ["Named(name='get_weather')", "Auto()"]


async def test_a_session_runs_any_number_of_runs_one_after_the_other() -> None:
    async with geode.session(model=scripted("one", "two", "three")) as loop:
        assert [(await loop.run("Hi")).text for _ in range(3)] == ["one", "two", "three"]


# ---- the package -------------------------------------------------------------------------------

NAMES = {
    *("session", "run", "Runtime", "subagent"),
    *("tool", "SafetyTier", "ToolContext", "ToolError", "ToolRetry", "NotRun", "ToolSpec", "ToolUseBlock", "ToolResult"),
    *("Conversation", "Policy", "Provider", "Quirks", "WireName"),
    *("Approve", "Deny", "Later"),
    *("Grant", "RetryPolicy"),  # what a Policy is made of
    *("Hooks", "Veto"),
    *("Image", "ImageUrl", "Document", "DocumentUrl"),
    *("McpServer", "Toolkit", "ToolkitContext"),
    "ResultLimits",  # a value of Policy that a sample writes
    *("Outcome", "Answered", "Refused", "Exhausted", "Failed", "Stopped", "Suspended"),
    "Misuse",
    "Usage",  # what an adapter's author needs beside ToolUseBlock
    "conversation_from",  # what somebody needs who comes from another program
    *("tools_from", "mcp_servers_from"),  # what is declared in files
}


def test_the_public_names_are_these_and_each_is_there() -> None:
    program = (
        "import json, geode; names = [n for n in dir(geode) if not n.startswith('_')]; "
        "[getattr(geode, n) for n in names]; print(json.dumps(names))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == NAMES


def test_a_star_imports_the_public_names() -> None:
    found: dict[str, Any] = {}
    exec("from geode import *", found)  # the only way to write it in a function
    assert set(found) - {"__builtins__"} == NAMES
    assert list(geode.__all__) == sorted(geode.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sesion'"):
        _ = UNTYPED.sesion


def test_import_and_a_scripted_run_load_nothing_that_they_do_not_need() -> None:
    heavy = ("anthropic", "openai", "httpx2", "jsonschema", "regex", "dependency_injector", "pydantic", "starlette", "rich")
    program = f"""
import sys, json, geode
heavy = {heavy!r}
loaded = lambda: [name for name in heavy if name in sys.modules]
first = loaded()
import asyncio
from geode.testing import ScriptedModel, says
asyncio.run(geode.run("Hi", model=ScriptedModel(says("done"))))
print(json.dumps([first, loaded()]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[], []]


def test_a_default_model_counts_as_named() -> None:
    with default_model(scripted()):
        geode.session(tools=[get_weather])


@pytest.mark.parametrize("resizer", [object(), "Pillow", PillowImages])
def test_a_resizer_is_an_object_with_its_method(resizer: Any) -> None:
    with pytest.raises(Misuse, match="resizer must be an object with fitted") as caught:
        geode.session(model=ScriptedModel(), resizer=resizer)
    assert caught.value.id == "resizer-type"
