"""A server that is open: its listings, its calls, and being reached again after it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from geode.adapters.mcp.connection import CLOSE_SECONDS, Connection, Greeting, Progress
from geode.adapters.mcp.discovery import Described, described, pages, without_tool
from geode.adapters.mcp.ends import End, Expired, Lost, Refused, Trouble
from geode.adapters.mcp.results import framed, has_failed, parts_of, text_of
from geode.domain.content import Part, Text
from geode.domain.json_value import clean_json
from geode.domain.mcp_server import McpServer
from geode.ports.tool_sources import Listing, ToolSourceError
from geode.ports.tools import OutcomeUnknown, Tool, ToolContext, ToolError

# A server that was lost is reached again at once, and the next times after pauses that double.
FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 30.0
# A listing that failed is not tried again before.
LOOK_AGAIN_SECONDS: Final = 30.0
_METHOD_NOT_FOUND: Final = -32601
# Notices wait for the next listing; a server that is lost all the time makes no more of them.
_MOST_NOTICES: Final = 20


class OpenServer:
    """See `geode.ports.tool_sources.OpenSource`. Used from the event loop in which it was started."""

    def __init__(self, server: McpServer, environ: Mapping[str, str], origin: str) -> None:
        self._server, self._environ, self._origin = server, environ, origin
        self.greeting, self.lost, self.tools, self.is_closed = Greeting(), "", 0, False
        self._connections = list[Connection]()
        self._opening = asyncio.Lock()
        self._failures, self._dirty, self._not_before = 0, False, 0.0
        self._notices, self._said = list[str](), dict[str, str]()

    # --------------------------------------------------------------------------------- open and close

    async def start(self) -> None:
        """Shake hands. ToolSourceError if the server cannot be had."""
        try:
            await self._connected()
        except Lost as error:
            await self.close()
            raise ToolSourceError(error.end.told(self._server.name)) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """All that belongs to it is gone; takes a few seconds at most."""
        self.is_closed = True
        tasks = {task for one in self._connections if (task := one.leave()) is not None and not task.done()}
        self._connections.clear()
        if not tasks:
            return
        try:
            left = (await asyncio.wait(tasks, timeout=CLOSE_SECONDS))[1]
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()  # which kills
            raise
        for task in left:
            task.cancel()

    async def _connected(self, instead_of: Connection | None = None) -> Connection:
        """A connection that works: the last one, or a new one; all who need one share it. Lost if none can be had."""
        async with self._opening:
            if self.is_closed:
                raise Lost(End("was closed"), sent=False)
            last = self._connections[-1] if self._connections else None
            if last is not None and last is not instead_of and not last.is_over:
                return last
            if self._failures:
                await asyncio.sleep(min(FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1), LONGEST_PAUSE_SECONDS))
            return await self._reached(last)

    async def _reached(self, last: Connection | None) -> Connection:
        new = Connection(self._server, self._environ, self._has_changed)
        self._failures += last is None or last.is_over
        try:
            self.greeting, self.lost = await new.open(), ""
        except Lost as error:
            self.lost = error.end.told(self._server.name)
            raise Lost(error.end, sent=False) from None
        if last is None:
            self._failures = 0
        else:
            self._dirty = True
            last.retire()
        self._connections = [one for one in self._connections if not one.is_done] + [new]
        if self.is_closed:  # it was closed meanwhile
            await self.close()
        return new

    async def _asked(self, method: str, params: dict[str, Any], progress: Progress | None = None) -> dict[str, Any]:
        """The result of a request, which is sent once more where the server has only forgotten the session."""
        connection = await self._connected()
        try:
            found = await connection.request(method, params, progress)
        except Expired:
            again = await self._connected(instead_of=connection)
            try:
                found = await again.request(method, params, progress)
            except Expired:
                raise Refused(404, "answered 404 in a new session too") from None
        self._failures, self.lost = 0, ""
        return found

    # --------------------------------------------------------------------------------- its tools

    def changed(self) -> bool:
        is_lost = bool(self._connections) and self._connections[-1].is_over
        return (self._dirty or is_lost) and not self.is_closed and _now() >= self._not_before

    def _has_changed(self) -> None:
        self._dirty = True

    async def listing(self) -> Listing:
        seconds = self._server.list_timeout_seconds
        try:
            async with asyncio.timeout(seconds):
                await self._connected()
                self._dirty = False
                listed, given_up = await self._pages()
        except TimeoutError:
            raise self._unlisted(f"did not list its tools within {seconds:g} s") from None
        except Lost as error:
            raise self._unlisted("", error.end.told(self._server.name, "tools/list")) from None
        except Trouble as error:
            raise self._unlisted(f"does not list its tools: {error}") from None
        except BaseException:
            self._dirty = True
            raise
        found, left_out = described(listed, self._server)
        self.tools = len(found)
        notices = (
            *self._taken(),
            *map(self._told, (*given_up, *left_out, *without_tool(listed, self._server), *self._reworded(found))),
        )
        return Listing(tuple(self._tool(one) for one in found), notices)

    async def _pages(self) -> tuple[list[object], list[str]]:
        try:
            return await pages(self._asked)
        except Refused as error:
            if error.code != _METHOD_NOT_FOUND:
                raise
            return [], ["it has no tools"]

    def _unlisted(self, what: str, whole: str = "") -> ToolSourceError:
        self._dirty, self._not_before = True, _now() + LOOK_AGAIN_SECONDS
        return ToolSourceError(whole or self._told(what, colon=False))

    def _told(self, what: str, *, colon: bool = True) -> str:
        return f'MCP server "{self._server.name}"{":" if colon else ""} {what}'

    def _taken(self) -> tuple[str, ...]:
        """What happened since the last listing."""
        notices, self._notices = tuple(self._notices), []
        return notices

    def _reworded(self, found: list[Described]) -> list[str]:
        """Tools of which the server says something else than before: people may have allowed them for what it said."""
        said = {one.name: one.spec.description for one in found}
        changed = [name for name, text in said.items() if self._said.get(name, text) != text]
        self._said |= said
        return [f"it describes {name!r:.80} in other words than before" for name in changed]

    def _tool(self, one: Described) -> Tool:
        server = self._server

        async def invoke(arguments: Mapping[str, Any], context: ToolContext[Any]) -> object:
            return await self._called(one, arguments, context)

        return Tool(
            one.spec,
            one.tier,
            invoke,
            timeout_seconds=server.call_timeout_seconds,
            place=f'MCP server "{server.name}"',
            idempotent=one.idempotent,
            deferred=server.deferred,
            origin=self._origin,
        )

    # --------------------------------------------------------------------------------- calls

    async def _called(self, one: Described, arguments: Mapping[str, Any], context: ToolContext[Any]) -> list[Part] | None:
        """What the tool says. ToolError if it failed, OutcomeUnknown if nobody knows."""
        seconds, name = self._server.call_timeout_seconds, one.spec.name
        try:
            params = {"name": one.name, "arguments": clean_json(arguments)}
        except ValueError as error:
            raise ToolError(f"the arguments of {name} cannot be sent: {error}") from None
        try:
            async with asyncio.timeout(seconds):
                result = await self._asked("tools/call", params, _progress(context))
        except TimeoutError:
            raise self._cut_off(one, f"{name} did not finish within {seconds:g} s", "") from None
        except Lost as error:
            raise self._lost(one, error, context) from None
        except Trouble as error:
            raise ToolError(self._framed_text(f"{name} failed: {error}")) from None
        if has_failed(result):
            raise ToolError(self._framed_text(text_of(result)) or f"{name} failed and says no more")
        parts = parts_of(result)
        return list(framed(parts, self._server.name) if self._server.framed and parts else parts) or None

    def _lost(self, one: Described, error: Lost, context: ToolContext[Any]) -> ToolError:
        name = one.spec.name
        detail = error.end.told(self._server.name, f"{name} ({context.call_id})")
        if len(self._notices) < _MOST_NOTICES:
            self._notices.append(detail)
        self.lost, self._dirty = detail, True
        if error.sent:
            return self._cut_off(one, f"the server of {name} was lost before it answered", detail)
        return ToolError(f"{name} was not called: its server cannot be reached", detail=detail)

    def _cut_off(self, one: Described, what: str, detail: str) -> ToolError:
        """No answer came to a call that was sent."""
        if one.tier.needs_approval and not one.idempotent:
            return OutcomeUnknown(f"{what}; it may or may not have had its effect. Check before calling again", detail=detail)
        return ToolError(what, detail=detail)

    def _framed_text(self, text: str) -> str:
        if not self._server.framed or not text:
            return text
        return "\n".join(part.text for part in framed((Text(text),), self._server.name) if isinstance(part, Text))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _progress(context: ToolContext[Any]) -> Progress:
    async def told(progress: float, total: float | None, message: str | None) -> None:
        far = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        context.progress(f"{far}: {message}" if message else far)

    return told
