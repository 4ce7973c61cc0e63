"""The grammar of what tools are given by: the options of `geode run` and its kin, `geode tools` and `geode mcp`."""

from __future__ import annotations

import argparse
from typing import Final

from geode.entrypoints.cli.config_arguments import add_json

TOOLS_EPILOG: Final = """\
The tools are those of --tools, and those of the MCP servers that are configured, which are opened for it.

examples:
  geode tools list --tools app:everything
  geode tools check --tools definitions.json:app --model gpt-5.2
"""
MCP_EPILOG: Final = """\
Servers are declared as [mcp.servers.NAME] in ~/.geode/config.toml, and in the JSON of other programs,
{"mcpServers": {…}}, which --mcp-config or the setting mcp.config names. Those of a project's .geode/config.toml are
used where you allow it.

examples:
  geode mcp list
  geode mcp check files
  geode mcp check --mcp-config ~/servers.json --json
"""


def add_tools_options(command: argparse.ArgumentParser) -> None:
    """Those of a command that runs tools."""
    tools = command.add_argument_group("tools")
    _add_given(tools)
    tools.add_argument("--no-mcp", action="store_true", help="none of the MCP servers that are configured")
    tools.add_argument(
        "--approve",
        metavar="WHICH",
        help="which tools above MCP_TRUSTED may run: names with commas, all, none, or ask, which asks on the terminal "
        "about every other (default: ask where stderr is a terminal and --jsonl is not given, else none)",
    )


def _add_given(tools: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    tools.add_argument(
        "--tools",
        metavar="MODULE:NAME",
        action="append",
        default=[],
        help="a function, a list of tools, or names with commas; or FILE.json:MODULE, definitions and the module of their "
        "functions; repeatable; the current directory is importable",
    )
    _add_servers(tools)


def _add_servers(tools: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    tools.add_argument(
        "--mcp-config",
        metavar="FILE.json",
        action="append",
        default=[],
        help='MCP servers as other programs have them, {"mcpServers": {…}}; repeatable (default: the setting mcp.config)',
    )
    tools.add_argument("--mcp-project", action="store_true", help="the MCP servers of .geode/config.toml here, too")


def add_tools(tools: argparse.ArgumentParser) -> None:
    actions = tools.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="name, tier, source and description of each", description="List the tools.")
    _add_given(listing)
    listing.add_argument("--no-mcp", action="store_true", help="none of the MCP servers that are configured")
    add_json(listing)
    check = actions.add_parser(
        "check", help="tell everything that is wrong with them; exit code 1 where something is", description="Check the tools."
    )
    _add_given(check)
    check.add_argument("--no-mcp", action="store_true", help="none of the MCP servers that are configured")
    check.add_argument("--model", metavar="ID", help="say too what this model's server would refuse, or is told otherwise")
    add_json(check)


def add_mcp(mcp: argparse.ArgumentParser) -> None:
    actions = mcp.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, help in (
        ("list", "each server: its state, how many tools it has, and where it is declared"),
        ("check", "each server opened: its tools, what they are called here, their tiers, and why"),
    ):
        action = actions.add_parser(
            name, help=f"{help}; exit code 1 where a required one fails", description=f"{help[0].upper()}{help[1:]}."
        )
        if name == "check":
            action.add_argument("name", metavar="NAME", nargs="?", help="only this one")
        _add_servers(action)
        add_json(action)
