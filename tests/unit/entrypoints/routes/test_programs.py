"""`claude-cli` and `codex-cli` as adapters: how they are named, where their programs are, and who is said to pay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.auxiliary import DoesNotFit, Fits
from geode.domain.failures import FailureClass, classify_retry_error
from geode.domain.loop.outcome import Answered, Exhausted, Failed
from geode.domain.policy import Policy
from geode.domain.provider import Provider
from geode.domain.retry import RetryPolicy
from geode.domain.script import calls, says
from geode.entrypoints.cli.main import main
from geode.entrypoints.compliance.program_harness import Printed, ProgramHarness, StandIn, stand_in
from geode.entrypoints.compliance.server import neutral
from geode.entrypoints.compliance.shipped_programs import ClaudeCliHarness, CodexCliHarness
from geode.entrypoints.routes.registry import bootstrap_builtins, forget_adapters
from geode.errors import ModelCallError, RequestRefused
from geode.events import Event, ModelReplied, Notice
from geode.testing import ScriptedModel

SECRETS = {
    "ANTHROPIC_API_KEY": "k-planted",
    "ANTHROPIC_AUTH_TOKEN": "t-planted",
    "CLAUDE_CODE_OAUTH_TOKEN": "c-planted",
    "OPENAI_API_KEY": "o-planted",
    "CODEX_API_KEY": "x-planted",
    "AWS_SECRET_ACCESS_KEY": "y-planted",
}
KEY = "sk-of-the-configuration"
HARNESSES = {"claude": ClaudeCliHarness(), "codex": CodexCliHarness()}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
LONG = "x" * 1_000_000
BOTH = pytest.mark.parametrize("word", ["claude", "codex"])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, and a process that is full of secrets."""
    monkeypatch.setenv("GEODE_HOME", str(tmp_path))
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LAB_KEY", KEY)
    forget_adapters()
    yield tmp_path
    forget_adapters()


def declared(home: Path, word: str, **keys: str) -> None:
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in keys.items())
    (home / "routing.toml").write_text(f"[providers.{word}-cli]\n{lines}")


def program(home: Path, word: str, *steps: Printed, **keys: str) -> StandIn:
    """A program that does `steps`, declared with a key."""
    folder = home / "stand-in"
    folder.mkdir()
    made = stand_in(folder, steps, ran_out=HARNESSES[word].fails(500, "no more steps"))
    declared(home, word, bin=str(made.path), **(keys or {"key": "env:LAB_KEY"}))
    return made


def saying(word: str, text: str) -> Printed:
    return HARNESSES[word].says(neutral(says(text), 1))


def runs(made: StandIn) -> list[dict[str, Any]]:
    return [json.loads(run) for run in made.runs()]


async def asked(word: str, prompt: str = "hi", **settings: Any) -> geode.Outcome:
    model = f"{word}-cli/{HARNESSES[word].model}"
    return await geode.run(prompt, model=model, policy=Policy(retry=RetryPolicy(base_seconds=0.0)), **settings)


def failure_class(outcome: geode.Outcome) -> FailureClass:
    assert isinstance(outcome, Failed), outcome
    assert isinstance(outcome.error, ModelCallError)
    assert outcome.error.failure is not None
    return classify_retry_error(outcome.error.failure)


@BOTH
async def test_a_model_is_asked_by_the_name_of_the_adapter(word: str, home: Path) -> None:
    made = program(home, word, saying(word, "hello"), key="env:LAB_KEY", base_url="http://127.0.0.1:9/v1")

    outcome = await asked(word)

    assert isinstance(outcome, Answered), outcome
    assert outcome.text == "hello"
    (run,) = runs(made)
    assert run["prompt"] == "hi"
    assert f"--model={HARNESSES[word].model}" in run["arguments"]
    assert "http://127.0.0.1:9/v1" in json.dumps([run["arguments"], run["environment"]])


async def test_a_provider_may_be_asked_over_its_program(home: Path) -> None:
    made = program(home, "claude", saying("claude", "hello"))
    with (home / "routing.toml").open("a") as file:
        file.write('[sources]\nanthropic = "cli"\n')
    assert isinstance(await geode.run("hi", model="claude-opus-5"), Answered)
    assert len(runs(made)) == 1


# ---- who pays ------------------------------------------------------------------------------------


@BOTH
async def test_a_key_that_is_configured_is_the_only_one_that_the_program_has(word: str, home: Path) -> None:
    made, routes = program(home, word, saying(word, "hello")), list[str]()

    def note(event: Event) -> None:
        routes.extend([event.route] if isinstance(event, ModelReplied) else [])

    await asked(word, observe=note)

    (run,) = runs(made)
    named = {"claude": "ANTHROPIC_API_KEY", "codex": "GEODE_CODEX_KEY"}[word]
    assert [name for name, value in run["environment"].items() if value == KEY] == [named]
    assert KEY not in json.dumps([run["arguments"], run["prompt"], run["files"]])
    assert "planted" not in json.dumps(run)
    assert routes == ["api_key"]


@BOTH
async def test_a_plan_pays_where_its_login_is_named_and_no_key_is_there(word: str, home: Path) -> None:
    (home / "login").mkdir()
    made, routes = program(home, word, saying(word, "hello"), login=str(home / "login")), list[str]()

    def note(event: Event) -> None:
        routes.extend([event.route] if isinstance(event, ModelReplied) else [])

    await asked(word, observe=note)

    (run,) = runs(made)
    assert not {"planted", KEY} & set(run["environment"].values())
    assert not [name for name in run["environment"] if name.endswith(("_KEY", "_TOKEN"))]
    folder = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}[word]
    assert run["environment"][folder] == str(home / "login")
    assert routes == ["subscription"]


@BOTH
async def test_a_plan_that_is_used_up_is_not_asked_again(word: str, home: Path) -> None:
    (home / "login").mkdir()
    made = program(home, word, HARNESSES[word].fails(429, "limit"), saying(word, "never"), login=str(home / "login"))
    assert failure_class(await asked(word)) is FailureClass.BILLING
    assert len(runs(made)) == 1


@BOTH
async def test_nobody_is_asked_where_nothing_says_who_pays(word: str, home: Path) -> None:
    program(home, word, saying(word, "never"), base_url="http://127.0.0.1:9")
    with pytest.raises(geode.Misuse, match=r"nothing says who pays.*key = .*login = .*\[who-pays\]"):
        await asked(word)


@BOTH
async def test_a_key_that_is_nowhere_is_said(word: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAB_KEY")
    program(home, word, saying(word, "never"))
    with pytest.raises(geode.Misuse, match=f"{word}-cli has no key: set LAB_KEY"):
        await asked(word)


# ---- the program -----------------------------------------------------------------------------------


@BOTH
async def test_a_program_that_is_not_there_is_named_with_the_way_out(
    word: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    declared(home, word, key="env:LAB_KEY")
    with pytest.raises(
        geode.Misuse, match=rf"{word}-cli: there is no program {word} .*Install.*bin.*routing.toml \[no-program\]"
    ):
        await asked(word)


async def test_a_program_is_found_on_the_path(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = program(home, "claude", saying("claude", "hello"))
    made.path.rename(made.folder / "claude")
    monkeypatch.setenv("PATH", f"{made.folder}:{os.environ['PATH']}")
    declared(home, "claude", key="env:LAB_KEY")
    assert isinstance(await asked("claude"), Answered)


@pytest.mark.parametrize(
    ("step", "wanted", "said"),
    [
        (Printed((), 2), FailureClass.UNKNOWN, "claude ended with code 2 and no answer: it ended badly"),
        (
            Printed(("Segmentation fault\n",)),
            FailureClass.UNKNOWN,
            "code 0 and no answer: Segmentation fault",
        ),
    ],
)
async def test_an_end_without_an_answer_is_told_with_the_last_words(
    step: Printed, wanted: FailureClass, said: str, home: Path
) -> None:
    program(home, "claude", step)
    outcome = await asked("claude")
    assert failure_class(outcome) is wanted
    assert said in str(outcome)


async def test_what_it_says_of_the_key_is_hidden(home: Path) -> None:
    program(home, "claude", HARNESSES["claude"].fails(401, f"the key {KEY} is wrong"))
    outcome = await asked("claude")
    assert failure_class(outcome) is FailureClass.AUTH
    assert KEY not in str(outcome)


# ---- text alone ------------------------------------------------------------------------------------


@geode.tool(tier="safe")
def look(place: str) -> str:
    """Look at a place."""
    return f"it is dark in {place}"


@BOTH
async def test_tools_stay_behind_and_that_is_told(word: str, home: Path) -> None:
    made, told = program(home, word, saying(word, "hello")), list[str]()

    def note(event: Event) -> None:
        told.extend([event.kind] if isinstance(event, Notice) else [])

    assert isinstance(await asked(word, tools=[look], tool_choice="auto", observe=note), Answered)

    assert told == ["text_only"]
    assert "Look at a place" not in json.dumps(runs(made))


@BOTH
@pytest.mark.parametrize("choice", ["required", {"name": "look"}])
async def test_a_choice_that_needs_tools_is_refused_here(word: str, choice: Any, home: Path) -> None:
    made = program(home, word, saying(word, "never"))
    outcome = await asked(word, tools=[look], tool_choice=choice)
    assert isinstance(outcome, Failed)
    assert f"{word}-cli: model {HARNESSES[word].model} cannot be given tool_choice" in str(outcome.error)
    assert runs(made) == []


@BOTH
async def test_calls_and_results_of_before_are_told_in_words(word: str, home: Path) -> None:
    """A run whose model had tools goes on over the program."""
    model = ScriptedModel(calls(("look", {"place": "Paris"})), says("It is dark there."))
    before = await geode.run("Look at Paris", model=model, tools=[look])
    made = program(home, word, saying(word, "Take a lamp."))

    outcome = await asked(word, "What do I need?", conversation=before.conversation, tools=[look])

    assert isinstance(outcome, Answered), outcome
    (run,) = runs(made)
    lines = [json.loads(line) for line in run["prompt"].split("\n")[2:]]
    assert lines == [
        {"user": "Look at Paris"},
        {"assistant": '[called look with {"place":"Paris"}]'},
        {"user": "[result of look] it is dark in Paris"},
        {"assistant": "It is dark there."},
        {"user": "What do I need?"},
    ]


@BOTH
@pytest.mark.parametrize("prompt", ["--help", "-p x", "--dangerously-skip-permissions", LONG], ids=lambda text: text[:9])
async def test_a_prompt_is_never_an_argument(word: str, prompt: str, home: Path) -> None:
    made = program(home, word, saying(word, "hello"))
    assert isinstance(await asked(word, prompt, system=prompt), Answered)
    (run,) = runs(made)
    assert run["prompt"] == prompt
    assert prompt not in run["arguments"]
    assert prompt in run["files"].values()


async def test_a_prompt_that_would_be_a_command_goes_as_a_line(home: Path) -> None:
    """`claude` answers `/cost` by itself, whatever it is told to leave out."""
    made = program(home, "claude", saying("claude", "hello"))
    await asked("claude", "/cost")
    (run,) = runs(made)
    assert run["prompt"].endswith('\n\n{"user":"/cost"}')


async def test_an_overflow_that_the_program_reports_ends_the_run_at_once(home: Path) -> None:
    event = {"type": "result", "is_error": True, "result": "Prompt is too long"}
    made = program(home, "claude", Printed((event,), 1), saying("claude", "never"))
    outcome = await asked("claude")
    assert isinstance(outcome, Exhausted), outcome
    assert len(runs(made)) == 1


# ---- answers of a schema -----------------------------------------------------------------------------


@BOTH
async def test_an_answer_of_a_schema_has_a_value(word: str, home: Path) -> None:
    made = program(home, word, saying(word, '{"n": 3}'), saying(word, '{"n": "three"}'), saying(word, '{"n": "3"}'))
    async with geode.Runtime(model=f"{word}-cli/{HARNESSES[word].model}") as runtime:
        served = await runtime.ask("How many?", response_schema=SCHEMA)
        other = await runtime.ask("How many?", response_schema=SCHEMA)

    assert (served.typed, served.value) == (Fits({"n": 3}), {"n": 3})
    assert isinstance(other.typed, DoesNotFit)
    assert other.typed.errors[0].startswith("/n: ")
    sent = [HARNESSES[word].read(run)["schema"] for run in made.runs()]
    # codex asks its server for the strict form, which closes every object.
    wanted = {**SCHEMA, "additionalProperties": False} if word == "codex" else SCHEMA
    assert [json.loads(one) for one in sent] == [wanted] * 3, "one that does not fit is asked for once more"


async def test_a_schema_that_is_longer_than_an_argument_is_refused_here(home: Path) -> None:
    made = program(home, "claude", saying("claude", "never"))
    async with geode.Runtime(model="claude-cli/claude-opus-5") as runtime:
        with pytest.raises(RequestRefused, match="response_schema of at most 131057 bytes"):
            await runtime.ask("How many?", response_schema={"type": "object", "description": "x" * 131_072})
    assert runs(made) == []


# ---- routing.toml, the command line --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '[providers.claude-cli]\nkey = "env:K"\nlogin = "~/.claude"\n',
            ":3:1: providers.claude-cli.login: either a key",
        ),
        ('[providers.codex-cli]\nkey = "oauth:x.json"\n', ":2:1: providers.codex-cli.key: codex-cli takes a key of an API"),
        ('[providers.codex-cli]\nwire = "chat"\n', ":2:1: providers.codex-cli.wire: codex-cli ships with geode"),
        (
            '[providers.lab]\nbase_url = "http://a/v1"\nbin = "x"\n',
            ":3:1: providers.lab.bin: bin is of the adapters over",
        ),
        ('[providers.claude-cli]\nbin = ""\n', ":2:1: providers.claude-cli.bin: it is empty"),
        ('[providers.claude-cli]\nbase_url = "nowhere"\n', ":2:1: providers.claude-cli.base_url: "),
    ],
)
def test_what_is_wrong_in_routing_toml(text: str, said: str, home: Path) -> None:
    (home / "routing.toml").write_text(text)
    with pytest.raises(geode.Misuse) as caught:
        bootstrap_builtins()
    assert said in str(caught.value)


def test_geode_adapters_shows_the_program_and_who_pays(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declared(home, "claude", bin="/opt/claude", login="~/.claude-geode", base_url="http://127.0.0.1:9")
    assert main(["adapters", "--json"]) == 0
    shown = {one["adapter"]: one for one in json.loads(capsys.readouterr().out)["adapters"]}
    wanted = {"provider": "anthropic", "source": "cli", "wire": "program:/opt/claude", "address": "http://127.0.0.1:9"}
    assert wanted.items() <= shown["claude-cli"].items()
    assert shown["claude-cli"]["key"] == "login:~/.claude-geode"
    assert shown["codex-cli"]["key"] == "not said"
    assert "text alone" in shown["codex-cli"]["limits"]


def test_geode_models_says_what_is_missing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declared(home, "claude", bin="/nowhere/claude", key="env:LAB_KEY")
    assert main(["models", "claude-cli/claude-opus-5", "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert (shown["adapter"], shown["program"], shown["model"]) == ("claude-cli", "/nowhere/claude", "claude-opus-5")
    assert "there is no program /nowhere/claude" in shown["problem"]


async def test_a_server_of_ones_own_may_have_the_name(home: Path) -> None:
    """As that of any adapter: it is asked by its wire then."""
    target = Provider("claude-cli", "messages", "http://127.0.0.1:9", "k").target
    assert target.program is None
    assert target.transport is not None


def test_to_know_of_them_costs_nothing() -> None:
    script = "import geode, sys; print([name for name in sys.modules if 'text_cli' in name or name == 'httpx2'])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_harnesses_are_of_these_adapters() -> None:
    found: Sequence[ProgramHarness] = list(HARNESSES.values())
    assert [one.name for one in found] == ["claude-cli", "codex-cli"]
