"""`geode mcp`, and the servers that `geode run` and its kin use: real ones, written by hand."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from geode.domain.script import Step
from geode.entrypoints.cli.arguments import parser
from geode.entrypoints.cli.main import main
from geode.entrypoints.cli.run import _of_session
from geode.entrypoints.places import HOME
from geode.testing import ScriptedModel, calls, default_model, says
from tests.unit.entrypoints.cli.servers import command, of_others, others, toml

Ran = tuple[int, str, str]


@pytest.fixture
def home(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(HOME, str(project / "home"))
    (project / "home").mkdir()
    return project / "home"


@pytest.fixture
def geode(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def geode(*arguments: str) -> Ran:
        code = main(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    return geode


@pytest.fixture
def run(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str, ScriptedModel]]:
    def run(*arguments: str, script: tuple[Step, ...] = (says("Hello."),)) -> tuple[int, str, str, ScriptedModel]:
        model = ScriptedModel(*script)
        with default_model(model):
            code = main(["run", *arguments])
        out, err = capsys.readouterr()
        return code, out, err, model

    return run


# ---- geode mcp ---------------------------------------------------------------------------------


def test_where_nothing_is_configured_that_is_told(geode: Callable[..., Ran]) -> None:
    code, out, err = geode("mcp", "list")
    assert (code, out) == (0, "")
    assert err.startswith("geode mcp: no MCP server is configured: [mcp.servers.NAME] in")
    assert geode("mcp", "list", "--json")[:2] == (0, "[]\n")


def test_every_server_is_listed_with_its_state_and_place(geode: Callable[..., Ran], home: Path) -> None:
    (home / "config.toml").write_text(
        toml("files", command("read", "write"))
        + toml("off", ["x"], "disabled = true")
        + toml("bare", ["x"], "env = ['NOWHERE_SET']\nrequired = false")
        + toml("gone", command(fails="no licence"), "required = false")
    )
    Path(".geode").mkdir()
    Path(".geode/config.toml").write_text(toml("theirs", ["rm"]))
    code, out, _ = geode("mcp", "list")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    config = home / "config.toml"
    assert lines[0] == ["SERVER", "STATE", "TOOLS", "PLACE"]
    assert lines[1] == ["files", "ready", "2", f"{config}:1:1"]
    assert [line[:2] for line in lines[2:5]] == [["off", "disabled"], ["bare", "broken"], ["gone", "failed"]]
    assert lines[5] == ["theirs", "not", "trusted", "-", ".geode/config.toml:1:1"]
    assert "bare: the variable NOWHERE_SET is not set" in out
    assert "no licence" in out
    assert "theirs: a project's servers are used only where you allow it: --mcp-project" in out


def test_the_list_as_json(geode: Callable[..., Ran], home: Path) -> None:
    path = others(home / "mcp.json", files=of_others(command("read")))
    code, out, _ = geode("mcp", "list", "--json", "--mcp-config", str(path))
    assert (code, json.loads(out)) == (
        0,
        [{"name": "files", "state": "ready", "why": None, "required": True, "place": f"{path}:2", "tools": 1}],
    )


def test_a_required_server_that_fails_is_exit_code_1(geode: Callable[..., Ran], home: Path) -> None:
    path = others(home / "mcp.json", files=of_others(command(fails="no licence")), well=of_others(command("a")))
    for action in ("list", "check"):
        code, out, _ = geode("mcp", action, "--mcp-config", str(path))
        assert (code, "no licence" in out) == (1, True)
    assert geode("mcp", "check", "well", "--mcp-config", str(path))[0] == 0


def test_a_check_tells_what_tools_are_called_and_why_their_tiers_are_theirs(geode: Callable[..., Ran], home: Path) -> None:
    reading = {"name": "look", "annotations": {"readOnlyHint": True}}
    (home / "config.toml").write_text(
        toml("a", command("read", "get.it"), "tiers = { read = 'safe' }")
        + toml("b", command("read", {"name": "bad", "inputSchema": {"type": "array"}}))
        + toml("c", command(reading), "trusted = true\nprefix = true\nrequired = false")
    )
    code, out, _ = geode("mcp", "check")
    assert code == 0
    assert f"a (by hand 1.2): ready, required, declared at {home}/config.toml:1:1" in out
    assert "c (by hand 1.2): ready, not required" in out
    rows = [line.split(maxsplit=3) for line in out.splitlines() if line.startswith("  ") and "notice" not in line]
    assert ["read", "a__read", "SAFE", "tiers says so"] in rows
    assert ["read", "b__read", "DANGEROUS", "the server is not trusted"] in rows
    assert ["look", "c__look", "MCP_TRUSTED", "the server says so, and is trusted"] in rows
    assert [row[1].startswith("get_it") for row in rows if row[0] == "get.it"] == [True]
    assert any("notice: " in line and "bad" in line for line in out.splitlines())
    told = json.loads(geode("mcp", "check", "c", "--json")[1])
    assert told[0]["server"] == "by hand 1.2"
    assert told[0]["tools"] == [
        {
            "name": "look",
            "called": "c__look",
            "tier": "mcp_trusted",
            "why": "the server says so, and is trusted",
            "description": "From far.",
        }
    ]


def test_a_name_that_is_not_configured_is_refused_with_the_closest(geode: Callable[..., Ran], home: Path) -> None:
    (home / "config.toml").write_text(toml("files", ["x"]))
    code, _, err = geode("mcp", "check", "fiels")
    assert (code, err) == (2, 'geode mcp: no MCP server "fiels" is configured; did you mean files? [mcp-name]\n')


def test_a_program_that_is_not_there_is_told_with_a_way_out_in_the_words_of_a_file(
    geode: Callable[..., Ran], home: Path
) -> None:
    (home / "config.toml").write_text(toml("files", ["no-such-mcp"]))
    told = 'MCP server "files": command "no-such-mcp" not found on PATH. required = false in its declaration goes on without it'
    assert told in geode("mcp", "list")[1]
    with default_model(ScriptedModel()):
        code, _, err = geode("run", "Hi")
    assert (code, told in err) == (2, True)


# ---- geode run ---------------------------------------------------------------------------------


def test_a_run_has_the_tools_of_the_servers_that_are_configured(
    run: Callable[..., tuple[int, str, str, ScriptedModel]], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hidden")
    (home / "config.toml").write_text(
        toml("files", command("look"), "tiers = { look = 'safe' }\nenv = { TOLD = 'env:SECRET' }")
    )
    code, out, _, model = run("Look", "--tools", "app:add", script=(calls(("look", {})), says("Done.")))
    assert (code, out) == (0, "Done.\n")
    assert {"add", "look"} <= {tool.name for tool in model.requests[0].tools}
    assert [result.text for result in model.requests[1].conversation.results()] == ["look with hidden"]
    assert "look" not in {tool.name for tool in run("Look", "--no-mcp")[3].requests[0].tools}


def test_a_run_can_name_a_file_of_others(run: Callable[..., tuple[int, str, str, ScriptedModel]], home: Path) -> None:
    path = others(home / "mcp.json", files=of_others(command("look"), autoApprove=[]))
    code, _, err, model = run(
        "Look", "--mcp-config", str(path), "--approve", "look", script=(calls(("look", {})), says("Done."))
    )
    assert code == 0
    assert [result.text for result in model.requests[1].conversation.results()] == ["look with nothing"]
    assert f"geode run: {path}:2: mcpServers.files.autoApprove is passed over" in err


def test_nobody_who_approves_is_told_once_for_all_tools_of_a_server(
    run: Callable[..., tuple[int, str, str, ScriptedModel]], home: Path
) -> None:
    (home / "config.toml").write_text(toml("files", command("look")))
    _, _, err, model = run("Look", script=(calls(("look", {})), says("Done.")))
    assert "geode run: calls of tools of files above MCP_TRUSTED will be denied; --approve NAME,… allows\n" in err
    assert [result.kind for result in model.requests[1].conversation.results()] == ["denied"]


def test_a_projects_servers_are_started_only_where_it_is_allowed(
    run: Callable[..., tuple[int, str, str, ScriptedModel]],
) -> None:
    Path(".geode").mkdir()
    Path(".geode/config.toml").write_text(toml("theirs", command("look")))
    code, _, err, model = run("Look")
    assert (code, "look" in {tool.name for tool in model.requests[0].tools}) == (0, False)
    assert "MCP servers of this project are not used (theirs): --mcp-project uses them once" in err
    assert "look" in {tool.name for tool in run("Look", "--mcp-project")[3].requests[0].tools}


def test_a_server_that_a_run_needs_and_that_fails_ends_it_before_anything_is_sent(
    run: Callable[..., tuple[int, str, str, ScriptedModel]], home: Path
) -> None:
    (home / "config.toml").write_text(toml("files", command(fails="no licence")))
    code, out, err, model = run("Look", script=())
    assert (code, out, model.requests) == (5, "", [])
    assert "files" in err
    assert "no licence" in err


def test_what_is_left_out_is_told_and_the_run_goes_on(
    run: Callable[..., tuple[int, str, str, ScriptedModel]], home: Path
) -> None:
    (home / "config.toml").write_text(toml("bare", ["x"], "env = ['NOWHERE_SET']\nrequired = false"))
    code, out, err, _ = run("Look")
    assert (code, out) == (0, "Hello.\n")
    assert 'MCP server "bare" is left out: the variable NOWHERE_SET is not set' in err


def test_how_a_run_is_gone_on_with_says_where_its_servers_are() -> None:
    given = ["--mcp-config", "a.json", "--mcp-config", "b.json", "--mcp-project"]
    assert list(_of_session(parser().parse_args(["run", "Hi", *given]))) == given
    assert list(_of_session(parser().parse_args(["run", "Hi", "--no-mcp"]))) == ["--no-mcp"]


def test_a_chat_has_them_too(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "config.toml").write_text(toml("files", command("look"), "tiers = { look = 'safe' }"))
    model = ScriptedModel(calls(("look", {})), says("Done."))
    monkeypatch.setattr("sys.stdin", io.StringIO("Look\n/tools\n"))
    with default_model(model):
        assert main(["chat"]) == 0
    out = capsys.readouterr().out
    assert [result.text for result in model.requests[1].conversation.results()] == ["look with nothing"]
    assert "Done." in out
    assert "and those of files, which are known when it is open: geode mcp check files" in out
