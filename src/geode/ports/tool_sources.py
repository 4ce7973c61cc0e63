"""Where tools come from that have to be asked for, such as an MCP server: opened once, and looked at again when it says so.

A source gives tools under its own names. What they are called to a model, and what happens when two sources
have one of the same name, is not its business.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from geode.domain.errors import GeodeError
from geode.ports.tools import Tool


class ToolSourceError(GeodeError):
    """A source cannot give its tools: the text names the source, what it was asked, and what came of it."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a source has at one time.

    `tools` come in the order of the source and have distinct names, its own ones. `left_out` says of each
    further one why it cannot be used, or of what was given up to get this list; operators are told.
    """

    tools: tuple[Tool, ...]
    left_out: tuple[str, ...] = ()


class OpenSource(Protocol):
    """A source that is open."""

    async def listing(self) -> Listing:
        """All that it has now, within a deadline of its own. Raises ToolSourceError; the last listing then stays."""
        ...

    def changed(self) -> bool:
        """Whether its tools may be others than those of the last listing. Never waits.

        Asked before each round of each run that uses the source. What comes in while a listing is made counts as a
        change after it.
        """
        ...


@runtime_checkable
class ToolSource(Protocol):
    """A source of tools. Shared by all sessions of a runtime, opened when the first of them begins.

    `name` is what people call it: in messages, and in front of the names of its tools where they would clash.
    `origin` says who it really is, such as its command or address, so that what was allowed to one source is
    never taken to be allowed to another of the same name; it holds no secret. Where a source is not
    `required`, its failure is told and the others go on.
    """

    @property
    def name(self) -> str: ...

    @property
    def origin(self) -> str: ...

    @property
    def required(self) -> bool: ...

    def opened(self) -> AbstractAsyncContextManager[OpenSource]:
        """Open it, within a deadline of its own; closed with the runtime, wherever that happens.

        Raises ToolSourceError if that fails. Calls of its tools after it was lost raise ToolError. What is not closed
        within ten seconds is left behind.
        """
        ...
