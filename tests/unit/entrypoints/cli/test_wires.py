"""`geode run --base-url` against an emulator, for each wire, streamed and not: the same script, the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geode.adapters.clock_system import SystemClock
from geode.domain.script import calls, drops, fails, refuses, says, thinks
from geode.entrypoints.cli.main import main
from geode.entrypoints.demo.same import difference, shared
from geode.entrypoints.emulator import Emulator, Running, running_in_thread
from tests.unit.entrypoints.cli.commands import lines_of

SCRIPT = (
    thinks("Two at once.") + says("I add.") + calls(("add", {"a": 1, "b": 2}), ("stumble", {"word": "luck"})),
    fails(529, retry_after=0.01),
    says("Now I keep it.") + calls(("save", {"text": "three"}), ("add", {"a": "one"})),
    says("Three, and kept."),
)
WIRES = {
    "messages": ("", ["--model", "claude-sonnet-4-5"]),
    "responses": ("/v1", ["--model", "gpt-5.2"]),
    "chat": ("/v1", ["--model", "my-llama", "--wire", "chat"]),
    # A server of one's own may speak any of them, and need not be called as the provider is.
    "messages of one's own": ("", ["--model", "my-llama", "--wire", "messages"]),
    "responses of one's own": ("/v1", ["--model", "lab/llama", "--wire", "responses"]),
}


def arguments(server: Running, wire: str, *more: str) -> list[str]:
    path, model = WIRES[wire]
    return ["run", "Go", *model, "--base-url", server.base_url + path, "--tools", "app:everything", *more]


def told(server: Running, wire: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    assert main(arguments(server, wire, "--jsonl", "--approve", "all", *more)) == 0
    return lines_of(capsys.readouterr().out)


def told_in_order(events: list[dict[str, Any]]) -> bool:
    """Whether each round tells of its calls before it closes."""
    kinds = {"ToolStarted": 0, "ToolFinished": 1, "RoundClosed": 2}
    told = [(event["round"], kinds[event["event"]] // 2) for event in events if event["event"] in kinds]
    return told == sorted(told)


@pytest.fixture(scope="module")
def reference() -> list[list[dict[str, Any]]]:
    """The first run of this module, which every other must equal."""
    return []


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_the_same_script_gives_the_same_outcome_and_events(
    project: Path, capsys: pytest.CaptureFixture[str], reference: list[list[dict[str, Any]]], wire: str, streamed: bool
) -> None:
    with running_in_thread(Emulator(SCRIPT)) as server:
        events = told(server, wire, capsys, *(["--stream"] if streamed else []))
    assert server.emulator.violations == ()
    assert server.emulator.position == len(SCRIPT)
    assert {one.request.get("stream", False) for one in server.emulator.received} == {streamed}
    assert any(event["event"] == "TextDelta" for event in events) == streamed
    assert events[-1]["outcome"]["text"] == "Three, and kept."
    assert told_in_order(events)
    # The seconds of a retry are drawn by chance; that there is one is not. Why it is made each provider says in its words.
    common = shared({**event, "why": ""} if event["event"] in ("ModelFailed", "Retrying") else event for event in events)
    reference.append(common)
    assert difference(reference[0], common) == ""


@pytest.mark.parametrize("wire", ["messages", "responses", "chat"])
@pytest.mark.parametrize(
    ("script", "code", "reason"),
    [
        ((refuses("I would rather not."),), 3, "Refused (model_refusal)"),
        ((fails(400, message="no such thing"),), 5, "Failed (request_error: "),
        ((fails(401, message="who are you"),), 5, "Failed (auth_error: "),
        ((drops("after_output"),), 5, "Failed (model_error: "),
    ],
)
def test_ends_other_than_an_answer_have_their_code_and_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], wire: str, script: Any, code: int, reason: str
) -> None:
    with running_in_thread(Emulator(script)) as server:
        assert main(arguments(server, wire, "--approve", "all", "--stream")) == code
    err = capsys.readouterr().err
    assert reason in err
    assert "Traceback" not in err


@pytest.mark.parametrize("wire", ["messages", "responses", "chat"])
def test_an_address_where_nobody_listens_is_named_after_each_attempt(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, unused_port: int, wire: str
) -> None:
    monkeypatch.setattr(SystemClock, "jitter", lambda self: 0.0)
    address = f"127.0.0.1:{unused_port}"
    assert main(["run", "Hi", "--model", "m", "--base-url", f"http://{address}", "--wire", wire]) == 5
    first, second, last = capsys.readouterr().err.splitlines()
    assert first.startswith("attempt 1 failed: ")
    assert address in first
    assert second.startswith("attempt 2 failed: ")
    assert last.startswith("geode run: Failed (model_error: ")
    assert address in last


def test_the_key_of_a_server_of_ones_own_comes_from_the_named_variable(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "lab-secret")
    with running_in_thread(Emulator((says("Hi."),), api_key="lab-secret")) as server:
        assert main(arguments(server, "chat", "--key-from", "LAB_KEY")) == 0
    out, err = capsys.readouterr()
    assert out == "Hi.\n"
    assert "lab-secret" not in out + err
