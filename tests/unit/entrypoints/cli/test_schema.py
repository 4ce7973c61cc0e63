"""`geode run --schema`: the answer as JSON on stdout, and the exit codes of every other run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from geode.domain.script import Step
from geode.entrypoints.cli.main import main
from geode.testing import ScriptedModel, cut, default_model, refuses, says

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
Ran = tuple[int, str, str, ScriptedModel]


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    (project / "person.json").write_text(json.dumps(SCHEMA), "utf-8")

    def run(*script: Step, command: tuple[str, ...] = ("run", "Who?"), more: tuple[str, ...] = ()) -> Ran:
        model = ScriptedModel(*script)
        with default_model(model):
            code = main([*command, "--schema", str(project / "person.json"), *more])
        out, err = capsys.readouterr()
        return code, out, err, model

    return run


def test_the_json_of_the_answer_is_all_that_stdout_holds(run: Callable[..., Ran]) -> None:
    code, out, err, model = run(says('```json\n{"name":\n "Ada"}\n```'))
    assert (code, out, err) == (0, '{"name":"Ada"}\n', "")
    assert model.requests[0].response_schema == SCHEMA


def test_a_repair_is_told_on_stderr(run: Callable[..., Ran]) -> None:
    code, out, err, _ = run(says("Ada"), says('{"name":"Ada"}'))
    assert (code, out) == (0, '{"name":"Ada"}\n')
    assert "does not fit the schema" in err


def test_the_events_hold_the_text(run: Callable[..., Ran]) -> None:
    code, out, _, _ = run(says('{"name":"Ada"}'), more=("--jsonl",))
    assert code == 0
    assert json.loads(out.splitlines()[-1])["outcome"]["text"] == '{"name":"Ada"}'


@pytest.mark.parametrize(
    ("script", "code", "word"),
    [
        ((says("Ada"), says("Ada")), 5, "answer_invalid: "),
        ((refuses("I can't"),), 3, "model_refusal"),
        ((cut(says('{"name":')),), 4, "answer_truncated"),
    ],
)
def test_what_is_no_answer_has_the_code_of_its_outcome(
    run: Callable[..., Ran], script: tuple[Step, ...], code: int, word: str
) -> None:
    found, _, err, _ = run(*script)
    assert found == code
    assert word in err


def test_a_run_that_was_kept_is_gone_on_with_by_its_schema(
    run: Callable[..., Ran], project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--journal", str(project / "kept"))
    run(says('```json\n{"name":"Ada"}\n```'), more=kept)
    (file,) = [one for one in (project / "kept").iterdir() if one.suffix == ".jsonl"]
    again = ("runs", "resume", file.stem)
    code, out, _, model = run(command=again, more=kept)
    assert (code, out, model.requests) == (0, '{"name":"Ada"}\n', [])
    with default_model(ScriptedModel()):
        code = main([*again, *kept])
    assert (code, "was begun with another answer=" in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("text", "word"),
    [("{", "this is no JSON"), ('{"type": "objekt"}', "is no JSON Schema"), ("[]", "answer= takes")],
)
def test_a_file_that_is_no_schema_is_told(project: Path, capsys: pytest.CaptureFixture[str], text: str, word: str) -> None:
    (project / "bad.json").write_text(text, "utf-8")
    with default_model(ScriptedModel()):
        code = main(["run", "Who?", "--schema", str(project / "bad.json")])
    assert code == 2
    assert word in capsys.readouterr().err
