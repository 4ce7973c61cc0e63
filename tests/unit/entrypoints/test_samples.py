"""The samples of the documentation: each runs as it stands, type-checks, and its likely typos are found by the checker."""

import asyncio
import importlib
import logging
import re
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geode.domain.script import Script
from geode.entrypoints.emulator import Emulator, running
from geode.testing import ScriptedModel, calls, default_model, fails, no_network, refuses, says

SAMPLES = Path(__file__).parent / "samples"
ROOT = Path(__file__).resolve().parents[3]
PACKAGE = "tests.unit.entrypoints.samples"
WEATHER: Script = (calls(("get_weather", {"city": "Paris"})), says("18 C in Paris"))


def sample(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


def program(name: str) -> None:
    """The sample run as a program."""
    runpy.run_path(str(SAMPLES / f"{name}.py"), run_name="__main__")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEODE_MODEL", raising=False)


async def test_a_hello(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    emulator = Emulator(WEATHER)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    async with running(emulator) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        await asyncio.to_thread(program, "a")
    assert capsys.readouterr().out == "18 C in Paris\n"
    assert [one.request["model"] for one in emulator.received] == ["gpt-5.2", "gpt-5.2"]
    assert emulator.violations == ()


async def test_b_unit_test() -> None:
    with no_network():
        await sample("b").test_weather()


def test_c_a_service_in_a_tool(capsys: pytest.CaptureFixture[str]) -> None:
    script = [calls(("count_users", {"country": "FR"})), says("42"), calls(("count", {"country": "FR"})), says("42 too")]
    with default_model(ScriptedModel(*script)):
        program("c")
    assert capsys.readouterr().out == "42\n42 too\n"


@pytest.mark.parametrize(("typed", "kind"), [("y", "ok"), ("n", "denied")])
async def test_d_approval_now(
    typed: str, kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts: list[str] = []

    def type_in(prompt: str) -> str:
        prompts.append(prompt)
        return typed

    monkeypatch.setattr("builtins.input", type_in)
    model = ScriptedModel(calls(("delete_user", {"user_id": 7})), says("done"))
    with default_model(model):
        await sample("d").now()
    assert capsys.readouterr().out == "done\n"
    assert prompts == ["delete_user({'user_id': 7})? "]
    assert [result.kind for result in model.requests[1].conversation.results()] == [kind]


async def test_d_approval_tomorrow() -> None:
    model = ScriptedModel(calls(("delete_user", {"user_id": 7})), says("done"))
    with default_model(model):
        await sample("d").tomorrow()
    assert [result.text for result in model.requests[1].conversation.results()] == ["deleted 7"]


async def test_e_stream_to_a_ui(capsys: pytest.CaptureFixture[str]) -> None:
    with default_model(ScriptedModel(*WEATHER)):
        await sample("e").page()
    assert capsys.readouterr().out.splitlines() == [
        "call get_weather {'city': 'Paris'}",
        "result ok 18 C in Paris",
        "text 18 C in Paris",
        "end 18 C in Paris",
    ]


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ([says("early")], "early"),
        ([calls(("get_weather", {"city": "Rome"}))] * 2 + [says("so far")], "so far (stopped by max_rounds)"),
        (
            [fails(401, message="bad key")],
            "auth_error: scripted: bad key. Check the key: it is wrong, expired or not one of this provider",
        ),
        ([refuses("no")], "Refused"),
    ],
)
async def test_g_limits(script: Script, text: str) -> None:
    with default_model(ScriptedModel(*script)):
        assert await sample("g").main() == text


async def test_h_own_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    module, emulator = sample("h"), Emulator((says("Hello from the lab"),), api_key="lab-key")
    monkeypatch.setenv("LAB_KEY", "lab-key")
    async with running(emulator) as server:
        monkeypatch.setattr(module, "LAB", replace(module.LAB, base_url=f"{server.base_url}/v1"))
        await module.main()
    assert capsys.readouterr().out == "Hello from the lab\n"
    (received,) = emulator.received
    assert (received.path, received.request["model"]) == ("/v1/chat/completions", "my-llama")
    assert received.violations == ()


async def test_j_observe(caplog: pytest.LogCaptureFixture) -> None:
    with default_model(ScriptedModel(*WEATHER)), caplog.at_level(logging.INFO, "app.llm"):
        await sample("j").main()
    lines = [record.getMessage() for record in caplog.records if record.name == "app.llm"]
    assert [line.split()[0] for line in lines] == ["model", "tool", "model", "total"]
    assert re.fullmatch(r"model run=\w{32} round=1 id= via=scripted in=10 out=5 usd=None", lines[0])
    assert re.fullmatch(r"tool run=\w{32} call=call_1_0 get_weather ok 0\.\d\ds", lines[1])


async def test_m_a_hundred_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with default_model(ScriptedModel(*(says(f"answer {n}") for n in range(100)))):
        await sample("m").main()
    assert capsys.readouterr().out == "100\n"


def test_samples_type_check_and_planted_mistakes_are_flagged(tmp_path: Path) -> None:
    text = (SAMPLES / "mistakes.txt").read_text("utf-8")
    planted = {number for number, line in enumerate(text.splitlines(), 1) if "# MISTAKE" in line}
    mistakes = tmp_path / "mistakes.py"
    mistakes.write_text(text, "utf-8")
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-pretty", str(SAMPLES), str(mistakes)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line.split(":", 2) for line in done.stdout.splitlines() if ": error: " in line]
    assert [error for error in errors if not error[0].endswith("mistakes.py")] == []
    assert {int(line) for _, line, _ in errors} == planted, done.stdout + done.stderr
