"""Servers as files declare them: which words there are, what is wrong with them, and the variables that they name."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

import pytest

from geode.domain.mcp_declarations import Declaration, McpTable, filled, mcp_table, servers_of_others
from geode.domain.mcp_server import McpServer

VARIABLES: Mapping[str, str] = {"TOKEN": "t0ken", "EMPTY": ""}


def of_toml(text: str) -> tuple[McpTable, list[tuple[tuple[str, ...], str, str]]]:
    table, problems = mcp_table(tomllib.loads(text))
    return table, [(one.path, one.kind, one.text) for one in problems]


def of_others(value: object) -> tuple[tuple[Declaration, ...], list[tuple[tuple[str, ...], str, str]]]:
    found, problems = servers_of_others(value)
    return found, [(one.path, one.kind, one.text) for one in problems]


def server(declaration: Declaration) -> McpServer:
    return filled(declaration, VARIABLES.get).unwrap()


# ---- config.toml -------------------------------------------------------------------------------


def test_a_table_is_a_server_with_its_fields() -> None:
    table, problems = of_toml(
        """
        [mcp]
        config = "mcp.json"
        trust_projects = ["~/code/site"]
        [mcp.servers.files]
        command = ["npx", "-y", "files"]
        cwd = "/srv"
        required = false
        trusted = true
        tiers = { read = "safe" }
        prefix = true
        deferred = false
        framed = true
        descriptions = false
        start_timeout_seconds = 5
        list_timeout_seconds = 6.5
        call_timeout_seconds = 7
        [mcp.servers.docs]
        url = "https://docs.example/mcp"
        disabled = true
        """
    )
    assert problems == []
    assert table.trust_projects == ("~/code/site",)
    files, docs = table.servers
    assert server(files) == McpServer(
        "files",
        command=["npx", "-y", "files"],
        cwd="/srv",
        required=False,
        trusted=True,
        tiers={"read": "safe"},
        prefix=True,
        deferred=False,
        framed=True,
        descriptions=False,
        start_timeout_seconds=5,
        list_timeout_seconds=6.5,
        call_timeout_seconds=7,
    )
    assert (files.required, files.disabled, files.raises_trust) == (False, False, True)
    assert (server(docs).url, docs.required, docs.disabled, docs.raises_trust) == (
        "https://docs.example/mcp",
        True,
        True,
        False,
    )


@pytest.mark.parametrize("text", ["", "model = 'm'", "[mcp]", "mcp = 5", "[mcp.servers]"])
def test_where_nothing_is_declared_there_is_nothing(text: str) -> None:
    assert of_toml(text) == (McpTable(), [])


def test_variables_are_named_and_their_values_are_filled_in() -> None:
    table, problems = of_toml(
        """
        [mcp.servers.a]
        command = ["a", "env:TOKEN"]
        env = ["TOKEN", "EMPTY"]
        [mcp.servers.b]
        command = ["b"]
        env = { OTHER = "env:TOKEN", MODE = "env: fast", PAIR = "x env:TOKEN" }
        [mcp.servers.c]
        url = "https://c/mcp"
        headers = { Authorization = "Bearer env:TOKEN", X = "plain", Y = "env:TOKEN " }
        """
    )
    assert problems == []
    a, b, c = map(server, table.servers)
    assert (a.env, a.command) == ({"TOKEN": "t0ken", "EMPTY": ""}, ("a", "env:TOKEN"))
    assert b.env == {"OTHER": "t0ken", "MODE": "env: fast", "PAIR": "x t0ken"}
    assert c.headers == {"Authorization": "Bearer t0ken", "X": "plain", "Y": "env:TOKEN "}


@pytest.mark.parametrize(
    "text",
    [
        'command = ["a"]\nenv = ["GONE"]',
        'command = ["a"]\nenv = {X = "env:GONE"}',
        'url = "http://a"\nheaders = {A = "env:GONE"}',
    ],
)
def test_a_variable_that_is_not_set_is_told(text: str) -> None:
    (declared,) = of_toml(f"[mcp.servers.a]\n{text}")[0].servers
    assert filled(declared, VARIABLES.get).failure() == "the variable GONE is not set"


@pytest.mark.parametrize(
    ("text", "at", "kind", "said"),
    [
        ("servers = 5", "", "value", "mcp.servers must be a table, got a whole number. Write [mcp.servers.NAME]"),
        ("[mcp.servers]\na = 5", "a", "value", "mcp.servers.a must be a table, got a whole number"),
        ("[mcp.servers.a]\ncomand = ['a']", "a.comand", "key", 'the MCP server a has no "comand"; did you mean command?'),
        ("[mcp.servers.a]\nargs = ['a']", "a.args", "key", 'did you mean command = ["PROGRAM", "ARGUMENT", …]?'),
        ("[mcp.servers.a]\ntimeout = 5", "a.timeout", "key", "did you mean start_timeout_seconds, list_timeout_seconds"),
        ("[mcp.servers.a]\nqq = 5", "a.qq", "key", "known: command, url, env, headers, cwd, tiers, required"),
        ("[mcp.servers.a]\ncommand = 'npx'", "a.command", "value", "command of the MCP server a must be a list of texts, got"),
        ("[mcp.servers.a]\nurl = 5", "a.url", "value", "must be text, got a whole number"),
        ("[mcp.servers.a]\nenv = 'A'", "a.env", "value", "a list of names of variables, or a table of values, got text"),
        ("[mcp.servers.a]\nheaders = ['A']", "a.headers", "value", "must be a table of texts, got a list"),
        ("[mcp.servers.a]\nheaders = {A = 5}", "a.headers", "value", "must be a table of texts, got a table"),
        ("[mcp.servers.a]\nrequired = 'no'", "a.required", "value", "must be true or false, got text"),
        ("[mcp.servers.a]\ncall_timeout_seconds = true", "a.call_timeout_seconds", "value", "a number of seconds"),
        ("[mcp.servers.a]", "a", "value", 'MCP server "a": takes command='),
        ("[mcp.servers.a]\ncommand = ['a']\nurl = 'http://a'", "a", "value", "one of both"),
        ("[mcp.servers.a]\ncommand = ['a']\ntiers = {x = 'no'}", "a", "value", "tier 'no' is unknown"),
    ],
)
def test_what_is_wrong_is_told_with_its_path(text: str, at: str, kind: str, said: str) -> None:
    table, problems = of_toml(text if text.startswith("[") else f"[mcp]\n{text}")
    assert [(one[0], one[1]) for one in problems] == [(("mcp", "servers", *filter(None, at.split("."))), kind)]
    assert said in problems[0][2]
    assert table.servers == ()


@pytest.mark.parametrize(("value", "got"), [("'~'", "text"), ("[5]", "a list"), ("{}", "a table")])
def test_trusted_projects_are_a_list_of_folders(value: str, got: str) -> None:
    table, problems = of_toml(f"[mcp]\ntrust_projects = {value}\n[mcp.servers.a]\ncommand = ['a']")
    said = f'trust_projects must be a list of folders: ["~/code/site"], got {got}'
    assert problems == [(("mcp", "trust_projects"), "value", said)]
    assert (table.trust_projects, len(table.servers)) == ((), 1)


def test_each_problem_is_found_and_no_value_is_shown() -> None:
    table, problems = of_toml(
        "[mcp.servers.a]\nurl = ['s3cret']\nx = 's3cret'\n[mcp.servers.b]\ncommand = ['b']\n[mcp.servers.c]\n"
    )
    assert [path[-1] for path, _, _ in problems] == ["url", "x", "c"]
    assert [one.name for one in table.servers] == ["b"]
    assert "s3cret" not in repr(problems)


def test_without_trust_a_server_says_nothing_of_its_tools() -> None:
    (declared,) = of_toml("[mcp.servers.a]\ncommand = ['a']\ntrusted = true\ntiers = {x = 'safe'}\nprefix = true")[0].servers
    plain = declared.without_trust()
    assert (declared.raises_trust, plain.raises_trust) == (True, False)
    assert server(plain) == McpServer("a", command=["a"], prefix=True)


# ---- the files of other programs ---------------------------------------------------------------


def test_servers_of_other_programs() -> None:
    found, problems = of_others(
        {
            "mcpServers": {
                "files": {
                    "command": "npx",
                    "args": ["-y", "files", "${TOKEN}"],
                    "env": {"K": "V", "T": "a${TOKEN}b"},
                    "cwd": "/srv",
                },
                "docs": {"type": "http", "url": "https://docs/${PART:-mcp}", "headers": {"Authorization": "Bearer ${TOKEN}"}},
                "off": {"command": "x", "disabled": True},
            }
        }
    )
    assert problems == []
    files, docs, off = found
    assert server(files) == McpServer(
        "files", command=["npx", "-y", "files", "t0ken"], env={"K": "V", "T": "at0kenb"}, cwd="/srv"
    )
    assert server(docs) == McpServer("docs", url="https://docs/mcp", headers={"Authorization": "Bearer t0ken"})
    assert [one.disabled for one in found] == [False, False, True]
    assert server(off) == McpServer("off", command=["x"])


@pytest.mark.parametrize("kind", ["http", "streamable-http", "streamableHttp", "streamable_http", None])
def test_the_words_for_the_transport_to_an_address(kind: str | None) -> None:
    ((declared,), problems) = of_others({"mcpServers": {"a": {"url": "http://a", **({"type": kind} if kind else {})}}})
    assert (problems, server(declared).url) == ([], "http://a")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${TOKEN}", "t0ken"),
        ("${TOKEN}${TOKEN}", "t0kent0ken"),
        ("${EMPTY:-x}", ""),
        ("${GONE:-x y}", "x y"),
        ("${GONE:-}", ""),
        ("$TOKEN", "$TOKEN"),
        ("env:TOKEN", "env:TOKEN"),
        ("${}", "${}"),
        ("${1}", "${1}"),
    ],
)
def test_variables_in_braces(text: str, value: str) -> None:
    ((declared,), _) = of_others({"mcpServers": {"a": {"command": "a", "args": [text]}}})
    assert server(declared).command == ("a", value)


def test_a_variable_in_braces_that_is_not_set_is_told() -> None:
    ((declared,), _) = of_others({"mcpServers": {"a": {"command": "${GONE}"}}})
    assert filled(declared, VARIABLES.get).failure() == "the variable GONE is not set"


@pytest.mark.parametrize(
    ("value", "path", "kind", "said"),
    [
        ([], (), "value", 'this has no servers: write {"mcpServers": {"NAME": {"command": …, "args": […]}}}'),
        ({"servers": {}}, (), "value", "this has no servers"),
        ({"mcpServers": []}, (), "value", "this has no servers"),
        ({"mcpServers": {"a": []}}, ("mcpServers", "a"), "value", "mcpServers.a must be a table, got a list"),
        ({"mcpServers": {"a": {"command": ["x"]}}}, ("mcpServers", "a", "command"), "value", "must be text, got a list"),
        (
            {"mcpServers": {"a": {"command": "x", "env": {"N": 1}}}},
            ("mcpServers", "a", "env"),
            "value",
            "must be a table of texts",
        ),
        (
            {"mcpServers": {"a": {"url": "http://a", "type": "sse"}}},
            ("mcpServers", "a", "type"),
            "value",
            "the newer one is http",
        ),
        ({"mcpServers": {"a": {"url": "http://a", "type": "ws"}}}, ("mcpServers", "a", "type"), "value", "Known: stdio, http"),
    ],
)
def test_what_cannot_be_used_of_others_is_told(value: object, path: tuple[str, ...], kind: str, said: str) -> None:
    found, problems = of_others(value)
    assert [(one[0], one[1]) for one in problems] == [(path, kind)]
    assert said in problems[0][2]
    assert found == ()


def test_what_is_not_known_of_others_is_told_and_passed_over() -> None:
    value: Any = {"mcpServers": {"a": {"command": "x", "autoApprove": ["all"], "trusted": True}}, "inputs": []}
    found, problems = of_others(value)
    assert [(path, kind) for path, kind, _ in problems] == [
        (("inputs",), "key"),
        (("mcpServers", "a", "autoApprove"), "key"),
        (("mcpServers", "a", "trusted"), "key"),
    ]
    assert problems[1][2] == "mcpServers.a.autoApprove is passed over: geode does not know it"
    assert server(found[0]) == McpServer("a", command=["x"])


def test_a_declaration_that_cannot_be_a_server_is_told_when_it_is_filled() -> None:
    ((declared,), _) = of_others(json.loads('{"mcpServers": {"a": {}}}'))
    assert 'MCP server "a": takes command=' in filled(declared, VARIABLES.get).failure()
