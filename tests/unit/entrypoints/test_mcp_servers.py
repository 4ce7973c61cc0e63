"""Which MCP servers are configured: every place, whose word counts, and what is told of the others."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

import geode
from geode.domain.errors import Misuse
from geode.domain.mcp_server import McpServer
from geode.entrypoints.mcp_servers import Servers, configured_servers
from tests.unit.entrypoints.places import Places, new_places


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return new_places(tmp_path, monkeypatch)


def found(places: Places, *files: str, **settings: Any) -> Servers:
    return configured_servers(places.configuration(), files, **settings)


def commands(servers: Servers) -> dict[str, str]:
    return {one.name: one.command[0] for one in servers.usable()[0]}


def states(servers: Servers) -> dict[str, str]:
    return {one.name: one.state for one in servers.configured}


def toml(name: str, command: str, more: str = "") -> str:
    return f"[mcp.servers.{name}]\ncommand = ['{command}']\n{more}\n"


def others(path: Path, **commands: str) -> Path:
    path.write_text(json.dumps({"mcpServers": {name: {"command": command} for name, command in commands.items()}}, indent=1))
    return path


def trust(places: Places, more: str = "") -> None:
    places.write("global", f"[mcp]\ntrust_projects = ['{os.getcwd()}']\n{more}")


def test_nothing_is_configured_where_nothing_is_written(places: Places) -> None:
    assert found(places) == Servers(())


def test_a_server_of_the_user_is_used_and_has_its_place(places: Places) -> None:
    path = places.write("global", "# mine\n" + toml("files", "npx"))
    (one,) = found(places).configured
    assert (one.name, one.state, one.place) == ("files", "used", f"{path}:2:1")
    assert one.server == McpServer("files", command=["npx"])


@pytest.mark.parametrize("how", ["config", "variable", "option"])
def test_a_file_of_others_is_named_in_three_places(places: Places, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    path = others(places.home / "mcp.json", files="npx")
    if how == "config":
        places.write("global", "[mcp]\nconfig = 'mcp.json'\n")  # in the folder of the file that says it
    elif how == "variable":
        monkeypatch.setenv("GEODE_MCP_CONFIG", str(path))
    servers = found(places, *([str(path)] if how == "option" else []))
    assert [(one.name, one.place) for one in servers.configured] == [("files", f"{path}:3")]


def test_the_strongest_place_of_a_name_wins(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one place the config.toml itself; an option takes the place of the variable, and that of the config.toml."""
    others(places.home / "weak.json", a="weak", b="weak", c="weak", d="weak", e="weak")
    trust(places, "config = 'weak.json'\n" + toml("a", "global") + toml("b", "global"))
    places.write("project", toml("b", "project"))
    assert commands(found(places)) == {"a": "global", "b": "project", "c": "weak", "d": "weak", "e": "weak"}
    monkeypatch.setenv("GEODE_MCP_CONFIG", str(others(places.home / "variable.json", b="variable", c="variable")))
    assert commands(found(places)) == {"a": "global", "b": "variable", "c": "variable"}
    option = others(places.home / "option.json", a="option", d="option")
    again = others(places.home / "again.json", d="again")
    assert commands(found(places, str(option), str(again))) == {"a": "option", "b": "project", "d": "again"}


def test_a_working_directory_may_begin_with_the_home_folder(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(places.home))
    places.write("global", toml("files", "npx", "cwd = '~/files'"))
    assert [server.cwd for server in found(places).usable()[0]] == [f"{places.home}/files"]


# ---- a project is somebody else's --------------------------------------------------------------


def test_a_projects_servers_are_not_used_and_that_is_told(places: Places) -> None:
    places.write("global", toml("mine", "mine"))
    path = places.write("project", toml("theirs", "rm"))
    servers = found(places)
    assert states(servers) == {"mine": "used", "theirs": "not trusted"}
    used, told = servers.usable()
    assert [one.name for one in used] == ["mine"]
    folder, of_user = os.path.realpath("."), places.home / "config.toml"
    way_out = f'--mcp-project uses them once, trust_projects = ["{folder}"] below [mcp] in {of_user} always'
    assert told == (f"{path}:1:1: MCP servers of this project are not used (theirs): {way_out}",)


def test_a_projects_server_never_takes_the_place_of_the_users_own(places: Places) -> None:
    places.write("global", toml("files", "mine"))
    places.write("project", toml("files", "theirs"))
    servers = found(places)
    assert commands(servers) == {"files": "mine"}
    assert "MCP servers of this project are not used (files)" in servers.told[0]


@pytest.mark.parametrize("how", ["global", "option", "home"])
def test_the_user_may_allow_a_project(places: Places, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    places.write("project", toml("theirs", "theirs"))
    if how == "global":
        trust(places)
    elif how == "home":
        monkeypatch.setenv("HOME", str(Path.cwd().parent))
        places.write("global", f"[mcp]\ntrust_projects = ['~/{Path.cwd().name}/']\n")
    assert commands(found(places, use_project=how == "option")) == {"theirs": "theirs"}


@pytest.mark.parametrize("named", ["..", "", "/", "~", "elsewhere"])
def test_another_folder_that_is_allowed_is_not_this_one(places: Places, named: str) -> None:
    places.write("global", f"[mcp]\ntrust_projects = ['{named}']\n")
    places.write("project", toml("theirs", "theirs"))
    assert states(found(places)) == {"theirs": "not trusted"}


def test_no_project_can_trust_itself(places: Places) -> None:
    path = places.write("project", "# x\n[mcp]\ntrust_projects = ['.']\n")
    with pytest.raises(Misuse) as caught:
        places.configuration()
    of_user = places.home / "config.toml"
    said = f"{path}:3:1: mcp.trust_projects belongs into {of_user}: no project can trust itself [config-key]"
    assert str(caught.value) == said


def test_what_a_project_says_of_trust_does_not_count(places: Places) -> None:
    trust(places, toml("mine", "mine", "trusted = true"))
    places.write("project", toml("theirs", "theirs", "trusted = true\ntiers = { drop = 'safe' }"))
    servers = found(places)
    mine, theirs = servers.usable()[0]
    assert (mine.trusted, theirs.trusted, theirs.tiers) == (True, False, {})
    assert [text.partition(": ")[2] for text in servers.told] == [
        'what a project says of "trusted" and "tiers" does not count (theirs)'
    ]


@pytest.mark.parametrize("place", ["project", ".env"])
def test_a_file_that_only_a_project_names_is_not_even_read(places: Places, place: str) -> None:
    broken = places.home / "broken.json"
    broken.write_text("{")
    places.write(place, f"[mcp]\nconfig = '{broken}'\n" if place == "project" else f"GEODE_MCP_CONFIG={broken}\n")
    servers = found(places)
    where = ".geode/config.toml:2:1" if place == "project" else "GEODE_MCP_CONFIG in .env:1"
    assert servers.configured == ()
    assert [text.partition(": --mcp")[0] for text in servers.told] == [
        f"{where}: MCP servers of this project are not used ({broken})"
    ]
    with pytest.raises(Misuse, match=f"{broken}:1: this is no JSON"):
        found(places, use_project=True)


def test_a_projects_env_file_gives_no_values_to_the_users_servers(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    places.write("global", toml("mine", "mine", "env = ['TOKEN']\nrequired = false"))
    places.write(".env", "TOKEN=theirs\n")
    servers = found(places)
    assert states(servers) == {"mine": "broken"}
    assert servers.usable()[1][0].endswith('MCP server "mine" is left out: the variable TOKEN is not set')
    places.write("home .env", "TOKEN=mine\n")
    assert found(places).usable()[0][0].env == {"TOKEN": "mine"}
    monkeypatch.setenv("TOKEN", "process")
    assert found(places).usable()[0][0].env == {"TOKEN": "process"}


# ---- what is not used --------------------------------------------------------------------------


def test_a_server_that_is_disabled_is_left_out_without_a_word(places: Places) -> None:
    places.write("global", toml("off", "x", "disabled = true"))
    servers = found(places)
    assert (states(servers), servers.usable()) == ({"off": "disabled"}, ((), ()))


def test_a_required_server_that_cannot_be_used_is_misuse(places: Places) -> None:
    path = places.write("global", toml("a", "a", "env = ['NOWHERE_SET']"))
    with pytest.raises(Misuse) as caught:
        found(places).usable()
    assert str(caught.value) == f'{path}:1:1: MCP server "a": the variable NOWHERE_SET is not set [mcp-config]'


def test_words_of_others_are_told_with_their_line(places: Places) -> None:
    path = places.home / "mcp.json"
    path.write_text('{"mcpServers": {"a": {"command": "x",\n "autoApprove": []}, "b": {"type": "sse",\n "url": "http://b"}}}')
    servers = found(places, str(path))
    assert states(servers) == {"b": "broken", "a": "used"}
    assert servers.told == (f"{path}:2: mcpServers.a.autoApprove is passed over: geode does not know it",)
    with pytest.raises(Misuse, match=rf'{path}:2: MCP server "b": b: the transport sse is not spoken'):
        servers.usable()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[mcp.servers.a]\ncomand = ['x']\n", ':2:1: the MCP server a has no "comand"; did you mean command? [config-key]'),
        (
            "[mcp.servers.a]\ncommand = 'x'\n",
            ":2:1: command of the MCP server a must be a list of texts, got text [config-value]",
        ),
        ("[mcp]\nserver = 1\n", ':2:1: there is no setting "mcp.server"; did you mean mcp.servers? [config-key]'),
    ],
)
def test_a_broken_declaration_is_told_by_whatever_reads_the_configuration(places: Places, text: str, said: str) -> None:
    path = places.write("global", text)
    with pytest.raises(Misuse) as caught:
        places.configuration()
    assert f"{path}{said}" in str(caught.value)


# ---- in Python ---------------------------------------------------------------------------------


def test_servers_of_a_file_for_tools(places: Places, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TOKEN", "t")
    path = Path("mcp.json")
    path.write_text('{"mcpServers": {"a": {"command": "${TOKEN}"}, "off": {"command": "x", "disabled": true}}, "more": 1}')
    with caplog.at_level(logging.WARNING, "geode"):
        assert geode.mcp_servers_from("mcp.json") == [McpServer("a", command=["t"])]
    assert caplog.messages == ["mcp.json:1: more is passed over: geode does not know it"]
    Path("servers.toml").write_text("other = 1\n" + toml("b", "b", "trusted = true"))
    assert geode.mcp_servers_from(Path("servers.toml")) == [McpServer("b", command=["b"], trusted=True)]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gone.json", None, "gone.json cannot be read: No such file"),
        ("gone.toml", None, "gone.toml is not there"),
        ("a.json", "{}", "a.json:1: this has no servers: write"),
        ("a.json", '{"mcpServers": {"a": {"command": "${GONE}"}}}', 'a.json:1: MCP server "a": the variable GONE is not set'),
        ("a.toml", "[mcp.servers.a]\nx = 1\ny = 2\n", 'a.toml:2:1: the MCP server a has no "x"'),
    ],
)
def test_what_cannot_be_used_of_a_file_is_misuse(places: Places, name: str, text: str | None, said: str) -> None:
    if text is not None:
        Path(name).write_text(text)
    with pytest.raises(Misuse) as caught:
        geode.mcp_servers_from(name)
    assert said in str(caught.value)
