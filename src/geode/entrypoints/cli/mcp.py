"""`geode mcp`: the MCP servers that are configured, and what becomes of them when they are opened."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from geode.domain.errors import Misuse
from geode.domain.json_value import dump_json
from geode.domain.naming import closest
from geode.entrypoints.cli.config import columns
from geode.entrypoints.cli.exit_codes import NOT_ALL
from geode.entrypoints.cli.servers_looked_at import Seen, SeenTool, seen_servers
from geode.entrypoints.cli.tools import servers_of
from geode.entrypoints.cli.words import harmless
from geode.entrypoints.cli.wrong_use import in_words_of_a_terminal
from geode.entrypoints.mcp_servers import Configured

_NONE = "no MCP server is configured: [mcp.servers.NAME] in ~/.geode/config.toml, or --mcp-config FILE.json"


def mcp_command(arguments: Namespace) -> int:
    """Perform the action; exit code 1 where a server that is required cannot be used."""
    servers = servers_of(arguments)
    wanted = _chosen(servers.configured, getattr(arguments, "name", None))
    for text in servers.told:
        print(f"geode mcp: {text}", file=sys.stderr)
    seen = seen_servers(wanted)
    if arguments.json:
        print(dump_json([_as_json(one, whole=arguments.action == "check") for one in seen]))
    elif not seen:
        print(f"geode mcp: {_NONE}", file=sys.stderr)
    elif arguments.action == "list":
        _print_list(seen)
    else:
        for one in seen:
            _print_one(one)
    return NOT_ALL if any(one.fails for one in seen) else 0


def _chosen(configured: Sequence[Configured], name: str | None) -> Sequence[Configured]:
    if name is None:
        return configured
    chosen = [one for one in configured if one.name == name]
    if not chosen:
        names = [one.name for one in configured]
        close = closest(name, names)
        hint = f"did you mean {close[0]}?" if close else f"there are: {', '.join(names) or 'none'}"
        raise Misuse("mcp-name", f'no MCP server "{name:.80}" is configured; {hint}')
    return chosen


def _print_list(seen: Sequence[Seen]) -> None:
    rows = [
        (harmless(one.configured.name), one.state, str(len(one.tools)) if one.state == "ready" else "-", one.configured.place)
        for one in seen
    ]
    for line in columns([("SERVER", "STATE", "TOOLS", "PLACE"), *rows]):
        print(line)
    for one in seen:
        if one.why and one.state != "ready":
            print(f"\n{harmless(one.configured.name)}: {harmless(in_words_of_a_terminal(one.why))}")


def _print_one(one: Seen) -> None:
    name, version = harmless(one.configured.name), f" ({harmless(one.version)})" if one.version else ""
    required = "required" if one.configured.required else "not required"
    print(f"{name}{version}: {one.state}, {required}, declared at {one.configured.place}")
    if one.why and one.state != "ready":
        print(f"  {harmless(in_words_of_a_terminal(one.why))}")
    rows = [(f"  {harmless(tool.name)}", tool.sent or "left out", tool.tier, tool.why) for tool in one.tools]
    if rows:
        for line in columns([("  TOOL", "CALLED", "TIER", "WHY"), *rows]):
            print(line)
    for notice in one.notices:
        print(f"  notice: {harmless(notice)}")


def _as_json(one: Seen, *, whole: bool) -> dict[str, Any]:
    configured = one.configured
    told = {
        "name": configured.name,
        "state": one.state,
        "why": one.why or None,
        "required": configured.required,
        "place": configured.place,
    }
    if not whole:
        return {**told, "tools": len(one.tools)}
    return {**told, "server": one.version or None, "tools": [tool_json(tool) for tool in one.tools], "notices": [*one.notices]}


def tool_json(tool: SeenTool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "called": tool.sent,
        "tier": tool.tier.lower(),
        "why": tool.why,
        "description": tool.description,
    }
