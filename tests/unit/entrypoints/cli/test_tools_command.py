"""`geode tools`: what a run would have, and everything that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geode.entrypoints.cli.main import main
from geode.entrypoints.cli.schema_changes import schema_changes
from geode.entrypoints.places import HOME
from geode.entrypoints.routes.registry import forget_adapters
from geode.testing import ScriptedModel, calls, default_model, says
from tests.unit.entrypoints.cli.servers import command, toml

Ran = tuple[int, str, str]
ADD = {
    "name": "add",
    "description": "Add two numbers.\nSlowly.",
    "tier": "safe",
    "input_schema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
}


@pytest.fixture
def geode(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    monkeypatch.setenv(HOME, str(project / "home"))
    (project / "home").mkdir()

    def geode(*arguments: str) -> Ran:
        code = main(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    return geode


def definitions(*entries: Any, name: str = "definitions.json") -> str:
    Path(name).write_text("[\n" + ",\n".join(map(json.dumps, entries)) + "\n]")
    return f"{name}:app"


# ---- --tools FILE.json:MODULE ------------------------------------------------------------------


def test_a_run_has_tools_from_definitions(geode: Callable[..., Ran]) -> None:
    model = ScriptedModel(calls(("add", {"a": 1, "b": 2})), says("Three."))
    with default_model(model):
        code, out, _ = geode("run", "Add", "--tools", definitions(ADD), "--tools", "app:stumble")
    assert (code, out) == (0, "Three.\n")
    assert [result.text for result in model.requests[1].conversation.results()] == ["3"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("definitions.json", "--tools definitions.json: names no module of functions; write definitions.json:MODULE ["),
        ("definitions.json:", "--tools definitions.json:: names no module of functions; write definitions.json:MODULE ["),
        ("gone.json:app", "gone.json cannot be read: No such file or directory"),
        ("definitions.json:nowhere", '--tools definitions.json:nowhere: there is no module "nowhere"'),
        ("other.json:app", 'other.json:2: tool "ad" has no handler: module "app" has no "ad"; did you mean add?'),
    ],
)
def test_what_is_wrong_with_definitions_is_wrong_use(geode: Callable[..., Ran], wanted: str, said: str) -> None:
    definitions(ADD)
    definitions({**ADD, "name": "ad"}, name="other.json")
    code, _, err = geode("run", "Hi", "--tools", wanted)
    assert code == 2
    assert f"geode run: {said}" in err


# ---- geode tools list --------------------------------------------------------------------------


def test_tools_of_every_source_are_listed(geode: Callable[..., Ran], project: Path) -> None:
    (project / "home" / "config.toml").write_text(toml("files", command("add", "look"), "tiers = { look = 'safe' }"))
    code, out, err = geode("tools", "list", "--tools", definitions(ADD), "--tools", "app:save")
    assert (code, err) == (0, "")
    rows = [line.split(maxsplit=2) for line in out.splitlines()]
    assert (
        rows[0] == ["TOOL", "TIER", "SOURCE              DESCRIPTION".replace("SOURCE  ", "SOURCE  ")] or rows[0][0] == "TOOL"
    )
    assert [(row[0], row[1]) for row in rows[1:]] == [
        ("add", "SAFE"),
        ("save", "WRITE"),
        ("files__add", "DANGEROUS"),
        ("look", "SAFE"),
    ]
    assert rows[1][2].startswith("definitions.json:2")
    assert rows[1][2].endswith("  Add two numbers.")
    assert rows[2][2].startswith("app.py:")
    assert rows[3][2].startswith("MCP server files as add  ")
    told = json.loads(geode("tools", "list", "--json", "--no-mcp", "--tools", "app:save")[1])
    (source,) = {one.pop("source") for one in told}
    assert source.startswith("app.py:")
    assert told == [{"name": "save", "tier": "write", "description": "Keep a text."}]


def test_where_there_are_none_that_is_told(geode: Callable[..., Ran]) -> None:
    code, out, err = geode("tools", "list")
    assert (code, out) == (0, "")
    assert err.startswith("geode tools: there are no tools: --tools MODULE:NAME")


def test_those_that_can_be_used_are_listed_beside_what_is_wrong(geode: Callable[..., Ran]) -> None:
    code, out, err = geode("tools", "list", "--tools", "app:add", "--tools", "nowhere:x")
    assert code == 1
    assert [line.split()[0] for line in out.splitlines()] == ["TOOL", "add"]
    assert 'geode tools: --tools nowhere:x: there is no module "nowhere"' in err


# ---- geode tools check -------------------------------------------------------------------------


def test_nothing_is_wrong_with_good_tools(geode: Callable[..., Ran]) -> None:
    assert geode("tools", "check", "--tools", "app:everything") == (0, "3 tools: nothing is wrong\n", "")


def test_everything_that_is_wrong_is_told(geode: Callable[..., Ran]) -> None:
    Path("bad.py").write_text("def f(x): ...\ndef g(y): ...\nboth = [f, g]\n")
    strange = {
        **ADD,
        "name": "save",
        "input_schema": {"type": "object", "properties": {"text": {"type": "strung"}}, "required": ["text"]},
    }
    file = definitions(
        {**ADD, "teir": "safe", "max_calls": 0}, strange, {**ADD, "name": "stumble"}, {**ADD, "fallback": "nobody"}
    )
    code, out, _ = geode("tools", "check", "--tools", file, "--tools", "app:add", "--tools", "bad:both")
    assert code == 1
    problems = [line.removeprefix("problem: ") for line in out.splitlines() if line.startswith("problem: ")]
    for said in (
        'definitions.json:2: tool "add" has "teir", which is unknown; did you mean tier? [definition]',
        'definitions.json:2: tool "add": max_calls must be a whole number of 1 or more, got 0 [tool-setting]',
        'definitions.json:4: tool "stumble": its handler stumble (app.py:',
        'tool f (bad.py:1): parameter "x" has no annotation',
        'tool g (bad.py:2): parameter "y" has no annotation',
        'two tools are called "add": definitions.json:5 and app.py:',
        "tool save (definitions.json:3): input_schema is no JSON Schema that can be checked",
        'tool add (definitions.json:5): fallback names "nobody"',
    ):
        assert [text for text in problems if text.startswith(said)], (said, problems)
    told = json.loads(geode("tools", "check", "--json", "--tools", file, "--tools", "app:add", "--tools", "bad:both")[1])
    assert told["problems"] == problems
    assert out.splitlines()[-1] == f"3 tools: {len(problems)} problems"


def test_a_server_that_is_needed_and_fails_is_a_problem(geode: Callable[..., Ran], project: Path) -> None:
    (project / "home" / "config.toml").write_text(
        toml("files", command(fails="no licence")) + toml("more", command(fails="no card"), "required = false")
    )
    code, out, err = geode("tools", "check")
    assert code == 1
    assert "no licence" in out
    assert "no card" not in out
    assert "no card" in err


def test_what_a_models_server_refuses_or_is_told_otherwise(geode: Callable[..., Ran]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"required": []}]}
    file = definitions(
        {**ADD, "name": "add", "strict": True},
        {
            **ADD,
            "name": "stumble",
            "input_schema": {**schema, "properties": {"word": {"type": "string"}}, "required": ["word"]},
        },
    )
    code, out, _ = geode("tools", "check", "--tools", file, "--model", "gpt-5.2")
    assert (code, out.splitlines()[-1]) == (0, "2 tools: nothing is wrong")
    lines = [line for line in out.splitlines() if line.startswith("gpt-5.2 is told otherwise: ")]
    # OpenAI permits no anyOf at the root (wire facts H).
    assert "gpt-5.2 is told otherwise: tool stumble: /anyOf is left out" in lines
    assert any("tool add: /additionalProperties is added: false" in line for line in lines)
    free = {**ADD, "strict": True, "input_schema": {**ADD["input_schema"], "patternProperties": {"x": {}}}}  # type: ignore[dict-item]
    code, out, _ = geode("tools", "check", "--tools", definitions(free), "--model", "gpt-5.2")
    assert code == 1
    assert "problem: gpt-5.2: tool add: its schema cannot be strict here; " in out
    assert "is told otherwise" not in out


def test_a_server_that_takes_no_tools_is_a_problem(
    geode: Callable[..., Ran], project: Path, request: pytest.FixtureRequest
) -> None:
    block = '[providers.lab]\nbase_url = "http://127.0.0.1:9/v1"\nquirks = { tools = false }\n'
    (project / "home" / "routing.toml").write_text(block)
    forget_adapters()
    request.addfinalizer(forget_adapters)
    code, out, _ = geode("tools", "check", "--tools", "app:add", "--model", "lab/x")
    assert (code, out) == (1, "problem: lab/x: lab takes no tools\n1 tool: 1 problem\n")


def test_a_model_that_nobody_serves_is_wrong_use(geode: Callable[..., Ran]) -> None:
    code, _, err = geode("tools", "check", "--tools", "app:add", "--model", "nobody-knows")
    assert (code, "[unknown-model]" in err) == (2, True)


@pytest.mark.parametrize(
    ("own", "sent", "told"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1.0}, [("/a", "goes out as 1.0")]),
        ({"a": 1, "b/c": 2}, {"a": 1}, [("/b~1c", "is left out")]),
        ({}, {"a": [1]}, [("/a", "is added: [1]")]),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 3}, 2]}, [("/a/0/b", "goes out as 3")]),
        ({"a": [1]}, {"a": [1, 2]}, [("/a", "goes out as [1,2]")]),
        ({"a": True}, {"a": 1}, [("/a", "goes out as 1")]),
        ({"a": {"x": 1}}, {"a": []}, [("/a", "goes out as []")]),
    ],
)
def test_each_change_of_a_schema_has_its_place(own: object, sent: object, told: list[tuple[str, str]]) -> None:
    assert list(schema_changes(own, sent)) == told


SOURCE = """
from contextlib import asynccontextmanager
import geode
from geode.ports import Listing, Tool, ToolSourceError, ToolSpec

class Shelf:
    origin, required = "shelf", True
    def __init__(self, name): self.name = name
    @asynccontextmanager
    async def opened(self):
        if self.name == "shut": raise ToolSourceError("shut: the shelf is locked")
        yield self
    async def listing(self):
        spec = ToolSpec("add", "Adds from a shelf.", {"type": "object"})
        return Listing((Tool(spec, geode.SafetyTier.SAFE, lambda *_: "from the shelf", origin="shelf"),), ("a book is torn",))
    def changed(self): return False

shelf, shut = Shelf("shelf"), Shelf("shut")
server = geode.McpServer("far", command=COMMAND)
all = [shelf, server]
"""


def test_a_module_may_have_sources_of_tools(geode: Callable[..., Ran]) -> None:
    Path("shelves.py").write_text(SOURCE.replace("COMMAND", repr(command("look"))))
    code, out, err = geode("tools", "list", "--tools", "app:add", "--tools", "shelves:all")
    assert (code, err) == (0, "")
    assert [tuple(line.split()[:2]) for line in out.splitlines()[1:]] == [
        ("add", "SAFE"),
        ("look", "DANGEROUS"),
        ("shelf__add", "SAFE"),
    ]
    assert "source shelf as add" in out
    assert "notice: shelf: a book is torn" in geode("tools", "check", "--tools", "shelves:shelf")[1]
    code, _, err = geode("tools", "list", "--tools", "shelves:shut,shelf")
    assert (code, err) == (1, "geode tools: --tools: shut: the shelf is locked\n")
    model = ScriptedModel(calls(("shelf__add", {})), says("Done."))
    with default_model(model):
        assert geode("run", "Hi", "--tools", "app:add", "--tools", "shelves:shelf")[0] == 0
    assert [result.text for result in model.requests[1].conversation.results()] == ["from the shelf"]
