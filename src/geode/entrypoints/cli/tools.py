"""From `--tools MODULE:NAME` or `--tools FILE.json:MODULE` to tools, and to the MCP servers that are configured."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, cast

from geode.adapters.schema_jsonschema import JsonschemaValidator
from geode.domain.errors import Misuse
from geode.domain.mcp_server import McpServer
from geode.domain.naming import closest
from geode.entrypoints.config import configuration
from geode.entrypoints.mcp_servers import Servers, configured_servers
from geode.entrypoints.tools import build_tools
from geode.entrypoints.tools.definitions import read_definitions, refuse
from geode.entrypoints.tools.handlers import Bound, bind
from geode.entrypoints.tools.sources import is_source
from geode.ports.tool_sources import ToolSource
from geode.ports.tools import Tool

_FORM: Final = "write MODULE:NAME, for example --tools app:search"
_SHOWN: Final = 12


@dataclass(frozen=True, slots=True)
class GivenTools:
    """What a run is given: tools, and sources, whose tools are known when they are open."""

    tools: tuple[Tool, ...]
    sources: tuple[ToolSource | McpServer, ...] = ()

    @property
    def all(self) -> tuple[object, ...]:
        return (*self.tools, *self.sources)

    @property
    def source_names(self) -> tuple[str, ...]:
        return tuple(source.name for source in self.sources)


def given_tools(arguments: Namespace, *, quietly: bool = False) -> GivenTools:
    """The tools and sources that the arguments name, and the MCP servers that are configured.

    Misuse for whatever cannot work. What is left out is told on stderr, unless `quietly`.
    """
    values = named_values(arguments.tools)
    tools = build_tools([value for value in values if not is_source(value)], validator=JsonschemaValidator())
    sources = [cast("ToolSource | McpServer", value) for value in values if is_source(value)]
    servers, told = ((), ()) if arguments.no_mcp else servers_of(arguments).usable()
    for text in told if not quietly else ():
        print(f"geode {arguments.command}: {text}", file=sys.stderr)
    return GivenTools(tools, (*sources, *servers))


def servers_of(arguments: Namespace) -> Servers:
    """The MCP servers that are configured, with the options of the command."""
    return configured_servers(configuration(), arguments.mcp_config, use_project=arguments.mcp_project)


def named_values(wanted: Iterable[str]) -> list[object]:
    """What the arguments name, in order: whatever `tools=[…]` takes."""
    return [value for text in wanted for value in values_named(text)]


def values_named(text: str) -> list[object]:
    """What one argument names. Misuse for what is wrong with it, the first of several things."""
    defined = definitions_named(text)
    if defined is None:
        return _named(text)
    if defined.problems:
        refuse(defined.problems)
    return list(defined.tools)


def definitions_named(text: str) -> Bound | None:
    """The tools of a `FILE.json:MODULE`, and what is wrong with the others; None for an argument of another form."""
    before, _, after = text.rpartition(":")
    if text.endswith(".json"):
        raise Misuse("tools-argument", f"--tools {text}: names no module of functions; write {text}:MODULE")
    if not before.endswith(".json"):
        return None
    if not after.strip():
        raise Misuse("tools-argument", f"--tools {text}: names no module of functions; write {text}MODULE")
    defined = read_definitions(before)
    return bind(defined, _module(after, text))


def _named(text: str) -> list[object]:
    module_name, _, names = text.partition(":")
    if not module_name or not names.strip(", "):
        raise Misuse("tools-argument", f"--tools {text}: names no {'tool' if module_name else 'module'}; {_FORM}")
    module = _module(module_name, text)
    found: list[object] = []
    for name in filter(None, (part.strip() for part in names.split(","))):
        value = _attribute(module, name, text)
        found += cast("Sequence[object]", value) if isinstance(value, list | tuple) else [value]
    return found


def _module(name: str, text: str) -> ModuleType:
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _broken(name, text, error) from error
        hint = f"; for the file {name} write {name[:-3]}:…" if name.endswith(".py") else ""
        place = f"looked in {os.getcwd()} and among the installed packages"
        raise Misuse("tools-module", f'--tools {text}: there is no module "{error.name}"; {place}{hint}') from error
    except (Exception, SystemExit) as error:
        raise _broken(name, text, error) from error


def _broken(name: str, text: str, error: BaseException) -> Misuse:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return Misuse("tools-module", f'--tools {text}: importing "{name}" failed with {type(error).__name__}: {error}{where}')


def _attribute(module: ModuleType, name: str, text: str) -> Any:
    value = getattr(module, name, None)
    if value is None:
        there = _what_is_there(module)
        close = closest(name, there)
        hint = f"Did you mean {close[0]}? " if close else ""
        shown = ", ".join(there[:_SHOWN]) + (", …" if len(there) > _SHOWN else "")
        place = f'module "{module.__name__}" ({module.__file__})'
        raise Misuse("tools-name", f'--tools {text}: {place} has no "{name}". {hint}There is: {shown or "no function at all"}')
    if not callable(value) and not isinstance(value, list | tuple | Tool) and not is_source(value):
        kind = type(value).__name__
        raise Misuse("tools-name", f"--tools {text}: {name} is of type {kind}; it must be a function or a list of tools")
    return value


def _what_is_there(module: ModuleType) -> list[str]:
    """Its own functions, and its lists: what may be meant to be a tool."""

    def offered(name: str, value: object) -> bool:
        own = callable(value) and not isinstance(value, type) and getattr(value, "__module__", "") == module.__name__
        return not name.startswith("_") and (own or isinstance(value, Tool | list | tuple))

    return sorted(name for name, value in vars(module).items() if offered(name, value))
