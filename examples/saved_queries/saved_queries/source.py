"""The source: a file with a table of queries, each of which is a tool."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from geode import Misuse, SafetyTier
from geode.ports import Listing, Tool, ToolContext, ToolError, ToolSourceError, ToolSpec

_QUERIES = "SELECT name, description, parameters, sql FROM saved_queries ORDER BY name"


class SavedQueries:
    """A `geode.ports.ToolSource`: the rows of `saved_queries(name, description, parameters, sql)`.

    `parameters` is a JSON object of schemas by name, and `sql` names them as `:name`. The file is only read.
    """

    def __init__(self, path: str | Path, *, name: str = "queries", required: bool = True) -> None:
        self.path, self.name, self.required = Path(path), name, required

    @property
    def origin(self) -> str:
        """Who it really is: what was allowed for one file is not allowed for another one of the same name."""
        return f"sqlite:{self.path.resolve()}"

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[OpenQueries]:
        try:
            connection = _connected(self.path)
            connection.execute(_QUERIES)
        except sqlite3.Error as error:
            raise ToolSourceError(f"{self.name}: {self.path} has no saved queries: {error}") from None
        opened = OpenQueries(connection, self)
        try:
            yield opened
        finally:
            opened.closed = True
            connection.close()


class OpenQueries:
    """A `geode.ports.OpenSource`. One connection looks for changes; each call has its own, in whatever thread it runs."""

    def __init__(self, connection: sqlite3.Connection, source: SavedQueries) -> None:
        self._connection, self._source = connection, source
        self._version = -1
        self.closed = False

    async def listing(self) -> Listing:
        """What does not make a tool is left out, and said; the others are not touched by it."""
        tools: list[Tool] = []
        left_out: list[str] = []
        # Asked for first: a change while the rows are read counts as one after them.
        self._version = self._asked()
        try:
            rows = self._connection.execute(_QUERIES).fetchall()
        except sqlite3.Error as error:
            raise ToolSourceError(f"{self._source.name}: the queries cannot be read: {error}") from None
        for name, description, parameters, sql in rows:
            try:
                tools.append(self._tool(name, description, json.loads(parameters), sql))
            except (Misuse, ValueError, TypeError) as error:
                left_out.append(f"{self._source.name}: the query {name!r} is no tool: {error}")
        return Listing(tuple(tools), tuple(left_out))

    def changed(self) -> bool:
        """SQLite counts what others write into the file."""
        return self._asked() != self._version

    def _asked(self) -> int:
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def _tool(self, name: str, description: str, parameters: dict[str, Any], sql: str) -> Tool:
        schema = {"type": "object", "properties": parameters, "required": [*parameters], "additionalProperties": False}

        def invoke(arguments: Mapping[str, Any], _: ToolContext[Any]) -> list[dict[str, Any]]:
            return self._answer(sql, arguments)

        return Tool(
            ToolSpec(name, description, schema),
            SafetyTier.SAFE,  # the file is opened for reading alone
            invoke,
            blocking=True,  # so that it is called in a thread
            idempotent=True,
            deferred=True,  # where there are many tools, these are found by searching
            origin=self._source.origin,
        )

    def _answer(self, sql: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
        if self.closed:
            raise ToolError("the saved queries were closed", recoverable=False)
        try:
            with closing(_connected(self._source.path)) as connection:
                connection.row_factory = sqlite3.Row
                return [dict(row) for row in connection.execute(sql, dict(arguments))]
        except sqlite3.Error as error:
            raise ToolError(f"the query failed: {error}") from None


def _connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
