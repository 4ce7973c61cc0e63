"""The declaration of an MCP server."""

from __future__ import annotations

from typing import Any

import pytest

from geode.domain.errors import Misuse
from geode.domain.mcp_server import McpServer
from geode.domain.tiers import SafetyTier


def test_what_is_declared_is_kept() -> None:
    given = ["npx", "-y", "server"]
    tiers: dict[str, Any] = {"read": "safe", "drop": SafetyTier.DANGEROUS}
    server = McpServer("demo", command=given, env=["A_B", "c1"], cwd="/tmp", tiers=tiers)
    given.append("--more")
    tiers.clear()
    assert server.command == ("npx", "-y", "server")
    assert server.env == ("A_B", "c1")
    assert server.tiers == {"read": "safe", "drop": SafetyTier.DANGEROUS}
    assert (server.name, server.url, server.cwd, server.headers) == ("demo", "", "/tmp", {})


def test_the_defaults_trust_nobody_and_wait_for_a_finite_time() -> None:
    server = McpServer("demo", url="https://mcp.example/mcp")
    assert (server.required, server.trusted, server.prefix, server.framed) == (True, False, False, False)
    assert (server.deferred, server.descriptions) == (True, True)
    assert (server.start_timeout_seconds, server.list_timeout_seconds, server.call_timeout_seconds) == (30, 30, 120)


def test_values_and_headers_are_copied() -> None:
    values, headers = {"A": "1"}, {"X-A": "1"}
    one, other = McpServer("demo", command=["a"], env=values), McpServer("demo", url="http://a", headers=headers)
    values["A"], headers["X-A"] = "2", "2"
    assert (one.env, other.headers) == ({"A": "1"}, {"X-A": "1"})


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        (McpServer("demo", command=["npx", "--token=s3cret"], env={"K": "s3cret"}), "McpServer('demo', command=['npx', …])"),
        (
            McpServer("demo", url="https://u:s3cret@mcp.example/mcp?key=s3cret", headers={"K": "s3cret"}),
            "McpServer('demo', url='https://***@mcp.example/mcp?***')",
        ),
    ],
)
def test_it_is_shown_without_anything_secret(server: McpServer, shown: str) -> None:
    assert repr(server) == shown


@pytest.mark.parametrize(
    ("name", "settings", "why"),
    [
        ("", {"command": ["a"]}, "the name of an MCP server is one line of at most 64 letters, got ''"),
        (" ", {"command": ["a"]}, "the name of an MCP server is one line of at most 64 letters, got ' '"),
        ("a\nb", {"command": ["a"]}, "the name of an MCP server is one line of at most 64 letters, got 'a\\nb'"),
        ("a" * 65, {"command": ["a"]}, "the name of an MCP server is one line of at most 64 letters, got 'aaaaa"),
        (7, {"command": ["a"]}, "the name of an MCP server is one line of at most 64 letters, got 7"),
        ("demo", {}, 'MCP server "demo": takes command=["PROGRAM", …] or url="https://…", one of both'),
        ("demo", {"command": ["a"], "url": "http://a"}, 'MCP server "demo": takes command=["PROGRAM", …] or url='),
        (
            "demo",
            {"command": "npx -y a"},
            'MCP server "demo": command is a list, the program and its arguments: command=["npx"',
        ),
        ("demo", {"command": ["a", 7]}, 'MCP server "demo": command is a list of str, the program and its arguments'),
        ("demo", {"command": ["a", "b\0"]}, 'MCP server "demo": command is a list of str, the program and its arguments'),
        ("demo", {"command": [" "]}, 'MCP server "demo": command begins with the name of a program, and that is blank'),
        ("demo", {"command": ["a"], "headers": {"K": "v"}}, 'MCP server "demo": headers go with requests to a url'),
        ("demo", {"url": "ftp://u:s3cret@a"}, "MCP server \"demo\": url is an http or https address, got 'ftp://***@a'"),
        ("demo", {"url": "http://a", "env": ["K"]}, 'MCP server "demo": env and cwd are for a command; a url takes headers='),
        ("demo", {"url": "http://a", "cwd": "/"}, 'MCP server "demo": env and cwd are for a command; a url takes headers='),
        ("demo", {"url": "http://a", "headers": {"K": "a\nb"}}, 'MCP server "demo": headers is a mapping of names to one line'),
        ("demo", {"url": "http://a", "headers": {"K": "ä"}}, 'MCP server "demo": headers is a mapping of names to one line'),
        ("demo", {"url": "http://a", "headers": {"K": 7}}, 'MCP server "demo": headers is a mapping of names to one line'),
        ("demo", {"url": "http://a", "headers": {"K L": "v"}}, 'MCP server "demo": headers is a mapping of names to one line'),
        ("demo", {"command": ["a"], "env": "KEY"}, "MCP server \"demo\": env is a list of names: env=['KEY'], or a mapping"),
        ("demo", {"command": ["a"], "env": ["A=s3cret"]}, 'MCP server "demo": env names variables, and one of its words is no'),
        ("demo", {"command": ["a"], "env": ["1A"]}, 'MCP server "demo": env names variables, and one of its words is no name'),
        ("demo", {"command": ["a"], "env": {"A": 7}}, 'MCP server "demo": the values of env are str'),
        ("demo", {"command": ["a"], "env": {"A": "\0"}}, 'MCP server "demo": the values of env are str'),
        (
            "demo",
            {"command": ["a"], "tiers": {"run": "sure"}},
            "tier 'sure' is unknown. Accepted: safe, mcp_trusted, expensive",
        ),
        ("demo", {"command": ["a"], "start_timeout_seconds": 0}, "start_timeout_seconds is a number of seconds above 0, got 0"),
        (
            "demo",
            {"command": ["a"], "list_timeout_seconds": float("inf")},
            "list_timeout_seconds is a number of seconds above 0",
        ),
        (
            "demo",
            {"command": ["a"], "call_timeout_seconds": float("nan")},
            "call_timeout_seconds is a number of seconds above 0",
        ),
        (
            "demo",
            {"command": ["a"], "call_timeout_seconds": True},
            "call_timeout_seconds is a number of seconds above 0, got True",
        ),
        (
            "demo",
            {"command": ["a"], "call_timeout_seconds": "9"},
            "call_timeout_seconds is a number of seconds above 0, got '9'",
        ),
    ],
)
def test_what_cannot_work_is_misuse(name: Any, settings: dict[str, Any], why: str) -> None:
    with pytest.raises(Misuse) as caught:
        McpServer(name, **settings)
    assert why in str(caught.value)
    assert str(caught.value).endswith("[unknown-tier]" if "tiers" in settings else "[mcp-server]")
    assert "s3cret" not in str(caught.value)
