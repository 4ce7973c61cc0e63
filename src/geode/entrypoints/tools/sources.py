"""What `tools=[…]` holds that is no tool but a source of tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast, runtime_checkable

from geode.domain.errors import Misuse
from geode.domain.mcp_server import McpServer
from geode.ports.tool_sources import ToolSource
from geode.ports.tools import Tool


@runtime_checkable
class ChecksItself(Protocol):
    """A source that knows something before it is opened: that its program is not there."""

    def check(self) -> None: ...


def sources_in(values: object) -> tuple[tuple[object, ...] | object, tuple[ToolSource, ...], frozenset[str]]:
    """What is left of `values` for tools, the sources among them, and the names of those that prefix their tools.

    Misuse for two sources of one name, and for a required one that says before it is opened that it cannot be.
    """
    if not isinstance(values, list | tuple):
        return values, (), frozenset()
    given = cast("Sequence[object]", values)
    prefixed = frozenset(value.name for value in given if isinstance(value, McpServer) and value.prefix)
    sources = tuple(_source(value) for value in given if is_source(value))
    named = dict[str, ToolSource]()
    for source in sources:
        if source.name in named:
            raise Misuse("source-twice", f'two sources of tools are called "{source.name}". Rename one')
        named[source.name] = source
        if source.required and isinstance(source, ChecksItself):
            source.check()
    return tuple(value for value in given if not is_source(value)), sources, prefixed


def is_source(value: object) -> bool:
    """Whether it is no tool, but has tools."""
    return isinstance(value, McpServer) or (isinstance(value, ToolSource) and not isinstance(value, Tool | type))


def _source(value: object) -> ToolSource:
    if not isinstance(value, McpServer):
        return cast("ToolSource", value)
    from geode.adapters.mcp.source import McpSource

    return McpSource(value)
